"""Compute gradients of a loss over all vectors of a batch, however large, on all processes.

Gradient caching (Gao et al., 2021, "Scaling Deep Contrastive Learning Batch Size under Memory Limited Setup"): the
vectors of a batch are computed in chunks, keeping no graph; the loss over all of them gives a gradient for each vector;
then the chunks are encoded again, one by one, with a graph to carry these gradients on to the weights.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from tagwright.encoders.tokens import Tokens
from tagwright.training.trainable_encoder import TrainableEncoder
from tagwright.types import Longs

if TYPE_CHECKING:
    import torch
    from accelerate import Accelerator

ACTIVATION_TOKENS = {"cpu": 8192, "cuda": 262_144}
"Tokens of a step whose activations are kept, padding included: 0.1 MB each in MiniLM."


@dataclass(frozen=True, eq=False)
class Texts:
    """All texts of a step. dropout: (texts,) whether each is encoded with dropout."""

    tokens: Tokens
    dropout: NDArray[np.bool_]


@dataclass(frozen=True, eq=False)
class GradientCache:
    """Encodes the texts of a step and propagates the gradients of a loss to the weights.

    Each process encodes its share of the texts, all have the vectors of all and compute the whole loss, and the
    gradients of the weights are summed: so the loss is that of a single process. activation_token_budget:
    tokens of a step that are encoded once, keeping their activations; the others are encoded twice. ACTIVATION_TOKENS
    by default.
    """

    encoder: TrainableEncoder
    accelerator: Accelerator
    activation_token_budget: int | None = None
    seed: int = 0

    def backward(self, texts: Texts, step: int, loss: Callable[[torch.Tensor], torch.Tensor]) -> float:
        """The loss of the vectors (texts, dim) of all texts; its gradients are added to those of the weights.

        Weights of the loss itself have the whole gradient on each process, as each computes the whole loss.
        """
        import torch

        chunks = self._chunks(texts)
        room = (
            ACTIVATION_TOKENS[self.accelerator.device.type]
            if self.activation_token_budget is None
            else self.activation_token_budget
        )
        parts = []
        for rows in chunks:
            tokens = int(texts.tokens.lengths[rows].max()) * len(rows)
            keep = len(chunks) == 1 or tokens <= room
            room -= tokens if keep else 0
            with torch.set_grad_enabled(keep):
                parts.append(self._embed(texts, rows, step))
        if self.accelerator.num_processes == 1 and all(part.requires_grad for part in parts):
            value = loss(self._gather(parts, chunks, len(texts.tokens)))
            torch.autograd.backward(value)
            return value.item()
        vectors = self._gather([part.detach() for part in parts], chunks, len(texts.tokens)).requires_grad_()
        value = loss(vectors)
        torch.autograd.backward(value)
        gradients = vectors.grad
        assert gradients is not None
        for i, rows in enumerate(chunks):
            part = parts[i] if parts[i].requires_grad else self._embed(texts, rows, step)
            torch.autograd.backward(part, gradients[torch.from_numpy(rows).to(gradients.device)])
            parts[i] = part.detach()
        self._sum_gradients()
        return value.item()

    def encode(self, texts: Texts) -> torch.Tensor:
        """(texts, dim) vectors of all texts, no graph, no dropout."""
        import torch

        plain = Texts(texts.tokens, np.zeros_like(texts.dropout))
        chunks = self._chunks(plain)
        with torch.no_grad():
            return self._gather([self._embed(plain, rows, 0) for rows in chunks], chunks, len(texts.tokens))

    def _chunks(self, texts: Texts) -> list[Longs]:
        """This process's share of the texts in chunks: every n-th by length, so that all have equal work."""
        mine = np.argsort(texts.tokens.lengths, kind="stable")
        mine = mine[self.accelerator.process_index :: self.accelerator.num_processes]
        kinds = [mine[~texts.dropout[mine]], mine[texts.dropout[mine]]]
        return [rows[chunk] for rows in kinds if len(rows) for chunk in self.encoder.chunks(texts.tokens.lengths[rows])]

    def _embed(self, texts: Texts, rows: Longs, step: int) -> torch.Tensor:
        import torch

        dropout = bool(texts.dropout[rows[0]])
        if dropout:
            # Seeded by the chunk instead of a running state: texts get the same masks when encoded again or after a
            # restart.
            key = np.random.SeedSequence((self.seed, step, self.accelerator.process_index, int(rows[0])))
            torch.manual_seed(int(key.generate_state(1)[0]))
        self.encoder.model.train(dropout)
        return self.encoder.embed(texts.tokens, rows)

    def _gather(self, parts: list[torch.Tensor], chunks: list[Longs], texts: int) -> torch.Tensor:
        import torch

        vectors = parts[0].new_zeros(texts, parts[0].shape[1])
        vectors[torch.from_numpy(np.concatenate(chunks)).to(vectors.device)] = torch.cat(parts)
        return self._sum(vectors)

    def _sum_gradients(self) -> None:
        for weight in self.encoder.model.parameters():
            if weight.grad is not None:
                weight.grad = self._sum(weight.grad)

    def _sum(self, values: torch.Tensor) -> torch.Tensor:
        if self.accelerator.num_processes == 1:
            return values
        total: torch.Tensor = self.accelerator.reduce(values, "sum")
        return total
