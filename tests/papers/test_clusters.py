import sys

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from tagwright.encoders.device import best_device
from tagwright.papers import maclr_stage1
from tagwright.papers.maclr_stage1 import Clusters, ClusterSchedule, assign, k_means
from tagwright.types import Floats, Longs

AXES = np.array([0, 1, 2, 0, 1, 2, 0, 0, 1, 2] * 3)
"Which axis each of thirty instances lies close to."


def near_axes() -> Floats:
    """Instances of very different length, close to one axis each: only their angle tells where they belong."""
    rng = np.random.default_rng(0)
    directions = np.eye(3)[AXES] + rng.normal(0, 0.05, (len(AXES), 3))
    return np.asarray(directions * rng.uniform(0.01, 100, (len(AXES), 1)), np.float32)


def partition(clusters: Longs) -> set[frozenset[int]]:
    """Which instances are together, whatever the clusters are called."""
    return {frozenset(np.flatnonzero(clusters == cluster).tolist()) for cluster in np.unique(clusters)}


@pytest.mark.parametrize("seed", range(3))
def test_instances_are_clustered_by_angle_and_not_by_length(seed: int) -> None:
    assert partition(assign(near_axes(), 3, seed=seed)) == partition(AXES)


def test_the_same_seed_gives_the_same_clusters() -> None:
    embeddings = np.random.default_rng(0).normal(size=(500, 8)).astype(np.float32)
    first, again, other = (assign(embeddings, 20, seed=seed) for seed in (5, 5, 6))
    assert first.tolist() == again.tolist()
    assert partition(first) != partition(other)


def test_clusters_are_looked_up_by_group_and_an_unknown_group_is_alone() -> None:
    groups = np.array([50, 10, 40, 10])
    embeddings = np.array([[1, 0], [0, 2], [0, 3], [5, 0]], np.float32)
    clusters = Clusters.of(groups, embeddings, 2)
    ten, forty, fifty, unknown, beyond = clusters(np.array([10, 40, 50, 11, 99])).tolist()
    assert ten == forty != fifty
    assert len({ten, fifty, unknown, beyond}) == 4
    assert min(ten, fifty) >= 0 > max(unknown, beyond)


def algorithm_1(schedule: ClusterSchedule) -> list[tuple[int | None, bool]]:
    """MACLR Algorithm 1 line by line: clusters and whether they are new, before each step."""
    k: int | None = schedule.first
    before = [(k, True)]
    for t in range(1, schedule.steps):
        renewed = False
        if k and t % (2 * schedule.update_every) == 0 and t < schedule.steps / 2:
            k *= 2
        if t % schedule.update_every == 0 and t < schedule.steps / 2:
            renewed = True
        if t >= schedule.steps / 2:
            k = None
        before.append((k, renewed))
    return before


@given(st.integers(1, 9), st.integers(1, 400))
def test_the_schedule_is_that_of_algorithm_1(first: int, steps: int) -> None:
    schedule = ClusterSchedule(first=first, steps=steps, documents=1 << 62)
    assert [(schedule.clusters_at(step), schedule.is_update(step)) for step in range(steps)] == algorithm_1(schedule)


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
