"""Compute gradients of a loss over all vectors of a batch, however large, on all processes.

Gradient caching (Gao et al., 2021, "Scaling Deep Contrastive Learning Batch Size under Memory Limited Setup"): the
vectors of a batch are computed in chunks, keeping no graph; the loss over all of them gives a gradient for each vector;
then the chunks are encoded again, one by one, with a graph to carry these gradients on to the weights.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from tagwright.encoders.tokens import Tokens
from tagwright.training.trainable_encoder import TrainableEncoder, send_array
from tagwright.types import Longs, Mask

if TYPE_CHECKING:
    import torch
    from accelerate import Accelerator


@dataclass(frozen=True, eq=False)
class GradientCache:
    """Encodes the texts of a step and propagates the gradients of a loss to the weights.

    Each process encodes its share of the texts, all have the vectors of all and compute the whole loss, and torch's
    distributed data parallel sums the gradients of the weights: so the loss is that of a single process.
    activation_token_budget: tokens of a step, padding included, that are encoded once, keeping their activations,
    0.1 MB each in MiniLM; the others are encoded twice. None: 8,192 on a processor, as many as fit in a GPU.
    """

    encoder: TrainableEncoder
    accelerator: Accelerator
    activation_token_budget: int | None = None
    seed: int = 0

    def backward(
        self, tokens: Tokens, dropout: Mask, step: int, loss: Callable[[torch.Tensor], torch.Tensor]
    ) -> torch.Tensor:
        """The loss of the vectors (texts, dim) of all texts; its gradients are added to those of the weights.

        It stays on the device, so that nothing waits for it.

        dropout: (texts,) whether each is encoded with dropout. Weights of the loss itself have the whole gradient on
        each process, as each computes the whole loss.
        """
        import torch

        chunks, room, parts = self._chunks(tokens, dropout), self.room, []
        processes, last = self.accelerator.num_processes, len(chunks) - 1
        for i, rows in enumerate(chunks):
            size = self.encoder.size(tokens.lengths[rows])
            keep = last == 0 or (size <= room and (processes == 1 or i < last))
            room -= size if keep else 0
            with torch.set_grad_enabled(keep), self._exchange(last == 0):
                parts.append(self._embed(tokens, dropout, rows, step))
        vectors = self._gather([part.detach() for part in parts], chunks, len(tokens)).requires_grad_()
        value = loss(vectors)
        torch.autograd.backward(value)
        assert vectors.grad is not None
        gradients = vectors.grad * processes  # of which the processes exchange the mean
        for i, rows in enumerate(chunks):
            with self._exchange(i == last):
                part = parts[i] if parts[i].requires_grad else self._embed(tokens, dropout, rows, step)
                torch.autograd.backward(part, gradients[send_array(rows, gradients.device)])
            parts[i] = part.detach()
        return value.detach()

    def encode(self, tokens: Tokens) -> torch.Tensor:
        """(texts, dim) vectors of all texts, no graph, no dropout."""
        import torch

        plain = np.zeros(len(tokens), np.bool_)
        chunks = self._chunks(tokens, plain)
        with torch.no_grad():
            return self._gather([self._embed(tokens, plain, rows, 0) for rows in chunks], chunks, len(tokens))

    @cached_property
    def room(self) -> int:
        """Tokens of a step, padding included, whose activations are kept."""
        return self.encoder.room if self.activation_token_budget is None else self.activation_token_budget

    def _chunks(self, tokens: Tokens, dropout: Mask) -> list[Longs]:
        """This process's share of the texts in chunks."""
        mine = share_of(len(tokens), self.accelerator)
        kinds = [mine[~dropout[mine]], mine[dropout[mine]]]
        lengths = [tokens.lengths[rows] for rows in kinds]
        return [
            rows[chunk]
            for rows, own in zip(kinds, lengths, strict=True)
            if len(rows)
            for chunk in self.encoder.chunks(own, self.room)
        ]

    def _exchange(self, wanted: bool) -> AbstractContextManager[object]:
        """Whether the backward pass of what is encoded inside exchanges gradients: only that of the last chunk does."""
        return nullcontext() if wanted else self.accelerator.no_sync(self.encoder.forward)

    def _embed(self, tokens: Tokens, dropout: Mask, rows: Longs, step: int) -> torch.Tensor:
        drops = bool(dropout[rows[0]])
        if drops:
            seed_dropout(self.seed, step, self.accelerator.process_index, int(rows[0]))
        self.encoder.model.train(drops)
        return self.encoder.embed(tokens, rows)

    def _gather(self, parts: list[torch.Tensor], chunks: list[Longs], texts: int) -> torch.Tensor:
        import torch

        vectors = parts[0].new_zeros(texts, parts[0].shape[1])
        vectors[send_array(np.concatenate(chunks), vectors.device)] = torch.cat(parts)
        whole: torch.Tensor = self.accelerator.reduce(vectors, "sum")  # itself in a single process
        return whole


def seed_dropout(seed: int, step: int, process: int = 0, first: int = 0) -> None:
    """Seed the masks of a chunk by what it is, not by a running state: encoded again, texts get the same ones.

    first: the place of the first text of the chunk in its step.
    """
    import torch

    torch.manual_seed(int(np.random.SeedSequence((seed, step, process, first)).generate_state(1)[0]))


def share_of(texts: int, accelerator: Accelerator) -> Longs:
    """The texts of a step that this process encodes: every n-th, so that all processes have about equal work."""
    return np.arange(accelerator.process_index, texts, accelerator.num_processes)
