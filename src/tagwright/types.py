"""The nouns that flow through Tagwright: documents and labels, pairs, runs; the stage callables.

Nothing here reads a file or loads a model. Every other module takes and returns these values.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal, Protocol, TypeAlias

import numpy as np
from numpy.typing import NDArray
from typing_extensions import Self

Ints: TypeAlias = NDArray[np.int32]
Longs: TypeAlias = NDArray[np.int64]
Floats: TypeAlias = NDArray[np.float32]
Mask: TypeAlias = NDArray[np.bool_]

TextField: TypeAlias = Literal["title_and_abstract", "text"]
"What of a document a stage reads: title and abstract, or all of its text."


@dataclass(frozen=True, slots=True)
class Section:
    """A part of a document. level is 1 for a top section, 2 for a subsection of the section before it, and so on."""

    heading: str = ""
    level: int = 1
    paragraphs: tuple[str, ...] = ()


class _Joined:
    """Room for what a document joins once; no fields, so that comparing, copying and pickling know nothing of it."""

    __slots__ = ("_text", "_title_and_abstract")
    _title_and_abstract: str
    _text: str


@dataclass(frozen=True, slots=True)
class Document(_Joined):
    """A text to be tagged. labels: gold label ids where somebody knows them; metadata: a field to its values."""

    id: str
    title: str = ""
    abstract: str = ""
    sections: tuple[Section, ...] = ()
    metadata: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    labels: tuple[str, ...] = ()

    @property
    def title_and_abstract(self) -> str:
        r"""Title and abstract, one line each; what there is of them.

        >>> Document("d", title="Bees", abstract="They fly.").title_and_abstract
        'Bees\nThey fly.'
        """
        try:
            return self._title_and_abstract
        except AttributeError:
            head = "\n".join(part for part in (self.title, self.abstract) if part)
            object.__setattr__(self, "_title_and_abstract", head)
            return head

    @property
    def text(self) -> str:
        r"""All text in reading order, one line for the title, the abstract, each heading and each paragraph.

        >>> Document("d", title="Bees", sections=(Section("Wings", 1, ("Four.",)),)).text
        'Bees\nWings\nFour.'
        """
        try:
            return self._text
        except AttributeError:
            body = (part for section in self.sections for part in (section.heading, *section.paragraphs))
            text = "\n".join(part for part in (self.title_and_abstract, *body) if part)
            object.__setattr__(self, "_text", text)
            return text

    def read_as(self, name: TextField) -> str:
        """The text that a stage reads of it: title and abstract where there is an abstract, or everything."""
        return self.title_and_abstract if name == "title_and_abstract" and self.abstract else self.text


@dataclass(frozen=True, slots=True)
class Label:
    """A term of a vocabulary. names: the preferred one first; broader: ids of the labels above it."""

    id: str
    names: tuple[str, ...]
    description: str = ""
    broader: tuple[str, ...] = ()

    @property
    def name(self) -> str:
        """The preferred name."""
        return self.names[0]

    @property
    def text(self) -> str:
        """What the label means in words: preferred name, other names, description.

        >>> Label("1", ("Bees", "Apoidea"), "Flying insects.").text
        'Bees; Apoidea. Flying insects.'
        """
        return ". ".join(part for part in ("; ".join(self.names), self.description) if part)

    @property
    def described(self) -> str:
        """The preferred name and the description, without the other names: the label text of MICoL 3.2.

        >>> Label("1", ("Bees", "Apoidea"), "Flying insects.").described
        'Bees. Flying insects.'
        """
        return ". ".join(part for part in (self.name, self.description) if part)


@dataclass(frozen=True, slots=True)
class Pair:
    """Two texts that should be near. Pairs that share a group are never each other's negatives.

    other: the second group of a pair that is about two things, such as two documents, or a document and a keyword.
    """

    anchor: str
    positive: str
    group: int
    other: int | None = field(default=None, kw_only=True)


@dataclass(frozen=True, slots=True)
class Triple(Pair):
    """A pair and a text that should be further from the anchor than the positive: what a cross-encoder learns from."""

    negative: str


@dataclass(frozen=True, slots=True)
class EvidenceSpan:
    """A piece of a document that speaks for a label: document.text[start:end], and how much it counts."""

    start: int
    end: int
    weight: float


@dataclass(frozen=True, slots=True, eq=False)
class Run:
    """For each document a ranked list of labels, best first: row i is labels[indptr[i]:indptr[i + 1]].

    indptr: (documents + 1,) int64. labels: (suggestions,) int32, positions in the vocabulary, none twice in a row.
    scores: (suggestions,) float32, as the stage gave them: zeros and negative scores are kept. Rows are sorted by
    score, best first, ties by label. Gold labels are a Run too, with score 1. Build one with `of` or `from_rows`.
    """

    indptr: Longs
    labels: Ints
    scores: Floats

    @classmethod
    def of(cls, indptr: NDArray[np.integer], labels: NDArray[np.integer], scores: NDArray[np.floating]) -> Run:
        """Sort every row by score, best first, ties by label index.

        Raises ValueError when the arrays do not fit together, a score is not a number, or a row holds a label twice.
        """
        unsorted = cls(indptr.astype(np.int64), labels.astype(np.int32), scores.astype(np.float32))
        if indptr[0] != 0 or not indptr[-1] == len(labels) == len(scores) or (np.diff(indptr) < 0).any():
            raise ValueError(f"indptr ends at {indptr[-1]}, with {len(labels)} labels and {len(scores)} scores")
        if np.isnan(scores).any():
            raise ValueError(f"{int(np.isnan(scores).sum())} of {len(scores)} scores are not numbers")
        cells = np.sort(unsorted.rows * (int(labels.max(initial=0)) + 1) + labels)
        if (cells[1:] == cells[:-1]).any():
            raise ValueError("a label stands twice in one row")
        order = np.lexsort((unsorted.labels, -unsorted.scores, unsorted.rows))
        return cls(unsorted.indptr, unsorted.labels[order], unsorted.scores[order])

    @classmethod
    def from_rows(cls, rows: Iterable[Mapping[int, float] | Iterable[int]]) -> Run:
        """One row per document: label -> score, or labels alone (gold: score 1).

        >>> Run.from_rows([{3: 0.5, 1: 0.9}, [], [2]]).labels.tolist()
        [1, 3, 2]
        """
        scored = [dict(row) if isinstance(row, Mapping) else dict.fromkeys(row, 1.0) for row in rows]
        indptr = np.cumsum([0, *map(len, scored)], dtype=np.int64)
        labels = np.fromiter((label for row in scored for label in row), np.int32, int(indptr[-1]))
        scores = np.fromiter((score for row in scored for score in row.values()), np.float32, int(indptr[-1]))
        return cls.of(indptr, labels, scores)

    @classmethod
    def concat(cls, runs: Sequence[Run]) -> Run:
        """The rows of several runs, one run after the other; no runs give the empty Run."""
        sizes = [np.zeros(1, np.int64), *(np.diff(run.indptr) for run in runs)]
        return cls(
            np.cumsum(np.concatenate(sizes)),
            np.concatenate([np.zeros(0, np.int32), *(run.labels for run in runs)]),
            np.concatenate([np.zeros(0, np.float32), *(run.scores for run in runs)]),
        )

    def __len__(self) -> int:
        return len(self.indptr) - 1

    def __getitem__(self, document: int) -> tuple[Ints, Floats]:
        """Labels and scores of one document, best first (views)."""
        if not -len(self) <= document < len(self):
            raise IndexError(f"document {document} of a run over {len(self)}")
        start, end = self.indptr[document % len(self)], self.indptr[document % len(self) + 1]
        return self.labels[start:end], self.scores[start:end]

    def __iter__(self) -> Iterator[tuple[Ints, Floats]]:
        """Labels and scores of each document in turn."""
        return map(self.__getitem__, range(len(self)))

    @property
    def rows(self) -> Longs:
        """(suggestions,) the document of each suggestion."""
        return np.repeat(np.arange(len(self)), np.diff(self.indptr))

    @property
    def ranks(self) -> Longs:
        """(suggestions,) the rank of each suggestion in its row, from 1."""
        return np.arange(len(self.labels)) - np.repeat(self.indptr[:-1], np.diff(self.indptr)) + 1

    def keep(self, mask: Mask) -> Run:
        """The suggestions where mask (suggestions,) is true; every document keeps its row, if only an empty one."""
        before = np.concatenate([np.zeros(1, np.int64), np.cumsum(mask, dtype=np.int64)])
        return Run(before[self.indptr], self.labels[mask], self.scores[mask])

    def top(self, k: int) -> Run:
        """The best k of every row."""
        return self.keep(self.ranks <= k)

    def take(self, documents: NDArray[np.integer] | Sequence[int]) -> Run:
        """The rows of these documents, in this order; a document may be taken more than once."""
        documents = np.asarray(documents, np.int64)
        sizes = np.diff(self.indptr)[documents]
        indptr = np.concatenate([np.zeros(1, np.int64), np.cumsum(sizes)])
        source = np.arange(indptr[-1]) + np.repeat(self.indptr[:-1][documents] - indptr[:-1], sizes)
        return Run(indptr, self.labels[source], self.scores[source])

    def without(self, labels: NDArray[np.integer]) -> Run:
        """The run without one label of each document: labels (documents,); -1 removes nothing.

        >>> Run.from_rows([{1: 0.9, 0: 0.5}, {1: 0.9}]).without(np.array([1, -1])).labels.tolist()
        [0, 1]
        """
        return self.keep(self.labels != labels[self.rows])

    def rescored(self, scores: NDArray[np.floating]) -> Run:
        """The same suggestions under new scores (suggestions,), sorted anew."""
        return Run.of(self.indptr, self.labels, scores)


Retrieve: TypeAlias = Callable[[Sequence[Document]], Run]
"Documents in, candidate labels out."

Rerank: TypeAlias = Callable[[Sequence[Document], Run], Run]
"Documents and their candidates in, the same candidates with new scores out."


Distribution: TypeAlias = Literal["normal", "sparse", "information_content"]
"How the scores of a stage lie over the labels: around a mean; 0 for most and large for few; or in bits, comparable."


class Stage(Protocol):
    """A Retrieve over a fixed vocabulary that can also say why, follow a changed vocabulary, and be stored.

    A batch of documents is read once; candidates are then found and scored from what was read.
    """

    distribution: Distribution

    def read(self, documents: Sequence[Document]) -> Any:
        """What the stage needs to know of a batch of documents to find and score labels: its own affair."""
        ...

    def find(self, reading: Any) -> Run:
        """Candidate labels for each document that was read, best first."""
        ...

    def score(self, reading: Any, candidates: Run) -> Floats:
        """(suggestions,) this stage's score of each candidate, whoever found it; 0 where it sees no relation."""
        ...

    def __call__(self, documents: Sequence[Document]) -> Run:
        """Candidate labels for each document, best first."""
        return self.find(self.read(documents))

    @property
    def budget(self) -> int | None:
        """The most candidates of a document that should be scored now, as others would take long; None: all.

        Candidates of a stage that has a budget are proposals: their scores are not those of `score`.
        """
        return None

    def spans(self, document: Document, label: int) -> tuple[EvidenceSpan, ...]:
        """What in the document speaks for the label, in the eyes of this stage, weightiest first; may be empty."""
        ...

    def with_labels(self, labels: Sequence[Label]) -> Self:
        """The same stage over another vocabulary; what did not change is not computed again."""
        ...

    def save(self, folder: Path) -> None:
        """Write into an existing empty folder, which the caller puts in place atomically."""
        ...


PairSource: TypeAlias = Callable[[int], Iterable[Pair]]
"Epoch in, pairs out, drawn anew for every epoch and the same for the same epoch."
