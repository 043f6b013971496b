"""Read what reference managers such as Zotero export: RIS, BibTeX (extra `latex`), and CSL JSON."""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from tagwright.core.extras import require
from tagwright.core.progress import unlogged
from tagwright.errors import InputError
from tagwright.readers.documents.records import Located
from tagwright.readers.documents.sections import one_line, present
from tagwright.readers.limits import largest_document, reject, too_large
from tagwright.readers.lines import Place, json_objects, open_lines, open_text
from tagwright.text.words import clean
from tagwright.types import Document

_RIS = re.compile(r"([A-Z][A-Z0-9])  -(?: (.*))?")


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
            yield begin, _of_ris(values)
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


def _of_ris(values: Mapping[str, Sequence[str]]) -> Document:
    def every(*tags: str) -> list[str]:
        return [text for tag in tags for text in values.get(tag, ())]

    return _document(
        every("ID")[:1],
        every("TI", "T1", "CT"),
        every("AB") or every("N2"),
        author=every("AU", "A1", "A2", "A3"),
        keyword=[word for text in every("KW") for word in text.splitlines()],
        language=every("LA"),
        year=every("PY", "Y1", "DA")[:1],
        publisher=every("PB"),
        venue=every("T2", "JO", "JF")[:1],
        note=every("N1"),
    )


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
            values = {field.key.lower(): decode(str(field.value)) for field in block.fields}
            yield place.line or 0, _of_bibtex(block.key, values)


def _of_bibtex(key: str, values: Mapping[str, str]) -> Document:
    def every(*names: str) -> list[str]:
        return [values[name] for name in names if name in values]

    return _document(
        [key],
        every("title"),
        every("abstract"),
        author=[name for names in every("author", "editor") for name in re.split(r"\s+and\s+", names)],
        keyword=[word for words in every("keywords") for word in re.split("[,;]", words)],
        language=every("language", "langid")[:1],
        year=every("year", "date")[:1],
        publisher=every("publisher"),
        venue=every("journal", "journaltitle", "booktitle")[:1],
        note=every("note"),
    )


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

    def every(name: str) -> list[str]:
        value = item.get(name)
        return [str(value)] if isinstance(value, str | int) else []

    roles = (item.get(role) for role in ("author", "editor"))
    names = (name for role in roles if isinstance(role, list) for name in role)
    issued = item.get("issued")
    dates = [str(each) for each in issued.values()] if isinstance(issued, dict) else []
    return _document(
        every("id"),
        every("title"),
        every("abstract"),
        author=[_csl_name(each) for each in names if each],
        keyword=[word for words in every("keyword") for word in re.split("[,;]", words)],
        language=every("language"),
        year=dates[:1],
        publisher=every("publisher"),
        venue=every("container-title"),
        note=every("note"),
    )


def _csl_name(name: object) -> str:
    if not isinstance(name, dict):
        return str(name)
    return str(name.get("literal") or ", ".join(str(name[part]) for part in ("family", "given") if name.get(part)))


def _document(id_: Sequence[str], title: Sequence[str], abstract: Sequence[str], **metadata: list[str]) -> Document:
    """A document of the first title and all of the abstract; of a year, its four digits."""
    years = [year[0] for text in metadata.pop("year") if (year := re.search(r"\d{4}", text))]
    cleaned = {field: list(_lines(values)) for field, values in metadata.items()}
    return Document(
        next(_lines(id_), ""),
        next(_lines(title), ""),
        "\n\n".join(clean(text).strip() for text in abstract),
        metadata=present(**cleaned, year=years),
    )


def _lines(texts: Iterable[str]) -> Iterator[str]:
    return (one_line(clean(text)) for text in texts)
