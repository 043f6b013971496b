"""Confidence without labels: features by hand, and what the shipped models must hold to."""

import json
from datetime import date

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.fixed import Fixed

from tagwright.combining.confidence import confidence_level
from tagwright.combining.label_free import (
    FEATURES,
    FILE,
    features,
    logistic,
    named_bits,
    read_model,
    read_packaged,
    text_lengths,
)
from tagwright.combining.pool import CandidatePool
from tagwright.types import Document, Floats, Run

RUN = Run.from_rows([{4: 3.0, 5: 3.0, 6: 0.0}, {}, {7: 1.0}])


def sure(run: Run, characters: int, labels_per_document: float | None) -> Floats:
    """Confidences where no name is in the text."""
    table = features(run, np.zeros(len(run.labels)), np.full(len(run), characters), labels_per_document)
    return logistic(table, *read_model(FILE, "unknown" if labels_per_document is None else "known", FEATURES))


def test_features_are_those_of_each_document() -> None:
    """Document 0: mean 2, deviation sqrt(2): 0.7071, 0.7071, -1.4142. A single candidate has no deviation."""
    bits = np.array([0.0, 7.5, 300.0, 1.0])  # more than 100 bits count as 100
    table = features(RUN, bits, np.array([1000, 50, 3]), labels_per_document=2.0)
    log2, length = np.log(2), np.log(1000)
    assert table == pytest.approx(
        np.array(
            [
                [-log2, 0.7071, length, 0.0],
                [0.0, 0.7071, length, 7.5],
                [np.log(1.5), -1.4142, length, 100.0],
                [-log2, 0.0, np.log(60), 1.0],  # 3 characters count as 60
            ]
        ),
        abs=1e-4,
    )


def test_length_and_the_bits_of_names_are_those_of_each_document() -> None:
    """Two stages look for names; what a third says is no information content."""
    documents = [Document("1", title="A  b", abstract="c"), Document("2")]
    stages = {"names": Fixed({4: 2.0, 5: 1.0}), "titles": Fixed({5: 8.0}), "words": Fixed({4: 0.5, 7: 0.25})}
    stages["words"].matches_names = False
    readings = {name: stage.read(documents) for name, stage in stages.items()}
    found = {name: stage.find(readings[name]) for name, stage in stages.items()}
    pool = CandidatePool.of(documents, found, stages, readings)
    assert text_lengths(pool).tolist() == [6, 0]
    assert named_bits(pool, Run.from_rows([{5: 2.0, 4: 1.0}, {7: 1.0}])).tolist() == [1.0 + 8.0, 2.0, 0.0]


@given(st.lists(st.lists(st.floats(-20, 20, width=32), max_size=40), min_size=1, max_size=4), st.integers(0, 10**6))
def test_confidences_are_probabilities_whatever_is_ranked(rows: list[list[float]], characters: int) -> None:
    run = Run.from_rows([dict(enumerate(row)) for row in rows])
    for usual in (None, 1.0, 3.0, 20.0):
        found = sure(run, characters, usual)
        assert ((found > 0) & (found < 1)).all()


@pytest.mark.parametrize("known", ["known", "unknown"])
def test_the_shipped_models_find_low_ranks_less_sure_and_what_is_named_surer(known: str) -> None:
    weights = dict(zip(FEATURES, read_model(FILE, known, FEATURES)[0], strict=True))
    assert weights.pop("log rank") < 0
    assert min(weights.values()) > 0


def test_the_shipped_file_says_where_it_comes_from() -> None:
    content = read_packaged(FILE)
    assert json.dumps(content, allow_nan=False)
    assert date.fromisoformat(content["date"])
    assert set(content["fitted on"]) == {"mdn", "tib", "epmc", "arxiv", "kirja"}
    assert all(each["documents"] > 100 for each in content["fitted on"].values())
    measured = content["ECE@5 with the corpus left out"]
    assert all(error <= 0.12 for errors in measured.values() for error in errors.values())


def test_a_clear_hit_is_likely_and_the_twentieth_candidate_is_not() -> None:
    """Rank 1 of 200, far above the rest; against rank 20."""
    scores = np.concatenate([[20.0, 12.0], np.linspace(6, 0, 198)])
    run = Run.from_rows([dict(enumerate(scores.tolist()))])
    found = sure(run, 1200, labels_per_document=3.0)
    assert confidence_level(float(found[0])) == "likely"
    assert confidence_level(float(found[19])) == "unlikely"
