"""Read articles in XML: JATS or NLM (PubMed Central, publishers), citations of PubMed, TEI as GROBID makes it."""

from collections.abc import Iterator
from pathlib import Path
from xml.etree.ElementTree import Element  # of trees built by tagwright.readers.documents.xml

from tagwright.errors import InputError
from tagwright.readers.documents.catalogue import Record, Subject, to_documents
from tagwright.readers.documents.markup import of_jats, of_tei
from tagwright.readers.documents.records import Located
from tagwright.readers.documents.sections import Block, keep_present, numbered_depth, to_sections, work_id, years
from tagwright.readers.documents.xml import Prose, read_elements
from tagwright.readers.limits import PLAIN, Reading
from tagwright.types import Document, Section

_PLAIN, _PROSE, _TEI = Prose(), Prose(of_jats, is_paper=True), Prose(of_tei, is_paper=True)


def read_jats(path: Path, reading: Reading = PLAIN) -> Iterator[Located]:
    """Read every `article` of a file. Its id is its PubMed id, DOI or PMC id, or blank if it has none.

    Sections are those of body and appendices. Captions become paragraphs. Tables, formulas in TeX, responses,
    acknowledgements and notes are left out. Metadata: author, venue (the journal), year, keyword, reference (PubMed
    ids, or else DOIs). Raises InputError with path and line.
    """
    for number, article in read_elements(path, "article", reading=reading):
        if article.find("front") is None and article.find("body") is None:
            raise InputError("is an article without front and body, expected JATS", path, number)
        yield number, _document(article)


def read_pubmed(path: Path, reading: Reading = PLAIN) -> Iterator[Located]:
    """Read every `PubmedArticle` of a file. Its id is its PubMed id, its labels are the names of its MeSH headings.

    Metadata: author, venue, year, keyword, language, reference (PubMed ids). reading: as in `catalogue.to_documents`,
    which also says what is raised.
    """
    return to_documents(read_elements(path, "PubmedArticle", reading=reading), _citation, path, reading)


def _citation(article: Element) -> Record:
    cited = _find(article, "MedlineCitation")
    paper = _find(cited, "Article")
    authors, names = paper.iterfind("AuthorList/Author"), ("ForeName", "LastName", "Suffix", "CollectiveName")
    parts = ((part.get("Label", ""), _PLAIN.line(part)) for part in paper.iterfind("Abstract/AbstractText"))
    document = Document(
        _PLAIN.line(cited.find("PMID")),
        title=_PLAIN.line(paper.find("ArticleTitle")),
        abstract="\n\n".join("\n".join(filter(None, part)) for part in parts),
        metadata=keep_present(
            author=[" ".join(" ".join(_PLAIN.line(author.find(name)) for name in names).split()) for author in authors],
            venue=[_PLAIN.line(paper.find("Journal/Title"))],
            year=years(_PLAIN.lines(paper.findall("Journal/JournalIssue/PubDate")[:1])),
            keyword=_PLAIN.lines(cited.iterfind("KeywordList/Keyword")),
            language=_PLAIN.lines(paper.iterfind("Language")),
            reference=_PLAIN.lines(article.iterfind("PubmedData//Reference//ArticleId[@IdType='pubmed']")),
        ),
    )
    headings = _PLAIN.lines(cited.iterfind("MeshHeadingList//DescriptorName"))
    return Record(document, [Subject("mesh", (), name) for name in headings])


def _document(article: Element) -> Document:
    meta = _find(article, "front/article-meta")
    abstracts = meta.findall("abstract")
    plain = [abstract for abstract in abstracts if "abstract-type" not in abstract.attrib]
    persons, groups = meta.findall("contrib-group/contrib"), meta.findall("kwd-group")
    authors = [person for person in persons if person.get("contrib-type", "author") == "author"]
    groups = [group for group in groups if not group.get("kwd-group-type", "").startswith("abbr")]  # of abbreviations
    return Document(
        work_id({element.get("pub-id-type", ""): _PLAIN.line(element) for element in meta.findall("article-id")}),
        title=_PROSE.line(meta.find("title-group/article-title")),
        abstract="\n\n".join(map(_read_abstract, (plain or abstracts)[:1])),
        sections=tuple(_sections(article)),
        metadata=keep_present(
            author=list(map(_name, authors)),
            venue=_PLAIN.lines(article.findall("front/journal-meta//journal-title")[:1]),
            year=_PLAIN.lines(meta.findall("pub-date/year")[:1]),
            keyword=[word for group in groups for word in _PLAIN.lines(group.iterfind(".//kwd"))],
            reference=[_reference(work) for ref in article.iterfind("back//ref-list//ref") for work in _works(ref)],
        ),
    )


def _read_abstract(abstract: Element) -> str:
    """Return a paragraph for each section, with its heading on a line before the text."""
    sections = ("\n".join(_PROSE.paragraphs(section)) for section in abstract.iterfind("sec"))
    return "\n\n".join([*_own_paragraphs(_PROSE, abstract, "title", "sec"), *sections])


def _own_paragraphs(prose: Prose, element: Element, *others: str) -> list[str]:
    """The paragraphs of an element outside of its children of these names."""
    return [text for child in element if child.tag not in others for text in prose.paragraphs(child)]


def _sections(article: Element) -> Iterator[Section]:
    yield from to_sections(_blocks(_find(article, "body"), 0))
    for appendix in article.iterfind("back/app-group/app"):
        yield from to_sections([_heading(appendix, 1), *_blocks(appendix, 1)])
    if captions := _PROSE.paragraphs(article.find("floats-group")):
        yield Section("", 1, tuple(captions))


def _heading(section: Element, depth: int) -> Block:
    return depth, _PROSE.line(section.find("title"))


def _blocks(section: Element, depth: int) -> Iterator[Block]:
    """Return the blocks below the heading of a section of this depth."""
    yield from ((0, text) for text in _own_paragraphs(_PROSE, section, "title", "sec"))
    for part in section.iterfind("sec"):
        yield _heading(part, depth + 1)
        yield from _blocks(part, depth + 1)


def _name(contributor: Element) -> str:
    places = map(contributor.find, ("name", ".//string-name", ".//name"))
    name = next((place for place in places if place is not None), None)
    if name is None:
        return _PROSE.line(contributor.find(".//collab"))
    parts = " ".join(_PLAIN.line(name.find(part)) for part in ("given-names", "surname", "suffix")).split()
    return " ".join(parts) or _PLAIN.line(name)


def _works(reference: Element) -> list[Element]:
    """Return the cited works of one entry: some entries list several (a, b, c), or the same work twice."""
    citations = ("element-citation", "mixed-citation", "nlm-citation", "citation")
    return [work for work in reference if work.tag in citations] or [reference]


def _reference(reference: Element) -> str:
    ids = {element.get("pub-id-type", ""): _PLAIN.line(element) for element in reference.iter("pub-id")}
    links = (element.get("href", "") for element in reference.iter("ext-link"))
    return work_id({"doi": next((link for link in links if "doi.org/" in link), ""), **ids})


def _find(element: Element, path: str) -> Element:
    child = element.find(path)
    return Element("nothing") if child is None else child


def read_tei(path: Path, reading: Reading = PLAIN) -> Iterator[Located]:
    """Every `TEI` element in the file. Its id is its PubMed id or DOI, or blank when it has none.

    GROBID writes sections one after the other: their level follows from their numbers ("2.1"), and from their nesting
    where they are nested. Captions of figures are kept; formulas, tables and acknowledgements are left out. Metadata:
    author, venue, year, keyword, reference (PubMed ids, or else DOIs). Raises InputError with path and line.
    """
    for number, tei in read_elements(path, "TEI", reading=reading):
        header = tei.find("teiHeader")
        if header is None:
            raise InputError("is TEI without teiHeader, expected what GROBID writes", path, number)
        yield number, _of_tei(tei, header)


def _of_tei(tei: Element, header: Element) -> Document:
    source = _find(header, "fileDesc/sourceDesc/biblStruct")
    keywords = _find(header, "profileDesc/textClass/keywords")
    return Document(
        _work_of_tei(source),
        title=_TEI.line(header.find("fileDesc/titleStmt/title")),
        abstract="\n\n".join(_TEI.paragraphs(header.find("profileDesc/abstract"))),
        sections=tuple(to_sections(_body_of_tei(tei))),
        metadata=keep_present(
            author=[_name_of_tei(element) for element in source.iter("author")],
            venue=_TEI.lines(source.findall("monogr/title")[:1]),
            year=[element.get("when", "")[:4] for element in source.findall(".//imprint/date")[:1]],
            keyword=_TEI.lines(keywords.findall(".//term") or [keywords]),
            reference=[_work_of_tei(element) for element in tei.iterfind("text//listBibl/biblStruct")],
        ),
    )


def _body_of_tei(tei: Element) -> Iterator[Block]:
    floating = list[str]()
    for part in (*tei.findall("text/body"), *tei.findall("text/back/div[@type='annex']")):
        for child in part:
            if child.tag == "div":
                yield from _blocks_of_tei(child, 0)
            else:
                floating += _TEI.paragraphs(child)
    if floating:
        yield from [(1, ""), *((0, text) for text in floating)]


def _blocks_of_tei(division: Element, above: int) -> Iterator[Block]:
    """A division; one without a heading continues the section before it."""
    head = division.find("head")
    depth = above + (0 if head is None else numbered_depth(head.get("n", "")))
    if head is not None:
        yield depth, _TEI.line(head)
    yield from ((0, text) for text in _own_paragraphs(_TEI, division, "head", "div"))
    for part in division.findall("div"):
        yield from _blocks_of_tei(part, depth)


def _name_of_tei(author: Element) -> str:
    name = _find(author, "persName")
    return " ".join(filter(None, _TEI.lines([*name.findall("forename"), *name.findall("surname")])))


def _work_of_tei(source: Element) -> str:
    return work_id({element.get("type", ""): _TEI.line(element) for element in source.iter("idno")})
