"""Split compounds into the words that they are made of: "Wirtschaftspolitik" into "wirtschaft" and "politik"."""

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable

import numpy as np

LEAST = 4
"The fewest letters of a part."

LINKS = ("", "s", "es", "n", "en", "e", "er", "ens", "ns")
"What may stand between two parts (German; others have the empty one, or some of these)."

HEADS = 2
"""Known words that must follow the same letters to make these a known word: "künst" is none, which only "liche" and
"licher" follow."""


class Compounds:
    """Splits words into known ones: those of a list, by their stems, and what stands before at least two of them.

    Of all splits the one is taken whose parts are the most frequent: the largest geometric mean of their counts (Koehn
    and Knight 2003, section 3). A part has at least four letters.

    >>> Compounds(["wirtschaft", "politik", "steuerpolitik", "steuerrecht", "recht"], str).split("wirtschaftspolitik")
    ('wirtschaft', 'politik')
    """

    def __init__(self, words: Iterable[str], stem: Callable[[str], str]) -> None:
        counts = Counter(words)
        self._stem, self._stems, self._heads = stem, Counter[str](), Counter[str]()
        for word, count in counts.items():
            self._stems[stem(word)] += count
        tails = defaultdict[str, set[str]](set)
        for word in counts:
            for end in _ends(word):
                if self._stems[tail := stem(word[end:])]:
                    tails[word[:end]].add(tail)
        self._heads.update({head: len(each) for head, each in tails.items()})
        self._splits = dict[str, tuple[str, ...]]()

    def split(self, word: str) -> tuple[str, ...]:
        """The parts of a word, or the word alone where it has none."""
        found = self._splits.get(word)
        if found is None:
            found = self._splits[word] = max(self._candidates(word), key=self._frequency, default=(word,))
        return found

    def _candidates(self, word: str) -> Iterable[tuple[str, ...]]:
        for end in _ends(word):
            head, tail = word[:end], word[end:]
            if not self._stems[self._stem(tail)]:
                continue
            for link in LINKS:
                first = head.removesuffix(link)
                if (link and first == head) or len(first) < LEAST:
                    continue
                if self._count(first):
                    yield first, tail
                elif len(parts := self.split(first)) > 1:
                    yield *parts, tail

    def _frequency(self, parts: tuple[str, ...]) -> float:
        return float(np.mean([np.log(self._count(part)) for part in parts]))

    def _count(self, word: str) -> int:
        heads = self._heads[word]
        return self._stems[self._stem(word)] or (heads if heads >= HEADS else 0)


def _ends(word: str) -> range:
    """Where the first part of a word may end."""
    return range(LEAST, len(word) - LEAST + 1)
