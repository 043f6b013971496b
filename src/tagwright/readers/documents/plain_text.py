"""Read text files, and the labels in Annif's `.tsv` or `.key` file beside a document."""

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from pathlib import Path

from tagwright.core.checked import show
from tagwright.errors import InputError, option
from tagwright.readers.documents.records import Located
from tagwright.readers.limits import PLAIN, Reading
from tagwright.readers.lines import open_lines, open_text
from tagwright.text.words import clean
from tagwright.types import Document

LABELS_BESIDE = (".tsv", ".key")
"Suffixes of files that hold the labels of a document beside them."
LONGEST_TITLE = 250
"The most characters of a title; a longer first line of a plain text is text."


def read_text(path: Path, reading: Reading = PLAIN) -> Iterator[Located]:
    """A file is one document, without id. Raises InputError with path and line."""
    text = clean(open_text(path, reading).replace("\r", "\n"))
    refuse_training_file(text, path)
    yield 0, parse_text(text)


_TRAINING_LINES: Mapping[str, str] = {
    "a training file of fastText": r"(?:.*\s)?__label__\S",
    "a training file of numbers (SVMlight, LIBSVM, XMC, PECOS), which are of words, expected a text; give the raw "
    "texts of the data set, such as trn.json.gz, X.trn.txt or train_raw_texts.txt": (
        r"(?:[-+]?\d+(?:\.\d+)?(?:[, ][-+]?\d+(?![\d:.]))*(?=\s))?(?:\s*(?:qid|\d+):[-+\d.eE]+){2,}\s*(?:#.*)?$"
        r"|[-+]?\d+(?:\.\d+)?(?:,[-+]?\d+)*\s+\d+:[-+\d.eE]+\s*(?:#.*)?$"
    ),
    "a training file of PECOS, with numbers of labels before each text": r"\d+(?:,(?:\d{1,2}|\d{4,}))*\t\S",
    "a training file of Vowpal Wabbit": r"-?\d[-\d.,: ]*(?:'\S+ ?)?\|(?:[a-z]\w*(?::[\d.]+)? | .*\b[a-z]\w{0,30}:-?\d)",
    "a training file of CoNLL, with a word in each line": r".*\s(?:O|[BIES]-\S+)$",
    "MARC as text, expected a text; convert it to MARC or MARCXML": r"=(?:LDR|\d{3})  |\d{9} (?:LDR|FMT|\d{3})",
    "EndNote's own export, expected a text; export it as RIS": r"%[A-Z0-9@!] \S",
}
"What else a file is, and what to do unless its lines may be written as JSON -> what its lines begin with."

_TRAINING_NAMES = r"[XYZ]\.(?:trn|tst|val)\.txt|(?:train|test|trn|tst|valid|val)[-_](?:raw[-_])?(?:texts|labels)\.txt"
"Names of files of XR-Transformer, PECOS and AttentionXML that hold a document, or its labels, in each line."


def refuse_training_file(text: str, path: Path) -> None:
    """Raise InputError for a file that other tools learn from, or another form of records or texts, which is no text.

    Most of the first lines tell it, after one that may hold the numbers of documents, features and labels; or the name.
    """
    lines = [line.strip() for line in text[:100_000].split("\n")[:50] if line.strip()]
    several = lines[1:]
    lines = several if several and re.fullmatch(r"\d+[ \t]+\d+([ \t]+\d+)?", lines[0]) else lines
    matching = {kind: sum(bool(re.match(begin, line)) for line in lines) for kind, begin in _TRAINING_LINES.items()}
    kind = next((kind for kind, count in matching.items() if 5 * count >= 4 * len(lines) > 0), "")
    if "PECOS, with" in kind and not any(re.match(r"\d+,", line) for line in lines):
        kind = ""
    if several and re.fullmatch(_TRAINING_NAMES, path.name.removesuffix(".gz")):
        tools = "another tool (XR-Transformer, PECOS, AttentionXML), with a document or its labels in each line"
        texts = f"X.trn.txt or train_texts.txt: {option('input_format', 'lines')}"
        kind = f"a training file of {tools}, expected a text; give the texts, {texts}"
    if kind:
        as_json = ', expected a text; write its lines as {"title": "...", "labels": ["..."]} in a .jsonl file'
        raise InputError(f"is {kind}{'' if 'expected a text' in kind else as_json}", path)


def parse_text(text: str) -> Document:
    r"""The first line is the title, unless it is too long for one; the rest is the abstract.

    >>> parse_text("\nBees\n\nThey fly.\nThey sting.").title_and_abstract
    'Bees\nThey fly.\nThey sting.'
    """
    title, _, rest = text.strip().partition("\n")
    if len(title) > LONGEST_TITLE:
        return Document("", abstract=text.strip())
    return Document("", title=title.strip(), abstract=rest.strip())


def with_labels_beside(documents: Iterator[Located], path: Path, reading: Reading) -> Iterator[Located]:
    """The documents of a file, with the labels in a file of the same name, if there is one.

    They are URIs or names in a `.tsv`, or else names in a `.key`, one a line: `Vocabulary.resolve` accepts both.
    Raises InputError with path and line.
    """
    uris, names = path.with_suffix(".tsv"), path.with_suffix(".key")
    labels: Iterable[str] = ()
    if uris.is_file():
        labels = _subjects(uris, reading)
    elif names.is_file():
        labels = (clean(name).strip() for _, name in open_lines(names, reading=reading) if name.strip())
    beside = tuple(dict.fromkeys(labels))
    for line, document in documents:
        yield line, replace(document, labels=beside or document.labels)


def _subjects(path: Path, reading: Reading) -> Iterator[str]:
    for line, row in open_lines(path, reading=reading):
        first, *others = [cell.strip() for cell in clean(row).split("\t")]
        is_uri = re.fullmatch(r"<[^<>]*>", first)
        if first and not is_uri and any(others):
            expected = "a label of the text beside it: a name, or <uri>, a tab, name"
            raise InputError(f"is {show(row)}, expected {expected}", path, line)
        if label := (first[1:-1].strip() if is_uri else first) or next(iter(others), ""):
            yield label
