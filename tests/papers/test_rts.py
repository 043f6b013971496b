from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch
from benchmarks import contrastive
from tests.papers.topics import DOCUMENTS, LABELS, right, trained

from tagwright.encoders.bi_encoder import BiEncoder
from tagwright.errors import ConfigError
from tagwright.papers import rts
from tagwright.stages.dense import Dense, DenseOptions
from tagwright.tagger import Tagger
from tagwright.training.config import TrainingConfig
from tagwright.training.encoder import settle
from tagwright.types import Document, Pair

QUICK = rts.Config(
    min_words=4, max_words=8, training=TrainingConfig(batch=16, epochs=12, learning_rate=0.01, validation=0.0)
)


def vectors(tagger: Tagger) -> np.ndarray[tuple[int, ...], np.dtype[np.float32]]:
    dense = tagger.stages["dense"]
    assert isinstance(dense, Dense)
    return dense.vectors[np.arange(len(LABELS))]


@pytest.mark.parametrize("kind", ["static", pytest.param("transformer", marks=pytest.mark.slow)])
def test_a_label_is_found_by_words_that_only_training_connects_with_it(kind: str, encoder: dict[str, str]) -> None:
    config = replace(QUICK, encoder=encoder[kind])
    untrained = rts.fit(DOCUMENTS, LABELS, trained(config, steps=0))
    assert right(untrained) < 15
    assert right(rts.fit(DOCUMENTS, LABELS, config)) >= 27


@pytest.mark.parametrize("kind", ["static", "transformer"])
def test_no_steps_leave_the_encoder_as_it_is(kind: str, encoder: dict[str, str]) -> None:
    found = vectors(rts.fit(DOCUMENTS, LABELS, trained(replace(QUICK, encoder=encoder[kind]), steps=0)))
    start = Dense(LABELS, BiEncoder.load(encoder[kind]), DenseOptions(label_text="both"))
    assert np.allclose(found, start.vectors[:], atol=1e-3)


def test_gold_labels_are_not_read(encoder: dict[str, str]) -> None:
    config = trained(replace(QUICK, encoder=encoder["static"]), epochs=1)
    unlabelled = [replace(document, labels=()) for document in DOCUMENTS]
    assert (vectors(rts.fit(DOCUMENTS, LABELS, config)) == vectors(rts.fit(unlabelled, LABELS, config))).all()


def test_the_stage_embeds_name_and_text_of_labels_by_default(encoder: dict[str, str]) -> None:
    tagger = rts.fit(DOCUMENTS, LABELS, trained(replace(QUICK, encoder=encoder["static"]), epochs=1))
    assert list(tagger.stages) == ["dense"]
    dense = tagger.stages["dense"]
    assert isinstance(dense, Dense)
    assert dense.options == DenseOptions(k=500, label_text="both")


def test_what_does_not_fit_is_refused_before_the_encoder_is_loaded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tagwright.training.encoder.load", lambda *_: pytest.fail("loaded"))
    config = replace(QUICK, encoder="static")
    with pytest.raises(ConfigError, match="a batch is 9999 pairs, more than the "):
        rts.fit(DOCUMENTS, LABELS, trained(config, batch=9999))
    with pytest.raises(ConfigError, match="none of 1 documents has a title"):
        rts.fit([Document("1", abstract="words")], LABELS, config)
    with pytest.raises(ConfigError, match="title_pairs needs a title and text below it"):
        rts.fit([Document("1", title="words")], LABELS, config)


def hundred(epoch: int) -> list[Pair]:
    return [Pair(f"anchor {i}", f"positive {i}", i) for i in range(100)]


def test_a_batch_that_nobody_chose_is_halved_until_an_epoch_has_eight(encoder: dict[str, str]) -> None:
    config = rts.Config(encoder=encoder["static"], training=TrainingConfig(validation=0.0))
    assert settle(config.training, rts.STATIC, hundred).batch == 8  # 1024 / 2**7; 16 gives only 6 batches
    assert settle(replace(config.training, batch=100), rts.STATIC, hundred).batch == 100


def test_a_projection_gives_vectors_of_that_length(encoder: dict[str, str], tmp_path: Path) -> None:
    config = trained(replace(QUICK, encoder=encoder["transformer"], projection=12), epochs=1)
    tagger = rts.fit(DOCUMENTS, LABELS, config)
    assert vectors(tagger).shape == (30, 12)
    tagger.save(tmp_path / "model")
    assert np.allclose(vectors(Tagger.load(tmp_path / "model")), vectors(tagger), atol=1e-3)


def test_the_loss_can_be_exchanged_by_name_or_as_a_function(encoder: dict[str, str]) -> None:
    """Nothing moves under a loss without a gradient; under Eq. 1 and its symmetric form, vectors do, and differ."""

    def nothing(anchors: torch.Tensor, positives: torch.Tensor, groups: torch.Tensor) -> torch.Tensor:
        assert anchors.shape == positives.shape == (16, anchors.shape[1])
        assert groups.shape == (16,)
        return (anchors * 0).sum()

    training = TrainingConfig(batch=16, steps=5, learning_rate=0.01, weight_decay=0.0, validation=0.0)
    config = rts.Config(encoder=encoder["static"], min_words=4, max_words=8, training=training)
    start = vectors(rts.fit(DOCUMENTS, LABELS, trained(config, learning_rate=1e-12)))
    one, both = (rts.fit(DOCUMENTS, LABELS, replace(config, loss=name)) for name in ("info_nce", "symmetric"))
    assert np.abs(vectors(rts.fit(DOCUMENTS, LABELS, config, loss=nothing)) - start).max() < 1e-3
    assert min(np.abs(vectors(each) - start).max() for each in (one, both)) > 1e-2
    assert np.abs(vectors(one) - vectors(both)).max() > 1e-3


def test_ict_learns_the_topics_too(encoder: dict[str, str]) -> None:
    config = contrastive.Config(
        encoder=encoder["static"], training=TrainingConfig(batch=16, epochs=60, learning_rate=0.01, validation=0.0)
    )
    assert right(contrastive.fit(DOCUMENTS, LABELS, config)) >= 27


def test_simcse_needs_no_titles(encoder: dict[str, str]) -> None:
    config = contrastive.Config(
        encoder=encoder["transformer"], training=TrainingConfig(batch=4, epochs=1, learning_rate=0.01, validation=0.0)
    )
    untitled = [replace(document, title="") for document in DOCUMENTS]
    moved = contrastive.fit(untitled, LABELS, config, pairs_of=contrastive.simcse_pairs)
    before = contrastive.fit(untitled, LABELS, trained(config, learning_rate=1e-9), pairs_of=contrastive.simcse_pairs)
    assert np.abs(vectors(moved) - vectors(before)).max() > 0.01
