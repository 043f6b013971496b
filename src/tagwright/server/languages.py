"""The languages of the pages: the one that a reader or a browser wants, and its messages (gettext)."""

import gettext
from contextvars import ContextVar
from functools import cache
from pathlib import Path
from urllib.parse import parse_qs

from starlette.requests import HTTPConnection
from starlette.types import Scope

LANGUAGES = {"en": "English", "de": "Deutsch", "fi": "Suomi", "sv": "Svenska", "fr": "Français"}
"Code -> the language's own name."

COOKIE = "tagwright_language"
FOLDER = Path(__file__).parent / "locale"

current: ContextVar[str] = ContextVar("language", default="en")
"The language of the request that is being answered."


def choose(scope: Scope) -> str:
    """Return the language of a request: of `?lang=`, of the reader's last choice, or else the browser's wish."""
    request = HTTPConnection(scope)
    kept = request.cookies.get(COOKIE, "")
    return chosen(scope) or (kept if kept in LANGUAGES else wished(request.headers.get("accept-language", "")))


def chosen(scope: Scope) -> str:
    """Return the language that the address asks for, "" for none."""
    asked = parse_qs(scope.get("query_string", b"").decode("latin-1")).get("lang", [""])[0]
    return asked if asked in LANGUAGES else ""


def wished(header: str) -> str:
    """Return the language that a browser likes best of those there are.

    >>> wished("nl, fr-CH;q=0.7, sv;q=0.9"), wished("de;q=0"), wished("")
    ('sv', 'en', 'en')
    """
    wishes = [_wish(each) for each in header[:1000].split(",")]
    known = [(weight, code) for weight, code in wishes if weight > 0 and code in LANGUAGES]
    return max(known, key=lambda each: each[0], default=(1.0, "en"))[1]


MARKS = {"en": (",", "."), "de": (".", ","), "fi": ("\u00a0", ","), "sv": ("\u00a0", ","), "fr": ("\u202f", ",")}
"Code -> what stands between thousands, and before decimals."


def number(written: str) -> str:
    r"""Return a number, written as in English, as the language of the request writes it.

    >>> token = current.set("de")
    >>> number("1,234.5"), percent(0.256)
    ('1.234,5', '26\xa0%')
    >>> current.reset(token)
    """
    thousands, decimals = MARKS[current.get()]
    return written.translate({ord(","): thousands, ord("."): decimals})


def percent(share: float) -> str:
    """Return a share in whole per cent, as the language of the request writes it."""
    return f"{100 * share:.0f}%" if current.get() == "en" else f"{100 * share:.0f}\u00a0%"


def _(message: str) -> str:
    """Return a message in the language of the request."""
    return translations(current.get()).gettext(message)


@cache
def translations(language: str) -> gettext.NullTranslations:
    """The messages of a language; English ones stand in the sources."""
    return gettext.translation("messages", FOLDER, [language], fallback=language == "en")


def _wish(text: str) -> tuple[float, str]:
    """The weight and the code of a part of the header, without the variant; a broken weight counts as 0."""
    tag, _, weight = text.partition(";")
    try:
        value = float(weight.strip().removeprefix("q=") or 1)
    except ValueError:
        value = 0.0
    return value, tag.strip().lower().partition("-")[0]
