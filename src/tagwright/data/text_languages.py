"""Which of its names a vocabulary is searched for in a text: those in the language of the text, and English ones."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import cached_property
from typing import Any

from tagwright.readers.labels.languages import frequent_languages, has_all_names, with_names_in
from tagwright.text.language import (
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


class TextLanguages:
    """The languages of texts that a vocabulary tells apart: see `of`. Nothing but the text and the labels decides."""

    def __init__(self, labels: Sequence[Label]) -> None:
        self.labels = labels
        self._few = depends_on_documents(labels)
        self._searched = dict[str, Sequence[Label]]()

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
