"""Find labels one of whose names occurs in the text (MICoL, section 3.2), and those that a title names.

Whole words are compared, by their stems or lemmas: see `patterns` and `trie`.
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, NamedTuple, Self, TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray

from tagwright.core.checked import AtLeastOne, Checked
from tagwright.stages.evidence import ComparesWords, FindsAtOnce, strongest_spans
from tagwright.stages.names.patterns import SHARED, NamePatterns
from tagwright.text.batch import Batch, Numbered, WordCache
from tagwright.text.language import check, make_fold, parse_all, resolve, stop_words
from tagwright.text.lemmas import has_lemmas, word_form
from tagwright.text.words import known_form, raw_words, word_spans
from tagwright.types import Distribution, Document, EvidenceSpan, Floats, Label, Longs, Mask, Run, Stage, TextField


@dataclass(frozen=True, kw_only=True)
class ExactMatchOptions(Checked):
    """Which words count as an occurrence of a name.

    The defaults favour recall: a later stage can drop candidates, not add them.
    """

    text_field: TextField = "text"
    "Where to search: everywhere, as MICoL does, or in title and abstract only, if there is an abstract."
    stem: str = "english"
    """The language for stemming, so that "neural networks" finds "Neural Network", and for stop words, which are not
    names; several are joined by "+"; "auto": as recognised; "none": no stemming."""
    lemmas: bool = False
    "Whether words are compared by their lemmas where a dictionary has them, see `text.lemmas`."
    longest: bool = False
    'Whether to ignore a match inside a longer match, such as "Breast" in "breast cancer".'
    min_characters: AtLeastOne = 2
    "Ignore names with fewer letters and digits. 1 suits Chinese and Japanese, where one character is a word."
    common: bool = False
    """Whether everyday words count: names of one or two function words ("May", "Its") in any capitals, and "aids" for
    the name "AIDS"."""
    k: AtLeastOne | None = None
    "Keep the best k labels of each document; None keeps all."

    def __post_init__(self) -> None:
        super().__post_init__()
        check(self.stem)

    def in_language(self, language: str) -> Self:
        """The same for names in these languages: with lemmas where these pay and are there."""
        return replace(self, stem=language, lemmas=has_lemmas(language))


SPANS = 100
"The most evidence spans of a label: more would mark the whole text, and one word may fill a book."

EVERYDAY = 10.0
"""Bits up to which a name in a title is no stronger evidence than elsewhere: at least one label in a thousand has the
words of such a name. Chosen on training documents of three corpora."""


class ExactMatch(FindsAtOnce, ComparesWords):
    """The labels whose names occur in a document, scored by how often, how early and how specific: see `score`.

    A form that is the name of several labels makes all of them candidates, up to SHARED of them. A short name in
    capitals ("AIDS", "IT") must be in capitals in the document too, unless the whole vocabulary is in capitals.
    """

    distribution: Distribution = "information_content"
    matches_names = True
    meaning = "its name in the text"
    options: ExactMatchOptions

    def __init__(self, labels: Sequence[Label], options: ExactMatchOptions = ExactMatchOptions()) -> None:
        self.options = options = replace(options, stem=resolve(options.stem, labels))
        how = options.stem, options.min_characters
        self._set(NamePatterns.of(labels, *how, lemmas=options.lemmas, common=options.common))

    def alike(self, options: ExactMatchOptions) -> Self:
        """Return a copy with other options, for the same names, without building the trie again."""
        other = copy.copy(self)
        other.options = options
        return other

    def read(self, documents: Sequence[Document]) -> Run:
        """All labels found in each document, best first."""
        return self._find_in(documents, score)

    def information(self, documents: Sequence[Document]) -> Run:
        """All labels found in each document, scored by the bits of the most specific name."""
        return self._find_in(documents, lambda bits, _: np.asarray(bits))

    def find(self, reading: Run) -> Run:
        """The k best of the labels found in each document."""
        return reading if self.options.k is None else reading.top(self.options.k)

    def spans(self, document: Document, labels: Sequence[int]) -> list[tuple[EvidenceSpan, ...]]:
        """For each label the up to 100 occurrences of its names that weigh most, largest weight first.

        The weights of all occurrences add up to its score.
        """
        (mentions,) = self._mentions([document])
        places = word_spans(self._text(document), self._is_known)
        early, owners = earliness(mentions.position), self._names.specificities[mentions.form][:, labels].tocsc()
        evidence = list[tuple[EvidenceSpan, ...]]()
        for first, last in zip(owners.indptr[:-1], owners.indptr[1:], strict=True):
            rows, bits = owners.indices[first:last], owners.data[first:last]
            rows, most = rows[bits > 0], bits.max(initial=0)
            weights = score(most, early[rows].sum()) * early[rows] / early[rows].sum()
            triples = zip(mentions.start[rows].tolist(), mentions.end[rows].tolist(), weights.tolist(), strict=True)
            evidence.append(
                strongest_spans(((places[i][0], places[j - 1][1], weight) for i, j, weight in triples), SPANS)
            )
        return evidence

    def state(self) -> dict[str, Any]:
        """Return what a saved stage is made of."""
        return {"options": self.options, "names": self._names}

    @classmethod
    def from_state(cls, state: Mapping[str, Any], labels: Sequence[Label]) -> Self:  # noqa: ARG003
        """Make the stage of a saved state, for the same labels."""
        stage = cls.__new__(cls)
        stage.options = ExactMatchOptions(**state["options"])
        stage._set(NamePatterns.from_state(state["names"]))
        return stage

    def _set(self, names: NamePatterns) -> None:
        words, stem = names.words, self.options.stem
        form, fold = word_form(stem, lemmas=self.options.lemmas), make_fold(stem)

        def known(folded: str) -> bool:
            return form(folded) in words

        def numbers(new: Sequence[str]) -> list[int]:
            folded = (known_form(fold(word), known) for word in new)
            return [words.get(form(word), -1) for word in folded]

        self._names, self._numbers = names, WordCache(numbers)
        self._is_known = lambda word: known(fold(word))

    def _find_in(self, documents: Sequence[Document], score: _Score) -> Run:
        run = Run.concat([self._found(mentions, score) for mentions in self._mentions(documents)])
        return replace(run, indptr=run.indptr[: len(documents) + 1])

    def _found(self, mentions: _Mentions, score: _Score) -> Run:
        """The labels of the next `_BATCH` documents."""
        from scipy.sparse import coo_array

        shape = _BATCH, len(self._names.spelled)
        forms = coo_array((earliness(mentions.position), (mentions.document, mentions.form)), shape)
        forms.sum_duplicates()
        owners = self._names.specificities[forms.col]  # (forms, labels)
        source = np.repeat(np.arange(owners.shape[0]), np.diff(owners.indptr))
        cell = forms.row[source].astype(np.int64) * owners.shape[1] + owners.indices
        order = np.argsort(cell, kind="stable")
        first = np.flatnonzero(np.diff(cell[order], prepend=-1))
        early = np.add.reduceat(forms.data[source][order], first)
        bits = np.maximum.reduceat(owners.data[order], first)
        row, label = np.divmod(cell[order][first], owners.shape[1])
        return Run.of_distinct(np.searchsorted(row, np.arange(_BATCH + 1)), label, score(bits, early))

    def _mentions(self, documents: Sequence[Document]) -> Iterator[_Mentions]:
        """The mentions in each `_BATCH` of the documents."""
        batch = Batch.of(documents)
        read = (map(self._text, batch), [document.title for document in batch])
        texts, titles = (batch.words(part, self._is_known) for part in read)
        known, in_title = np.array(self._numbers(texts.words), np.int32), np.diff(titles.ends, prepend=0)
        for first in range(0, len(batch), _BATCH):
            part = texts.between(first, first + _BATCH)
            separated = np.insert(known[part.numbers], part.ends, -1)  # no name continues into the next document
            starts = np.concatenate([[0], part.ends[:-1]]) + np.arange(len(part.ends))
            form, start, end = self._names.trie.find(separated)
            row = np.searchsorted(starts, start, side="right") - 1
            mentions = _Mentions(row, form, start, end, start - (starts + in_title[first : first + _BATCH])[row])
            mentions = mentions.where(self._in_own_case(part, mentions))
            yield mentions.where(_outside_longer(mentions)) if self.options.longest else mentions

    def _in_own_case(self, texts: Numbered, mentions: _Mentions) -> Mask:
        kept = np.ones(len(mentions.form), np.bool_)
        spelled, spellings = self._names.spelled[mentions.form], self._names.spellings
        for mention in np.flatnonzero(spelled >= 0).tolist():
            start, end = (places[mention] - mentions.document[mention] for places in (mentions.start, mentions.end))
            written = " ".join(texts.words[word] for word in texts.numbers[start:end].tolist())  # without separators
            kept[mention] = written.startswith(spellings[spelled[mention]])
        return kept


class TitleMatch(ComparesWords):
    """The labels that a title names, scored by the information content of the name beyond `EVERYDAY`. A re-ranker.

    A name inside a longer one does not count: "breast" in "breast cancer". names: the stage that searches names
    everywhere, over the same labels with the same stemming; its trie is reused.
    """

    distribution: Distribution = "information_content"
    matches_names = True
    meaning = "its name in the title"
    options: ExactMatchOptions

    def __init__(
        self, labels: Sequence[Label], options: ExactMatchOptions = ExactMatchOptions(), names: ExactMatch | None = None
    ) -> None:
        self.labels, self.options, self._shared = labels, replace(options, longest=True, k=None), names

    @cached_property
    def _names(self) -> ExactMatch:
        return self._shared.alike(self.options) if self._shared else ExactMatch(self.labels, self.options)

    def read(self, documents: Sequence[Document]) -> Run:
        """The labels that each title names with more than everyday words, best first."""
        run = self._names.information(list(map(_title, documents)))
        kept = run.keep(run.scores > EVERYDAY)
        return Run(kept.indptr, kept.labels, kept.scores - np.float32(EVERYDAY))

    def score(self, reading: Run, candidates: Run) -> Floats:
        """(suggestions,) the score of each candidate; 0 for a label that the title does not name."""
        return reading.scores_of(candidates)

    def spans(self, document: Document, labels: Sequence[int]) -> list[tuple[EvidenceSpan, ...]]:
        """For each label the up to 100 occurrences of its names in the title; their weights add up to its score."""
        labelled, scores = self.read([document])[0]
        score_of = dict(zip(labelled.tolist(), scores.tolist(), strict=True))
        spans = dict(zip(score_of, self._names.spans(_title(document), list(score_of)), strict=True))
        return [_adding_up(spans.get(label, ()), score_of.get(label, 0.0)) for label in labels]

    def sharing(self, stages: Mapping[str, Stage]) -> Stage:
        """Return a copy that shares the trie of one of these stages over the same labels.

        Its options may differ only in what is read and how many labels are kept.
        """
        read = {name: getattr(self.options, name) for name in ("text_field", "longest", "k")}
        names = (stage for stage in stages.values() if isinstance(stage, ExactMatch))
        alike = (stage for stage in names if replace(stage.options, **read) == self.options)
        return TitleMatch(self.labels, self.options, next(alike, None))

    def state(self) -> dict[str, Any]:
        """Return the options; the rest comes from the labels."""
        return {"options": self.options}

    @classmethod
    def from_state(cls, state: Mapping[str, Any], labels: Sequence[Label]) -> Self:
        """Build again with the saved options."""
        return cls(labels, ExactMatchOptions(**state["options"]))


def find_unfound(labels: Sequence[Label], stages: Sequence[ExactMatch]) -> list[tuple[Label, str]]:
    """The labels no name of which any of these stages over them can find, each with the reason.

    >>> labels = [Label("1", ("Who", "?")), Label("2", ("The Who",))]
    >>> [(label.name, why) for label, why in find_unfound(labels, [ExactMatch(labels)])]
    [('Who', 'its names are stop words')]
    """
    is_found = np.full(len(labels), not stages)
    for stage in stages:
        is_found |= np.diff(stage._names.specificities.tocsc().indptr) > 0
    options = stages[0].options if stages else ExactMatchOptions()
    stopped, fold = stop_words(parse_all(options.stem)), make_fold(options.stem)

    def reason(label: Label) -> str:
        words = [raw_words(name) for name in label.all_names]
        most = max(len("".join(own)) for own in words)
        if most < options.min_characters:
            few = f"its names have fewer than {options.min_characters} letters and digits"
            return few if most else "its names have no letters or digits"
        is_stopped = all(fold(word) in stopped for own in words for word in own)
        return "its names are stop words" if is_stopped else f"more than {SHARED:,} labels have its names"

    return [(labels[place], reason(labels[place])) for place in np.flatnonzero(~is_found).tolist()]


def share_tries(rerankers: Mapping[str, Stage], retrievers: Mapping[str, Stage]) -> dict[str, Stage]:
    """The re-rankers; a title match shares the trie of a retriever over the same labels."""
    return {
        name: stage.sharing(retrievers) if hasattr(stage, "sharing") else stage for name, stage in rerankers.items()
    }


def score(bits: ArrayLike, early: ArrayLike) -> NDArray[np.float64]:
    """The evidence of a document for a label: bits * log2(1 + early).

    bits: of the most specific name of the label that occurs (`patterns.information`). early: sum of `earliness`
    over all the occurrences of its names. The score rises with every occurrence, with diminishing returns; with earlier
    ones; with longer and rarer names.

    A name of 10 bits, twice in the title and once 1,300 words later (earliness 1/4): 10 * log2(3.25) = 17.004.

    >>> round(float(score(10, 1 + 1 + 0.25)), 3)
    17.004
    """
    value: NDArray[np.float64] = np.asarray(bits) * np.log2(1 + np.asarray(early))
    return value


def earliness(position: ArrayLike) -> NDArray[np.float64]:
    """Weight of an occurrence by its place: 1 / log2(2 + p), the discount of DCG, over paragraphs of 100 words.

    position: words between the end of the title and the occurrence, negative in the title. p is 0 in the title and
    1 + position / 100 behind it: 1 / log2(3) = 0.631 for the first word of the abstract, 1 / log2(4) = 0.5 a hundred
    words later.

    >>> earliness([-3, 0, 100, 1300]).round(3).tolist()
    [1.0, 0.631, 0.5, 0.25]
    """
    since_title = np.asarray(position, np.float64)
    paragraph = np.where(since_title < 0, 0, 1 + since_title / 100)
    return np.asarray(1 / np.log2(2 + paragraph))


_BATCH = 64
"Documents matched at once: enough to spread the cost of the array operations over short ones."


_Score: TypeAlias = Callable[[ArrayLike, ArrayLike], NDArray[np.float64]]
"The score of a label from the bits of its most specific name and the sum of the earliness of its occurrences."


class _Mentions(NamedTuple):
    """Occurrences of forms, (mentions,) each. start and end count words over all documents of the batch."""

    document: Longs
    form: Longs
    start: Longs
    end: Longs
    position: Longs

    def where(self, mask: Mask) -> _Mentions:
        return _Mentions(*(array[mask] for array in self))


def _outside_longer(mentions: _Mentions) -> Mask:
    """The mentions that are not inside a longer one."""
    beyond = 1 + int(mentions.end.max(initial=0))
    spans, inverse = np.unique(mentions.start * beyond - mentions.end, return_inverse=True)
    end = -spans % beyond  # by start, longest first: a span is inside a longer one if an earlier one reaches as far
    reached = np.maximum.accumulate(np.concatenate([np.zeros(1, np.int64), end]))[:-1]
    return np.asarray((reached < end)[inverse])


def _title(document: Document) -> Document:
    return Document(document.id, title=document.title)


def _adding_up(spans: Sequence[EvidenceSpan], score: float) -> tuple[EvidenceSpan, ...]:
    """Scale the weights of the spans to add up to the score."""
    total = sum(span.weight for span in spans)
    return tuple(replace(span, weight=score * span.weight / total) for span in spans)
