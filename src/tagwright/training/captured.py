"""Do steps of few tokens as CUDA graphs: launching their kernels one by one takes longer than computing them."""

from __future__ import annotations

import logging
import warnings
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, ClassVar, TypeAlias, TypeVar

import numpy as np

from tagwright.encoders.tokens import Tokens
from tagwright.errors import one_line_of
from tagwright.training.gradient_caching import GradientCache, seed_dropout
from tagwright.training.objectives import Contrastive, Objective
from tagwright.training.trainable_encoder import Transformer, send_array
from tagwright.types import Longs, Mask

if TYPE_CHECKING:
    import torch

    from tagwright.training.optimiser import AdamW

T = TypeVar("T")
Inputs: TypeAlias = "Mapping[str, torch.Tensor]"
Result: TypeAlias = "tuple[torch.Tensor, torch.Tensor]"
"The loss of a step and the norm of its gradient, scalars on the device."

LENGTHS = 64
"Texts are padded to a multiple of so many tokens: a graph computes one shape, and capturing takes half a second."

SHAPES = 16
"The most graphs of a training: a step in one more shape is done otherwise."

WARM = 3
"Backward passes before a capture, in which libraries allocate what they keep."

_log = logging.getLogger(__name__)


class CapturedSteps:
    """Whole steps (vectors, loss, gradients, AdamW) in a few fixed shapes, each captured when it first occurs.

    They compute what `GradientCache.backward` and `AdamW.step` compute, but for rounding. A processor computes the same
    shapes without a graph. After a step that cannot be captured, which is logged, none is tried again.

    spoiled: whether a capture failed in this process; torch then still reserves memory for it, so no more are tried.
    """

    spoiled: ClassVar[bool] = False

    def __init__(self, cache: GradientCache, objective: Objective, optimiser: AdamW) -> None:
        self.encoder, self.seed = cache.encoder, cache.seed
        self.objective, self.optimiser = objective, optimiser
        self._most = 0
        if isinstance(self.encoder, Transformer) and self.encoder.feed.captured and _is_fixed(objective):
            self._most = min(self.encoder.feed.captured, cache.room)
        self._steps: dict[tuple[Any, ...], Callable[[Inputs], Result]] = {}
        self._memory: Any = None  # of what graphs compute in between, which they share: they run one after the other

    def step(
        self, tokens: Tokens, dropout: Mask, views: Sequence[int], groups: Longs, number: int, rate: float
    ) -> Result | None:
        """Do a step. None, and nothing is done, if it has too many tokens, or dropout in some texts and not in others.

        dropout: (texts,). views: the number of texts in each view. groups: of the pairs. number: of the step.
        """
        drops = bool(dropout.all())
        if not self._most or self.spoiled or drops != dropout.any():
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
            if len(self._steps) == SHAPES:
                return None
            self.encoder.model.train(drops)
            try:
                self._steps[key] = self._captured(inputs, views)
            except RuntimeError as error:
                _log.warning("steps are not captured, and slower: %s", one_line_of(error))
                self.optimiser.forget_gradients()
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
            vectors = self._vectors(held).detach()
            if waits(lambda: self.objective.loss(torch.split(vectors, list(views)), held["groups"])):
                raise RuntimeError("the loss waits for the GPU, as with .item() or .cpu()")
        torch.cuda.current_stream().wait_stream(beside)
        graph, results = capture(lambda: self._compute(held, views), self._memory)
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

        loss = self.objective.loss(torch.split(self._vectors(inputs), list(views)), inputs["groups"])
        torch.autograd.backward(loss)
        return loss.detach()

    def _vectors(self, inputs: Inputs) -> torch.Tensor:
        assert isinstance(self.encoder, Transformer)
        return self.encoder.vectors({name: part for name, part in inputs.items() if name not in ("groups", "rate")})


def waits(compute: Callable[[], object]) -> bool:
    """Whether this waits for the device, by torch's warnings of it: while it is captured, it would fail.

    Models of transformers wait outside a capture only.
    """
    import torch

    before = torch.cuda.get_sync_debug_mode()
    with warnings.catch_warnings(record=True) as warned:
        warnings.simplefilter("always")
        torch.cuda.set_sync_debug_mode("warn")  # not "error", which other threads would get too
        try:
            compute()
        finally:
            torch.cuda.set_sync_debug_mode(before)
    return any("called a synchronizing" in str(warning.message) for warning in warned)


def capture(compute: Callable[[], T], memory: Any) -> tuple[torch.cuda.CUDAGraph, T]:
    """A graph of what is computed, and the results, which each replay computes anew.

    memory: the pool of another graph, or None. If the capture fails, torch stays in its stream, and its generator of
    random numbers takes it for going on and fails from then on: both are restored before the error is raised.
    """
    import torch

    graph, stream = torch.cuda.CUDAGraph(), torch.cuda.current_stream()
    try:
        with torch.cuda.graph(graph, memory, capture_error_mode="thread_local"):  # another thread may use CUDA
            results = compute()
    except RuntimeError:
        CapturedSteps.spoiled = True
        torch.cuda.set_stream(stream)
        fresh = torch.Generator(stream.device)
        torch.cuda.default_generators[stream.device.index].graphsafe_set_state(fresh.graphsafe_get_state())
        raise
    return graph, results


def _is_fixed(objective: Objective) -> bool:
    """Whether nothing changes the loss during the training: a graph computes it as it was when it was captured."""
    return isinstance(objective, Contrastive) and type(objective).before_step is Contrastive.before_step
