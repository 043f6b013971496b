"""Documents that are reviewed blind: suggestions are hidden until the reviewer has given labels, and then shown.

A label that was accepted because it was suggested flatters the tagger that suggested it. So only labels that were given
blind measure a tagger, and no tagger learns from their documents.
"""

import random

SHARE = 1 / 3
"""Share of the documents. Of 100 reviewed documents a third are 33, on which the interval of a difference in nDCG@5 was
about 5 points to either side; with a fifth it was a third wider. A blind document takes the reviewer one key more, and
the searches for its labels."""

FEWEST = 20
"Documents reviewed blind that a difference is measured on, at least: of fewer, bootstrap intervals are too narrow."


def drawn_blind(document: str, share: float = SHARE) -> bool:
    """Whether a document is reviewed blind, by whomever. document: its id, which seeds the draw.

    >>> drawn_blind("d", 0.0), drawn_blind("d", 1.0)
    (False, True)
    """
    return random.Random(f"blind {document}").random() < share
