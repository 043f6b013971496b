"""Evidence from the network: documents that a meta-path joins with a document and that share a label."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from tagwright.graph.neighbours import Neighbours
from tagwright.types import Run

MOST = 3
"Documents that are named for a meta-path."


@dataclass(frozen=True, slots=True)
class NetworkEvidence:
    """The number of neighbours over a meta-path that share a label with a document, and ids of the first few."""

    path: str
    neighbours: int
    sharing: int
    documents: tuple[str, ...]


def network_evidence(
    paths: Sequence[Neighbours], ids: Sequence[str], run: Run, document: int, label: int, most: int = MOST
) -> tuple[NetworkEvidence, ...]:
    """For each meta-path the neighbours of a document that share the label, those that rank it highest first.

    ids: of every document of the network. run: labels suggested for, or known of, each of them. Meta-paths over which
    no neighbour shares the label are left out.
    """
    found = list[NetworkEvidence]()
    for path in paths:
        near = path[document]
        rows = run.take(near)
        chosen = np.flatnonzero(rows.labels == label)
        order = np.argsort(rows.ranks[chosen], kind="stable")[:most]
        if len(chosen):
            named = tuple(ids[row] for row in near[rows.rows[chosen[order]]].tolist())
            found.append(NetworkEvidence(path.expression, len(near), len(chosen), named))
    return tuple(found)
