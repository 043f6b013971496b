"""Encode labels when their vectors are needed: rough vectors propose candidates, and only these are encoded."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from itertools import chain
from pathlib import Path
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from tagwright.core.saved import read_manifest, write_manifest
from tagwright.encoders.bi_encoder import BiEncoder
from tagwright.encoders.layers import unit
from tagwright.errors import ModelError
from tagwright.stages.dense.index import Kind, Search, Storage, Vectors
from tagwright.types import Floats, Label, Run

Sketch: TypeAlias = Callable[[Sequence[str]], Floats]
"Turns texts into (texts, dim) rough vectors of norm 1, or zero, without delay. `static.read_sketch` makes one."


class RoughLabels:
    """Propose the labels whose rough vectors are nearest to the rough vector of a text. Threads may share them.

    make_sketch: called once, when the first text comes; a saved tagger loads faster without it.
    """

    def __init__(self, search: Search, make_sketch: Callable[[], Sketch | None]) -> None:
        self.search, self._make_sketch, self._lock = search, make_sketch, threading.Lock()
        self._sketch: Sketch | None = None

    @classmethod
    def of(cls, views: Sequence[tuple[str, ...]], sketch: Sketch, kind: Kind) -> RoughLabels:
        """views: the texts of each label, whose vectors are averaged. kind: of the index where labels are many."""
        rows = {texts: row for row, texts in enumerate(dict.fromkeys(views))}  # many labels may share a name
        place = {text: i for i, text in enumerate(dict.fromkeys(chain.from_iterable(rows)))}  # and have no other text
        parts = sketch(list(place))[[place[text] for texts in rows for text in texts]]
        rough = unit(parts.reshape(len(rows), len(views[0]), -1).mean(axis=1))
        own = np.fromiter(map(rows.__getitem__, views), np.int64, len(views))
        return cls(Search(Vectors.of(rough[own], "float16"), kind), lambda: sketch)

    def propose(self, texts: Sequence[str], count: int) -> Run:
        """The `count` labels whose rough vectors are nearest to those of the texts."""
        with self._lock:
            if self._sketch is None:
                self._sketch = self._make_sketch()
        if self._sketch is None:
            raise ModelError("the encoder has no table of input embeddings, which propose labels; save the model again")
        return self.search.nearest(self._sketch(texts), count)

    def save(self, folder: Path) -> None:
        """Write the rough vectors of the labels and their index into an existing folder."""
        write_manifest(folder, "rough labels", {"index": self.search.save(folder)})

    @classmethod
    def load(
        cls, folder: Path, shape: tuple[int, int], kind: Kind, make_sketch: Callable[[], Sketch | None]
    ) -> RoughLabels:
        """Memory-map what `save` wrote. Raises ModelError when it is damaged or not of this shape (labels, dim)."""
        described = read_manifest(folder, "rough labels").get("index")
        return cls(Search.load(folder, described, "float16", kind, shape), make_sketch)


Views: TypeAlias = Callable[[Sequence[Label]], list[tuple[str, ...]]]
"The texts of each label, the same number for all. The vector of a label is the mean of theirs, of norm 1."


class PendingLabels:
    """The vectors of labels, each encoded when it is first needed. Threads may share them.

    Labels in the encoder's cache are read from there at once.
    """

    def __init__(self, labels: Sequence[Label], views: Views, encoder: BiEncoder, storage: Storage) -> None:
        self.labels, self.views, self.encoder = labels, views, encoder
        vectors, known = encoder.known([text for texts in views(labels) for text in texts], "document")
        views_known = known.reshape(len(labels), -1)
        whole = views_known.all(axis=1)
        self._vectors, self._missing = Vectors(np.zeros((len(labels), encoder.dim), storage)), np.asarray(~whole)
        of_whole = vectors[np.repeat(whole, views_known.shape[1])[known]]
        self._vectors.codes[whole] = mean_of_views(of_whole, int(whole.sum()))
        self._lock = threading.Lock()

    @property
    def missing(self) -> int:
        """Labels that are not encoded yet."""
        return int(self._missing.sum())

    def all(self) -> Vectors:
        """The vectors of all labels, as they are stored."""
        self._encode(np.arange(len(self.labels)))
        return self._vectors

    def __getitem__(self, labels: NDArray[np.integer]) -> Floats:
        """(labels, dim) float32, rounded as they are stored."""
        self._encode(labels)
        return self._vectors[labels]

    def _encode(self, labels: NDArray[np.integer]) -> None:
        if not self._missing[labels].any():
            return
        with self._lock:  # what is missing is asked again: another thread may just have encoded it
            new = np.unique(labels[self._missing[labels]])
            views = self.views([self.labels[label] for label in new.tolist()])
            texts = [text for each in views for text in each]
            vectors = self.encoder.encode(texts, role="document", progress="labels")
            self._vectors.codes[new] = mean_of_views(vectors, len(new))
            self._missing[new] = False  # only now: others read without the lock


def mean_of_views(vectors: Floats, labels: int) -> Floats:
    """(labels, dim) of norm 1, from the vectors of their texts, those of a label one after the other."""
    mean: Floats = vectors.reshape(labels, -1, vectors.shape[-1]).mean(axis=1) if labels else vectors
    return unit(mean)
