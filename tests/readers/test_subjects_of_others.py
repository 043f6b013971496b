"""Subjects of other vocabularies than a tagger's are context in every format: shown, never learned, counted or written.

The labels are some of the Finnish YSO; the headings of other vocabularies have their very names.
"""

from __future__ import annotations

import json
from contextlib import closing
from pathlib import Path

import pytest
from starlette.testclient import TestClient
from tests.readers.documents.catalogue_records import Values, in_xml, marc_record, utf8
from tests.server.review.test_page import csrf, enter
from typer.testing import CliRunner

from tagwright.api.enriching import enrich
from tagwright.app.cli import app
from tagwright.data.corpus import Corpus
from tagwright.data.gold import known_labels
from tagwright.data.vocabulary import Vocabulary
from tagwright.errors import ConfigError, InputError
from tagwright.evaluation.dataset import evaluation_set
from tagwright.review.applied import outcomes
from tagwright.review.export import DOWNLOADS, write_export
from tagwright.review.file import ReviewFile
from tagwright.server.application import application
from tagwright.server.review.page import ReviewPages
from tagwright.server.review.review import Review
from tagwright.server.served_model import ServedModel
from tagwright.tagger import zero_shot
from tagwright.types import Document, Label

YSO = "http://www.yso.fi/onto/yso/"
LABELS = Vocabulary(
    [
        Label(f"{YSO}p2787", ("kirjastot",), languages=(("fi", "kirjastot"), ("en", "Libraries"))),
        Label(f"{YSO}p14173", ("hoitaminen",), languages=(("fi", "hoitaminen"), ("en", "Nursing"))),
        Label(f"{YSO}p3147", ("mehiläiset",), languages=(("fi", "mehiläiset"), ("en", "Bees"))),
    ]
)
LCSH = "http://id.loc.gov/authorities/subjects/sh85076502"


def marc(*subjects: tuple[str, Values]) -> list[tuple[str, Values]]:
    return [("001", "1"), ("245", ("00", "aReading rooms")), *subjects]


HEADINGS: list[tuple[str, Values]] = [
    ("650", (" 0", "aLibraries")),
    ("650", (" 0", "aLibraries", "xReference services")),
    ("650", (" 4", "aNursing", "zAlabama")),
    ("650", (" 7", "amehiläiset", "2ysa")),
    ("650", (" 7", "aBees", f"0{LCSH}")),
    ("650", (" 7", "aBees", "0http://www.yso.fi/onto/koko/p3147")),
]
DUBLIN_CORE = (
    '<metadata xmlns:dc="http://purl.org/dc/elements/1.1/" xmlns:xsi="http://www.w3.org/2001/XMLSchema-instance">'
    "<dc:identifier>1</dc:identifier><dc:title>Reading rooms</dc:title>{}</metadata>"
)
FILES = {
    "marc": ("x.mrc", utf8(marc_record(marc(*HEADINGS)))),
    "marcxml": ("x.xml", in_xml(marc_record(marc(*HEADINGS)))),
    "unimarc": (
        "u.xml",
        in_xml(
            marc_record(
                [("001", "1"), ("200", ("1 ", "aReading rooms")), ("606", ("  ", "aLibraries", "2rameau"))],
                "00000nam0a2200000   450 ",
            )
        ),
    ),
    "pica": ("x.pica", b"003@ $01\n021A $aReading rooms\n041A $akirjastot\n044A $aLibraries\n044K $aNursing\n"),
    "dublin_core": (
        "x.xml",
        DUBLIN_CORE.format(
            '<dc:subject xsi:type="dcterms:LCSH">Libraries</dc:subject>'
            '<dc:subject authority="mesh">Nursing</dc:subject>'
            '<dc:subject authorityURI="http://id.loc.gov/authorities/subjects/">Bees</dc:subject>'
            f'<dc:subject valueURI="{LCSH}">Libraries</dc:subject><dc:subject>{LCSH}</dc:subject>'
        ).encode(),
    ),
    "dspace": ("x.csv", b"id,dc.title,dc.subject.lcsh[en],dc.subject.mesh\n1,Reading rooms,Libraries||Bees,Nursing\n"),
    "dspace_jsonl": ("x.jsonl", b'{"id": "1", "title": "Reading rooms", "dc.subject.lcsh": ["Libraries", "Bees"]}\n'),
    "ris": ("x.ris", b"TY  - BOOK\nID  - 1\nTI  - Reading rooms\nKW  - Libraries\nKW  - Nursing\nER  - \n"),
    "csl": (
        "x.json",
        json.dumps([{"type": "book", "id": "1", "title": "Reading rooms", "issued": {"raw": "1999"},
                     "keyword": "Libraries, Nursing"}]).encode(),
    ),
    "nbib": ("x.nbib", b"PMID- 1\nTI  - Reading rooms\nMH  - Libraries/organization\nMH  - *Nursing\n"),
    "pubmed": (
        "x.xml",
        b"<PubmedArticleSet><PubmedArticle><MedlineCitation><PMID>1</PMID><Article><ArticleTitle>Reading rooms"
        b"</ArticleTitle></Article><MeshHeadingList><MeshHeading><DescriptorName>Libraries</DescriptorName></MeshHeading>"
        b"</MeshHeadingList></MedlineCitation></PubmedArticle></PubmedArticleSet>",
    ),
    "mesh_column": ("x.csv", b"id,Title,MeSH Terms\n1,Reading rooms,Libraries; Nursing\n"),
    "annif": (
        "x.jsonl",
        json.dumps({"document_id": "1", "text": "Reading rooms", "subjects": [
            {"label": "Libraries", "scheme": "lcsh"}, {"label": "Bees", "scheme": "http://id.nlm.nih.gov/mesh/"},
        ]}).encode(),
    ),
}  # fmt: skip
"Name and content of a file in each format: every subject has the name of a label, and is of another vocabulary."


@pytest.fixture(params=FILES)
def path(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    name, content = FILES[request.param]
    (path := tmp_path / name).write_bytes(content)
    return path


def test_they_are_no_gold_labels_and_count_in_no_evaluation(path: Path) -> None:
    corpus = Corpus.read(path)
    assert len(corpus) == 1
    assert not len(LABELS.gold(corpus, unknown="ignore").labels)
    with pytest.raises(ConfigError, match="none of 1 documents has a label of the vocabulary"):
        known_labels(corpus, LABELS)
    with pytest.raises(InputError, match="none of the 1 documents has a gold label"):
        evaluation_set(corpus, LABELS, skip_unlabelled=True, unknown="warn")


@pytest.mark.parametrize("path", ["marc"], indirect=True)
def test_who_reviews_with_enter_alone_gives_the_record_no_label(path: Path) -> None:
    """Nor does an export name one, or a copy of the records have a byte that was not there."""
    made = zero_shot.fit(LABELS, zero_shot.Config(stages=("exact_match",), language="fi"))
    with closing(ReviewFile(path.parent / "reviews.sqlite")) as file:
        review = Review(ServedModel("yso", made, "YSO"), file)
        with TestClient(application([review.model], pages=ReviewPages(review))) as client:
            enter(client)
            client.post("/review/upload", data={"csrf": csrf(client)}, files={"files": (path.name, path.read_bytes())})
            page = client.get("/review/documents/1").text
            assert "Already assigned" not in page
            client.post("/review/documents/1", data={"csrf": csrf(client), "action": "done"})
        assert review.decisions.labels() == {"1": []}
        assert review.training_data().labels == [[]]
        for wanted in DOWNLOADS:
            write_export(file, wanted, LABELS, path.parent / "export")
            assert YSO.encode() not in (path.parent / "export").read_bytes()
        found, _ = outcomes(Corpus.read(path), file.path, LABELS, replace_gone=False, changed_texts=False)
        assert found[0].accepted == {}
        enrich(path, path.with_name("out"), LABELS, reviews=file.path)
        assert path.with_name("out").read_bytes() == path.read_bytes()


OWN = {
    "marc": ("x.mrc", utf8(marc_record(marc(("650", (" 7", "aLibraries", "2yso/eng")), HEADINGS[0])))),
    "unnamed": ("x.mrc", utf8(marc_record(marc(("650", (" 4", "akirjastot")))))),
    "id": ("x.mrc", utf8(marc_record(marc(("650", (" 7", "abibliotek", f"0{YSO}p2787", "2yso/swe")))))),
    "dublin_core": ("x.xml", DUBLIN_CORE.format('<dc:subject authority="yso">kirjastot</dc:subject>').encode()),
    "dspace": ("x.csv", b"id,dc.title,dc.subject,dc.subject.yso[fi]\n1,Rooms,vapaa sana,kirjastot\n"),
    "annif": ("x.jsonl", json.dumps({"document_id": "1", "text": "Rooms", "subjects": [
        {"label": "kirjastot", "scheme": YSO}]}).encode()),
}  # fmt: skip


@pytest.mark.parametrize("case", OWN)
def test_subjects_of_the_vocabulary_itself_are_gold_labels(tmp_path: Path, case: str) -> None:
    name, content = OWN[case]
    (tmp_path / name).write_bytes(content)
    assert LABELS.gold(Corpus.read(tmp_path / name), unknown="ignore").labels.tolist() == [0]


def test_a_line_counts_what_is_of_other_vocabularies(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    own = ("650", (" 7", "akirjastot", "2yso/fin"))
    (path := tmp_path / "x.mrc").write_bytes(utf8(marc_record(marc(own, *HEADINGS))))
    caplog.clear()
    LABELS.gold(Corpus.read(path), unknown="warn")
    others = "ysa 1, www.yso.fi/onto/koko/ 1"
    assert f"labels: 1 found, 1 unknown, 5 of another vocabulary (lcsh 3, {others}): these labels are yso" in (
        caplog.messages
    )


ZOO = Vocabulary([Label("bee", ("Bees",)), Label("http://x.org/zoo/1", ("Ants",))])


@pytest.mark.parametrize(
    ("subject", "columns", "found"),
    [
        ((" 0", "aBees"), {}, []),
        ((" 0", "aBees"), {"labels": "lcsh"}, [0]),
        ((" 7", "aApes", "0(zoo)bee", "2zoo"), {}, [0]),
        ((" 4", "aBees"), {}, [0]),
        ((" 4", "aBees", "0http://viaf.org/viaf/7"), {}, []),
        ((" 4", "aBees", "xFlight"), {}, []),
    ],
)
def test_labels_whose_vocabulary_is_not_known_are_found_by_id_or_as_the_user_says(
    tmp_path: Path, subject: Values, columns: dict[str, str], found: list[int], caplog: pytest.LogCaptureFixture
) -> None:
    (path := tmp_path / "x.mrc").write_bytes(utf8(marc_record(marc(("650", subject)))))
    assert ZOO.gold(Corpus.read(path, columns=columns), unknown="warn").labels.tolist() == found
    said = 'which one these labels are, their ids do not tell; labels="lcsh" says it'
    assert any(said in line for line in caplog.messages) == (subject == (" 0", "aBees") and not columns)


@pytest.mark.parametrize("case", ["nbib", "pubmed", "mesh_column"])
def test_headings_of_pubmed_are_labels_of_mesh_or_as_the_user_says(tmp_path: Path, case: str) -> None:
    name, content = FILES[case]
    (path := tmp_path / name).write_bytes(content)
    mesh = Vocabulary([Label("http://id.nlm.nih.gov/mesh/D007990", ("Libraries",))])
    assert mesh.gold(Corpus.read(path), unknown="ignore").labels.tolist() == [0]
    names = Vocabulary([Label("libraries", ("Libraries",))])
    column = "mesh terms" if case == "mesh_column" else "mesh"
    assert names.gold(Corpus.read(path, columns={"labels": column}), unknown="ignore").labels.tolist() == [0]


@pytest.mark.parametrize(("name", "expected"), [("Bees", None), ("Bees--Flight", 0)])
def test_a_subdivided_heading_with_the_id_of_the_main_one_is_not_the_label(name: str, expected: int | None) -> None:
    labels = Vocabulary([Label(LCSH, (name,))])
    record = Document("1", labels=(f"<{LCSH}> Bees--Flight",), metadata={"label_source": ("lcsh",)})
    assert [place for _, _, place, _ in labels.subjects(record)] == [expected]


def test_qrels_without_a_vocabulary_have_the_subjects_of_all(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("x.mrc").write_bytes(utf8(marc_record(marc(*HEADINGS[:1]))))
    assert CliRunner().invoke(app, ["read", "x.mrc", "--format", "qrels"]).stdout == "1 0 Libraries 1\n"
