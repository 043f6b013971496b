"""Train and hold label trees with omikuji, in a process of its own.

omikuji logs on stdout, draws bars on stderr, and aborts its process when it fails: all of that is confined to a worker
of core/workers.py, which holds a `Forest`.
"""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

Array = NDArray[Any]


class Forest:
    """The trees of this process. features: the arrays of a CSR matrix (documents, words)."""

    model: Any = None

    def grow(
        self,
        features: tuple[Array, Array, Array],
        gold: tuple[Array, Array],
        size: tuple[int, int],
        scratch: Path,
        settings: dict[str, Any],
        workers: int,
    ) -> int:
        """Learn from documents; returns the number of words. gold: indptr and labels. size: number of labels and words.

        scratch: an existing folder for a file in the format of the Extreme Classification repository.
        """
        import omikuji

        path = scratch / "documents.txt"
        with path.open("w", encoding="ascii") as file:
            file.write(f"{len(gold[0]) - 1} {size[1]} {size[0]}\n")
            file.writelines(_lines(features, gold))
        chosen = omikuji.Model.default_hyper_param()
        for name, value in settings.items():
            setattr(chosen, name, value)
        self.model = omikuji.Model.train_on_data(str(path), chosen, workers)
        return int(self.model.n_features)

    def load(self, folder: Path) -> int:
        """Read what `save` wrote; returns the number of words."""
        import omikuji

        self.model = omikuji.Model.load(str(folder))
        return int(self.model.n_features)

    def save(self, folder: Path) -> None:
        """Write into an existing folder."""
        self.model.save(str(folder))

    def predict(self, features: tuple[Array, Array, Array], beam: int, k: int) -> tuple[Array, Array, Array]:
        """The k best labels of each row: the arrays of a Run."""
        found = [self.model.predict(row, beam, k) if row else [] for row in _rows(features)]
        pairs = [pair for row in found for pair in row]
        labels = np.fromiter((label for label, _ in pairs), np.int32, len(pairs))
        scores = np.fromiter((score for _, score in pairs), np.float32, len(pairs))
        return np.cumsum([0, *map(len, found)], dtype=np.int64), labels, scores


def _rows(features: tuple[Array, Array, Array]) -> Iterator[list[tuple[int, float]]]:
    """Words and weights of each document."""
    indptr, indices, data = features
    for start, end in zip(indptr[:-1].tolist(), indptr[1:].tolist(), strict=True):
        yield list(zip(indices[start:end].tolist(), data[start:end].tolist(), strict=True))


def _lines(features: tuple[Array, Array, Array], gold: tuple[Array, Array]) -> Iterator[str]:
    """Labels and words of each document."""
    starts, labels = gold
    for row, words in enumerate(_rows(features)):
        weights = " ".join(f"{word}:{weight:.6g}" for word, weight in sorted(words))
        yield f"{','.join(map(str, labels[starts[row] : starts[row + 1]].tolist()))} {weights}\n"
