"""Read what reference managers such as Zotero export: RIS, BibTeX (extra `latex`), and CSL JSON."""

import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from tagwright.core.extras import require
from tagwright.core.progress import unlogged
from tagwright.errors import InputError
from tagwright.readers.documents.records import Located
from tagwright.readers.documents.sections import one_line, present, years
from tagwright.readers.limits import largest_document, reject, too_large
from tagwright.readers.lines import Place, json_objects, open_lines, open_text
from tagwright.text.words import clean
from tagwright.types import Document

_RIS = re.compile(r"([A-Z][A-Z0-9])  -(?: (.*))?")

_NAMES: Mapping[str, tuple[str, ...]] = {
    "id": ("ID", "id"),
    "title": ("TI", "T1", "CT", "title"),
    "abstract": ("AB", "N2", "abstract"),
    "author": ("AU", "A1", "A2", "A3", "author", "editor"),
    "keyword": ("KW", "keywords", "keyword"),
    "language": ("LA", "language", "langid"),
    "year": ("PY", "Y1", "DA", "year", "date", "issued"),
    "publisher": ("PB", "publisher"),
    "venue": ("T2", "JO", "JF", "journal", "journaltitle", "booktitle", "container-title"),
    "note": ("N1", "note"),
}
"""Field -> its names in RIS, BibTeX and CSL JSON. Authors are those of all names; of anything else the first name
counts that has a value."""
_SEPARATORS = {"KW": "\n", "keywords": "[,;]", "keyword": "[,;]"}
"Between the values in one text."


def read_ris(path: Path) -> Iterator[Located]:
    """Each reference of a RIS file as a document, with the line on which it begins.

    ID is the id, TI the title, AB or N2 the abstract. Metadata: author, keyword, language, year, publisher, venue,
    note. Raises InputError with the line for text outside of a reference and for a reference without end.
    """
    begin, size, values, last = 0, 0, dict[str, list[str]](), list[str]()
    for number, line in open_lines(path, "leave out"):
        size += len(line)
        if values and size > largest_document():
            raise InputError(f"a reference {too_large()}", path, begin)
        tag = _RIS.fullmatch(line.rstrip())
        if tag and tag[1] == "TY":
            if values:
                raise InputError("a reference has no end, ER, before the next one", path, begin)
            begin, size, values, last = number, len(line), {"TY": [tag[2] or ""]}, []
        elif tag and tag[1] == "ER" and values:
            yield begin, _document(values)
            values = {}
        elif values and tag:
            last = values.setdefault(tag[1], [])
            last.append(tag[2] or "")
        elif values and last:
            last[-1] += f"\n{line}"
        elif line.strip():
            raise InputError(f"{line[:40]!r} is outside of a reference, expected TY  - at its beginning", path, number)
    if values:
        raise InputError("a reference has no end: ER  -", path, begin)


def read_bibtex(path: Path) -> Iterator[Located]:
    """Each entry of a BibTeX or BibLaTeX file as a document, with the line on which it begins; its key is the id.

    Metadata: author, keyword, language, year, publisher, venue, note. LaTeX in values becomes text. Raises InputError
    with the line for an entry that cannot be read.
    """
    require("reading BibTeX", "bibtexparser", path=path)
    from bibtexparser.entrypoint import parse_string
    from bibtexparser.model import Entry, ParsingFailedBlock
    from pylatexenc.latex2text import LatexNodes2Text

    decode = LatexNodes2Text(keep_comments=True).latex_to_text
    with unlogged("bibtexparser.splitter"):  # what it would log is raised here
        library = parse_string(open_text(path))
    for block in library.blocks:
        place = Place(path, (block.start_line or 0) + 1)
        if isinstance(block, ParsingFailedBlock):
            reject(place.error(f"is no entry of BibTeX ({one_line(str(block.error))})"))
        elif isinstance(block, Entry):
            values = {field.key.lower(): [decode(str(field.value))] for field in block.fields} | {"id": [block.key]}
            for role in {"author", "editor"} & values.keys():
                values[role] = re.split(r"\s+and\s+", values[role][0])
            yield place.line or 0, _document(values)


def read_csl(path: Path) -> Iterator[Located]:
    """Each item of a CSL JSON file as a document, with its position; metadata as of `read_ris`.

    Raises InputError, with the position for an item that is not one.
    """
    for position, item in json_objects(path):
        yield position, of_csl(item)


def is_csl(item: Mapping[str, Any]) -> bool:
    """Whether a JSON object is an item of CSL: it has a type, and a date or names as no other format writes them."""
    names = item.get("author")
    first = names[0] if isinstance(names, list) and names else None
    named = isinstance(first, dict) and not first.keys().isdisjoint({"family", "literal"})
    return "type" in item and (named or isinstance(item.get("issued"), dict))


def of_csl(item: Mapping[str, Any]) -> Document:
    """An item of CSL JSON; what has no text is left out."""
    values = {name: [str(value)] for name, value in item.items() if isinstance(value, str | int)}
    for role in ("author", "editor"):
        names = item.get(role)
        values[role] = [_csl_name(each) for each in names if each] if isinstance(names, list) else []
    issued = item.get("issued")
    values["issued"] = [str(each) for each in issued.values()] if isinstance(issued, dict) else []
    return _document(values)


def _csl_name(name: object) -> str:
    if not isinstance(name, dict):
        return str(name)
    return str(name.get("literal") or ", ".join(str(name[part]) for part in ("family", "given") if name.get(part)))


def _document(values: Mapping[str, Sequence[str]]) -> Document:
    """The document of a reference. values: by the names that its format has for them, see `_NAMES`."""
    found = dict[str, list[str]]()
    for field, names in _NAMES.items():
        held = [name for name in names if values.get(name)][: None if field == "author" else 1]
        found[field] = [
            part for name in held for text in values[name] for part in re.split(_SEPARATORS.get(name, "$^"), text)
        ]
    abstract = "\n\n".join(clean(text).strip() for text in found.pop("abstract"))
    lines = {field: list(map(one_line, texts)) for field, texts in found.items()}
    id_, title = ("".join(lines.pop(field)[:1]) for field in ("id", "title"))
    one = {"venue": lines.pop("venue")[:1], "year": years(lines.pop("year")[:1])}
    return Document(id_, title, abstract, metadata=present(**lines, **one))
