"""Split compounds into the words that they are made of: "Wirtschaftspolitik" into "wirtschaft" and "politik"."""

import math
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable
from functools import cache

LEAST = 4
"The fewest letters of a part."

LINKS = {"s": ("s", "es", "ens", "ns"), "n": ("n", "en"), "e": ("e",), "r": ("er",)}
"What may stand between two parts, by its last letter (German; others have nothing there, or some of these)."

HEADS = 2
"""The beginning of a word is taken for a word if at least so many known words follow it; "künst" is not, which only
"liche" and "licher" follow, one word by their stem."""


class Compounds:
    """Splits compounds into known parts: listed words, compared by stem, and beginnings that compounds of these share.

    Of all splits the one is taken whose parts are the most frequent: the largest geometric mean of their counts (Koehn
    and Knight 2003, section 3). A part has at least four letters.

    >>> Compounds(["wirtschaft", "politik", "steuerpolitik", "steuerrecht", "recht"], str).split("wirtschaftspolitik")
    ('wirtschaft', 'politik')
    """

    def __init__(self, words: Iterable[str], stem: Callable[[str], str]) -> None:
        counts, self._stems, tails = Counter(words), Counter[str](), defaultdict[str, set[str]](set)
        self._stem, self._is_known, self._splits = (
            cache(stem),
            cache(self._has_known_stem),
            dict[str, tuple[str, ...]](),
        )
        for word, count in counts.items():
            self._stems[self._stem(word)] += count
        for word in counts:
            for end in self._ends(word):
                tails[word[:end]].add(self._stem(word[end:]))
        self._heads = {head: len(each) for head, each in tails.items() if len(each) >= HEADS}

    def split(self, word: str) -> tuple[str, ...]:
        """The parts of a word, or the word alone where it has none."""
        found = self._splits.get(word)
        if found is None:
            found = self._splits[word] = max(self._candidates(word), key=self._frequency, default=(word,))
        return found

    def _candidates(self, word: str) -> Iterable[tuple[str, ...]]:
        for end in self._ends(word):
            head, tail = word[:end], word[end:]
            for link in ("", *LINKS.get(head[-1], ())):
                first = head.removesuffix(link)
                if (link and first == head) or len(first) < LEAST:
                    continue
                if self._count(first):
                    yield first, tail
                elif len(parts := self.split(first)) > 1:
                    yield *parts, tail

    def _frequency(self, parts: tuple[str, ...]) -> float:
        return sum(math.log(self._count(part)) for part in parts) / len(parts)

    def _count(self, word: str) -> int:
        return self._stems.get(self._stem(word)) or self._heads.get(word, 0)

    def _ends(self, word: str) -> list[int]:
        """Where the first part of a word may end: before a known one."""
        is_known = self._is_known
        return [end for end in range(LEAST, len(word) - LEAST + 1) if is_known(word[end:])]

    def _has_known_stem(self, word: str) -> bool:
        return self._stem(word) in self._stems
