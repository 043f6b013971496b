"""Find sequences of words in a text, by a trie in memory-mapped arrays.

Words are numbers. A node is a sequence of words with which a pattern begins. All places of a text go down the trie at
the same time, one word at a step, until none is left.
"""

from __future__ import annotations

from functools import cached_property
from typing import Any, TypeAlias

import numpy as np

from tagwright.types import Ints, Longs, Mask

Matches: TypeAlias = tuple[Longs, Longs, Longs]
"Occurrences of patterns, (matches,) each: the pattern, start and end. By end, those of one end longest first."


class WordTrie:
    """Patterns by their words.

    first: (words + 1,) the node of each word that begins a pattern, -1 for others; the last is -1. keys: (inner nodes,)
    node * words + word, sorted: the steps from a node by a word, which lead to nodes that follow the first ones in this
    order. ends: (nodes,) where the patterns of each node end in `patterns`.

    >>> WordTrie.of(np.array([0, 1, 0]), np.array([2, 3]), words_in_all=2).find(np.array([1, 0, 1, -1]))
    (array([1, 0]), array([1, 1]), array([2, 3]))
    """

    def __init__(self, first: Ints, keys: Longs, ends: Longs, patterns: Ints) -> None:
        self.first, self.keys, self.ends, self.patterns = first, keys, ends, patterns
        self._words, self._roots = len(first) - 1, len(ends) - len(keys)

    @classmethod
    def of(cls, words: Longs, ends: Longs, *, words_in_all: int) -> WordTrie:
        """Build. words: those of all patterns, none of which is empty; ends: (patterns,) where each ends there."""
        starts = np.concatenate([np.zeros(1, np.int64), ends])[:-1]
        lengths, keys = ends - starts, list[Longs]()
        roots, node = np.unique(words[starts], return_inverse=True)
        first = np.full(words_in_all + 1, -1, np.int32)
        first[roots] = np.arange(len(roots))
        nodes, depth, longer = len(roots), 1, np.flatnonzero(lengths > 1)
        while len(longer):
            steps, place = np.unique(node[longer] * words_in_all + words[starts[longer] + depth], return_inverse=True)
            node[longer] = nodes + place
            keys.append(steps)
            nodes, depth = nodes + len(steps), depth + 1
            longer = longer[lengths[longer] > depth]
        counts = np.bincount(node, minlength=nodes)
        order = np.argsort(node, kind="stable").astype(np.int32)
        return cls(first, np.concatenate([np.zeros(0, np.int64), *keys]), np.cumsum(counts), order)

    def find(self, words: Longs | Ints) -> Matches:
        """All occurrences of all patterns. words: (words of a text,), -1 for a word of no pattern."""
        node: Longs = self.first[words].astype(np.int64)  # -1 reads the last, which is -1
        start: Longs = np.flatnonzero(node >= 0)
        node, following, depth, matches = node[start], np.append(words, -1), 1, list[Matches]()
        while len(start):
            matches.append(self._patterns_of(node, start, start + depth))
            word = following[np.minimum(start + depth, len(words))]
            going = np.flatnonzero((word >= 0) & self._inner[node])
            keys = node[going] * self._words + word[going]
            place = np.searchsorted(self.keys, keys)
            right = self.keys[np.minimum(place, len(self.keys) - 1)] == keys if len(keys) else np.zeros(0, np.bool_)
            start, node, depth = start[going][right], self._roots + place[right], depth + 1
        none = np.zeros(0, np.int64)
        pattern, start, end = (np.concatenate([none, *(match[part] for match in matches)]) for part in range(3))
        order = np.lexsort((pattern, start, end))
        return pattern[order], start[order], end[order]

    def state(self) -> dict[str, Any]:
        """Return what a saved trie is made of: the arguments of a new one."""
        return {"first": self.first, "keys": self.keys, "ends": self.ends, "patterns": self.patterns}

    @cached_property
    def _inner(self) -> Mask:
        """(nodes,) whether a step leads on."""
        inner = np.zeros(len(self.ends), np.bool_)
        inner[self.keys // max(1, self._words)] = True
        return inner

    def _patterns_of(self, node: Longs, start: Longs, end: Longs) -> Matches:
        """The patterns that end at these nodes."""
        last = self.ends[node]
        counts = last - np.where(node > 0, self.ends[node - 1], 0)
        source = np.repeat(np.arange(len(node)), counts)
        place = (
            np.arange(len(source)) - np.repeat(np.cumsum(counts) - counts, counts) + np.repeat(last - counts, counts)
        )
        return self.patterns[place].astype(np.int64), start[source], end[source]
