"""Labels without all vectors yet: rough vectors propose candidates, and only candidates are encoded."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import chain
from typing import Protocol, TypeAlias

import numpy as np
from numpy.typing import NDArray

from tagwright.encoders.prompts import Role
from tagwright.encoders.unit_vectors import unit
from tagwright.stages.dense.index import Vectors
from tagwright.types import Floats, Mask, Run

BUDGET = 200
"""Candidates per document that are encoded and scored while labels are missing; see `python -m benchmarks first`."""


Sketch: TypeAlias = Callable[[Sequence[str]], Floats]
"Turns texts into (texts, dim) rough vectors of norm 1, or zero, without delay. encoders.sketch makes one."


class LazyEncoder(Protocol):
    """An encoder with some cached vectors and a rough vector for any text. encoders.bi_encoder.BiEncoder is one."""

    def encode(self, texts: Sequence[str], *, role: Role | None = None, progress: str = "") -> Floats:
        """(texts, dim), each of norm 1."""
        ...

    def known(self, texts: Sequence[str], role: Role | None = None) -> tuple[Floats, Mask]:
        """(texts, dim) vectors and (texts,) whether each is cached."""
        ...

    def sketch(self) -> Sketch | None:
        """The rough encoder for this one; None if there is none, or if encoding takes no time."""
        ...


class PendingLabels:
    """views: the texts of each label, the same number for all; the vector of a label is their mean, of norm 1."""

    def __init__(self, views: Sequence[tuple[str, ...]], encoder: LazyEncoder, sketch: Sketch) -> None:
        self.views, self.encoder, self.sketch = views, encoder, sketch
        vectors, known = encoder.known([text for texts in views for text in texts], "document")
        shape = len(views), len(views[0])
        self._vectors = vectors.reshape(*shape, -1)
        self._missing: Mask = ~np.asarray(known.reshape(shape).all(axis=1), np.bool_)
        rows = {texts: row for row, texts in enumerate(dict.fromkeys(views))}  # many labels may share a name
        place = {text: i for i, text in enumerate(dict.fromkeys(chain.from_iterable(rows)))}  # and have no other text
        rough = sketch(list(place))[[place[text] for texts in rows for text in texts]].reshape(len(rows), shape[1], -1)
        own = np.fromiter(map(rows.__getitem__, views), np.int64, len(views))
        self._rough = Vectors.of(unit(rough.mean(axis=1)), "float16").take(own, Vectors.of(rough[:0, 0], "float16"))

    @property
    def missing(self) -> int:
        """Labels that are not encoded yet."""
        return int(self._missing.sum())

    def propose(self, texts: Sequence[str], k: int) -> Run:
        """The k labels whose rough vectors are nearest to those of the texts."""
        return self._rough.nearest(self.sketch(texts), k)

    def encode(self, labels: NDArray[np.integer], progress: str = "") -> None:
        """Encode those of these labels that are missing."""
        new = np.unique(labels[self._missing[labels]])
        if not len(new):
            return
        texts = [text for label in new.tolist() for text in self.views[label]]
        vectors = self.encoder.encode(texts, role="document", progress=progress)
        self._vectors[new] = vectors.reshape(len(new), *self._vectors.shape[1:])
        self._missing[new] = False

    def vectors(self, labels: NDArray[np.integer]) -> Floats:
        """(labels, dim) their vectors; zero for one that is missing."""
        return unit(self._vectors[labels].mean(axis=1))
