"""Learn how one language spells what another has in common with it: "Soziologie" is "sociology"."""

from collections.abc import Iterable, Iterator, Sequence
from itertools import chain, islice

import numpy as np

from tagwright.types import Doubles, Longs

ALIKE = 0.4
"The share of letters in which two spellings of one word may differ."

CONTEXTS = ((0, 0), (0, 1), (1, -1), (2, -2), (2, 2), (4, -2), (5, 3), (5, -3), (7, 3))
"""Contexts that predict how a letter is written: each extends the context of the first number by the letter at the
distance of the second. The first is the letter alone. The last context that was seen often enough decides."""

PADDING = 3
"Letters before and behind a word, so that all contexts are full."

MOST = 4000
"Pairs of words from which is learned: more change little, and take time."


class Spelling:
    """Rewrites words letter by letter as pairs of words that are spelled alike teach it.

    Of what a letter was written as in its context, the most frequent is taken: k of n times, with probability
    k / (n + 1/2). pairs: words of two languages; those that are not spelled alike teach nothing.
    """

    def __init__(self, pairs: Iterable[tuple[str, str]]) -> None:
        tried = ((source, align_letters(source, target)) for source, target in pairs if _may_be_alike(source, target))
        learned = list(islice(((source, pieces) for source, pieces in tried if pieces is not None), MOST))
        written = list(chain.from_iterable(pieces for _, pieces in learned))
        self._pieces = sorted(set(written))
        number = {piece: place for place, piece in enumerate(self._pieces)}
        piece = np.fromiter(map(number.__getitem__, written), np.int64, len(written))
        around, ids = _neighbouring_letters([source for source, _ in learned]), list[Longs]()
        self._contexts = list[tuple[Longs, Longs, Doubles]]()  # sorted keys, what is written there, how certainly
        for before, distance in CONTEXTS:
            keys, context = np.unique(_keys(ids, before, around[distance]), return_inverse=True)
            ids.append(context)
            most, certain = _most_frequent(context, piece, 2 if distance else 1)  # how often it must have been seen
            self._contexts.append((keys, most, certain))

    def __call__(self, words: Sequence[str], least: float = 0) -> Iterator[tuple[str, float]]:
        """Each word in the other spelling, and the probability of that: the product over its letters.

        least: where the product falls to that, the word stays as it is, with probability 0. No word may be empty.
        """
        around, ids, letters = _neighbouring_letters(words), list[Longs](), "".join(words)
        piece, certain = np.full(len(letters), -1), np.full(len(letters), 0.5)
        for (before, distance), (learned, pieces, certainties) in zip(CONTEXTS, self._contexts, strict=True):
            keys = _keys(ids, before, around[distance])
            place = np.searchsorted(learned, keys)
            seen = np.append(learned, -1)[place] == keys
            ids.append(np.where(seen, place, -1))
            known = np.flatnonzero(seen)[certainties[place[seen]] > 0]
            piece[known], certain[known] = pieces[place[known]], certainties[place[known]]
        written = [
            self._pieces[place] if place >= 0 else own for place, own in zip(piece.tolist(), letters, strict=True)
        ]
        ends = np.cumsum(np.fromiter(map(len, words), np.int64, len(words)))
        starts = ends - np.fromiter(map(len, words), np.int64, len(words))
        products = np.multiply.reduceat(certain, starts) if len(words) else certain
        for word, product, start, end in zip(words, products.tolist(), starts.tolist(), ends.tolist(), strict=True):
            yield ("".join(written[start:end]), product) if product > least else (word, 0.0)


def _neighbouring_letters(words: Sequence[str]) -> dict[int, Longs]:
    """Return by distance the letter at that distance from each letter of the words, (letters,); 0 outside a word."""
    sides = "\0" * PADDING
    text = "".join(f"{sides}{word}{sides}" for word in words)
    codes = np.frombuffer(text.encode("utf-32-le", "surrogatepass"), np.uint32).astype(np.int64)
    middle = np.flatnonzero(codes)
    return {distance: codes[middle + distance] for distance in range(-PADDING, PADDING + 1)}


def _keys(ids: Sequence[Longs], before: int, letter: Longs) -> Longs:
    """(letters,) the number of the context before this one, -1 for none, and the letter that it adds."""
    return (ids[before] << 21) + letter if ids else letter  # a letter has 21 bits in Unicode


def _most_frequent(context: Longs, piece: Longs, least: int) -> tuple[Longs, Doubles]:
    """(contexts,) what is written in each most often, k of n times, and k / (n + 1/2); 0 if n is under `least`.

    context, piece: (letters,) the context of each and what it was written as. Of equally frequent ones, the first.
    """
    pieces, total = int(piece.max(initial=0)) + 1, np.bincount(context)
    cells, count = np.unique(context * pieces + piece, return_counts=True)
    where = cells // pieces
    order = np.lexsort((cells, -count, where))
    best = order[np.unique(where[order], return_index=True)[1]]
    return cells[best] % pieces, np.where(total >= least, count[best] / (total + 0.5), 0)


def align_letters(source: str, target: str) -> list[str] | None:
    """Align each letter of `source` with its spelling in `target`, by the fewest edits; None where too many are needed.

    >>> align_letters("musik", "music"), align_letters("ion", "ioni"), align_letters("haus", "tree")
    (['m', 'u', 's', 'i', 'c'], ['i', 'o', 'ni'], None)
    """
    pieces, i, j = [""] * len(source), len(source), len(target)
    while i and j and source[i - 1] == target[j - 1]:  # an equal end is part of the fewest edits
        i, j = i - 1, j - 1
        pieces[i] = target[j]
    rows = [list(range(j + 1))]
    for place, letter in enumerate(source[:i], 1):
        row = [place]
        for diagonal, above, other in zip(rows[-1], rows[-1][1:], target, strict=False):
            row.append(diagonal if letter == other else 1 + min(diagonal, above, row[-1]))
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
