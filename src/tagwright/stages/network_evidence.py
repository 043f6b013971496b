"""Why a label, as the network has it: the documents that a meta-path joins with a document and that share the label."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from tagwright.graph.neighbours import Neighbours
from tagwright.types import Run

MOST = 3
"Documents that are named for a meta-path."


class Sharing(NamedTuple):
    """Of the `neighbours` that a document has over a meta-path, so many share a label; the first few of them."""

    path: str
    neighbours: int
    sharing: int
    documents: tuple[int, ...]


def sharing(paths: Sequence[Neighbours], run: Run, document: int, label: int, most: int = MOST) -> list[Sharing]:
    """For each meta-path the neighbours of a document that share the label, those that have it highest first.

    run: labels suggested for, or known of, every document of the network, a row each. Meta-paths over which no
    neighbour shares the label are left out.
    """
    found = list[Sharing]()
    for path in paths:
        near = path[document]
        rows = run.take(near)
        chosen = np.flatnonzero(rows.labels == label)
        order = np.argsort(rows.ranks[chosen], kind="stable")[:most]
        if len(chosen):
            documents = near[rows.rows[chosen[order]]].tolist()
            found.append(Sharing(path.expression, len(near), len(chosen), tuple(documents)))
    return found
