"""Choose the documents to label next: random ones, of all lengths, or those a tagger is unsure about."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from tagwright.errors import ConfigError
from tagwright.review import By
from tagwright.stages.by_language import plain
from tagwright.stages.dense import Dense
from tagwright.tagger.acceptance import SuggestOptions
from tagwright.tagger.pipeline import Tagger, batches
from tagwright.types import Document, Floats, Longs, Run


def sample(
    documents: Sequence[Document], n: int, by: By = "random", *, tagger: Tagger | None = None, seed: int = 0,
    only: Sequence[str] = (), without: Sequence[str] = (),
) -> list[int]:  # fmt: skip
    """Return the positions of n documents to label next, the first ones first; of all documents if there are fewer.

    by: "random" draws them; "length" draws one from each of n groups of equal size by length of the text;
    "uncertainty" takes those with the greatest expected entropy of the tagger's first ten suggestions, far from each
    other in meaning.
    tagger, only, without: for uncertainty, with conditions on the suggested labels, see `SuggestOptions`. seed: of the
    random draws.

    Raises ConfigError for n below 1, for uncertainty without a tagger or with one that estimates no confidence, and for
    conditions that fit no label.
    """
    if n < 1:
        raise ConfigError(f"n is {n}, expected at least 1")
    rng = np.random.default_rng(seed)
    if by == "random":
        return [int(position) for position in rng.permutation(len(documents))[:n]]
    if by == "length":
        return sample_by_length(np.array([len(document.text) for document in documents], np.int64), n, rng)
    if tagger is None:
        raise ConfigError("whose uncertainty? give a tagger")
    if not tagger.combiner.estimates_confidence:
        raise ConfigError("this tagger does not estimate confidences; sample at random, or by length")
    return _sample_by_uncertainty(documents, n, tagger, SuggestOptions(k=10, only=only, without=without))


def sample_by_length(lengths: Longs, n: int, rng: np.random.Generator) -> list[int]:
    """Return one position from each of n groups of similar length, which differ by at most one in size.

    lengths: (documents,) in characters.

    >>> sample_by_length(np.array([30, 10, 20, 40]), 2, np.random.default_rng(0)) in ([1, 0], [1, 3], [2, 0], [2, 3])
    True
    """
    groups = np.array_split(np.argsort(lengths, kind="stable"), min(n, len(lengths))) if len(lengths) else []
    return [int(rng.choice(group)) for group in groups]


def _sample_by_uncertainty(documents: Sequence[Document], n: int, tagger: Tagger, options: SuggestOptions) -> list[int]:
    runs, vectors = list[Run](), list[Floats]()
    dense = next((name for name, stage in tagger.retrievers.items() if isinstance(plain(stage), Dense)), None)
    for batch in batches(documents):
        pool = tagger.candidates(batch)
        runs.append(tagger.cut(batch, tagger.rank(pool), options))
        # without an encoder all are equally far from each other, so the least certain ones are taken
        vectors.append(pool.readings[dense].vectors if dense else np.zeros((len(batch), 1), np.float32))
    if not runs:
        return []
    unsure = np.argsort(-uncertainty(Run.concat(runs)), kind="stable")[: 5 * n]  # enough to choose distant ones from
    return [int(unsure[position]) for position in farthest_first(np.concatenate(vectors)[unsure], n)]


def uncertainty(run: Run) -> NDArray[np.float64]:
    """Return (documents,) the sum of the entropies of their suggestions, in bits: one of confidence 1/2 has one bit.

    >>> run = Run.from_rows([{3: 1.0, 4: 0.5}, {}]).rescored(np.array([1.0, 0.5]), np.array([0.5, 1.0]))
    >>> uncertainty(run).tolist()
    [1.0, 0.0]
    """
    if run.confidences is None:  # no document has a suggestion
        return np.zeros(len(run))
    sure = run.confidences.astype(np.float64)
    with np.errstate(divide="ignore", invalid="ignore"):
        right, wrong = (np.where(p > 0, -p * np.log2(p), 0.0) for p in (sure, 1 - sure))
    return np.asarray(np.bincount(run.rows, right + wrong, len(run)), np.float64)


def farthest_first(vectors: Floats, n: int) -> list[int]:
    """Return positions of n vectors: the first, then always the one farthest from its nearest chosen one.

    vectors: (documents, dim) of norm 1. This is greedy k-centre (Gonzalez 1985): the greatest distance of any vector to
    its nearest chosen one is at most twice the least possible.

    >>> farthest_first(np.array([[1.0, 0.0], [0.9, 0.1], [0.0, 1.0]], np.float32), 2)
    [0, 2]
    """
    chosen, similarity = list[int](), np.full(len(vectors), -np.inf)  # to the nearest chosen one
    for _ in range(min(n, len(vectors))):
        similarity[chosen] = np.inf
        position = int(np.argmin(similarity))
        chosen.append(position)
        similarity = np.maximum(similarity, vectors @ vectors[position])
    return chosen
