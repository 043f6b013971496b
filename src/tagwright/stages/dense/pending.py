"""Vectors of labels that are encoded when they are asked for: a vocabulary need not be encoded before the first tag."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from tagwright.encoders.bi_encoder import BiEncoder
from tagwright.encoders.unit_vectors import unit
from tagwright.stages.dense.index import Storage, Vectors
from tagwright.types import Floats, Label, Mask

Views: TypeAlias = Callable[[Sequence[Label]], list[tuple[str, ...]]]
"The texts of each label, the same number for all. The vector of a label is the mean of theirs, of norm 1."


class PendingLabels:
    """The vectors of labels, each encoded when it is first asked for. Threads may share them.

    Labels in the encoder's cache are read from there at once.
    """

    def __init__(self, labels: Sequence[Label], views: Views, encoder: BiEncoder, storage: Storage) -> None:
        self.labels, self.views, self.encoder, self.storage = labels, views, encoder, storage
        vectors, known = encoder.known([text for texts in views(labels) for text in texts], "document")
        self._vectors = Vectors.of(mean_of_views(vectors, len(labels)), storage)
        self._missing: Mask = ~np.asarray(known.reshape(len(labels), -1).all(axis=1), np.bool_)
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
            encoded = Vectors.of(mean_of_views(vectors, len(new)), self.storage)
            self._vectors.codes[new] = encoded.codes
            if self._vectors.scales is not None and encoded.scales is not None:
                self._vectors.scales[new] = encoded.scales
            self._missing[new] = False  # only now: others read without the lock


def mean_of_views(vectors: Floats, labels: int) -> Floats:
    """(labels, dim) of norm 1, from the vectors of their texts, those of a label one after the other."""
    mean: Floats = vectors.reshape(labels, -1, vectors.shape[-1]).mean(axis=1) if labels else vectors
    return unit(mean)
