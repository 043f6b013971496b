"""Labels that are encoded when they are candidates: what is computed when, and that nothing else depends on it."""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.saved import saved
from tests.tiny import tiny_encoder

from tagwright.combining.weighted_sum import WeightedSum
from tagwright.data.vocabulary import Vocabulary
from tagwright.encoders.bi_encoder import BiEncoder
from tagwright.stages.dense import Dense, DenseOptions
from tagwright.stages.dense import index as label_index
from tagwright.stages.names.exact_match import ExactMatch, ExactMatchOptions
from tagwright.tagger import Tagger
from tagwright.types import Document, Floats, Label

WORDS = ("bee", "wasp", "honey", "flower", "wing", "market", "stock", "money", "bank", "river", "water", "stone")
LABELS = Vocabulary([Label(a + b, (f"{a} {b}",)) for a in WORDS for b in WORDS])
DOCUMENT = Document("d", title="honey bee", abstract="A bee near the water.")
OPTIONS = DenseOptions(label_text="name", proposed=20)


@pytest.fixture
def encoder(tmp_path: Path) -> BiEncoder:
    return BiEncoder.load(str(tiny_encoder(tmp_path / "tiny")), cached=False)


@pytest.fixture
def computed(encoder: BiEncoder, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The texts that were encoded, in order."""
    texts: list[str] = []
    encode = encoder.encode

    def counting(asked: Sequence[str], **options: Any) -> Floats:
        texts.extend(asked)
        return encode(asked, **options)

    monkeypatch.setattr(encoder, "encode", counting)
    return texts


def tagger(dense: Dense) -> Tagger:
    names = ExactMatch(LABELS, ExactMatchOptions(k=50))
    return Tagger(LABELS, {"exact_match": names, "dense": dense}, steps=(WeightedSum(weights={"exact_match": 0.5}),))


def test_only_candidates_are_encoded_each_once(encoder: BiEncoder, computed: list[str]) -> None:
    lazy = Dense(LABELS, encoder, OPTIONS)
    assert computed == []
    both = tagger(lazy)
    pool = both.candidates([DOCUMENT])
    assert len(pool.found["dense"].labels) == 20
    both.tag([DOCUMENT, DOCUMENT], 5)
    labels = [text for text in computed if text not in {DOCUMENT.text}]
    assert len(labels) == len(set(labels)) == len(pool.run.labels) < len(LABELS)


@pytest.mark.parametrize("storage", ["float32", "float16"])
def test_the_answer_does_not_depend_on_what_is_encoded(storage: Any, encoder: BiEncoder) -> None:
    options = DenseOptions(proposed=20, storage=storage)
    cold, warm = Dense(LABELS, encoder, options), Dense(LABELS, encoder, options)
    warm.complete()
    for documents in ([DOCUMENT], [Document(str(i), title=label.name) for i, label in enumerate(LABELS)]):
        found, expected = tagger(cold).tag(documents), tagger(warm).tag(documents)
        assert found.labels.tolist() == expected.labels.tolist()
        np.testing.assert_allclose(found.scores, expected.scores, rtol=1e-5)


def test_proposed_labels_are_ranked_by_their_cosines(encoder: BiEncoder) -> None:
    """Which are proposed is the sketch's choice; compared with all labels, no other is before them."""
    found = Dense(LABELS, encoder, OPTIONS)([DOCUMENT])
    whole = Dense(LABELS, encoder, DenseOptions(label_text="name", k=len(LABELS)))([DOCUMENT])
    proposed = set(found.labels.tolist())
    assert found.labels.tolist() == [label for label in whole.labels.tolist() if label in proposed]
    np.testing.assert_allclose(found.scores, whole.scores_of(found), atol=1e-5)


def test_a_saved_stage_is_whole_and_answers_as_before(encoder: BiEncoder, tmp_path: Path) -> None:
    documents = [DOCUMENT, Document("e", title="money bank"), Document("f")]
    lazy = Dense(LABELS, encoder, OPTIONS)
    before = lazy(documents)
    lazy.complete()
    loaded = Dense.from_state(saved(lazy, tmp_path), LABELS)
    after = loaded(documents)
    assert after.labels.tolist() == before.labels.tolist()
    np.testing.assert_allclose(after.scores, before.scores, rtol=1e-5)
    assert np.diff(after.indptr).tolist() == [20, 20, 0]


def test_a_stage_follows_other_labels_with_or_without_all_vectors(encoder: BiEncoder) -> None:
    fewer, whole = LABELS[:110], Dense(LABELS, encoder, OPTIONS)
    whole.complete()
    documents = [DOCUMENT, Document("e", title="honey stock")]
    found = [stage.with_labels(fewer)(documents) for stage in (whole, Dense(LABELS, encoder, OPTIONS))]
    expected = Dense(fewer, encoder, OPTIONS)(documents)
    assert [run.labels.tolist() for run in found] == [expected.labels.tolist()] * 2
    np.testing.assert_allclose(whole.with_labels(LABELS[:2]).vectors[:], whole.vectors[:2], atol=1e-3)


def test_many_rough_vectors_have_an_index_which_is_saved(
    encoder: BiEncoder, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(label_index, "INDEX_MINIMUM", 100)
    stage = Dense(LABELS, encoder, DenseOptions(proposed=10, index="ivf"))
    stage.complete()
    loaded = Dense.from_state(saved(stage, tmp_path), LABELS)
    assert [file.relative_to(tmp_path).as_posix() for file in tmp_path.rglob("*.faiss")] == ["rough/index/index.faiss"]
    assert loaded([DOCUMENT]).labels.tolist() == stage([DOCUMENT]).labels.tolist()


def test_every_label_is_compared_where_they_are_few_or_nothing_is_to_propose(encoder: BiEncoder) -> None:
    for stage in (Dense(LABELS[:100], encoder, OPTIONS), Dense(LABELS, BiEncoder.of(encoder.model), OPTIONS)):
        assert len(stage([DOCUMENT]).labels) == OPTIONS.k == 100


@pytest.mark.slow
def test_threads_share_labels_that_are_being_encoded(encoder: BiEncoder, computed: list[str]) -> None:
    """Half of the threads tag, half encode all labels at the same time: nobody sees vectors that are not there yet."""
    documents = [[Document(str(i), title=f"{a} {b}.")] for i, (a, b) in enumerate(pairwise(WORDS))]
    expected = [Dense(LABELS, encoder, OPTIONS)(each).labels.tolist() for each in documents]
    for _ in range(20):
        computed.clear()
        lazy = Dense(LABELS, encoder, OPTIONS)

        def one(number: int, lazy: Dense = lazy) -> list[int] | None:
            if number % 2:
                lazy.complete()
                return None
            found: list[int] = lazy(documents[number // 2]).labels.tolist()
            return found

        with ThreadPoolExecutor(16) as threads:
            found = list(threads.map(one, range(2 * len(documents))))
        assert found[::2] == expected
        labels = [text for text in computed if not text.endswith(".")]
        assert sorted(labels) == sorted(label.name for label in LABELS)
