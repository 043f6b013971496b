"""Learn how one language spells what another has in common with it: "Soziologie" is "sociology"."""

from collections import Counter, defaultdict
from collections.abc import Iterable

ALIKE = 0.4
"The share of letters in which two spellings of one word may differ."

CONTEXTS = ((3, 3), (3, 2), (2, 3), (2, 2), (1, 2), (2, 1), (1, 1), (0, 1), (0, 0))
"Letters before and behind a letter that tell how it is written; the first that was seen often enough decides."

SEEN = 2
"How often a letter must have been seen in its context."

MOST = 4000
"Pairs of words from which is learned: more change little, and take time."


class Spelling:
    """Rewrites words letter by letter as pairs of words that are spelled alike teach it.

    pairs: words of two languages; those that are not spelled alike teach nothing.
    """

    def __init__(self, pairs: Iterable[tuple[str, str]]) -> None:
        self._written = [defaultdict[tuple[str, int], Counter[str]](Counter) for _ in CONTEXTS]
        left = MOST
        for source, target in pairs:
            pieces = aligned(source, target) if left and _may_be_alike(source, target) else None
            if pieces is not None:
                left -= 1
                self._learn(source, pieces)

    def __call__(self, word: str) -> tuple[str, float]:
        """The word in the other spelling, and the probability of that: the product over its letters.

        Of what a letter was written as in its context, the most frequent is taken: k of n times, with probability
        k / (n + 1/2).
        """
        padded, found, probability = _padded(word), list[str](), 1.0
        for place, letter in enumerate(word):
            for written, (before, behind) in zip(self._written, CONTEXTS, strict=True):
                seen = written.get((padded[place + 3 - before : place + 4 + behind], before))
                if seen and (seen.total() >= SEEN or before + behind == 0):
                    piece, count = min(seen.items(), key=lambda each: (-each[1], each[0]))
                    probability *= count / (seen.total() + 0.5)
                    break
            else:
                piece, probability = letter, probability / 2
            found.append(piece)
        return "".join(found), probability

    def _learn(self, source: str, pieces: Iterable[str]) -> None:
        padded = _padded(source)
        for place, piece in enumerate(pieces):
            for written, (before, behind) in zip(self._written, CONTEXTS, strict=True):
                written[padded[place + 3 - before : place + 4 + behind], before][piece] += 1


def aligned(source: str, target: str) -> list[str] | None:
    """What each letter of `source` is written as in `target`, by the fewest edits; None where too many are needed.

    >>> aligned("musik", "music"), aligned("ion", "ioni"), aligned("haus", "tree")
    (['m', 'u', 's', 'i', 'c'], ['i', 'o', 'ni'], None)
    """
    rows = [list(range(len(target) + 1))]
    for i, letter in enumerate(source, 1):
        above, row = rows[-1], [i]
        for j, other in enumerate(target, 1):
            row.append(min(above[j - 1] + (letter != other), above[j] + 1, row[j - 1] + 1))
        rows.append(row)
    if rows[-1][-1] > ALIKE * max(len(source), len(target)):
        return None
    pieces, i, j = [""] * len(source), len(source), len(target)
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
    shared = (Counter(source) & Counter(target)).total()
    return shared >= (1 - ALIKE) * max(len(source), len(target))


def _padded(word: str) -> str:
    return f"^^^{word}$$$"
