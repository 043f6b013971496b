"""The pipeline of a tagger: retrieve, pool, score, combine, cut; worked out by hand over stages of fixed scores."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pytest
from tests.fixed import Fixed
from tests.saved import again

from tagwright.combining.candidate_features import FeatureOptions
from tagwright.combining.confidence import Confidence, Curve, Mapped, fit_score_map
from tagwright.combining.label_free import LabelFree
from tagwright.combining.pool import CandidatePool, PoolOptions
from tagwright.combining.steps import Step
from tagwright.combining.weighted_sum import AppendLabels, WeightedSum
from tagwright.data.vocabulary import Vocabulary
from tagwright.errors import ConfigError
from tagwright.tagger import Tagger
from tagwright.types import Document, Floats, Label, Run

LABELS = Vocabulary([Label("bee", ("Bees",)), Label("bank", ("Banks",)), Label("rain", ("Rain",))])
DOCUMENTS = [Document("1", title="Anything.")]


def as_lists(run: Run) -> tuple[list[int], list[int], list[float]]:
    return run.indptr.tolist(), run.labels.tolist(), run.scores.tolist()


def test_evidence_of_the_stages_is_added_with_their_weights() -> None:
    """log2(1 + 3) = 2 and log2(1 + 1) = 1: twice the first and once the second make 4 for label 0, 1 for label 1."""
    found = {"a": Fixed({0: 3.0}), "b": Fixed({1: 1.0})}
    run = Tagger(LABELS, found, steps=(WeightedSum(weights={"a": 2.0}),)).tag(DOCUMENTS[:1])
    assert as_lists(run) == ([0, 2], [0, 1], [4.0, 1.0])


def test_a_curve_makes_confidences_of_standard_scores() -> None:
    """Standard scores 1 and -1, slope log 3 and no intercept: the odds are 3 to 1 and 1 to 3."""
    found = {"a": Fixed({0: 3.0, 1: 1.0})}
    curve = Curve(slope=math.log(3.0))
    run = Tagger(LABELS, found, steps=(WeightedSum(), curve)).tag(DOCUMENTS[:1])
    assert run.confidences == pytest.approx([0.75, 0.25])
    assert again(curve, LABELS) == curve


def test_a_curve_says_what_made_a_confidence() -> None:
    """The scores 3 and 1 of two candidates have the standard scores 1 and -1; 40 texts taught the curve."""
    ranked = Run.from_rows([{0: 3.0, 1: 1.0}] * 40)
    curve = Curve.fit(ranked, np.arange(80) % 2 == 0)
    steps = (WeightedSum(), curve)
    best, *_ = Tagger(LABELS, {"a": Fixed({0: 3.0, 1: 1.0})}, steps=steps).explain("Anything.")
    assert best.estimate
    assert best.estimate.by == "a logistic curve, learned from 40 labelled documents"
    assert dict(best.estimate.features) == pytest.approx({"standard score": 1.0, "score": 3.0})


@pytest.mark.parametrize(("documents", "curve"), [(5, "a logistic curve"), (1200, "isotonic regression")])
def test_a_score_map_says_what_made_a_confidence(documents: int, curve: str) -> None:
    ranked = Run.from_rows([{0: 3.0, 1: 1.0}] * documents)
    score_map = fit_score_map(ranked.scores, np.arange(2 * documents) % 2 == 0, ranked.rows)
    tagger = Tagger(LABELS, {"a": Fixed({0: 7.0})}, steps=(WeightedSum(), again(Mapped(score_map), LABELS)))
    best, *_ = tagger.explain("Anything.")
    assert best.estimate
    assert best.estimate.to_json() == {
        "by": f"{curve}, learned from {documents:,} labelled documents",
        "features": {"score": best.score},
    }


def test_without_labelled_documents_it_says_what_the_formula_reads() -> None:
    """Of three labels, the first has the evidence log2(1 + 3) = 2, the second log2(1 + 1) = 1."""
    steps = (WeightedSum(), LabelFree().of_vocabulary(3))
    best, second = Tagger(LABELS, {"a": Fixed({0: 3.0, 1: 1.0})}, steps=steps).explain("Anything.")
    assert best.estimate
    assert second.estimate
    assert best.estimate.by == "a formula fitted on other corpora, without labelled documents"
    bits, lead = "bits of names", "lead over others"
    assert dict(best.estimate.features) == pytest.approx({"rank": 1, bits: 3, lead: 1, "labels in all": 3})
    assert dict(second.estimate.features) == pytest.approx({"rank": 2, bits: 1, lead: -1, "labels in all": 3})


def test_a_ranking_without_confidences_says_nothing_of_any() -> None:
    best, *_ = Tagger(LABELS, {"a": Fixed({0: 3.0})}).explain("Anything.")
    assert best.estimate is None


def test_a_sum_of_ranks_adds_reciprocal_ranks() -> None:
    """With the constant 0, label 1 gets 1/2 + 1/1 and label 0 gets 1/1."""
    found = {"a": Fixed({0: 3.0, 1: 2.0}), "b": Fixed({1: 1.0})}
    run = Tagger(LABELS, found, steps=(WeightedSum(by="ranks", rank_constant=0.0),)).tag(DOCUMENTS[:1])
    assert as_lists(run) == ([0, 2], [1, 0], [1.5, 1.0])


def test_a_label_that_a_reranker_knows_nothing_of_gets_no_rank_from_it() -> None:
    """The retriever ranks labels 0, 1, 2; the re-ranker knows label 1 alone: 1/1, 1/2 + 1/1, 1/3."""
    found, reranker = Fixed({0: 3.0, 1: 2.0, 2: 1.0}), Fixed({1: 5.0})
    steps = (WeightedSum(by="ranks", rank_constant=0.0),)
    tagger = Tagger(LABELS, {"retriever": found}, {"reranker": reranker}, steps=steps)
    run = tagger.tag(DOCUMENTS[:1])
    assert run.labels.tolist() == [1, 0, 2]
    assert run.scores.tolist() == pytest.approx([1.5, 1.0, 1 / 3])
    assert [[each.stage for each in found] for found in tagger.evidence(DOCUMENTS[0], [1, 0])] == [
        ["retriever", "reranker"],
        ["retriever"],
    ]


@pytest.mark.parametrize(
    ("kind", "wrong", "message"),
    [
        (WeightedSum, {"by": "magic"}, 'by is "magic", expected one of evidence, ranks'),
        (Curve, {"slope": "steep"}, 'slope is "steep", expected a number'),
        (WeightedSum, {"rank_constant": -1.0}, "rank_constant is -1.0, expected at least 0"),
        (WeightedSum, {"weights": {"a": -1.0}}, "expected a table, each value a number, at least 0"),
        (WeightedSum, {"weights": {"a": math.nan}}, "expected a table, each value a number, at least 0"),
        (LabelFree, {"labels_per_document": 0}, "labels_per_document is 0, expected more than 0"),
        (LabelFree, {"labels_per_document": "3"}, 'labels_per_document is "3", expected a number'),
        (PoolOptions, {"limit": 0}, "limit is 0, expected at least 1"),
        (PoolOptions, {"exclude": "dense"}, 'exclude is "dense", expected a list, each a text'),
        (AppendLabels, {"keep": 0}, "keep is 0, expected at least 1"),
        (FeatureOptions, {"candidates": 0}, "candidates is 0, expected at least 1"),
        (FeatureOptions, {"exclude_self": 1}, "exclude_self is 1, expected true or false"),
    ],
)
def test_options_that_cannot_work_are_refused(kind: Any, wrong: dict[str, object], message: str) -> None:
    with pytest.raises(ConfigError, match=re.escape(message)):
        kind(**wrong)


def test_a_reranker_orders_what_the_retrievers_find_and_finds_nothing_itself() -> None:
    retriever, reranker = Fixed({0: 3.0, 1: 2.0}), Fixed({0: 1.0, 1: 5.0, 2: 9.0})
    tagger = Tagger(LABELS, {"found": retriever}, {"again": reranker}, steps=(WeightedSum(weights={"found": 0.0}),))
    labels, scores = tagger.tag(DOCUMENTS[:1])[0]
    assert (labels.tolist(), scores.tolist()) == ([1, 0], [5.0, 1.0])
    assert [[(e.stage, e.rank) for e in each] for each in tagger.evidence(DOCUMENTS[0], [1])] == [
        [("found", 2), ("again", 1)]
    ]


def test_the_limit_of_the_pool_leaves_the_reranker_the_best_candidates() -> None:
    """MICoL with a cross-encoder: two of three candidates are read, and ranked by the reader alone."""
    retriever, reranker = Fixed({0: 3.0, 1: 2.0, 2: 1.0}), Fixed({0: 1.0, 1: 5.0, 2: 9.0})
    steps = (WeightedSum(weights={"found": 0.0}),)
    tagger = Tagger(LABELS, {"found": retriever}, {"again": reranker}, PoolOptions(limit=2), steps)
    assert tagger.tag(DOCUMENTS[:1]).labels.tolist() == [1, 0]


def test_fused_as_in_micol_retrievers_and_reranker_are_added() -> None:
    """log2(1 + bits) is 2 and 1 of bits 3 and 1, and 0 and 3 of 0 and 7: half of the former, 2.5 times the latter."""
    found, again = Fixed({0: 3.0, 1: 1.0}), Fixed({1: 7.0, 2: 9.0})
    steps = (WeightedSum(weights={"exact_match": 0.5, "encoder": 2.5}),)
    run = Tagger(LABELS, {"exact_match": found}, {"encoder": again}, steps=steps).tag(DOCUMENTS[:1])
    assert as_lists(run) == ([0, 2], [1, 0], [8.0, 1.0])


def test_reciprocal_ranks_of_two_rerankers_are_those_of_futex() -> None:
    # 1/1 + 1/3, 1/2 + 1/1 and 1/3 + 1/2: Eq. 9
    found = Fixed({0: 1.0, 1: 1.0, 2: 1.0})
    rerankers = {"a": Fixed({0: 3.0, 1: 2.0, 2: 1.0}), "b": Fixed({1: 3.0, 2: 2.0, 0: 1.0})}
    steps = (WeightedSum(by="ranks", rank_constant=0, weights={"found": 0.0}),)
    labels, scores = Tagger(LABELS, {"found": found}, rerankers, steps=steps).tag(DOCUMENTS[:1])[0]
    assert labels.tolist() == [1, 0, 2]
    np.testing.assert_allclose(scores, [3 / 2, 4 / 3, 5 / 6], rtol=1e-6)


@pytest.mark.parametrize(("keep", "expected"), [(1, [2, 0, 1]), (None, [2, 1, 0])])
def test_the_labels_of_another_stage_follow_in_their_own_order(keep: int | None, expected: list[int]) -> None:
    retrievers = {"first": Fixed({2: 2.0, 1: 1.0}), "after": Fixed({0: 3.0, 1: 2.0, 2: 1.0})}
    steps = (WeightedSum(), AppendLabels(by="after", keep=keep))
    run = Tagger(LABELS, retrievers, {}, PoolOptions(exclude=("after",)), steps).tag(DOCUMENTS[:1])
    assert run.labels.tolist() == expected
    np.testing.assert_allclose(run.scores, [1, 1 / 2, 1 / 3], rtol=1e-6)


def test_labels_that_follow_are_as_sure_as_their_place_makes_them() -> None:
    # the log odds -2 log rank + log 4 are those of 4, 1 and 4/9
    curve = Curve(intercept=math.log(4.0), slope_of_scores=2.0, log_scores=True)
    retrievers = {"first": Fixed({2: 2.0, 1: 1.0}), "after": Fixed({0: 3.0, 1: 2.0, 2: 1.0})}
    steps = (WeightedSum(), AppendLabels(by="after"), curve)
    run = Tagger(LABELS, retrievers, {}, PoolOptions(exclude=("after",)), steps).tag(DOCUMENTS[:1])
    assert run.labels.tolist() == [2, 1, 0]
    assert run.confidences == pytest.approx([4 / 5, 1 / 2, 4 / 13], abs=1e-6)


@pytest.mark.parametrize(
    ("parts", "problem"),
    [
        ({"rerankers": {"b": Fixed({})}}, "retriever and re-ranker are both called b"),
        (
            {"pool": PoolOptions(exclude=("c",))},
            "the pool excludes c, expected some of the retrievers a, b, but not all",
        ),
        ({"pool": PoolOptions(exclude=("b", "a"))}, "the pool excludes b, a, expected"),
        ({"steps": (WeightedSum(weights={"a": 0.0, "b": 0.0}),)}, "every stage has weight 0"),
        ({"steps": (WeightedSum(language_trust={"a": "c"}),)}, "language_trust names c, the stages are a, b"),
        (
            {"steps": (WeightedSum(), AppendLabels(by="c"))},
            'by is "c", expected a retriever: a, b',
        ),
        ({"retrievers": {"..": Fixed({})}}, 'a stage is called "..", expected a name'),
    ],
)
def test_parts_that_do_not_go_together_are_refused(parts: dict[str, Any], problem: str) -> None:
    with pytest.raises(ConfigError, match=problem):
        replace(Tagger(LABELS, {"a": Fixed({0: 1.0}), "b": Fixed({1: 1.0})}), **parts)


@dataclass(frozen=True)
class Sure(Confidence):
    """Knows how likely a label of this name is right, whatever the stages say."""

    known: Mapping[str, float]
    labels: tuple[str, ...]

    def apply(self, pool: CandidatePool, run: Run) -> Run:  # noqa: ARG002
        confidences = np.array([self.known[self.labels[label]] for label in pool.run.labels.tolist()])
        return pool.run.rescored(10 * confidences, confidences)

    def with_labels(self, before: Sequence[Label], labels: Sequence[Label]) -> Sure:
        assert [label.id for label in before] == list(self.labels)
        return Sure(self.known, tuple(label.id for label in labels))


@pytest.fixture
def sure() -> Tagger:
    step = Sure({"bee": 0.25, "bank": 0.75, "rain": 0.5}, tuple(LABELS.ids))
    return Tagger(LABELS, {"fixed": Fixed({0: 3.0, 1: 2.0, 2: 1.0})}, steps=(step,))


def test_confidences_of_a_step_come_with_the_suggestions(sure: Tagger) -> None:
    found = [(each.id, each.score, each.confidence) for each in sure.suggest("Anything.")]
    assert found == [("bank", 7.5, 0.75), ("rain", 5.0, 0.5), ("bee", 2.5, 0.25)]
    best, *_ = sure.explain("Anything.", k=1)
    assert (best.confidence, best.evidence[0].rank) == (0.75, 2)
    run = sure.tag(["One.", "Two."], k=2)
    assert run.confidences is not None
    assert run.confidences.tolist() == [0.75, 0.5, 0.75, 0.5]


def test_suggestions_of_less_confidence_are_left_out(sure: Tagger) -> None:
    assert [each.id for each in sure.suggest("Anything.", min_confidence=0.5)] == ["bank", "rain"]
    assert [each.id for each in sure.explain("Anything.", min_confidence=0.6)] == ["bank"]
    assert [each.id for each in sure.suggest("Anything.", min_confidence=0.5, min_score=6)] == ["bank"]


def test_a_step_follows_other_labels(sure: Tagger) -> None:
    other = sure.with_labels([LABELS[1], LABELS[0], LABELS[2]])
    assert [(each.id, each.confidence) for each in other.suggest("Anything.", k=1)] == [("bank", 0.75)]


def test_a_stage_of_weight_0_is_not_made_to_score() -> None:
    class Silent(Fixed):
        def score(self, reading: int, candidates: Run) -> Floats:  # noqa: ARG002
            raise AssertionError("asked")

    for by in ("evidence", "ranks"):
        retrievers = {"a": Silent({0: 1.0}), "b": Fixed({1: 1.0}), "c": Fixed({1: 2.0})}
        tagger = Tagger(LABELS, retrievers, steps=(WeightedSum(by=by, weights={"a": 0.0}),))
        assert sorted(tagger.tag(DOCUMENTS[:1]).labels.tolist()) == [0, 1]


def test_a_limited_pool_holds_the_best_by_reciprocal_ranks() -> None:
    """Both retrievers find 0 and 2, only one finds 1: of two candidates it is not among the best."""
    retrievers = {"a": Fixed({0: 3.0, 2: 2.0, 1: 1.0}), "b": Fixed({2: 5.0, 0: 4.0})}
    pool = Tagger(LABELS, retrievers, pool=PoolOptions(limit=2)).candidates(DOCUMENTS)
    assert sorted(pool.run.labels.tolist()) == [0, 2]
    assert as_lists(pool.ranking("a")) == as_lists(pool.found["a"])


def test_an_excluded_retriever_adds_no_candidates_and_scores_those_of_others() -> None:
    retrievers = {"a": Fixed({0: 3.0}), "b": Fixed({0: 1.0, 1: 7.0})}
    pool = Tagger(LABELS, retrievers, pool=PoolOptions(exclude=("b",))).candidates(DOCUMENTS)
    assert pool.run.labels.tolist() == [0]
    assert pool.scores("b").tolist() == [1.0]
    assert list(pool.without("b").stages) == list(pool.without("b").found) == ["a"]


def test_the_parts_of_a_sum_are_said_in_a_line() -> None:
    both = WeightedSum(weights={"a": 0.5})
    assert both.describe(["a", "b"]) == "a 0.5, b 1; combined by evidence"
    assert both.describe(["a"]) == "a 0.5"
    tagger = Tagger(LABELS, {"a": Fixed({}), "c": Fixed({})}, steps=(both, AppendLabels(by="c")))
    assert tagger.description == "a 0.5; followed by c"


@pytest.mark.parametrize(
    ("steps", "has_confidences"),
    [
        ((WeightedSum(),), False),
        ((WeightedSum(), Curve(slope=1.0)), True),
        ((WeightedSum(), AppendLabels(by="b"), Curve(slope=1.0, log_scores=True)), True),
    ],
    ids=["sum", "fitted", "followed"],
)
def test_a_tagger_knows_whether_its_suggestions_have_confidences(
    steps: tuple[Step, ...], has_confidences: bool
) -> None:
    tagger = Tagger(LABELS, {"a": Fixed({0: 3.0, 1: 2.0}), "b": Fixed({2: 1.0})}, steps=steps)
    assert tagger.estimates_confidence == has_confidences == (tagger.tag(DOCUMENTS).confidences is not None)


def test_what_needs_confidences_is_refused_before_anything_is_read() -> None:
    class Unread(Fixed):
        def read(self, documents: Sequence[Document]) -> Any:  # noqa: ARG002
            raise AssertionError("read")

    tagger = Tagger(LABELS, {"a": Unread({0: 3.0})})
    for ask in (tagger.tag, tagger.suggest, tagger.explain):
        with pytest.raises(ConfigError, match="does not estimate confidences"):
            ask(DOCUMENTS, best_cut=True)
