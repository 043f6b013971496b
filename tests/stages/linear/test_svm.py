from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any
from unittest.mock import Mock

import numpy as np
import pytest
from scipy.sparse import csr_matrix
from sklearn.svm import LinearSVC

from tagwright.core.steps import NAME, Steps
from tagwright.errors import ConfigError
from tagwright.papers.label_trees import fit_trees
from tagwright.stages.linear import hinge
from tagwright.stages.linear import svm as linear
from tagwright.stages.linear.hinge import Loss, postings_of, solve
from tagwright.stages.linear.svm import SvmOptions, fit_svm
from tagwright.types import Run

DOCUMENTS, WORDS, LABELS = 400, 80, 12
EXACT = SvmOptions(cost=1, prune=0, workers=1)


@pytest.fixture(scope="module")
def corpus() -> tuple[Any, Run]:
    """Documents of random words, a few of them those of their label; labels from one document to a hundred."""
    rng = np.random.default_rng(0)
    counts = rng.poisson(0.08, (DOCUMENTS, WORDS)).astype(np.float32)
    rows: list[list[int]] = [[] for _ in range(DOCUMENTS)]
    for label, size in enumerate([1, 1, 2, 3, 5, 8, 13, 20, 30, 50, 70, 100]):
        for document in rng.choice(DOCUMENTS, size, replace=False).tolist():
            rows[document].append(label)
            counts[document, [2 * label, 2 * label + 1, 2 * label + 2]] += rng.integers(0, 3, 3)
    norms = np.maximum(np.linalg.norm(counts, axis=1, keepdims=True), 1e-9)
    return csr_matrix(counts / norms), Run.from_rows(rows)


def few_at_a_time(monkeypatch: pytest.MonkeyPatch) -> None:
    """Working sets so small that most labels need several rounds."""
    for name, value in (("NEAR", 3), ("FAR", 3), ("JOIN", 10), ("TOGETHER", 5)):
        monkeypatch.setattr(hinge, name, value)


@pytest.mark.parametrize("loss", ["squared_hinge", "hinge"])
@pytest.mark.parametrize("cost", [1.0, 0.2])
def test_weights_and_biases_are_those_of_scikit_learn(
    corpus: tuple[Any, Run], loss: Loss, cost: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    few_at_a_time(monkeypatch)
    monkeypatch.setattr(hinge, "TOLERANCE", 1e-4)
    features, gold = corpus
    weights, bias = fit_svm(features, gold, LABELS, replace(EXACT, loss=loss, cost=cost))
    theirs = LinearSVC(loss=loss, C=cost, dual=True, tol=1e-6, max_iter=100_000, random_state=0)
    for label in range(LABELS):
        theirs.fit(features, np.isin(np.arange(DOCUMENTS), gold.rows[gold.labels == label]))
        np.testing.assert_allclose(weights[[label]].toarray(), theirs.coef_, atol=2e-3)
        assert bias[label] == pytest.approx(theirs.intercept_[0], abs=2e-3)


def test_labels_look_at_few_documents_and_leave_out_none_that_matters(
    corpus: tuple[Any, Run], monkeypatch: pytest.MonkeyPatch
) -> None:
    few_at_a_time(monkeypatch)
    features, gold = corpus
    fit = Mock(wraps=hinge._fit)
    monkeypatch.setattr(hinge, "_fit", fit)
    positives = [gold.rows[gold.labels == 0]]
    weights, bias = solve(features, postings_of(features), positives, loss="hinge", cost=1)
    assert fit.call_count > 1
    assert fit.call_args.args[1].shape[0] < DOCUMENTS / 4
    scores = (features @ weights.T).toarray()[:, 0] + bias[0]
    others = scores[np.arange(DOCUMENTS) != gold.rows[gold.labels == 0][0]]
    assert others.max() <= -1 + 2 * hinge.TOLERANCE


def test_a_label_of_all_documents_is_told_by_no_word_and_one_of_none_is_not_learnt(corpus: tuple[Any, Run]) -> None:
    gold = Run.from_rows([[0, 2] if document < 3 else [2] for document in range(DOCUMENTS)])
    weights, bias = fit_svm(corpus[0], gold, 4, EXACT)
    assert np.isfinite(bias).tolist() == [True, False, True, False]
    assert weights[2].nnz == 0
    assert bias[2] == 1


def test_documents_without_labels_are_negatives_and_documents_without_words_do_no_harm(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(hinge, "TOLERANCE", 1e-4)
    features = csr_matrix(np.array([[1, 0], [0, 1], [0, 0], [0.6, 0.8]], np.float32))
    weights, _ = fit_svm(features, Run.from_rows([[0], [], [], []]), 1, EXACT)
    theirs = LinearSVC(tol=1e-6, max_iter=100_000, random_state=0).fit(features, [1, 0, 0, 0])
    np.testing.assert_allclose(weights.toarray(), theirs.coef_, atol=2e-3)


def test_blocks_of_labels_and_processes_change_no_byte(
    corpus: tuple[Any, Run], monkeypatch: pytest.MonkeyPatch
) -> None:
    expected = fit_svm(*corpus, LABELS, EXACT)
    monkeypatch.setattr(linear, "BLOCK", 5)
    same(fit_svm(*corpus, LABELS, replace(EXACT, workers=2)), expected)


def test_blocks_of_documents_change_no_byte(corpus: tuple[Any, Run], monkeypatch: pytest.MonkeyPatch) -> None:
    few_at_a_time(monkeypatch)
    expected = fit_svm(*corpus, LABELS, EXACT)
    monkeypatch.setattr(hinge, "CELLS", WORDS * 3)  # three labels at a time
    monkeypatch.setattr(hinge, "PART", 80)
    same(fit_svm(*corpus, LABELS, EXACT), expected)


def same(found: tuple[Any, Any], expected: tuple[Any, Any]) -> None:
    np.testing.assert_array_equal(found[0].toarray(), expected[0].toarray())
    np.testing.assert_array_equal(found[1], expected[1])


def test_the_first_working_sets_hold_the_most_similar_documents_of_other_labels(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    for name, value in (("NEAR", 1), ("FAR", 0), ("TELLING", 0.5)):
        monkeypatch.setattr(hinge, name, value)
    # word 0 is in all documents and tells nothing apart; document 3 shares word 1 with document 0, 1 does less so
    features = csr_matrix(np.array([[9, 1, 0], [9, 0.5, 0], [9, 0, 1], [9, 2, 0], [9, 0, 0]], np.float32))
    words, _ = postings_of(features)
    assert words.tolist() == [2]  # words 0 and 1 are in more than half of them
    monkeypatch.setattr(hinge, "TELLING", 0.6)
    words, weights = postings_of(features)
    assert words.tolist() == [1, 2]
    assert weights.toarray().tolist() == [[1, 0.5, 0, 2, 0], [0, 0, 1, 0, 0]]
    sets = hinge._first_sets(features, (words, weights), [np.array([0], np.int32)], 0)
    assert sets[0].tolist() == [0, 3]


def test_a_killed_run_goes_on_with_the_blocks_that_are_missing(
    corpus: tuple[Any, Run], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(linear, "BLOCK", 5)
    expected, _ = fit_svm(*corpus, LABELS, EXACT, Steps(tmp_path))
    (tmp_path / "svm" / "1" / NAME).unlink()
    learnt: list[int] = []

    def counted(features: Any, postings: Any, positives: list[Any], **options: Any) -> Any:
        learnt.append(len(positives))
        return solve(features, postings, positives, **options)

    monkeypatch.setattr(linear, "solve", counted)
    weights, _ = fit_svm(*corpus, LABELS, EXACT, Steps(tmp_path, resume=True))
    np.testing.assert_array_equal(weights.toarray(), expected.toarray())
    assert learnt == [5]
    fit_svm(*corpus, LABELS, EXACT, Steps(tmp_path))
    assert learnt == [5, 5, 5, 2]


def test_nothing_to_learn_from_is_an_error(corpus: tuple[Any, Run]) -> None:
    unlabelled = Run.from_rows([[]] * DOCUMENTS)
    with pytest.raises(ConfigError, match="none of the documents has a label"):
        fit_svm(corpus[0], unlabelled, LABELS)
    with pytest.raises(ConfigError, match="no document has both words and a label"):
        fit_trees(corpus[0], unlabelled, LABELS)


def test_trees_learn_from_documents_with_words_and_labels_only() -> None:
    words = csr_matrix(np.vstack([np.eye(4, dtype=np.float32), np.zeros((1, 4), np.float32)]))
    trees = fit_trees(words, Run.from_rows([[0], [1], [2], [], [3]]), 4, leaf=2, workers=1)
    assert len(trees.predict(words[4], 3).labels) == 0
    assert 3 not in trees.predict(words, 4).labels
