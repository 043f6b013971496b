"""Learn a dictionary from names of the same labels in two languages.

Words and parts of compounds are aligned by IBM Model 1 (Brown et al. 1993, section 4.1): the probability that a word of
one name stands for a word of the other is estimated by EM, from all pairs of names together.
"""

from array import array
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from itertools import product
from typing import Self

import numpy as np

from tagwright.text.language import joins_words, parse_all, stemmer, stop_words
from tagwright.text.words import fold, raw_words
from tagwright.translation.compounds import Compounds
from tagwright.translation.spelling import Spelling
from tagwright.types import Doubles, Longs

ROUNDS = 6
"Rounds of EM; more change little."

PROBABLE = 0.15
"The least probability of a translation. Chosen, as `SPELLED`, on train documents of two corpora."

SPELLED = 0.1
"The least probability of a word that is only spelled as the other language would."

ONE = 0.6
"""The probability up to which a compound is translated by its parts: "Steuerrecht", where "tax" and "law" have half
each."""

EACH = 2
"The most translations of a word that are tried, in names of one or two words."

LETTERS = 4
"The fewest letters of a word that is spelled anew: shorter ones are alike by chance."


class Tongue:
    """How names in one language are taken apart. code: of the language; names: all that there are in it."""

    def __init__(self, code: str, names: Iterable[str]) -> None:
        languages = parse_all(code)
        self.stem, self.joins = cache(stemmer(languages)), joins_words(languages)
        self._stops = stop_words(languages)
        known = (word for name in names for word in self.words(name)) if self.joins else ()
        self._compounds = Compounds(known, self.stem)

    def words(self, name: str) -> list[str]:
        """The words of a name, folded, without stop words and what is in brackets behind it.

        >>> Tongue("en", ()).words("State of matter (physics)")
        ['state', 'matter']
        """
        head = name.partition("(")[0] if not name.startswith("(") else name
        return [word for word in map(fold, raw_words(head)) if word not in self._stops]

    def parts(self, words: Iterable[str]) -> list[str]:
        """The same words, compounds split into their parts."""
        return [part for word in words for part in self._compounds.split(word)] if self.joins else list(words)


@dataclass(frozen=True, eq=False)
class Dictionary:
    """Translates names from one language into another.

    translations: stem of a word -> words of the other language with their probabilities, the likeliest first.
    """

    source: Tongue
    target: Tongue
    translations: Mapping[str, Sequence[tuple[str, float]]]
    spelling: Spelling
    _looked_up: dict[str, "_Translated"] = field(default_factory=dict, init=False, repr=False)

    @classmethod
    def learn(cls, pairs: Sequence[tuple[str, str]], source: Tongue, target: Tongue) -> Self:
        """The dictionary that these pairs of names teach."""
        aligner = _Aligner(source, target)
        for one, other in pairs:
            aligner.add(one, other)
        return cls(source, target, aligner.translations(), Spelling(aligner.alike))

    def translate(self, name: str) -> tuple[str, ...]:
        """What the name may be in the other language, the likeliest first; none where no word of it is known.

        A word that is not known stays as it is. Two words that a language would join are given joined as well.
        """
        words = [found for word in self.source.words(name) for found in self._word(word)]
        if not words or not any(word.known for word in words):
            return ()
        each = EACH if len(words) <= 2 else 1
        joined = self.target.joins and len(words) == 2 and all(word.known for word in words)
        found = list[str]()
        for chosen in product(*(word.options[:each] for word in words)):
            found += [" ".join(chosen), "".join(chosen)] if joined else [" ".join(chosen)]
        return tuple(dict.fromkeys(found))

    def share_right(self, pairs: Sequence[tuple[str, str]]) -> float:
        """The share of the words of the second names, by their stems, that are in the translations of the first."""
        right = total = 0
        for one, other in pairs:
            wanted = set(map(self.target.stem, self.target.parts(self.target.words(other))))
            guessed = (word for name in self.translate(one)[:1] for word in self.target.parts(self.target.words(name)))
            right += len(wanted & set(map(self.target.stem, guessed)))
            total += len(wanted)
        return right / max(1, total)

    def _word(self, word: str) -> list["_Translated"]:
        """A word, or its parts where it is not known as a whole, or stands for several words."""
        likeliest = max(
            (probability for _, probability in self.translations.get(self.source.stem(word), ())), default=1
        )
        parts = list(map(self._known, self.source.parts([word])))
        if likeliest <= ONE and all(part.known for part in parts):
            return parts
        whole = self._known(word)
        return [whole] if whole.known else parts

    def _known(self, word: str) -> "_Translated":
        if word not in self._looked_up:
            self._looked_up[word] = self._look_up(word)
        return self._looked_up[word]

    def _look_up(self, word: str) -> "_Translated":
        found = self.translations.get(self.source.stem(word), ())
        if found:
            return _Translated(tuple(text for text, _ in found), known=True)
        text, probability = self.spelling(word, SPELLED) if len(word) >= LETTERS else (word, 0.0)
        return _Translated((text,), known=probability > SPELLED)


@dataclass(frozen=True, slots=True)
class _Translated:
    """What a word may be in the other language; itself where that is not known."""

    options: tuple[str, ...]
    known: bool


class _Aligner:
    """Pairs of names as pairs of words, from which probabilities are estimated."""

    def __init__(self, source: Tongue, target: Tongue) -> None:
        self._source, self._target = source, target
        self._sources, self._targets = dict[str, int](), dict[str, int]()
        self._written = Counter[str]()
        self._cells, self._explained, self._sizes = array("q"), array("q"), array("q")
        self._alike = dict[tuple[str, str], None]()

    def add(self, one: str, other: str) -> None:
        """A pair of names. Compounds of the first are read whole and in parts, those of the second in parts."""
        words, others = self._source.words(one), self._target.words(other)
        parts, pieces = self._source.parts(words), self._target.parts(others)
        if not words or not others:
            return
        self._written.update({*others, *pieces})
        for form in [words] if parts == words else [words, parts]:
            self._add(set(map(self._source.stem, form)), set(map(self._target.stem, pieces)))
        self._alike |= dict.fromkeys((word, other) for word in words if len(word) >= LETTERS for other in others)

    @property
    def alike(self) -> Iterable[tuple[str, str]]:
        """Pairs of words that may be spelled alike."""
        return self._alike

    def translations(self) -> dict[str, list[tuple[str, float]]]:
        """Stem -> words of the other language, each in its most frequent form, that are probable."""
        if not self._cells:
            return {}
        source, explained, sizes = (
            np.frombuffer(each, np.int64) for each in (self._cells, self._explained, self._sizes)
        )
        group, target = np.repeat(np.arange(len(sizes)), sizes), np.repeat(explained, sizes)
        cell, probability = model_1(group, source, target, len(self._targets))
        frequent = dict[str, str]()
        for word, _ in sorted(self._written.items(), key=lambda each: (-each[1], each[0])):
            frequent.setdefault(self._target.stem(word), word)
        words = [frequent[stem] for stem in self._targets]
        stems, found = ["", *self._sources], defaultdict[str, list[tuple[str, float]]](list)
        for place in np.flatnonzero(probability > PROBABLE)[
            np.argsort(-probability[probability > PROBABLE], kind="stable")
        ]:
            one, other = divmod(int(cell[place]), len(self._targets))
            if one:
                found[stems[one]].append((words[other], float(probability[place])))
        return dict(found)

    def _add(self, sources: set[str], targets: set[str]) -> None:
        """Every word of one with every word of the other; the word 0 stands for none."""
        ones = [0, *(self._sources.setdefault(word, len(self._sources) + 1) for word in sorted(sources))]
        for word in sorted(targets):
            self._cells.extend(ones)
            self._explained.append(self._targets.setdefault(word, len(self._targets)))
            self._sizes.append(len(ones))


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
