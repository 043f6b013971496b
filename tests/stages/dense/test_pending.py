"""Labels that are encoded when they are needed: what is computed when, and that the results are those of all labels."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.tiny import tiny_encoder

from tagwright.combining.weighted_sum import WeightedSum
from tagwright.data.vocabulary import Vocabulary
from tagwright.encoders.bi_encoder import BiEncoder
from tagwright.stages import dense as module
from tagwright.stages.dense import Dense, DenseOptions
from tagwright.stages.names.exact_match import ExactMatch, ExactMatchOptions
from tagwright.tagger import Tagger
from tagwright.types import Document, Floats, Label, Run

WORDS = ("bee", "wasp", "honey", "flower", "wing", "market", "stock", "money", "bank", "river", "water", "stone")
LABELS = Vocabulary([Label(a + b, (f"{a} {b}",)) for a in WORDS for b in WORDS])
DOCUMENT = Document("d", title="honey bee", abstract="A bee near the water.")


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


@pytest.fixture(autouse=True)
def small_budget(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "BUDGET", 20)


def tagger(dense: Dense) -> Tagger:
    names = ExactMatch(LABELS, ExactMatchOptions(k=50))
    return Tagger(LABELS, {"exact_match": names, "dense": dense}, combiner=WeightedSum(weights={"exact_match": 0.5}))


def test_for_one_document_only_its_candidates_are_encoded(encoder: BiEncoder, computed: list[str]) -> None:
    lazy = Dense.lazy(LABELS, encoder)
    assert computed == []
    assert lazy.budget == 20
    run = tagger(lazy).tag([DOCUMENT], 5)
    assert len(set(computed) - {DOCUMENT.text}) == 20
    whole = Dense(LABELS, encoder)
    scored = whole.score(whole.read([DOCUMENT]), run)
    np.testing.assert_allclose(lazy.score(lazy.read([DOCUMENT]), run), scored, atol=1e-3)
    assert lazy.describe().endswith("124 not encoded yet")


def test_no_label_is_encoded_twice(encoder: BiEncoder, computed: list[str]) -> None:
    both = tagger(Dense.lazy(LABELS, encoder, DenseOptions(label_text="name")))
    for _ in range(2):
        both.tag([DOCUMENT], 5)
    labels = [text for text in computed if text != DOCUMENT.text]
    assert len(labels) == len(set(labels)) == 20


def test_for_many_documents_all_labels_are_encoded_and_the_result_is_that_of_all(
    encoder: BiEncoder, computed: list[str]
) -> None:
    documents = [DOCUMENT] * 8  # 8 x 20 candidates would be more than the 144 labels
    lazy = Dense.lazy(LABELS, encoder)
    found, expected = tagger(lazy).tag(documents), tagger(Dense(LABELS, encoder)).tag(documents)
    assert lazy.budget is None
    assert found.labels.tolist() == expected.labels.tolist()
    np.testing.assert_allclose(found.scores, expected.scores, atol=2e-3)
    assert set(computed) >= {label.name for label in LABELS}


def test_what_proposes_is_explained_by_its_own_scores(encoder: BiEncoder) -> None:
    lazy = Dense.lazy(LABELS, encoder)
    label = LABELS.index["honeybee"]
    evidence = {each.stage: each for each in tagger(lazy).evidence(DOCUMENT, [label])[0]}
    pool = Run.from_rows([[label]])
    assert evidence["dense"].score == pytest.approx(lazy.score(lazy.read([DOCUMENT]), pool)[0], abs=1e-5)
    assert evidence["dense"].spans
    assert evidence["exact_match"].rank == 1


def test_a_saved_stage_is_whole_and_so_is_what_asks_for_all_vectors(encoder: BiEncoder, tmp_path: Path) -> None:
    lazy, whole = Dense.lazy(LABELS, encoder), Dense(LABELS, encoder)
    folder = tmp_path / "saved"
    folder.mkdir()
    lazy.save(folder)
    loaded = Dense.load(folder, LABELS)
    assert loaded.budget is lazy.budget is None
    np.testing.assert_allclose(loaded.vectors[:], whole.vectors[:], atol=1e-3)
    other = Dense.lazy(LABELS, encoder).with_labels(LABELS[:2])
    np.testing.assert_allclose(other.vectors[:], whole.vectors[:2], atol=1e-3)


def test_labels_that_were_encoded_before_are_known(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TAGWRIGHT_CACHE", str(tmp_path / "cache"))
    folder = str(tiny_encoder(tmp_path / "tiny"))
    first = Dense.lazy(LABELS, BiEncoder.load(folder))
    tagger(first).tag([DOCUMENT], 5)
    assert Dense.lazy(LABELS, BiEncoder.load(folder)).describe().endswith("124 not encoded yet")
    first.encode_labels()
    assert Dense.lazy(LABELS, BiEncoder.load(folder)).budget is None


def test_few_labels_are_encoded_at_once(encoder: BiEncoder) -> None:
    assert Dense.lazy(LABELS[:20], encoder).budget is None


def test_labels_of_one_text_are_sketched_once(encoder: BiEncoder, monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[int] = []
    sketch = encoder.sketch()
    assert sketch is not None

    def counted(texts: Sequence[str]) -> Floats:
        asked.append(len(texts))
        return sketch(texts)

    monkeypatch.setattr(encoder, "sketch", lambda: counted)
    labels = [Label(str(i), ("bee" if i else "wasp",)) for i in range(300)]
    lazy = Dense.lazy(labels, encoder, DenseOptions(label_text="name", k=3))
    assert asked == [2]
    assert 0 not in lazy([Document("d", title="bee")]).labels.tolist()
