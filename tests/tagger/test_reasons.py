"""Reasons as people ask for them: what moved the score most comes first, and a minus is never without a word why."""

from __future__ import annotations

import numpy as np
import pytest

from tagwright.combining.pool import CandidatePool
from tagwright.combining.steps import Contribution, Contributions
from tagwright.combining.weighted_sum import WeightedSum
from tagwright.data.vocabulary import Vocabulary
from tagwright.tagger import Evidence, zero_shot
from tagwright.tagger.suggestions import LEARNED, legend, reasons
from tagwright.types import Document

LABELS = Vocabulary(["Bees", "Orchards", "Tax law"])
CONFIG = zero_shot.Config(stages=("exact_match", "tfidf"), weights=(0.5, 2.0), language="english")
TEXT = "Bees, bees and more bees visit apple orchards."


def test_what_raised_the_score_most_is_the_first_reason() -> None:
    """tfidf stands 30th and yet adds the most; that rank is none that speaks for the label."""
    evidence = [Evidence("exact_match", 1, 3.0, ()), Evidence("tfidf", 30, 0.1, ())]
    found = reasons(
        evidence, [Contribution("tfidf", 2.0), Contribution("exact_match", 0.5), Contribution("label", 1.0)]
    )
    assert [(each.name, each.added, each.rank) for each in found] == [
        ("tfidf", 2.0, None), ("label", 1.0, None), ("exact_match", 0.5, 1),
    ]  # fmt: skip


def test_a_perfect_match_is_no_minus_without_a_word_why() -> None:
    evidence = [Evidence("exact_match", 1, 3.0, ()), Evidence("dense", 40, 0.1, ())]
    added = [Contribution("dense", -2.0), Contribution("exact_match", -1.33), Contribution("tfidf", 4.0)]
    remarks = {each.name: each.remark for each in reasons(evidence, added)}
    assert remarks == {"tfidf": "", "exact_match": LEARNED, "dense": ""}  # ranks 40th: no wonder that it lowers


def test_a_language_model_that_lowers_a_score_says_so_itself() -> None:
    (found,) = reasons([Evidence("llm_ranking", 3, 0.2, ())], [Contribution("llm_ranking", -1.0)])
    assert (found.name, found.remark) == ("llm_ranking", "")


def test_small_reasons_are_one() -> None:
    added = [Contribution("tfidf", 10.0), Contribution("dense", 0.4), Contribution("label", -0.1)]
    found = reasons([Evidence("tfidf", 1, 1.0, ())], added)
    assert [each.name for each in found] == ["tfidf", "others"]
    assert found[1].added == pytest.approx(0.3)


def test_a_stage_that_reads_another_part_of_the_document_is_no_reason_of_its_own() -> None:
    added = [
        Contribution("exact_match", 3.0),
        Contribution("exact_match_in_abstract", -1.0),
        Contribution("a_in_text", 1),
    ]
    found = reasons([Evidence("exact_match", 1, 1.0, ())], added)
    assert [(each.name, each.added) for each in found] == [("exact_match", 2.0), ("a_in_text", 1.0)]


def test_without_contributions_only_high_ranks_are_reasons() -> None:
    evidence = [Evidence("tfidf", 30, 0.1, ()), Evidence("dense", 32, 0.1, ()), Evidence("svm", 2, 0.1, ())]
    assert [each.name for each in reasons(evidence, [])] == ["svm"]
    assert [each.name for each in reasons(evidence[:2], [])] == ["tfidf"]


@pytest.mark.parametrize("by", ["evidence", "ranks"])
def test_the_parts_of_a_weighted_sum_are_its_score(by: str) -> None:
    tagger = zero_shot.fit(LABELS, CONFIG)
    pool = tagger.candidates([Document("d", abstract=TEXT), Document("e", abstract="Tax law for orchards.")])
    combiner = WeightedSum(by=by, weights={"exact_match": 0.5, "tfidf": 2.0})  # type: ignore[arg-type]
    ranked = combiner.apply(pool, pool.run)
    explained = combiner.explain(pool, pool.run, Contributions.nothing(pool.run))
    for row, (labels, scores) in enumerate(ranked):
        parts = explained.of(row, labels.tolist())
        assert [sum(each.added for each in parts[label]) for label in labels.tolist()] == pytest.approx(scores.tolist())


def test_the_order_of_weights_is_the_order_of_reasons() -> None:
    """Both stages see the same word; the one that weighs four times as much comes first."""
    best, *_ = zero_shot.fit(LABELS, CONFIG).explain(TEXT)
    assert [each.name for each in best.reasons] == ["tfidf", "exact_match"]
    assert [each.stage for each in best.evidence] == ["tfidf", "exact_match"]
    assert sum(each.added or 0 for each in best.reasons) == pytest.approx(best.score, abs=1e-4)


def test_a_suggestion_without_evidence_has_no_reasons() -> None:
    assert zero_shot.fit(LABELS, CONFIG).suggest(TEXT)[0].reasons == ()


def test_every_name_among_the_reasons_is_explained_once() -> None:
    tagger = zero_shot.fit(LABELS, CONFIG)
    found = list(legend([reason for each in tagger.explain(TEXT) for reason in each.reasons], tagger.meanings))
    assert [line.partition(":")[0] for line in found] == ["+ and -", "#1", "tfidf", "exact_match"]
    assert all(line.partition(": ")[2] for line in found)


def test_a_single_stage_adds_the_whole_score() -> None:
    tagger = zero_shot.fit(LABELS, zero_shot.Config(stages=("tfidf",), language="english"))
    pool: CandidatePool = tagger.candidates([Document("d", abstract=TEXT)])
    found = WeightedSum().explain(pool, pool.run, Contributions.nothing(pool.run))
    assert found.names == ("tfidf",)
    assert np.allclose(found.added[:, 0], pool.run.scores)
