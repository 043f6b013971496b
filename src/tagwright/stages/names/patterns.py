"""Compile names of labels into patterns of stems, with the specificity of each.

All of it is arrays, which are memory-mapped: see `trie`.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain, groupby
from operator import itemgetter
from pathlib import Path
from typing import TYPE_CHECKING, TypeAlias

import numpy as np

from tagwright.core.saved import read_array, write_arrays
from tagwright.data.sparse_arrays import read_matrix, write_matrix
from tagwright.data.string_table import StringIndex, StringTable, check_places
from tagwright.stages.names.trie import WordTrie
from tagwright.text.language import parse_all, stop_words
from tagwright.text.lemmas import word_form
from tagwright.text.words import Analysis, fold, raw_words
from tagwright.types import Ints, Label

if TYPE_CHECKING:
    from scipy.sparse import csr_array

SHARED = 1000
"""The most labels that may share a name: a name of a million labels says nothing, and each mention would give a million
candidates. Real vocabularies stay far below this limit."""
_ACRONYM = 5
"Longest name, in characters, whose capitals distinguish it from a word."

_Pattern: TypeAlias = tuple[tuple[str, ...], str]
"A search pattern: stems, and the required spelling of words where it matters."


@dataclass(frozen=True, eq=False)
class NamePatterns:
    """The patterns to search in texts for the names of labels.

    words: stem -> number. trie: the patterns, as numbers of words. spelled: (patterns,) the place in `spellings` of how
    the word must be written, -1 where that does not matter. specificities: (patterns, labels), in bits, the
    `information` of all words of a pattern, times the weight of the form (`forms`).
    """

    words: Mapping[str, int]
    trie: WordTrie
    spelled: Ints
    spellings: Sequence[str]
    specificities: csr_array

    @classmethod
    def of(
        cls, labels: Sequence[Label], stem: str, min_characters: int, analysis: Analysis, *, lemmas: bool, common: bool
    ) -> NamePatterns:
        """The patterns of all names. stem, min_characters, analysis, lemmas, common: see `ExactMatchOptions`."""
        cut = word_form(stem, lemmas=lemmas)

        def stems(word: str) -> str:
            return cut(fold(word, analysis))

        forms = list(_forms_of(labels, stems, stem, min_characters, analysis, common))
        texts = ((i, label.description) for i, label in enumerate(labels))
        described = {i: set(map(stems, raw_words(text, analysis))) for i, text in texts if text}
        patterns: dict[_Pattern, int] = {}
        ids = [patterns.setdefault(pattern, len(patterns)) for _, pattern, _ in forms]
        words = dict[str, int]()
        numbers = [words.setdefault(word, len(words)) for own, _ in patterns for word in own]
        ends = np.cumsum(np.fromiter((len(own) for own, _ in patterns), np.int64, len(patterns)))
        spellings = dict[str, int]()
        spelled = [spellings.setdefault(form, len(spellings)) if form else -1 for _, form in patterns]
        trie = WordTrie.of(np.array(numbers, np.int64), ends, words_in_all=len(words))
        bits = _specificities(patterns, forms, ids, described, len(labels))
        return cls(words, trie, np.array(spelled, np.int32), list(spellings), bits)

    def save(self, folder: Path) -> None:
        """Write arrays into an existing folder."""
        StringIndex.of(list(self.words)).save(folder, "words")
        StringTable.of(self.spellings).save(folder, "spellings")
        self.trie.save(folder)
        write_arrays(folder, {"spelled": self.spelled})
        (folder / "specificities").mkdir()
        write_matrix(folder / "specificities", self.specificities)

    @classmethod
    def load(cls, folder: Path, labels: int) -> NamePatterns:
        """Memory-map what `save` wrote. labels: their number. Raises ModelError when it is damaged."""
        from scipy.sparse import csr_array

        words = StringIndex.load(folder, "words")
        spellings = StringTable.load(folder, "spellings")
        spelled = read_array(folder, "spelled", np.int32, (None,))
        check_places(folder / "spelled.npy", spelled + 1, len(spellings) + 1)
        bits = csr_array(read_matrix(folder / "specificities", (len(spelled), labels), np.float64))
        return cls(words, WordTrie.load(folder, len(words), len(spelled)), spelled, spellings, bits)


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
    that the bare word has other meanings. Inverted names also occur in natural order.

    >>> forms("Bond (finance)")
    {'Bond (finance)': 1.0, 'Bond': 0.5}
    >>> forms("Databases, Bibliographic, Medical")
    {'Databases, Bibliographic, Medical': 1.0, 'Medical Bibliographic Databases': 1.0}
    """
    if "(" not in name and ", " not in name:  # most names
        return {name: 1.0}
    qualified = re.fullmatch(r"(.*\S)\s+\([^()]+\)", name)
    bare, share = (qualified[1], 0.5) if qualified else (name, 1.0)
    natural = " ".join(bare.split(", ")[::-1])
    return {name: 1.0, bare: share, natural: share}


def _forms_of(
    labels: Sequence[Label],
    stems: Callable[[str], str],
    stem: str,
    min_characters: int,
    analysis: Analysis,
    common: bool,
) -> Iterator[tuple[int, _Pattern, float]]:
    """The forms of the names of labels in a text: the label, the pattern, and its weight."""
    own_case = not common and not _in_capitals(labels)
    names = (name for label in labels for name in label.searched)
    stopped = frozenset[str]() if common else stop_words(parse_all(stem), names, analysis)
    for index, label in enumerate(labels):
        own: list[tuple[_Pattern, float]] = []
        for form, share in chain.from_iterable(forms(name).items() for name in label.searched):
            raw = raw_words(form, analysis)
            spelling = raw[0] if own_case and _is_acronym(raw) else ""
            everyday = not spelling and stopped.issuperset(fold(word, analysis) for word in raw)
            if not everyday and sum(map(len, raw)) >= min_characters:
                own.append(((tuple(map(stems, raw)), spelling), share))
        patterns = [pattern for pattern, _ in own]
        yield from (
            (index, pattern, share) for pattern, share in own if not pattern[1] or not _covered(pattern, patterns)
        )


def _covered(pattern: _Pattern, others: Sequence[_Pattern]) -> bool:
    """Whether another form finds all that this acronym finds: an occurrence must not count twice for one label."""
    stems, spelling = pattern
    spellings = (written for words, written in others if words == stems)
    return any(spelling != other and spelling.startswith(other) for other in spellings)


def _is_acronym(raw: Sequence[str]) -> bool:
    return len(raw) == 1 and raw[0].isupper() and len(raw[0]) <= _ACRONYM


def _in_capitals(labels: Sequence[Label]) -> bool:
    """Whether capitals are not significant, as in old thesauri: most of the names too long for an acronym have them."""
    long = [label.name.isupper() for label in labels if len(label.name) > _ACRONYM]
    return 2 * sum(long) > len(long)


def _specificities(
    patterns: Iterable[_Pattern],
    forms: Sequence[tuple[int, _Pattern, float]],
    ids: Sequence[int],
    described: Mapping[int, set[str]],
    labels: int,
) -> csr_array:
    """(patterns, labels): the bits of a pattern for a label, the maximum if several names of the label share it.

    forms: grouped by label. ids: the position of each form's pattern. described: label -> stems of its description. Of
    the labels that share a pattern, the SHARED with the most bits are kept, the first of the vocabulary among equals.
    """
    from scipy.sparse import csr_array

    stems_of_labels = (
        described.get(label, set()).union(*[stems for _, (stems, _), _ in group])
        for label, group in groupby(forms, key=itemgetter(0))
    )
    counts = Counter(chain.from_iterable(stems_of_labels))
    information_of = {stem: information(count, labels) for stem, count in counts.items()}
    bits = np.array([sum(map(information_of.__getitem__, stems)) for stems, _ in patterns])
    rows, columns = np.array(ids, np.int32), np.array([label for label, *_ in forms], np.int32)
    values = np.array([share for *_, share in forms]) * (bits[rows] if len(rows) else 0)
    order = np.lexsort((columns, -values, rows))
    cells = rows[order].astype(np.int64) * labels + columns[order]
    order = order[np.sort(np.unique(cells, return_index=True)[1])]  # for each label the maximum
    rows = rows[order]
    kept = np.arange(len(rows)) - np.searchsorted(rows, rows) < SHARED
    return csr_array((values[order][kept], (rows[kept], columns[order][kept])), (len(bits), labels))
