"""A card is fed otherwise than a processor, and learns the same: tried here on the processor."""

from __future__ import annotations

import logging
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from accelerate import Accelerator
from sentence_transformers import SentenceTransformer
from tests.tiny import tiny_encoder
from tests.training.training_run import TRAINING, Watching, bi_encoder, cross_encoder, pairs, plain_loss, texts

from tagwright.encoders.device import CARD, PROCESSOR, Feed
from tagwright.encoders.tokens import Tokens
from tagwright.papers.losses import info_nce
from tagwright.training import packing
from tagwright.training import trainable_encoder as trainables
from tagwright.training.gradient_caching import GradientCache
from tagwright.training.loop import train
from tagwright.training.trainable_encoder import Transformer

PACKED = CARD._replace(small=0, kept=10**6, workers=0)
"A card whose chunks are packed however small they are."
ENOUGH = 10**6

pytestmark = pytest.mark.usefixtures("exact")

Make = Callable[[], Transformer]


def step_of(encoder: Transformer, room: int, how: Feed) -> tuple[float, torch.Tensor, list[bool]]:
    """The loss of a step, its gradients, and whether each of its chunks was packed."""
    encoder.feed, seen = how, []
    compute = encoder._vectors

    def noted(tokens: Any, *, packed: bool) -> torch.Tensor:
        seen.append(packed)
        return compute(tokens, packed=packed)

    def loss(vectors: torch.Tensor) -> torch.Tensor:
        if vectors.shape[1] == 1:
            return torch.nn.functional.softplus(vectors[:12] - vectors[12:]).mean()
        anchors, positives = vectors.chunk(2)
        return info_nce(anchors, positives)

    tokens, dropout = encoder.tokenize(texts(encoder)), np.zeros(24, np.bool_)
    with encoder.ready():
        encoder._vectors = noted  # type: ignore[method-assign]
        value = GradientCache(encoder, Accelerator(), room).backward(tokens, dropout, 0, loss)
    gradients = [weight.grad.flatten() for weight in encoder.model.parameters() if weight.grad is not None]
    return float(value), torch.cat(gradients), seen


@pytest.mark.parametrize("make", [bi_encoder, cross_encoder])
@pytest.mark.parametrize("pooling", ["mean", "cls"])
def test_loss_and_gradients_are_the_same_packed_padded_in_one_chunk_or_several(
    make: Callable[[str], Transformer], pooling: Any, tmp_path: Path
) -> None:
    folder = str(tiny_encoder(tmp_path / "tiny", pooling=pooling))
    whole = PROCESSOR._replace(chunk=10**6, padding=100.0)
    loss, gradients, seen = step_of(make(folder), ENOUGH, whole)
    assert seen == [False]
    assert gradients.abs().max() > 0.01
    for room, how, expected in (
        (0, PROCESSOR._replace(chunk=100), {False}),
        (ENOUGH, PROCESSOR._replace(chunk=100), {False}),
        (ENOUGH, PACKED, {True}),
        (100, PACKED, {True}),
        (ENOUGH, CARD._replace(kept=ENOUGH), {False}),  # so few tokens are not worth packing
    ):
        found, others, packed = step_of(make(folder), room, how)
        assert set(packed) == expected
        assert (len(packed) == 1) == (how.chunk is None and room == ENOUGH)
        assert found == pytest.approx(loss, rel=1e-5)
        assert torch.allclose(others, gradients, rtol=1e-3, atol=1e-5)


def test_a_card_trains_what_a_processor_trains(folder: str, monkeypatch: pytest.MonkeyPatch) -> None:
    plan = replace(TRAINING, dropout="off", steps=10, activation_token_budget=None)

    def losses() -> list[float]:
        model = SentenceTransformer(folder, device="cpu")
        rows, *_ = train(model, pairs, Watching(plain_loss), plan)
        assert model.transformers_model.config._attn_implementation == "sdpa"  # type: ignore[union-attr]
        return [row["loss"] for row in rows if "loss" in row]

    expected = losses()
    monkeypatch.setattr(trainables, "feed", lambda _: PACKED)
    assert losses() == pytest.approx(expected, abs=1e-3)


def test_positions_of_packed_texts_begin_where_those_of_the_family_do(folder: str) -> None:
    from transformers import XLMRobertaConfig, XLMRobertaModel

    encoder = bi_encoder(folder)
    config = XLMRobertaConfig(
        vocab_size=200, hidden_size=16, num_hidden_layers=2, num_attention_heads=2, intermediate_size=32, pad_token_id=1
    )
    encoder.model[0].model = XLMRobertaModel(config).train(False)
    tokens = Tokens.of([[5, 6, 7], [8, 9, 10, 11, 12], [13]])
    with torch.no_grad():
        packing.can_pack(encoder.model)
        padded = encoder._vectors(tokens, packed=False)
        encoder.model.transformers_model.set_attn_implementation(packing.NAME)
        packed = encoder._vectors(tokens, packed=True)
    assert padded.abs().max() > 0.1
    assert torch.allclose(packed, padded, atol=1e-5)


def test_packed_texts_are_told_apart_by_dropout(folder: str) -> None:
    encoder = bi_encoder(folder)
    encoder.feed = PACKED
    with encoder.ready():
        encoder.model.train()
        one, two = encoder.embed(encoder.tokenize(["bee honey"] * 2), np.arange(2))
    assert encoder.model.transformers_model.config._attn_implementation == "sdpa"
    assert not torch.allclose(one, two)


@pytest.mark.parametrize("problem", ["kernel is missing", "vectors differ"])
def test_a_model_that_computes_packed_texts_otherwise_is_padded(
    problem: str, folder: str, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    computed = packing.attention

    def broken(*given: Any, **options: Any) -> Any:
        if "cu_seq_lens_q" not in options:
            return computed(*given, **options)
        if problem == "kernel is missing":
            raise RuntimeError(problem)
        return given[1].transpose(1, 2), None  # the queries themselves

    monkeypatch.setattr(packing, "attention", broken)
    encoder = bi_encoder(folder)
    encoder.feed = PACKED
    with caplog.at_level(logging.WARNING), encoder.ready():
        assert not encoder.packed
        assert encoder.model.transformers_model.config._attn_implementation == "sdpa"
    assert "texts are padded in training" in caplog.text
    assert problem in caplog.text
    other = bi_encoder(folder)
    other.feed, other.model.transformers_model.config.model_type = PACKED, "modernbert"
    with other.ready():  # whose attention is within a window in some layers
        assert not other.packed
