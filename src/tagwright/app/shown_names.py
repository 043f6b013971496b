"""In which language the names of labels are printed: the one that is asked for, or that of the documents."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import cache, partial

from tagwright.app.arguments import Chosen, Named
from tagwright.core.progress import note
from tagwright.data.text_languages import language_subtag, with_names_in
from tagwright.data.vocabulary import Vocabulary
from tagwright.errors import ConfigError
from tagwright.readers.labels.languages import choose_languages
from tagwright.tagger import Tagger
from tagwright.text.language import AUTO, NONE, language_of_document, likely, parse_all
from tagwright.types import Document


def in_languages_of(documents: Sequence[Document], chosen: Chosen, labels: Vocabulary) -> Vocabulary:
    """Show the labels of a file by their names in the languages of the documents, if no other was asked for."""
    if not chosen.labels or chosen.language not in ("", AUTO) or len(labels.languages) < 2:
        return labels
    codes = [language.code for language in parse_all(likely(documents) or NONE)]
    return Vocabulary(with_names_in(label, codes) for label in labels) if codes else labels


def asked_names(chosen: Named, labels: Vocabulary) -> str:
    """Return the code of the language of names that was asked for; empty for none.

    A note says how many labels have no name in it: they keep another one, as in the replies of the server. Raises
    ConfigError for a language in which no label has a name.
    """
    source = chosen.labels or chosen.model or "labels"
    if chosen.labels is None and chosen.language not in ("", AUTO, "none", "all"):
        flag = f"--language {chosen.language}"
        raise ConfigError(f"{flag} has no effect on a saved tagger alone (--model); for its names, --names-in")
    if chosen.names_in and not labels.languages:
        raise ConfigError(f"{source}: does not say the languages of its names; leave out --names-in {chosen.names_in}")
    chosen_codes = choose_languages(labels.languages, chosen.names_in, source) if chosen.names_in else ()
    if not chosen_codes:
        return ""
    code = chosen_codes[0]
    if others := sum(language_subtag(label.named_in(code)[1]) != language_subtag(code) for label in labels):
        note(f"{others:,} of {len(labels):,} labels have no name in {code}; they keep another one")
    return code


def names_for(chosen: Named, tagger: Tagger, asked: str) -> Callable[[Document], Vocabulary]:
    """Return a function from a document to the labels with the names to print for it.

    They are in the language asked for, or else in the document's own, where a label file or a tagger with stages by
    language tells names apart. asked: what `asked_names` returned.
    """
    labels = tagger.vocabulary
    has_names_by_language = bool(chosen.labels or tagger.languages)
    if asked or not has_names_by_language or chosen.language not in ("", AUTO) or not labels.frequent_languages:
        same = named_in(asked, labels)
        return lambda _: same
    names = cache(partial(named_in, labels=labels))
    return lambda document: names(language_of_document(document, labels.frequent_languages))


def named_in(code: str, labels: Vocabulary) -> Vocabulary:
    """Return labels with the names to print alone, see `asked_names`."""
    return Vocabulary(replace(label, names=(label.name_in(code),)) for label in labels) if code else labels
