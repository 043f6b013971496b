"""Readers of catalogue records say what they do not read: records, and subjects of other vocabularies."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.readers.documents.catalogue_records import Values, in_xml, marc_record, utf8
from tests.readers.reading import written

from tagwright.data.corpus import Corpus
from tagwright.readers.documents.files import READERS

GOOD: list[tuple[str, Values]] = [
    ("001", "1"), ("245", ("00", "aBees")), ("650", (" 7", "aBienen", "2gnd")), ("650", (" 0", "aBees")),
]  # fmt: skip
MARC = {
    "read": marc_record(GOOD),
    "empty": marc_record([("001", "2"), ("856", ("40", "uhttp://x"))]),
    "passed over": marc_record([("001", "3"), ("245", ("00", "aGone"))], "00000dam a2200000 a 4500"),
}
PICA = {
    "read": "003@ $01\n021A $aBees\n044K $aBienen\n044A $aBees\n",
    "empty": "003@ $02\n009P $uhttp://x\n",
    "passed over": "002@ $0Tsv\n003@ $03\n041A $aBiene\n",
    "damaged": "003@ $04\nTitle: Bees\n",
}
DC = (
    '<all xmlns="http://purl.org/dc/elements/1.1/" xmlns:xsi="http://www.w3.org/2001/XMLSchema-instance">'
    '<dc><title>Bees</title><subject xsi:type="dcterms:GND">Bienen</subject><subject>Bees</subject></dc>\n'
    "<dc><identifier>2</identifier></dc>\n</all>"
)
FILES: dict[str, tuple[str, str | bytes, dict[str, int]]] = {
    "marc": ("x.mrc", utf8(*MARC.values()) + utf8(MARC["read"])[:-1], {"empty": 2, "passed over": 3, "damaged": 4}),
    "marcxml": ("x.xml", in_xml(*MARC.values()), {"empty": 2, "passed over": 3}),
    "pica": ("x.pica", "\n".join(PICA.values()), {"empty": 6, "passed over": 9, "damaged": 14}),
    "dublin_core": ("x.xml", DC, {"passed over": 2}),
}
"Name and content of a file with each kind of record, and the places of those that are not read."

SAID = {"empty": "has no title and no text", "passed over": "passed over: is ", "damaged": "left out: "}


def test_no_reader_of_catalogues_is_forgotten() -> None:
    assert {*FILES} == {name for name, format_ in READERS.items() if format_.columns and not format_.rows}


@pytest.mark.parametrize("name", FILES)
def test_what_is_not_read_is_said(tmp_path: Path, name: str, caplog: pytest.LogCaptureFixture) -> None:
    file, content, places = FILES[name]
    path = written(tmp_path, content, file)
    documents = Corpus.read(path, columns={"labels": "gnd"})
    assert [each.labels for each in documents] == [("Bienen",), *([()] if "empty" in places else [])]
    expected = {f"{path}:{place}: {SAID[kind]}" for kind, place in places.items()}
    assert {next((each for each in expected if said.startswith(each)), said) for said in caplog.messages} == {
        *expected, f"{path}: 1 subject of other vocabularies than gnd, which are metadata",
    }  # fmt: skip
