from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.encoders.test_prompts import prompted
from tests.papers.topics import DOCUMENTS, GOLD, LABELS, UNSEEN
from tests.tiny import tiny_encoder

from tagwright.encoders.bi_encoder import BiEncoder
from tagwright.encoders.tokens import Tokens
from tagwright.errors import ConfigError
from tagwright.papers import depl, maclr, micol, rts
from tagwright.papers.descriptions import DescriptionRetriever
from tagwright.stages.dense import Dense
from tagwright.tagger import Tagger
from tagwright.training.config import TrainingConfig
from tagwright.training.trainable_encoder import Transformer

QUERY, DOCUMENT = "find the water: ", "stone: "
PROMPTS = {"query": QUERY, "document": DOCUMENT}
ONE_STEP = TrainingConfig(batch=8, steps=1, learning_rate=1e-9, validation=0.0)
QUICK: dict[str, Any] = {"prompts": PROMPTS, "training": ONE_STEP}


@pytest.fixture(scope="module")
def tiny(tmp_path_factory: pytest.TempPathFactory) -> str:
    return str(tiny_encoder(tmp_path_factory.mktemp("encoder") / "tiny"))


@pytest.fixture
def read(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The texts that training reads, with their prompts."""
    seen: list[str] = []
    tokenize = Transformer.tokenize

    def watched(self: Transformer, texts: Sequence[str]) -> Tokens:
        seen.extend(texts)
        return tokenize(self, texts)

    monkeypatch.setattr(Transformer, "tokenize", watched)
    return seen


def check(read: Sequence[str]) -> None:
    """Short texts, which are labels or stand for them, have the prompt of labels; long ones that of documents."""
    assert read
    queries = [text.removeprefix(QUERY) for text in read if text.startswith(QUERY)]
    names = [text.removeprefix(DOCUMENT) for text in read if text.startswith(DOCUMENT)]
    assert len(queries) + len(names) == len(read)
    assert len(queries) >= 8
    assert len(names) >= 8
    assert {len(text.split()) for text in names} == {1}
    assert min(len(text.split()) for text in queries) > 1


@pytest.mark.parametrize(
    ("method", "options"),
    [
        (rts, {"min_words": 4, "max_words": 8, "label_pairs": False, "segment_pairs": False}),
        (maclr, {"training": replace(ONE_STEP, dropout="all")}),
        (maclr, {"training": replace(ONE_STEP, dropout="off")}),
    ],
)
def test_titles_and_labels_are_read_as_labels_and_texts_as_documents(
    tiny: str, read: list[str], method: Any, options: dict[str, Any]
) -> None:
    method.fit(DOCUMENTS, LABELS, method.Config(encoder=tiny, **{**QUICK, **options}))
    check(read)


def test_fine_tuning_goes_on_with_the_prompts_of_the_tagger(tiny: str, read: list[str]) -> None:
    encoder = BiEncoder.load(tiny, prompts=PROMPTS, cached=False)
    tagger = Tagger(LABELS, {"dense": Dense(LABELS, encoder)})
    few = maclr.FewShot(training=ONE_STEP)
    tuned = maclr.fine_tune(DOCUMENTS, LABELS, few, model=tagger, gold=GOLD).stages["dense"]
    check(read)
    assert isinstance(tuned, Dense)
    assert isinstance(tuned.encoder, BiEncoder)
    assert tuned.encoder.record["prompts"] == PROMPTS


@pytest.mark.parametrize("variant", ["depl", "depl_cls", "de_ret", "classifier"])
def test_depl_reads_label_texts_as_labels(tiny: str, read: list[str], variant: Any, tmp_path: Path) -> None:
    tagger = depl.fit(DOCUMENTS, LABELS, depl.Config(variant=variant, encoder=tiny, **QUICK))
    queries = [text for text in read if text.startswith(QUERY)]
    names = [text for text in read if text.startswith(DOCUMENT)]
    assert len(queries) + len(names) == len(read)
    assert queries
    assert bool(names) == (variant != "classifier")
    tagger.save(tmp_path / "saved")
    for name in tagger.stages:
        ours, loaded = tagger.stages[name], Tagger.load(tmp_path / "saved").stages[name]
        assert isinstance(ours, DescriptionRetriever)
        assert isinstance(loaded, DescriptionRetriever)
        expected = ours.documents.encode_raw([QUERY + document.text for document in UNSEEN])
        assert np.allclose(ours.read(UNSEEN).vectors, expected, atol=1e-4)
        assert np.allclose(loaded.read(UNSEEN).vectors, expected, atol=1e-4)


def test_training_refuses_prompts_that_pooling_leaves_out(tmp_path: Path) -> None:
    folder = prompted(tmp_path / "tiny", pooled=False)
    options = {**QUICK, "prompts": {}}
    config = maclr.Config(encoder=folder, **options)
    with pytest.raises(ConfigError, match="leaves its prompts out of its pooling"):
        maclr.fit(DOCUMENTS, LABELS, config)
    maclr.fit(DOCUMENTS, LABELS, replace(config, prompts={"query": "", "document": ""}))


def test_prompts_of_a_cross_encoder_are_refused() -> None:
    with pytest.raises(ConfigError, match="and has no prompts"):
        micol.Config(architecture="cross", prompts=PROMPTS)
