"""Suggest labels by label trees over words (Parabel).

omikuji runs in a process of its own, see papers/forest.py.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Self

import numpy as np

from tagwright.core.atomic import scratch_folder
from tagwright.core.checked import AtLeastOne, AtLeastZero, Checked, Range
from tagwright.core.extras import require
from tagwright.core.progress import bar
from tagwright.core.saved import (
    check_files,
    digests,
    read_array,
    read_manifest,
    read_number,
    write_arrays,
    write_manifest,
)
from tagwright.core.workers import Worker, WorkerError
from tagwright.data.bags import BagOfWords
from tagwright.data.sparse_arrays import Matrix
from tagwright.errors import ConfigError, ModelError, TagwrightError
from tagwright.papers.forest import Forest
from tagwright.stages.linear.classifiers import save_parts
from tagwright.types import Distribution, Document, Floats, Ints, Label, Retriever, Run, places_of

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


class Trees(Retriever):
    """Candidates by trees of labels (Parabel). A types.Retriever; scores are probabilities.

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

    def find(self, reading: Run) -> Run:
        """The k most probable labels of each document; none for a document without a known word."""
        return reading.top(self.k)

    def score(self, reading: Run, candidates: Run) -> Floats:
        """Return the probability of each candidate, (suggestions,); 0 for a label beyond the beam or unknown."""
        return reading.scores_of(candidates)

    def with_labels(self, labels: Sequence[Label]) -> "Trees":
        """Return a copy for another vocabulary: labels are mapped by id; new labels score 0."""
        moved = np.append(places_of(self.labels, labels), -1).astype(np.int32)
        return Trees(labels, self.bag, self.model, self.k, moved[self.places])

    def save(self, folder: Path) -> None:
        """Write the words, the trees, and their labels."""
        write_manifest(folder, "tree stage", {"k": self.k})
        write_arrays(folder, {"places": self.places})
        save_parts(folder, self.bag, self.model.save)

    @classmethod
    def load(cls, folder: Path, labels: Sequence[Label]) -> Self:
        """Read what `save` wrote, for the same labels. Raises ModelError when it is damaged or does not fit."""
        k = read_number(folder, read_manifest(folder, "tree stage"), "k")
        places = read_array(folder, "places", np.int32, (None,))
        bag, model = BagOfWords.load(folder / "words"), LabelTrees.load(folder / "model")
        known = np.sort(places[places >= 0])
        if places.min(initial=0) < -1 or (np.diff(known) == 0).any():
            raise ModelError(f"{folder / 'places.npy'}: cannot be read (a label occurs twice); save the model again")
        if places.max(initial=-1) >= len(labels) or model.words != len(bag.words):
            raise ModelError(
                f"{folder}: trees over {model.words} words and {places.max(initial=-1) + 1} labels, "
                f"expected {len(bag.words)} and {len(labels)}; save the model again"
            )
        return cls(labels, bag, model, k, np.array(places))


@dataclass(frozen=True, kw_only=True)
class LabelTreeOptions(Checked):
    """Trees of labels by omikuji; the defaults are those of FuTex. Raises ConfigError for a value that cannot work."""

    trees: AtLeastOne = 3
    "Trees, each grown from another random start; their probabilities are averaged."

    leaf: Annotated[int, Range(least=2)] = 100
    "A branch with fewer labels is not split again."

    beam: Annotated[int, Range(least=1, most=WIDEST)] = 10
    "Branches that are followed in each tree when a document is tagged."

    workers: AtLeastZero = 0
    "Threads; 0 is one for each core."


def fit_trees(features: Matrix, gold: Run, labels: int, options: LabelTreeOptions = LabelTreeOptions()) -> LabelTrees:
    """Parabel (FuTex 3.3). features: (documents, words) CSR; gold: a row for each document.

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
                settings={"n_trees": options.trees, "min_branch_size": options.leaf},
                workers=options.workers,
            )
        except WorkerError as error:
            raise TagwrightError(f"omikuji could not grow parabel trees ({error})") from None
    return LabelTrees(forest, words, options.beam)
