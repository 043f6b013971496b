"""A file of each format whose records have fields, with one that is neither text nor labels: shelf, or a code."""

from __future__ import annotations

import io
import json
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

import openpyxl
import pyarrow as pa
import pyarrow.parquet as pq
from tests.readers.documents.catalogue_records import in_xml, marc_record, utf8

ROW = {"id": "1", "title": "Bees", "text": "They fly.", "labels": "insects", "shelf": "A 1"}


class Sample(NamedTuple):
    """A file. name: with the suffix of its format; content; unused: what its account names."""

    name: str
    content: Callable[[], bytes]
    unused: str = "shelf"
    format: str | None = None


def _json(record: Mapping[str, Any] | Sequence[Mapping[str, Any]]) -> Callable[[], bytes]:
    return json.dumps(record).encode


def _lines(mark: str) -> Callable[[], bytes]:
    return f"{mark.join(ROW)}\n{mark.join(ROW.values())}\n".encode


def _workbook() -> bytes:
    book, stream = openpyxl.Workbook(), io.BytesIO()
    for cells in (list(ROW), list(ROW.values())):
        book.active.append(cells)
    book.save(stream)
    return stream.getvalue()


def _parquet() -> bytes:
    pq.write_table(pa.Table.from_pylist([ROW]), stream := io.BytesIO())
    return stream.getvalue()


def arrow(table: pa.Table, *, stream: bool = False) -> bytes:
    """A table as a file of Arrow, or as a stream."""
    sink = io.BytesIO()
    with (pa.ipc.new_stream if stream else pa.ipc.new_file)(sink, table.schema) as writer:
        writer.write_table(table)
    return sink.getvalue()


_MARC = marc_record([("001", "1"), ("245", ("10", "aBees")), ("650", (" 0", "aInsects")), ("020", ("  ", "a978"))])
_TASK = {
    "id": 1, "data": {"text": "They fly."}, "annotations": [
        {"result": [
            {"type": "choices", "from_name": "topic", "value": {"choices": ["insects"]}},
            {"type": "rating", "from_name": "shelf", "value": {"rating": 3}},
        ]},
    ],
}  # fmt: skip
_RECORD = {
    "id": "1", "fields": {"text": "They fly."}, "metadata": {},
    "responses": {"topic": [{"value": ["insects"], "user_id": "a"}], "shelf": [{"value": "A 1", "user_id": "a"}]},
}  # fmt: skip
_DUBLIN_CORE = (
    '<record xmlns:dc="http://purl.org/dc/elements/1.1/"><dc:title>Bees</dc:title><dc:rights>free</dc:rights></record>'
)

SAMPLES = (
    Sample("a.jsonl", _json(ROW | {"labels": ["insects"]})),
    Sample("a.json", _json([ROW | {"labels": ["insects"]}])),
    Sample("annif.jsonl", _json({"document_id": "1", "text": "Bees", "subjects": [{"label": "x"}], "shelf": "A 1"})),
    Sample("xc.jsonl", _json({"uid": "1", "title": "Bees", "target_ind": [1], "target_rel": [1.0], "shelf": "A 1"})),
    Sample("micol.jsonl", _json({"paper": "1", "text": "Bees", "label": ["x"], "shelf": "A 1"})),
    Sample("futex.jsonl", _json({"paper": "1", "title": "Bees", "paragraphs": [], "label": [], "shelf": "A 1"})),
    Sample("tasks.json", _json([_TASK])),
    Sample("records.json", _json([_RECORD])),
    Sample("a.csv", _lines(",")),
    Sample("a.tsv", _lines("\t")),
    Sample("a.xlsx", _workbook),
    Sample("a.parquet", _parquet),
    Sample("a.arrow", lambda: arrow(pa.Table.from_pylist([ROW]))),
    Sample("stream.arrow", lambda: arrow(pa.Table.from_pylist([ROW]), stream=True)),
    Sample("a.ris", b"TY  - JOUR\nTI  - Bees\nU1  - A 1\nER  - \n".strip, "U1"),
    Sample("a.nbib", b"PMID- 1\nTI  - Bees\nXYZ - A 1\n".strip, "XYZ"),
    Sample("a.ciw", b"PT J\nTI Bees\nX9 A 1\nER\n".strip, "X9"),
    Sample("a.bib", b"@article{a, title={Bees}, shelf={A 1}}".strip),
    Sample("csl.json", _json([{"id": "1", "type": "book", "title": "B", "issued": {"raw": "1"}, "shelf": "A 1"}])),
    Sample("a.mrc", lambda: utf8(_MARC), "020"),
    Sample("marc.xml", lambda: in_xml(_MARC), "020"),
    Sample("a.pica", "003@ ƒ01\n021A ƒaBees\n099A ƒaA 1\n".encode, "099A"),
    Sample("dc.xml", _DUBLIN_CORE.encode, "rights"),
)
