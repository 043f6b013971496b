"""Compile names of labels into patterns of stems, with the specificity of each.

All of it is arrays, which are memory-mapped: see `trie`.
"""

from __future__ import annotations

import math
import re
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import count, pairwise
from typing import TYPE_CHECKING, Any, NamedTuple, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from tagwright.data.sparse_arrays import matrix_of, matrix_state
from tagwright.data.string_table import StringIndex, StringTable
from tagwright.stages.names.trie import WordTrie
from tagwright.text.batch import Numbered
from tagwright.text.language import make_fold, parse_all, stop_words
from tagwright.text.lemmas import word_form
from tagwright.types import Doubles, Ints, Label, Longs, Mask

if TYPE_CHECKING:
    from scipy.sparse import csr_array

SHARED = 1000
"""The most labels that may share a name: a name of a million labels says nothing, and each mention would give a million
candidates. Real vocabularies stay far below this limit."""
_ACRONYM = 5
"Longest name, in characters, whose capitals distinguish it from a word."


@dataclass(frozen=True, eq=False)
class NamePatterns:
    """The patterns to search in texts for the names of labels.

    words: stem -> number. trie: the patterns, as numbers of words. spelled: (patterns,) the place in `spellings` of how
    the words must be written, -1 where that does not matter. specificities: (patterns, labels), in bits, the
    `information` of all words of a pattern, times the weight of the form (`forms`).
    """

    words: Mapping[str, int]
    trie: WordTrie
    spelled: Ints
    spellings: Sequence[str]
    specificities: csr_array

    @classmethod
    def of(cls, labels: Sequence[Label], stem: str, min_characters: int, *, lemmas: bool, common: bool) -> NamePatterns:
        """The patterns of all names. stem, min_characters, lemmas, common: see `ExactMatchOptions`."""
        form_of, stems = word_form(stem, lemmas=lemmas), defaultdict[str, int](count().__next__)

        fold = make_fold(stem)

        def stemmed(texts: Numbered) -> Numbered:
            numbers = np.array([stems[form_of(fold(word))] for word in texts.words], np.int32)
            return texts._replace(numbers=numbers[texts.numbers])

        found = _Forms.of(labels, stem, min_characters, common=common)
        forms = found._replace(texts=stemmed(found.texts)).uncovered()
        described = stemmed(Numbered.of(label.description for label in labels))
        ids, is_first = forms.patterns()
        patterns = forms.where(is_first)
        bits = _specificities(forms, patterns, ids, described, len(stems))
        numbers, order = _renumber(patterns.texts.numbers)
        spelled, spellings = _renumber(patterns.spelled)
        trie = WordTrie.of(numbers.astype(np.int64), patterns.texts.ends, words_in_all=len(order))
        known = list(stems)
        words = {known[stem]: number for number, stem in enumerate(order)}
        return cls(words, trie, spelled, [found.spellings[place] for place in spellings], bits)

    def state(self) -> dict[str, Any]:
        """Return what saved patterns are made of."""
        return {
            "words": StringIndex.of(list(self.words)),
            "spellings": StringTable.of(self.spellings),
            "spelled": self.spelled,
            "trie": self.trie,
            "specificities": matrix_state(self.specificities),
        }

    @classmethod
    def from_state(cls, state: Mapping[str, Any]) -> Self:
        """Make the patterns of a saved state."""
        from scipy.sparse import csr_array

        words, spellings = StringIndex.from_state(state["words"]), StringTable.from_state(state["spellings"])
        trie, bits = WordTrie(**state["trie"]), csr_array(matrix_of(state["specificities"]))
        return cls(words, trie, state["spelled"], spellings, bits)


def information(labels_with_word: int, labels: int) -> float:
    """The information content of a word, in bits: log2(1 + labels / labels with the word).

    Labels have the words of their names and descriptions: "application" says little if it occurs in many descriptions,
    even if it is the name of only one label. A word of 1 among 7 labels gives log2(8) = 3 bits, one of all 7 still
    gives log2(2) = 1.

    >>> information(1, 7), information(7, 7)
    (3.0, 1.0)
    """
    return math.log2(1 + labels / labels_with_word)


def forms(name: str) -> dict[str, float]:
    """The forms of a name in texts, each with its weight.

    A qualifier in parentheses is rarely written out, so the name also counts without it, by half: the qualifier shows
    that the bare word has other meanings. Inverted names also occur in natural order, initials with and without spaces.

    >>> forms("Bond (finance)")
    {'Bond (finance)': 1.0, 'Bond': 0.5}
    >>> forms("Databases, Bibliographic, Medical")
    {'Databases, Bibliographic, Medical': 1.0, 'Medical Bibliographic Databases': 1.0}
    >>> list(forms("J. K. Rowling")), list(forms("U.S.A."))
    (['J. K. Rowling', 'J.K. Rowling'], ['U.S.A.', 'U. S. A.'])
    """
    if "(" not in name and ", " not in name and "." not in name:  # most names
        return {name: 1.0}
    qualified = re.fullmatch(r"(.*\S)\s+\([^()]+\)", name)
    bare, share = (qualified[1], 0.5) if qualified else (name, 1.0)
    natural = " ".join(bare.split(", ")[::-1])
    found = {name: 1.0, bare: share, natural: share}
    if "." not in name:
        return found
    spaced = {_INITIAL.sub(r"\1. ", form): weight for form, weight in found.items()}
    return {**found, **{_SPACED.sub(r"\1.", form): weight for form, weight in spaced.items()}, **spaced}


_INITIAL, _SPACED = (re.compile(rf"(?<!\w)([^\W\d_])\.{gap}(?=[^\W\d_]\b)") for gap in ("", r"\s+"))


class _Forms(NamedTuple):
    """Forms of names that are searched, those of a label one after the other.

    texts: their words. owners: (forms,) the label. shares: (forms,) the weight. spelled: (forms,) the place in
    `spellings` of how the words must be written, -1 where that does not matter.
    """

    texts: Numbered
    owners: Ints
    shares: Doubles
    spelled: Ints
    spellings: Sequence[str]

    @classmethod
    def of(cls, labels: Sequence[Label], stem: str, min_characters: int, *, common: bool) -> Self:
        """The forms of all names, without short ones and everyday words.

        Several stop words are a name where they have its capitals ("The Who"), or there are three ("Do it yourself").
        """
        names = [(owner, name) for owner, label in enumerate(labels) for name in label.searched]
        listed = [(owner, form, share) for owner, name in names for form, share in forms(name).items()]
        texts = Numbered.of(form for _, form, _ in listed)
        words, own_case, fold = texts.words, not common and not _in_capitals(labels), make_fold(stem)
        stopped = frozenset[str]() if common else stop_words(parse_all(stem), (name for _, name in names))
        letters, lengths = _sums(texts, [len(word) for word in words]), np.diff(texts.ends, prepend=0)
        telling = _sums(texts, [fold(word) not in stopped for word in words])
        acronyms = _sums(texts, [own_case and word.isupper() and len(word) <= _ACRONYM for word in words])
        is_acronym = (lengths == 1) & (acronyms > 0)
        is_stopped = (telling == 0) & (lengths == 2) & own_case
        kept = is_acronym | is_stopped | (telling > 0) | (lengths > 2)
        spelled, spellings = np.full(len(listed), -1, np.int32), dict[str, int]()
        for form in np.flatnonzero(is_acronym | is_stopped).tolist():
            own = texts.numbers[texts.ends[form] - lengths[form] : texts.ends[form]].tolist()
            spelled[form] = spellings.setdefault(" ".join(words[word] for word in own), len(spellings))
        owners = np.array([owner for owner, *_ in listed], np.int32)
        whole = cls(texts, owners, np.array([share for *_, share in listed], np.float64), spelled, list(spellings))
        return whole.where((letters >= min_characters) & kept)

    def where(self, kept: Mask) -> Self:
        """Some of the forms."""
        lengths = np.diff(self.texts.ends, prepend=0)
        texts = self.texts._replace(numbers=self.texts.numbers[np.repeat(kept, lengths)], ends=np.cumsum(lengths[kept]))
        return type(self)(texts, self.owners[kept], self.shares[kept], self.spelled[kept], self.spellings)

    def uncovered(self) -> Self:
        """Without acronyms all of which another form of the label finds: an occurrence counts once for one label."""
        one = np.flatnonzero(np.diff(self.texts.ends, prepend=0) == 1)
        words = self.texts.numbers[self.texts.ends[one] - 1]
        of_label = list(zip(self.owners[one].tolist(), words.tolist(), strict=True))
        written = [self.spellings[place] if place >= 0 else "" for place in self.spelled[one].tolist()]
        others = defaultdict[tuple[int, int], set[str]](set)
        for key, spelling in zip(of_label, written, strict=True):
            others[key].add(spelling)
        kept = np.ones(len(self.owners), np.bool_)
        kept[one] = [
            not any(spelling != other and spelling.startswith(other) for other in others[key])
            for key, spelling in zip(of_label, written, strict=True)
        ]
        return self.where(kept)

    def patterns(self) -> tuple[Longs, Mask]:
        """(forms,) the pattern of each: words and how they must be written; (forms,) whether it is its first form."""
        words, places = self.texts.numbers.tobytes(), dict[tuple[bytes, int], int]()
        ends = [0, *(self.texts.ends * self.texts.numbers.itemsize).tolist()]
        keys = zip((words[start:end] for start, end in pairwise(ends)), self.spelled.tolist(), strict=True)
        ids = np.array([places.setdefault(key, len(places)) for key in keys], np.int64)
        return ids, np.diff(np.maximum.accumulate(ids), prepend=-1) > 0


def _in_capitals(labels: Sequence[Label]) -> bool:
    """Whether capitals are not significant, as in old thesauri: most of the names too long for an acronym have them."""
    long = [label.name.isupper() for label in labels if len(label.name) > _ACRONYM]
    return 2 * sum(long) > len(long)


def _sums(texts: Numbered, values: ArrayLike) -> Longs:
    """(texts,) the sum of what is known of their words. values: of each distinct word."""
    sums = np.insert(np.cumsum(np.array(values, np.int64)[texts.numbers]), 0, 0)
    return np.diff(sums[np.insert(texts.ends, 0, 0)])


def _renumber(numbers: Ints) -> tuple[Ints, list[int]]:
    """Numbers from 0, in the order in which these come first, and these in this order; -1 stays as it is.

    >>> _renumber(np.array([7, -1, 5, 7]))
    (array([ 0, -1,  1,  0], dtype=int32), [7, 5])
    """
    distinct, first = np.unique(numbers[numbers >= 0], return_index=True)
    order = distinct[np.argsort(first)]
    places = np.full(numbers.max(initial=-1) + 2, -1, np.int32)  # -1 reads the last
    places[order] = np.arange(len(order))
    return places[numbers], order.tolist()


def _specificities(forms: _Forms, patterns: _Forms, ids: Longs, described: Numbered, words: int) -> csr_array:
    """(patterns, labels): the bits of a pattern for a label, the maximum if several names of the label share it.

    forms: with stems as words; ids: the pattern of each. described: the descriptions of labels as stems, of `words` in
    all. Of the labels that share a pattern, the SHARED with the most bits are kept, the first of the vocabulary among
    equals.
    """
    from scipy.sparse import csr_array

    labels = len(described.ends)
    holders, stems = _of_each(forms.texts, forms.owners), forms.texts.numbers
    others = _of_each(described, np.arange(labels))
    is_named = np.isin(others, forms.owners)  # labels without a form are not counted
    holders = np.concatenate([holders, others[is_named]]).astype(np.int64)
    stems = np.concatenate([stems, described.numbers[is_named]])
    cells = np.sort(holders * words + stems)
    counts = np.bincount(cells[np.diff(cells, prepend=-1) > 0] % max(1, words), minlength=words)
    information_of = np.array([information(number, labels) if number else 0.0 for number in counts.tolist()])
    own = _of_each(patterns.texts, np.arange(len(patterns.owners)))
    bits = np.bincount(own, information_of[patterns.texts.numbers], len(patterns.owners))
    rows, columns, values = ids.astype(np.int32), forms.owners, forms.shares * bits[ids]
    order = np.lexsort((columns, -values, rows))
    cells = rows[order].astype(np.int64) * labels + columns[order]
    order = order[np.sort(np.unique(cells, return_index=True)[1])]  # for each label the maximum
    rows = rows[order]
    kept = np.arange(len(rows)) - np.searchsorted(rows, rows) < SHARED
    return csr_array((values[order][kept], (rows[kept], columns[order][kept])), (len(bits), labels))


def _of_each(texts: Numbered, values: Ints | Longs) -> NDArray[np.integer]:
    """(words of all texts,) what is known of the text of each."""
    return np.repeat(values, np.diff(texts.ends, prepend=0))
