"""A small training, which can be killed and resumed, and shared by several processes."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any
from unittest.mock import patch

import numpy as np
import torch
from numpy.typing import NDArray
from safetensors.torch import load_file

from tagwright.core.steps import NAME, Steps
from tagwright.encoders import precision
from tagwright.encoders.cross_encoder import CrossEncoder
from tagwright.encoders.device import CARD, PROCESSOR
from tagwright.papers.losses import info_nce
from tagwright.training import loop, trainable_encoder
from tagwright.training.config import TrainingPlan
from tagwright.training.gradient_caching import GradientCache
from tagwright.training.loop import History, train
from tagwright.training.objectives import Contrastive, Encode
from tagwright.training.shared_work import join_processes
from tagwright.types import Pair

WORDS = ["bee", "bees", "wasp", "honey", "flower", "wing", "market", "stock", "money", "bank", "price", "river", "rain"]


def pairs(epoch: int) -> Iterator[Pair]:
    """60 pairs about one of the words each; every ninth has the same text twice."""
    rng = np.random.default_rng(epoch)
    for i in range(60):
        topic = WORDS[i % len(WORDS)]
        texts = [f"{topic} {' '.join(rng.choice(WORDS, rng.integers(1, 20)))}" for _ in range(2)]
        yield Pair(texts[0], texts[0] if i % 9 == 0 else texts[1], i)


def plain_loss(anchors: torch.Tensor, positives: torch.Tensor, groups: torch.Tensor) -> torch.Tensor:
    both_ways = info_nce(anchors, positives, groups=groups) + info_nce(positives, anchors, groups=groups)
    return both_ways / 2


def bi_encoder(folder: str) -> trainable_encoder.Transformer:
    from sentence_transformers import SentenceTransformer

    return trainable_encoder.Transformer(SentenceTransformer(folder, device="cpu"))


def cross_encoder(folder: str) -> trainable_encoder.Transformer:
    return trainable_encoder.Reranker(CrossEncoder.load(folder).model)


def texts(encoder: trainable_encoder.Transformer, most: int = 30) -> list[Any]:
    """24 texts of at most so many words, or pairs of texts."""
    rng = np.random.default_rng(1)
    drawn = [" ".join(rng.choice(WORDS, rng.integers(1, most))) for _ in range(24)]
    return [(text, "bee honey") for text in drawn] if isinstance(encoder, trainable_encoder.Reranker) else drawn


class Watching(Contrastive):
    """Its loss depends on what it has seen of the model, at which it looks every seven steps."""

    sharpness: NDArray[Any] = np.ones(1, np.float32)

    def loss(self, views: Sequence[torch.Tensor], groups: torch.Tensor) -> torch.Tensor:
        return super().loss(views, groups) * float(self.sharpness[0])

    def before_step(self, step: int, encode: Encode) -> None:
        if step % 7 == 0:
            self.sharpness = 1 + encode(["bee", "stock", "river"])[:1, 0]

    def state(self) -> Mapping[str, NDArray[Any]]:
        return {"sharpness": self.sharpness}

    def restore(self, state: Mapping[str, NDArray[Any]]) -> None:
        self.sharpness = state["sharpness"]


TRAINING = TrainingPlan(
    batch=8,
    steps=24,
    learning_rate=5e-3,
    activation_token_budget=100,
    validation=0.1,
    evaluations=4,
    log_every=1,
    checkpoint_seconds=0,
    seed=3,
)


def run(encoder: str, output: Path | None, training: TrainingPlan = TRAINING, *, resume: bool = False) -> History:
    from sentence_transformers import SentenceTransformer

    model = SentenceTransformer(encoder, device="cpu")
    # Without int8, as in all tests: this may be a process of its own, or before a test begins.
    with patch.object(precision, "formats", dict):
        return train(model, pairs, Watching(plain_loss), training, Steps(output, resume))


def resume_alone(encoder: str, output: Path) -> None:
    """What a process of its own does until it is killed."""
    torch.set_num_threads(1)
    run(encoder, output, resume=True)


def run_with_workers(encoder: str, output: Path, workers: int) -> None:
    """What a process of its own does whose batches are prepared by others; those are forked."""
    torch.set_num_threads(1)
    with (
        patch.object(loop, "feed", lambda _: PROCESSOR._replace(workers=workers)),
        patch.object(loop, "usable_cores", lambda: 8),
    ):
        run(encoder, output)


def run_comparably(encoder: str, output: Path) -> None:
    """Train so that one process and several differ little: sums in another order are nearly the same in float32."""
    with patch.object(trainable_encoder, "best_dtype", lambda _: torch.float32):
        run(encoder, output, replace(TRAINING, dropout="off"))


def step_comparably(encoder: str) -> dict[str, NDArray[Any]]:
    """The loss of a step and its gradients, in several padded chunks and in one that is packed as on a card."""
    from sentence_transformers import SentenceTransformer

    rng, accelerator, found = np.random.default_rng(0), join_processes(), dict[str, NDArray[Any]]()
    texts = [" ".join(rng.choice(WORDS, rng.integers(1, 20))) for _ in range(33)]
    for name, feed in (("padded", PROCESSOR._replace(chunk=100)), ("packed", CARD._replace(small=0))):
        trained = trainable_encoder.Transformer(SentenceTransformer(encoder, device="cpu"))
        trained.feed = feed
        if accelerator.num_processes > 1:
            trained.forward = accelerator.prepare(trained.forward)
        room = 100 if name == "padded" else 10**6
        cache = GradientCache(trained, accelerator, room)
        with patch.object(trainable_encoder, "best_dtype", lambda _: torch.float32), trained.ready():
            tokens = trained.tokenize(texts)
            loss = cache.backward(tokens, np.zeros(33, np.bool_), 0, lambda v: info_nce(v[:16], v[16:]))
        gradients = [w.grad.flatten() for w in trained.model.parameters() if w.grad is not None]
        found |= {f"{name} loss": loss.numpy(), name: torch.cat(gradients).numpy()}
    return found


def state(output: Path) -> dict[str, torch.Tensor]:
    """The weights that were stored, and the state of the training."""
    return load_file(output / NAME)


def logged(output: Path, name: str) -> list[float]:
    """The values of this name in the training log."""
    rows = [json.loads(line) for line in (output / "log.jsonl").read_text().splitlines()]
    return [row[name] for row in rows if name in row]
