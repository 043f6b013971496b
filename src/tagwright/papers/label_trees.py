"""Suggest labels by label trees over words (Parabel), trained and held by omikuji in a process of its own.

omikuji logs on stdout, draws bars on stderr, and aborts its process when it fails: all of that is confined to a worker
of core/workers.py, which holds a `Forest`.
"""

from collections.abc import Mapping, Sequence
from itertools import islice
from pathlib import Path
from typing import Any, Self

import numpy as np

from tagwright.core.atomic import scratch_folder
from tagwright.core.extras import require
from tagwright.core.progress import bar
from tagwright.core.saved import saved_folder
from tagwright.core.workers import Worker, WorkerError
from tagwright.data.bags import BagOfWords
from tagwright.data.sparse_arrays import Matrix
from tagwright.errors import ConfigError, ModelError, TagwrightError
from tagwright.stages.evidence import FindsAtOnce
from tagwright.types import Distribution, Document, Ints, Label, Run, places_of

LEAF, BEAM = 100, 10
"""The labels below which a branch is not split again, and the nodes followed on each level: those of FuTex 4.1, as are
omikuji's three trees."""


def forest_worker() -> Worker:
    """Start a process for label trees, see `Forest`. Raises ConfigError when omikuji is not installed."""
    require("a stage of label trees", "omikuji")
    return Worker(Forest)


class LabelTrees:
    """Label trees of Parabel, which a worker holds."""

    def __init__(self, forest: Worker) -> None:
        self.forest = forest

    def predict(self, features: Matrix, k: int) -> Run:
        """Return the k most probable labels of each row of features (documents, words); fewer if the beam is narrow.

        A row without words has no labels. Scores are probabilities, 0 to 1.
        """
        run: Run = self.forest.ask("predict", features=features, k=k)
        return run

    def save(self, folder: Path) -> None:
        """Write into an existing folder. Raises TagwrightError when it cannot be written."""
        try:
            self.forest.ask("save", folder=folder.absolute())
        except WorkerError as error:
            raise TagwrightError(f"{folder}: the label trees cannot be written ({error}); is the disk full?") from None

    @classmethod
    def load(cls, folder: Path) -> Self:
        """Read what `save` wrote. Raises ModelError when it is missing or damaged, ConfigError without omikuji."""
        forest = forest_worker()
        try:
            forest.ask("load", folder=folder.absolute())
        except WorkerError as error:
            raise ModelError(f"{folder}: the trees cannot be read ({error}); save the model again") from None
        return cls(forest)


class Trees(FindsAtOnce):
    """Candidates by trees of labels (Parabel). Scores are probabilities, 0 for a label beyond the beam.

    places: (labels of the trees,) the position of each in this vocabulary, -1 if it is missing.
    """

    distribution: Distribution = "sparse"
    meaning = "words typical of its labelled documents"

    def __init__(
        self, labels: Sequence[Label], bag: BagOfWords, model: LabelTrees, k: int = 100, places: Ints | None = None
    ) -> None:
        self.labels, self.bag, self.model, self.k = labels, bag, model, k
        self.places = np.arange(len(labels), dtype=np.int32) if places is None else places

    def read(self, documents: Sequence[Document]) -> Run:
        """All labels that the beams reach for each document."""
        run = self.model.predict(self.bag.transform(document.text for document in documents), len(self.places))
        return run.moved(self.places)

    def with_labels(self, labels: Sequence[Label]) -> "Trees":
        """Return a copy for another vocabulary: labels are mapped by id; new labels score 0."""
        moved = np.append(places_of(self.labels, labels), -1).astype(np.int32)
        return Trees(labels, self.bag, self.model, self.k, moved[self.places])

    def state(self) -> dict[str, Any]:
        """Return what a saved stage is made of."""
        return {"k": self.k, "places": self.places, "words": self.bag, "model": self.model}

    @classmethod
    def from_state(cls, state: Mapping[str, Any], labels: Sequence[Label]) -> Self:
        """Make the stage of a saved state, for the same labels."""
        model = LabelTrees.load(saved_folder(state, "model"))
        return cls(labels, BagOfWords.from_state(state["words"]), model, state["k"], state["places"])


def fit_trees(features: Matrix, gold: Run, labels: int, *, leaf: int = LEAF, workers: int = 0) -> LabelTrees:
    """Parabel (FuTex 3.3). features: (documents, words) CSR; gold: a row for each document.

    Each tree is grown from another random start; their probabilities are averaged. workers: threads; 0 is one for each
    core.

    omikuji takes no seed: two trainings differ a little. Documents without labels or words are ignored. Raises
    ConfigError when no document is left, TagwrightError when omikuji fails or is not installed.
    """
    from scipy.sparse import csr_matrix

    used = np.flatnonzero((np.diff(features.indptr) > 0) & (np.diff(gold.indptr) > 0))
    if not len(used):
        raise ConfigError("no document has both words and a label of the vocabulary; label trees learn from these")
    known, forest = gold.take(used), forest_worker()
    relevant = csr_matrix((np.ones(len(known.labels)), known.labels, known.indptr), (len(used), labels))
    with bar("parabel trees", None), scratch_folder() as folder:
        try:
            forest.ask(
                "grow", features=features[used], gold=relevant, scratch=folder / "documents", leaf=leaf, workers=workers
            )
        except WorkerError as error:
            raise TagwrightError(f"omikuji could not grow parabel trees ({error})") from None
    return LabelTrees(forest)


class Forest:
    """The trees of the process that a `Worker` starts."""

    model: Any = None

    def grow(self, features: Matrix, gold: Matrix, scratch: Path, leaf: int, workers: int) -> None:
        """Learn from documents. gold: (documents, labels).

        scratch: the path of a file in the format of the Extreme Classification repository.
        """
        import omikuji
        from sklearn.datasets import dump_svmlight_file

        with scratch.open("wb") as file:
            file.write(f"{features.shape[0]} {features.shape[1]} {gold.shape[1]}\n".encode())
            dump_svmlight_file(features, gold, file, multilabel=True)
        chosen = omikuji.Model.default_hyper_param()
        chosen.min_branch_size = leaf
        self.model = omikuji.Model.train_on_data(str(scratch), chosen, workers)

    def load(self, folder: Path) -> None:
        """Read what `save` wrote."""
        import omikuji

        self.model = omikuji.Model.load(str(folder))

    def save(self, folder: Path) -> None:
        """Write into an existing folder."""
        self.model.save(str(folder))

    def predict(self, features: Matrix, k: int) -> Run:
        """The k best labels of each row."""
        words = zip(features.indices.tolist(), features.data.tolist(), strict=True)
        rows = [list(islice(words, size)) for size in np.diff(features.indptr).tolist()]
        return Run.from_rows([dict(self.model.predict(row, BEAM, k)) if row else {} for row in rows])
