"""Run: what holds for any rows, and what is refused."""

from __future__ import annotations

import copy
import pickle
import weakref
from collections.abc import Iterator
from dataclasses import asdict, replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tagwright.errors import InputError
from tagwright.types import Document, Run, Section

SCORES = st.floats(width=32, allow_nan=False)
ROW = st.dictionaries(st.integers(0, 40), SCORES, max_size=8)
ROWS = st.lists(ROW, max_size=6)
TWO_RUNS = st.lists(st.tuples(ROW, ROW), max_size=6).map(
    lambda rows: (Run.from_rows(first for first, _ in rows), Run.from_rows(second for _, second in rows))
)


def rows_of(run: Run) -> list[list[tuple[int, float]]]:
    return [list(zip(labels.tolist(), scores.tolist(), strict=True)) for labels, scores in run]


@given(ROWS)
def test_rows_hold_the_same_suggestions_sorted_by_score_and_then_by_label(rows: list[dict[int, float]]) -> None:
    run = Run.from_rows(rows)
    assert rows_of(run) == [sorted(row.items(), key=lambda each: (-each[1], each[0])) for row in rows]


@given(ROWS, st.integers(0, 10))
def test_top_keeps_the_head_of_every_row(rows: list[dict[int, float]], k: int) -> None:
    run = Run.from_rows(rows)
    assert rows_of(run.top(k)) == [row[:k] for row in rows_of(run)]


@given(ROWS, st.data())
def test_take_gives_the_rows_asked_for_in_that_order(rows: list[dict[int, float]], data: st.DataObject) -> None:
    run = Run.from_rows(rows)
    chosen = data.draw(st.lists(st.sampled_from(range(len(rows))), max_size=8)) if rows else []
    assert rows_of(run.take(chosen)) == [rows_of(run)[row] for row in chosen]


@given(ROWS, ROWS)
def test_concat_puts_one_run_after_the_other(first: list[dict[int, float]], second: list[dict[int, float]]) -> None:
    both = Run.concat([Run.from_rows(first), Run.from_rows(second)])
    assert rows_of(both) == rows_of(Run.from_rows([*first, *second]))


@given(ROWS)
def test_rows_and_ranks_place_every_suggestion(rows: list[dict[int, float]]) -> None:
    run = Run.from_rows(rows)
    assert run.rows.tolist() == [row for row, each in enumerate(rows) for _ in each]
    assert run.ranks.tolist() == [rank + 1 for each in rows for rank in range(len(each))]


@given(TWO_RUNS)
def test_the_union_holds_every_label_of_any_run(runs: tuple[Run, Run]) -> None:
    expected = [{*first.tolist(), *second.tolist()} for (first, _), (second, _) in zip(*runs, strict=True)]
    assert [set(labels.tolist()) for labels, _ in Run.union(runs)] == expected


@given(TWO_RUNS)
def test_scores_of_candidates_are_those_of_the_run_or_zero(runs: tuple[Run, Run]) -> None:
    run, candidates = runs
    known = {(row, label): score for row, each in enumerate(rows_of(run)) for label, score in each}
    pairs = list(zip(candidates.rows.tolist(), candidates.labels.tolist(), strict=True))
    assert run.scores_of(candidates).tolist() == [known.get(pair, 0.0) for pair in pairs]
    assert candidates.held_by(run).tolist() == [pair in known for pair in pairs]


@given(ROWS, st.integers(41, 50))
def test_keys_are_one_number_for_each_document_and_label(rows: list[dict[int, float]], width: int) -> None:
    run = Run.from_rows(rows)
    pairs = [divmod(key, width) for key in run.keys(width).tolist()]
    assert pairs == list(zip(run.rows.tolist(), run.labels.tolist(), strict=True))


def test_confidences_stay_with_their_suggestions() -> None:
    run = Run.of(np.array([0, 2, 3]), np.array([1, 0, 2]), np.array([0.1, 0.9, 0.5]), np.array([0.25, 0.75, 0.5]))
    assert confidences(run) == [0.75, 0.25, 0.5]
    assert confidences(run.top(1)) == [0.75, 0.5]
    assert confidences(run.take([1, 0])) == [0.5, 0.75, 0.25]
    assert confidences(run.rescored(np.array([1.0, 2.0, 3.0]), np.array([0.0, 1.0, 0.5]))) == [1.0, 0.0, 0.5]
    assert confidences(run.rescored(run.scores)) is None


def test_joined_runs_have_confidences_where_all_suggestions_have_one() -> None:
    sure = Run.of(np.array([0, 1]), np.array([1]), np.array([0.1]), np.array([0.25]))
    unsure, nothing = Run.from_rows([[1]]), Run.from_rows([[]])
    assert confidences(Run.concat([nothing, sure, sure])) == [0.25, 0.25]
    assert confidences(Run.concat([sure, unsure])) is None
    assert confidences(Run.concat([nothing])) is None


@pytest.mark.parametrize("wrong", [[0.5], [0.5, 1.5], [0.5, -0.1], [0.5, float("nan")]])
def test_what_is_no_probability_is_no_confidence(wrong: list[float]) -> None:
    with pytest.raises(ValueError, match="expected one each, from 0 to 1"):
        Run.of(np.array([0, 2]), np.array([0, 1]), np.array([0.5, 0.5]), np.array(wrong))


def confidences(run: Run) -> list[float] | None:
    return None if run.confidences is None else run.confidences.tolist()


def test_zeros_and_negative_scores_are_kept() -> None:
    assert rows_of(Run.from_rows([{4: 0.0, 2: -1.5, 9: 0.5}])) == [[(9, 0.5), (4, 0.0), (2, -1.5)]]


def test_keep_leaves_an_empty_row_for_a_document_that_loses_everything() -> None:
    run = Run.from_rows([{1: 0.5}, {2: 0.5, 3: 0.25}])
    assert rows_of(run.keep(run.labels == 3)) == [[], [(3, 0.25)]]


def test_a_document_outside_the_run_is_an_index_error() -> None:
    run = Run.from_rows([{1: 0.5}, {2: 0.5}])
    assert run[-1][0].tolist() == [2]
    with pytest.raises(IndexError):
        run[2]


@pytest.mark.parametrize(
    ("indptr", "labels", "scores", "problem"),
    [
        ([0, 2], [1], [0.5], "indptr ends at 2, with 1 labels and 1 scores"),
        ([0, 1], [1], [0.5, 0.1], "with 1 labels and 2 scores"),
        ([0, 2, 1, 3], [1, 2, 3], [0.3, 0.2, 0.1], "indptr"),
        ([0, 1], [1], [float("nan")], "1 of 1 scores are not numbers"),
        ([0, 2], [3, 3], [0.5, 0.1], "a label occurs twice in one row"),
    ],
)
def test_arrays_that_are_no_run_are_refused(
    indptr: list[int], labels: list[int], scores: list[float], problem: str
) -> None:
    with pytest.raises(ValueError, match=problem):
        Run.of(np.array(indptr), np.array(labels), np.array(scores))


def test_an_input_error_starts_with_its_place() -> None:
    assert str(InputError("no title", "a.jsonl", 7)) == "a.jsonl:7: no title"
    assert str(InputError("no title", "a.jsonl")) == "a.jsonl: no title"
    assert str(InputError("no title")) == "no title"


def test_head_and_text_are_joined_once() -> None:
    document = Document("d", "Bees", "They fly.", (Section("Wings", 1, ("Four.",)),))
    assert document.text is document.text
    assert document.title_and_abstract is document.title_and_abstract
    assert (document.title_and_abstract, document.text) == ("Bees\nThey fly.", "Bees\nThey fly.\nWings\nFour.")
    assert Document("d", "Bees").text == "Bees"
    assert Document("d", sections=(Section("", 1, ("Four.",)),)).text == "Four."


def test_what_was_joined_is_no_part_of_a_document() -> None:
    document, plain = (Document("d", "Bees", sections=(Section("Wings", 1, ("Four.",)),)) for _ in range(2))
    assert document.text
    assert document == plain
    assert (repr(document), asdict(document)) == (repr(plain), asdict(plain))
    for other in (pickle.loads(pickle.dumps(document)), copy.copy(document), copy.deepcopy(document)):
        assert other == document
        assert other.text == "Bees\nWings\nFour."
    assert replace(document, title="Wasps").text == "Wasps\nWings\nFour."


def test_scores_of_any_sign_and_size_are_ordered_and_ties_broken_by_label() -> None:
    scores = [0.0, -0.0, 1e-40, -1e-40, np.inf, -np.inf, 3.5, -3.5, 3.5]
    run = Run.of(np.array([0, 9]), np.arange(9)[::-1], np.array(scores))
    assert run.labels.tolist() == [4, 0, 2, 6, 7, 8, 5, 1, 3]


def test_rows_are_read_as_they_come_and_not_kept() -> None:
    alive: weakref.WeakSet[Row] = weakref.WeakSet()
    most = 0

    def rows() -> Iterator[Row]:
        nonlocal most
        for document in range(50):
            row = Row({document, 2 * document + 1})
            alive.add(row)
            most = max(most, len(alive))
            yield row

    assert Run.from_rows(rows()).labels.tolist() == [n for d in range(50) for n in (d, 2 * d + 1)]
    assert most <= 3


class Row(frozenset[int]):
    """A set of labels that can be referred to weakly."""
