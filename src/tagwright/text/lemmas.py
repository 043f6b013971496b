"""Lemmas: compare words by their dictionary forms, in languages whose endings change more than a stemmer cuts off."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from functools import lru_cache
from importlib.util import find_spec

from tagwright.errors import ModelError
from tagwright.text.batch import WORDS
from tagwright.text.language import DOTLESS, Language, parse_all, stemmer

INSTALL = 'pip install "tagwright[lemmas]"'

# "kieltä" is a form of "kieli" and "kunnan" of "kunta", which no rule on endings sees. The first line is of languages
# with a stemmer: nDCG@5 of names and words rose by 3.6 on Finnish train documents, and by nothing on German ones. Those
# of the second have no stemmer.
_SUITED = """
cs et fi hu lt pl ru sr tr
bg cy gl he hr is ka la lv mk ms sk sl sq sw tl uk
""".split()  # noqa: SIM905

_DICTIONARIES = {"hr": "hbs", "sr": "hbs"}
"Languages whose dictionary in simplemma has another code."


def find_suited(languages: Collection[Language]) -> tuple[Language, ...]:
    """The languages in which lemmas find more than stems.

    >>> [language.code for language in find_suited(parse_all("fi+sv+en"))]
    ['fi']
    """
    return tuple(language for language in languages if language.code in _SUITED)


def is_installed() -> bool:
    """Whether there are dictionaries."""
    return find_spec("simplemma") is not None


def has_lemmas(language: str) -> bool:
    """Whether there are dictionaries for one of these languages ("finnish+english") in which lemmas find more."""
    return is_installed() and bool(find_suited(parse_all(language)))


def word_form(stem: str, *, lemmas: bool) -> Callable[[str], str]:
    """Return how folded words are compared in these languages (`parse_all`): by stems, or lemmas where known.

    Of Turkish beside another language ı is i at the end: nobody knows which of them an I in capitals is. The
    dictionary of Icelandic has æ.

    A word has a lemma if it is in the dictionary of a `find_suited` language. What is in none is not taken apart: that
    finds more names that are meant otherwise (nDCG@5 40.9 in place of 41.5 on Finnish train documents). Raises
    ModelError for lemmas without dictionaries.

    >>> form = word_form("finnish", lemmas=True)
    >>> form("kieltä"), form("kunnan"), form("onko")
    ('kieli', 'kunta', 'olla')
    """
    languages = parse_all(stem)
    spoken, form = {language.code for language in languages}, _form_in(languages, lemmas=lemmas)
    if "is" in spoken:
        return lambda word: form(word.replace("ae", "æ")).replace("ı", "i")
    return (lambda word: form(word).replace("ı", "i")) if spoken & DOTLESS and spoken - DOTLESS else form


def _form_in(languages: Sequence[Language], *, lemmas: bool) -> Callable[[str], str]:
    codes = tuple(_DICTIONARIES.get(language.code, language.code) for language in find_suited(languages))
    if not lemmas or not codes:
        return stemmer(languages)
    if not is_installed():
        raise ModelError(f"comparing words by lemmas needs simplemma, which is not installed; {INSTALL}")
    return _lemma_or_stem(codes, stemmer(languages))


@lru_cache
def _lemma_or_stem(codes: tuple[str, ...], stem: Callable[[str], str]) -> Callable[[str], str]:
    """One for all stages that read these languages, so that a word is looked up once for them."""
    from simplemma.strategies import DictionaryLookupStrategy
    from simplemma.strategies.dictionaries import LOW_MEMORY_DICTIONARY_FACTORY

    lemma = DictionaryLookupStrategy(LOW_MEMORY_DICTIONARY_FACTORY).get_lemma  # 50 MB for Finnish in place of 340

    def form(word: str) -> str:
        lemmas = (lemma(word, code) for code in codes)
        return next((one.casefold() for one in lemmas if one), None) or stem(word)

    return lru_cache(WORDS)(form)
