"""Read Dublin Core in XML: oai_dc, qualified DCMI terms, single records and the answers of OAI-PMH."""

from collections.abc import Iterator
from pathlib import Path
from xml.etree.ElementTree import Element  # of trees built by tagwright.readers.documents.xml

from tagwright.data.subjects import is_address, source_code
from tagwright.readers.documents.catalogue import Record, Subject, contents, to_documents
from tagwright.readers.documents.markup import HTML
from tagwright.readers.documents.records import Located
from tagwright.readers.documents.sections import keep_present, one_line, years
from tagwright.readers.documents.xml import Prose, read_elements
from tagwright.readers.limits import PLAIN, Reading
from tagwright.types import Document

_VALUE = Prose()
_READ = (
    "title alternative creator contributor subject description abstract tableOfContents date issued created publisher "
    "isPartOf language type identifier datestamp setSpec"
)
"Elements that are read, and those of the head of a harvested record."


def read_dublin_core(path: Path, reading: Reading = PLAIN) -> Iterator[Located]:
    """Read the records of a file. Their places are the lines on which they begin.

    The identifier of the harvest, or else dc:identifier, is the id; dcterms:abstract, or else dc:description, the
    abstract; tableOfContents a section. Labels are the subjects, by address where they are one, several between
    semicolons; their source is the xsi:type. Other metadata: author (creator, contributor), year, publisher, venue,
    language, type, alternative (title). Deleted records, and those without title and description, are passed over.
    reading: as in `catalogue.to_documents`, which also says what is raised.
    """
    # of OAI-PMH and SRU, of oai_dc, of qualified Dublin Core, of a plain file, of RDF
    records = read_elements(path, "record", "dc", "qualifieddc", "metadata", "Description", reading=reading)
    passed_over = "is deleted, or has no title and no description"
    return to_documents(records, _to_record, path, reading, passed_over)


def _to_record(element: Element) -> Record | None:
    header = element.find("header")
    texts: dict[str, list[str]] = {}
    subjects = list[Subject]()
    for node in element.iter():
        is_text = all(part is node or part.tag in HTML for part in node.iter())
        text = (_VALUE.line(node) or one_line(node.get("resource", ""))) if is_text else ""
        if text:
            texts.setdefault(node.tag, []).append(text)
        if text and node.tag == "subject":
            subjects.append(_subject(text, node))
    harvested = header.findtext("identifier", "").strip() if header is not None else ""
    if not texts.keys() & {"title", "description", "abstract"} or (header is not None and header.get("status")):
        return None

    def values(*names: str) -> list[str]:
        return [text for name in names for text in texts.get(name, ())]

    titles = values("title")
    document = Document(
        harvested or next(iter(values("identifier")), ""),
        titles[0] if titles else "",
        "\n\n".join(values("abstract") or values("description")),
        contents(values("tableOfContents")),
        keep_present(
            alternative=[*titles[1:], *values("alternative")],
            author=values("creator", "contributor"),
            year=years(values("issued", "created", "date")[:1]),
            publisher=values("publisher"),
            venue=values("isPartOf"),
            language=values("language"),
            type=values("type"),
        ),
    )
    return Record(document, subjects, texts.keys() - {*_READ.split()})


def _subject(text: str, element: Element) -> Subject:
    """A subject of the vocabulary that xsi:type (dcterms:LCSH), a scheme or an authority names."""
    named = (element.get(name, "") for name in ("type", "scheme", "authority", "authorityURI"))
    source = source_code(next(filter(None, named), "").removeprefix("dcterms:"))
    if is_address(text):
        return Subject(source, (text,), "")
    return Subject(source, tuple(filter(None, [element.get("valueURI", "")])), text)
