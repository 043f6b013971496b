from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from tests.papers.topics import DOCUMENTS, LABELS, UNSEEN, right, trained

from tagwright.api.options import configuration
from tagwright.core.steps import NAME, Steps
from tagwright.encoders.static import distil
from tagwright.errors import ConfigError, ModelError
from tagwright.papers import contrastive, rts
from tagwright.papers.pairs import simcse_pairs
from tagwright.stages.dense import Dense, DenseOptions
from tagwright.tagger import Tagger
from tagwright.training.config import TrainingConfig, TrainingPlan
from tagwright.training.encoder import settle
from tagwright.types import Document, Pair

QUICK = rts.Config(
    min_words=4, max_words=8, training=TrainingConfig(batch=16, epochs=12, learning_rate=0.01, validation=0.0)
)


def vectors(tagger: Tagger) -> np.ndarray[tuple[int, ...], np.dtype[np.float32]]:
    dense = tagger.stages["dense"]
    assert isinstance(dense, Dense)
    return dense.vectors[np.arange(len(LABELS))]


@pytest.mark.parametrize("kind", ["static", "transformer"])
def test_a_label_is_found_by_words_that_only_training_connects_with_it(kind: str, encoder: dict[str, str]) -> None:
    config = replace(QUICK, encoder=encoder[kind])
    untrained = rts.fit(DOCUMENTS, LABELS, trained(config, steps=1, learning_rate=1e-9))
    assert right(untrained) < 15
    assert right(rts.fit(DOCUMENTS, LABELS, config)) >= 27


def test_gold_labels_are_not_read(encoder: dict[str, str]) -> None:
    config = trained(replace(QUICK, encoder=encoder["static"]), epochs=1)
    unlabelled = [replace(document, labels=()) for document in DOCUMENTS]
    assert (vectors(rts.fit(DOCUMENTS, LABELS, config)) == vectors(rts.fit(unlabelled, LABELS, config))).all()


def test_a_saved_tagger_suggests_the_same(encoder: dict[str, str], tmp_path: Path) -> None:
    tagger = rts.fit(DOCUMENTS, LABELS, trained(replace(QUICK, encoder=encoder["static"]), epochs=1))
    tagger.save(tmp_path / "model")
    loaded, ours = Tagger.load(tmp_path / "model").tag(UNSEEN), tagger.tag(UNSEEN)
    assert (loaded.labels == ours.labels).all()
    assert np.allclose(loaded.scores, ours.scores, atol=1e-3)


def test_a_resumed_training_ends_with_the_same_vectors(encoder: dict[str, str], tmp_path: Path) -> None:
    config = trained(replace(QUICK, encoder=encoder["static"]), epochs=1, checkpoint_seconds=0)
    whole = rts.fit(DOCUMENTS, LABELS, config, Steps(tmp_path))
    assert (tmp_path / NAME).is_file()
    assert (vectors(rts.fit(DOCUMENTS, LABELS, config, Steps(tmp_path, resume=True))) == vectors(whole)).all()
    with pytest.raises(ConfigError, match=r"started with seed 0, not 1; resume it with the same options and data"):
        rts.fit(DOCUMENTS, LABELS, trained(config, seed=1), Steps(tmp_path, resume=True))


def test_the_stage_embeds_name_and_text_of_labels_by_default(encoder: dict[str, str]) -> None:
    tagger = rts.fit(DOCUMENTS, LABELS, trained(replace(QUICK, encoder=encoder["static"]), epochs=1))
    assert list(tagger.stages) == ["dense"]
    dense = tagger.stages["dense"]
    assert isinstance(dense, Dense)
    assert dense.options == DenseOptions(k=500, label_text="both")


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"min_words": 80, "max_words": 40}, "min_words is 80 and max_words 40"),
        ({"temperature": 0.0}, "temperature is 0.0, expected more than 0"),
        ({"training": {"batch": 1}}, "batch is 1, expected at least 2"),
        ({"training": {"learning_rate": -1.0}}, "learning_rate is -1.0, expected more than 0"),
        ({"pooling": "max"}, 'pooling is "max", expected one of cls, mean'),
        ({"projection": 0}, "projection is 0, expected at least 3"),
        ({"encoder": "static", "max_length": 64}, "are of transformers; the encoder is static"),
        ({"candidates": 0}, "candidates is 0, expected at least 1"),
        ({"label_text": "all"}, 'label_text is "all", expected one of'),
    ],
)
def test_options_that_cannot_work_are_refused(options: dict[str, object], message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        configuration("rts", options)


def test_what_does_not_fit_is_refused_before_the_encoder_is_loaded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tagwright.training.encoder.load", lambda *_: pytest.fail("loaded"))
    config = replace(QUICK, encoder="static")
    with pytest.raises(ConfigError, match="a batch is 9999 pairs, more than the "):
        rts.fit(DOCUMENTS, LABELS, trained(config, batch=9999))
    with pytest.raises(ConfigError, match="none of 1 documents has a title"):
        rts.fit([Document("1", abstract="words")], LABELS, config)
    with pytest.raises(ConfigError, match="none of 1 documents has text below its title"):
        rts.fit([Document("1", title="words")], LABELS, config)


def test_a_missing_encoder_is_named() -> None:
    with pytest.raises(ModelError, match='no encoder "nowhere/no-such"'):
        rts.fit(DOCUMENTS, LABELS, replace(QUICK, encoder="nowhere/no-such"))


def hundred(epoch: int) -> list[Pair]:
    return [Pair(f"anchor {i}", f"positive {i}", i) for i in range(100)]


def test_a_batch_that_nobody_chose_is_halved_until_an_epoch_has_eight(encoder: dict[str, str]) -> None:
    config = rts.Config(encoder=encoder["static"], training=TrainingConfig(validation=0.0))
    assert settle(config.training, rts.STATIC, hundred).batch == 8  # 1024 / 2**7; 16 gives only 6 batches
    assert settle(replace(config.training, batch=100), rts.STATIC, hundred).batch == 100


def test_what_the_user_sets_stands_above_the_plan_of_the_method() -> None:
    config = TrainingConfig(batch=7, dropout="all", warmup=0.25, decay=0.5, seed=3)
    assert settle(config, rts.STATIC, hundred) == TrainingPlan(
        batch=7, epochs=4, learning_rate=1e-2, weight_decay=0.0, dropout="all", warmup=0.25, decay=0.5, seed=3
    )


def test_auto_is_static_on_a_machine_without_a_gpu(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tagwright.training.encoder.uses_gpu", lambda: False)
    assert rts.Config().encoder_name == "static"
    monkeypatch.setattr("tagwright.training.encoder.uses_gpu", lambda: True)
    assert rts.Config().encoder_name == "minilm"


def test_a_projection_gives_vectors_of_that_length(encoder: dict[str, str], tmp_path: Path) -> None:
    config = trained(replace(QUICK, encoder=encoder["transformer"], projection=12), epochs=1)
    tagger = rts.fit(DOCUMENTS, LABELS, config)
    assert vectors(tagger).shape == (30, 12)
    tagger.save(tmp_path / "model")
    assert np.allclose(vectors(Tagger.load(tmp_path / "model")), vectors(tagger), atol=1e-3)


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
    moved = contrastive.fit(untitled, LABELS, config, pairs_of=simcse_pairs)
    before = contrastive.fit(untitled, LABELS, trained(config, learning_rate=1e-9), pairs_of=simcse_pairs)
    assert np.abs(vectors(moved) - vectors(before)).max() > 0.01


def test_a_distilled_encoder_that_was_saved_is_known_to_be_static(encoder: dict[str, str], tmp_path: Path) -> None:
    distil(tmp_path / "again", encoder["transformer"])
    assert rts.Config(encoder=str(tmp_path / "again")).is_static
    assert not rts.Config(encoder=encoder["transformer"]).is_static
