"""What a method trains for: which texts of a batch are encoded, and what the loss is of their vectors."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol, TypeAlias

from numpy.typing import NDArray

from tagwright.types import Floats, Pair

if TYPE_CHECKING:
    import torch

Loss: TypeAlias = "Callable[[torch.Tensor, torch.Tensor, torch.Tensor], torch.Tensor]"
"Anchors (batch, dim), positives (batch, dim) and groups (batch,) int64 in, a scalar out."

Encode: TypeAlias = Callable[[Sequence[str]], Floats]
"Texts in, (texts, dim) unit vectors out, as the model in training has them now."

Arrays: TypeAlias = Mapping[str, NDArray[Any]]


class Objective(Protocol):
    """What `train` asks of a method. `Contrastive` is the simplest one, and to be inherited from."""

    def views(self, batch: Sequence[Pair], step: int) -> Sequence[Sequence[str]]:
        """The texts to be encoded for a batch, in groups. The first two groups are anchors and positives.

        Depends on the batch and the step alone: it is called ahead of time, in another thread.
        """
        ...

    def loss(self, views: Sequence[torch.Tensor], groups: torch.Tensor) -> torch.Tensor:
        """A scalar of the vectors (texts, dim) of each group of texts, and of the groups (batch,) of the pairs."""
        ...

    def held_out_loss(self, anchors: torch.Tensor, positives: torch.Tensor, groups: torch.Tensor) -> torch.Tensor:
        """The loss of pairs that are not trained on: for the curve, and for the choice of the best weights."""
        ...

    def before_step(self, step: int, encode: Encode) -> bool:
        """Called before each step, from 0. True: the rest of the epoch is dropped, the pair source is asked anew.

        Without that, the pairs that are to come must not depend on what changes here: they may be drawn already.
        """
        ...

    def state(self) -> Arrays:
        """What `before_step` has changed, for a checkpoint."""
        ...

    def restore(self, state: Arrays) -> None:
        """Become what `state` was taken from."""
        ...


@dataclass
class Contrastive:
    """Nothing but a loss of anchors and positives, RTS and the baselines. groups: whether the loss is told them."""

    pair_loss: Loss

    def views(self, batch: Sequence[Pair], step: int) -> Sequence[Sequence[str]]:  # noqa: ARG002
        """Anchors and positives."""
        return [pair.anchor for pair in batch], [pair.positive for pair in batch]

    def loss(self, views: Sequence[torch.Tensor], groups: torch.Tensor) -> torch.Tensor:
        """The loss of anchors and positives."""
        anchors, positives = views
        return self.pair_loss(anchors, positives, groups)

    def held_out_loss(self, anchors: torch.Tensor, positives: torch.Tensor, groups: torch.Tensor) -> torch.Tensor:
        """The same loss."""
        return self.pair_loss(anchors, positives, groups)

    def before_step(self, step: int, encode: Encode) -> bool:  # noqa: ARG002
        """Nothing changes."""
        return False

    def state(self) -> Arrays:
        """Nothing has changed."""
        return {}

    def restore(self, state: Arrays) -> None:
        """Nothing to restore."""
