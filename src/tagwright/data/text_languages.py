"""Which of its names a vocabulary is searched for in a text: those in the language of the text, and English ones."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from dataclasses import replace
from functools import cache, cached_property
from typing import Any

from tagwright.core.progress import is_silent, note
from tagwright.text.language import (
    NO_LANGUAGE,
    SHARE,
    TELLING,
    code_of,
    depends_on_documents,
    is_mixed,
    known_codes,
    language_of_document,
    languages_of_names,
    parse,
    sample_evenly,
    spell_languages,
)
from tagwright.types import Document, Label

EVERYWHERE = frozenset({"", "la"})
"""What `language_subtag` says of names that texts in all languages are searched for: those without a language, and
Latin ones, as scientific names are."""

SAMPLE = 100
"The most documents of a batch, and labels that do not say the languages of their names, in which these are recognised."

_say_once = cache(note)
"Each batch is in the same language."


class TextLanguages:
    """The languages of texts that a vocabulary tells apart: see `of`. Nothing but the text and the labels decides."""

    def __init__(self, labels: Sequence[Label]) -> None:
        self.labels = labels
        self._few = depends_on_documents(labels)
        self._searched, self.named = dict[str, Sequence[Label]](), cache(self._named)

    @cached_property
    def codes(self) -> list[str]:
        """The languages of the names, where labels have names in several and none was chosen; else none."""
        some = sample_evenly(self.labels)
        codes = frequent_languages((label.languages for label in some if has_all_names(label)), len(some))
        return codes if len(codes) > 1 else []

    @property
    def matter(self) -> bool:
        """Whether texts are treated by their language."""
        return bool(self.codes) or self._few

    def of(self, document: Document) -> str:
        """The language in which a document is searched for names; empty for names in all languages.

        That of the document, if names are in it; names in all languages where that is not clear, or its paragraphs are
        in several. Where the language of few names is not clear, and nothing says it, it is taken to be the document's.
        """
        if self.codes:
            return "" if is_mixed(document, self.codes) else language_of_document(document, self.codes)
        if not self._few:
            return ""
        code = language_of_document(document, known_codes())
        return parse(code).name if code else spell_languages(languages_of_names(self.labels))

    def searched(self, code: str) -> Sequence[Label]:
        """The labels with the names that a text in this language is searched for."""
        if not self.codes:
            return self.labels
        if code not in self._searched:
            wanted = [each for each in self.codes if code in (each, "") or each == "en"]
            self._searched[code] = _Searched(self.labels, sorted(wanted, key=lambda each: each != code))
        return self._searched[code]

    def spoken(self, code: str) -> str:
        """The languages of these names, as `spell_languages` writes them: for stems and stop words."""
        return code if code and not self.codes else spell_languages(languages_of_names(self.searched(code)))

    def say_unnamed(self, documents: Sequence[Document]) -> None:
        """Say once that most documents are in a language in which a fifth of the labels or more lack a name.

        Nothing is said of texts of fewer than `TELLING` words, nor of few names whose language is not clear.
        """
        if is_silent():
            return
        texts = [each for each in sample_evenly(documents, SAMPLE) if len(each.text.split(None, TELLING)) >= TELLING]
        counts = Counter(language_of_document(document, known_codes()) for document in texts)
        code, most = next(iter(counts.most_common(1)), ("", 0))
        if not code or 2 * most <= len(texts) or self._few or self.named(code) > (1 - SHARE) * len(self.labels):
            return
        some = f"only {self.named(code):,} of {len(self.labels):,} labels have names"
        have, rest = (some, "the others") if self.named(code) else ("no label has a name", "labels")
        _say_once(
            f"language: {have} in {parse(code)}, the language of the texts: words hardly find {rest}; an encoder that "
            f"reads both languages finds them by meaning, names in {parse(code)} by words"
        )

    def _named(self, code: str) -> int:
        """How many labels have a searched name in this language; all or none where nothing says which names are."""
        some = sample_evenly(self.labels)
        if 2 * sum(bool(label.languages) for label in some) > len(some):
            main = cache(code_of)
            return sum(_is_named(label, (code, *EVERYWHERE), main) for label in self.labels)
        return len(self.labels) * (parse(code) in languages_of_names(sample_evenly(self.labels, SAMPLE)))


def _is_named(label: Label, codes: Collection[str], main: Callable[[str], str]) -> bool:
    """Whether a searched name of a label is in one of these languages, translated, or in none that is said."""
    tagged = {name for _, name in label.languages}
    known = (main(tag) in codes for tag, name in label.languages if name in label.names)
    return bool(label.translated) or not tagged.issuperset(label.names) or any(known)


class _Searched(Sequence[Label]):
    """Labels with their names in some languages, made when they are read."""

    def __init__(self, labels: Sequence[Label], languages: Sequence[str]) -> None:
        self._labels, self._languages = labels, languages

    def __len__(self) -> int:
        return len(self._labels)

    def __getitem__(self, place: Any) -> Any:
        return self._all[place] if isinstance(place, slice) else with_names_in(self._labels[place], self._languages)

    def __iter__(self) -> Iterator[Label]:
        return iter(self._all)

    @cached_property
    def _all(self) -> list[Label]:
        return [with_names_in(label, self._languages) for label in self._labels]


def by_preference(tag: str, languages: Iterable[str]) -> int:
    """Rank the language of a text: the chosen ones, each before related ones, untagged, English, any other."""
    chosen = (
        same for language in languages for same in (tag == language, language_subtag(tag) == language_subtag(language))
    )
    steps = (*chosen, not tag, language_subtag(tag) == "en")
    return steps.index(True) if True in steps else len(steps)


def names_to_search(tagged: Sequence[tuple[str, str]], languages: Iterable[str]) -> tuple[str, ...]:
    """The names to search: in the chosen languages, in that of the first name, and in `EVERYWHERE`.

    tagged: (tag, name), in order.

    >>> names_to_search([("de", "Bienen"), ("", "Apoidea"), ("fr", "Abeilles")], ["de"])
    ('Bienen', 'Apoidea')
    """
    wanted = {*EVERYWHERE, *map(language_subtag, languages), *(language_subtag(tag) for tag, _ in tagged[:1])}
    return tuple(dict.fromkeys(name for tag, name in tagged if language_subtag(tag) in wanted))


def in_languages(label: Label, languages: Iterable[str]) -> Label:
    """The label with the names that are searched, and the description, in these languages, the first one preferred.

    Names without a known language stay; a label without a name in these languages keeps those in another one.

    >>> bees = Label("1", ("Bees",), languages=(("en", "Bees"), ("sv", "Bin")), descriptions=(("sv", "De surrar."),))
    >>> swedish = in_languages(bees, ["sv"])
    >>> swedish.names, swedish.description
    (('Bin',), 'De surrar.')
    """
    chosen, known = tuple(languages), {name for _, name in label.languages}
    tagged = [*label.languages, *(("", name) for name in label.names if name not in known)]
    tagged.sort(key=lambda pair: by_preference(pair[0], chosen))
    wanted = {"", *map(language_subtag, chosen), *(language_subtag(tag) for tag, _ in tagged[:1])}
    descriptions = label.descriptions
    if descriptions and label.description and label.description not in [text for _, text in descriptions]:
        descriptions = (*descriptions, ("", label.description))
    texts = sorted(descriptions, key=lambda pair: by_preference(pair[0], chosen))
    described = (
        next((text for tag, text in texts if language_subtag(tag) in wanted), "") if texts else label.description
    )
    return replace(label, names=names_to_search(tagged, chosen), description=described, descriptions=descriptions)


def with_names_in(label: Label, languages: Iterable[str]) -> Label:
    """The label in these languages, as `in_languages` says, where its names are those of a file in all languages."""
    return in_languages(label, languages) if has_all_names(label) else label


def has_all_names(label: Label) -> bool:
    """Whether its names are those in all languages, so that nobody chose some of them."""
    return set(label.names) == {name for _, name in label.languages}


def frequent_languages(names: Iterable[Sequence[tuple[str, str]]], size: int) -> list[str]:
    """The languages in which at least a fifth of the labels have a name, the most frequent first.

    names: of each label with names in known languages, code and name. size: the number of all labels.

    >>> frequent_languages([(("en-gb", "Bees"), ("sv", "Bin")), (("en", "Taxes"),)], 2)
    ['en', 'sv']
    """
    counts = Counter(code for tagged in names for code in {language_subtag(tag) for tag, _ in tagged} - {""})
    order = sorted(counts, key=lambda code: (-counts[code], code))
    return [code for code in order if counts[code] >= SHARE * size]


def language_subtag(tag: str) -> str:
    """The language of a tag, without its country; empty for one of `NO_LANGUAGE`.

    >>> language_subtag("en-gb"), language_subtag("zxx")
    ('en', '')
    """
    code = tag.partition("-")[0]
    return "" if code in NO_LANGUAGE else code
