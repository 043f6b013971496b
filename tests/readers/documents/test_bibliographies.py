"""Exports of reference managers: RIS, BibTeX, CSL JSON."""

from __future__ import annotations

import json
import logging
from dataclasses import replace
from pathlib import Path

import pytest
from tests.readers.reading import read, refusal, written

from tagwright.data.corpus import Corpus
from tagwright.data.vocabulary import Vocabulary
from tagwright.errors import ConfigError
from tagwright.readers.documents import bibliographies
from tagwright.readers.documents.columns import hint_at_labels
from tagwright.types import Document, Label

RIS = """\
TY  - JOUR
TI  - How bees fly
AU  - Low, Ann
AU  - Bee, Bo
T2  - Journal of Bees
AB  - In spirals.
And why.
KW  - spirals
KW  - wings
LA  - en
PY  - 2019/05/01
N1  - A note
ID  - low2019
ER  -\x20

TY  - BOOK
TI  - Ants
ER  -
"""
METADATA = {
    "author": ("Low, Ann", "Bee, Bo"),
    "keyword": ("spirals", "wings"),
    "language": ("en",),
    "venue": ("Journal of Bees",),
    "note": ("A note",),
    "year": ("2019",),
}
BEES = Document("low2019", "How bees fly", "In spirals.\nAnd why.", (), METADATA)


@pytest.mark.parametrize("name", ["x.ris", "x.dat"])
def test_ris(tmp_path: Path, name: str) -> None:
    path = written(tmp_path, RIS, name)
    assert read(path) == [BEES, Document(path.as_posix(), "Ants")]


def test_lines_outside_of_references_are_passed_over_and_counted(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """Not the numbers of references. A reference without an end ends where the next one begins, or the file."""
    content = "1.\nTY  - JOUR\nTI  - Bees\nER  - \n\nbees\n2.\nTY  - BOOK\nBT  - Ants\nTY  - JOUR\nTI  - Wasps"
    path = written(tmp_path, content, "x.ris")
    assert [document.title for document in read(path)] == ["Bees", "Ants", "Wasps"]
    assert caplog.messages == [f"{path}:6: passed over: 1 line outside of references"]
    assert refusal(written(tmp_path, "Bees fly.", "y.ris")) == "y.ris: holds no documents"


PUBMED = """
PMID- 17
OWN - NLM
TI  - How bees fly over
      old towns.
AB  - In spirals.
FAU - Low, Ann
AU  - Low A
LA  - eng
JT  - Journal of Bees
DP  - 2019 May
MH  - *Bees/physiology
MH  - Wings, Animal
MH  - Bees
OT  - spirals

PMID- 18
TI  - How wasps fly.
"""
WEB_OF_SCIENCE = """FN Clarivate Analytics Web of Science
VR 1.0
PT J
AU Low, A
   Bee, B
AF Low, Ann
   Bee, Bo
TI How bees fly over
   old towns.
SO Journal of Bees
LA English
DE spirals; wings
AB In spirals.
PY 2019
UT WOS:17
ER

PT J
TI How wasps fly.
UT WOS:18
ER

EF
"""


@pytest.mark.parametrize("name", ["x.txt", "x.dat", "x.nbib"])
def test_what_pubmed_exports(tmp_path: Path, name: str) -> None:
    metadata = {
        "author": ("Low, Ann",),
        "keyword": ("spirals",),
        "language": ("eng",),
        "venue": ("Journal of Bees",),
        "year": ("2019",),
        "label_source": ("mesh", "mesh"),
    }
    bees = Document("17", "How bees fly over old towns.", "In spirals.", (), metadata, ("Bees", "Wings, Animal"))
    assert read(written(tmp_path, PUBMED, name)) == [bees, Document("18", "How wasps fly.")]


@pytest.mark.parametrize("name", ["savedrecs.txt", "x.ris", "x.ciw"])
def test_what_the_web_of_science_exports(tmp_path: Path, caplog: pytest.LogCaptureFixture, name: str) -> None:
    metadata = {
        "author": ("Low, Ann", "Bee, Bo"),
        "keyword": ("spirals", "wings"),
        "language": ("English",),
        "venue": ("Journal of Bees",),
        "year": ("2019",),
    }
    bees = Document("WOS:17", "How bees fly over old towns.", "In spirals.", (), metadata)
    assert read(written(tmp_path, WEB_OF_SCIENCE, name)) == [bees, Document("WOS:18", "How wasps fly.")]
    assert not caplog.messages


BIBTEX = r"""@string{job = "Journal of Bees"}

@article{low2019,
  title = {How {Bees} fl{\"y}},
  author = {Low, Ann and Bee, Bo},
  abstract = {In spirals, 5\% of them.},
  keywords = {spirals, wings},
  journal = job,
  year = 2019,
  langid = {english},
}

@book{ants, title = {Ants}, note={\href{https://e.org/a}{our site}}}
"""


def test_bibtex(tmp_path: Path) -> None:
    metadata = {**METADATA, "language": ("english",)}
    del metadata["note"]
    bees = Document("low2019", "How Bees flÿ", "In spirals, 5% of them.", (), metadata)
    assert read(written(tmp_path, BIBTEX, "x.bib")) == [
        bees,
        Document("ants", "Ants", metadata={"note": ("our site",)}),
    ]


def test_an_entry_of_bibtex_that_breaks_off_is_refused_with_its_line(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level(logging.WARNING):
        found = refusal(written(tmp_path, "\n@article{bees,\n title = {Bees\n", "x.bib"))
    assert found.startswith("x.bib:2: is no entry of BibTeX")
    assert not caplog.records


def test_strings_of_bibtex_are_written_out(tmp_path: Path) -> None:
    strings = '@string{b = "Bees"} @string{jb = "Journal of " # B}\n'
    content = strings + '@misc{a, title = "{B}ees # " # {1#} # b, journal = JB # x}'
    assert read(written(tmp_path, content, "x.bib")) == [
        Document("a", "Bees # 1#Bees", metadata={"venue": ("Journal of Beesx",)})
    ]


def test_a_string_of_bibtex_cannot_grow_without_bound(tmp_path: Path) -> None:
    names = ["@string{a0 = {bees bees bees}}", *(f"@string{{a{n} = a{n - 1} # a{n - 1}}}" for n in range(1, 40))]
    path = written(tmp_path, "\n".join([*names, "@misc{a, title = a39}"]), "x.bib")
    assert len(read(path)[0].title) <= bibliographies.LONGEST_STRING


CSL = {
    "id": "low2019", "type": "article-journal", "title": "How bees fly", "abstract": "In spirals.\nAnd why.",
    "author": [{"family": "Low", "given": "Ann"}, {"literal": "Bee, Bo"}], "container-title": "Journal of Bees",
    "issued": {"date-parts": [["2019", 5, 1]]}, "keyword": "spirals, wings", "language": "en", "note": "A note",
}  # fmt: skip


@pytest.mark.parametrize("format_", [None, "csl"])
def test_csl_json(tmp_path: Path, format_: str | None) -> None:
    path = written(tmp_path, json.dumps([CSL, {"id": 2, "type": "book", "title": "Ants"}], indent=1), "x.json")
    assert read(path, format=format_) == [BEES, Document("2", "Ants")]


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("x.ris", "TY  - BOOK\nTI  - Bees fly.\nKW  - Bees\nKW  - Wings\nER  - \n"),
        ("x.nbib", "PMID- 1\nTI  - Bees fly.\nMH  - Insecta\nOT  - Bees\nOT  - Wings\n"),
        ("x.bib", "@book{a, title={Bees fly.}, keywords={Bees; Wings}}\n"),
        ("x.pica", "021A $aBees fly.\n041A $aInsekten\n044N $aBees\n044N $aWings\n"),
    ],
)
def test_the_keywords_are_labels_where_the_user_says_so_as_a_hint_advises(
    tmp_path: Path, name: str, content: str, caplog: pytest.LogCaptureFixture
) -> None:
    (path := tmp_path / name).write_text(content, encoding="utf-8")
    labels = Vocabulary(
        [Label("http://www.yso.fi/onto/yso/p1", ("Bees",)), Label("http://www.yso.fi/onto/yso/p2", ("Wings",))]
    )
    hint_at_labels([replace(each, labels=()) for each in Corpus.read(path)], labels)
    assert any("the metadata keyword looks like labels" in line for line in caplog.messages)
    found = Corpus.read(path, columns={"labels": "keyword"})
    assert labels.gold(found, unknown="error").labels.tolist() == [0, 1]
    assert "keyword" not in found[0].metadata
    with pytest.raises(ConfigError, match="no column for title"):
        Corpus.read(path, columns={"title": "keyword"})


def test_titles_of_crossref_are_lists(tmp_path: Path) -> None:
    item: dict[str, object] = {"DOI": "10.1/x", "type": "journal-article", "issued": {"raw": "2001"}, "subject": []}
    item |= {"title": ["The CO<sub>2</sub> of bees"], "container-title": ["Journal of Bees"]}
    [document] = read(written(tmp_path, json.dumps([item]), "a.json"))
    assert (document.title, document.metadata["venue"]) == ("The CO2 of bees", ("Journal of Bees",))
