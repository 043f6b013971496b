"""The plain training loop that ours is measured against, and what a machine could compute meanwhile."""

from __future__ import annotations

import time
from collections.abc import Callable
from functools import cache
from typing import Any

from sentence_transformers import SentenceTransformer

from tagwright.encoders.device import best_device
from tagwright.training.trainable_encoder import trainable_encoder
from tagwright.types import Pair

Figures = dict[str, float]


def plain(model: SentenceTransformer, pairs: list[Pair], batch: int) -> float:
    import torch
    from sentence_transformers.sentence_transformer.losses import MultipleNegativesRankingLoss

    loss = MultipleNegativesRankingLoss(model)
    optimiser = torch.optim.AdamW(model.parameters(), lr=1e-4)
    model.train()
    start = 0.0
    for done in range(0, len(pairs), batch):
        part = pairs[done : done + batch]
        sides = [pair.anchor for pair in part], [pair.positive for pair in part]
        features = [{name: _to(value, model) for name, value in model.preprocess(side).items()} for side in sides]
        with torch.autocast(model.device.type, torch.bfloat16):
            value = loss(features, None)
        value.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimiser.step()
        optimiser.zero_grad()
        value.item()
        start = start or time.perf_counter()
    return time.perf_counter() - start


def training_operations(model: SentenceTransformer, pairs: list[Pair]) -> tuple[int, int]:
    """Operations of the layers' products in a training on these pairs, 0 if there are no layers; and the tokens."""
    texts = [text for pair in pairs for text in (pair.anchor, pair.positive)]
    tokens = int(trainable_encoder(model).tokenize(texts).lengths.sum())
    if model.transformers_model is None:
        return 0, tokens
    products = sum(w.numel() for name, w in model.named_parameters() if w.ndim == 2 and "embeddings" not in name)
    return 6 * products * tokens, tokens


@cache
def matrix_rate() -> float:
    """Operations per second of a large bfloat16 product on the GPU, of a smaller one on a processor."""
    import torch

    device = best_device()
    wait: Callable[[], object] = torch.cuda.synchronize if device.type == "cuda" else lambda: None
    size = 8192 if device.type == "cuda" else 1024
    a = torch.randn(size, size, device=device, dtype=torch.bfloat16)
    for repeats in (5, 50):
        wait()
        start = time.perf_counter()
        for _ in range(repeats):
            a @ a
        wait()
    return 50 * 2 * size**3 / (time.perf_counter() - start)


def _to(value: Any, model: SentenceTransformer) -> Any:
    return value.to(model.device) if hasattr(value, "to") else value
