"""The first candidates of a combiner are ranked again by a stage; what it says nothing of keeps its place."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest
from tests.saved import again

from tagwright.combining.confidence import Curve
from tagwright.combining.pool import CandidatePool
from tagwright.combining.reranked import Reranked
from tagwright.combining.steps import Contributions, Step
from tagwright.combining.weighted_sum import WeightedSum
from tagwright.errors import ConfigError
from tagwright.types import Distribution, Document, Floats, Run, Stage


class Says(Stage):
    """A stage that says of each label of a document what it is told to."""

    distribution: Distribution = "sparse"

    def __init__(self, said: Sequence[dict[int, float]]) -> None:
        self.said, self.asked = said, list[list[int]]()

    def score(self, reading: Any, candidates: Run) -> Floats:  # noqa: ARG002
        self.asked = [labels.tolist() for labels, _ in candidates]
        pairs = zip(candidates.rows.tolist(), candidates.labels.tolist(), strict=True)
        return np.array([self.said[row].get(label, 0) for row, label in pairs], np.float32)


FOUND = Run.from_rows([{5: 9.0, 6: 8.0, 7: 7.0, 8: 6.0}, {5: 2.0, 6: 1.0}])
AGAIN = Reranked(by="llm", candidates=3, weight=1.0, center=6.0)


def pool(said: Sequence[dict[int, float]]) -> tuple[CandidatePool, Says]:
    stage = Says(said)  # type: ignore[abstract]  # it is neither read nor saved here
    found: Any = object()
    documents = [Document("a"), Document("b")]
    stages = {"words": found, "llm": stage}
    return CandidatePool.of(documents, {"words": FOUND}, stages, dict.fromkeys(stages)), stage


def ranked(pool: CandidatePool, *steps: Step) -> Run:
    """What the steps make of the weighted sum."""
    run = WeightedSum().apply(pool.without("llm"), FOUND)
    for step in steps:
        run = step.apply(pool, run)
    return run


def test_only_the_first_candidates_are_asked_about_and_the_others_keep_their_scores() -> None:
    asked, stage = pool([{5: 1, 7: 9}, {}])
    run = ranked(asked, AGAIN)
    assert stage.asked == [[5, 6, 7], [5, 6]]
    assert run[0][0].tolist() == [7, 6, 8, 5]  # 7 + 3, 8, 6, 9 - 5
    assert run[0][1].tolist() == [10, 8, 6, 4]
    assert run[1][1].tolist() == [2, 1]
    assert asked.scores("llm").tolist() == [1, 0, 9, 0, 0, 0]


def test_what_each_stage_adds_is_the_score() -> None:
    asked, _ = pool([{5: 1, 7: 9}, {}])
    first, again = WeightedSum(), AGAIN
    before = asked.without("llm")
    added = first.explain(before, FOUND, Contributions.nothing(FOUND))
    found = again.explain(asked, first.apply(before, FOUND), added)
    assert found.names == ("words", "llm")
    assert {each.feature: each.added for each in found.of(0, [7])[7]} == {"words": 7.0, "llm": 3.0}


def test_confidences_stay_in_their_order() -> None:
    asked, _ = pool([{8: 9, 5: 1}, {}])
    curve = Curve(slope=1.0)
    plain, run = ranked(asked, curve), ranked(asked, curve, AGAIN)
    assert plain.confidences is not None
    assert run.confidences is not None
    assert run.labels.tolist() != plain.labels.tolist()
    assert run.confidences.tolist() == plain.confidences.tolist()


def test_what_was_read_for_a_confidence_is_not_said_of_the_label_that_gets_it() -> None:
    """The second label is first after re-ranking and has the confidence that the first had."""
    asked, _ = pool([{6: 9, 5: 1}, {}])
    curve, run = Curve(slope=1.0), ranked(asked)
    before = curve.explain(asked, run, Contributions.nothing(run))
    assert before.estimates
    assert before.estimates.of(0, [6])[6].features[1] == ("score", 8.0)
    found = AGAIN.explain(asked, curve.apply(asked, run), before).estimates
    assert found
    assert found.of(0, [6]) == {6: ("a logistic curve, learned from labelled documents; in the order of llm", ())}


def test_it_is_saved_and_loaded() -> None:
    assert again(AGAIN, []) == AGAIN


def test_a_stage_that_is_not_there_is_refused() -> None:
    with pytest.raises(ConfigError, match='"llm" is to rank again, the re-rankers are none'):
        AGAIN.check(["words"], [])
    assert AGAIN.check(["words"], ["llm"]) == ("llm",)
