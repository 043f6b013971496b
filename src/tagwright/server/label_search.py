"""Find labels by a few typed characters of a name, a notation or an id, within milliseconds.

Names are inserted in the order in which they should be listed: shorter ones first, preferred names before others. An
index of SQLite (FTS5) answers in the order of insertion, so that the first matches are the best ones, and a search
stops there, however many there are. Of an id that is an address, the index holds the last part: the parts before it are
the same for a whole vocabulary, and a search for them would read all of it.
"""

import re
import sqlite3
import threading
import unicodedata
import weakref
from collections.abc import Iterable, Iterator, Sequence
from contextlib import closing
from functools import partial
from hashlib import blake2b
from itertools import islice
from pathlib import Path

from tagwright.core.cache import user_cache
from tagwright.core.kept_folders import kept_folder
from tagwright.errors import ConfigError
from tagwright.text.words import clean, fold
from tagwright.types import Label, Mask

FEWEST_FOR_PARTS = 3
"Characters that a search inside words needs: the index holds groups of three."

FEWEST_KEPT = 20_000
"Labels from which on the index is cached on disk: one of fewer is built in a second."

KIND, FILE = "label search", "labels.sqlite"
"How the cache calls an index, and its file."


class LabelSearch:
    """Search labels by typed characters, ignoring case and accents. Threads may share it.

    labels: about 1 KB of index for each. path: file of the index, see `build_file`; None: build it in memory. allowed:
    (labels,) mask of the labels to find; None: all. Raises ConfigError if SQLite has no FTS5.

    >>> search = LabelSearch([Label("1", ("Honey bees", "Apis")), Label("2", ("Bees",)), Label("3", ("Café",))])
    >>> search("bee"), search("apis"), search("cafe"), search("one")
    ([1, 0], [0], [2], [0])
    """

    def __init__(self, labels: Sequence[Label], path: Path | None = None) -> None:
        self.allowed: Mask | None = None
        self._lock = threading.Lock()
        self._database = _connect(path)
        weakref.finalize(self, self._database.close)
        if not path:
            try:
                _build(self._database, labels)
            except sqlite3.OperationalError as error:
                problem = f"labels cannot be searched with the SQLite {sqlite3.sqlite_version} of this Python ({error})"
                raise ConfigError(f"{problem}; it needs version 3.34 or later, with FTS5") from None

    def __call__(self, query: str, k: int = 20) -> list[int]:
        """Return at most k positions of labels, best first.

        In this order: the query is a name or id; begins one; its words begin words of one; it is a part of one.
        """
        text = fold_text(query)
        if not text or k < 1:
            return []
        with self._lock:
            return list(islice(self._distinct(text, k), k))

    def _distinct(self, text: str, k: int) -> Iterator[int]:
        """The positions of matching labels that are allowed, each once, best first."""
        seen: set[int] = set()
        # several names of one label may match; all are read where some are not allowed
        for label in self._matches(text, 8 * k if self.allowed is None else -1):
            if label not in seen and (self.allowed is None or self.allowed[label]):
                seen.add(label)
                yield label

    def _matches(self, text: str, limit: int) -> Iterator[int]:
        """The labels of matching names, by the kind of match, then in the order of insertion. limit: of each kind."""
        select = partial(self._select, limit=limit)
        yield from select("SELECT label FROM names WHERE text = ? ORDER BY row LIMIT ?", text)
        if "/" in text:
            beginning = "SELECT label FROM names WHERE text > ? AND text < ? ORDER BY text LIMIT ?"
            yield from select(beginning, text, text + "\U0010ffff")  # which is sorted behind all others
        words = [f'"{word}"' for word in _words(text)]
        if words:
            matching = "SELECT label FROM words JOIN names ON row = words.rowid WHERE words MATCH ? LIMIT ?"
            yield from select(matching, f"^ {' + '.join(words)} *")
            yield from select(matching, " ".join(f"{word} *" for word in words))
        if len(text) >= FEWEST_FOR_PARTS:
            yield from self._containing(text, limit)

    def _containing(self, text: str, limit: int) -> Iterator[int]:
        """Search names that contain the text, by an index of groups of three characters."""
        places = range(len(text) - FEWEST_FOR_PARTS + 1)
        parts = dict.fromkeys(text[start : start + FEWEST_FOR_PARTS].replace('"', '""') for start in places)
        groups = " ".join(f'"{part}"' for part in parts)
        matching = "SELECT label FROM parts JOIN names ON row = parts.rowid WHERE parts MATCH ?"
        yield from self._select(f"{matching} AND instr(names.text, ?) LIMIT ?", groups, text, limit=limit)

    def _select(self, statement: str, *values: str, limit: int) -> Iterator[int]:
        return (label for (label,) in self._database.execute(statement, (*values, limit)))


def kept_index(labels: Sequence[Label], fewest: int = FEWEST_KEPT) -> LabelSearch:
    """Return the search in these labels. fewest: number of labels from which on the index is cached on disk."""
    if len(labels) < fewest:
        return LabelSearch(labels)
    folder = kept_folder(user_cache(), KIND, _digest(labels), lambda folder: build_file(folder / FILE, labels))
    return LabelSearch(labels, folder / FILE)


def fold_text(text: str) -> str:
    """Return a text as it is compared: without case, accents and superfluous blanks; ı is i, œ is oe.

    >>> fold_text("  Crème   BRÛLÉE "), fold_text("Işık") == fold_text("ışık"), fold_text("Cœur")
    ('creme brulee', True, 'coeur')
    """
    apart = unicodedata.normalize("NFKD", fold(clean(text)).replace("ı", "i"))
    return " ".join("".join(sign for sign in apart if not unicodedata.combining(sign)).split())


def matching_name(names: Iterable[str], query: str) -> str:
    """Return the first name by which a search for the query finds a label; "" for a notation or an id.

    >>> birds = ("Birds", "Vögel")
    >>> matching_name(birds, "vog"), matching_name(birds, "bir"), matching_name(birds, "598")
    ('Vögel', 'Birds', '')
    """
    text = fold_text(query)
    return next((name for name in names if _matches(fold_text(name), text)), "")


def _matches(name: str, text: str) -> bool:
    """Whether the text is a part of the name, or each of its words begins a word of that. Both are folded."""
    words = _words(name)
    return text in name or all(any(word.startswith(part) for word in words) for part in _words(text))


def build_file(path: Path, labels: Sequence[Label]) -> None:
    """Build the index of these labels in an empty file."""
    with closing(sqlite3.connect(path)) as database:
        _build(database, labels)


def _connect(path: Path | None) -> sqlite3.Connection:
    """Open a database in memory, or an existing file to read."""
    name = f"{path.absolute().as_uri()}?mode=ro" if path else ":memory:"
    return sqlite3.connect(name, check_same_thread=False, uri=True)


def _build(database: sqlite3.Connection, labels: Sequence[Label]) -> None:
    execute = database.execute
    execute("PRAGMA journal_mode = OFF")
    execute("PRAGMA synchronous = OFF")
    execute("CREATE TABLE names (row INTEGER PRIMARY KEY, text TEXT, label INTEGER, whole INTEGER)")
    execute("CREATE VIRTUAL TABLE words USING fts5(text, content='', prefix='1 2 3', tokenize='unicode61')")
    execute("CREATE VIRTUAL TABLE parts USING fts5(text, content='', detail='none', tokenize='trigram')")
    rows = ((row, text, label, whole) for row, (_, _, text, label, whole) in enumerate(sorted(_names(labels))))
    database.executemany("INSERT INTO names VALUES (?, ?, ?, ?)", rows)
    execute("CREATE INDEX by_text ON names (text)")
    for index in ("words", "parts"):
        execute(f"INSERT INTO {index} (rowid, text) SELECT row, text FROM names WHERE NOT whole")  # noqa: S608  # names of our own
        execute(f"INSERT INTO {index} ({index}) VALUES ('optimize')")  # noqa: S608
    database.commit()


def _digest(labels: Iterable[Label]) -> bytes:
    """Return a key of a vocabulary that depends on all names, notations, ids and positions of its labels."""
    digest = blake2b(digest_size=16)
    for label in labels:
        digest.update(repr((label.id, label.all_names, label.notation)).encode("utf-8", "surrogatepass"))
    return digest.digest()


def _names(labels: Sequence[Label]) -> Iterator[tuple[int, bool, str, int, bool]]:
    """Length, whether not preferred, folded name, position of the label, and whether it is a whole address.

    Names are those in all languages, the notation and the id; of an id that is an address, also the last part.
    """
    for position, label in enumerate(labels):
        first, *others = label.all_names
        last = re.split("[/#]", label.id)[-1]
        names = [(False, first), *((True, name) for name in dict.fromkeys([*others, label.notation, last, label.id]))]
        for other, name in names:
            if text := fold_text(name):
                yield len(text), other, text, position, other and name == label.id != last


def _words(text: str) -> list[str]:
    """Runs of letters and digits, as the tokenizer of the index has them."""
    return "".join(sign if sign.isalnum() else " " for sign in text).split()
