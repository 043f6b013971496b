"""The labels above each label, by their broader links."""

from collections.abc import Set as AbstractSet
from functools import cache, cached_property, lru_cache
from graphlib import TopologicalSorter

import numpy as np

from tagwright.types import Run


class Hierarchy:
    """The labels above each label of a vocabulary. links: a row for each label, with those directly above it.

    Owls below birds below animals, and fish, which also swim among animals:

    >>> zoo = Hierarchy(Run.from_rows([[], [0], [1], [0]]))
    >>> zoo.above(2), zoo.tops(2), zoo.tops(0)
    ((0, 1), (0,), (0,))
    """

    def __init__(self, links: Run) -> None:
        self._links = links
        self.parents = cache(lambda label: tuple(links[label][0].tolist()))  # the labels directly above a label
        self._all_above = lru_cache(512)(self._above)  # of all labels, this may take the square of their number

    def above(self, label: int, known: AbstractSet[int] = frozenset()) -> tuple[int, ...]:
        """All labels above this one, each behind those above it. known: labels left out, with all above them."""
        return self._above(label, known) if known else self._all_above(label)

    def tops(self, label: int) -> tuple[int, ...]:
        """The labels at the top above this one, or itself; of a cycle at the top, its first label."""
        part, tops = self._parts
        return tops[part[label]]

    def _above(self, label: int, known: AbstractSet[int] = frozenset()) -> tuple[int, ...]:
        seen, above, path = {label}, list[int](), [(label, iter(self.parents(label)))]
        while path:
            current, parents = path[-1]
            parent = next((each for each in parents if each not in seen and each not in known), None)
            if parent is None:
                above.append(current)
                path.pop()
            else:
                seen.add(parent)
                path.append((parent, iter(self.parents(parent))))
        return tuple(above[:-1])

    @cached_property
    def _parts(self) -> tuple[list[int], dict[int, tuple[int, ...]]]:
        """The part of each label, which is its cycle, or the label alone; and the tops above each part."""
        from scipy.sparse import csr_array
        from scipy.sparse.csgraph import connected_components

        links, size = self._links, len(self._links)
        graph = csr_array((np.ones(len(links.labels), np.int8), links.labels, links.indptr), (size, size))
        _, part = connected_components(graph, connection="strong")
        above: dict[int, set[int]] = {each: set() for each in part.tolist()}
        for lower, upper in zip(part[links.rows].tolist(), part[links.labels].tolist(), strict=True):
            above[lower].add(upper)
        first, tops = np.unique(part, return_index=True)[1].tolist(), dict[int, tuple[int, ...]]()
        others = {lower: uppers - {lower} for lower, uppers in above.items()}
        for each in TopologicalSorter(others).static_order():
            reached = {top for upper in others[each] for top in tops[upper]}
            tops[each] = tuple(sorted(reached)) or (first[each],)
        return part.tolist(), tops
