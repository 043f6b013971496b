"""The features of candidates, worked out by hand for two documents and three labels."""

from __future__ import annotations

import numpy as np
import pytest

from tagwright.combining.candidate_features import Features, StageScores, document_features, features
from tagwright.types import Floats, Ints, Run

CANDIDATES = Run.from_rows([{0: 3.0, 1: 2.0, 2: 1.0}, {1: 4.0, 2: 2.0}])
"Labels 0, 1, 2 of the first document, 1 and 2 of the second."

STAGES: dict[str, StageScores] = {
    "names": (np.array([0.0, 6.0, 2.0, 0.0, 0.0], np.float32), Run.from_rows([{1: 6.0, 2: 2.0}, {}]), True),
    "meaning": (np.array([0.9, 0.6, 0.3, 0.5, 0.5], np.float32), Run.from_rows([{0: 0.9, 1: 0.6}, {1: 0.5}]), False),
    "reranker": (np.array([1.0, 3.0, 2.0, 7.0, 8.0], np.float32), None, False),
}


@pytest.fixture(name="found")
def all_features() -> Features:
    words = np.array([1.0, 2.0, 3.0], np.float32)
    lengths = np.array([5.0, 6.0], np.float32)
    share = np.array([0.1, 0.2, 0.3, 0.4, 0.5], np.float32)
    return features(CANDIDATES, STAGES, {"words": words}, {"length": lengths}, {"share": share})


def column(found: Features, name: str) -> list[float]:
    numbers: list[float] = found.values[:, found.names.index(name)].round(3).tolist()
    return [round(number, 3) for number in numbers]


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("fixed sum: score", [3, 2, 1, 4, 2]),
        ("fixed sum: standard score", [1.225, 0, -1.225, 1, -1]),
        ("fixed sum: reciprocal rank", [1, 0.5, 0.333, 1, 0.5]),
        ("names: score", [0, 6, 2, 0, 0]),
        # mean 8/3, deviation sqrt((64 + 100 + 4) / 27) = 2.494; the second document has equal scores
        ("names: standard score", [-1.069, 1.336, -0.267, 0, 0]),
        ("names: reciprocal rank", [0, 1, 0.5, 0, 0]),
        ("names: reciprocal rank of its own", [0, 1, 0.5, 0, 0]),
        ("meaning: score", [0.9, 0.6, 0.3, 0.5, 0.5]),
        ("meaning: standard score", [1.225, 0, -1.225, 0, 0]),
        ("meaning: reciprocal rank", [1, 0.5, 0.333, 1, 1]),
        ("meaning: reciprocal rank of its own", [1, 0.5, 0, 1, 0]),
        ("reranker: reciprocal rank", [0.333, 1, 0.5, 0.5, 1]),
        ("agreement: stages", [2, 3, 3, 2, 2]),
        ("agreement: retrievers", [1, 2, 1, 1, 0]),
        ("label: words", [1, 2, 3, 2, 3]),
        ("document: length", [5, 5, 5, 6, 6]),
        ("neighbours: share", [0.1, 0.2, 0.3, 0.4, 0.5]),
    ],
)
def test_features_are_those_worked_out_by_hand(found: Features, name: str, expected: list[float]) -> None:
    assert column(found, name) == pytest.approx(expected, abs=1e-3)
    assert "reranker: reciprocal rank of its own" not in found.names  # it finds nothing


def test_documents_are_described_by_their_lengths_and_by_what_retrievers_found() -> None:
    described = document_features({"title": np.array([0, 1])}, STAGES)
    assert described["title length"].round(3).tolist() == pytest.approx([0, 0.693], abs=1e-3)  # log 1, log 2
    assert described["found by names"].tolist() == pytest.approx([np.log(3), 0])
    assert described["best of names"].tolist() == [6, 0]
    assert described["best of meaning"].tolist() == pytest.approx([0.9, 0.5])
    assert not any("reranker" in name for name in described)


def test_which_number_a_label_has_changes_nothing() -> None:
    new = np.array([2, 0, 1])
    words: Floats = np.array([1.0, 2.0, 3.0], np.float32)
    stages = {name: each for name, each in STAGES.items() if name != "reranker"}
    before = features(CANDIDATES, stages, {"words": words}, {}, {})

    def renamed(run: Run) -> Run:
        labels: Ints = new[run.labels].astype(np.int32)
        return Run.of(run.indptr, labels, run.scores)

    candidates = renamed(CANDIDATES)  # scores differ within each document, so the order stays
    stages = {
        name: (scores, renamed(found) if found else None, sparse) for name, (scores, found, sparse) in stages.items()
    }
    after = features(candidates, stages, {"words": words[np.argsort(new)]}, {}, {})
    assert after.names == before.names
    assert np.array_equal(after.values, before.values)


def test_no_candidates_give_no_rows() -> None:
    empty = Run.from_rows([[], []])
    stages = {"names": (np.zeros(0, np.float32), empty, True)}
    assert features(empty, stages, {}, {}, {}).values.shape[0] == 0
