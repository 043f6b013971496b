"""Pair documents with augmented copies of themselves: EDA and UDA, the text-only baselines of MICoL.

A copy is made of the folded words of title and abstract. Words in more than a tenth of the documents serve as stop
words, so that it works in any language.
"""

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Self, TypeAlias

import numpy as np
from numpy.random import Generator
from numpy.typing import NDArray

from tagwright.papers.metadata_pairs import text_of
from tagwright.papers.pairs import Key, Source, group_of_document
from tagwright.text.words import ANALYSIS, words
from tagwright.training.objectives import Encode
from tagwright.types import Document, Pair

Synonyms: TypeAlias = Callable[[str], Sequence[str]]
"Word in, words of similar meaning out; none for a word that must not be replaced."

STOP = 0.1
"A word in more than this share of the documents is a stop word."

FOLLOWED = 20_000
"Only this many most frequent words of a corpus get neighbours."


def eda_pairs(documents: Sequence[Document], synonyms: Synonyms, *, share: float = 0.1, seed: int = 0) -> Source:
    """(document, copy) as EDA makes copies (Wei and Zou 2019), by one operation drawn for each copy.

    share: of the words that are changed, the paper's alpha. synonyms: see `near_words`. Raises ConfigError when no
    document has text.
    """

    def augmented(text: list[str], rng: Generator) -> list[str]:
        count = max(1, round(share * len(text)))
        operation = int(rng.integers(4))
        if operation == 0:
            return replace_words(text, count, synonyms, rng)
        if operation == 1:
            return insert_words(text, count, synonyms, rng)
        return swap_words(text, count, rng) if operation == 2 else delete_words(text, share, rng)

    return _augmented_pairs(documents, augmented, seed)


def uda_pairs(documents: Sequence[Document], *, share: float = 0.3, seed: int = 0) -> Source:
    """(document, copy) with words of low TF-IDF replaced by other such words (Xie et al.

    2020, TF-IDF word replacement). share: p, about the share of the words that are replaced. Raises ConfigError when no
    document has text.
    """
    counts = WordCounts.of(documents)
    known = {word: index for index, word in enumerate(counts.words)}
    idf, odds = counts.idf, np.cumsum(unimportance(counts.times * counts.idf))

    def augmented(text: list[str], rng: Generator) -> list[str]:
        often, places = Counter(text), [known[word] for word in text]
        weight = np.array([often[word] for word in text]) / len(text) * idf[places]
        replaced = np.flatnonzero(rng.random(len(text)) < replacement_chance(weight, share))
        drawn = np.searchsorted(odds, odds[-1] * rng.random(len(replaced)), side="right")
        others = dict(zip(replaced.tolist(), drawn.tolist(), strict=True))
        return [counts.words[others[index]] if index in others else word for index, word in enumerate(text)]

    return _augmented_pairs(documents, augmented, seed)


def replace_words(text: Sequence[str], count: int, synonyms: Synonyms, rng: Generator) -> list[str]:
    """EDA's first operation: `count` different words that have synonyms, each replaced wherever it occurs.

    >>> replace_words(["bees", "and", "bees"], 1, {"bees": ["wasps"]}.get, np.random.default_rng(0))
    ['wasps', 'and', 'wasps']
    """
    given: dict[str, str] = {}
    for word in rng.permutation(sorted(set(text))).tolist():
        if len(given) < count and (others := synonyms(word)):
            given[word] = _one(others, rng)
    return [given.get(word, word) for word in text]


def insert_words(text: Sequence[str], count: int, synonyms: Synonyms, rng: Generator) -> list[str]:
    """EDA's second operation: `count` times, a synonym of a word of the text is inserted anywhere.

    >>> sorted(insert_words(["bees", "and"], 2, {"bees": ["wasps"]}.get, np.random.default_rng(0)))
    ['and', 'bees', 'wasps', 'wasps']
    """
    longer, able = list(text), [others for word in text if (others := synonyms(word))]
    for _ in range(count if able else 0):
        others = able[int(rng.integers(len(able)))]
        longer.insert(int(rng.integers(len(longer) + 1)), _one(others, rng))
    return longer


def swap_words(text: Sequence[str], count: int, rng: Generator) -> list[str]:
    """EDA's third operation: `count` times, two words change places.

    >>> swap_words(["bees", "fly"], 1, np.random.default_rng(0))
    ['fly', 'bees']
    """
    swapped = list(text)
    for _ in range(count if len(swapped) > 1 else 0):
        here, there = rng.choice(len(swapped), 2, replace=False).tolist()
        swapped[here], swapped[there] = swapped[there], swapped[here]
    return swapped


def delete_words(text: Sequence[str], share: float, rng: Generator) -> list[str]:
    """EDA's fourth operation: every word is deleted with this probability; one is always kept.

    >>> delete_words(["bees", "bees"], 1.0, np.random.default_rng(0))
    ['bees']
    """
    kept = [word for word, drawn in zip(text, rng.random(len(text)).tolist(), strict=True) if drawn >= share]
    return kept or [_one(text, rng)]


def replacement_chance(tfidf: NDArray[np.float64], share: float) -> NDArray[np.float64]:
    """(words,) UDA's probability of each word to be replaced: min(p (C - TFIDF) / Z, 1).

    C is the maximum, Z the mean of C - TFIDF. Of the weights 3, 1, 2 the differences are 0, 2, 1 with the mean 1; with
    equal weights, all have probability p.

    Of the weights 3, 1, 2 the differences are 0, 2, 1 with the mean 1; with equal weights, all have probability p.

    >>> replacement_chance(np.array([3.0, 1.0, 2.0]), 0.4).tolist()
    [0.0, 0.8, 0.4]
    """
    short_of = tfidf.max(initial=0.0) - tfidf
    mean = short_of.mean() if len(short_of) else 0.0
    chances: NDArray[np.float64] = np.minimum(share * short_of / mean, 1.0) if mean else np.full(len(tfidf), share)
    return chances


def unimportance(weights: NDArray[np.float64]) -> NDArray[np.float64]:
    """(words,) UDA's probability of each word of the corpus to replace another: (max S - S) / Z', summing to 1.

    >>> unimportance(np.array([3.0, 1.0, 1.0])).tolist()
    [0.0, 0.5, 0.5]
    """
    short_of = weights.max(initial=0.0) - weights
    total = short_of.sum()
    odds: NDArray[np.float64] = short_of / total if total else np.full_like(weights, 1 / max(len(weights), 1))
    return odds


def near_words(documents: Sequence[Document], encode: Encode, k: int = 5) -> Synonyms:
    """The k words of the corpus that are nearest to a word in an embedding; stop words and rare words have none.

    encode: such as that of a static encoder, which has a vector for each word.
    """
    counts = WordCounts.of(documents)
    able = np.flatnonzero(counts.documents <= max(1.0, STOP * counts.total))
    chosen = able[np.argsort(-counts.times[able], kind="stable")[:FOLLOWED]]
    names = [counts.words[index] for index in chosen.tolist()]
    vectors, near = encode(names), dict[str, list[str]]()
    for start in range(0, len(names), 1024):
        cosines = vectors[start : start + 1024] @ vectors.T
        cosines[np.arange(len(cosines)), start + np.arange(len(cosines))] = -np.inf
        best = np.argpartition(-cosines, min(k, len(names) - 1), axis=1)[:, : min(k, len(names) - 1)]
        near |= {names[row]: [names[index] for index in places] for row, places in enumerate(best.tolist(), start)}
    return lambda word: near.get(word, ())


@dataclass(frozen=True, slots=True)
class WordCounts:
    """The words of a corpus: how often each occurs, and in how many of the `total` documents."""

    words: Sequence[str]
    times: NDArray[np.int64]
    documents: NDArray[np.int64]
    total: int

    @classmethod
    def of(cls, documents: Sequence[Document]) -> Self:
        """Count the words of title and abstract."""
        times, holding, total = Counter[str](), Counter[str](), 0
        for document in documents:
            text = words(text_of(document), ANALYSIS)
            times.update(text)
            holding.update(set(text))
            total += 1
        names = sorted(times)
        return cls(names, _counts(times, names), _counts(holding, names), total)

    @property
    def idf(self) -> NDArray[np.float64]:
        """(words,) log(documents / those with the word), at least 0."""
        weights: NDArray[np.float64] = np.log(self.total / self.documents)
        return weights


def _augmented_pairs(
    documents: Sequence[Document], augmented: Callable[[list[str], Generator], list[str]], seed: int
) -> Source:
    def copy(text: str, rng: Generator) -> str:
        found = words(text, ANALYSIS)
        return " ".join(augmented(found, rng)) if found else text

    return _pairs(documents, copy, seed)


def _pairs(documents: Sequence[Document], copy: Callable[[str, Generator], str], seed: int) -> Source:
    def draw(block: range, key: Key) -> Iterator[Pair]:
        for item, document in enumerate(documents[block.start : block.stop], block.start):
            if text := text_of(document):
                yield Pair(text, copy(text, np.random.default_rng((*key, item))), group_of_document(document))

    return Source(len(documents), draw, seed).checked(_no_text(documents))


def _no_text(documents: Sequence[Document]) -> str:
    return f"none of {len(documents)} documents has any text"


def _one(values: Sequence[str], rng: Generator) -> str:
    return values[int(rng.integers(len(values)))]


def _counts(counter: Mapping[str, int], names: Sequence[str]) -> NDArray[np.int64]:
    return np.fromiter(map(counter.__getitem__, names), np.int64, len(names))
