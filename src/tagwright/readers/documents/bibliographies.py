"""Read what reference managers and databases export: RIS, PubMed's and Web of Science's format, BibTeX, CSL JSON."""

import logging
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from tagwright.core.display import plural
from tagwright.core.extras import require
from tagwright.errors import InputError
from tagwright.readers.documents.catalogue import Record, Subject, to_documents
from tagwright.readers.documents.pandoc import latex_texts
from tagwright.readers.documents.records import Located
from tagwright.readers.documents.sections import keep_present, one_line, years
from tagwright.readers.limits import PLAIN, Reading, convert_errors, largest_document, too_large
from tagwright.readers.lines import json_objects, open_lines, open_text
from tagwright.text.words import clean
from tagwright.types import Document

_NAMES: Mapping[str, tuple[str, ...]] = {
    "id": ("ID", "id"),
    "title": ("TI", "T1", "CT", "BT", "title"),
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
_PUBMED: Mapping[str, tuple[str, ...]] = {
    "id": ("PMID",), "title": ("TI", "BTI"), "abstract": ("AB",), "author": ("FAU", "AU"), "keyword": ("OT",),
    "language": ("LA",), "year": ("DP",), "publisher": ("PB",), "venue": ("JT", "TA"), "label": ("MH",),
}  # fmt: skip
_WEB_OF_SCIENCE: Mapping[str, tuple[str, ...]] = {
    "id": ("UT",), "title": ("TI",), "abstract": ("AB",), "author": ("AF", "AU"), "keyword": ("DE",),
    "language": ("LA",), "year": ("PY",), "publisher": ("PU",), "venue": ("SO",),
}  # fmt: skip
_SEPARATORS = {"KW": "\n", "keywords": "[,;]", "keyword": "[,;]", "DE": ";", "AF": "\n", "AU": "\n"}
"Between the values in one text."


class _Dialect(NamedTuple):
    """A format of tagged lines. names: of its fields, as in `_NAMES`; begin, end: tags of a reference."""

    line: re.Pattern[str]
    names: Mapping[str, tuple[str, ...]]
    begin: str
    end: str = "ER"

    def split(self, line: str) -> tuple[str, str]:
        """The tag of a line, "" where a value goes on, and the text."""
        match = self.line.fullmatch(line.rstrip())
        return (match[1], match[2] or "") if match else ("", line)


_DIALECTS = (
    _Dialect(re.compile(r"([A-Z][A-Z0-9])  -(?: (.*))?"), _NAMES, "TY"),
    _Dialect(re.compile(r"(?=.{4}-)([A-Z]{2,4}) *-(?: (.*))?"), _PUBMED, "PMID", end=""),
    _Dialect(re.compile(r"([A-Z][A-Z0-9])(?: (.*))?"), _WEB_OF_SCIENCE, "PT"),
)
LONGEST_STRING = 1000
"The characters of an @string of BibTeX that are read; longer ones could make a text grow without bound."
_log = logging.getLogger(__name__)


def read_ris(path: Path, reading: Reading = PLAIN) -> Iterator[Located]:
    """Each reference of a file in RIS, or in the format of PubMed or of the Web of Science, with the line it begins on.

    Metadata: author, keyword, language, year, publisher, venue, note; the MeSH headings of PubMed are labels. Lines
    outside of references are counted in the log, and a reference above the limit for a document is left out. columns:
    as in `catalogue.to_documents`, which also says what is raised.
    """
    return to_documents(_references(path, reading), lambda record: record, path, reading)


def _references(path: Path, reading: Reading) -> Iterator[tuple[int, Record]]:
    dialect: _Dialect | None = None
    begin, left, outside, fields = 0, 0, list[int](), list[tuple[str, list[str]]]()
    for number, line in open_lines(path, "leave out", reading):
        dialect = dialect or next((each for each in _DIALECTS if each.split(line)[0] == each.begin), None)
        tag, text = dialect.split(line) if dialect else ("", line)
        if dialect and tag and tag in (dialect.begin, dialect.end):
            if fields and left >= 0:
                yield begin, _of_tagged_fields(fields, dialect)
            begin, left, fields = number, largest_document(), [(tag, [text])] if tag == dialect.begin else []
        elif fields and left >= 0:
            left -= len(line) + 1
            if left < 0:
                reading.leave_out(InputError(too_large(), path, begin))
            elif tag:
                fields.append((tag, [text]))
            else:
                fields[-1][1].append(text)
        elif not fields and not re.fullmatch(r"\d*\.?|(?:FN|VR) .*|EF", line.strip()):  # number, head, end
            outside.append(number)
    if dialect and fields and left >= 0:
        yield begin, _of_tagged_fields(fields, dialect)
    if outside:
        _log.warning("%s:%d: passed over: %s outside of references", path, outside[0], plural(len(outside), "line"))


def _of_tagged_fields(fields: Iterable[tuple[str, Sequence[str]]], dialect: _Dialect) -> Record:
    values = dict[str, list[str]]()
    for tag, lines in fields:
        wrapped = dialect.names is not _NAMES and tag not in _SEPARATORS
        values.setdefault(tag, []).append((" " if wrapped else "\n").join(map(str.strip, lines)))
    headings = values.get("MH", ()) if dialect.names is _PUBMED else ()
    subjects = [Subject("mesh", (), heading.partition("/")[0].strip("* ")) for heading in headings]
    record = _record(values, dialect.names)
    return record._replace(subjects=subjects, unused={*record.unused} - {dialect.begin})


def read_bibtex(path: Path, reading: Reading = PLAIN) -> Iterator[Located]:
    """Each entry of a BibTeX or BibLaTeX file as a document, with the line on which it begins; its key is the id.

    Metadata: author, keyword, language, year, publisher, venue, note. LaTeX in values becomes text. Entries that cannot
    be read are left out. reading: as in `catalogue.to_documents`, which also says what is raised.
    """
    require("reading BibTeX", "bibtexparser", path=path)
    from bibtexparser.entrypoint import parse_string
    from bibtexparser.model import Entry, ParsingFailedBlock, String

    with convert_errors("is no BibTeX, or damaged", "bibtexparser", path):
        blocks = parse_string(open_text(path, reading), parse_stack=[]).blocks
    strings, found = dict[str, str](), list[tuple[int, Entry] | InputError]()
    for block in blocks:
        line = (block.start_line or 0) + 1
        if isinstance(block, ParsingFailedBlock) and not isinstance(block.ignore_error_block, Entry):
            found.append(InputError(f"is no entry of BibTeX ({one_line(str(block.error))})", path, line))
        elif isinstance(block, String):
            strings[block.key.lower()] = _written_out(str(block.value), strings)[:LONGEST_STRING]
        elif isinstance(entry := getattr(block, "ignore_error_block", block), Entry):
            for field in entry.fields:
                field.value = re.sub(r"(?<!\\)%", r"\\%", _written_out(str(field.value), strings))
            found.append((line, entry))
    values = (field.value for each in found if isinstance(each, tuple) for field in each[1].fields)
    marked_up = [text for text in dict.fromkeys(values) if not re.fullmatch(r"[\w\s.,:;()/-]*", text)]
    texts = latex_texts(marked_up, path)

    def to_record(entry: Entry) -> Record:
        values = {field.key.lower(): [texts.get(field.value, field.value)] for field in entry.fields}
        for role in {"author", "editor"} & values.keys():
            values[role] = re.split(r"\s+and\s+", values[role][0])
        return _record(values | {"id": [entry.key]})

    return to_documents(found, to_record, path, reading)


def _written_out(value: str, strings: Mapping[str, str]) -> str:
    """A value of BibTeX without the signs around its parts, which `#` joins, and with names of strings replaced.

    >>> _written_out('b # " of {the} north"', {"b": "Bees"}), _written_out("{a # b}", {})
    ('Bees of {the} north', 'a # b')
    """
    parts, start, depth, quoted = list[str](), 0, 0, False
    for place, character in enumerate(f"{value}#"):
        depth += (character == "{") - (character == "}")
        quoted ^= character == '"' and not depth
        if character == "#" and (not (depth or quoted) or place == len(value)):
            parts.append(value[start:place].strip())
            start = place + 1
    texts = (part[1:-1] if part[:1] + part[-1:] in ("{}", '""') else strings.get(part.lower(), part) for part in parts)
    return "".join(texts)


def read_csl(path: Path, reading: Reading = PLAIN) -> Iterator[Located]:
    """Each item of a CSL JSON file as a document, with its position; metadata as of `read_ris`.

    Raises InputError, with the position for an item that is not one.
    """
    return of_csl(json_objects(path, reading), path, reading)


def is_csl(item: Mapping[str, Any]) -> bool:
    """Whether a JSON object is an item of CSL: it has a type, and a date or names as no other format writes them."""
    names = item.get("author")
    first = names[0] if isinstance(names, list) and names else None
    named = isinstance(first, dict) and not first.keys().isdisjoint({"family", "literal"})
    return "type" in item and (named or isinstance(item.get("issued"), dict))


def of_csl(items: Iterable[tuple[int, Mapping[str, Any]]], path: Path, reading: Reading) -> Iterator[Located]:
    """Items of CSL JSON, each with its position."""
    return to_documents(items, _of_item, path, reading)


def _of_item(item: Mapping[str, Any]) -> Record:
    first = ((name, value[0] if isinstance(value, list) and value else value) for name, value in item.items())
    values = {name: [str(value)] for name, value in first if isinstance(value, str | int)}  # Crossref has lists
    for role in ("author", "editor"):
        names = item.get(role)
        values[role] = [_csl_name(part) for part in names if part] if isinstance(names, list) else []
    issued = item.get("issued")
    values["issued"] = [str(part) for part in issued.values()] if isinstance(issued, dict) else []
    return _record({**dict.fromkeys(item, ()), **values})


def _csl_name(name: object) -> str:
    if not isinstance(name, dict):
        return str(name)
    return str(name.get("literal") or ", ".join(str(name[part]) for part in ("family", "given") if name.get(part)))


def _record(values: Mapping[str, Sequence[str]], known: Mapping[str, tuple[str, ...]] = _NAMES) -> Record:
    """The record of a reference. values: by the names that its format has for them. known: see `_NAMES`."""
    found = dict[str, list[str]]()
    for field in _NAMES:
        held = [name for name in known.get(field, ()) if values.get(name)]
        held = held if field == "author" and known is _NAMES else held[:1]
        texts = ((_SEPARATORS.get(name, "$^"), text) for name in held for text in values[name])
        found[field] = [part for separator, text in texts for part in re.split(separator, text)]
    abstract = "\n\n".join(clean(text).strip() for text in found.pop("abstract"))
    lines = {field: list(map(one_line, texts)) for field, texts in found.items()}
    id_, title = ("".join(lines.pop(field)[:1]) for field in ("id", "title"))
    one = {"venue": lines.pop("venue")[:1], "year": years(lines.pop("year")[:1])}
    document = Document(id_, title, abstract, metadata=keep_present(**lines, **one))
    unused = values.keys() - {name for names in known.values() for name in names}
    return Record(document, (), unused)
