"""Names in several languages: which of them a text is searched for, and which are only kept."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path

from tagwright.core.checked import shown
from tagwright.errors import ConfigError
from tagwright.text.language import AUTO, NONE, parse


def choose_languages(
    available: Sequence[str], wanted: str | None, path: Path | str, likely: str = ""
) -> tuple[str, ...]:
    """The wanted languages; else the likely one, English, or the first, whichever is available; else none.

    available: lower-case tags, best first. wanted, likely: one language or several, in any spelling. "en" also finds
    "en-gb", and the reverse. Raises ConfigError when no wanted one is among those available.

    >>> choose_languages(["de", "en-gb"], None, "x.ttl"), choose_languages(["de", "fr"], None, "x.ttl")
    (('en-gb',), ('de',))
    >>> choose_languages(["en", "fi"], None, "x.ttl", likely="sv+fi"), choose_languages(["en", "fi"], "fi+en", "x.ttl")
    (('fi',), ('fi', 'en'))
    """
    named = wanted if wanted not in (AUTO, NONE) else None
    tags = _tags(named) if named else [*_tags(likely), "en"]
    found = dict.fromkeys(filter(None, (_related(tag, available) for tag in tags)))
    if available and not found and named:
        there = f"the languages are {', '.join(available)}"
        raise ConfigError(f"{path}: no names in the language {shown(wanted)}; {there}")
    return tuple(found) if named and found else tuple(found or available)[:1]


def by_preference(tag: str, languages: Iterable[str]) -> int:
    """Rank the language of a text: the chosen ones, each before related ones, untagged, English, any other."""
    chosen = (same for language in languages for same in (tag == language, main(tag) == main(language)))
    steps = (*chosen, not tag, main(tag) == "en")
    return steps.index(True) if True in steps else len(steps)


def searched(tagged: Sequence[tuple[str, str]], languages: Iterable[str]) -> tuple[str, ...]:
    """The names to search: in the chosen languages, in that of the first name, and without a tag.

    tagged: (tag, name), in order.

    >>> searched([("de", "Bienen"), ("", "Apoidea"), ("fr", "Abeilles")], ["de"])
    ('Bienen', 'Apoidea')
    """
    wanted = {"", *map(main, languages), *(main(tag) for tag, _ in tagged[:1])}
    return tuple(dict.fromkeys(name for tag, name in tagged if main(tag) in wanted))


def main(tag: str) -> str:
    """The language of a tag, without its country.

    >>> main("en-gb")
    'en'
    """
    return tag.partition("-")[0]


def _tags(languages: str) -> list[str]:
    """Each language as a tag; a tag is kept as it is spelled, with its country."""
    parts = [part.strip().lower() for part in languages.split("+") if part.strip()]
    return [part if "-" in part or len(part) == 2 else parse(part).code for part in parts]


def _related(tag: str, available: Sequence[str]) -> str:
    """Return this tag if available, or else a tag of the same language."""
    same = [other for other in available if main(other) == main(tag)]
    return tag if tag in same else next(iter(same), "")
