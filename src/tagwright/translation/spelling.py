"""Learn how one language spells what another has in common with it: "Soziologie" is "sociology"."""

from collections import Counter
from collections.abc import Iterable, Sequence
from functools import cache
from itertools import islice

ALIKE = 0.4
"The share of letters in which two spellings of one word may differ."

CONTEXTS = ((3, 3), (3, 2), (2, 3), (2, 2), (1, 2), (2, 1), (1, 1), (0, 1), (0, 0))
"Letters before and behind a letter that tell how it is written; the first that was seen often enough decides."

WINDOW = 7
"Letters of the longest context, with the letter in the middle."

SEEN = 2
"How often a letter must have been seen in its context."

MOST = 4000
"Pairs of words from which is learned: more change little, and take time."


class Spelling:
    """Rewrites words letter by letter as pairs of words that are spelled alike teach it.

    pairs: words of two languages; those that are not spelled alike teach nothing.
    """

    def __init__(self, pairs: Iterable[tuple[str, str]]) -> None:
        learned = islice(filter(None, (_learnable(source, target) for source, target in pairs)), MOST)
        letters = [
            (padded[place : place + WINDOW], piece)
            for padded, pieces in ((_padded(source), pieces) for source, pieces in learned)
            for place, piece in enumerate(pieces)
        ]
        found = [_most_frequent(letters, before, behind) for before, behind in CONTEXTS]
        self._contexts = [
            (best, 3 - before, 4 + behind) for best, (before, behind) in zip(found, CONTEXTS, strict=True)
        ]
        self._written = cache(self._look_up)

    def __call__(self, word: str, least: float = 0) -> tuple[str, float]:
        """The word in the other spelling, and the probability of that: the product over its letters.

        Of what a letter was written as in its context, the most frequent is taken: k of n times, with probability
        k / (n + 1/2). least: where the product falls to that, the word stays as it is, with probability 0.
        """
        padded, found, probability = _padded(word), list[str](), 1.0
        for place in range(len(word)):
            piece, certain = self._written(padded[place : place + WINDOW])
            probability *= certain
            if probability <= least:
                return word, 0.0
            found.append(piece)
        return "".join(found), probability

    def _look_up(self, window: str) -> tuple[str, float]:
        """What the letter in the middle is written as, by its longest known context."""
        first = 0
        if window[2:5] not in self._contexts[_NEAR][0]:  # a context is known only if those inside it are
            first = _NEAR + 1
        elif window[1:6] not in self._contexts[_WIDE][0]:
            first = _WIDE + 1
        for best, start, end in self._contexts[first:]:
            if chosen := best.get(window[start:end]):
                return chosen
        return window[3], 0.5


_NEAR, _WIDE = CONTEXTS.index((1, 1)), CONTEXTS.index((2, 2))
"Each is inside all contexts before it."


def _learnable(source: str, target: str) -> tuple[str, list[str]] | None:
    """A word and what each of its letters is written as; None for words that are not spelled alike."""
    pieces = aligned(source, target) if _may_be_alike(source, target) else None
    return None if pieces is None else (source, pieces)


def _most_frequent(letters: Sequence[tuple[str, str]], before: int, behind: int) -> dict[str, tuple[str, float]]:
    """Context -> what is written there most often, k of n times, and k / (n + 1/2).

    letters: windows, and what the letter in the middle of each was written as.
    """
    contexts, least = [window[3 - before : 4 + behind] for window, _ in letters], SEEN if before + behind else 1
    total = Counter(contexts)
    found = dict[str, tuple[int, str]]()
    for (context, piece), count in Counter(zip(contexts, (piece for _, piece in letters), strict=True)).items():
        if total[context] >= least:
            found[context] = min(found.get(context, (0, "")), (-count, piece))
    return {context: (piece, -count / (total[context] + 0.5)) for context, (count, piece) in found.items()}


def aligned(source: str, target: str) -> list[str] | None:
    """What each letter of `source` is written as in `target`, by the fewest edits; None where too many are needed.

    >>> aligned("musik", "music"), aligned("ion", "ioni"), aligned("haus", "tree")
    (['m', 'u', 's', 'i', 'c'], ['i', 'o', 'ni'], None)
    """
    pieces, i, j = [""] * len(source), len(source), len(target)
    while i and j and source[i - 1] == target[j - 1]:  # an equal end is part of the fewest edits
        i, j = i - 1, j - 1
        pieces[i] = target[j]
    rows = [list(range(j + 1))]
    for place, letter in enumerate(source[:i], 1):
        left, rows_above = place, rows[-1]
        row = [left]
        for diagonal, above, other in zip(rows_above, rows_above[1:], target, strict=False):
            left = diagonal if letter == other else 1 + min(diagonal, above, left)
            row.append(left)
        rows.append(row)
    if rows[-1][-1] > ALIKE * max(len(source), len(target)):
        return None
    while i and j:
        if rows[i][j] == rows[i - 1][j - 1] + (source[i - 1] != target[j - 1]):
            pieces[i - 1] = target[j - 1] + pieces[i - 1]
            i, j = i - 1, j - 1
        elif rows[i][j] == rows[i - 1][j] + 1:
            i -= 1
        else:
            pieces[i - 1] = target[j - 1] + pieces[i - 1]
            j -= 1
    pieces[0] = target[:j] + pieces[0]
    return pieces


def _may_be_alike(source: str, target: str) -> bool:
    """Whether enough letters are shared, in any order: quicker than to align."""
    longest, letters = max(len(source), len(target)), set(source)
    least = (1 - ALIKE) * longest
    return min(len(source), len(target)) >= least and least <= sum(
        map(min, map(source.count, letters), map(target.count, letters))
    )


def _padded(word: str) -> str:
    return f"^^^{word}$$$"
