"""Add to names in one language what they are called in another, as far as labels with names in both teach it."""

from __future__ import annotations

import json
import logging
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from hashlib import blake2b

from tagwright.core.cache import user_cache
from tagwright.core.progress import hint
from tagwright.errors import ConfigError
from tagwright.text.language import SHARE, main_languages, parse, recognise, vocabulary_names
from tagwright.text.words import ANALYSIS
from tagwright.translation.dictionary import Dictionary, Tongue
from tagwright.translation.recognition import recognised
from tagwright.types import Label

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

_log = logging.getLogger(__name__)


def translated(labels: Sequence[Label]) -> Sequence[Label]:
    """The labels, with what they are called in the main languages of the vocabulary where they have no name in one.

    A main language is that of at least a fifth of the labels; where less than a fifth lack a name in it, they are left
    as they are. Where a file does not say the languages of names, they
    are recognised. A label with translations keeps them. The same labels come back where there is nothing to learn
    from: fewer than 200 labels with names in two languages, or names that do not show how words are translated.
    """
    if len(labels) < LEAST:
        return labels
    cache, key = user_cache(), _key(labels)
    content = cache.get(CACHED, [key]).get(key)
    if content is None:
        content = json.dumps(_translations(labels)).encode()
        cache.put(CACHED, {key: content})
    translations: Mapping[str, list[str]] = json.loads(content)
    if not translations:
        return labels
    hint(f"language: {len(translations):,} of {len(labels):,} labels are also searched by translated names")
    names = {int(place): tuple(each) for place, each in translations.items()}
    return [
        replace(label, translated=names[place]) if place in names and not label.translated else label
        for place, label in enumerate(labels)
    ]


def _translations(labels: Sequence[Label]) -> dict[int, tuple[str, ...]]:
    """The place of each label that can be translated, and its translations."""
    named = list(map(dict, _by_language(labels)))
    counts = Counter(code for names in named for code in names)
    translated_names = dict[int, tuple[str, ...]]()
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
            translated_names |= {
                place: (*translated_names.get(place, ()), *each)
                for place, each in zip(places, translations, strict=True)
                if each
            }
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


def _by_language(labels: Sequence[Label]) -> list[list[tuple[str, str]]]:
    """For each label the languages that are known here, each with its first name."""
    given: Iterable[tuple[tuple[str, str], ...]] = (label.languages for label in labels)
    if len({code.partition("-")[0] for label in labels for code, _ in label.languages}) < 2:  # the file says nothing
        languages = main_languages(recognise(vocabulary_names(labels)))
        if len(languages) < 2:
            return [[] for _ in labels]
        given = recognised(labels, languages)
    known = dict[str, str]()
    names_by_language = list[list[tuple[str, str]]]()
    for names in given:
        first = dict[str, str]()
        for tag, name in names:
            if tag not in known:
                known[tag] = _code(tag)
            if known[tag]:
                first.setdefault(known[tag], name)
        names_by_language.append(list(first.items()))
    return names_by_language


def _code(tag: str) -> str:
    """The language of a tag such as "en-gb"; empty where it is unknown here."""
    try:
        return parse(tag).code
    except ConfigError:
        return ""


def _key(labels: Sequence[Label]) -> bytes:
    key = blake2b(repr((VERSION, ANALYSIS)).encode(), digest_size=20)
    for label in labels:
        key.update(repr((label.names, label.languages)).encode("utf-8", "surrogatepass"))
    return key.digest()
