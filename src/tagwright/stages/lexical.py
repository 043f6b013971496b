"""Find labels by BM25 or TF-IDF: documents are the queries, label texts the items (MICoL, section 3.2)."""

from __future__ import annotations

import copy
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence, Set
from dataclasses import dataclass, replace
from itertools import chain, count, groupby
from typing import Any, Literal, Self, TypeAlias

import numpy as np
from numpy.typing import NDArray

from tagwright.core.checked import AtLeastOne, Checked, NotNegative
from tagwright.data.bags import count_words, smooth_idf
from tagwright.data.sparse_arrays import Matrix, largest_cells, matrix_of, matrix_state
from tagwright.data.string_table import StringIndex
from tagwright.errors import ConfigError, InputError
from tagwright.stages.evidence import ComparesWords, Span, first_places, strongest_spans
from tagwright.text.batch import Batch, Numbered, WordCache
from tagwright.text.language import check, joins_words, make_fold, parse_all, resolve, stop_words
from tagwright.text.lemmas import has_lemmas, word_form
from tagwright.text.words import known_form, raw_words, word_spans
from tagwright.types import Distribution, Document, Doubles, EvidenceSpan, Floats, Label, Retriever, Run, TextField

CELLS = 1 << 24
"The most scores held while one chunk of documents is searched: bounds memory to a few hundred megabytes."

TOGETHER = 32
"Documents whose candidates are found or scored together, if their terms fit into the cache."

LONG_PART, WHOLE_PART = 8, 5
"""The fewest letters that a shared part of a word needs to be evidence: any part, and one that is a whole word. Endings
such as "ation" or "schaft" are usually shorter, and name nothing."""

_NGRAM_MARK = "\0"
"What an n-gram begins with, so that it differs from all words."

NGRAMS = 0.5
"""The weight of character n-grams beside words in languages with compounds: chosen on labelled training documents of a
Finnish corpus."""

LexicalText: TypeAlias = Literal["text", "described"]


@dataclass(frozen=True, kw_only=True)
class LexicalOptions(Checked):
    """How words are weighed and where candidates are cut. Raises ConfigError for a value that cannot work."""

    weighting: Literal["bm25", "tfidf"] = "bm25"
    "BM25 (MICoL Eq. 1), or the cosine of TF-IDF vectors."

    k: AtLeastOne | None = 100
    "The most candidates of a document; None: no limit."

    threshold: float | None = None
    "The score that a candidate must exceed: the paper's eta (Eq. 2), on the scale of the weighting."

    label_text: LexicalText = "text"
    """Texts of a label to read: all its names and the description, or, "described", the preferred name and the
    description, as MICoL does where labels have many names (3.2)."""

    text_field: TextField = "text"
    "Read the title and abstract of a document, or all of it (always if there is no abstract)."

    stem: str = "english"
    """The language for stemming, so that "networks" finds "network", and for stop words, which do not count; several
    are joined by "+". "auto" recognises it in the names; "none": no stemming, no stop words."""

    lemmas: bool = False
    "Whether words are compared by their lemmas where a dictionary has them, see `text.lemmas`."

    ngrams: NotNegative = 0.0
    """TF-IDF: the weight of the character n-grams of a word relative to the word; 0 leaves them out. They match parts
    of compounds, and endings that no stemmer knows (McNamee and Mayfield 2004)."""

    def __post_init__(self) -> None:
        super().__post_init__()
        check(self.stem)
        if self.ngrams and self.weighting == "bm25":
            raise ConfigError(f'ngrams is {self.ngrams}, expected 0 where weighting is "bm25"')

    def in_language(self, language: str) -> Self:
        """Return a copy for names in these languages: lemmas if there are any; n-grams for TF-IDF where words join."""
        ngrams = NGRAMS if self.weighting == "tfidf" and joins_words(parse_all(language)) else 0.0
        return replace(self, stem=language, lemmas=has_lemmas(language), ngrams=ngrams)


class Lexical(Retriever, ComparesWords):
    """Candidates by the words that a document shares with a label's names and description. A types.Retriever.

    BM25 sums over the set of shared words, as Eq. 1 does: a word that the document repeats counts once. The cosine
    weights it by 1 + ln(count). The dimensions are the words of the labels, so other words change no score.
    """

    distribution: Distribution = "sparse"
    meaning = "words shared with the label's text"
    options: LexicalOptions

    def __init__(self, labels: Sequence[Label], options: LexicalOptions = LexicalOptions()) -> None:
        self.options = options = replace(options, stem=resolve(options.stem, labels))
        names = (name for label in labels for name in label.searched)
        stopped = stop_words(parse_all(options.stem), names)
        numbers = defaultdict[str, int](count().__next__)  # term -> number; a new term gets the next one
        terms_of, fold = _make_terms_of(stopped, options), make_fold(options.stem)
        label_texts = (label.text if options.label_text == "text" else label.described for label in labels)
        texts = Numbered.of(label_texts)
        counts = count_words(texts, lambda words: [[numbers[term] for term in terms_of(fold(word))] for word in words])
        frequencies = np.bincount(counts.indices, minlength=len(numbers))
        if options.weighting == "bm25":
            weights = bm25_idf(frequencies, len(labels))
            items = _bm25_matrix(counts, weights)
        else:
            factors = np.array([options.ngrams if term[0] == _NGRAM_MARK else 1 for term in numbers], np.float64)
            weights = factors * smooth_idf(frequencies, len(labels))
            items = _tfidf_matrix(counts, weights)
        self._set(stopped, dict(numbers), weights, items, items.T.tocsr())

    def read(self, documents: Sequence[Document]) -> Matrix:
        """(documents, terms) float32: the weight of each term of each document."""
        texts = Batch.of(documents).words(map(self._text, documents), self._is_known)
        counts = count_words(texts, self._numbers_of)
        counts.resize(len(documents), len(self._weights))
        if self.options.weighting == "tfidf":
            return _tfidf_matrix(counts, self._weights)
        counts.data = np.ones_like(counts.data)
        return counts

    def find(self, reading: Matrix) -> Run:
        """Return the k best labels above the threshold. A label that shares no word is not a candidate."""
        options, labels = self.options, self._postings.shape[1]
        k = labels if options.k is None else min(options.k, labels)
        size = max(1, min(TOGETHER, CELLS // max(1, labels)))
        chunks = (reading[start : start + size] for start in range(0, reading.shape[0], size))
        return Run.concat([_best_products(chunk, self._postings, k, options.threshold) for chunk in chunks])

    def score(self, reading: Matrix, candidates: Run) -> Floats:
        """(suggestions,) the BM25 score or cosine of each candidate, however small; 0 for no shared word."""
        documents, terms = reading.shape
        size = max(1, min(TOGETHER, CELLS // 4 // max(1, terms)))
        scratch, scores = np.zeros(size * terms), [np.zeros(0, np.float32)]
        for start in range(0, documents, size):
            chosen = candidates.take(range(start, min(start + size, documents)))
            scores.append(_products(reading[start : start + size], self._items, chosen, scratch))
        return np.concatenate(scores)

    def calibrated(self, documents: Sequence[Document], mean_candidates: float) -> Lexical:
        """Return a copy with the threshold that gives these documents `mean_candidates` on average.

        A few hundred documents are enough; all their scores are held at once. The limit k still applies. Raises
        InputError when no document shares a word with a label.
        """
        other = copy.copy(self)
        other.options = replace(self.options, threshold=None)
        run = other(documents)
        if not len(run.labels):
            raise InputError(f"none of {len(documents)} documents shares a word with a label; nothing to calibrate on")
        other.options = replace(self.options, threshold=calibrate(run, mean_candidates))
        return other

    def spans(self, document: Document, labels: Sequence[int]) -> list[tuple[EvidenceSpan, ...]]:
        """Return for each label where the words that it shares with a document first stand, with what each adds.

        Without n-grams, the weights sum to the score. An n-gram adds to the word in which it stands if the label has
        that word, or else to a part of the word that both texts have, see `_shared_parts`. Other n-grams are but a few
        letters: they count for the score and are no evidence.
        """
        reading, text = self.read([document]), self._text(document)
        first_spans = first_places(raw_words(text, self._is_known), word_spans(text, self._is_known))
        order = {word: place for place, word in enumerate(first_spans)}
        words_with = defaultdict[int, list[str]](list)
        for word, numbers in zip(first_spans, self._numbers_of(list(first_spans)), strict=True):
            for number in numbers:
                words_with[number].append(word)
        evidence = list[tuple[EvidenceSpan, ...]]()
        for label in labels:
            item = self._items[[label]]
            shared, label_numbers = reading.multiply(item).tocsr(), set(item.indices.tolist())
            unassigned = dict(zip(shared.indices.tolist(), shared.data.tolist(), strict=True))  # by number
            weights = defaultdict[Span, float](float)
            for word in sorted({word for number in unassigned for word in words_with[number]}, key=order.__getitem__):
                for span, numbers_of_span in self._evidence(word, text, first_spans[word], label_numbers):
                    for number in unassigned.keys() & numbers_of_span:
                        weights[span] += unassigned.pop(number)
            evidence.append(
                strongest_spans(((*span, weight) for span, weight in sorted(weights.items())), len(weights))
            )
        return evidence

    def _evidence(self, word: str, text: str, span: Span, label_numbers: Set[int]) -> Iterator[tuple[Span, Set[int]]]:
        """Yield the span of a word that a label has, or else of the parts that it has, each with its term numbers."""
        form, *grams = self._terms_of(word)
        number = self._term_numbers.get
        if number(form, -1) in label_numbers:
            yield span, {number(term, -1) for term in (form, *grams)}
            return
        folded, (start, end) = self._fold(word), span
        is_aligned = text[start:end].isalnum() and all(len(self._fold(sign)) == 1 for sign in text[start:end])
        for part, terms in _shared_parts(grams, lambda term: number(term, -1) in label_numbers):
            if is_aligned:  # otherwise letters are written as two, or a line ends between them: the whole word is shown
                span = start + folded.index(part), start + folded.index(part) + len(part)
            yield span, {number(term, -1) for term in terms}

    def state(self) -> dict[str, Any]:
        """Return what a saved stage is made of."""
        return {
            "options": self.options,
            "stop_words": sorted(self._stopped),
            "terms": StringIndex.of(list(self._term_numbers)),
            "weights": self._weights,
            "items": matrix_state(self._items),
            "postings": matrix_state(self._postings),
        }

    @classmethod
    def from_state(cls, state: Mapping[str, Any], labels: Sequence[Label]) -> Lexical:  # noqa: ARG003
        """Make the stage of a saved state, for the same labels."""
        stage = cls.__new__(cls)
        stage.options = LexicalOptions(**state["options"])
        items, postings = matrix_of(state["items"]), matrix_of(state["postings"])
        terms = StringIndex.from_state(state["terms"])
        stage._set(frozenset(state["stop_words"]), terms, state["weights"], items, postings)
        return stage

    def _set(
        self,
        stopped: frozenset[str],
        terms: Mapping[str, int],
        weights: NDArray[np.float64],
        items: Matrix,
        postings: Matrix,
    ) -> None:
        """Set up. terms: term -> number; weights: (terms,); items: (labels, terms); postings: its transpose."""
        terms_of = _make_terms_of(stopped, self.options)
        self._fold = fold = make_fold(self.options.stem)
        if self.options.ngrams:
            self.meaning = "words or parts of words shared with the label's text"

        def is_known(folded: str) -> bool:
            return folded in stopped or terms_of(folded)[0] in terms

        def terms_of_word(word: str) -> tuple[str, ...]:
            return terms_of(known_form(fold(word), is_known))

        def numbers_of(words: Sequence[str]) -> list[tuple[int, ...]]:
            terms_by_word = list(map(terms_of_word, words))
            distinct = dict.fromkeys(chain.from_iterable(terms_by_word))  # looked up once: words share n-grams
            numbers = {term: terms.get(term, -1) for term in distinct}
            return [tuple([number for term in own if (number := numbers[term]) >= 0]) for own in terms_by_word]

        self._is_known, self._terms_of = lambda word: is_known(fold(word)), terms_of_word
        self._stopped, self._term_numbers, self._numbers_of = stopped, terms, WordCache(numbers_of)
        self._weights, self._items, self._postings = weights, items, postings


def bm25(
    tf: NDArray[Any], length: NDArray[Any], mean_length: float, idf: NDArray[Any], k1: float = 1.5, b: float = 0.75
) -> NDArray[np.float64]:
    """MICoL Eq. 1, one term of the sum: IDF(w) TF (k1 + 1) / (TF + k1 (1 - b + b |t_l| / avgdl)).

    tf: how often the label text t_l holds the word w. length: |t_l| in words; mean_length: avgdl. The printed
    denominator, a product with |L| in place of |t_l|, is a misprint. All arrays (n,), result (n,).

    A word twice in a text of mean length: 2 * 2.5 / (2 + 1.5) = 10/7; once, in a text of twice the mean:
    2.5 / (1 + 1.5 * 1.75) = 20/29.

    >>> bm25(np.array([2, 1]), np.array([8, 16]), mean_length=8, idf=np.ones(2)) - [10 / 7, 20 / 29]
    array([0., 0.])
    """
    return np.asarray(idf * (tf * (k1 + 1)) / (tf + k1 * (1 - b + b * length / mean_length)))


def bm25_idf(frequency: NDArray[Any], labels: int) -> NDArray[np.float64]:
    """IDF(w) of MICoL Eq. 1, which leaves it open: ln(1 + (N - n + 1/2) / (n + 1/2)), Lucene's, never negative.

    frequency: n, how many of the N labels hold the word, (n,). One of two: (2 - 1 + 1/2) / (1 + 1/2) is 1, so ln 2.

    >>> np.exp(bm25_idf(np.array([1]), labels=2)).round(6)
    array([2.])
    """
    return np.asarray(np.log1p((labels - frequency + 0.5) / (frequency + 0.5)))


def calibrate(run: Run, mean_candidates: float) -> float:
    """Return the threshold that keeps `mean_candidates` of a document on average, or as near as can be (eta in Eq. 2).

    `run.keep(run.scores > threshold)` cuts. Candidates of equal score stay or go together; of two numbers equally near,
    the smaller is taken. Raises ValueError for a run without scores.

    Two of four scores stay, one for each of two documents:

    >>> calibrate(Run.from_rows([{0: 9.0, 1: 4.0}, {0: 7.0, 2: 1.0}]), mean_candidates=1)
    4.0
    """
    wanted = mean_candidates * len(run)
    place = min(int(wanted), len(run.scores) - 1)
    first_out = -np.partition(-run.scores, place)[place]
    fewer, more = (run.scores > first_out).sum(), (run.scores >= first_out).sum()
    if more - wanted < wanted - fewer:
        return float(np.nextafter(first_out, np.float32(-np.inf)))
    return float(first_out)


def _make_terms_of(stopped: frozenset[str], options: LexicalOptions) -> Callable[[str], tuple[str, ...]]:
    """Return a function: folded word -> its stem or lemma, then its n-grams if enabled; nothing for a stop word."""
    form = word_form(options.stem, lemmas=options.lemmas)
    if not options.ngrams:
        return lambda word: () if word in stopped else (form(word),)
    return lambda word: () if word in stopped else (form(word), *_ngrams(word))


def _ngrams(word: str) -> list[str]:
    """Return the n-grams, of five characters, of a word with its start and end marked.

    >>> [gram[1:] for gram in _ngrams("salmon")]
    ['<salm', 'salmo', 'almon', 'lmon>']
    """
    marked = f"<{word}>"
    return [_NGRAM_MARK + marked[i : i + 5] for i in range(len(marked) - 4)]


def _shared_parts(grams: Sequence[str], is_shared: Callable[[str], bool]) -> Iterator[tuple[str, list[str]]]:
    """Yield the parts of a word that a label has too and that are evidence, each with its n-grams.

    These are long parts, and parts that are the whole word here or in the label. grams: those of the word, in order.
    is_shared: whether the label has an n-gram. "Klima" is a part of "Klimawandel", the "andel" of "handelt" is none.

    >>> in_klimawandel = set(_ngrams("klimawandel")).__contains__
    >>> words = "handelt", "klima", "wandel", "klimawandels"
    >>> [[part for part, _ in _shared_parts(_ngrams(word), in_klimawandel)] for word in words]
    [[], ['klima'], ['wandel'], ['klimawandel']]
    """
    word = _join_ngrams(grams)
    for are_shared, adjacent in groupby(grams, is_shared):
        part = _join_ngrams(part_grams := list(adjacent))
        is_whole = part == word or all(map(is_shared, _ngrams(part)))
        if are_shared and (len(part) >= LONG_PART or (len(part) >= WHOLE_PART and is_whole)):
            yield part, part_grams


def _join_ngrams(grams: Sequence[str]) -> str:
    """Return the letters of n-grams that follow each other in a word.

    >>> _join_ngrams(_ngrams("salmon"))
    'salmon'
    """
    return "".join([*(gram[1] for gram in grams), *(gram[2:] for gram in grams[-1:])]).strip("<>")


def _bm25_matrix(counts: Matrix, idf: NDArray[np.float64]) -> Matrix:
    lengths = np.asarray(counts.sum(axis=1)).ravel()
    length = np.repeat(lengths, np.diff(counts.indptr))
    weights = bm25(counts.data, length, float(lengths.mean()), idf[counts.indices])
    return _with_data(counts, weights)


def _tfidf_matrix(counts: Matrix, idf: NDArray[np.float64]) -> Matrix:
    """Sublinear TF times IDF, every row of norm 1."""
    weights = (1 + np.log(counts.data)) * idf[counts.indices]
    rows = np.repeat(np.arange(counts.shape[0]), np.diff(counts.indptr))
    norms = np.sqrt(np.bincount(rows, weights**2, minlength=counts.shape[0]))
    return _with_data(counts, weights / norms[rows])


def _with_data(matrix: Matrix, data: NDArray[np.float64]) -> Matrix:
    from scipy.sparse import csr_matrix

    return csr_matrix((data.astype(np.float32), matrix.indices, matrix.indptr), shape=matrix.shape)


def _best_products(queries: Matrix, postings: Matrix, k: int, threshold: float | None) -> Run:
    """Return for each query the k largest products above the threshold of (documents, terms) with (terms, labels)."""
    from scipy.sparse import csc_matrix

    (rows, _), (_, labels) = queries.shape, postings.shape
    if rows > 1 and int(np.diff(postings.indptr)[queries.indices].sum()) > CELLS:  # `chosen` must fit in memory
        halves = queries[: rows // 2], queries[rows // 2 :]
        return Run.concat([_best_products(half, postings, k, threshold) for half in halves])
    chosen = postings[queries.indices]  # the labels of each term of each query
    first_pairs = np.repeat(np.arange(rows, dtype=np.int32) * labels, np.diff(queries.indptr))
    pairs = chosen.indices + np.repeat(first_pairs, np.diff(chosen.indptr))  # number of a pair: query * labels + label
    shape = rows * labels, len(queries.indices)
    products = csc_matrix((chosen.data, pairs, chosen.indptr), shape) @ queries.data
    best = largest_cells(products.reshape(rows, labels), k)
    best = best[products[best] != 0]
    indptr = np.searchsorted(best, np.arange(rows + 1) * labels)
    run = Run.of_distinct(indptr, best % labels, products[best]).top(k)
    return run if threshold is None else run.keep(run.scores > threshold)


def _products(queries: Matrix, items: Matrix, candidates: Run, scratch: Doubles) -> Floats:
    """(suggestions,) the product of each query (documents, terms) with each of its candidates among (labels, terms).

    scratch: documents * terms zeros, which hold the queries as a dense table meanwhile, so that a term of a candidate
    is found in one step.
    """
    from scipy.sparse import csr_matrix

    chosen = items[candidates.labels]
    row_starts = np.arange(len(candidates), dtype=np.int32) * queries.shape[1]
    query_cells = np.repeat(row_starts, np.diff(queries.indptr)) + queries.indices
    scratch[query_cells] = queries.data
    cells = np.repeat(row_starts[candidates.rows], np.diff(chosen.indptr)) + chosen.indices
    spread = csr_matrix((chosen.data.astype(np.float64), cells, chosen.indptr), (len(candidates.labels), len(scratch)))
    products: Floats = (spread @ scratch).astype(np.float32)
    scratch[query_cells] = 0
    return products
