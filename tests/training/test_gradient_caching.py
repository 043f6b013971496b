from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np
import pytest
import torch
from accelerate import Accelerator
from sentence_transformers import SentenceTransformer
from tests.training.training_run import WORDS

from tagwright.encoders.device import PROCESSOR
from tagwright.encoders.tokens import Tokens
from tagwright.papers.losses import info_nce
from tagwright.training import trainable_encoder as trainables
from tagwright.training.gradient_caching import GradientCache
from tagwright.training.trainable_encoder import Transformer


@pytest.fixture(autouse=True)
def small_chunks(exact: None, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(trainables, "feed", lambda _: PROCESSOR._replace(chunk=60))


def texts_of(encoder: Transformer, count: int) -> Tokens:
    rng = np.random.default_rng(1)
    texts = [" ".join(rng.choice(WORDS, rng.integers(1, 30))) for _ in range(count)]
    return encoder.tokenize(texts)


def loss(vectors: torch.Tensor) -> torch.Tensor:
    anchors, positives = vectors.chunk(2)
    return info_nce(anchors, positives)


def gradients(
    folder: str, activation_token_budget: int, backward: Callable[[GradientCache, Transformer], torch.Tensor]
) -> torch.Tensor:
    encoder = Transformer(SentenceTransformer(folder, device="cpu"))
    backward(GradientCache(encoder, Accelerator(), activation_token_budget), encoder)
    return torch.cat([weight.grad.flatten() for weight in encoder.model.parameters() if weight.grad is not None])


@pytest.mark.parametrize("dropout", [False, True])
def test_the_gradients_of_a_batch_encoded_twice_are_those_of_one_encoded_once(folder: str, dropout: bool) -> None:
    def step(cache: GradientCache, encoder: Transformer) -> torch.Tensor:
        return cache.backward(texts_of(encoder, 24), np.full(24, dropout), 5, loss)

    once, twice = gradients(folder, 10**6, step), gradients(folder, 0, step)
    assert once.abs().max() > 0.01
    assert torch.allclose(once, twice, rtol=1e-4, atol=1e-6)


def test_the_gradients_are_those_of_the_plain_loss_of_sentence_transformers(folder: str) -> None:
    """The whole batch padded and encoded by the model itself, one backward pass, no chunks."""
    encoder = Transformer(SentenceTransformer(folder, device="cpu"))
    texts = texts_of(encoder, 24)
    words = [encoder.model.tokenizer.decode(text, skip_special_tokens=True) for text in _rows(texts)]
    encoder.model.eval()
    torch.autograd.backward(loss(encoder.model(encoder.model.preprocess(words))["sentence_embedding"]))
    plain = torch.cat([weight.grad.flatten() for weight in encoder.model.parameters() if weight.grad is not None])
    cached = gradients(folder, 0, lambda cache, _: cache.backward(texts, np.zeros(24, np.bool_), 0, loss))
    assert torch.allclose(plain, cached, rtol=1e-3, atol=1e-5)


def test_dropout_tells_equal_texts_apart_and_is_drawn_anew_in_each_step(folder: str) -> None:
    encoder = Transformer(SentenceTransformer(folder, device="cpu"))
    cache = GradientCache(encoder, Accelerator(), 0)
    tokens = encoder.tokenize(["bee honey"] * 2)
    seen: list[torch.Tensor] = []

    def keep(vectors: torch.Tensor) -> torch.Tensor:
        seen.append(vectors.detach().clone())
        return vectors.sum()

    for step in (0, 1, 0):
        cache.backward(tokens, np.array([True, True]), step, keep)
    assert not torch.allclose(seen[0][0], seen[0][1])
    assert not torch.allclose(seen[0], seen[1])
    assert torch.equal(seen[0], seen[2])


def test_64_pairs_encoded_twice_keep_less_for_the_backward_pass_than_16_encoded_once(folder: str) -> None:
    assert _most_kept(folder, pairs=64, activation_token_budget=0) < 0.5 * _most_kept(
        folder, pairs=16, activation_token_budget=10**6
    )


def _most_kept(folder: str, pairs: int, activation_token_budget: int) -> int:
    """The most numbers that the graph has held at any time."""
    kept = most = 0

    class Held:
        def __init__(self, tensor: torch.Tensor) -> None:
            nonlocal kept, most
            self.tensor, self.size = tensor, tensor.numel()
            kept += self.size
            most = max(most, kept)

        def __del__(self) -> None:
            nonlocal kept
            kept -= self.size

    def step(cache: GradientCache, encoder: Transformer) -> torch.Tensor:
        texts = texts_of(encoder, 2 * pairs)
        with torch.autograd.graph.saved_tensors_hooks(Held, lambda held: held.tensor):
            return cache.backward(texts, np.zeros(2 * pairs, np.bool_), 0, torch.sum)

    gradients(folder, activation_token_budget, step)
    return most


def _rows(texts: Tokens) -> Iterator[list[int]]:
    for start, length in zip(texts.starts, texts.lengths, strict=True):
        yield texts.ids[start : start + length].tolist()
