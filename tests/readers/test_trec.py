"""Runs and relevance judgements as TREC has them."""

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tagwright.errors import InputError
from tagwright.readers.run_files import read_run, write_run
from tagwright.readers.trec import read_qrels, write_qrels
from tagwright.text.words import clean
from tagwright.types import Run

DOCUMENTS = ["d 1", "d2"]
LABELS = {"bees": 0, "wasps": 1, "red ants": 2}
RUN = Run.from_rows([{0: 0.5, 2: 2.25}, {1: -1.0}])
WRITTEN = """\
d%201 Q0 red%20ants 1 2.25 tagwright
d%201 Q0 bees 2 0.5 tagwright
d2 Q0 wasps 1 -1.0 tagwright
"""


def read(folder: Path, text: str) -> Run:
    (folder / "run.trec").write_text(text, encoding="utf-8")
    return read_run(folder / "run.trec", DOCUMENTS, LABELS)


def gold(folder: Path, text: str) -> list[list[str]]:
    (folder / "gold.qrels").write_text(text, encoding="utf-8")
    return read_qrels(folder / "gold.qrels", DOCUMENTS, LABELS)


def test_a_run_is_written_with_its_spaces_percent_encoded(tmp_path: Path) -> None:
    write_run(RUN, DOCUMENTS, list(LABELS), tmp_path / "run.trec", format="trec")
    assert (tmp_path / "run.trec").read_text() == WRITTEN


def test_the_score_decides_the_order_and_a_document_without_lines_has_no_suggestions(tmp_path: Path) -> None:
    run = read(tmp_path, "d2 Q0 bees 1 1 x\n\nd2\tQ0\twasps\t2\t3e0\tx\n")
    assert (run.indptr.tolist(), run.labels.tolist()) == ([0, 0, 2], [1, 0])


def test_an_id_that_another_program_wrote_with_percent_signs_is_taken_as_it_stands(tmp_path: Path) -> None:
    (tmp_path / "run.trec").write_text("a%20b Q0 c%C3%A4%20 1 1 x\n")
    assert read_run(tmp_path / "run.trec", ["a%20b"], {"c%C3%A4%20": 0}).labels.tolist() == [0]


@pytest.mark.parametrize(
    ("line", "problem"),
    [
        ("d2 Q0 bees 1 1", "has 5 fields, expected the 6 of a TREC run: document Q0 label rank score name"),
        ("d9 Q0 bees 1 1 x", 'no document has the id "d9"'),
        ("d2 Q0 flies 1 1 x", 'no label has the id "flies"'),
        ("d2 Q0 wasps 1 1 x", 'label "wasps" is suggested twice for document "d2"'),
        ("d2 Q0 bees 1 high x", 'score is "high", expected a finite number'),
        ("d2 Q0 bees 1 nan x", "score is NaN"),
        ("d2 Q0 bees 1 1e39 x", "score is 1e[+]39"),
    ],
)
def test_a_bad_line_of_a_run_is_named(tmp_path: Path, line: str, problem: str) -> None:
    with pytest.raises(InputError, match=rf"run\.trec:2: {problem}"):
        read(tmp_path, f"d2 Q0 wasps 1 2 x\n{line}\n")


def test_gold_labels_are_written_and_read_again(tmp_path: Path) -> None:
    write_qrels(Run.from_rows([[2, 0], []]), DOCUMENTS, list(LABELS), tmp_path / "gold.qrels")
    assert (tmp_path / "gold.qrels").read_text() == "d%201 0 bees 1\nd%201 0 red%20ants 1\n"
    assert read_qrels(tmp_path / "gold.qrels", DOCUMENTS, LABELS) == [["bees", "red ants"], []]


def test_a_relevance_of_one_or_more_is_a_gold_label(tmp_path: Path) -> None:
    """Judged and irrelevant (0), junk (-2); a label that the vocabulary lacks is left to who counts them."""
    assert gold(tmp_path, "d2 0 bees 0\nd2 0 wasps -2\nd2 0 red%20ants 3\nd2 0 flies%20 1\n") == [
        [],
        ["red ants", "flies%20"],
    ]


@pytest.mark.parametrize(
    ("line", "problem"),
    [
        ("d2 0 bees", "has 3 fields, expected the 4 of TREC's qrels: document 0 label relevance"),
        ("d9 0 bees 1", 'no document has the id "d9"'),
        ("d2 0 bees yes", 'relevance is "yes", expected a whole number'),
        ("d2 0 wasps 1", 'label "wasps" is judged twice for document "d2"'),
    ],
)
def test_a_bad_line_of_qrels_is_named(tmp_path: Path, line: str, problem: str) -> None:
    with pytest.raises(InputError, match=rf"gold\.qrels:2: {problem}"):
        gold(tmp_path, f"d2 0 wasps 1\n{line}\n")


ids = st.text(st.characters(exclude_categories=["C"], include_characters="\t %2509"), min_size=1).filter(
    lambda text: text.strip() and clean(text) == text
)


@settings(deadline=None, max_examples=40)  # writes to the disk, and waits for it
@given(names=st.lists(ids, min_size=1, max_size=4, unique=True))
def test_any_id_is_read_as_it_was_written(tmp_path_factory: pytest.TempPathFactory, names: list[str]) -> None:
    path = tmp_path_factory.mktemp("runs") / "run.trec"
    run = Run.from_rows([{row: 0.1} for row in range(len(names))])
    write_run(run, names, names, path, format="trec")
    again = read_run(path, names, {name: row for row, name in enumerate(names)})
    np.testing.assert_array_equal(again.labels, run.labels)
    np.testing.assert_array_equal(again.scores, run.scores)
