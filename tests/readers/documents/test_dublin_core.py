"""Dublin Core in XML: single records, lists, and what a harvest answers."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.readers.reading import read, written

from tagwright.types import Document, Section

DC = 'xmlns:dc="http://purl.org/dc/elements/1.1/"'
OAI_DC = f'<oai_dc:dc xmlns:oai_dc="http://www.openarchives.org/OAI/2.0/oai_dc/" {DC}'
FIELDS = (
    "<dc:title>How bees fly</dc:title><dc:creator>Low, Ann</dc:creator><dc:contributor>Bee, Bo</dc:contributor>"
    "<dc:subject>Bees</dc:subject><dc:subject>http://d-nb.info/gnd/4006216-6</dc:subject>"
    "<dc:description>In spirals.</dc:description><dc:date>2019-05-01</dc:date><dc:language>en</dc:language>"
    "<dc:publisher>Hive Press</dc:publisher><dc:identifier>doi:10.1/bees</dc:identifier>"
)
METADATA = {"author": ("Low, Ann", "Bee, Bo"), "year": ("2019",), "publisher": ("Hive Press",), "language": ("en",)}
LABELS = ("Bees", "<http://d-nb.info/gnd/4006216-6>")
READ = Document("doi:10.1/bees", "How bees fly", "In spirals.", (), METADATA, LABELS)


@pytest.mark.parametrize("name", ["x.xml", "x.dat"])
def test_a_single_record(tmp_path: Path, name: str) -> None:
    assert read(written(tmp_path, f"<?xml version='1.0'?>\n{OAI_DC}>{FIELDS}</oai_dc:dc>", name)) == [READ]


def test_the_records_of_a_harvest_have_its_identifiers_and_deleted_ones_are_passed_over(tmp_path: Path) -> None:
    answer = (
        '<OAI-PMH xmlns="http://www.openarchives.org/OAI/2.0/"><ListRecords>'
        f"<record><header><identifier>oai:x:1</identifier></header><metadata>{OAI_DC}>{FIELDS}</oai_dc:dc></metadata>"
        '</record><record><header status="deleted"><identifier>oai:x:2</identifier></header></record>'
        f"<record><header><identifier>oai:x:3</identifier></header><metadata>{OAI_DC}><dc:title>Ants</dc:title>"
        "</oai_dc:dc></metadata></record><resumptionToken>t</resumptionToken></ListRecords></OAI-PMH>"
    )
    first = Document("oai:x:1", READ.title, READ.abstract, (), METADATA, LABELS)
    assert read(written(tmp_path, answer, "x.xml")) == [first, Document("oai:x:3", "Ants")]


QUALIFIED = (
    f'<metadata {DC} xmlns:dcterms="http://purl.org/dc/terms/" xmlns:xsi="http://www.w3.org/2001/XMLSchema-instance">'
    "<dc:title>How bees fly</dc:title><dcterms:alternative>Spirals</dcterms:alternative>"
    "<dc:description>A book.</dc:description><dcterms:abstract>In spirals.</dcterms:abstract>"
    "<dcterms:tableOfContents>Wings. Legs.</dcterms:tableOfContents><dcterms:issued>2019</dcterms:issued>"
    '<dc:subject xsi:type="dcterms:LCSH">Bees</dc:subject><dc:subject xsi:type="dcterms:DDC">595.799</dc:subject>'
    "<dcterms:isPartOf>Journal of Bees</dcterms:isPartOf></metadata>"
)


def test_qualified_terms(tmp_path: Path) -> None:
    path = written(tmp_path, QUALIFIED, "x.xml")
    assert read(path)[0] == Document(
        path.as_posix(),
        "How bees fly",
        "In spirals.",
        (Section("Contents", 1, ("Wings. Legs.",)),),
        {"alternative": ("Spirals",), "year": ("2019",), "venue": ("Journal of Bees",)},
        ("Bees", "595.799"),
    )
