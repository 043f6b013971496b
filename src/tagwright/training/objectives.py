"""What a method trains for: which texts of a batch are encoded, and what the loss is of their vectors."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol, TypeAlias

from numpy.typing import NDArray

from tagwright.encoders.prompts import Role
from tagwright.types import Floats, Pair

if TYPE_CHECKING:
    import torch

Loss: TypeAlias = "Callable[[torch.Tensor, torch.Tensor, torch.Tensor], torch.Tensor]"
"Anchors (batch, dim), positives (batch, dim) and int64 groups in, (batch,) or (batch, 2); a scalar out."

Text: TypeAlias = str | tuple[str, str]
"What the model takes: a text, or two that a cross-encoder reads together."

Encode: TypeAlias = Callable[[Sequence[str]], Floats]
"Texts in, (texts, dim) unit vectors out, as the model in training has them now."

Arrays: TypeAlias = Mapping[str, NDArray[Any]]


class OwnWeight(NamedTuple):
    """A weight that is the objective's and not the model's. rate: its learning rate in those of the model."""

    parameter: torch.nn.Parameter
    rate: float = 1.0


class Objective(Protocol):
    """What `train` asks of a method. `Contrastive` is the simplest one, and to be inherited from."""

    def views(self, batch: Sequence[Pair], step: int) -> Sequence[Sequence[Text]]:
        """The texts to be encoded for a batch, in groups. The first two groups are anchors and positives.

        Depends on the batch and the step alone: it is called ahead of time, in another thread.
        """
        ...

    def role(self, view: int) -> Role:
        """Which of the model's prompts is read before the texts of a view; of the held-out views too."""
        ...

    def loss(self, views: Sequence[torch.Tensor], groups: torch.Tensor) -> torch.Tensor:
        """A scalar of the vectors (texts, dim) of each group of texts, and of the groups (batch,) of the pairs."""
        ...

    def validation_views(self, pairs: Sequence[Pair]) -> tuple[Sequence[Text], Sequence[Text]]:
        """The texts that the loss of pairs that are not trained on is about: anchors, and what they are held to."""
        ...

    def validation_loss(self, anchors: torch.Tensor, positives: torch.Tensor, groups: torch.Tensor) -> torch.Tensor:
        """The loss of pairs that are not trained on: for the curve, and for the choice of the best weights."""
        ...

    def weights(self) -> Mapping[str, OwnWeight]:
        """What is trained besides the model, by name: always the same parameters. They are stored in checkpoints."""
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
    """Nothing but a loss of anchors and positives, RTS and the baselines. roles: what anchors and positives stand for.

    An anchor is usually text of a document, which labels are searched with, and its positive a label, or what stands
    for one, such as a title.
    """

    pair_loss: Loss
    roles: tuple[Role, Role] = ("query", "document")

    def views(self, batch: Sequence[Pair], step: int) -> Sequence[Sequence[Text]]:  # noqa: ARG002
        """Anchors and positives."""
        return [pair.anchor for pair in batch], [pair.positive for pair in batch]

    def role(self, view: int) -> Role:
        """That of anchors or of positives."""
        return self.roles[min(view, 1)]

    def loss(self, views: Sequence[torch.Tensor], groups: torch.Tensor) -> torch.Tensor:
        """The loss of anchors and positives."""
        anchors, positives = views
        return self.pair_loss(anchors, positives, groups)

    def validation_views(self, pairs: Sequence[Pair]) -> tuple[Sequence[Text], Sequence[Text]]:
        """Anchors and positives."""
        return [pair.anchor for pair in pairs], [pair.positive for pair in pairs]

    def validation_loss(self, anchors: torch.Tensor, positives: torch.Tensor, groups: torch.Tensor) -> torch.Tensor:
        """The same loss."""
        return self.pair_loss(anchors, positives, groups)

    def weights(self) -> Mapping[str, OwnWeight]:
        """None but the model's."""
        return {}

    def before_step(self, step: int, encode: Encode) -> bool:  # noqa: ARG002
        """Nothing changes."""
        return False

    def state(self) -> Arrays:
        """Nothing has changed."""
        return {}

    def restore(self, state: Arrays) -> None:
        """Nothing to restore."""
