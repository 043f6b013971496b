"""The loss of RTS and MACLR: pairs of one batch are each other's negatives."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tagwright.encoders.prompts import Role
from tagwright.training.objectives import Contrastive

if TYPE_CHECKING:
    import torch


def in_batch(
    temperature: float, *, groups: bool = True, roles: tuple[Role, Role] = ("query", "document")
) -> Contrastive:
    """RTS Eq. 1, MACLR Eq. 1. groups: false-negative masking, pairs of one group are not each other's negatives.

    roles: which prompts anchors and positives get.
    """
    from tagwright.papers.losses import info_nce

    def loss(anchors: torch.Tensor, positives: torch.Tensor, group: torch.Tensor) -> torch.Tensor:
        return info_nce(anchors, positives, temperature, groups=group if groups else None)

    return Contrastive(loss, roles)
