"""The objective of MACLR's Stage I: an instance is close to the titles of its cluster and far from random labels."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import TYPE_CHECKING

import numpy as np

from tagwright.encoders.prompts import Role
from tagwright.papers.clusters import Clusters, ClusterSchedule
from tagwright.training.objectives import Arrays, Contrastive, Encode, Text
from tagwright.types import Floats, Label, Longs, Pair, PairSource

if TYPE_CHECKING:
    import torch

CHUNK = 4096
"Instances whose texts are in memory together when all are encoded."


@dataclass(kw_only=True)
class MaclrStage1(Contrastive):
    """MACLR Eq. 4 on the pairs (context, title) of `pairs.ict_pairs`.

    pair_loss: of the validation pairs. pairs: the instances to cluster. schedule: None without clustering; every
    instance is then its own cluster, except that instances with the same title share one. labels: empty without label
    regularisation. Each step draws as many of them as there are pairs in its batch (the paper does not say how many).
    dropout: whether the encoder has any. Without it, both views of an instance are the same.
    """

    pairs: PairSource
    schedule: ClusterSchedule | None
    labels: Sequence[Label]
    temperature: float
    dropout: bool
    seed: int = 0

    def __post_init__(self) -> None:
        self.clusters: Clusters | None = None

    def views(self, batch: Sequence[Pair], step: int) -> Sequence[Sequence[Text]]:
        """Contexts, titles; contexts again if dropout makes them differ; random labels."""
        contexts, titles = super().views(batch, step)
        again = [contexts] if self.labels and self.dropout else []
        return [contexts, titles, *again, *([self._drawn(len(batch), step)] if self.labels else [])]

    def role(self, view: int) -> Role:
        """Contexts are searched with; titles and labels are searched."""
        return "query" if view == 0 or (view == 2 and self.dropout) else "document"

    def loss(self, views: Sequence[torch.Tensor], groups: torch.Tensor) -> torch.Tensor:
        """Eq. 2, or Eq. 4 with labels."""
        from tagwright.papers.losses import label_regularisation

        contexts, titles, *others = views
        loss = eq_2(self.temperature).pair_loss(contexts, titles, self._clusters(groups))
        if not others:
            return loss
        second = others[0] if self.dropout else contexts
        return loss + label_regularisation(contexts, second, others[-1], self.temperature, similarity="cosine")

    def validation_loss(self, anchors: torch.Tensor, positives: torch.Tensor, groups: torch.Tensor) -> torch.Tensor:
        """Eq. 1, without clusters and labels."""
        return self.pair_loss(anchors, positives, groups)

    def before_step(self, step: int, encode: Encode) -> bool:
        """Cluster the instances again when the schedule says so. The order of pairs does not depend on it."""
        clusters = self.schedule.clusters_at(step) if self.schedule else None
        if clusters is None:
            self.clusters = None
        elif self.schedule and self.schedule.is_update(step):
            self.clusters = Clusters.of(*self._embeddings(encode), clusters, seed=self.seed)
        return False

    def state(self) -> Arrays:
        """The clusters."""
        return {"groups": self.clusters.groups, "clusters": self.clusters.clusters} if self.clusters else {}

    def restore(self, state: Arrays) -> None:
        """Restore `state`."""
        self.clusters = Clusters(state["groups"], state["clusters"]) if state else None

    def _drawn(self, count: int, step: int) -> list[str]:
        rng = np.random.default_rng((self.seed, step))
        return [self.labels[label].text for label in rng.integers(len(self.labels), size=count).tolist()]

    def _clusters(self, groups: torch.Tensor) -> torch.Tensor:
        import torch

        if self.clusters is None:
            return groups
        return torch.from_numpy(self.clusters(groups.cpu().numpy())).to(groups.device)

    def _embeddings(self, encode: Encode) -> tuple[Longs, Floats]:
        groups, parts = list[int](), list[Floats]()
        for chunk in _chunks(self.pairs):
            groups += [pair.group for pair in chunk]
            parts.append(encode([pair.anchor for pair in chunk]))
        return np.array(groups, np.int64), np.concatenate(parts)


def eq_2(temperature: float) -> Contrastive:
    """MACLR Eq. 2: the pairs of a group, here of a cluster or a label, are each other's positives."""
    from tagwright.papers.losses import cluster_loss

    def loss(anchors: torch.Tensor, positives: torch.Tensor, groups: torch.Tensor) -> torch.Tensor:
        return cluster_loss(anchors, positives, temperature, similarity="cosine", groups=groups)

    return Contrastive(loss)


def _chunks(pairs: PairSource) -> Iterator[list[Pair]]:
    rest = iter(pairs(0))
    while chunk := list(islice(rest, CHUNK)):
        yield chunk
