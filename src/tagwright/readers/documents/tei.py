"""Read TEI files as GROBID makes them from PDFs."""

from collections.abc import Iterator
from pathlib import Path
from xml.etree.ElementTree import Element  # trees that tagwright.readers.documents.xml has built

from tagwright.errors import InputError
from tagwright.readers.documents.records import Located
from tagwright.readers.documents.sections import Block, numbered_depth, present, to_sections, work_id
from tagwright.readers.documents.xml import Prose, read_elements
from tagwright.types import Document

_PROSE = Prose(
    ("ab", "div", "figDesc", "figure", "head", "item", "lb", "list", "note", "p"),
    lambda element: element.tag in ("formula", "graphic", "label", "listBibl", "table"),
)


def read_tei(path: Path) -> Iterator[Located]:
    """Every `TEI` element in the file. Its id is its PubMed id or DOI, or blank when it has none.

    GROBID writes sections one after the other: their level follows from their numbers ("2.1"), and from their nesting
    where they are nested. Captions of figures are kept; formulas, tables and acknowledgements are left out. Metadata:
    author, venue, year, keyword, reference (PubMed ids, or else DOIs). Raises InputError with path and line.
    """
    for number, tei in read_elements(path, "TEI"):
        header = tei.find("teiHeader")
        if header is None:
            raise InputError("is TEI without teiHeader, expected what GROBID writes", path, number)
        yield number, _document(tei, header)


def _document(tei: Element, header: Element) -> Document:
    source = header.find("fileDesc/sourceDesc/biblStruct")
    source = Element("biblStruct") if source is None else source
    keywords = header.find("profileDesc/textClass/keywords")
    terms = [] if keywords is None else keywords.findall(".//term") or [keywords]
    return Document(
        _work(source),
        title=_PROSE.line(header.find("fileDesc/titleStmt/title")),
        abstract="\n\n".join(_PROSE.paragraphs(header.find("profileDesc/abstract"))),
        sections=tuple(to_sections(_body(tei))),
        metadata=present(
            author=[_name(each) for each in source.iter("author")],
            venue=[_PROSE.line(each) for each in source.findall("monogr/title")[:1]],
            year=[each.get("when", "")[:4] for each in source.findall(".//imprint/date")[:1]],
            keyword=list(map(_PROSE.line, terms)),
            reference=[_work(each) for each in tei.iterfind("text//listBibl/biblStruct")],
        ),
    )


def _body(tei: Element) -> Iterator[Block]:
    floating = list[str]()
    for part in (*tei.findall("text/body"), *tei.findall("text/back/div[@type='annex']")):
        for child in part:
            if child.tag == "div":
                yield from _blocks(child, 0)
            else:
                floating += _PROSE.paragraphs(child)
    if floating:
        yield from [(1, ""), *((0, text) for text in floating)]


def _blocks(division: Element, above: int) -> Iterator[Block]:
    """A division; one without a heading continues the section before it."""
    head = division.find("head")
    depth = above + (0 if head is None else numbered_depth(head.get("n", "")))
    if head is not None:
        yield depth, _PROSE.line(head)
    own = (child for child in division if child.tag not in {"head", "div"})
    yield from ((0, text) for child in own for text in _PROSE.paragraphs(child))
    for part in division.findall("div"):
        yield from _blocks(part, depth)


def _name(author: Element) -> str:
    name = author.find("persName")
    parts = [] if name is None else [*name.findall("forename"), *name.findall("surname")]
    return " ".join(filter(None, map(_PROSE.line, parts)))


def _work(source: Element) -> str:
    return work_id({each.get("type", ""): _PROSE.line(each) for each in source.iter("idno")})
