"""Cut a text into the segments that RTS pairs with the title and with each other."""

from __future__ import annotations

from itertools import accumulate
from typing import Literal, TypeAlias

from numpy.random import Generator

from tagwright.text.words import sentence_spans

Segmentation: TypeAlias = Literal["random", "fixed", "natural"]
"random: lengths between the bounds, redrawn each time; fixed: their mean; natural: sentences (RTS 3.2.1, 4.5)."


def segments(text: str, kind: Segmentation, min_words: int, max_words: int, rng: Generator) -> list[str]:
    r"""Cut a text into segments (RTS 3.2.1).

    Words are separated by spaces; a segment joins its words with single spaces. When the last segment has fewer than
    min_words / 2 words, it is joined to the one before it. Sentences are left as they are, whatever their length. A
    text without words has no segments.

    Of five words cut in twos, the last is alone; cut in fours, it is shorter than 4 / 2.

    >>> import numpy as np
    >>> text, rng = "To be, or not\nto...", np.random.default_rng(0)
    >>> segments(text, "fixed", 2, 2, rng)
    ['To be,', 'or not', 'to...']
    >>> segments(text, "fixed", 4, 4, rng)
    ['To be, or not to...']
    >>> segments(text, "natural", 4, 4, rng)
    ['To be, or not', 'to...']
    """
    if kind == "natural":
        return [text[start:end] for start, end in sentence_spans(text)]
    words = text.split()
    if len(words) <= min_words:
        return [" ".join(words)] if words else []
    if kind == "fixed":
        mean = (min_words + max_words) // 2
        cuts = list(range(mean, len(words), mean))
    else:
        enough = rng.integers(min_words, max_words, size=len(words) // min_words + 1, endpoint=True)
        cuts = [end for end in accumulate(enough.tolist()) if end < len(words)]
    if cuts and len(words) - cuts[-1] < min_words / 2:
        cuts.pop()
    return [" ".join(words[start:end]) for start, end in zip([0, *cuts], [*cuts, len(words)], strict=True)]
