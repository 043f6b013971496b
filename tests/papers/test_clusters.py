import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tagwright.papers.maclr_stage1 import Clusters, ClusterSchedule, assign
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
