"""Learn a dictionary from names of the same labels in two languages.

Words and parts of compounds are aligned by IBM Model 1 (Brown et al. 1993, section 4.1): the probability that a word of
one name stands for a word of the other is estimated by EM, from all pairs of names together.
"""

import math
from array import array
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
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

SPELLED = 0.1
"""The least probability of a word that is only spelled as the other language would. Chosen, as that of a translation,
on train documents of two corpora."""

ONE = 0.6
"""The probability up to which a compound is translated by its parts: "Steuerrecht", where "tax" and "law" have half
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
        self.stem, self.joins = stemmer(languages), joins_words(languages)
        self._fold = make_fold(code)
        self._stops, self.words, self.parts = stop_words(languages), cache(self._words), cache(self._parts)
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

    def __post_init__(self) -> None:
        # what each word may be in the other language, and how probably; itself with 0 where that is not known
        self._known = dict[str, tuple[tuple[str, ...], float]]()

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
        words = [part for word in self.source.words(name) for part in self._word(word)]
        if not any(probability for _, probability in words):
            return ()
        most = 2 if len(words) <= 2 else 1  # translations of a word that are tried
        joined = self.target.joins and len(words) == 2 and all(probability for _, probability in words)
        translations = list[str]()
        for chosen in product(*(options[:most] for options, _ in words)):
            translations += [" ".join(chosen), "".join(chosen)] if joined else [" ".join(chosen)]
        return tuple(dict.fromkeys(translations))

    def _word(self, word: str) -> list[tuple[tuple[str, ...], float]]:
        """A word, or its parts where it is not known as a whole, or stands for several words."""
        options, probability = self._known[word]
        if probability <= ONE:
            parts = list(map(self._known.__getitem__, self.source.parts((word,))))
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
        counts, self._stems, tails = Counter(words), Counter[str](), defaultdict[str, set[str]](set)
        self._stem, self.split = cache(stem), cache(self._split)
        self._is_known = cache(lambda word: self._stem(word) in self._stems)
        for word, count in counts.items():
            self._stems[self._stem(word)] += count
        for word in counts:
            for end in self._ends(word):
                tails[word[:end]].add(self._stem(word[end:]))
        self._heads = {head: len(tail) for head, tail in tails.items() if len(tail) >= HEADS}

    def _split(self, word: str) -> tuple[str, ...]:
        """The parts of a word, or the word alone where it has none."""
        return max(self._candidates(word), key=self._frequency, default=(word,))

    def _candidates(self, word: str) -> Iterable[tuple[str, ...]]:
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
        return sum(math.log(self._count(part)) for part in parts) / len(parts)

    def _count(self, word: str) -> int:
        return self._stems.get(self._stem(word)) or self._heads.get(word, 0)

    def _ends(self, word: str) -> list[int]:
        """Where the first part of a word may end: before a known one."""
        is_known = self._is_known
        return [end for end in range(LETTERS, len(word) - LETTERS + 1) if is_known(word[end:])]


def _translations(
    read: Iterable[tuple[Sequence[str], Sequence[str]]], source: Tongue, target: Tongue
) -> dict[str, list[tuple[str, float]]]:
    """Stem -> words of the other language, each in its most frequent form, that are probable.

    read: the words of pairs of names. Compounds of the first are read whole and in parts, those of the second in parts.
    Every word of one goes with every word of the other; the word 0 stands for none.
    """
    sources, targets, written = {"": 0}, dict[str, int](), list[str]()
    cells, explained, sizes = array("q"), array("q"), array("q")
    for own, others in read:
        if not own or not others:
            continue
        parts, pieces = source.parts(own), target.parts(others)
        written += {*others, *pieces}
        stems = [targets.setdefault(stem, len(targets)) for stem in sorted(set(map(target.stem, pieces)))]
        for form in [own] if parts == own else [own, parts]:
            ones = [sources.setdefault(stem, len(sources)) for stem in sorted({"", *map(source.stem, form)})]
            cells.extend(ones * len(stems))
            explained.extend(stems)
            sizes.extend([len(ones)] * len(stems))
    size = np.array(sizes, np.int64)
    group, target_of = np.repeat(np.arange(len(size)), size), np.repeat(np.array(explained, np.int64), size)
    cell, probability = model_1(group, np.array(cells, np.int64), target_of, len(targets))
    frequent, translations = dict[str, str](), defaultdict[str, list[tuple[str, float]]](list)
    for word, _ in sorted(Counter(written).items(), key=lambda each: (-each[1], each[0])):
        frequent.setdefault(target.stem(word), word)
    source_stems, target_words = list(sources), [frequent[stem] for stem in targets]
    probable = np.flatnonzero(probability > 0.15)
    for place in probable[np.argsort(-probability[probable], kind="stable")].tolist():
        one, other = divmod(int(cell[place]), len(targets))
        if one:
            translations[source_stems[one]].append((target_words[other], float(probability[place])))
    return dict(translations)


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
