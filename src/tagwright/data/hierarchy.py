"""The labels above each label, by their broader links."""

from functools import cache
from typing import Any

from tagwright.types import Run


class Hierarchy:
    """What lies above the labels of a vocabulary. links: a row for each label, with those directly above it.

    Owls below birds below animals, and fish, which also swim among animals:

    >>> zoo = Hierarchy(Run.from_rows([[], [0], [1], [0]]))
    >>> zoo.above(2), zoo.tops(2), zoo.tops(0)
    ((0, 1), (0,), (0,))
    """

    def __init__(self, links: Run) -> None:
        self._links = links
        self.parents, self.above, self.tops = cache(self._parents), cache(self._above), cache(self._tops)

    def __reduce__(self) -> tuple[Any, ...]:
        return Hierarchy, (self._links,)

    def _above(self, label: int) -> tuple[int, ...]:
        """All labels above this one, each behind those above it."""
        seen, above, path = {label}, list[int](), [(label, iter(self.parents(label)))]
        while path:
            current, parents = path[-1]
            parent = next((label_above for label_above in parents if label_above not in seen), None)
            if parent is None:
                above.append(current)
                path.pop()
            else:
                seen.add(parent)
                path.append((parent, iter(self.parents(parent))))
        return tuple(above[:-1])

    def _tops(self, label: int) -> tuple[int, ...]:
        """The labels at the top above this one, or itself; of a cycle without a top, the first of the labels above."""
        every = (*self.above(label), label)
        return tuple(top for top in every if not self.parents(top)) or (min(every),)

    def _parents(self, label: int) -> tuple[int, ...]:
        """The labels directly above this one."""
        return tuple(self._links[label][0].tolist())
