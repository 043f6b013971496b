"""Choose the documents to label next, at random."""

import numpy as np


def sample(count: int, n: int) -> list[int]:
    """Return the places of n of so many documents, in the order in which to label them; of all if there are fewer."""
    return [int(place) for place in np.random.default_rng(0).permutation(count)[:n]]
