"""The neighbours N_M(d) that a meta-path gives each document: listed, counted, drawn at random.

The relations along a meta-path are sparse matrices; neighbours are arrays of document numbers. Documents are processed
in batches whose walks along the path fit into memory; nothing grows with the square of the corpus.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple, Self, TypeAlias

import numpy as np
from numpy.typing import NDArray

from tagwright.errors import ConfigError, InputError
from tagwright.types import Longs, Mask

Rows: TypeAlias = Any
"A scipy CSR array of ones, column numbers sorted in each row; scipy has no types."

BATCH = 1 << 22
"Number of walks to follow at a time: about 100 MB."
LISTED = 256
"""A document with at most this many walks has its neighbours listed; with more, they are drawn by rejection first. A
limit of 4096 takes 7 times as long for links between web pages, and half as long for references that few papers
share."""
FEWEST, MOST = 1 << 10, 1 << 16
"Documents that are drawn together: when few are requested, and at most, so that they stay in the processor's cache."
ROUNDS = 64
"Proposals per document before its neighbours are listed: few walks end in a neighbour, or none."


class Relation(NamedTuple):
    """The edges from one node type to another: forward (from, to) and backward (to, from)."""

    forward: Rows
    backward: Rows

    @classmethod
    def of(cls, sources: NDArray[np.integer], targets: NDArray[np.integer], shape: tuple[int, int]) -> Self:
        """Edges given by their ends; an edge given twice is one edge."""
        from scipy import sparse

        forward = sparse.csr_array((np.ones(len(sources), np.int32), (sources, targets)), shape)
        forward.sum_duplicates()
        forward.data[:] = 1
        return cls(forward, forward.T.tocsr())

    @property
    def reverse(self) -> "Relation":
        """Return the edges in the opposite direction."""
        return Relation(self.backward, self.forward)

    @property
    def ends(self) -> int:
        """The number of nodes in which a step may end."""
        return int(self.forward.shape[1])

    def into(self, count: int) -> "Relation":
        """Only the edges to the first `count` nodes."""
        return self if count == self.ends else Relation(self.forward[:, :count], self.backward[:count])

    def after(self, rows: Rows) -> Rows:
        """The nodes reached by one step from each row of nodes."""
        return _as_ones(rows @ self.forward)

    def walks(self, onward: NDArray[np.float64]) -> NDArray[np.float64]:
        """For each node, the sum of `onward` over the nodes one step away."""
        return np.asarray(self.forward @ onward)


Branch: TypeAlias = tuple[Relation, Relation, int]
"A node type of a bracket, there and back: at least so many different nodes must lie between two documents."


class Bracket(NamedTuple):
    """The part of a meta-graph where several nodes together join two documents, cheapest branch first."""

    branches: Sequence[Branch]

    @classmethod
    def of(cls, branches: Sequence[Branch]) -> Self:
        """Sort the branches, so that those with hubs only check the results of the others."""

        def walks(branch: Branch) -> int:
            there, back, _ = branch
            return int(np.diff(there.backward.indptr).astype(np.int64) @ np.diff(back.forward.indptr))

        return cls(sorted(branches, key=walks))

    @property
    def ends(self) -> int:
        """The number of documents in which it may end."""
        return self.branches[0][1].ends

    def into(self, count: int) -> "Bracket":
        """Ending in the first `count` documents."""
        return Bracket([(there, back.into(count), times) for there, back, times in self.branches])

    def after(self, rows: Rows) -> Rows:
        """The documents reached through the bracket from each row of documents."""
        from scipy import sparse

        seen, places = np.unique(rows.indices, return_inverse=True)
        renamed = sparse.csr_array((rows.data, places, rows.indptr), (rows.shape[0], len(seen)))
        return _as_ones(renamed @ self._rows(seen))

    def _rows(self, documents: Longs) -> Rows:
        (first, last, least), *others = self.branches
        there = first.forward[documents]
        there = _keep(there, np.repeat(self._able(documents), np.diff(there.indptr)))
        counts = there @ last.forward
        kept = _keep(counts, counts.data >= least)
        for branch in others:
            starts = np.repeat(documents, np.diff(kept.indptr))
            kept = _keep(kept, _count_shared(branch, starts, kept.indices) >= branch[2])
        return kept

    def walks(self, onward: NDArray[np.float64]) -> NDArray[np.float64]:
        """Per document the sum of `onward` over the walks through the cheapest branch; 0 where nodes are too few."""
        there, back, _ = self.branches[0]
        able = self._able(np.arange(there.forward.shape[0]))
        return np.where(able, there.walks(back.walks(onward)), 0.0)

    def _able(self, documents: Longs) -> Mask:
        """The documents with enough nodes for every branch."""
        able = np.ones(len(documents), np.bool_)
        for there, _, times in self.branches:
            indptr = there.forward.indptr
            able &= indptr[documents + 1] - indptr[documents] >= times
        return able


@dataclass(eq=False)
class Neighbours:
    """N_M(d) of every document d (MICoL Def. 2.4): the documents a meta-path joins it with, except d itself.

    A sequence of sorted arrays of document numbers, computed on demand. The two ends of a path differ, and so do the
    nodes of a bracket; otherwise a longer path may visit a node again.
    """

    expression: str
    documents: int
    works: int
    legs: Sequence[Relation | Bracket]
    alternatives: Callable[[], Sequence[str]] = tuple

    def __post_init__(self) -> None:
        # A neighbour is drawn by its last step, from the nodes before that step. A bracket after other legs would have
        # to be checked against several documents: such neighbours are always listed.
        last = self.legs[-1]
        self._branches = last.branches if isinstance(last, Bracket) else ()
        self._last = last.branches[0][1] if isinstance(last, Bracket) else last
        self._listed_only = bool(self._branches) and len(self.legs) > 1
        self._before = [self._branches[0][0]] if self._branches else self.legs[:-1]

    def __len__(self) -> int:
        return self.documents

    def __getitem__(self, document: int) -> Longs:
        """The neighbours of one document, sorted."""
        if not -len(self) <= document < len(self):
            raise IndexError(f"document {document} of {len(self)}")
        return np.asarray(self._list(np.array([document % len(self)])).indices, np.int64)

    def __iter__(self) -> Iterator[Longs]:
        return self.lists(np.arange(len(self)))

    def lists(self, documents: Longs) -> Iterator[Longs]:
        """The neighbours of each of these documents, sorted."""
        for rows in self._listed(documents):
            yield from np.split(np.asarray(rows.indices, np.int64), rows.indptr[1:-1])

    def sizes(self, documents: Longs) -> Longs:
        """|N_M(d)| of each of these documents."""
        return _join_arrays([np.diff(rows.indptr) for rows in self._listed(documents)])

    def any(self) -> bool:
        """Whether the meta-path joins two documents at all."""
        rng, pool = np.random.default_rng(0), np.flatnonzero(self.walks)
        parts = np.split(pool, np.arange(FEWEST, len(pool), FEWEST))
        return any((self.draw(part, rng) >= 0).any() for part in parts)

    @cached_property
    def walks(self) -> NDArray[np.float64]:
        """(documents,) the steps for listing N_M(d); 0 only where it is empty."""
        return self._steps(self.legs)

    def joins(self, documents: Longs, others: Longs) -> Mask:
        """Whether others[i] is a neighbour of documents[i]."""
        joined = np.zeros(len(documents), np.bool_)
        for batch in _batches((self.walks if self._listed_only else self._walks_before)[documents]):
            starts, ends = documents[batch], others[batch]
            if self._listed_only:
                joined[batch] = _count_common(self._list(starts), _singles(ends, len(self))) > 0
            else:
                joined[batch] = self._ways(self._reach(starts, self._before), starts, ends) > 0
        return joined

    def draw(self, documents: Longs, rng: np.random.Generator) -> Longs:
        """One neighbour of each of these documents, uniform over N_M(d) (MICoL Eq. 15); -1 where there is none."""
        drawn = np.full(len(documents), -1)
        if not self._listed_only:
            many = np.flatnonzero(self.walks[documents] > LISTED)
            drawn[many] = _join_arrays([self._draw_by_rejection(part, rng) for part in self._parts(documents[many])])
        rest = np.flatnonzero(drawn < 0)
        drawn[rest] = _join_arrays([_pick(rows, rng) for rows in self._listed(documents[rest])])
        return drawn

    def draw_by_value(self, documents: Longs, rng: np.random.Generator) -> Longs:
        """One neighbour of each of these documents, not uniform: hubs weigh less; -1 where there is none.

        First the node before the last step is drawn, uniformly among those that lead to another document, then one of
        its documents. Raises ConfigError when the meta-path ends with a bracket, which takes several nodes at once.
        """
        if self._branches:
            raise ConfigError(
                f'meta-path "{self.expression}": by_value draws one value at a time; use a path without ()'
            )
        return _join_arrays([self._draw_one_value(part, rng) for part in self._parts(documents)])

    def sample(self, count: int, *, seed: int = 0, epoch: int = 0, by_value: bool = False) -> tuple[Longs, Longs]:
        """Draw documents that have a neighbour, and one neighbour d+ of each (MICoL A.3.1): two arrays (count,).

        No document is repeated before all have been drawn. The same seed and epoch give the same pairs. by_value draws
        d+ by `draw_by_value` in place of `draw`. Raises InputError when the meta-path joins no two documents.
        """
        rng = np.random.default_rng((seed, epoch))
        draw = self.draw_by_value if by_value else self.draw
        pool, pairs, missing = np.flatnonzero(self.walks), list[tuple[Longs, Longs]](), count
        while missing > 0 and len(pool):
            order, passed = rng.permutation(pool), len(pairs)
            for part in np.array_split(order, -(-len(order) // min(max(count, FEWEST), MOST))):
                drawn = draw(part, rng)
                pairs.append((part[drawn >= 0], drawn[drawn >= 0]))
                missing -= len(pairs[-1][0])
                if missing <= 0:
                    break
            pool = np.sort(_join_arrays([documents for documents, _ in pairs[passed:]]))
        if missing > 0:
            others = ", ".join(self.alternatives())
            remedy = f"these do join some: {others}" if others else "nor does any other usual meta-path"
            raise InputError(f'meta-path "{self.expression}" joins no two of the {len(self)} documents; {remedy}')
        return _join_arrays([documents for documents, _ in pairs])[:count], _join_arrays([drawn for _, drawn in pairs])[
            :count
        ]

    def _draw_by_rejection(self, documents: Longs, rng: np.random.Generator) -> Longs:
        """Draw a walk uniformly and accept its end with 1 / (number of walks to it): ends are then uniform."""
        before, last = self._reach(documents, self._before), self._last.forward
        starts = last.indptr[before.indices]
        tickets, draw = _lottery(before.indptr, last.indptr[before.indices + 1] - starts)
        drawn, pending = np.full(len(documents), -1), np.flatnonzero(tickets)
        for _ in range(ROUNDS):
            if not len(pending):
                break
            entries, offsets = draw(pending, rng)
            ends = last.indices[starts[entries] + offsets]
            ways = self._ways(before[pending], documents[pending], ends)
            taken = (ways > 0) & (rng.integers(0, np.maximum(ways, 1)) == 0)
            drawn[pending[taken]] = ends[taken]
            pending = pending[~taken]
        return drawn

    def _draw_one_value(self, documents: Longs, rng: np.random.Generator) -> Longs:
        before, last = self._reach(documents, self._before), self._last.forward
        starts, stops = last.indptr[before.indices], last.indptr[before.indices + 1]
        some = np.flatnonzero(stops > starts)
        own = np.repeat(documents, np.diff(before.indptr))[some]
        leads = np.zeros(len(starts), np.int64)
        leads[some] = (last.indices[starts[some]] != own) | (last.indices[stops[some] - 1] != own)
        tickets, draw = _lottery(before.indptr, leads)
        drawn, pending = np.full(len(documents), -1), np.flatnonzero(tickets)
        entries, _ = draw(pending, rng)
        while len(pending):
            drawn[pending] = last.indices[rng.integers(starts[entries], stops[entries])]
            again = drawn[pending] == documents[pending]
            pending, entries = pending[again], entries[again]
        return drawn

    def _ways(self, before: Rows, documents: Longs, ends: Longs) -> Longs:
        """From how many nodes of row before[i] the last step leads to ends[i]; 0 where that is no neighbour."""
        ways = _count_common(before, self._last.backward[ends])
        ways[ends == documents] = 0
        for place, branch in enumerate(self._branches):
            ways[(_count_shared(branch, documents, ends) if place else ways) < branch[2]] = 0
        return ways

    def _listed(self, documents: Longs) -> Iterator[Rows]:
        for batch in _batches(self.walks[documents]):
            yield self._list(documents[batch])

    def _list(self, documents: Longs) -> Rows:
        rows = self._reach(documents, self.legs)
        return _keep(rows, rows.indices != np.repeat(documents, np.diff(rows.indptr)))

    def _reach(self, documents: Longs, legs: Sequence[Relation | Bracket]) -> Rows:
        rows = _singles(documents, self.works)
        for leg in legs:
            rows = leg.after(rows)
        return rows

    def _parts(self, documents: Longs) -> Iterator[Longs]:
        for batch in _batches(self._walks_before[documents]):
            yield documents[batch]

    @cached_property
    def _walks_before(self) -> NDArray[np.float64]:
        return self._steps(self._before) + 1

    def _steps(self, legs: Sequence[Relation | Bracket]) -> NDArray[np.float64]:
        onward = np.zeros(legs[-1].ends if legs else len(self))
        for leg in reversed(legs):
            onward = leg.walks(onward + 1)
        return np.asarray(onward[: len(self)])


def _lottery(
    indptr: NDArray[np.integer], tickets: NDArray[np.integer]
) -> tuple[Longs, Callable[[Longs, np.random.Generator], tuple[Longs, Longs]]]:
    """Tickets on the entries of sparse rows: every ticket of a row is drawn with the same probability.

    Returns the number of tickets of each row, and what draws an entry of each of some rows, with the number of the
    drawn ticket within the entry.
    """
    before = np.concatenate([np.zeros(1, np.int64), np.cumsum(tickets, dtype=np.int64)])
    first = before[indptr[:-1]]
    count = before[indptr[1:]] - first

    def draw(rows: Longs, rng: np.random.Generator) -> tuple[Longs, Longs]:
        ticket = first[rows] + rng.integers(0, count[rows])
        entries = np.searchsorted(before, ticket, side="right") - 1
        return entries, ticket - before[entries]

    return count, draw


def _batches(walks: NDArray[np.float64]) -> Iterator[Longs]:
    """Split positions into runs of about BATCH walks; a position with more is a run of its own or ends one."""
    turns = np.flatnonzero(np.diff(np.cumsum(walks) // BATCH)) + 1
    return (batch for batch in np.split(np.arange(len(walks)), turns) if len(batch))


def _pick(rows: Rows, rng: np.random.Generator) -> Longs:
    tickets, draw = _lottery(rows.indptr, np.ones(len(rows.indices), np.int64))
    drawn, some = np.full(rows.shape[0], -1), np.flatnonzero(tickets)
    drawn[some] = rows.indices[draw(some, rng)[0]]
    return drawn


def _singles(nodes: Longs, width: int) -> Rows:
    """One node per row."""
    from scipy import sparse

    return sparse.csr_array((np.ones(len(nodes), np.int32), nodes, np.arange(len(nodes) + 1)), (len(nodes), width))


def _keep(rows: Rows, mask: Mask) -> Rows:
    from scipy import sparse

    before = np.concatenate([np.zeros(1, np.int64), np.cumsum(mask)])
    kept = (np.ones(before[-1], np.int32), rows.indices[mask], before[rows.indptr])
    return sparse.csr_array(kept, rows.shape)


def _as_ones(rows: Rows) -> Rows:
    rows.data = np.ones(len(rows.indices), np.int32)
    rows.sort_indices()
    return rows


def _count_shared(branch: Branch, starts: Longs, ends: Longs) -> Longs:
    """The number of nodes between starts[i] and ends[i]."""
    there, back, _ = branch
    return _count_common(there.forward[starts], back.backward[ends])


def _count_common(left: Rows, right: Rows) -> Longs:
    """For each i, the number of columns that row i of both matrices has."""
    return np.asarray(left.multiply(right).sum(axis=1), np.int64)


def _join_arrays(parts: Sequence[NDArray[np.integer]]) -> Longs:
    return np.concatenate([np.zeros(0, np.int64), *parts])
