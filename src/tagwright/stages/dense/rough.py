"""Rough vectors of labels, which propose candidates at once: only these pass through the transformer."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from itertools import chain
from pathlib import Path
from typing import TypeAlias

import numpy as np

from tagwright.core.saved import read_manifest, write_manifest
from tagwright.encoders.unit_vectors import unit
from tagwright.errors import ModelError
from tagwright.stages.dense.index import Index, Kind, Search, Vectors
from tagwright.types import Floats, Run

Sketch: TypeAlias = Callable[[Sequence[str]], Floats]
"Turns texts into (texts, dim) rough vectors of norm 1, or zero, without delay. encoders.sketch makes one."


class RoughLabels:
    """The labels whose rough vectors are nearest to that of a text. Threads may share them.

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
        self.search.vectors.save(folder)
        index = self.search.index
        if index:
            index.save(folder)
        write_manifest(folder, "rough labels", {"index": index and index.described})

    @classmethod
    def load(
        cls, folder: Path, shape: tuple[int, int], kind: Kind, make_sketch: Callable[[], Sketch | None]
    ) -> RoughLabels:
        """Memory-map what `save` wrote. Raises ModelError when it is damaged or not of this shape (labels, dim)."""
        manifest = read_manifest(folder, "rough labels")
        vectors = Vectors.load(folder, "float16", shape)
        return cls(Search(vectors, kind, Index.read(folder, manifest.get("index"), shape)), make_sketch)
