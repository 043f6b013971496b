"""Readers of catalogue records say what they do not read: records, and subjects of other vocabularies."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.readers.documents.catalogue_records import Values, in_xml, marc_record, utf8
from tests.readers.reading import read, written

from tagwright.data.corpus import Corpus
from tagwright.types import Document, Section

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
    "pica": ("x.pica", "\n".join(PICA.values()), {"empty": 6, "passed over": 9, "damaged": 13}),
    "dublin_core": ("x.xml", DC, {"passed over": 2}),
}
"Name and content of a file with each kind of record, and the places of those that are not read."

SAID = {"empty": "has no title and no text", "passed over": "passed over: is ", "damaged": "left out: "}


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


NAMESPACE = 'xmlns:dc="http://purl.org/dc/elements/1.1/"'
OAI_DC = f'<oai_dc:dc xmlns:oai_dc="http://www.openarchives.org/OAI/2.0/oai_dc/" {NAMESPACE}'
FIELDS_OF_DC = (
    "<dc:title>How bees fly</dc:title><dc:creator>Low, Ann</dc:creator><dc:contributor>Bee, Bo</dc:contributor>"
    "<dc:subject>Bees</dc:subject><dc:subject>http://d-nb.info/gnd/4006216-6</dc:subject>"
    "<dc:description>In spirals.</dc:description><dc:date>2019-05-01</dc:date><dc:language>en</dc:language>"
    "<dc:publisher>Hive Press</dc:publisher><dc:identifier>doi:10.1/bees</dc:identifier>"
)
METADATA_OF_DC = {
    "author": ("Low, Ann", "Bee, Bo"),
    "year": ("2019",),
    "publisher": ("Hive Press",),
    "language": ("en",),
}
LABELS_OF_DC = ("Bees", "<http://d-nb.info/gnd/4006216-6>")
READ_DC = Document("doi:10.1/bees", "How bees fly", "In spirals.", (), METADATA_OF_DC, LABELS_OF_DC)


@pytest.mark.parametrize("name", ["x.xml", "x.dat"])
def test_a_single_record_of_dublin_core(tmp_path: Path, name: str) -> None:
    assert read(written(tmp_path, f"<?xml version='1.0'?>\n{OAI_DC}>{FIELDS_OF_DC}</oai_dc:dc>", name)) == [READ_DC]


def test_the_records_of_a_harvest_have_its_identifiers_and_deleted_ones_are_passed_over(tmp_path: Path) -> None:
    answer = (
        '<OAI-PMH xmlns="http://www.openarchives.org/OAI/2.0/"><ListRecords>'
        f"<record><header><identifier>oai:x:1</identifier></header><metadata>{OAI_DC}>{FIELDS_OF_DC}</oai_dc:dc></metadata>"
        '</record><record><header status="deleted"><identifier>oai:x:2</identifier></header></record>'
        f"<record><header><identifier>oai:x:3</identifier></header><metadata>{OAI_DC}><dc:title>Ants</dc:title>"
        "</oai_dc:dc></metadata></record><resumptionToken>t</resumptionToken></ListRecords></OAI-PMH>"
    )
    first = Document("oai:x:1", READ_DC.title, READ_DC.abstract, (), METADATA_OF_DC, LABELS_OF_DC)
    assert read(written(tmp_path, answer, "x.xml")) == [first, Document("oai:x:3", "Ants")]


QUALIFIED = (
    f'<metadata {NAMESPACE} xmlns:dcterms="http://purl.org/dc/terms/" xmlns:xsi="http://www.w3.org/2001/XMLSchema-instance">'
    "<dc:title>How bees fly</dc:title><dcterms:alternative>Spirals</dcterms:alternative>"
    "<dc:description>A book.</dc:description><dcterms:abstract>In spirals.</dcterms:abstract>"
    "<dcterms:tableOfContents>Wings. Legs.</dcterms:tableOfContents><dcterms:issued>2019</dcterms:issued>"
    '<dc:subject xsi:type="dcterms:LCSH">Bees</dc:subject><dc:subject xsi:type="dcterms:DDC">595.799</dc:subject>'
    "<dcterms:isPartOf>Journal of Bees</dcterms:isPartOf></metadata>"
)


def test_qualified_terms_of_dublin_core(tmp_path: Path) -> None:
    path = written(tmp_path, QUALIFIED, "x.xml")
    contents = Section("Contents", 1, ("Wings. Legs.",))
    metadata: dict[str, tuple[str, ...]] = {"alternative": ("Spirals",), "year": ("2019",)}
    metadata |= {"venue": ("Journal of Bees",), "label_source": ("lcsh", "ddc")}
    labels = ("Bees", "595.799")
    assert read(path) == [Document(path.as_posix(), "How bees fly", "In spirals.", (contents,), metadata, labels)]
