"""The objective of MACLR's Stage I: an instance is close to the titles of its cluster and far from random labels.

Clusters are few and large at first and grow in number, from an easy task to the final one with every instance in its
own cluster (4.2.1).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from tagwright.encoders.device import best_device, uses_gpu
from tagwright.encoders.layers import normalize_in_place
from tagwright.encoders.prompts import Role
from tagwright.training.objectives import Arrays, Contrastive, Encode, Text
from tagwright.types import Floats, Label, Longs, Pair, PairSource

if TYPE_CHECKING:
    import torch

CHUNK = 4096
"Instances whose texts are in memory together when all are encoded."

CELLS = 1 << 28
"Similarities that are in memory together on a GPU: 1 GB."


@dataclass(kw_only=True)
class MaclrStage1(Contrastive):
    """MACLR Eq. 4 on the pairs (context, title) of `pairs.ict_pairs`.

    pair_loss: of the validation pairs. pairs: the instances to cluster. schedule: None without clustering; every
    group of pairs is then its own cluster. labels: empty without label regularisation. sampled: how many of them a step
    draws, M; None: as many as there are pairs in its batch (the paper does not say how many).
    dropout: whether the encoder has any. Without it, both views of an instance are the same.
    """

    pairs: PairSource
    schedule: ClusterSchedule | None
    labels: Sequence[Label]
    temperature: float
    dropout: bool
    sampled: int | None = None
    seed: int = 0

    def __post_init__(self) -> None:
        self.clusters: Clusters | None = None

    def views(self, batch: Sequence[Pair], step: int) -> Sequence[Sequence[Text]]:
        """Contexts, titles; contexts again if dropout makes them differ; random labels."""
        contexts, titles = super().views(batch, step)
        again = [contexts] if self.labels and self.dropout else []
        return [contexts, titles, *again, *([self._drawn(self.sampled or len(batch), step)] if self.labels else [])]

    def role(self, view: int) -> Role:
        """Contexts are searched with; titles and labels are searched."""
        return "query" if view == 0 or (view == 2 and self.dropout) else "document"

    def loss(self, views: Sequence[torch.Tensor], groups: torch.Tensor) -> torch.Tensor:
        """Eq. 2, or Eq. 4 with labels."""
        from tagwright.papers.losses import in_clusters, label_regularisation

        contexts, titles, *others = views
        loss = in_clusters(self.temperature).pair_loss(contexts, titles, self._clusters(groups))
        if not others:
            return loss
        second = others[0] if self.dropout else contexts
        return loss + label_regularisation(contexts, second, others[-1], self.temperature, similarity="cosine")

    def validation_loss(self, anchors: torch.Tensor, positives: torch.Tensor, groups: torch.Tensor) -> torch.Tensor:
        """Eq. 1, without clusters and labels."""
        return self.pair_loss(anchors, positives, groups)

    def before_step(self, step: int, encode: Encode) -> None:
        """Cluster the instances again when the schedule says so. The order of pairs does not depend on it."""
        clusters = self.schedule.clusters_at(step) if self.schedule else None
        if clusters is None:
            self.clusters = None
        elif self.schedule and self.schedule.is_update(step):
            self.clusters = Clusters.of(*self._embeddings(encode), clusters, seed=self.seed)

    def state(self) -> Arrays:
        """The clusters."""
        return self.clusters._asdict() if self.clusters else {}

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


@dataclass(frozen=True, kw_only=True)
class ClusterSchedule:
    """The number of clusters at each step (MACLR Algorithm 1). Steps are counted as done: 0 is before the first."""

    first: int
    "K_0, the clusters at the start."
    documents: int
    "The number of clustered documents, and the most clusters."
    steps: int
    "T_total, steps of the whole training; clusters are used in its first half."

    @property
    def update_every(self) -> int:
        """T_update, steps after which embeddings and assignments are renewed; after twice as many, clusters double.

        The paper's 5,000 and 10,000 are a twentieth and a tenth of its 100,000 steps (Appendix A).
        """
        return max(1, round(self.steps / 20))

    def clusters_at(self, step: int) -> int | None:
        """The number of clusters for the next step; None when every instance is its own cluster.

        >>> schedule = ClusterSchedule(first=4, documents=10, steps=100)
        >>> [schedule.clusters_at(step) for step in (0, 9, 10, 24, 50)]
        [4, 4, 8, 10, None]
        """
        if 2 * step >= self.steps:
            return None
        return min(self.first << (step // (2 * self.update_every)), self.documents)

    def is_update(self, step: int) -> bool:
        """Whether instances are reassigned before the next step; the end of clustering is not an update.

        >>> schedule = ClusterSchedule(first=4, documents=99, steps=100)
        >>> [step for step in range(100) if schedule.is_update(step)]
        [0, 5, 10, 15, 20, 25, 30, 35, 40, 45]
        """
        return step % self.update_every == 0 and self.clusters_at(step) is not None


class Clusters(NamedTuple):
    """The cluster of each group. groups: (groups,) int64, ascending; clusters: (groups,) int64, from 0."""

    groups: Longs
    clusters: Longs

    @classmethod
    def of(cls, groups: Longs, embeddings: Floats, clusters: int, *, seed: int = 0) -> Clusters:
        """Cluster instances by the angle of their embeddings. groups: (instances,). embeddings: (instances, dim).

        Of several instances of a group, the first is used.
        """
        unique, first = np.unique(groups, return_index=True)
        return cls(unique, assign(embeddings[first], clusters, seed=seed))

    def __call__(self, groups: Longs) -> Longs:
        """The clusters of these groups; a group that was not clustered is a cluster of its own, below 0.

        >>> clusters = Clusters(np.array([3, 8]), np.array([1, 0]))
        >>> clusters(np.array([8, 3, 5, 9])).tolist()
        [0, 1, -6, -10]
        """
        places = np.searchsorted(self.groups, groups).clip(max=len(self.groups) - 1)
        return np.where(self.groups[places] == groups, self.clusters[places], -1 - groups)


def assign(embeddings: Floats, clusters: int, *, iterations: int = 20, seed: int = 0) -> Longs:
    """Spherical k-means: the cluster of each embedding, from 0. embeddings: (instances, dim), any norm.

    The same seed gives the same clusters on the same machine. With no fewer clusters than instances, each is its own.
    """
    if clusters >= len(embeddings):
        return np.arange(len(embeddings), dtype=np.int64)
    vectors = np.array(embeddings, np.float32, order="C")
    if uses_gpu():
        return k_means(normalize_in_place(vectors), clusters, best_device(), iterations=iterations, seed=seed)
    import faiss

    faiss.normalize_L2(vectors)
    # min_points_per_centroid: small clusters are intended, and FAISS would warn of them on stderr
    kmeans = faiss.Kmeans(
        vectors.shape[1], clusters, niter=iterations, seed=seed, spherical=True, min_points_per_centroid=1
    )
    kmeans.train(vectors)
    return np.asarray(kmeans.assign(vectors)[1], np.int64)


def k_means(vectors: Floats, clusters: int, device: torch.device, *, iterations: int = 20, seed: int = 0) -> Longs:
    """The cluster of each of these unit vectors (instances, dim), from 0: Lloyd's algorithm with cosines, for a GPU.

    It starts with instances that the seed draws, and draws another one in place of a centroid without instances.
    """
    import torch

    rng, points = np.random.default_rng(seed), torch.from_numpy(vectors).to(device)

    def drawn() -> torch.Tensor:
        return points[torch.from_numpy(rng.choice(len(vectors), clusters, replace=False)).to(device)]

    def nearest(centroids: torch.Tensor) -> torch.Tensor:
        parts = torch.split(points, max(1, CELLS // clusters))
        return torch.cat([(part @ centroids.mT).argmax(1) for part in parts])

    centroids = drawn()
    for _ in range(iterations):
        assigned = nearest(centroids)
        sums = torch.zeros_like(centroids).index_add_(0, assigned, points)
        empty = torch.bincount(assigned, minlength=clusters) == 0
        centroids = torch.nn.functional.normalize(torch.where(empty[:, None], drawn(), sums), dim=1)
    nearest_ones: Longs = nearest(centroids).cpu().numpy()
    return nearest_ones


def _chunks(pairs: PairSource) -> Iterator[list[Pair]]:
    rest = iter(pairs(0))
    while chunk := list(islice(rest, CHUNK)):
        yield chunk
