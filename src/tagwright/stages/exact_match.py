"""Candidates by name: documents in, the labels one of whose names occurs in the text out (MICoL, section 3.2).

Every distinct word of the names gets one letter of a private alphabet, so that a document becomes a string with one
letter per word. An Aho-Corasick automaton over such strings finds whole words only, and reports word positions.
"""

from __future__ import annotations

import copy
import math
import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from itertools import chain, groupby, islice
from operator import attrgetter
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple, TypeAlias

import numpy as np
from ahocorasick_rs import AhoCorasick, Implementation
from numpy.typing import ArrayLike, NDArray
from typing_extensions import Self

from tagwright.errors import InputError
from tagwright.fields import AtLeastOne, Checked
from tagwright.store import read_manifest, read_options, write_manifest
from tagwright.text.language import check, parse_all, resolve, stemmer, stop_words
from tagwright.text.words import fold, raw_words, word_spans
from tagwright.types import Distribution, Document, EvidenceSpan, Floats, Label, Longs, Mask, Retriever, Run, TextField

if TYPE_CHECKING:
    from scipy.sparse import csr_array


@dataclass(frozen=True, kw_only=True)
class ExactMatchOptions(Checked):
    """What counts as an occurrence of a name.

    The defaults favour recall: a later stage can drop candidates, not add them.
    """

    text_field: TextField = "text"
    "Where to search: everywhere, as MICoL does, or in title and abstract only, if there is an abstract."
    stem: str = "english"
    """The language for stemming, so that "neural networks" finds "Neural Network", and for stop words, which are not
    names; several are joined by "+"; "auto": as recognised; "none": no stemming."""
    longest: bool = False
    'Whether to ignore a match inside a longer match, such as "Breast" in "breast cancer".'
    min_characters: AtLeastOne = 2
    "Ignore names with fewer letters and digits. 1 suits Chinese and Japanese, where one character is a word."
    common: bool = False
    'Whether everyday words count: names of function words alone ("May", "Its"), and "aids" for the name "AIDS".'
    k: AtLeastOne | None = None
    "Keep the best k labels of each document; None keeps all."

    def __post_init__(self) -> None:
        super().__post_init__()
        check(self.stem)


class ExactMatch(Retriever):
    """The labels whose names occur in a document, scored by how often, how early and how specific: see `score`.

    A form that is the name of several labels makes all of them candidates, up to SHARED of them. A short name in
    capitals ("AIDS", "IT") must be in capitals in the document too, unless the whole vocabulary is in capitals.

    Raises InputError when the names hold more distinct words than there are letters (1.1 million).
    """

    distribution: Distribution = "information_content"

    def __init__(self, labels: Sequence[Label], options: ExactMatchOptions = ExactMatchOptions()) -> None:
        self.options = options = replace(options, stem=resolve(options.stem, labels))
        self._build(labels, options)

    def alike(self, options: ExactMatchOptions) -> Self:
        """The same names under options that concern only reading and truncation: nothing is built again."""
        if not self.fits(options):
            raise ValueError(f"{options} need names that are built otherwise than by {self.options}")
        other = copy.copy(self)
        other.options = options
        return other

    def fits(self, options: ExactMatchOptions) -> bool:
        """Whether these options differ only in what is read and how many labels are kept."""
        return replace(self.options, text_field=options.text_field, longest=options.longest, k=options.k) == options

    def _build(self, labels: Sequence[Label], options: ExactMatchOptions) -> None:
        stem = stemmer(parse_all(options.stem))
        stems = _Cache(lambda word: stem(fold(word)))
        forms = list(_forms_of(labels, stems, options))
        described = {i: set(map(stems.__getitem__, raw_words(label.description))) for i, label in enumerate(labels)}
        patterns: dict[_Pattern, int] = {}
        ids = [patterns.setdefault(form.pattern, len(patterns)) for form in forms]
        alphabet = _alphabet(chain.from_iterable(stems for stems, _ in patterns))
        self._letters = _Cache(lambda word: alphabet.get(stem(fold(word)), _NO_LETTER))
        self._spellings = [spelling for _, spelling in patterns]
        self._cased = np.array([spelling != "" for spelling in self._spellings], np.bool_)
        self._specificity = _specificities(forms, ids, described, len(labels))
        self._automaton = AhoCorasick(
            ["".join(map(alphabet.__getitem__, stems)) for stems, _ in patterns],
            store_patterns=False,
            implementation=Implementation.ContiguousNFA,  # building a DFA takes longer than most runs
        )

    def read(self, documents: Sequence[Document]) -> Run:
        """All labels found in each document, best first."""
        return self._find_in(documents, score)

    def information(self, documents: Sequence[Document]) -> Run:
        """All labels found in each document, scored by the `specificity` of the most specific name, in bits."""
        return self._find_in(documents, lambda bits, _: np.asarray(bits))

    def find(self, reading: Run) -> Run:
        """The k best of the labels found in each document."""
        return reading if self.options.k is None else reading.top(self.options.k)

    def score(self, reading: Run, candidates: Run) -> Floats:
        """(suggestions,) the score of each candidate, 0 where no name of it is found."""
        return reading.scores_of(candidates)

    def spans(self, document: Document, label: int) -> tuple[EvidenceSpan, ...]:
        """Every occurrence of a name of the label, largest weight first. Their weights add up to the label's score."""
        mentions = self._mentions([document])
        bits = self._specificity[mentions.form][:, [label]].toarray()[:, 0]
        mentions, bits = mentions.where(bits > 0), bits[bits > 0]
        early = earliness(mentions.position)
        weights = score(bits.max(initial=0), early.sum()) * early / early.sum()
        spans = word_spans(self._text(document))
        return tuple(
            EvidenceSpan(spans[mentions.start[i]][0], spans[mentions.end[i] - 1][1], float(weights[i]))
            for i in np.argsort(-weights, kind="stable")
        )

    def with_labels(self, labels: Sequence[Label]) -> Self:
        """The same options over another vocabulary. Everything is built again: one or two seconds for 130,000 names."""
        return type(self)(labels, self.options)

    def save(self, folder: Path) -> None:
        """Write the options; names and automaton come from the labels."""
        write_manifest(folder, "exact_match", {"options": asdict(self.options)})

    @classmethod
    def load(cls, folder: Path, labels: Sequence[Label]) -> Self:
        """Build again with the saved options. Raises ModelError when they are missing or invalid."""
        return cls(labels, read_options(folder, ExactMatchOptions, read_manifest(folder, "exact_match").get("options")))

    def _find_in(self, documents: Sequence[Document], score: _Score) -> Run:
        rest = iter(documents)
        return Run.concat([self._find_batch(batch, score) for batch in iter(lambda: list(islice(rest, _BATCH)), [])])

    def _find_batch(self, documents: Sequence[Document], score: _Score) -> Run:
        from scipy.sparse import coo_array

        mentions = self._mentions(documents)
        shape = len(documents), len(self._spellings)
        found = coo_array((earliness(mentions.position), (mentions.document, mentions.form)), shape)
        found.sum_duplicates()
        owners = self._specificity[found.col]  # (found, labels)
        source = np.repeat(np.arange(owners.shape[0]), np.diff(owners.indptr))
        cell = found.row[source].astype(np.int64) * owners.shape[1] + owners.indices
        order = np.argsort(cell, kind="stable")
        first = np.flatnonzero(np.diff(cell[order], prepend=-1))
        early = np.add.reduceat(found.data[source][order], first)
        bits = np.maximum.reduceat(owners.data[order], first)
        row, label = np.divmod(cell[order][first], owners.shape[1])
        return Run.of(np.searchsorted(row, np.arange(len(documents) + 1)), label, score(bits, early))

    def _mentions(self, documents: Sequence[Document]) -> _Mentions:
        raw, first, body = list[str](), list[int](), list[int]()
        for document in documents:
            first.append(len(raw))
            body.append(len(raw) + len(raw_words(document.title)))
            raw += raw_words(self._text(document))
            raw.append("")  # no name continues from one document into the next
        letters = "".join(map(self._letters.__getitem__, raw))
        matches = self._automaton.find_matches_as_indexes(letters, overlapping=True)
        form, start, end = np.fromiter(chain.from_iterable(matches), np.int64, 3 * len(matches)).reshape(-1, 3).T
        row = np.searchsorted(first, start, side="right") - 1
        mentions = _Mentions(row, form, start, end, start - np.array(body, np.int64)[row])
        mentions = mentions.where(self._in_own_case(raw, mentions))
        return mentions.where(_outside_longer(mentions)) if self.options.longest else mentions

    def _text(self, document: Document) -> str:
        return document.read_as(self.options.text_field)

    def _in_own_case(self, raw: Sequence[str], mentions: _Mentions) -> Mask:
        kept = np.ones(len(mentions.form), np.bool_)
        cased = np.flatnonzero(self._cased[mentions.form])
        pairs = zip(mentions.form[cased].tolist(), mentions.start[cased].tolist(), strict=True)
        kept[cased] = [raw[word].startswith(self._spellings[form]) for form, word in pairs]
        return kept


def score(bits: ArrayLike, early: ArrayLike) -> NDArray[np.float64]:
    """The evidence of a document for a label: bits * log2(1 + early).

    bits: `specificity` of the most specific name of the label that occurs. early: sum of `earliness` over all the
    occurrences of its names. The score rises with every occurrence, with diminishing returns; with earlier ones; with
    longer and rarer names.

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


def specificity(labels_with_word: Iterable[int], labels: int) -> float:
    """The information content of a name, in bits: the sum over its words of log2(1 + labels / labels with the word).

    Labels have the words of their names and descriptions: "application" says little if it occurs in many descriptions,
    even if it is the name of only one label. A word of 1 among 7 labels gives log2(8) = 3 bits, one of all 7 still
    gives log2(2) = 1.

    >>> specificity([1, 7], 7)
    4.0
    """
    return sum(math.log2(1 + labels / count) for count in labels_with_word)


def forms(name: str) -> dict[str, float]:
    """The forms of a name in texts, each with its weight.

    A qualifier in parentheses is rarely written out, so the name also counts without it, by half: the qualifier shows
    that the bare word has other meanings. Inverted names also occur in natural order.

    >>> forms("Bond (finance)")
    {'Bond (finance)': 1.0, 'Bond': 0.5}
    >>> forms("Databases, Bibliographic, Medical")
    {'Databases, Bibliographic, Medical': 1.0, 'Medical Bibliographic Databases': 1.0}
    """
    qualified = _QUALIFIED.fullmatch(name)
    bare, share = (qualified[1], 0.5) if qualified else (name, 1.0)
    natural = " ".join(bare.split(", ")[::-1])
    return {name: 1.0, bare: share, natural: share}


SHARED = 1000
"""The most labels that may share a name: a name of a million labels says nothing, and each mention would give a million
candidates. Real vocabularies stay far below this limit."""
_QUALIFIED = re.compile(r"(.*\S)\s+\([^()]+\)")
_BATCH = 64
"Documents matched at once: enough to spread the cost of the array operations over short ones."
_ACRONYM = 5
"Longest name, in characters, whose capitals distinguish it from a word."
_NO_LETTER = "\0"


_Score: TypeAlias = Callable[[ArrayLike, ArrayLike], NDArray[np.float64]]
"The score of a label from the bits of its most specific name and the sum of the earliness of its occurrences."

_Pattern: TypeAlias = tuple[tuple[str, ...], str]
"A search pattern: stems, and the required spelling of words where it matters."


class _Form(NamedTuple):
    """One form of a label's name in a text."""

    label: int
    pattern: _Pattern
    share: float


class _Mentions(NamedTuple):
    """Occurrences of forms, (mentions,) each. start and end count words over all documents of the batch."""

    document: Longs
    form: Longs
    start: Longs
    end: Longs
    position: Longs

    def where(self, mask: Mask) -> _Mentions:
        return _Mentions(*(array[mask] for array in self))


class _Cache(dict[str, str]):
    """Caches a function of words; cleared when full."""

    def __init__(self, function: Callable[[str], str], size: int = 1 << 20) -> None:
        self._function, self._size = function, size

    def __missing__(self, word: str) -> str:
        if len(self) == self._size:
            self.clear()
        self[word] = value = self._function(word)
        return value


def _forms_of(labels: Sequence[Label], stems: _Cache, options: ExactMatchOptions) -> Iterator[_Form]:
    own_case = not options.common and not _in_capitals(labels)
    names = (name for label in labels for name in label.names)
    stopped = frozenset[str]() if options.common else stop_words(parse_all(options.stem), names)
    for index, label in enumerate(labels):
        own: list[_Form] = []
        for form, share in chain.from_iterable(forms(name).items() for name in label.names):
            raw = raw_words(form)
            spelling = raw[0] if own_case and _is_acronym(raw) else ""
            everyday = not spelling and stopped.issuperset(map(fold, raw))
            if not everyday and sum(map(len, raw)) >= options.min_characters:
                own.append(_Form(index, (tuple(map(stems.__getitem__, raw)), spelling), share))
        yield from (form for form in own if not form.pattern[1] or not _covered(form, own))


def _covered(form: _Form, others: Sequence[_Form]) -> bool:
    """Whether another form finds all that this acronym finds: an occurrence must not count twice for one label."""
    stems, spelling = form.pattern
    spellings = (other.pattern[1] for other in others if other.pattern[0] == stems)
    return any(spelling != other and spelling.startswith(other) for other in spellings)


def _is_acronym(raw: Sequence[str]) -> bool:
    return len(raw) == 1 and raw[0].isupper() and len(raw[0]) <= _ACRONYM


def _in_capitals(labels: Sequence[Label]) -> bool:
    """Whether capitals are not significant, as in old thesauri: most of the names too long for an acronym have them."""
    long = [label.name.isupper() for label in labels if len(label.name) > _ACRONYM]
    return 2 * sum(long) > len(long)


def _alphabet(words: Iterable[str]) -> dict[str, str]:
    """A letter for each distinct word: any code point except 0 and the surrogates."""
    distinct = dict.fromkeys(words)
    points = chain(range(1, 0xD800), range(0xE000, 0x110000))
    letters = dict(zip(distinct, map(chr, points), strict=False))
    if len(letters) < len(distinct):
        problem = f"the names hold {len(distinct):,} distinct words, at most {len(letters):,} can be told apart"
        raise InputError(f"{problem}; split the vocabulary")
    return letters


def _specificities(
    forms: Sequence[_Form], ids: Sequence[int], described: Mapping[int, set[str]], labels: int
) -> csr_array:
    """(patterns, labels): the bits of a pattern for a label, the maximum if several names of the label share it.

    forms: grouped by label. ids: the pattern of each form. described: label -> stems of its description. Of the labels
    that share a pattern, the SHARED with the most bits are kept, the first of the vocabulary among equals.
    """
    from scipy.sparse import csr_array

    counts: Counter[str] = Counter()
    for label, group in groupby(forms, key=attrgetter("label")):
        counts.update(described.get(label, set()).union(*(form.pattern[0] for form in group)))
    stems = {pattern: form.pattern[0] for form, pattern in zip(forms, ids, strict=True)}
    bits = np.array([specificity(map(counts.__getitem__, stems[pattern]), labels) for pattern in range(len(stems))])
    rows, columns = np.array(ids, np.int32), np.array([form.label for form in forms], np.int32)
    values = np.array([form.share for form in forms]) * (bits[rows] if len(rows) else 0)
    order = np.lexsort((columns, -values, rows))
    cells = rows[order].astype(np.int64) * labels + columns[order]
    order = order[np.sort(np.unique(cells, return_index=True)[1])]  # for each label the maximum
    rows = rows[order]
    kept = np.arange(len(rows)) - np.searchsorted(rows, rows) < SHARED
    return csr_array((values[order][kept], (rows[kept], columns[order][kept])), (len(stems), labels))


def _outside_longer(mentions: _Mentions) -> Mask:
    """The mentions that are not inside a longer one."""
    spans, inverse = np.unique(np.stack([mentions.start, -mentions.end], axis=1), axis=0, return_inverse=True)
    end = -spans[:, 1]  # by start, longest first: a span is inside a longer one if an earlier one reaches as far
    reached = np.maximum.accumulate(np.concatenate([np.zeros(1, np.int64), end]))[:-1]
    return np.asarray((reached < end)[inverse.ravel()])
