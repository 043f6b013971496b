"""Suggest labels by label trees over words (Parabel).

omikuji runs in a process of its own, see stages/trees/forest.py. training/linear.py trains the trees.
"""

from pathlib import Path
from typing import Self

import numpy as np

from tagwright.core.extras import require
from tagwright.core.saved import check_files, digests, read_manifest, read_number, write_manifest
from tagwright.core.workers import Worker, WorkerError
from tagwright.data.sparse_arrays import Matrix
from tagwright.errors import ModelError, TagwrightError
from tagwright.stages.trees.forest import Forest
from tagwright.types import Run

WIDEST = 1 << 16
"Maximum beam width: omikuji allocates memory for all of it."


def forest_worker() -> Worker:
    """Start a process for label trees, see `Forest`. Raises ConfigError when omikuji is not installed."""
    require("a stage of label trees", "omikuji")
    return Worker(Forest)


class LabelTrees:
    """Label trees of Parabel. words: number of features. beam: branches followed in each tree."""

    def __init__(self, forest: Worker, words: int, beam: int = 10) -> None:
        self.forest, self.words, self.beam = forest, words, beam

    def predict(self, features: Matrix, k: int) -> Run:
        """Return the k most probable labels of each row of features (documents, words); fewer if the beam is narrow.

        A row without words has no labels. Scores are probabilities, 0 to 1. Raises ValueError for features of another
        width.
        """
        if features.shape[1] != self.words:
            raise ValueError(f"features of {features.shape[1]} words for trees over {self.words}")
        arrays = features.indptr, features.indices, np.asarray(features.data, np.float32)
        return Run.of(*self.forest.ask("predict", features=arrays, beam=self.beam, k=k))

    def save(self, folder: Path) -> None:
        """Write into an existing folder. Raises TagwrightError when it cannot be written."""
        try:
            self.forest.ask("save", folder=folder.absolute())
        except WorkerError as error:
            raise TagwrightError(f"{folder}: the label trees cannot be written ({error}); is the disk full?") from None
        write_manifest(folder, "label trees", {"beam": self.beam, "files": digests(folder)})

    @classmethod
    def load(cls, folder: Path) -> Self:
        """Read what `save` wrote. Raises ModelError when it is missing or damaged, ConfigError without omikuji."""
        manifest = read_manifest(folder, "label trees")
        beam = read_number(folder, manifest, "beam", WIDEST)
        check_files(folder, manifest.get("files"), whole=True)  # omikuji itself does not validate them
        forest = forest_worker()
        try:
            return cls(forest, forest.ask("load", folder=folder.absolute()), beam)
        except WorkerError as error:
            raise ModelError(f"{folder}: the trees cannot be read ({error}); save the model again") from None
