"""Do steps of few tokens as CUDA graphs: launching their kernels one by one takes longer than computing them."""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from tagwright.encoders.tokens import Tokens
from tagwright.errors import one_line_of
from tagwright.training.gradient_caching import seed_dropout
from tagwright.training.objectives import Contrastive, Objective
from tagwright.training.trainable_encoder import TrainableEncoder, Transformer, send_array
from tagwright.types import Longs, Mask

if TYPE_CHECKING:
    import torch

    from tagwright.training.optimiser import AdamW

Inputs: TypeAlias = "Mapping[str, torch.Tensor]"
Result: TypeAlias = "tuple[torch.Tensor, torch.Tensor]"
"The loss of a step and the norm of its gradient, scalars on the device."

LENGTHS = 64
"Texts are padded to a multiple of so many tokens: a graph computes one shape, and capturing takes half a second."

WARM = 3
"Backward passes before a capture, in which libraries allocate what they keep."

_log = logging.getLogger(__name__)


class CapturedSteps:
    """Whole steps (vectors, loss, gradients, AdamW) in a few fixed shapes, each captured when it first occurs.

    They compute what `GradientCache.backward` and `AdamW.step` compute, but for rounding. A processor computes the same
    shapes without a graph. A step that cannot be captured is logged, and none is tried again.
    """

    def __init__(self, encoder: TrainableEncoder, objective: Objective, optimiser: AdamW, seed: int) -> None:
        self.encoder, self.objective, self.optimiser, self.seed = encoder, objective, optimiser, seed
        self._most = encoder.feed.captured if isinstance(encoder, Transformer) and _is_fixed(objective) else 0
        self._steps: dict[tuple[Any, ...], Callable[[Inputs], Result]] = {}
        self._memory: Any = None  # of what graphs compute in between, which they share: they run one after the other

    def step(
        self, tokens: Tokens, dropout: Mask, views: Sequence[int], groups: Longs, number: int, rate: float
    ) -> Result | None:
        """Do a step. None, and nothing is done, if it has too many tokens, or dropout in some texts and not in others.

        dropout: (texts,). views: the number of texts in each view. groups: of the pairs. number: of the step.
        """
        drops = bool(dropout.all())
        if not self._most or drops != dropout.any():
            return None
        assert isinstance(self.encoder, Transformer)
        length = min(-(-int(tokens.lengths.max()) // LENGTHS) * LENGTHS, self.encoder.longest)
        if length * len(tokens) > self._most:
            return None
        device = self.encoder.model.device
        arrays: dict[str, Any] = {
            **self.encoder.padded(tokens, length),
            "groups": groups,
            "rate": np.array(rate, np.float32),
        }
        inputs = {name: send_array(array, device) for name, array in arrays.items()}
        key = (length, drops, tuple(views))
        if key not in self._steps:
            self.encoder.model.train(drops)
            try:
                self._steps[key] = self._captured(inputs, views)
            except RuntimeError as error:
                _log.warning("steps are not captured, and slower: %s", one_line_of(error))
                self._most = 0
                return None
        if drops:
            seed_dropout(self.seed, number)
        return self._steps[key](inputs)

    def _captured(self, inputs: Inputs, views: Sequence[int]) -> Callable[[Inputs], Result]:
        import torch

        if inputs["groups"].device.type != "cuda":
            return lambda inputs: self._compute(inputs, views)
        held = {name: tensor.clone() for name, tensor in inputs.items()}
        beside = torch.cuda.Stream()  # type: ignore[no-untyped-call]
        beside.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(beside):
            for _ in range(WARM):
                self._backward(held, views)
                self.optimiser.forget_gradients()
        torch.cuda.current_stream().wait_stream(beside)
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph, self._memory, capture_error_mode="thread_local"):  # another thread may use CUDA
            results = self._compute(held, views)
        self._memory = graph.pool()

        def replay(inputs: Inputs) -> Result:
            for name, tensor in inputs.items():
                held[name].copy_(tensor)
            graph.replay()
            return results[0].clone(), results[1].clone()

        return replay

    def _compute(self, inputs: Inputs, views: Sequence[int]) -> Result:
        loss = self._backward(inputs, views)
        return loss, self.optimiser.step(inputs["rate"])

    def _backward(self, inputs: Inputs, views: Sequence[int]) -> torch.Tensor:
        import torch

        assert isinstance(self.encoder, Transformer)
        texts = {name: tensor for name, tensor in inputs.items() if name not in ("groups", "rate")}
        loss = self.objective.loss(torch.split(self.encoder.vectors(texts), list(views)), inputs["groups"])
        torch.autograd.backward(loss)
        return loss.detach()


def _is_fixed(objective: Objective) -> bool:
    """Whether nothing changes the loss during the training: a graph computes it as it was when it was captured."""
    return isinstance(objective, Contrastive) and type(objective).before_step is Contrastive.before_step
