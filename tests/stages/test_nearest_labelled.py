"""The labels of the labelled documents that are most similar, by words and by meaning."""

from __future__ import annotations

import numpy as np
import pytest
from tests.saved import again

from tagwright.data.bags import BagOfWords, BagOptions
from tagwright.data.vocabulary import Vocabulary
from tagwright.errors import ConfigError
from tagwright.stages.dense.retriever import Texts
from tagwright.stages.names.exact_match import ExactMatch
from tagwright.stages.nearest_labelled import NearestByMeaning, NearestLabelled
from tagwright.tagger import Tagger
from tagwright.types import Document, Label, Run

LABELS = Vocabulary([Label(name, (name,)) for name in ("bees", "money", "river", "unseen")])
DOCUMENTS = [
    Document("1", "honey hive", labels=("bees",)),
    Document("2", "honey market", labels=("bees", "money")),
    Document("3", "river bank", labels=("river",)),
]
BAG = BagOfWords.of((document.text for document in DOCUMENTS), BagOptions(min_documents=1))
FEATURES = BAG.transform(document.text for document in DOCUMENTS)
QUERIES = [Document("q", "honey hive"), Document("r", "a river"), Document("s", "xyz")]


@pytest.fixture(name="stage")
def over_all_documents() -> NearestLabelled:
    return NearestLabelled(LABELS, BAG, FEATURES, LABELS.gold(DOCUMENTS))


def cosine(one: int, other: int) -> float:
    return float((FEATURES[one] @ FEATURES[other].T).toarray()[0, 0])


def test_each_neighbour_votes_for_its_labels_by_its_cosine(stage: NearestLabelled) -> None:
    run = stage(QUERIES)
    # the first query is the first document: cosine 1, and with the second it shares one word
    assert run[0][0].tolist() == [0, 1]
    np.testing.assert_allclose(run[0][1], [1 + cosine(0, 1), cosine(0, 1)], rtol=1e-6)
    assert run[1][0].tolist() == [2]
    assert not len(run[2][0])


VECTORS = np.array([[1, 0], [0.6, 0.8], [0, 1]], np.float16)
"Of the three documents."


def by_meaning(neighbours: int = 50) -> NearestByMeaning:
    return NearestByMeaning(LABELS, VECTORS, LABELS.gold(DOCUMENTS), neighbours=neighbours)


def texts(*vectors: tuple[float, float], written: bool = True) -> Texts:
    return Texts(np.array(vectors, np.float32), np.full(len(vectors), written))


def test_documents_near_in_meaning_vote_by_the_fourth_power_of_their_cosine() -> None:
    stage = by_meaning()
    reading = stage.read_with(texts((1, 0), (0, -1)))
    # cosines 1, 0.6 and 0: bees 1 + 0.6^4, money 0.6^4, river nothing; the second text is near none
    labels, scores = stage.find(reading)[0]
    assert labels.tolist() == [0, 1]
    np.testing.assert_allclose(scores, [1 + 0.1296, 0.1296], rtol=2e-3)
    assert not len(stage.find(reading)[1][0])
    np.testing.assert_allclose(stage.score(reading, Run.from_rows([[1, 2], [0]])), [0.1296, 0, 0], rtol=2e-3)


def test_only_the_nearest_in_meaning_vote_and_none_for_a_text_that_is_empty() -> None:
    stage = by_meaning(neighbours=1)
    assert stage.find(stage.read_with(texts((1, 0))))[0][0].tolist() == [0]
    assert not len(stage.find(stage.read_with(texts((1, 0), written=False)))[0][0])
    assert len(stage.find(stage.read_with(texts()._replace(vectors=np.zeros((0, 2), np.float32))))) == 0


def test_many_documents_are_compared_as_one_is(monkeypatch: pytest.MonkeyPatch) -> None:
    stage, queries = by_meaning(), [(1.0, 0.0), (0.8, 0.6), (0.0, 1.0)]
    together = stage.read_with(texts(*queries))
    monkeypatch.setattr("tagwright.stages.nearest_labelled.BLOCK", 2)
    apart = stage.read_with(texts(*queries))
    assert together.labels.tolist() == apart.labels.tolist()
    np.testing.assert_allclose(together.scores, apart.scores)


def test_nearest_by_meaning_is_saved_and_follows_labels() -> None:
    stage = by_meaning()
    read = again(stage, LABELS)
    assert (read.shares, read.k, read.neighbours) == ("dense", 100, 50)
    fewer = read.with_labels([Label("new", ("new",)), LABELS[1], LABELS[0]])
    assert fewer.find(fewer.read_with(texts((1, 0))))[0][0].tolist() == [2, 1]


def test_a_tagger_needs_the_stage_whose_reading_is_shared() -> None:
    with pytest.raises(ConfigError, match="knn_dense reads with dense, which is no stage that reads"):
        Tagger(LABELS, {"names": ExactMatch(LABELS), "knn_dense": by_meaning()})


def test_votes_are_the_same_to_the_digit_beside_other_documents() -> None:
    rng = np.random.default_rng(0)
    vectors = rng.normal(size=(600, 384)).astype(np.float16)
    gold = Run.from_rows([{int(label): 1.0} for label in rng.integers(len(LABELS), size=600)])
    stage = NearestByMeaning(LABELS, vectors, gold)
    queries = (rng.normal(size=(40, 384)) / 20).astype(np.float32)
    together = stage.read_with(Texts(queries, np.ones(40, np.bool_)))
    for row, query in enumerate(queries):
        (labels, votes), (others, same) = stage.read_with(Texts(query[None], np.ones(1, np.bool_)))[0], together[row]
        assert (labels.tolist(), votes.tolist()) == (others.tolist(), same.tolist())
