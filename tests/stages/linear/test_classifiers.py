from __future__ import annotations

import numpy as np
import pytest

from tagwright.data.bags import BagOfWords, BagOptions
from tagwright.data.vocabulary import Vocabulary
from tagwright.papers.label_trees import Trees, fit_trees
from tagwright.stages.linear.stage import Linear
from tagwright.stages.linear.svm import SvmOptions, fit_svm
from tagwright.types import Document, Label, Run

LABELS = Vocabulary([Label(name[0], (name,)) for name in ("bees", "money", "river", "unseen")])
TEXTS = {
    "b": ["bees make honey", "honey of the bees in the hive", "a hive of bees"],
    "m": ["money in the bank", "stock market money", "the bank lends money"],
    "r": ["the river runs", "water of the river", "river bank and water"],
}
DOCUMENTS = [
    Document(f"{label}{number}", text, labels=(label,))
    for label, texts in TEXTS.items()
    for number, text in enumerate(texts)
]
QUERIES = [Document("1", "Honey, hive!"), Document("2", "stock market"), Document("3", "xyz")]
BAG = BagOfWords.of((document.text for document in DOCUMENTS), BagOptions(min_documents=1))
FEATURES = BAG.transform(document.text for document in DOCUMENTS)
GOLD = LABELS.gold(DOCUMENTS)


@pytest.fixture(scope="module")
def svm() -> Linear:
    return Linear(LABELS, BAG, *fit_svm(FEATURES, GOLD, len(LABELS), SvmOptions(workers=1)))


@pytest.fixture(scope="module")
def trees() -> Trees:
    return Trees(LABELS, BAG, fit_trees(FEATURES, GOLD, len(LABELS), leaf=2, workers=1))


@pytest.fixture(params=["svm", "trees"])
def stage(request: pytest.FixtureRequest) -> Linear | Trees:
    found: Linear | Trees = request.getfixturevalue(request.param)
    return found


def best(run: Run) -> list[int | None]:
    return [int(labels[0]) if len(labels) else None for labels, _ in run]


def test_the_labels_of_documents_with_the_same_words_are_found(stage: Linear | Trees) -> None:
    run = stage(QUERIES)
    assert best(run) == [0, 1, None]
    assert 3 not in run.labels
    assert (run.scores > 0).all()


def test_the_words_that_tell_are_quoted_where_they_first_stand(svm: Linear, trees: Trees) -> None:
    text = "Any hive, any Hive: honey."
    spans = svm.spans(Document("1", text), [0])[0]
    assert {text[quote.start : quote.end] for quote in spans} == {"hive", "honey"}
    weights = [quote.weight for quote in spans]
    assert weights == sorted(weights, reverse=True)
    assert min(weights) > 0
    score = svm.score(BAG.transform([text]), Run.from_rows([[0]]))[0]
    assert sum(weights) + svm.bias[0] + 1 == pytest.approx(score)
    assert svm.spans(Document("1", text), [3])[0] == ()
    assert svm.spans(Document("1", text), [3, 0]) == [(), spans]
    assert trees.spans(Document("1", text), [0])[0] == ()


def test_labels_that_stay_are_found_at_their_new_place_and_new_ones_score_0(stage: Linear | Trees) -> None:
    other = stage.with_labels([Label("new", ("New",)), LABELS[1], LABELS[0]])
    assert best(other(QUERIES)) == [2, 1, None]
    assert set(other(QUERIES).labels.tolist()) <= {1, 2}
    before = stage.score(stage.read(QUERIES), Run.from_rows([[0], [1], []]))
    np.testing.assert_allclose(other.score(other.read(QUERIES), Run.from_rows([[2], [1], []])), before, rtol=1e-5)
    assert other.score(other.read(QUERIES), Run.from_rows([[0], [], []])).tolist() == [0]
    assert best(other.with_labels([LABELS[1]])(QUERIES))[1] == 0


def test_only_the_best_k_are_given(svm: Linear, trees: Trees) -> None:
    assert np.diff(Linear(LABELS, BAG, svm.weights, svm.bias, k=1)(QUERIES).indptr).max() == 1
    assert np.diff(Trees(LABELS, BAG, trees.model, k=1)(QUERIES).indptr).max() == 1
