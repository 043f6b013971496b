from __future__ import annotations

import sys

import numpy as np
import pytest
import torch

from tagwright.encoders.device import best_device
from tagwright.papers import maclr_stage1
from tagwright.papers.maclr_stage1 import k_means
from tagwright.types import Floats, Longs


def bundles() -> tuple[Floats, Longs]:
    """40 unit vectors close to each of three axes, and the axis of each."""
    rng, axes = np.random.default_rng(0), np.repeat(np.arange(3), 40)
    vectors = np.eye(3, dtype=np.float32)[axes] + rng.normal(0, 0.05, (120, 3)).astype(np.float32)
    return vectors / np.linalg.norm(vectors, axis=1, keepdims=True), axes


def test_vectors_close_to_an_axis_are_a_cluster(monkeypatch: pytest.MonkeyPatch) -> None:
    vectors, axes = bundles()
    found = [k_means(vectors, 3, best_device(), seed=seed) for seed in range(5)]
    whole = [clusters for clusters in found if len({*zip(clusters.tolist(), axes.tolist(), strict=True)}) == 3]
    assert len(whole) >= 2  # others start with two instances of an axis, and stay there
    assert all(len(set(clusters.tolist())) == 3 for clusters in whole)
    monkeypatch.setattr(maclr_stage1, "CELLS", 20)  # in parts of 6
    for seed in range(5):
        np.testing.assert_array_equal(k_means(vectors, 3, best_device(), seed=seed), found[seed])


def test_each_instance_has_the_nearest_centroid_and_none_stays_empty() -> None:
    vectors = np.repeat(np.eye(4, dtype=np.float32), 5, axis=0)
    clusters = k_means(vectors, 4, best_device(), iterations=30)
    for same in clusters.reshape(4, 5):
        assert len(set(same.tolist())) == 1
    # Four centroids drawn among five copies of each vector are seldom apart at first; empty ones are drawn again.
    assert set(clusters.tolist()) == {0, 1, 2, 3}


def test_a_gpu_clusters_by_torch_instead_of_faiss(monkeypatch: pytest.MonkeyPatch) -> None:
    vectors, axes = bundles()
    monkeypatch.setattr(maclr_stage1, "uses_gpu", lambda: True)
    monkeypatch.setattr(maclr_stage1, "best_device", lambda: torch.device("cpu"))
    monkeypatch.setitem(sys.modules, "faiss", None)
    scaled = maclr_stage1.assign(7 * vectors, 3, seed=1)
    np.testing.assert_array_equal(scaled, k_means(vectors, 3, torch.device("cpu"), seed=1))
    assert maclr_stage1.assign(vectors, 500).tolist() == list(range(len(axes)))
