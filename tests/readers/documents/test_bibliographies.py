"""Exports of reference managers: RIS, BibTeX, CSL JSON."""

from __future__ import annotations

import json
import logging
from pathlib import Path

import pytest
from tests.readers.reading import read, refusal, written

from tagwright.readers.limits import document_limit
from tagwright.types import Document

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


@pytest.mark.parametrize(
    ("content", "problem"),
    [
        ("TY  - JOUR\nER  - \nbees", "x.ris:3: 'bees' is outside of a reference"),
        ("TY  - JOUR\nTI  - Bees\nTY  - JOUR\nER  - ", "x.ris:1: a reference has no end"),
        ("TY  - JOUR\nTI  - Bees", "x.ris:1: a reference has no end"),
    ],
)
def test_a_broken_ris_file_is_refused_with_the_line(tmp_path: Path, content: str, problem: str) -> None:
    assert refusal(written(tmp_path, content, "x.ris")).startswith(problem)


def test_a_reference_above_the_limit_is_refused(tmp_path: Path) -> None:
    path = written(tmp_path, f"{RIS}TY  - BOOK\n" + "AB  - bees\n" * 100 + "ER  -\n", "x.ris")
    with document_limit(1000):
        assert refusal(path).startswith("x.ris:19: a reference is larger than 1,000 bytes")


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

@book{ants, title = {Ants}}
"""


def test_bibtex(tmp_path: Path) -> None:
    metadata = {**METADATA, "language": ("english",)}
    del metadata["note"]
    bees = Document("low2019", "How Bees flÿ", "In spirals, 5% of them.", (), metadata)
    assert read(written(tmp_path, BIBTEX, "x.bib")) == [bees, Document("ants", "Ants")]


def test_an_entry_of_bibtex_that_breaks_off_is_refused_with_its_line(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level(logging.WARNING):
        found = refusal(written(tmp_path, "\n@article{bees,\n title = {Bees\n", "x.bib"))
    assert found.startswith("x.bib:2: is no entry of BibTeX")
    assert not caplog.records


CSL = {
    "id": "low2019", "type": "article-journal", "title": "How bees fly", "abstract": "In spirals.\nAnd why.",
    "author": [{"family": "Low", "given": "Ann"}, {"literal": "Bee, Bo"}], "container-title": "Journal of Bees",
    "issued": {"date-parts": [["2019", 5, 1]]}, "keyword": "spirals, wings", "language": "en", "note": "A note",
}  # fmt: skip


@pytest.mark.parametrize("format_", [None, "csl"])
def test_csl_json(tmp_path: Path, format_: str | None) -> None:
    path = written(tmp_path, json.dumps([CSL, {"id": 2, "type": "book", "title": "Ants"}], indent=1), "x.json")
    assert read(path, format=format_) == [BEES, Document("2", "Ants")]
