"""Add to names in one language what they are called in another, as far as labels with names in both teach it.

Below: the languages of names are told apart, where a vocabulary does not say them.
"""

from __future__ import annotations

import json
import logging
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from functools import cache
from hashlib import blake2b
from typing import Any, TypeAlias

import numpy as np

from tagwright.core.cache import user_cache
from tagwright.core.progress import hint
from tagwright.text.language import SHARE, Language, code_of, detect, main_languages, recognise, vocabulary_names
from tagwright.text.words import fold
from tagwright.translation.dictionary import Dictionary, Tongue
from tagwright.types import Doubles, Label, Longs

LEAST = 200
"The fewest labels with names in both languages from which is learned."

VALIDATION = 300
"The most pairs, one in `EVERY`, that show how good a dictionary is; it is learned from the others."

EVERY = 20
"See `VALIDATION`."

RIGHT = 0.25
"The least share of the words of these pairs that a dictionary must find. One learned from chance finds hardly any."

CACHED = "translations"
"The name of translated names in the cache: learning takes seconds."

VERSION = 2
"Increased whenever the same names are translated otherwise than before."

SAMPLE = 4000
"Labels from whose names the languages are learned."

ROUNDS = 5
"Rounds of EM; more change little."

Matrix: TypeAlias = Any
"A scipy.sparse.csr_array; scipy has no types and is imported where it is needed."

_log = logging.getLogger(__name__)


def translate_names(labels: Sequence[Label]) -> Sequence[Label]:
    """The labels, with what they are called in the main languages of the vocabulary where they have no name in one.

    A main language is that of at least a fifth of the labels; where less than a fifth lack a name in it, they are left
    as they are. Where a file does not say the languages of names, they are recognised. A label with translations keeps
    them. The same labels come back where there is nothing to learn from: fewer than 200 labels with names in two
    languages, or names that do not show how words are translated.
    """
    if len(labels) < LEAST:
        return labels
    kept, key = user_cache(), _key(labels)
    content = kept.get(CACHED, [key]).get(key)
    if content is None:
        content = json.dumps(_translations(labels)).encode()
        kept.put(CACHED, {key: content})
    translations: Mapping[str, list[str]] = json.loads(content)
    if not translations:
        return labels
    hint(f"language: {len(translations):,} of {len(labels):,} labels are also searched by translated names")
    names = {int(place): tuple(new) for place, new in translations.items()}
    return [
        replace(label, translated=names[place]) if place in names and not label.translated else label
        for place, label in enumerate(labels)
    ]


def _translations(labels: Sequence[Label]) -> dict[int, tuple[str, ...]]:
    """The place of each label that can be translated, and its translations."""
    named = _by_language(labels)
    counts = Counter(code for names in named for code in names)
    translated_names = defaultdict[int, tuple[str, ...]](tuple)
    for target, count in counts.most_common():
        if not SHARE <= count / len(labels) <= 1 - SHARE:
            continue
        dictionaries, wanted = _dictionaries(named, target), defaultdict[str, list[int]](list)
        for place, names in enumerate(named):
            source = next((code for code in names if code in dictionaries), None)
            if target not in names and source is not None:
                wanted[source].append(place)
        for source, places in wanted.items():
            translations = dictionaries[source].translate([named[place][source] for place in places])
            for place, new in zip(places, translations, strict=True):
                if new:
                    translated_names[place] += new
    return translated_names


def _dictionaries(named: Sequence[Mapping[str, str]], target: str) -> dict[str, Dictionary]:
    """Code of a language -> the dictionary from it into this one, where labels without a name in this one need it."""
    wanted = Counter(code for names in named if target not in names for code in names)
    dictionaries, into = dict[str, Dictionary](), Tongue(target, _names(named, target))
    for source in sorted(wanted):
        pairs = [(names[source], names[target]) for names in named if source in names and target in names]
        if len(pairs) < LEAST:
            continue
        validation = pairs[::EVERY][:VALIDATION]
        learned = [pair for i, pair in enumerate(pairs) if i % EVERY or i >= EVERY * VALIDATION]
        dictionary = Dictionary.learn(learned, Tongue(source, _names(named, source)), into)
        right = dictionary.share_right(validation)
        _log.info("names: %s to %s from %d labels, right %.2f of the words", source, target, len(pairs), right)
        if right >= RIGHT:
            dictionaries[source] = dictionary
    return dictionaries


def _names(named: Iterable[Mapping[str, str]], code: str) -> list[str]:
    return [names[code] for names in named if code in names]


def _by_language(labels: Sequence[Label]) -> list[dict[str, str]]:
    """For each label, code of a language that is known here -> its first name in it."""
    tagged: Iterable[tuple[tuple[str, str], ...]] = (label.languages for label in labels)
    if len({code.partition("-")[0] for label in labels for code, _ in label.languages}) < 2:  # the file says nothing
        languages = main_languages(recognise(vocabulary_names(labels)))
        if len(languages) < 2:
            return [{} for _ in labels]
        tagged = recognise_languages(labels, languages)
    code_of_tag, names_by_language = cache(code_of), list[dict[str, str]]()
    for names in tagged:
        first = dict[str, str]()
        for tag, name in names:
            if code := code_of_tag(tag):
                first.setdefault(code, name)
        names_by_language.append(first)
    return names_by_language


def _key(labels: Sequence[Label]) -> bytes:
    key = blake2b(repr(VERSION).encode(), digest_size=20)
    for label in labels:
        key.update(repr((label.names, label.languages)).encode("utf-8", "surrogatepass"))
    return key.digest()


def recognise_languages(labels: Sequence[Label], languages: Sequence[Language]) -> list[tuple[tuple[str, str], ...]]:
    """For each label the code and the name of each of its names: the likeliest of these languages.

    One name alone is short: a recogniser of single texts often errs. What it says of many names is the start; then the
    letters of each language, three at a time, and the place of its names among those of a label are learned from all
    of them together, by EM with naive Bayes (Nigam et al. 2000, section 4).
    """
    step = -(-len(labels) // SAMPLE)
    names = [name for label in labels for name in label.names]
    counts = np.array([len(label.names) for label in labels], np.int64)
    parts = _parts([fold(name) for name in names], counts)
    sample = np.flatnonzero(np.repeat(np.arange(len(labels)) % step == 0, counts))
    codes = [language.code for language in languages]
    drawn = parts[sample]
    shares = np.array([_recogniser_probabilities(names[row], codes) for row in sample.tolist()])
    for _ in range(ROUNDS):
        likelihood, prior = _learn_parts(drawn, shares)
        shares = _posterior(drawn, likelihood, prior)
    best = iter(_posterior(parts, likelihood, prior).argmax(axis=1).tolist())
    return [tuple((codes[next(best)], name) for name in label.names) for label in labels]


def _parts(names: Sequence[str], counts: Longs) -> Matrix:
    """(names, parts) how often each folded name has each part. counts: (labels,) names of each label.

    Parts are the letters of a name, three at a time with a space before and behind, and three times where it stands
    among the names of its label: the only one, the first of so many, or another.
    """
    from scipy.sparse import csr_array

    letters = np.frombuffer("".join(f" {name} " for name in names).encode("utf-32-le"), np.uint32).astype(np.int64)
    ends = np.cumsum(np.fromiter(map(len, names), np.int64, len(names)) + 2)
    last = np.zeros(len(letters) + 2, np.bool_)  # no part goes from one name into the next
    last[ends - 1] = last[ends - 2] = True
    start = np.flatnonzero(~last[: len(letters)])
    _, gram = np.unique((letters[start] << 42) + (letters[start + 1] << 21) + letters[start + 2], return_inverse=True)
    first = np.zeros(len(names), np.bool_)
    first[np.cumsum(counts) - counts] = True
    _, where = np.unique(np.where(first, np.repeat(counts, counts), 0), return_inverse=True)
    rows = np.concatenate([np.searchsorted(ends, start, side="right"), np.repeat(np.arange(len(names)), 3)])
    parts = np.concatenate([gram, gram.max(initial=-1) + 1 + np.repeat(where, 3)])
    return csr_array((np.ones(len(rows)), (rows, parts)), (len(names), int(parts.max(initial=-1)) + 1))


def _recogniser_probabilities(name: str, codes: Sequence[str]) -> list[float]:
    """(languages,) the probabilities of a recogniser of single texts; equal ones where it knows none of them."""
    probabilities = detect(name)
    values = [probabilities.get(code, 0.0) for code in codes]
    total = sum(values)
    return [value / total for value in values] if total else [1 / len(codes)] * len(codes)


def _learn_parts(parts: Matrix, shares: Doubles) -> tuple[Doubles, Doubles]:
    """(parts, languages) logarithms of the probability of each part, and (languages,) of each language."""
    counts = parts.T @ shares + 0.1
    return np.log(counts / counts.sum(axis=0)), np.log(shares.mean(axis=0) + 1e-9)


def _posterior(parts: Matrix, likelihood: Doubles, prior: Doubles) -> Doubles:
    """(texts, languages) the probability of each language."""
    from scipy.special import softmax

    return np.asarray(softmax(parts @ likelihood / 3 + prior, axis=1))
