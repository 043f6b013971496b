"""The ten meta-paths of MICoL agree with neighbours found by brute force from Definition 2.4."""

from functools import cache
from typing import Any

import pytest
from tests.golden import golden as golden_values

from tagwright.graph.network import Graph
from tagwright.types import Document


@cache
def golden() -> dict[str, Any]:
    return golden_values("metapaths.json")


@cache
def network() -> Graph:
    fields = ("author", "venue", "reference")
    return Graph.of(
        Document(row["id"], metadata={field: tuple(row[field]) for field in fields}) for row in golden()["documents"]
    )


@pytest.mark.parametrize("path", golden()["neighbours"])
def test_neighbours_agree_with_brute_force(path: str) -> None:
    ids = [row["id"] for row in golden()["documents"]]
    found = [sorted(ids[other] for other in row) for row in network().follow(path)]
    assert found == [sorted(golden()["neighbours"][path][one]) for one in ids]
