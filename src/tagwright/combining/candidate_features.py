"""Select the candidates that a learned combiner ranks, and describe each by a row of numbers.

They come ranked by the fixed sum, which needs no gold labels, or by another learned combiner that this one builds on.
The columns are the same for every vocabulary, and nothing in them tells which label a candidate is: what is learned of
some labels holds for all. Each stage adds its own group of columns.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, Self, TypeAlias

import numpy as np
from numpy.typing import NDArray

from tagwright.combining.corpus_features import NearestDocuments, count_labels, label_properties
from tagwright.combining.fusion import reciprocal_ranks_within, standardise
from tagwright.combining.pool import CandidatePool
from tagwright.combining.steps import FIXED_SUM
from tagwright.core.checked import AtLeastOne, AtLeastZero, Checked
from tagwright.data.sparse_arrays import run_of, run_state
from tagwright.types import Document, Floats, Label, Longs, Mask, Run, places_of


@dataclass(frozen=True, slots=True, kw_only=True)
class FeatureOptions(Checked):
    """Which candidates are described, and how similar documents are found. Raises ConfigError for invalid values."""

    candidates: AtLeastOne = 100
    "How many candidates of a document are described, the best by the fixed sum. The others keep its order, after them."

    candidates_each: AtLeastZero = 0
    """How many of the best candidates of each retriever are described too, however small its weight in the fixed sum.
    So what only one stage finds can be learned. Taggers that were saved without this option have 0."""

    exclude_self: bool = False
    "Whether documents are labels too. The label that has the id of a document is then not among its candidates."

    vectors: str = ""
    "The stage whose document vectors tell which documents are similar; empty: similar documents are not used."


@dataclass(frozen=True, eq=False)
class CandidateFeatures:
    """Computes the features of candidates, some of them from an unlabelled corpus. labels: the vocabulary.

    counts: what `count_labels` counts in the corpus, (labels,) by name; None without a corpus. nearest: the documents
    of the corpus, to find similar ones in; None if no stage has vectors of documents.
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
        """The features of labels, (labels,) by name. Counts are logarithms, log(1 + count)."""
        logarithms = {name: np.log1p(counts).astype(np.float32) for name, counts in (self.counts or {}).items()}
        return {**label_properties(self.labels), **logarithms}

    def is_described(self, pool: CandidatePool, run: Run) -> Mask:
        """(suggestions,) true for the candidates of a ranking that are described, see `FeatureOptions`."""
        allowed = np.ones(len(run.labels), np.bool_)
        if self.options.exclude_self:
            own = [self._places.get(document.id, -1) for document in pool.documents]
            allowed = run.labels != np.array(own, np.int64)[run.rows]
        chosen = np.zeros(len(allowed), np.bool_)
        chosen[allowed] = run.keep(allowed).ranks <= self.options.candidates
        if self.options.candidates_each:
            for retrieved in pool.found.values():
                chosen |= allowed & run.held_by(retrieved.top(self.options.candidates_each))
        return chosen

    def candidates(self, pool: CandidatePool, run: Run) -> Run:
        """Return a ranking without the candidates that are not described."""
        return run.keep(self.is_described(pool, run))

    def describe(self, pool: CandidatePool, candidates: Run) -> Features:
        """Return the features of what `candidates` returns."""
        stages = {
            name: (
                pool.scores_of(name, candidates),
                pool.found.get(name),
                stage.distribution != "normal",  # a score of 0 then means that it knows nothing of a candidate
            )
            for name, stage in pool.stages.items()
        }
        documents = document_features(_lengths(pool.documents), stages)
        support = self.nearest.support(self.vectors(pool), candidates) if self.nearest else {}
        return features(candidates, stages, self.label_features, documents, support)

    def vectors(self, pool: CandidatePool) -> Floats:
        """(documents, dim) the vectors of documents, of norm 1; 0 for a document without text."""
        reading: Any = pool.readings[self.options.vectors]
        vectors: Floats = reading.vectors * reading.written[:, None]
        return vectors

    def with_candidates_each(self, candidates: int) -> Self:
        """Return a copy that describes so many candidates of each retriever beside those of the fixed sum."""
        return replace(self, options=replace(self.options, candidates_each=candidates))

    def fit_corpus(self, corpus: Iterable[tuple[CandidatePool, Run]]) -> Self:
        """Return a copy with the counts and documents of an unlabelled corpus. corpus: batches and their rankings.

        Only the first candidates of the fixed sum are counted: without gold labels nothing tells whether those of a
        single stage are worth it.
        """
        without_each = self.with_candidates_each(0)
        ranked, retrieved, vectors = list[Run](), dict[str, list[Run]](), list[Floats]()
        for pool, ranking in corpus:
            ranked.append(without_each.candidates(pool, ranking))
            for name, run in pool.found.items():
                retrieved.setdefault(name, []).append(run)
            if self.options.vectors:
                vectors.append(self.vectors(pool))
        if not ranked:
            return self
        whole = Run.concat(ranked)
        counts = count_labels(whole, {name: Run.concat(runs) for name, runs in retrieved.items()}, len(self.labels))
        nearest = NearestDocuments(np.concatenate(vectors), whole) if vectors else None
        return replace(self, counts=counts, nearest=nearest)

    def with_labels(self, before: Sequence[Label], labels: Sequence[Label]) -> Self:
        """Return a copy for another vocabulary; labels in both keep their counts. before: the current one."""
        places = places_of(labels, before)  # -1 for a new label, which thus gets the 0 that is appended
        counts = {name: np.append(old, 0)[places] for name, old in self.counts.items()} if self.counts else None
        nearest = self.nearest.with_labels(before, labels) if self.nearest else None
        return replace(self, labels=labels, counts=counts, nearest=nearest)

    def state(self) -> dict[str, Any]:
        """Return what saved features are made of."""
        counts, nearest = self.counts, self.nearest
        return {
            "options": self.options,
            "counts": {"names": list(counts), "table": np.stack(list(counts.values()))} if counts else None,
            "nearest": {"vectors": nearest.vectors.astype(np.float16), "run": run_state(nearest.run, len(self.labels))}
            if nearest
            else None,
        }

    @classmethod
    def from_state(cls, state: Mapping[str, Any], labels: Sequence[Label]) -> Self:
        """Make the features of a saved state, for the same labels."""
        counts, nearest = state["counts"], state["nearest"]
        return cls(
            labels,
            FeatureOptions(**state["options"]),
            counts and dict(zip(counts["names"], counts["table"], strict=True)),
            nearest and NearestDocuments(nearest["vectors"].astype(np.float32), run_of(nearest["run"])),
        )


def _lengths(documents: Sequence[Document]) -> dict[str, Longs]:
    """(documents,) each, the characters of the title, of title and abstract, and of all text, by name.

    abstract: the title and the abstract together, under the name that saved combiners have.
    """
    rows = [(len(document.title), len(document.title_and_abstract), len(document.text)) for document in documents]
    columns = np.array(rows, np.int64).reshape(-1, 3).T  # the shape holds for no documents too
    return dict(zip(("title", "abstract", "text"), columns, strict=True))


GROUPS = (FIXED_SUM, "agreement", "neighbours", "label", "document")
'The groups of columns that are no stages: a column is named after its group, "label: depth".'

OWN = "reciprocal rank of its own"
"The column that says where a candidate stands in the list of the retriever, before the lists were pooled."

AGREES_UP_TO = 5
"Ranks up to which a stage counts as agreeing."


StageScores: TypeAlias = tuple[Floats, Run | None, bool]
"""What one stage says of the candidates: scores (suggestions,) aligned with them; what it found on its own, None where
it only scores; whether 0 means that it knows nothing of a candidate."""


@dataclass(frozen=True, slots=True, eq=False)
class Features:
    """names: (features,) of the columns, "dense: score". values: (suggestions, features)."""

    names: tuple[str, ...]
    values: Floats


def features(
    candidates: Run,
    stages: Mapping[str, StageScores],
    labels: Mapping[str, Floats],
    documents: Mapping[str, Floats],
    support: Mapping[str, Floats],
) -> Features:
    """The features of candidates that are ranked by the fixed sum.

    labels: numbers (labels,) that describe each label. documents: numbers (documents,) that describe each document.
    support: numbers (suggestions,), such as what the nearest documents say of each candidate.
    """
    columns: dict[str, NDArray[np.floating]] = {}
    for name, stage in {FIXED_SUM: (candidates.scores, None, False), **stages}.items():
        columns |= {f"{name}: {what}": column for what, column in _of_stage(candidates, stage).items()}
    columns |= _agreement(columns, stages)
    columns |= {f"neighbours: {name}": column for name, column in support.items()}
    columns |= {f"label: {name}": column[candidates.labels] for name, column in labels.items()}
    columns |= {f"document: {name}": column[candidates.rows] for name, column in documents.items()}
    return Features(tuple(columns), np.column_stack(list(columns.values())).astype(np.float32))


def document_features(lengths: Mapping[str, Longs], stages: Mapping[str, StageScores]) -> dict[str, Floats]:
    """Numbers (documents,): logarithms of lengths, how much each retriever found, and the best score that it gave.

    lengths: characters (documents,) of the title, or of the text.
    """
    runs = {name: found for name, (_, found, _) in stages.items() if found is not None}
    return {
        **{f"{name} length": np.log1p(length, dtype=np.float32) for name, length in lengths.items()},
        **{f"found by {name}": np.log1p(np.diff(run.indptr), dtype=np.float32) for name, run in runs.items()},
        **{f"best of {name}": _best_scores(run) for name, run in runs.items()},
    }


def _of_stage(candidates: Run, stage: StageScores) -> dict[str, NDArray[np.floating]]:
    scores, found, sparse = stage
    columns: dict[str, NDArray[np.floating]] = {
        "score": scores,
        "standard score": standardise(candidates, scores),
        "reciprocal rank": reciprocal_ranks_within(candidates, scores, sparse=sparse),
    }
    if found is not None:  # 1 / rank in the list of the retriever, 0 where it did not find it
        own = Run(found.indptr, found.labels, reciprocal_ranks_within(found, found.scores))
        columns[OWN] = own.scores_of(candidates)
    return columns


def _agreement(columns: Mapping[str, NDArray[np.floating]], stages: Mapping[str, StageScores]) -> dict[str, Floats]:
    """Number of stages with a candidate among their first `AGREES_UP_TO`, and of retrievers that found it."""
    first = [columns[f"{name}: reciprocal rank"] >= 1 / AGREES_UP_TO for name in stages]
    found = [columns[f"{name}: {OWN}"] > 0 for name, (_, run, _) in stages.items() if run is not None]
    masks = {"agreement: stages": first, "agreement: retrievers": found}
    return {name: np.stack(each).sum(axis=0, dtype=np.float32) for name, each in masks.items() if each}


def _best_scores(run: Run) -> Floats:
    """(documents,) the best score of each document, 0 where nothing was found."""
    best = np.zeros(len(run), np.float32)
    some = np.diff(run.indptr) > 0
    best[some] = run.scores[run.indptr[:-1][some]]
    return best
