"""Learn a dictionary from names of the same labels in two languages.

Words and parts of compounds are aligned by IBM Model 1 (Brown et al. 1993, section 4.1): the probability that a word of
one name stands for a word of the other is estimated by EM, from all pairs of names together.
"""

import math
from array import array
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from itertools import product
from typing import Self

import numpy as np

from tagwright.text.language import joins_words, make_fold, parse_all, stemmer, stop_words
from tagwright.text.words import raw_words
from tagwright.translation.spelling import Spelling
from tagwright.types import Doubles, Longs

ROUNDS = 6
"Rounds of EM; more change little."

TRANSLATED = 0.15
"The least probability of a translation that is learned. Chosen on train documents of two corpora."

SPELLED = 0.1
"The least probability of a word that is only spelled as the other language would. Chosen as `TRANSLATED`."

WHOLE = 0.6
"""A compound known no better than this is translated by its parts: "Steuerrecht", where "tax" and "law" have half
each."""

LETTERS = 4
"The fewest letters of a word that is spelled anew, shorter ones are alike by chance; and of a part of a compound."

LINKS = {"s": ("s", "es", "ens", "ns"), "n": ("n", "en"), "e": ("e",), "r": ("er",)}
"What may stand between two parts, by its last letter (German; others have nothing there, or some of these)."

HEADS = 2
"""The beginning of a word is taken for a word if at least so many known words follow it; "künst" is not, which only
"liche" and "licher" follow, one word by their stem."""


class Tongue:
    """How names in one language are taken apart. code: of the language; names: all that there are in it.

    words(name): its words, folded, without stop words and what is in brackets behind it. parts(words): the same,
    compounds split into their parts. stem(word). Each is computed once.

    >>> Tongue("en", ()).words("State of matter (physics)")
    ('state', 'matter')
    """

    def __init__(self, code: str, names: Iterable[str]) -> None:
        languages = parse_all(code)
        self.stem = stemmer(languages)
        self.joins = joins_words(languages)
        self.words = cache(self._words)
        self.parts = cache(self._parts)
        self._fold = make_fold(code)
        self._stops = stop_words(languages)
        known = (word for name in names for word in self.words(name)) if self.joins else ()
        self._compounds = Compounds(known, self.stem)

    def _words(self, name: str) -> tuple[str, ...]:
        head = name.partition("(")[0] if not name.startswith("(") else name
        return tuple(word for word in map(self._fold, raw_words(head)) if word not in self._stops)

    def _parts(self, words: tuple[str, ...]) -> tuple[str, ...]:
        return tuple(part for word in words for part in self._compounds.split(word)) if self.joins else words


@dataclass(eq=False)
class Dictionary:
    """Translates names from one language into another.

    translations: stem of a word -> words of the other language with their probabilities, the likeliest first.
    """

    source: Tongue
    target: Tongue
    translations: Mapping[str, Sequence[tuple[str, float]]]
    spelling: Spelling
    _known: dict[str, tuple[tuple[str, ...], float]] = field(default_factory=dict, init=False, repr=False)
    "What each word may be in the other language, and how probably; itself with 0 where that is not known."

    @classmethod
    def learn(cls, pairs: Sequence[tuple[str, str]], source: Tongue, target: Tongue) -> Self:
        """The dictionary that these pairs of names teach."""
        read = [(source.words(one), target.words(other)) for one, other in pairs]
        alike = dict.fromkeys(
            (word, other) for words, others in read for word in words if len(word) >= LETTERS for other in others
        )
        return cls(source, target, _translations(read, source, target), Spelling(alike))

    def translate(self, names: Sequence[str]) -> list[tuple[str, ...]]:
        """Translate each name into the other language, the likeliest first; none where no word of it is known.

        A word that is not known stays as it is. Two words that a language would join are given joined as well.
        """
        words = dict.fromkeys(word for name in names for word in self.source.words(name))
        self._look_up({*words, *(part for word in words for part in self.source.parts((word,)))})
        return list(map(self._translated, names))

    def share_right(self, pairs: Sequence[tuple[str, str]]) -> float:
        """The share of the words of the second names, by their stems, that are in the translations of the first."""
        right = total = 0
        for (_, other), translations in zip(pairs, self.translate([one for one, _ in pairs]), strict=True):
            wanted = set(map(self.target.stem, self.target.parts(self.target.words(other))))
            guessed = (word for name in translations[:1] for word in self.target.parts(self.target.words(name)))
            right += len(wanted & set(map(self.target.stem, guessed)))
            total += len(wanted)
        return right / max(1, total)

    def _translated(self, name: str) -> tuple[str, ...]:
        """Translate one name, the words of which have been looked up; see `translate`."""
        words = [part for word in self.source.words(name) for part in self._word(word)]
        if not any(probability for _, probability in words):
            return ()
        most = 2 if len(words) <= 2 else 1  # with three words or more, one translation each, or there are too many
        joined = self.target.joins and len(words) == 2 and all(probability for _, probability in words)
        separators = (" ", "") if joined else (" ",)
        choices = product(*(options[:most] for options, _ in words))
        return tuple(dict.fromkeys(separator.join(chosen) for chosen in choices for separator in separators))

    def _word(self, word: str) -> list[tuple[tuple[str, ...], float]]:
        """A word, or its parts where it is not known as a whole, or stands for several words."""
        options, probability = self._known[word]
        if probability <= WHOLE:
            parts = [self._known[part] for part in self.source.parts((word,))]
            if not probability or all(known for _, known in parts):
                return parts
        return [(options, probability)]

    def _look_up(self, words: Iterable[str]) -> None:
        """Make these words known, those without a translation by their spelling."""
        others = list[str]()
        for word in words:
            if translations := self.translations.get(self.source.stem(word)):
                self._known[word] = tuple(text for text, _ in translations), translations[0][1]
            elif len(word) < LETTERS:
                self._known[word] = (word,), 0.0
            else:
                others.append(word)
        for word, (text, probability) in zip(others, self.spelling(others, SPELLED), strict=True):
            self._known[word] = (text,), float(probability > SPELLED)  # 1: its spelling is all that is known


class Compounds:
    """Splits compounds into known parts: listed words, compared by stem, and beginnings that compounds of these share.

    Of all splits the one is taken whose parts are the most frequent: the largest geometric mean of their counts (Koehn
    and Knight 2003, section 3). A part has at least four letters.

    >>> Compounds(["wirtschaft", "politik", "steuerpolitik", "steuerrecht", "recht"], str).split("wirtschaftspolitik")
    ('wirtschaft', 'politik')
    """

    def __init__(self, words: Iterable[str], stem: Callable[[str], str]) -> None:
        self.split = cache(self._split)
        self._stem = cache(stem)
        self._stems = Counter[str]()
        counts = Counter(words)
        for word, count in counts.items():
            self._stems[self._stem(word)] += count
        tails = defaultdict[str, set[str]](set)
        for word in counts:
            for end in self._ends(word):
                tails[word[:end]].add(self._stem(word[end:]))
        self._heads = {head: len(tail) for head, tail in tails.items() if len(tail) >= HEADS}

    def _split(self, word: str) -> tuple[str, ...]:
        """The parts of a word, or the word alone where it has none."""
        return max(self._candidates(word), key=self._frequency, default=(word,))

    def _candidates(self, word: str) -> Iterable[tuple[str, ...]]:
        """The splits of a word into known parts, without what stands between the parts."""
        for end in self._ends(word):
            head, tail = word[:end], word[end:]
            for link in ("", *LINKS.get(head[-1], ())):
                first = head.removesuffix(link)
                if (link and first == head) or len(first) < LETTERS:
                    continue
                if self._count(first):
                    yield first, tail
                elif len(parts := self.split(first)) > 1:
                    yield *parts, tail

    def _frequency(self, parts: tuple[str, ...]) -> float:
        """The logarithm of the geometric mean of the counts of the parts."""
        return sum(math.log(self._count(part)) for part in parts) / len(parts)

    def _count(self, word: str) -> int:
        """How often a word is listed, by its stem; for a beginning of compounds, how many known words follow it."""
        return self._stems.get(self._stem(word)) or self._heads.get(word, 0)

    def _ends(self, word: str) -> list[int]:
        """Where the first part of a word may end: before a known one."""
        return [end for end in range(LETTERS, len(word) - LETTERS + 1) if self._stem(word[end:]) in self._stems]


def _translations(
    names: Iterable[tuple[Sequence[str], Sequence[str]]], source: Tongue, target: Tongue
) -> dict[str, list[tuple[str, float]]]:
    """Stem -> probable words of the other language, each in its most frequent spelling, the likeliest first.

    names: the words of pairs of names. Compounds of the first are read whole and in parts, those of the second in
    parts. Every word of one may explain every word of the other. Words are compared by stems, which are numbered as
    they come; the number 0 among the explaining words stands for none.
    """
    sources = {"": 0}
    targets = dict[str, int]()
    spellings = Counter[str]()
    # each word that is explained, the words that may explain it, and how many these are
    explained, explaining, sizes = array("q"), array("q"), array("q")
    for own, others in names:
        if not own or not others:
            continue
        parts, pieces = source.parts(own), target.parts(others)
        spellings.update({*others, *pieces})
        wanted = _numbers({*map(target.stem, pieces)}, targets)
        for words in [own] if parts == own else [own, parts]:
            given = _numbers({"", *map(source.stem, words)}, sources)
            explained.extend(wanted)
            explaining.extend(given * len(wanted))
            sizes.extend([len(given)] * len(wanted))
    group = np.repeat(np.arange(len(sizes)), sizes)
    target_of = np.repeat(np.array(explained, np.int64), sizes)
    pairs, probability = model_1(group, np.array(explaining, np.int64), target_of, len(targets))
    frequent = _most_frequent_spellings(spellings, target.stem)
    source_stems, target_words = list(sources), [frequent[stem] for stem in targets]
    translations = defaultdict[str, list[tuple[str, float]]](list)
    probable = np.flatnonzero(probability > TRANSLATED)
    for place in probable[np.argsort(-probability[probable], kind="stable")].tolist():
        one, other = divmod(int(pairs[place]), len(targets))
        if one:  # 0 is no word
            translations[source_stems[one]].append((target_words[other], float(probability[place])))
    return dict(translations)


def _numbers(stems: set[str], numbered: dict[str, int]) -> list[int]:
    """The number of each stem, in the order of the alphabet; a new stem gets the next number."""
    return [numbered.setdefault(stem, len(numbered)) for stem in sorted(stems)]


def _most_frequent_spellings(counts: Mapping[str, int], stem: Callable[[str], str]) -> dict[str, str]:
    """Stem -> its word with the largest count; of equally frequent words, the first in the order of the alphabet."""
    rarest_first = sorted(counts, key=lambda word: (-counts[word], word), reverse=True)
    return {stem(word): word for word in rarest_first}  # of words with one stem, the last is kept


def model_1(group: Longs, source: Longs, target: Longs, targets: int) -> tuple[Longs, Doubles]:
    """IBM Model 1: the probability of each target word given each source word with which it occurs.

    group: (cells,) which word of which name is explained; source: (cells,) by which word, target: (cells,) the word
    itself, of `targets`. Returns (pairs,) source * targets + target, and the probability of each.

    "haus" is "house" and "haus boot" is "house boat": after many rounds "boot" stands for "boat" alone.

    >>> cells = np.array([[0, 0, 0], [1, 0, 0], [1, 1, 0], [2, 0, 1], [2, 1, 1]])
    >>> pairs, found = model_1(*cells.T, targets=2)
    >>> dict(zip(pairs.tolist(), found.round(2).tolist()))[3] > 0.8
    True
    """
    pairs, pair = np.unique(source * targets + target, return_inverse=True)
    of = pairs // targets
    probability = np.ones(len(pairs))
    for _ in range(ROUNDS):
        share = probability[pair]
        expected = np.bincount(pair, share / np.bincount(group, share)[group], len(pairs))
        probability = expected / np.bincount(of, expected)[of]
    return pairs, probability
