"""Cluster instances: MACLR's multi-scale adaptive clustering and its schedule (4.2.1).

Contexts and titles of one cluster are each other's positives in `losses.cluster_loss`. Clusters are few and large at
first and grow in number, from an easy task to the final one with every instance in its own cluster.
"""

from dataclasses import dataclass
from typing import Self

import numpy as np

from tagwright.types import Floats, Longs


@dataclass(frozen=True, kw_only=True)
class ClusterSchedule:
    """The number of clusters at each step (MACLR Algorithm 1). Steps are counted as done: 0 is before the first."""

    first: int
    "K_0, the clusters at the start."
    double_every: int
    "T_K, steps after which their number is doubled."
    update_every: int
    "T_update, steps after which embeddings and assignments are renewed; T_K is a multiple of it."
    steps: int
    "T_total, steps of the whole training; clusters are used in its first half."
    documents: int
    "The number of clustered documents, and the most clusters."

    @classmethod
    def for_corpus(cls, documents: int, steps: int, first: int | None = None) -> Self:
        """The paper's schedule scaled to a corpus and a length of training (MACLR Appendix A and B).

        Its periods of 10,000 and 5,000 are a tenth and a twentieth of 100,000 steps. first: K_0, 2,048 in the paper on
        every corpus; None: as many as give 144 documents each, as on its smallest of 294,805, but at least two.

        >>> paper = ClusterSchedule.for_corpus(documents=294_805, steps=100_000)
        >>> paper.first, paper.double_every, paper.update_every
        (2048, 10000, 5000)

        A tenth of the documents and a hundredth of the steps: 204.8 clusters, 100 and 50 steps.

        >>> small = ClusterSchedule.for_corpus(documents=29_480, steps=1_000)
        >>> small.first, small.double_every, small.update_every
        (205, 100, 50)
        """
        update = max(1, round(steps / 20))
        first = first or max(2, round(documents * 2048 / 294_805))
        return cls(first=first, double_every=2 * update, update_every=update, steps=steps, documents=documents)

    def clusters_at(self, step: int) -> int | None:
        """The number of clusters for the next step; None when every instance is its own cluster.

        >>> schedule = ClusterSchedule(first=4, double_every=10, update_every=5, steps=50, documents=10)
        >>> [schedule.clusters_at(step) for step in (0, 9, 10, 24, 25)]
        [4, 4, 8, 10, None]
        """
        if 2 * step >= self.steps:
            return None
        return min(self.first << (step // self.double_every), self.documents)

    def is_update(self, step: int) -> bool:
        """Whether instances are reassigned before the next step; the end of clustering is not an update.

        >>> schedule = ClusterSchedule(first=4, double_every=10, update_every=5, steps=30, documents=99)
        >>> [step for step in range(30) if schedule.is_update(step)]
        [0, 5, 10]
        """
        return step % self.update_every == 0 and self.clusters_at(step) is not None


@dataclass(frozen=True, eq=False)
class Clusters:
    """The cluster of each group. groups: (groups,) int64, ascending; clusters: (groups,) int64, from 0."""

    groups: Longs
    clusters: Longs

    @classmethod
    def of(cls, groups: Longs, embeddings: Floats, clusters: int, *, seed: int = 0) -> Self:
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
    import faiss

    if clusters >= len(embeddings):
        return np.arange(len(embeddings), dtype=np.int64)
    vectors = np.array(embeddings, np.float32, order="C")
    faiss.normalize_L2(vectors)
    # min_points_per_centroid: small clusters are intended, and FAISS would warn of them on stderr
    kmeans = faiss.Kmeans(
        vectors.shape[1], clusters, niter=iterations, seed=seed, spherical=True, min_points_per_centroid=1
    )
    kmeans.train(vectors)
    return np.asarray(kmeans.assign(vectors)[1], np.int64)
