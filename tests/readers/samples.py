"""The one table of formats for the tests of readers: files of each, of any number of documents.

Who adds a reader adds a sample here: `test_account.py`, `test_encodings.py` and `documents/test_ids.py` run over them.
"""

from __future__ import annotations

import io
import json
from collections.abc import Callable, Sequence
from typing import Any, Literal, NamedTuple

import openpyxl
import pyarrow as pa
import pyarrow.parquet as pq
from tests.readers.documents.catalogue_records import in_xml, marc_record, utf8
from tests.readers.printed import page, pdf
from tests.readers.word import paragraph, word


class Sample(NamedTuple):
    """Files of a format.

    format: its name in `FORMATS`; name: of a file, with its suffix; content: of documents that have each of these
    titles, as the id too, where the format has ids; ids: who gave them, `none` where a document is called by its file;
    unused: what is neither text nor labels in the file, as its account names it.
    """

    format: str
    name: str
    content: Callable[[Sequence[str]], str | bytes]
    ids: Literal["user", "catalogue", "none"] = "user"
    unused: str = "shelf"

    def __str__(self) -> str:
        return self.name

    def file(self, *titles: str) -> bytes:
        """The content in UTF-8."""
        content = self.content(titles)
        return content.encode() if isinstance(content, str) else content


def records(titles: Sequence[str]) -> list[dict[str, Any]]:
    """As tables and JSON hold them."""
    return [{"id": each, "title": each, "text": "They fly.", "labels": "insects", "shelf": "A 1"} for each in titles]


def _json_of(make: Callable[[str], dict[str, Any]], *, lines: bool = False) -> Callable[[Sequence[str]], str]:
    if lines:
        return lambda titles: "".join(f"{json.dumps(make(each), ensure_ascii=False)}\n" for each in titles)
    return lambda titles: json.dumps([make(each) for each in titles], ensure_ascii=False)


def _record(title: str) -> dict[str, Any]:
    return {**records([title])[0], "labels": ["insects"]}


def _task(title: str) -> dict[str, Any]:
    """Of Label Studio."""
    chosen = {"type": "choices", "from_name": "topic", "value": {"choices": ["insects"]}}
    rated = {"type": "rating", "from_name": "shelf", "value": {"rating": 3}}
    return {"id": title, "data": {"title": title}, "annotations": [{"result": [chosen, rated]}]}


def _annotated(title: str) -> dict[str, Any]:
    """Of argilla."""
    answers = {"topic": [{"value": ["insects"], "user_id": "a"}], "shelf": [{"value": "A 1", "user_id": "a"}]}
    return {"id": title, "fields": {"title": title}, "metadata": {}, "responses": answers}


def _table(mark: str) -> Callable[[Sequence[str]], str]:
    return lambda titles: "".join(
        f"{mark.join(row)}\n" for row in (records(["x"])[0], *(each.values() for each in records(titles)))
    )


def _workbook(titles: Sequence[str]) -> bytes:
    book, stream = openpyxl.Workbook(), io.BytesIO()
    for cells in (records(["x"])[0], *(each.values() for each in records(titles))):
        book.active.append(list(cells))
    book.save(stream)
    return stream.getvalue()


def _parquet(titles: Sequence[str]) -> bytes:
    pq.write_table(pa.Table.from_pylist(records(titles)), stream := io.BytesIO())
    return stream.getvalue()


def arrow(table: pa.Table, *, stream: bool = False) -> bytes:
    """A table as a file of Arrow, or as a stream."""
    sink = io.BytesIO()
    with (pa.ipc.new_stream if stream else pa.ipc.new_file)(sink, table.schema) as writer:
        writer.write_table(table)
    return sink.getvalue()


def _marc(titles: Sequence[str]) -> list[Any]:
    subject, number = ("650", (" 0", "aInsects")), ("020", ("  ", "a978"))
    return [marc_record([("001", each), ("245", ("10", f"a{each}")), subject, number]) for each in titles]


def _each(record: str, before: str = "", after: str = "") -> Callable[[Sequence[str]], str]:
    """record: with TITLE for the id and the title."""
    return lambda titles: before + "".join(record.replace("TITLE", each) for each in titles) + after


_DUBLIN_CORE = (
    '<dc xmlns="http://purl.org/dc/elements/1.1/"><identifier>TITLE</identifier><title>TITLE</title>{}</dc>\n'
)
_ARTICLE = (
    '<article><front><article-meta><article-id pub-id-type="doi">TITLE</article-id>\n'
    "<title-group><article-title>TITLE</article-title></title-group></article-meta></front></article>\n"
)
_CITATION = (
    "<PubmedArticle><MedlineCitation><PMID>TITLE</PMID>\n<Article><ArticleTitle>TITLE</ArticleTitle></Article>"
    "</MedlineCitation></PubmedArticle>\n"
)
_TEI = "<TEI><teiHeader><fileDesc><titleStmt><title>TITLE</title></titleStmt></fileDesc></teiHeader><text/></TEI>"

SAMPLES = (
    Sample("jsonl", "a.jsonl", _json_of(_record, lines=True)),
    Sample("json", "a.json", _json_of(_record), "catalogue"),
    Sample("json", "tasks.json", _json_of(_task), "catalogue"),
    Sample("json", "records.json", _json_of(_annotated), "catalogue"),
    Sample("annif", "annif.jsonl", _json_of(
        lambda title: {"document_id": title, "title": title, "text": "x", "subjects": [], "shelf": "A 1"}, lines=True)),
    Sample("xc", "xc.jsonl", _json_of(
        lambda title: {"uid": title, "title": title, "target_ind": [1], "target_rel": [1.0], "shelf": "A 1"},
        lines=True)),
    Sample("micol", "micol.jsonl", _json_of(
        lambda title: {"paper": title, "title": title, "text": "x", "label": ["x"], "shelf": "A 1"}, lines=True)),
    Sample("futex", "futex.jsonl", _json_of(
        lambda title: {"paper": title, "title": title, "paragraphs": [], "label": [], "shelf": "A 1"}, lines=True)),
    Sample("s2orc", "s2orc.json", _json_of(lambda title: {"paper_id": title, "title": title}), "catalogue", ""),
    Sample("csl", "csl.json", _json_of(
        lambda title: {"id": title, "type": "book", "title": title, "issued": {"raw": "1"}, "shelf": "A 1"}),
        "catalogue"),
    Sample("csv", "a.csv", _table(",")),
    Sample("tsv", "a.tsv", _table("\t")),
    Sample("xlsx", "a.xlsx", _workbook),
    Sample("parquet", "a.parquet", _parquet),
    Sample("arrow", "a.arrow", lambda titles: arrow(pa.Table.from_pylist(records(titles)))),
    Sample("arrow", "stream.arrow", lambda titles: arrow(pa.Table.from_pylist(records(titles)), stream=True)),
    Sample("text", "a.txt", _each("TITLE\n"), "none", ""),
    Sample("latex", "a.tex", _each(r"\title{TITLE}\begin{document}\maketitle\end{document}"), "none", ""),
    Sample("markdown", "a.md", _each("TITLE\n"), "none", ""),
    Sample("html", "a.html", _each("<meta charset=koi8-r><title>TITLE</title><p>TITLE"), "none", ""),
    Sample("tei", "a.tei", _each(_TEI), "none", ""),
    Sample("docx", "a.docx", lambda titles: word("".join(map(paragraph, titles))), "none", ""),
    Sample("pdf", "a.pdf", lambda titles: pdf([page(each) for each in titles]), "none", ""),
    Sample("jats", "a.xml", _each(_ARTICLE, '<?xml version="1.0"?>\n<all>\n', "</all>"), "catalogue", ""),
    Sample("pubmed", "a.xml", _each(_CITATION, "<PubmedArticleSet>\n", "</PubmedArticleSet>"), "catalogue", ""),
    Sample("ris", "a.ris", _each("TY  - JOUR\nID  - TITLE\nTI  - TITLE\nU1  - A 1\nER  - \n"), "catalogue", "U1"),
    Sample("ris", "a.nbib", _each("PMID- TITLE\nTI  - TITLE\nXYZ - A 1\n\n"), "catalogue", "XYZ"),
    Sample("ris", "a.ciw", _each("PT J\nUT TITLE\nTI TITLE\nX9 A 1\nER\n\n"), "catalogue", "X9"),
    Sample("bibtex", "a.bib", _each("@article{TITLE,\ntitle={TITLE}, shelf={A 1}}\n"), "catalogue"),
    Sample("marc", "a.mrc", lambda titles: utf8(*_marc(titles)), "catalogue", "020"),
    Sample("marcxml", "marc.xml", lambda titles: in_xml(*_marc(titles)), "catalogue", "020"),
    Sample("pica", "a.pica", _each("003@ $0TITLE\n021A $aTITLE\n099A $aA 1\n\n"), "catalogue", "099A"),
    Sample("dublin_core", "dc.xml", _each(
        _DUBLIN_CORE.format("<rights>free</rights>"), '<?xml version="1.0"?>\n<all>\n', "</all>"),
        "catalogue", "rights"),
)  # fmt: skip
