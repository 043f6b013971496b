"""Bring records of S2ORC or CORD-19, in any of their layouts, into the usual shape.

listed     {"paper_id", "title", "body_text": [{"section", "sec_num", "text"}], "bib_entries"}, where all but title
           and authors may be in "pdf_parse", "grobid_parse", "latex_parse" or "jats_parse", and those two and the
           abstract in "metadata"; the first parse with a text is read
annotated  {"corpusid", "content": {"text", "annotations": {"paragraph": [{"start", "end", "attributes"}], ...}}},
           or with "body" for "content" and the rest outside it
"""

import json
from bisect import bisect_left
from collections.abc import Iterator, Mapping
from itertools import takewhile
from typing import Any, TypeAlias, cast

from tagwright.core.checked import show
from tagwright.readers.documents.markup import without_citations
from tagwright.readers.documents.sections import Block, keep_present, numbered_depth, to_sections, work_id

_Object: TypeAlias = Mapping[str, Any]


def adapt_s2orc(record: _Object) -> dict[str, Any]:
    """Title, abstract, sections and metadata as JSON lines have them. Raises ValueError for a value of a wrong type.

    >>> part = {"text": "They fly.", "section": "Wings", "sec_num": "2"}
    >>> bees = adapt_s2orc({"paper_id": "7", "body_text": [part], "bib_entries": {"b0": {"link": "8"}}})
    >>> bees["sections"], bees["metadata"]
    ([{'heading': 'Wings', 'level': 1, 'paragraphs': ['They fly.']}], {'reference': ['8']})
    """
    annotated = next((key for key in ("content", "body") if record.get(key)), "")
    parts = _read_annotated(record, _object(record, annotated)) if annotated else _list_authors(record)
    blocks = parts.pop("blocks")
    sections = [
        {"heading": section.heading, "level": section.level, "paragraphs": list(section.paragraphs)}
        for section in to_sections(blocks)
    ]
    metadata = {field: list(values) for field, values in keep_present(**parts.pop("metadata")).items()}
    return {
        "paper_id": record.get("paper_id", record.get("corpusid")),
        **parts,
        "sections": sections,
        "metadata": metadata,
    }


def unread_fields(record: _Object) -> list[str]:
    """The fields of a record with a value that is not used."""
    head = {"paper_id", "corpusid", "title", "abstract", "authors", "venue", "journal", "year", "metadata"}
    used = {*head, "body_text", "bib_entries", "bibliography", "content", "body", _chosen_parse(record)}
    return [field for field, value in record.items() if value and field not in used]


def _chosen_parse(record: _Object) -> str:
    """The first parse with a text, else the first with anything, else ""."""
    parses = [key for key in ("pdf_parse", "grobid_parse", "latex_parse", "jats_parse") if record.get(key)]
    return next((key for key in parses if _object(record, key).get("body_text")), "".join(parses[:1]))


def _list_authors(record: _Object) -> dict[str, Any]:
    metadata = _object(record, "metadata")
    head = {**metadata, **record}
    parse = _object(record, key) if (key := _chosen_parse(record)) else record
    entries = [value for value in _object(parse, "bib_entries").values() if isinstance(value, Mapping)]
    abstract = record.get("abstract") or metadata.get("abstract") or parse.get("abstract")
    if isinstance(abstract, list):
        abstract = "\n\n".join(_without_reference_numbers(part) for part in _objects(abstract, "abstract"))
    return {
        "title": head.get("title"),
        "abstract": abstract,
        "blocks": list(_from_parts(_objects(parse.get("body_text"), "body_text"))),
        "metadata": {
            "author": _authors(head.get("authors")),
            "venue": _values(head.get("venue") or head.get("journal")),
            "year": _values(head.get("year")),
            "reference": list(map(_listed_work, entries)),
        },
    }


def _from_parts(parts: list[_Object]) -> Iterator[Block]:
    """Each paragraph names its section, by name and number or as a path ("Methods ::: Data").

    A section that has only subsections is named nowhere; a section without heading takes its place.
    """
    before = list[str](), list[str]()
    for part in parts:
        names = [name.strip() for name in str(part.get("section") or "").split(":::")]
        numbers = str(part.get("sec_num") or "").strip(" .").split(".")
        depth = numbered_depth(".".join(numbers))
        if (names, numbers) != before:
            yield from ((place + 1, "") for place in range(_common_prefix_length(numbers, before[1]), depth - 1))
            shared = min(_common_prefix_length(names, before[0]), len(names) - 1)
            yield from ((depth + place, name) for place, name in enumerate(names) if place >= shared)
        before = names, numbers
        yield 0, _without_reference_numbers(part)


def _without_reference_numbers(part: _Object) -> str:
    """The text of a paragraph without the numbers of references, where it says which characters are such."""
    spans = part.get("cite_spans")
    places = ((span.get("start"), span.get("end")) for span in spans or () if isinstance(span, Mapping))
    return without_citations(part["text"], [(a, b) for a, b in places if type(a) is int and type(b) is int]).strip()


def _common_prefix_length(path: list[str], other: list[str]) -> int:
    """The length of the common prefix of two paths."""
    return sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], zip(path, other, strict=False)))


def _read_annotated(record: _Object, content: _Object) -> dict[str, Any]:
    notes = _Notes(content.get("text") or "", _object(content, "annotations"))
    outside = _object(record, "bibliography") if record.get("bibliography") else content
    works = _Notes(outside.get("text") or "", _object(outside, "annotations")).spans("bibentry")
    abstracts = notes.spans("abstract")
    return {
        "title": record.get("title") or next(iter(notes.texts("title")), ""),
        "abstract": "\n\n".join(notes.texts("abstract")),
        "blocks": [*_from_notes(notes, abstracts)],
        "metadata": {
            "author": _authors(record.get("authors")) or notes.names(),
            "venue": _values(record.get("venue")) or notes.texts("venue")[:1],
            "year": _values(record.get("year")),
            "reference": [
                _first_value(work.get("matched_paper_id")) or work_id({"doi": _first_value(work.get("doi"))})
                for *_, work in works
            ],
        },
    }


_Span: TypeAlias = tuple[int, int, _Object]
"Start, end and attributes of a part of the text."


class _Notes:
    """A text with notes about its parts; the notes of one kind are a list, or a list written as JSON in a string."""

    def __init__(self, text: object, annotations: _Object) -> None:
        _check(isinstance(text, str), "content.text is", text, "a text")
        self.text, self._annotations = str(text), annotations
        self._cited = [span[:2] for span in self.spans("bibref")]

    def spans(self, kind: str) -> list[_Span]:
        """The spans of the parts of this kind, in order."""
        found = self._annotations.get(kind)
        try:
            entities = (json.loads(found) if isinstance(found, str) else found) or []
            spans = [
                (max(int(each["start"]), 0), max(int(each["end"]), 0), _mapping(each.get("attributes")))
                for each in entities
            ]
        except (AttributeError, LookupError, OverflowError, RecursionError, TypeError, ValueError):
            expected = "a list of objects with start and end"
            raise ValueError(f"annotations.{kind} is {show(found)}, expected {expected}") from None
        return sorted(spans, key=lambda span: span[:2])

    def texts(self, kind: str) -> list[str]:
        """The parts of this kind."""
        return [self.of(span) for span in self.spans(kind)]

    def of(self, span: _Span) -> str:
        """The text of a part."""
        start, end, _ = span
        cited = self._cited[bisect_left(self._cited, (start, 0)) : bisect_left(self._cited, (end, 0))]
        return without_citations(self.text[start:end], [(a - start, b - start) for a, b in cited]).strip()

    def names(self) -> list[str]:
        """First and last names inside each author, joined."""
        parts = sorted((*self.spans("authorfirstname"), *self.spans("authorlastname")), key=lambda span: span[:2])
        inside = ([part for part in parts if _is_span_within(part, author)] for author in self.spans("author"))
        return [" ".join(map(self.of, part)) for part in inside if part]


def _from_notes(notes: _Notes, abstracts: list[_Span]) -> Iterator[Block]:
    headings = [(span, numbered_depth(str(span[2].get("n") or ""))) for span in notes.spans("sectionheader")]
    parts = [*headings, *((span, 0) for span in notes.spans("paragraph"))]
    for span, depth in sorted(parts, key=lambda part: part[0][:2]):
        if not any(_is_span_within(span, abstract) for abstract in abstracts):
            yield depth, notes.of(span)


def _is_span_within(span: _Span, outer: _Span) -> bool:
    return outer[0] <= span[0] and span[1] <= outer[1]


def _authors(value: object) -> list[str]:
    """Names, or objects with first, middle and last name, or with one name."""
    names = list[str]()
    for person in value if isinstance(value, list) else ():
        author = person if isinstance(person, Mapping) else {"name": person}
        parts = [part for field in ("first", "middle", "last") for part in _values(author.get(field))]
        names.append(" ".join(parts) or str(author.get("name") or ""))
    return list(filter(None, names))


def _listed_work(entry: _Object) -> str:
    """The id of the record that the entry was matched to, or else its DOI or PubMed id."""
    ids = _mapping(entry.get("other_ids"))
    link = _first_value(entry.get("link") or entry.get("links"))
    return link or work_id({kind: _first_value(names) for kind, names in ids.items()})


def _first_value(value: object) -> str:
    return "".join(_values(value)[:1])


def _values(value: object) -> list[str]:
    return [str(item) for item in (value if isinstance(value, list) else [value]) if item]


def _mapping(value: object) -> _Object:
    return value if isinstance(value, Mapping) else {}


def _object(record: _Object, key: str) -> _Object:
    value = record.get(key) or {}
    _check(isinstance(value, Mapping), f"{key} is", value, "an object")
    return _mapping(value)


def _objects(value: object, key: str) -> list[_Object]:
    """A list of objects, each with a text."""
    objects = value or []
    _check(isinstance(objects, list), f"{key} is", objects, "a list of objects")
    listed = cast("list[_Object]", objects)
    for each in listed:
        _check(isinstance(_mapping(each).get("text"), str), f"{key} holds", each, "an object with text")
    return listed


def _check(is_right: bool, what: str, value: object, expected: str) -> None:
    if not is_right:
        raise ValueError(f"{what} {show(value)}, expected {expected}")
