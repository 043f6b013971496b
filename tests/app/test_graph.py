"""`tagwright graph`: what meta-paths join."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from tests.app.conftest import Command, write

PAPERS = [
    {"id": "1", "title": "a", "metadata": {"author": ["Ann", "Bo"], "reference": ["3", "a book"]}},
    {"id": "2", "title": "b", "metadata": {"author": ["Bo"], "reference": ["a book"]}},
    {"id": "3", "title": "c", "metadata": {"author": ["Cy"]}},
    {"id": "4", "title": "d", "metadata": {"author": "Bo"}},
]


@pytest.fixture(autouse=True)
def papers(desk: Path) -> None:
    write("papers.jsonl", PAPERS)


def answer(run: Command, *arguments: str) -> str:
    outcome = run("describe", "papers.jsonl", "--graph", *arguments)
    assert (outcome.code, outcome.err) == (0, "")
    return outcome.out


def test_the_report_of_a_path_as_json(run: Command) -> None:
    """Three of four documents share Bo, each with the two others."""
    [path] = json.loads(answer(run, "--path", "P-A-P", "--json"))["paths"]
    assert path["hubs"][0] == {"type": "author", "name": "Bo", "documents": 3}
    del path["hubs"]
    expected = {"documents": 4, "measured": 4, "share": 0.75, "median": 2.0, "largest": 2}
    assert path == {"path": "P-A-P", **expected}


def test_without_a_path_all_that_the_data_allow_are_reported(run: Command) -> None:
    paths = json.loads(answer(run, "--json"))["paths"]
    shares = {path["path"]: path["share"] for path in paths}
    assert shares == {
        "P->P": 0.25, "P<-P": 0.25, "P->P<-P": 0.5, "P<-P->P": 0, "P->(P,P)<-P": 0, "P<-(P,P)->P": 0,
        "P-A-P": 0.75, "P-(A,A)-P": 0,
    }  # fmt: skip


def test_the_table_names_the_hubs(run: Command) -> None:
    lines = answer(run, "--path", "P-A-P", "--path", "P->P<-P").splitlines()
    assert lines[0].strip() == "4 documents"
    rows = [line.split() for line in lines if line.split()[:1] in (["P-A-P"], ["P->P<-P"])]
    assert rows[0] == ["P-A-P", "75.0%", "2", "2", "Bo", "(3),", "Ann", "(1),", "Cy", "(1)"]
    assert rows[1][:4] == ["P->P<-P", "50.0%", "1", "1"]


@pytest.mark.parametrize(
    ("arguments", "problem"),
    [
        (("papers.jsonl", "--path", "P-V-P"), "author, reference"),
        (("papers.jsonl", "--path", "P--"), "P--"),
        (("docs.jsonl",), "none of the 3 documents has metadata, so no meta-path joins them"),
    ],
)
def test_a_slip_is_explained(run: Command, arguments: tuple[str, ...], problem: str) -> None:
    outcome = run("describe", "--graph", *arguments)
    assert (outcome.code, outcome.out) == (2, "")
    assert problem in outcome.err
