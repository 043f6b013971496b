"""Choose the names that are searched of a file with names in several languages."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path

from tagwright.core.checked import show
from tagwright.core.progress import is_silent, note
from tagwright.data.text_languages import EVERYWHERE, in_languages, language_subtag
from tagwright.errors import ConfigError, is_command, option
from tagwright.text.language import ALL, AUTO, NONE, code_of, parse
from tagwright.types import Label

_TOLD: set[tuple[Path, str]] = set()
"What this command has told of which file: it may read one twice."


def choose_languages(
    available: Sequence[str], wanted: str | None, path: Path | str, likely: str = ""
) -> tuple[str, ...]:
    """The wanted languages; else the likely ones; else English or the first one, whichever is available; else none.

    available: lower-case tags, best first. wanted, likely: one language or several, in any spelling; "all" for those
    available, English first. "en" also finds "en-gb", and the reverse. Every text is searched for the names in all of
    them, which finds more right labels than the names in its own language alone. Raises ConfigError when no wanted one
    is among those available.

    >>> choose_languages(["de", "en-gb"], None, "x.ttl"), choose_languages(["de", "fr"], None, "x.ttl")
    (('en-gb',), ('de',))
    >>> choose_languages(["en", "fi"], None, "x.ttl", likely="sv+fi"), choose_languages(["en", "fi"], "fi+en", "x.ttl")
    (('fi',), ('fi', 'en'))
    """
    if wanted == ALL:
        return tuple(sorted(available, key=lambda tag: language_subtag(tag) != "en"))
    asked = wanted if _is_named(wanted) else None
    available = sorted(available, key=lambda tag: language_subtag(tag) in EVERYWHERE)
    chosen = dict.fromkeys(filter(None, (_find_related(tag, available) for tag in _tags(asked or likely))))
    if available and not chosen and asked:
        there = f"the languages are {', '.join(available)}"
        raise ConfigError(f"{path}: no names in the language {show(wanted)}; {there}")
    return tuple(chosen) or tuple(filter(None, [_find_related("en", available), *available]))[:1]


def chosen_names(
    labels: Iterable[tuple[int, Label]],
    language: str | None,
    likely: Callable[[], str],
    path: Path | str,
    available: Sequence[str] = (),
) -> Iterator[tuple[int, Label]]:
    """Labels, each with its line, with the names that are searched where the file gives names by language.

    Labels that have names already, beside those by language, keep them, unless a language that some have is asked for.
    available: the languages, best first; by default by frequency. Raises ConfigError as `choose_languages` does.
    """
    located = list(labels)
    counts = Counter(code for _, label in located if not label.names for code in dict(label.languages))
    named = _is_named(language)
    if not counts and named:
        counts = Counter(code for _, label in located for code in dict(label.languages))
        wanted = set(map(language_subtag, _tags(language or "")))
        counts = counts if wanted & set(map(language_subtag, counts)) else Counter()
    if not counts:
        return iter(located)
    order = available or sorted(counts, key=lambda code: (-counts[code], code))
    chosen = choose_languages(order, language, path, likely())
    return (
        (line, in_languages(label, chosen) if label.languages and (named or not label.names) else label)
        for line, label in located
    )


def by_language(tagged: Iterable[tuple[str, str]]) -> tuple[tuple[str, str], ...]:
    """Texts with their tags, those of one tag beside each other, none twice: the order in which files hold them.

    >>> by_language([("en", "Bees"), ("sv", "Bin"), ("en", "Apoidea"), ("en", "Bees")])
    (('en', 'Bees'), ('en', 'Apoidea'), ('sv', 'Bin'))
    """
    by_tag: dict[str, dict[str, None]] = {}
    for tag, text in tagged:
        by_tag.setdefault(tag, {})[text] = None
    return tuple((tag, text) for tag, texts in by_tag.items() for text in texts)


def say_chosen(labels: Iterable[Label], frequent: Sequence[str], path: Path | str, wanted: str | None) -> None:
    """Tell which names are searched, where a file has names in several languages and some were chosen unasked.

    frequent: the languages that count, as `frequent_languages` finds them.
    """
    if len(frequent) < 2 or _is_named(wanted) or wanted == ALL:
        return
    several = [label for label in labels if len({language_subtag(code) for code, _ in label.languages} - {""}) > 1]
    named = ({language_subtag(tag) for tag, name in label.languages if name in label.names} for label in several)
    used = Counter(code for tags in named for code in tags)
    chosen = [code for code in frequent if 2 * used[code] > len(several)] or frequent[:1]
    taken = " and ".join(str(parse(code)) if code_of(code) else code for code in chosen)
    told = f"names in {', '.join(frequent)}; {taken} taken; {option('language')} chooses"
    if (known := (Path(path).absolute(), told)) not in _TOLD and not is_silent():
        if is_command():
            _TOLD.add(known)
        note(f"{path}: {told}")


def _is_named(language: str | None) -> bool:
    """Whether somebody asked for one language or several; names in none are searched anyway."""
    return language not in (None, AUTO, NONE, ALL) and any(
        language_subtag(part.strip().lower()) for part in language.split("+")
    )


def _tags(languages: str) -> list[str]:
    """Each language as a tag; a tag is kept as it is spelled, with its country."""
    parts = [part.strip().lower() for part in languages.split("+") if part.strip()]
    return [part if "-" in part or len(part) == 2 or not language_subtag(part) else parse(part).code for part in parts]


def _find_related(tag: str, available: Sequence[str]) -> str:
    """Return this tag if available, or else a tag of the same language."""
    same = [other for other in available if language_subtag(other) == language_subtag(tag)]
    return tag if tag in same else next(iter(same), "")
