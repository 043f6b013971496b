"""The nouns that flow through Tagwright: documents and labels, pairs, runs; the two kinds of stage.

Nothing here reads a file or loads a model. Every other module takes and returns these values.
"""

from __future__ import annotations

from array import array
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import pairwise
from typing import Any, Literal, NamedTuple, Protocol, Self, TypeAlias

import numpy as np
from numpy.typing import NDArray

Ints: TypeAlias = NDArray[np.int32]
Longs: TypeAlias = NDArray[np.int64]
Floats: TypeAlias = NDArray[np.float32]
Doubles: TypeAlias = NDArray[np.float64]
Mask: TypeAlias = NDArray[np.bool_]

TextField: TypeAlias = Literal["title_and_abstract", "text"]
"The part of a document that a stage reads: title and abstract, or all of its text."


@dataclass(frozen=True, slots=True)
class Section:
    """A part of a document. level is 1 for a top section, 2 for a subsection of the section before it, and so on."""

    heading: str = ""
    level: int = 1
    paragraphs: tuple[str, ...] = ()


@dataclass(frozen=True)
class Document:
    """A text to be tagged. labels: gold label ids if known; metadata: field -> values."""

    id: str
    title: str = ""
    abstract: str = ""
    sections: tuple[Section, ...] = ()
    metadata: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    labels: tuple[str, ...] = ()

    @cached_property
    def title_and_abstract(self) -> str:
        r"""Title and abstract, one line each, without an empty one.

        >>> Document("d", title="Bees", abstract="They fly.").title_and_abstract
        'Bees\nThey fly.'
        """
        return "\n".join(part for part in (self.title, self.abstract) if part)

    @cached_property
    def text(self) -> str:
        r"""All text in reading order, one line for the title, the abstract, each heading and each paragraph.

        >>> Document("d", title="Bees", sections=(Section("Wings", 1, ("Four.",)),)).text
        'Bees\nWings\nFour.'
        """
        body = (part for section in self.sections for part in (section.heading, *section.paragraphs))
        return "\n".join(part for part in (self.title_and_abstract, *body) if part)

    def read_as(self, name: TextField) -> str:
        """The text that a stage reads: title and abstract, if there is an abstract, or everything."""
        return self.title_and_abstract if name == "title_and_abstract" and self.abstract else self.text


@dataclass(frozen=True, slots=True)
class Label:
    """A term of a vocabulary. names: those that are searched, the preferred one first; broader: ids of labels above it.

    languages: (code, name) of each name whose language is known, those in languages that are not searched among them;
    the first name of a language is the preferred one in it. translated: translations of the names, which are
    searched as well, see `translation`. notation: its place in a classification, such as 599.74. types, schemes,
    collections: what it is and belongs to, usually URIs. related: ids. exact, close: URIs of the same or nearly equal
    concepts in other vocabularies. descriptions: (code, text) of all descriptions, the first of a language being the
    one to show; the code is empty if the language is unknown; not needed if `description` says everything. replaces:
    ids of discontinued concepts that it replaces.
    """

    id: str
    names: tuple[str, ...]
    description: str = ""
    broader: tuple[str, ...] = ()
    languages: tuple[tuple[str, str], ...] = ()
    translated: tuple[str, ...] = ()
    notation: str = ""
    types: tuple[str, ...] = ()
    schemes: tuple[str, ...] = ()
    collections: tuple[str, ...] = ()
    related: tuple[str, ...] = ()
    exact: tuple[str, ...] = ()
    close: tuple[str, ...] = ()
    descriptions: tuple[tuple[str, str], ...] = ()
    replaces: tuple[str, ...] = field(default=(), repr=False)  # digests of labels are made of their repr

    @property
    def name(self) -> str:
        """The preferred name."""
        return self.names[0]

    def name_in(self, language: str) -> str:
        """The preferred name in a language, given by its code, or else the preferred name.

        >>> bees = Label("1", ("Bees",), languages=(("en-gb", "Bees"), ("sv", "Bin"), ("sv", "Honungsbin")))
        >>> bees.name_in("sv"), bees.name_in("en"), bees.name_in("fi")
        ('Bin', 'Bees', 'Bees')
        """
        return _in_language(self.languages, language, self.name)

    def named_in(self, language: str) -> tuple[str, str]:
        """`name_in`, and the code of the language of this name, empty if it is not known.

        >>> owls = Label("2", ("Pöllöt",), languages=(("fi", "Pöllöt"),))
        >>> owls.named_in("fi"), owls.named_in("sv")
        (('Pöllöt', 'fi'), ('Pöllöt', 'fi'))
        """
        name, main = self.name_in(language), language.partition("-")[0]
        codes = [code for code, own in self.languages if own == name]
        return name, next((code for code in codes if code.partition("-")[0] == main), next(iter(codes), ""))

    def description_in(self, language: str) -> str:
        """The description in a language, given by its code, or else `description`."""
        return _in_language(self.descriptions, language, self.description)

    @property
    def all_names(self) -> tuple[str, ...]:
        """The names, then those in languages that are not searched."""
        return tuple(dict.fromkeys((*self.names, *(name for _, name in self.languages))))

    @property
    def searched(self) -> tuple[str, ...]:
        """The names by which texts find the label: translated ones first, as most texts are in their language."""
        return (*self.translated, *self.names)

    @property
    def text(self) -> str:
        """The label as text: translated names, preferred name, other names, description.

        >>> Label("1", ("Bees", "Apoidea"), "Flying insects.").text
        'Bees; Apoidea. Flying insects.'
        """
        return ". ".join(part for part in ("; ".join(self.searched), self.description) if part)

    @property
    def described(self) -> str:
        """The preferred name and the description, without the other names: the label text of MICoL 3.2.

        >>> Label("1", ("Bees", "Apoidea"), "Flying insects.").described
        'Bees. Flying insects.'
        """
        return ". ".join(part for part in (self.name, self.description) if part)


def _in_language(tagged: Sequence[tuple[str, str]], language: str, otherwise: str) -> str:
    """The first text in this language, else in a variant of it (en-gb for en, and the reverse)."""
    main = language.partition("-")[0]
    exact = (text for code, text in tagged if code == language)
    variants = (text for code, text in tagged if code.partition("-")[0] == main)
    return next(exact, None) or next(variants, otherwise) if language else otherwise


@dataclass(frozen=True, slots=True)
class Pair:
    """Two texts that should be near. Pairs that share a group are never each other's negatives.

    other: the second group of a pair with two sources, such as two documents, or a document and a keyword. negative: in
    the training data of a cross-encoder, a text that should be further from the anchor than the positive.
    """

    anchor: str
    positive: str
    group: int
    other: int | None = field(default=None, kw_only=True)
    negative: str = field(default="", kw_only=True)


@dataclass(frozen=True, slots=True)
class EvidenceSpan:
    """A piece of a document that is evidence for a label: document.text[start:end], and its weight."""

    start: int
    end: int
    weight: float


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Run:
    """For each document a ranked list of labels, best first: row i is labels[indptr[i]:indptr[i + 1]].

    indptr: (documents + 1,) int64. labels: (suggestions,) int32, positions in the vocabulary, none twice in a row.
    scores: (suggestions,) float32, as the stage gave them: zeros and negative scores are kept. Rows are sorted by
    score, best first, ties by label, or as a run file orders them. Gold labels are a Run too, with score 1. Build one
    with `of` or `from_rows`.
    confidences: (suggestions,) float32, from 0 to 1, the probability that a label is right; None: not estimated.
    none: (documents,) float32, from 0 to 1, the probability that no label of the vocabulary fits; None: not estimated.
    """

    indptr: Longs
    labels: Ints
    scores: Floats
    confidences: Floats | None = None
    none: Floats | None = None

    @classmethod
    def of(
        cls,
        indptr: NDArray[np.integer],
        labels: NDArray[np.integer],
        scores: NDArray[np.floating],
        confidences: NDArray[np.floating] | None = None,
    ) -> Run:
        """Sort every row by score, best first, ties by label index.

        Raises ValueError when the arrays do not fit together, a score is not a number, a confidence not from 0 to 1, or
        a row holds a label twice.
        """
        run = cls.of_distinct(indptr, labels, scores, confidences)
        if (np.diff(np.sort(run.keys(_width(run)), kind="stable")) == 0).any():
            raise ValueError("a label occurs twice in one row")
        return run

    @classmethod
    def of_distinct(
        cls,
        indptr: NDArray[np.integer],
        labels: NDArray[np.integer],
        scores: NDArray[np.floating],
        confidences: NDArray[np.floating] | None = None,
    ) -> Run:
        """`of` for labels that are known to be distinct in each row."""
        unsorted = cls(indptr.astype(np.int64), labels.astype(np.int32), scores.astype(np.float32))
        if indptr[0] != 0 or not indptr[-1] == len(labels) == len(scores) or (np.diff(indptr) < 0).any():
            raise ValueError(f"indptr ends at {indptr[-1]}, with {len(labels)} labels and {len(scores)} scores")
        if np.isnan(scores).any():
            raise ValueError(f"{int(np.isnan(scores).sum())} of {len(scores)} scores are not numbers")
        if confidences is not None and not (
            len(confidences) == len(labels) and ((confidences >= 0) & (confidences <= 1)).all()
        ):
            raise ValueError(f"{len(confidences)} confidences for {len(labels)} labels, expected one each, from 0 to 1")
        # One number by falling score and label. Floats sort as their bits, negative ones in reverse; -0 becomes 0.
        bits = (np.float32(0) - unsorted.scores).view(np.int32).astype(np.int64)
        order = _row_order(unsorted.indptr, ((bits ^ ((bits >> 63) & 0x7FFFFFFF)) << 32) + unsorted.labels)
        confident = None if confidences is None else confidences.astype(np.float32)[order]
        return cls(unsorted.indptr, unsorted.labels[order], unsorted.scores[order], confident)

    @classmethod
    def from_rows(cls, rows: Iterable[Mapping[int, float] | Iterable[int]]) -> Run:
        """One row per document: label -> score, or labels alone (gold: score 1).

        >>> Run.from_rows([{3: 0.5, 1: 0.9}, [], [2]]).labels.tolist()
        [1, 3, 2]
        """
        ends, labels, scores = array("q", [0]), array("i"), array("f")  # read as they come: rows may be millions
        for scored in (row if isinstance(row, Mapping) else dict.fromkeys(row, 1.0) for row in rows):
            labels.extend(scored)
            scores.extend(scored.values())
            ends.append(len(labels))
        return cls.of(np.array(ends, np.int64), np.array(labels, np.int32), np.array(scores, np.float32))

    @classmethod
    def concat(cls, runs: Sequence[Run]) -> Run:
        """The rows of several runs, one run after the other; no runs give the empty Run.

        Confidences are kept where all suggestions have one, and `none` where all documents do.
        """
        sizes = [np.zeros(1, np.int64), *(np.diff(run.indptr) for run in runs)]
        confidences = [run.confidences for run in runs if len(run.labels)]
        known = [confidence for confidence in confidences if confidence is not None]
        nones = [run.none for run in runs if run.none is not None]
        return cls(
            np.cumsum(np.concatenate(sizes)),
            np.concatenate([np.zeros(0, np.int32), *(run.labels for run in runs)]),
            np.concatenate([np.zeros(0, np.float32), *(run.scores for run in runs)]),
            np.concatenate(known) if known and len(known) == len(confidences) else None,
            np.concatenate(nones) if nones and len(nones) == len(runs) else None,
        )

    @classmethod
    def union(cls, runs: Sequence[Run]) -> Run:
        """Every label of any of the runs over the same documents, scored by the number of runs that have it.

        >>> Run.union([Run.from_rows([{1: 0.9}]), Run.from_rows([{1: 0.1, 0: 0.5}])]).labels.tolist()
        [1, 0]
        """
        if len({len(run) for run in runs}) != 1:
            raise ValueError(f"runs over {[len(run) for run in runs]} documents have no union")
        width = _width(*runs)
        keys = np.sort(np.concatenate([run.keys(width) for run in runs]), kind="stable")
        first = np.flatnonzero(np.diff(keys, prepend=-1))
        keys, held = keys[first], np.diff(first, append=len(keys))
        indptr = np.searchsorted(keys, np.arange(len(runs[0]) + 1) * width)
        return cls.of_distinct(indptr, keys % width, held.astype(np.float32))

    def __len__(self) -> int:
        return len(self.indptr) - 1

    def __repr__(self) -> str:
        confident = "" if self.confidences is None else ", with confidences"
        return f"Run of {len(self.labels):,} labels for {len(self):,} documents{confident}"

    def __getitem__(self, document: int) -> tuple[Ints, Floats]:
        """Labels and scores of one document, best first (views)."""
        row = range(len(self))[document]  # counts from the end if negative, and raises IndexError
        start, end = self.indptr[row : row + 2]
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

    def keys(self, width: int) -> Longs:
        """(suggestions,) one number for each pair of document and label: document * width + label.

        width: more than any label, and the same for runs whose keys are compared.

        >>> Run.from_rows([[2], [0, 1]]).keys(3).tolist()
        [2, 3, 4]
        """
        return self.rows * width + self.labels

    def held_by(self, other: Run) -> Mask:
        """(suggestions,) whether the other run holds the same label for the same document.

        >>> Run.from_rows([{1: 0.9, 0: 0.8}, [2]]).held_by(Run.from_rows([[0, 2], []])).tolist()
        [False, True, False]
        """
        width = _width(self, other)
        return np.isin(self.keys(width), other.keys(width))

    def scores_of(self, candidates: Run) -> Floats:
        """(suggestions,) this run's score of each candidate, 0 for a label that it does not hold.

        >>> Run.from_rows([{3: 0.5}]).scores_of(Run.from_rows([{2: 9.0, 3: 8.0}])).tolist()
        [0.0, 0.5]
        """
        width = _width(self, candidates)
        keys, wanted = self.keys(width), candidates.keys(width)
        keys = keys[order := np.argsort(keys, kind="stable")]  # the fastest for rows one after the other
        place = np.minimum(np.searchsorted(keys, wanted), max(len(keys) - 1, 0))
        is_held = keys[place] == wanted if len(keys) else np.zeros(len(wanted), np.bool_)
        scores = np.zeros(len(wanted), np.float32)
        scores[is_held] = self.scores[order][place[is_held]]
        return scores

    def keep(self, mask: Mask) -> Run:
        """The suggestions where mask (suggestions,) is true; every document keeps its row, even if empty."""
        before = np.concatenate([np.zeros(1, np.int64), np.cumsum(mask, dtype=np.int64)])
        confidences = None if self.confidences is None else self.confidences[mask]
        return Run(before[self.indptr], self.labels[mask], self.scores[mask], confidences, self.none)

    def moved(self, places: NDArray[np.integer]) -> Run:
        """The suggestions with label i at places[i]; those of labels without a place, -1, are left out.

        >>> Run.from_rows([[0, 2]]).moved(np.array([5, 6, -1])).labels.tolist()
        [5]
        """
        kept = self.keep(places[self.labels] >= 0)
        return Run.of(kept.indptr, places[kept.labels], kept.scores)

    def top(self, k: int) -> Run:
        """The best k of every row."""
        return self.keep(self.ranks <= k)

    def take(self, documents: NDArray[np.integer] | Sequence[int]) -> Run:
        """The rows of these documents, in this order; a document may be taken more than once."""
        documents = np.asarray(documents, np.int64)
        sizes = np.diff(self.indptr)[documents]
        indptr = np.concatenate([np.zeros(1, np.int64), np.cumsum(sizes)])
        source = np.arange(indptr[-1]) + np.repeat(self.indptr[:-1][documents] - indptr[:-1], sizes)
        confidences = None if self.confidences is None else self.confidences[source]
        none = None if self.none is None else self.none[documents]
        return Run(indptr, self.labels[source], self.scores[source], confidences, none)

    def without(self, labels: NDArray[np.integer]) -> Run:
        """The run without one label of each document: labels (documents,); -1 removes nothing.

        >>> Run.from_rows([{1: 0.9, 0: 0.5}, {1: 0.9}]).without(np.array([1, -1])).labels.tolist()
        [0, 1]
        """
        return self.keep(self.labels != labels[self.rows])

    def rescored(self, scores: NDArray[np.floating], confidences: NDArray[np.floating] | None = None) -> Run:
        """The same suggestions under new scores (suggestions,), and confidences if there are any, sorted anew."""
        return replace(Run.of_distinct(self.indptr, self.labels, scores, confidences), none=self.none)


def _row_order(indptr: Longs, keys: Longs) -> Longs:
    """The order that sorts each row of keys, none of which is twice in a row; long rows are sorted one by one."""
    if len(keys) < 16 * len(indptr):
        return np.lexsort((keys, np.repeat(np.arange(len(indptr) - 1), np.diff(indptr))))
    ends = indptr.tolist()
    return np.concatenate([start + keys[start:end].argsort() for start, end in pairwise(ends)])


def _width(*runs: Run) -> int:
    """More than any label of the runs."""
    return 1 + max(int(run.labels.max(initial=0)) for run in runs)


def list_or_nones(values: Floats | None, count: int) -> Sequence[float | None]:
    """The numbers as `shortest` gives them; that many None where there are none, as of confidences not estimated.

    >>> list_or_nones(np.float32([0.1]), 1), list_or_nones(None, 2)
    ([0.1], [None, None])
    """
    return [None] * count if values is None else shortest(values)


def shortest(values: Floats) -> list[float]:
    """The numbers as a list, with just the digits that distinguish them, so that every output prints the same.

    >>> shortest(np.float32([0.1])), np.float32([0.1]).tolist()
    ([0.1], [0.10000000149011612])
    """
    return [float(str(value)) for value in values]


def places_of(labels: Iterable[Label], among: Iterable[Label]) -> Longs:
    """(labels,) the place of each of these labels in another vocabulary, by id; -1 where it is not there."""
    places = {label.id: place for place, label in enumerate(among)}
    return np.array([places.get(label.id, -1) for label in labels], np.int64)


Distribution: TypeAlias = Literal["normal", "sparse", "information_content"]
"The distribution of a stage's scores over the labels: normal; 0 for most and large for few; or in bits."


class Background(NamedTuple):
    """How near documents are to texts in general, by the cosines of an encoder.

    mean: (documents,) of the cosines to these texts. deviation: of the cosines between them. names_known: (documents,)
    how well the encoder knows the language of the labels' names, from nearly 0 to 1; 1 if unknown.
    """

    mean: Floats
    deviation: float
    names_known: Floats


class Stage(Protocol):
    """Scores labels of a fixed vocabulary for documents, explains why, adapts to a changed vocabulary, and is saved.

    There are two kinds: a re-ranker scores the candidates of others, a `Retriever` finds candidates too. A batch of
    documents is read once; candidates are then found and scored from what was read. `testing.check_stage` tells what is
    missing.
    """

    distribution: Distribution

    matches_names: bool = False
    "Whether scores are bits of names found in the text, which confidences and `none` then weigh."

    shares: str = ""
    "The stage of a tagger whose features this one uses, so that documents are not read twice; empty: none."

    meaning: str = ""
    'What the stage sees in a document, in plain words for explanations: "its name in the text".'

    def read(self, documents: Sequence[Document]) -> Any:
        """Return the features of a batch of documents from which this stage finds and scores labels."""
        ...

    def read_with(self, reading: Any) -> Any:
        """Return the same features from those of the stage that `shares` names."""
        return reading

    def score(self, reading: Any, candidates: Run) -> Floats:
        """Return this stage's score of each candidate, from any stage, (suggestions,); 0 without any relation."""
        ...

    def trust(self, reading: Any, weight: float) -> Floats | None:  # noqa: ARG002
        """(documents,) from 0 to 1, how well the stage knows each document's language; None: it cannot tell.

        weight: the stage's weight when fully trusted, for a message if little of it is left; 0: no message.
        """
        return None

    def background(self, reading: Any, texts: Sequence[str]) -> Background | None:  # noqa: ARG002
        """Return how near the documents that were read are to texts in general; None for a stage without an encoder."""
        return None

    def spans(self, document: Document, labels: Sequence[int]) -> list[tuple[EvidenceSpan, ...]]:  # noqa: ARG002
        """The evidence of this stage for each label in the document, largest weight first; none by default."""
        return [()] * len(labels)

    def with_labels(self, labels: Sequence[Label]) -> Self:
        """The same stage over another vocabulary; unchanged labels are not computed again."""
        ...

    def in_language(self, language: str, labels: Sequence[Label]) -> Self:  # noqa: ARG002
        """The same stage for texts in these languages, such as "finnish+english", over labels with names in them."""
        return self.with_labels(labels)

    def complete(self) -> None:
        """Compute what else waits until it is needed, as before the stage is saved; by default, nothing waits."""
        return

    def state(self) -> Mapping[str, Any]:
        """Return what the stage is made of, but for the labels, as `from_state` gets it back: see `core.saved`.

        Plain values as JSON has them, arrays, dataclasses, and what has a `state` itself, or a `save(folder)`.
        """
        ...

    @classmethod
    def from_state(cls, state: Mapping[str, Any], labels: Sequence[Label]) -> Self:
        """Make the stage of a saved state, for the same labels; of what was saved to a folder, the state has that."""
        ...


class Retriever(Stage, Protocol):
    """A stage that finds candidates among all labels."""

    def find(self, reading: Any) -> Run:
        """Candidate labels for each document that was read, best first."""
        ...

    def __call__(self, documents: Sequence[Document]) -> Run:
        """Candidate labels for each document, best first."""
        return self.find(self.read(documents))


PairSource: TypeAlias = Callable[[int], Iterable[Pair]]
"Returns the training pairs of an epoch: others for each epoch, the same for the same epoch."
