"""Suggest labels by label trees over words (Parabel), trained and held by omikuji in a process of its own.

omikuji logs on stdout, draws bars on stderr, and aborts its process when it fails: all of that is confined to a worker
of core/workers.py, which holds a `Forest`.
"""

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Self, TypeAlias

import numpy as np
from numpy.typing import NDArray

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

Arrays: TypeAlias = tuple[NDArray[Any], NDArray[Any], NDArray[Any]]
"Those of a CSR matrix (documents, words): indptr, indices, data."


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

    @classmethod
    def load(cls, folder: Path, beam: int) -> Self:
        """Read what `save` wrote. Raises ModelError when it is missing or damaged, ConfigError without omikuji."""
        forest = forest_worker()
        try:
            return cls(forest, forest.ask("load", folder=folder.absolute()), beam)
        except WorkerError as error:
            raise ModelError(f"{folder}: the trees cannot be read ({error}); save the model again") from None


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
        return {"k": self.k, "places": self.places, "words": self.bag, "beam": self.model.beam, "model": self.model}

    @classmethod
    def from_state(cls, state: Mapping[str, Any], labels: Sequence[Label]) -> Self:
        """Make the stage of a saved state, for the same labels."""
        model = LabelTrees.load(saved_folder(state, "model"), state["beam"])
        return cls(labels, BagOfWords.from_state(state["words"]), model, state["k"], state["places"])


def fit_trees(
    features: Matrix, gold: Run, labels: int, *, trees: int = 3, leaf: int = 100, beam: int = 10, workers: int = 0
) -> LabelTrees:
    """Parabel (FuTex 3.3; the defaults are its own). features: (documents, words) CSR; gold: a row for each document.

    trees: each is grown from another random start; their probabilities are averaged. leaf: a branch with fewer labels
    is not split again. beam: branches that are followed in each tree when a document is tagged. workers: threads; 0 is
    one for each core.

    omikuji takes no seed: two trainings differ a little. Documents without labels or words are ignored. Raises
    ConfigError when no document is left, TagwrightError when omikuji fails or is not installed.
    """
    used = np.flatnonzero((np.diff(features.indptr) > 0) & (np.diff(gold.indptr) > 0))
    if not len(used):
        raise ConfigError("no document has both words and a label of the vocabulary; label trees learn from these")
    forest, learnt, gold = forest_worker(), features[used], gold.take(used)
    with bar("parabel trees", None), scratch_folder() as folder:
        try:
            words = forest.ask(
                "grow",
                features=(learnt.indptr, learnt.indices, learnt.data),
                gold=(gold.indptr, gold.labels),
                size=(labels, features.shape[1]),
                scratch=folder,
                settings={"n_trees": trees, "min_branch_size": leaf},
                workers=workers,
            )
        except WorkerError as error:
            raise TagwrightError(f"omikuji could not grow parabel trees ({error})") from None
    return LabelTrees(forest, words, beam)


class Forest:
    """The trees of the process that a `Worker` starts."""

    model: Any = None

    def grow(
        self,
        features: Arrays,
        gold: tuple[NDArray[Any], NDArray[Any]],
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

    def predict(self, features: Arrays, beam: int, k: int) -> Arrays:
        """The k best labels of each row: the arrays of a Run."""
        ranked = [self.model.predict(row, beam, k) if row else [] for row in _rows(features)]
        pairs = [pair for row in ranked for pair in row]
        labels = np.fromiter((label for label, _ in pairs), np.int32, len(pairs))
        scores = np.fromiter((score for _, score in pairs), np.float32, len(pairs))
        return np.cumsum([0, *map(len, ranked)], dtype=np.int64), labels, scores


def _rows(features: Arrays) -> Iterator[list[tuple[int, float]]]:
    """Words and weights of each document."""
    indptr, indices, data = features
    for start, end in zip(indptr[:-1].tolist(), indptr[1:].tolist(), strict=True):
        yield list(zip(indices[start:end].tolist(), data[start:end].tolist(), strict=True))


def _lines(features: Arrays, gold: tuple[NDArray[Any], NDArray[Any]]) -> Iterator[str]:
    """Labels and words of each document."""
    starts, labels = gold
    for row, words in enumerate(_rows(features)):
        weights = " ".join(f"{word}:{weight:.6g}" for word, weight in sorted(words))
        yield f"{','.join(map(str, labels[starts[row] : starts[row + 1]].tolist()))} {weights}\n"
