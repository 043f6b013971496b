"""Select the candidates that a learned combiner ranks, and describe each by its features.

The candidates are ranked before by a weighted sum, or by another learned combiner, on top of which more is learned.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import Any, Self

import numpy as np

from tagwright.combining.corpus_features import NearestDocuments, count_labels, label_properties
from tagwright.combining.features import Features, document_features, features
from tagwright.combining.pool import CandidatePool
from tagwright.core.checked import AtLeastOne, AtLeastZero, Checked
from tagwright.core.saved import read_array, read_manifest, read_options, write_arrays, write_manifest
from tagwright.data.sparse_arrays import check_indptr
from tagwright.data.string_table import check_places
from tagwright.errors import ModelError
from tagwright.types import Document, Floats, Label, Longs, Mask, Run, places_of

KIND = "candidate features"
"What the manifest of a saved `CandidateFeatures` says."


@dataclass(frozen=True, slots=True, kw_only=True)
class FeatureOptions(Checked):
    """Which candidates are described, and from where neighbours are known. Raises ConfigError for what cannot work."""

    candidates: AtLeastOne = 100
    "Candidates of a document that are described: the best by the fixed sum. Others stay behind them in its order."

    candidates_each: AtLeastZero = 0
    """The first candidates of each retriever that are described beside them, however little it counts in the fixed sum:
    what only one stage finds can be learned. Taggers that were saved without this option have 0."""

    exclude_self: bool = False
    "Whether documents are labels too: the label that has the id of a document is then no candidate of it."

    vectors: str = ""
    "The stage whose vectors of documents tell which are near each other; empty: neighbours are not asked."


@dataclass(frozen=True, eq=False)
class CandidateFeatures:
    """How candidates are described. labels: the vocabulary.

    counts: (labels,) documents of a corpus with each label, by what is counted; None: there was no corpus. nearest: the
    documents of that corpus; None where no stage tells which are near.
    """

    labels: Sequence[Label]
    options: FeatureOptions = field(default_factory=FeatureOptions)
    counts: Mapping[str, Longs] | None = None
    nearest: NearestDocuments | None = None

    @cached_property
    def _places(self) -> dict[str, int]:
        return {label.id: place for place, label in enumerate(self.labels)}

    @cached_property
    def label_features(self) -> dict[str, Floats]:
        """Numbers (labels,) by name; of counts the logarithm, log(1 + count)."""
        counts = {name: np.log1p(count).astype(np.float32) for name, count in (self.counts or {}).items()}
        return {**label_properties(self.labels), **counts}

    def chosen(self, pool: CandidatePool, run: Run) -> Mask:
        """(suggestions,) which candidates of a ranking are described, see `FeatureOptions`."""
        allowed = np.ones(len(run.labels), np.bool_)
        if self.options.exclude_self:
            own = [self._places.get(document.id, -1) for document in pool.documents]
            allowed = run.labels != np.array(own, np.int64)[run.rows]
        described = np.zeros(len(allowed), np.bool_)
        described[allowed] = run.keep(allowed).ranks <= self.options.candidates
        if each := self.options.candidates_each:
            for found in pool.found.values():
                described |= allowed & run.held_by(found.top(each))
        return described

    def candidates(self, pool: CandidatePool, run: Run) -> Run:
        """Return the candidates of each document of a ranking to compute features of."""
        return run.keep(self.chosen(pool, run))

    def describe(self, pool: CandidatePool, candidates: Run) -> Features:
        """The features of candidates, as `candidates` gives them."""
        stages = {
            name: (
                pool.scores_of(name, candidates),
                pool.found.get(name),
                stage.distribution != "normal",  # 0: it knows nothing of a candidate
            )
            for name, stage in pool.stages.items()
        }
        described = document_features(_lengths(pool.documents), stages)
        support = self.nearest.support(self.vectors(pool), candidates) if self.nearest else {}
        return features(candidates, stages, self.label_features, described, support)

    def vectors(self, pool: CandidatePool) -> Floats:
        """(documents, dim) of norm 1; 0 for a document without text."""
        reading: Any = pool.readings[self.options.vectors]
        vectors: Floats = reading.vectors * reading.written[:, None]
        return vectors

    def fit_corpus(self, corpus: Iterable[tuple[CandidatePool, Run]]) -> Self:
        """Return a copy with label counts and neighbours of an unlabelled corpus, given ranked, batch by batch."""
        ranked, found, vectors = list[Run](), dict[str, list[Run]](), list[Floats]()
        for pool, run in corpus:
            ranked.append(self.candidates(pool, run))
            for name, run in pool.found.items():
                found.setdefault(name, []).append(run)
            if self.options.vectors:
                vectors.append(self.vectors(pool))
        if not ranked:
            return self
        everything = Run.concat(ranked)
        counts = count_labels(everything, {name: Run.concat(runs) for name, runs in found.items()}, len(self.labels))
        nearest = NearestDocuments(np.concatenate(vectors), everything) if vectors else None
        return replace(self, counts=counts, nearest=nearest)

    def with_labels(self, before: Sequence[Label], labels: Sequence[Label]) -> Self:
        """Return a copy for another vocabulary; parameters of single labels are kept by id."""
        old = places_of(labels, before)  # of a new label -1, the 0 at the end
        counts = {name: np.append(count, 0)[old] for name, count in self.counts.items()} if self.counts else None
        nearest = self.nearest.with_labels(before, labels) if self.nearest else None
        return replace(self, labels=labels, counts=counts, nearest=nearest)

    def save(self, folder: Path) -> None:
        """Write the options and what is known of the corpus into an existing empty folder."""
        if self.counts:
            write_arrays(folder, {"counts": np.stack(list(self.counts.values()))})
        if nearest := self.nearest:
            run = nearest.run
            write_arrays(folder, {"vectors": nearest.vectors.astype(np.float16), "indptr": run.indptr})
            write_arrays(folder, {"ranked": run.labels, "scores": run.scores})
        content = {
            "options": asdict(self.options),
            "counts": list(self.counts) if self.counts else None,
            "nearest": nearest is not None,
        }
        write_manifest(folder, KIND, content)

    @classmethod
    def load(cls, folder: Path, labels: Sequence[Label]) -> Self:
        """Read what `save` wrote, for the same labels. Raises ModelError when it is missing or damaged."""
        manifest = read_manifest(folder, KIND)
        options = read_options(folder, FeatureOptions, manifest.get("options"))
        counts = _read_counts(folder, manifest.get("counts"), len(labels))
        nearest = _read_nearest(folder, len(labels)) if manifest.get("nearest") else None
        return cls(labels, options, counts, nearest)


def _lengths(documents: Sequence[Document]) -> dict[str, Longs]:
    """(documents,) characters of the title, of title and abstract, and of all text."""
    lengths = [(len(document.title), len(document.title_and_abstract), len(document.text)) for document in documents]
    columns = np.array(lengths, np.int64).reshape(-1, 3).T
    return dict(zip(("title", "abstract", "text"), columns, strict=True))


def _read_counts(folder: Path, names: object, labels: int) -> dict[str, Longs] | None:
    if names is None:
        return None
    if not (isinstance(names, list) and all(isinstance(name, str) for name in names)):
        raise ModelError(f"{folder}: its manifest does not name its counts; save the tagger again")
    table = read_array(folder, "counts", np.int64, (len(names), labels))
    if table.size and table.min() < 0:
        raise ModelError(f"{folder / 'counts.npy'}: is damaged (a count is negative); save the tagger again")
    return dict(zip(names, table, strict=True))


def _read_nearest(folder: Path, labels: int) -> NearestDocuments:
    vectors = read_array(folder, "vectors", np.float16, (None, None)).astype(np.float32)
    indptr = read_array(folder, "indptr", np.int64, (len(vectors) + 1,))
    ranked = read_array(folder, "ranked", np.int32, (None,))
    scores = read_array(folder, "scores", np.float32, ranked.shape)
    check_indptr(folder / "indptr.npy", indptr, len(ranked))
    check_places(folder / "ranked.npy", ranked, labels)
    return NearestDocuments(vectors, Run(indptr, ranked, scores))
