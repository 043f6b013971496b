"""Bags of words for linear models: which words count, and their weights in a text."""

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import accumulate, chain, islice
from typing import Annotated, Any, Literal, Self, TypeAlias

import numpy as np
from numpy.typing import NDArray

from tagwright.core.checked import AtLeastOne, Checked, Range
from tagwright.data.sparse_arrays import Matrix
from tagwright.data.string_table import StringTable
from tagwright.errors import InputError
from tagwright.text.batch import Numbered
from tagwright.text.words import fold, words
from tagwright.types import Ints, Longs

Weighting: TypeAlias = Literal["unit", "plain"]

TEXTS = 1024
"Texts that are counted together. Each occurrence of a word takes memory until it is counted."


@dataclass(frozen=True, kw_only=True)
class BagOptions(Checked):
    """How words are counted and weighted.

    The defaults are DEPL's (A.1.3), but for its lemmas: words are kept as they are. Raises ConfigError for invalid
    values.
    """

    min_documents: AtLeastOne = 2
    "The fewest documents that must hold a word; 5 in FuTex."

    max_share: Annotated[float, Range(above=0, most=1)] = 0.7
    "The largest share of documents that may hold a word: a more frequent word names no topic."

    weighting: Weighting = "unit"
    """unit: the count times the smooth idf, every text of norm 1, as scikit-learn has it (DEPL). plain: the count times
    ln(|D| / documents with the word), FuTex Eq. 10."""


class BagOfWords:
    """The words that count, in alphabetical order, and for each the number of training documents that hold it.

    >>> bag = BagOfWords.of(["Bees fly", "bees sting", "wasps sting"])
    >>> bag.words, bag.transform(["Bees, bees; wasps!"]).toarray().tolist()
    (['bees', 'sting'], [[1.0, 0.0]])
    """

    def __init__(self, words: Iterable[str], frequencies: Longs, documents: int, options: BagOptions) -> None:
        self.words, self.frequencies, self.documents, self.options = list(words), frequencies, documents, options
        self.index = {word: number for number, word in enumerate(self.words)}
        idf = smooth_idf if options.weighting == "unit" else plain_idf
        self._idf = idf(frequencies, documents).astype(np.float32)

    @classmethod
    def of(cls, texts: Iterable[str], options: BagOptions = BagOptions()) -> Self:
        """Collect the words of texts, which are read one at a time. Raises InputError when no word counts."""
        frequencies, documents = Counter[str](), 0
        for text in texts:
            frequencies.update(set(words(text)))  # a text counts once
            documents += 1
        most = options.max_share * documents
        kept = sorted(word for word, count in frequencies.items() if options.min_documents <= count <= most)
        if not kept:
            raise InputError(
                f"of {len(frequencies)} words in {documents} documents none stands in at least {options.min_documents} "
                f"documents and at most {options.max_share:.0%} of them; give more documents, or other bounds"
            )
        return cls(kept, np.array([frequencies[word] for word in kept], np.int64), documents, options)

    def transform(self, texts: Iterable[str]) -> Matrix:
        """(texts, words) float32 CSR: the weight of each word in each text; a text without any is a row of 0."""
        from scipy.sparse import csr_matrix, vstack

        parts = [csr_matrix((0, len(self.words)), dtype=np.float32)]  # vstack refuses an empty list
        remaining = iter(texts)
        while chunk := list(islice(remaining, TEXTS)):
            counts = count_words(Numbered.of(chunk), self._columns_of)
            counts.resize(len(chunk), len(self.words))
            parts.append(self._weighted(counts))
        return vstack(parts, format="csr")

    def state(self) -> dict[str, Any]:
        """Return what a saved bag is made of."""
        words = StringTable.of(self.words)
        return {"options": self.options, "words": words, "frequencies": self.frequencies, "documents": self.documents}

    @classmethod
    def from_state(cls, state: Mapping[str, Any]) -> Self:
        """Make the bag of a saved state."""
        words = StringTable.from_state(state["words"])
        return cls(words, state["frequencies"], state["documents"], BagOptions(**state["options"]))

    def _columns_of(self, words: Sequence[str]) -> list[tuple[int, ...]]:
        """Return the column of each word, as the tuple that `count_words` expects: empty for a word that is unknown."""
        folded = (fold(word) for word in words)
        return [(self.index[word],) if word in self.index else () for word in folded]

    def _weighted(self, counts: Matrix) -> Matrix:
        counts.data *= self._idf[counts.indices]
        counts.eliminate_zeros()  # a word of every document has weight 0, and a row of such words is empty
        if self.options.weighting == "unit":
            norms = np.sqrt(np.asarray(counts.multiply(counts).sum(axis=1)).ravel())
            counts.data /= np.repeat(norms, np.diff(counts.indptr))
        return counts


def count_words(texts: Numbered, terms_of: Callable[[Sequence[str]], Sequence[Sequence[int]]]) -> Matrix:
    """Return how often each text holds each term, CSR (texts, highest term + 1). terms_of: words -> terms of each."""
    terms_by_word = terms_of(texts.words)  # once for all occurrences of a word
    ends = np.fromiter(accumulate(map(len, terms_by_word)), np.int64, len(terms_by_word))
    terms = np.fromiter(chain.from_iterable(terms_by_word), np.int32, int(ends.max(initial=0)))
    words_in_texts = _occurrences(texts.numbers.copy(), texts.ends, len(terms_by_word))
    counts = words_in_texts @ _occurrences(terms, ends)
    counts.sort_indices()
    return counts


def _occurrences(numbers: Ints, ends: Longs, columns: int | None = None) -> Matrix:
    """Return how often each row holds each number, CSR (rows, columns) float32. Sorts the numbers of a row in place."""
    from scipy.sparse import csr_matrix

    shape = (len(ends), int(numbers.max(initial=-1)) + 1 if columns is None else columns)
    counts = csr_matrix((np.ones(len(numbers), np.float32), numbers, np.concatenate([[0], ends])), shape)
    counts.sum_duplicates()
    return counts


def smooth_idf(frequency: NDArray[Any], documents: int) -> NDArray[np.float64]:
    """ln((1 + N) / (1 + n)) + 1, as in scikit-learn; n of N documents hold the word. A word of all documents gets 1.

    >>> smooth_idf(np.array([3]), documents=3)
    array([1.])
    """
    return np.asarray(np.log((1 + documents) / (1 + frequency)) + 1)


def plain_idf(frequency: NDArray[Any], documents: int) -> NDArray[np.float64]:
    """FuTex Eq. 10: ln(|D| / n), where n of |D| documents hold the word. A word of all documents gets 0.

    >>> plain_idf(np.array([3]), documents=3)
    array([0.])
    """
    return np.asarray(np.log(documents / frequency))
