"""Spherical k-means on a GPU; on a processor, FAISS is faster."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from tagwright.types import Floats, Longs

if TYPE_CHECKING:
    import torch

CELLS = 1 << 28
"Similarities that are in memory together: 1 GB."


def k_means(vectors: Floats, clusters: int, device: torch.device, *, iterations: int = 20, seed: int = 0) -> Longs:
    """The cluster of each of these unit vectors (instances, dim), from 0: Lloyd's algorithm with cosines.

    It starts with instances that the seed draws, and draws another one in place of a centroid without instances.
    """
    import torch

    rng, points = np.random.default_rng(seed), torch.from_numpy(vectors).to(device)

    def drawn(count: int) -> torch.Tensor:
        return points[torch.from_numpy(rng.choice(len(vectors), count, replace=False)).to(device)]

    centroids = drawn(clusters)
    for _ in range(iterations):
        nearest = _nearest(points, centroids)
        sums = torch.zeros_like(centroids).index_add_(0, nearest, points)
        empty = torch.bincount(nearest, minlength=clusters) == 0
        sums = torch.where(empty[:, None], drawn(clusters), sums)
        centroids = torch.nn.functional.normalize(sums, dim=1)
    found: Longs = _nearest(points, centroids).cpu().numpy()
    return found


def _nearest(points: torch.Tensor, centroids: torch.Tensor) -> torch.Tensor:
    import torch

    size = max(1, CELLS // len(centroids))
    return torch.cat([(part @ centroids.mT).argmax(1) for part in torch.split(points, size)])
