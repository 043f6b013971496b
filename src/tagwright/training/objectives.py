"""Training objectives: which texts of a batch are encoded, and the loss of their vectors."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, Protocol, TypeAlias

from numpy.typing import NDArray

from tagwright.encoders.prompts import Role
from tagwright.types import Floats, Pair

if TYPE_CHECKING:
    import torch

Loss: TypeAlias = "Callable[[torch.Tensor, torch.Tensor, torch.Tensor], torch.Tensor]"
"From anchors (batch, dim), positives (batch, dim) and int64 groups, (batch,) or (batch, 2): the loss, a scalar."

LossName: TypeAlias = Literal["info_nce", "symmetric"]
"Losses that an option can name: see `papers.losses.in_batch`, which has their formulas."

Text: TypeAlias = str | tuple[str, str]
"The input of the model: a text, or two that a cross-encoder reads together."

Encode: TypeAlias = Callable[[Sequence[str]], Floats]
"Encodes texts with the model in training, as it is now, to unit vectors (texts, dim)."

Arrays: TypeAlias = Mapping[str, NDArray[Any]]


OwnWeight: TypeAlias = "tuple[torch.nn.Parameter, float]"
"A weight of the objective, outside the model, and its learning rate relative to the model's."


class Objective(Protocol):
    """The interface of an objective for `train`; by default it has no weights and no state.

    `Contrastive` is the simplest one, to inherit from.
    """

    def views(self, batch: Sequence[Pair], step: int) -> Sequence[Sequence[Text]]:
        """The texts to be encoded for a batch, in groups. The first two groups are anchors and positives.

        Must depend only on the batch and the step: it is called ahead of time, in another thread or process.
        """

    def role(self, view: int) -> Role:
        """The role of the texts of a view, also of validation views: it selects the model's prompt."""

    def loss(self, views: Sequence[torch.Tensor], groups: torch.Tensor) -> torch.Tensor:
        """A scalar of the vectors (texts, dim) of each group of texts, and of the groups (batch,) of the pairs."""

    def validation_views(self, pairs: Sequence[Pair]) -> tuple[Sequence[Text], Sequence[Text]]:
        """The texts for the loss of validation pairs: anchors, and the texts they are compared with."""
        anchors, positives, *_ = self.views(pairs, 0)
        return anchors, positives

    def validation_loss(self, anchors: torch.Tensor, positives: torch.Tensor, groups: torch.Tensor) -> torch.Tensor:
        """The loss of validation pairs: for the curve, and for the choice of the best weights."""
        return self.loss((anchors, positives), groups)

    def weights(self) -> Mapping[str, OwnWeight]:
        """Parameters that are trained besides the model, by name: always the same parameters.

        They are stored in checkpoints.
        """
        return {}

    def before_step(self, step: int, encode: Encode) -> None:  # noqa: ARG002
        """Called before each step, from 0. Later pairs must not depend on changes here: they may have been drawn."""
        return

    def state(self) -> Arrays:
        """The state changed by `before_step`, for a checkpoint."""
        return {}

    def restore(self, state: Arrays) -> None:  # noqa: ARG002  (most have none)
        """Restore `state`."""
        return


@dataclass
class Contrastive(Objective):
    """Only a loss of anchors and positives, as in RTS and the baselines. roles: the roles of anchors and positives.

    An anchor is usually text of a document, with which labels are searched, and its positive a label, or a substitute
    such as a title.
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
