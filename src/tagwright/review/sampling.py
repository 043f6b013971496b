"""Choose the documents to label next, at random."""

from collections.abc import Sequence

import numpy as np

from tagwright.errors import ConfigError


def sample(documents: Sequence[object], n: int, *, seed: int = 0) -> list[int]:
    """Return the positions of n documents to label next, the first ones first; of all documents if there are fewer.

    seed: of the random draws. Raises ConfigError for n below 1.
    """
    if n < 1:
        raise ConfigError(f"n is {n}, expected at least 1")
    return [int(position) for position in np.random.default_rng(seed).permutation(len(documents))[:n]]
