"""Choose the documents to label next: random ones, of all lengths, or those a tagger is unsure about."""

from collections.abc import Sequence
from typing import Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray

from tagwright.errors import ConfigError
from tagwright.stages.dense import Dense
from tagwright.tagger.acceptance import SuggestOptions
from tagwright.tagger.pipeline import Tagger, batches
from tagwright.types import Document, Floats, Longs, Run

By: TypeAlias = Literal["random", "length", "uncertainty"]

DEPTH = 10
"Suggestions of a document whose uncertainty counts."

_NEVER_UNSURE = "this tagger does not estimate confidences; sample at random, or by length"


def sample(
    documents: Sequence[Document], n: int, by: By = "random", *, tagger: Tagger | None = None, seed: int = 0,
    only: Sequence[str] = (), without: Sequence[str] = (),
) -> list[int]:  # fmt: skip
    """Return places of n documents to label next, the first ones first; of all documents if there are fewer.

    random: drawn by the seed. length: one drawn from each of n groups of equal size by length of the text.
    uncertainty: those with the greatest expected entropy of the tagger's first suggestions, far from each other in
    meaning. only, without: conditions on the labels that are suggested, see `SuggestOptions`. Raises ConfigError for
    uncertainty without a tagger, or with one that estimates no confidence.
    """
    if n < 1:
        raise ConfigError(f"n is {n}, expected at least 1")
    rng = np.random.default_rng(seed)
    if by == "random":
        return [int(place) for place in rng.permutation(len(documents))[:n]]
    if by == "length":
        return by_length(np.array([len(document.text) for document in documents], np.int64), n, rng)
    if tagger is None:
        raise ConfigError("whose uncertainty? give a tagger")
    if not tagger.combiner.estimates_confidence:
        raise ConfigError(_NEVER_UNSURE)
    return unsure_about(documents, n, tagger, SuggestOptions(k=DEPTH, only=only, without=without))


def unsure_about(documents: Sequence[Document], n: int, tagger: Tagger, options: SuggestOptions) -> list[int]:
    """Places of n documents that the tagger is unsure about, far from each other where it has an encoder."""
    runs, vectors = list[Run](), list[Floats]()
    dense = next((name for name, stage in tagger.retrievers.items() if isinstance(stage, Dense)), None)
    for batch in batches(documents):
        pool = tagger.candidates(batch)
        runs.append(tagger.cut(batch, tagger.rank(pool), options))
        vectors.append(pool.readings[dense].vectors if dense else np.zeros((len(batch), 1), np.float32))
    if not runs:
        return []
    shortlist = np.argsort(-uncertainty(Run.concat(runs)), kind="stable")[: 5 * n]  # then they are chosen by distance
    return [int(shortlist[each]) for each in far_apart(np.concatenate(vectors)[shortlist], n)]


def by_length(lengths: Longs, n: int, rng: np.random.Generator) -> list[int]:
    """One place from each of n groups of documents of similar length, which differ by at most one in size.

    >>> by_length(np.array([30, 10, 20, 40]), 2, np.random.default_rng(0)) in ([1, 0], [1, 3], [2, 0], [2, 3])
    True
    """
    groups = np.array_split(np.argsort(lengths, kind="stable"), min(n, len(lengths))) if len(lengths) else []
    return [int(rng.choice(group)) for group in groups]


def uncertainty(run: Run) -> NDArray[np.float64]:
    """(documents,) the sum of the entropies of their suggestions, in bits: one of confidence 1/2 has one bit.

    >>> run = Run.from_rows([{3: 1.0, 4: 0.5}, {}]).rescored(np.array([1.0, 0.5]), np.array([0.5, 1.0]))
    >>> uncertainty(run).tolist()
    [1.0, 0.0]
    """
    if run.confidences is None:
        if len(run.labels):
            raise ConfigError(_NEVER_UNSURE)
        return np.zeros(len(run))
    sure = run.confidences.astype(np.float64)
    with np.errstate(divide="ignore", invalid="ignore"):
        bits = [np.where(each > 0, -each * np.log2(each), 0.0) for each in (sure, 1 - sure)]
    return np.asarray(np.bincount(run.rows, bits[0] + bits[1], len(run)), np.float64)


def far_apart(vectors: Floats, n: int) -> list[int]:
    """Places of n vectors: the first, and then always the one whose nearest chosen one is farthest (greedy k-centre).

    vectors: (documents, dim) of norm 1. Gonzalez 1985: the greatest distance of any to its nearest chosen one is at
    most twice the least possible.

    >>> far_apart(np.array([[1.0, 0.0], [0.9, 0.1], [0.0, 1.0]], np.float32), 2)
    [0, 2]
    """
    chosen, nearest = list[int](), np.full(len(vectors), -np.inf)
    for _ in range(min(n, len(vectors))):
        nearest[chosen] = np.inf
        place = int(np.argmin(nearest))
        chosen.append(place)
        nearest = np.maximum(nearest, vectors @ vectors[place])
    return chosen
