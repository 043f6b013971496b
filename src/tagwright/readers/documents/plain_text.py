"""Read text and Markdown files, and the labels in Annif's `.tsv` or `.key` file beside a document."""

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import replace
from pathlib import Path

from tagwright.core.checked import show
from tagwright.errors import InputError, option
from tagwright.readers.documents.markdown import render_visible
from tagwright.readers.documents.records import Located
from tagwright.readers.documents.sections import Block, to_document
from tagwright.readers.lines import open_lines, open_text
from tagwright.text.words import clean
from tagwright.types import Document

MARKDOWN = frozenset({".md", ".markdown"})
SUFFIXES = MARKDOWN | {".txt"}
LABELS_BESIDE = (".tsv", ".key")
"Suffixes of files that hold the labels of a document beside them."
LONGEST_TITLE = 250
"The most characters of a title; a longer first line of a plain text is text."

_UNDERLINE = re.compile(r" {0,3}(=+|-+)[ \t]*$")
_LISTED = re.compile(r"\s*(?:[-*+>|]|\d+[.)])")
"How an item of a list, a quotation or a row of a table begins."


def read_text(path: Path) -> Iterator[Located]:
    """A file is one document, without id. Markdown has sections, see `parse_markdown`.

    Raises InputError with path and line.
    """
    text = clean(open_text(path).replace("\r", "\n"))
    refuse_training_file(text, path)
    yield 0, parse_markdown(text) if path.suffix.lower() in MARKDOWN else parse_text(text)


_TRAINING_LINES: Mapping[str, str] = {
    "fastText": r"(?:.*\s)?__label__\S",
    "numbers (SVMlight, LIBSVM, XMC, PECOS), which are of words": (
        r"(?:[-+]?\d+(?:\.\d+)?(?:[, ][-+]?\d+(?![\d:.]))*(?=\s))?(?:\s*(?:qid|\d+):[-+\d.eE]+){2,}\s*(?:#.*)?$"
        r"|[-+]?\d+(?:\.\d+)?(?:,[-+]?\d+)*\s+\d+:[-+\d.eE]+\s*(?:#.*)?$"
    ),
    "PECOS, with numbers of labels before each text": r"\d+(?:,(?:\d{1,2}|\d{4,}))*\t\S",
    "Vowpal Wabbit": r"-?\d[-\d.,: ]*(?:'\S+ ?)?\|(?:[a-z]\w*(?::[\d.]+)? | .*\b[a-z]\w{0,30}:-?\d)",
    "CoNLL, with a word in each line": r".*\s(?:O|[BIES]-\S+)$",
    "MARC as text, expected a text; convert it to MARC or MARCXML": r"=(?:LDR|\d{3})  |\d{9} (?:LDR|FMT|\d{3})",
    "EndNote's own export, expected a text; export it as RIS": r"%[A-Z0-9@!] \S",
    "Rich Text, expected a text; save it as .docx": r"\{\\rtf",
}
"Other tools, or what else a file is and what to do -> what its lines begin with."

_TRAINING_NAMES = r"[XYZ]\.(?:trn|tst|val)\.txt|(?:train|test|trn|tst|valid|val)[-_](?:raw[-_])?(?:texts|labels)\.txt"
"Names of files of XR-Transformer, PECOS and AttentionXML that hold a document, or its labels, in each line."

_SPARSE = (
    "holds numbers of labels and words (Extreme Classification Repository), and no text; download its raw text there "
    "(trn.json.gz, tst.json.gz, lbl.json.gz), or the texts of PECOS (X.trn.txt, Y.trn.npz) or AttentionXML "
    "(train_raw_texts.txt, train_labels.txt)"
)
"A training file that begins with the numbers of its documents, features and labels."


def refuse_training_file(text: str, path: Path) -> None:
    """Raise InputError for a file that other tools learn from, or another form of records or texts, which is no text.

    Most of the first lines tell it, after one that may hold the numbers of documents, features and labels; or the name.
    """
    lines = [
        line.strip() for line in text[:100_000].split("\n")[: 1 if text.startswith("{\\rtf") else 50] if line.strip()
    ]
    kind = "another tool (XR-Transformer, PECOS, AttentionXML), with a document or its labels in each line"
    is_sparse = len(lines) > 1 and bool(re.fullmatch(r"\d+[ \t]+\d+[ \t]+\d+", lines[0]))
    if not (re.fullmatch(_TRAINING_NAMES, path.name.removesuffix(".gz")) and len(lines) > 1):
        lines = lines[1:] if len(lines) > 1 and re.fullmatch(r"\d+[ \t]+\d+(?:[ \t]+\d+)?", lines[0]) else lines
        matching = {kind: sum(bool(re.match(begin, line)) for line in lines) for kind, begin in _TRAINING_LINES.items()}
        is_arff = re.search(r"(?ims)^@relation\s.*^@(?:attribute|data)\b", "\n".join(lines))
        is_most = (kind for kind, count in matching.items() if 5 * count >= 4 * len(lines) > 0)
        kind = "Weka (ARFF)" if is_arff else next(is_most, "")
    if is_sparse and kind.startswith("numbers"):
        raise InputError(_SPARSE, path)
    is_numbered = kind.startswith("PECOS") and not any(re.match(r"\d+,", line) for line in lines)
    if kind and not is_numbered:
        instead = 'write its lines as {"title": "...", "labels": ["..."]} in a .jsonl file'
        if kind.startswith("another"):
            instead = f"give the texts, X.trn.txt or train_texts.txt: {option('input_format', 'lines')}"
        is_export = "expected a text" in kind
        raise InputError(
            f"is {kind}" if is_export else f"is a training file of {kind}, expected a text; {instead}", path
        )


def parse_text(text: str) -> Document:
    r"""The first line is the title, unless it is too long for one; the rest is the abstract.

    >>> parse_text("\nBees\n\nThey fly.\nThey sting.").title_and_abstract
    'Bees\nThey fly.\nThey sting.'
    """
    title, _, rest = text.strip().partition("\n")
    if len(title) > LONGEST_TITLE:
        return Document("", abstract=text.strip())
    return Document("", title=title.strip(), abstract=rest.strip())


def parse_markdown(text: str) -> Document:
    r"""Headings, `#` or underlined, begin sections; the text before the first is the abstract (`to_document`).

    Title: `title:` in YAML front matter; or the first heading if it is on top or of the first level; or the first line.
    The level of a section counts the headings above it, so from `#` to `###` is one level. Lines inside fenced code are
    not headings.

    >>> bees = parse_markdown("# Bees\nThey fly.\n## Wings\nFour.\n\nThin.\n#### Veins")
    >>> bees.title, bees.abstract
    ('Bees', 'They fly.')
    >>> [(section.heading, section.level, section.paragraphs) for section in bees.sections]
    [('Wings', 1, ('Four.', 'Thin.')), ('Veins', 2, ())]
    """
    matter = r"---[ \t]*\n(?=[\w-]+[ \t]*:)(.*?\n)(?:---|\.\.\.)[ \t]*(?:\n|\Z)"
    front = re.match(matter, text, re.DOTALL)
    blocks = list(_blocks(render_visible(text[front.end() if front else 0 :]).split("\n")))
    title = _front_title(front[1] if front else "")
    if not title or blocks[:1] == [(1, title)]:
        title = _take_title(blocks)
    return to_document(title, blocks)


def with_labels_beside(read: Callable[[Path], Iterator[Located]], path: Path) -> Iterator[Located]:
    """The documents that `read` finds in a file, with the labels in a file of the same name, if there is one.

    They are URIs or names in a `.tsv`, or else names in a `.key`, one a line: `Vocabulary.resolve` accepts both.
    Raises InputError with path and line.
    """
    uris, names = path.with_suffix(".tsv"), path.with_suffix(".key")
    labels: Iterable[str] = ()
    if uris.is_file():
        labels = _subjects(uris)
    elif names.is_file():
        labels = (clean(name).strip() for _, name in open_lines(names) if name.strip())
    beside = tuple(dict.fromkeys(labels))
    for line, document in read(path):
        yield line, replace(document, labels=beside or document.labels)


def _subjects(path: Path) -> Iterator[str]:
    for line, row in open_lines(path):
        first, *others = [cell.strip() for cell in clean(row).split("\t")]
        is_uri = re.fullmatch(r"<[^<>]*>", first)
        if first and not is_uri and any(others):
            raise InputError(
                f"is {show(row)}, expected a label of the text beside it: a name, or <uri>, a tab, name", path, line
            )
        if label := (first[1:-1].strip() if is_uri else first) or next(iter(others), ""):
            yield label


def _blocks(lines: Iterable[str]) -> Iterator[Block]:
    paragraph: list[str] = []
    fence = ""
    for line in lines:
        if fence:
            paragraph.append(line)
            fence = "" if line.strip().startswith(fence) and not line.strip().strip(fence[0]) else fence
        elif opening := re.match(r" {0,3}(`{3,}(?=[^`]*$)|~{3,})", line):
            paragraph.append(line)
            fence = opening[1]
        elif len(paragraph) == 1 and (under := _UNDERLINE.match(line)) and not _LISTED.match(paragraph[0]):
            yield (1 if under[1].startswith("=") else 2), paragraph.pop().strip()
        elif heading := re.match(r" {0,3}(#{1,6})(?:[ \t]+|$)", line):
            yield from _paragraph(paragraph)
            yield len(heading[1]), _heading_text(line[heading.end() :].strip())
        elif line.strip():
            paragraph.append(line)
        else:
            yield from _paragraph(paragraph)
    yield from _paragraph(paragraph)


def _paragraph(lines: list[str]) -> Iterator[Block]:
    """The paragraph of these lines, if there are any; empties the list."""
    if lines:
        yield 0, "\n".join(lines).strip()
        lines.clear()


def _heading_text(text: str) -> str:
    """The text without the `#`s that may close it; those of `C#` belong to the word."""
    opened = text.rstrip("#")
    return opened.rstrip() if not opened or opened[-1] in " \t" else text


def _front_title(matter: str) -> str:
    line = re.search(r"^title:(.*)$", matter, re.MULTILINE)
    title = line[1].strip() if line else ""
    return title[1:-1].strip() if len(title) > 1 and title[0] == title[-1] and title[0] in "'\"" else title


def _take_title(blocks: list[Block]) -> str:
    """Take the title out of the blocks: the first heading, or else the first line."""
    first = next((position for position, (depth, _) in enumerate(blocks) if depth), None)
    if first is not None and (first == 0 or blocks[first][0] == 1):
        return blocks.pop(first)[1]
    if not blocks:
        return ""
    title, _, rest = blocks.pop(0)[1].partition("\n")
    if rest:
        blocks.insert(0, (0, rest))
    return title.strip()
