"""Find the label vectors nearest to a query: exactly, or by a FAISS index with a measured recall.

Below: rough vectors, which propose candidates, so that only these need to be encoded.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from importlib.util import find_spec
from itertools import chain, pairwise
from pathlib import Path
from typing import Any, Literal, TypeAlias, TypeVar

import numpy as np
from numpy.typing import NDArray

from tagwright.core.extras import require
from tagwright.core.saved import saved_folder
from tagwright.data.sparse_arrays import largest_cells
from tagwright.encoders.layers import normalize_in_place
from tagwright.encoders.sentence_transformer import cached_once
from tagwright.errors import ModelError
from tagwright.types import Floats, Longs, Run

T = TypeVar("T", bound=Hashable)

Storage: TypeAlias = Literal["float32", "float16"]
Kind: TypeAlias = Literal["auto", "exact", "ivf"]

EXACT_LIMIT = 100_000
"Up to this many vectors, search is exact: a tenth of a second for one query, a few milliseconds for each of many."

INDEX_MINIMUM = 10_000
"With fewer vectors there is no index, even if requested: k-means would have too few per list."

QUERIES = 256
"Queries compared with a block at a time."

BLOCK = 1 << 16
"Vectors that are converted to float32 together."

FILE = "index.faiss"
"The name of the file that FAISS writes."

MORE = 100
"Extra vectors that an index proposes beside the k requested ones, because it stores one byte per number."

TOGETHER = 2048
"Labels whose rough vectors are computed together, in memory that is used again for the next ones."

RECALL = 0.96
"The required recall of the 10 nearest, on queries made from the vectors themselves."

SAMPLED = 300
"""The number of vectors that queries are made from. Their recall follows that of abstracts: searching 32 lists of
10,000 and 100,000 names, and 64 of a million, 0.981, 0.973, 0.966; of abstracts 0.952, 0.962, 0.960 (arxiv, static
encoder)."""


@dataclass(frozen=True, slots=True, eq=False)
class Vectors:
    """Unit vectors as they are stored. codes: (n, dim) float32 or float16."""

    codes: NDArray[Any]

    @classmethod
    def of(cls, vectors: Floats, storage: Storage) -> Vectors:
        """Store vectors (n, dim)."""
        return cls(vectors.astype(storage))

    def __len__(self) -> int:
        return len(self.codes)

    def __getitem__(self, rows: slice | NDArray[np.integer]) -> Floats:
        """(rows, dim) float32."""
        vectors: Floats = self.codes[rows].astype(np.float32)
        return vectors

    def moved(self, before: Sequence[T], after: Sequence[T], encode: Callable[[list[T]], Vectors]) -> Vectors:
        """The vectors of other texts than before: those of known texts are copied, the others are encoded."""
        rows = {text: row for row, text in enumerate(before)}
        new = [text for text in dict.fromkeys(after) if text not in rows]
        rows.update(zip(new, range(len(self), len(self) + len(new)), strict=True))
        return Vectors(np.concatenate([self.codes, encode(new).codes])[[rows[text] for text in after]])

    def cosines(self, queries: Floats, pairs: Longs, rows: NDArray[np.integer]) -> Floats:
        """(pairs,) cosine of queries[pairs[i]] and vector rows[i]; fastest if those of a query follow each other."""
        cosines = np.empty(len(rows), np.float32)
        for start in range(0, len(rows), BLOCK):
            part = slice(start, start + BLOCK)
            used, place = np.unique(rows[part], return_inverse=True)
            vectors = self[used]  # one that many documents have is converted once
            changes = np.flatnonzero(np.diff(pairs[part])) + 1
            for first, end in pairwise([0, *changes.tolist(), len(place)]):
                query = queries[pairs[start + first]]
                cosines[start + first : start + end] = np.einsum("ij,j->i", vectors[place[first:end]], query)
        return cosines

    def nearest(self, queries: Floats, k: int) -> Run:
        """The k vectors of largest cosine for each query (m, dim), every vector compared.

        They do not depend on the other queries, nor does which of equal ones are among them.
        """
        rows, labels, scores = [np.zeros(0, np.int64)], [np.zeros(0, np.int64)], [np.zeros(0, np.float32)]
        margin = 4 * rounding_error(self.codes.shape[1])
        for start, block in self.blocks():
            for first in range(0, len(queries), QUERIES):
                cosines = queries[first : first + QUERIES] @ block.T
                row, column = np.divmod(places := largest_cells(cosines, k, margin), len(block))
                rows.append(first + row)
                labels.append(start + column)
                scores.append(cosines.ravel()[places])
        row = np.concatenate(rows)
        order = np.argsort(row, kind="stable")  # the blocks of a query one after the other
        indptr = np.searchsorted(row[order], np.arange(len(queries) + 1))
        run = Run.of_distinct(indptr, np.concatenate(labels)[order], np.concatenate(scores)[order])
        return run if k >= len(self) else self._settled(run, queries, k, margin).top(k)

    def _settled(self, run: Run, queries: Floats, k: int, margin: float) -> Run:
        """The run, with the cosine of each suggestion near the k-th of its row computed anew, by itself.

        A matrix product rounds a row by how many others there are, and would decide by that which of equals is k-th.
        """
        last = run.scores[run.indptr[:-1] + k - 1]
        unsure = np.flatnonzero(np.abs(run.scores - last[run.rows]) <= margin)
        scores = run.scores.copy()
        scores[unsure] = self.cosines(queries, run.rows[unsure], run.labels[unsure])
        return run.rescored(scores)

    def blocks(self) -> Iterator[tuple[int, Floats]]:
        """The first row and the vectors of each block, float32."""
        for start in range(0, len(self), BLOCK):
            yield start, self[start : start + BLOCK]


@dataclass(frozen=True, slots=True, eq=False)
class Index:
    """A FAISS index over stored vectors.

    It proposes more than needed, at most twice as many; the stored vectors rank them. faiss: holds a second copy, a
    byte per number; its `nprobe` is the number of lists that are searched.
    """

    faiss: Any

    @classmethod
    def build(cls, vectors: Vectors, lists: int) -> Index:
        """Train on a sample, add all, and double the lists that are searched until RECALL is reached. Seeded."""
        queries = _made_up_queries(vectors, 256)
        exact, index = vectors.nearest(queries, 10), cls(_fill_index(vectors, lists))
        while recall(index.nearest(vectors, queries, 10), exact) < RECALL and index.faiss.nprobe < 4096:
            index.faiss.nprobe *= 2
        return index

    def nearest(self, vectors: Vectors, queries: Floats, k: int) -> Run:
        """The k nearest of `vectors` for each query (m, dim), as far as the index finds them, with their cosines."""
        proposed = self.faiss.search(queries, min(2 * k, k + MORE, len(vectors)))[1]
        is_found = proposed >= 0
        pairs, rows = np.nonzero(is_found)[0], proposed[is_found]
        indptr = np.concatenate([[0], np.cumsum(is_found.sum(axis=1))])
        return Run.of(indptr, rows, vectors.cosines(queries, pairs, rows)).top(k)

    def save(self, folder: Path) -> None:
        """Write into an existing folder, as FAISS reads it."""
        import faiss

        faiss.write_index(self.faiss, str(folder / FILE))

    @classmethod
    def load(cls, folder: Path) -> Index:
        """Memory-map a saved index. Raises ConfigError where FAISS is not installed."""
        require("the index of label vectors", "faiss")
        import faiss

        return cls(faiss.read_index(str(folder / FILE), faiss.IO_FLAG_MMAP))


class Search:
    """Search nearest vectors; for many vectors through an index, which is built once. Threads may share it."""

    def __init__(self, vectors: Vectors, kind: Kind, index: Index | None = None) -> None:
        self.vectors, self._kind, self._loaded = vectors, kind, index

    @cached_once
    def index(self) -> Index | None:
        """The index, built if it is not there yet; None where every vector is compared."""
        lists = None if self._loaded else lists_of(self._kind, len(self.vectors))
        return Index.build(self.vectors, lists) if lists else self._loaded

    def nearest(self, queries: Floats, k: int) -> Run:
        """The k vectors of largest cosine for each query (m, dim), as far as the index finds them."""
        index = self.index
        return index.nearest(self.vectors, queries, k) if index else self.vectors.nearest(queries, k)

    def state(self) -> dict[str, Any]:
        """Return what a saved search is made of: the vectors, and the index if there is one, or is needed."""
        return {"vectors": self.vectors.codes, "index": self.index}

    @classmethod
    def from_state(cls, state: Mapping[str, Any], kind: Kind) -> Search:
        """Make the search of a saved state."""
        index = state["index"] and Index.load(saved_folder(state, "index"))
        return cls(Vectors(state["vectors"]), kind, index)


def lists_of(kind: Kind, size: int) -> int | None:
    """The lists of an index of this kind for `size` vectors; None: exact search without an index.

    auto is exact up to EXACT_LIMIT, and where FAISS is not installed, otherwise IVF: HNSW is hardly quicker, takes
    longer to build and cannot be memory-mapped. There are 2 sqrt(n) lists, rounded to a power of two.

    >>> lists_of("auto", 1_000_000), lists_of("ivf", 20_000), lists_of("ivf", 1_000)
    (2048, 256, None)
    """
    if kind == "exact" or size < INDEX_MINIMUM:
        return None
    if kind == "auto" and (size <= EXACT_LIMIT or find_spec("faiss") is None):
        return None
    return int(2 ** round(np.log2(2 * size**0.5)))


def _fill_index(vectors: Vectors, lists: int) -> Any:
    """A FAISS index, trained on a sample, with all vectors."""
    require("an index of label vectors", "faiss")
    import faiss

    index = faiss.index_factory(vectors.codes.shape[1], f"IVF{lists},SQ8", faiss.METRIC_INNER_PRODUCT)
    wanted = 40 * lists  # k-means needs 39 per list
    index.train(vectors[np.sort(np.random.default_rng(0).permutation(len(vectors))[:wanted])])
    for _, block in vectors.blocks():
        index.add(block)
    return index


def rounding_error(dim: int) -> float:
    """The most by which the computed product of two vectors of norm 1 may be off in float32 (Higham 2002, section 3.1).

    Computed in two ways it differs by at most twice as much, and so does the k-th largest of several: what is four
    times as much above or below the k-th one way is so the other way.

    >>> rounding_error(384) < 2.3e-5
    True
    """
    return dim * float(np.finfo(np.float32).eps) / 2


def _made_up_queries(vectors: Vectors, count: int) -> Floats:
    """Queries to measure an index with: each the mean of the 10 of SAMPLED labels that are nearest to one label.

    Like a text, such a query lies among the labels of a subject, a thirtieth of all, without coinciding with any. The
    nearest of all labels would be nearer the more labels there are, and too easy to find among a million.
    """
    rng = np.random.default_rng(1)
    rows, sample = rng.integers(len(vectors), size=count), rng.permutation(len(vectors))[:SAMPLED]
    some = Vectors.of(vectors[np.sort(sample)], "float32")
    subjects = some.nearest(vectors[rows], 10)
    queries: Floats = some[subjects.labels].reshape(count, -1, vectors.codes.shape[1]).mean(axis=1)
    return queries


def recall(approximate: Run, exact: Run) -> float:
    """Return the share of labels of `exact` that `approximate` has in the same rows.

    >>> recall(Run.from_rows([[1, 2], [3]]), Run.from_rows([[1, 4], [3]])).__round__(4)
    0.6667
    """
    return float(exact.held_by(approximate).mean())


Sketch: TypeAlias = Callable[[Sequence[str]], Floats]
"Turns texts into (texts, dim) rough vectors of norm 1, or zero, without delay. `static.read_sketch` makes one."


class RoughLabels:
    """Propose the labels whose rough vectors are nearest to the rough vector of a text. Threads may share them.

    make_sketch: called once, when the first text comes; a saved tagger loads faster without it.
    """

    def __init__(self, search: Search, make_sketch: Callable[[], Sketch | None]) -> None:
        self.search, self._make_sketch = search, make_sketch

    @classmethod
    def of(cls, views: Sequence[tuple[str, ...]], sketch: Sketch, kind: Kind) -> RoughLabels:
        """views: the texts of each label, whose vectors are averaged. kind: of the index where labels are many."""
        parts = list[NDArray[Any]]()
        for start in range(0, len(views), TOGETHER):
            some = views[start : start + TOGETHER]
            place = {text: i for i, text in enumerate(dict.fromkeys(chain.from_iterable(some)))}
            vectors = sketch(list(place))[[place[text] for texts in some for text in texts]]
            parts.append(mean_of_views(vectors, len(some)).astype(np.float16))
        return cls(Search(Vectors(np.concatenate(parts)), kind), lambda: sketch)

    def propose(self, texts: Sequence[str], count: int) -> Run:
        """The `count` labels whose rough vectors are nearest to those of the texts."""
        if self._sketch is None:
            raise ModelError("the encoder has no table of input embeddings, which propose labels; save the model again")
        return self.search.nearest(self._sketch(texts), count)

    @cached_once
    def _sketch(self) -> Sketch | None:
        return self._make_sketch()


def mean_of_views(vectors: Floats, labels: int) -> Floats:
    """(labels, dim) of norm 1, from the vectors of their texts, those of a label one after the other."""
    mean: Floats = vectors.reshape(labels, -1, vectors.shape[-1]).mean(axis=1) if labels else vectors
    return normalize_in_place(mean)
