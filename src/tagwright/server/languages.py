"""The languages of the pages: the one that a reader or a browser wants, and its messages (gettext)."""

import gettext
import re
from functools import cache
from pathlib import Path
from typing import Self
from urllib.parse import parse_qs

from starlette.requests import HTTPConnection
from starlette.types import Scope

from tagwright.errors import InputError
from tagwright.server.current_request import current

LANGUAGES = {"en": "English", "de": "Deutsch", "fi": "Suomi", "sv": "Svenska", "fr": "Français"}
"Code -> the language's own name."

COOKIE = "tagwright_language"
FOLDER = Path(__file__).parent / "locale"


class Text(str):
    """A text that pages translate, and that programs get in English. It carries its form and the values within.

    >>> Text("The form has %(count)s fields", count="25,001")
    'The form has 25,001 fields'
    """

    __slots__ = ("form", "values")

    form: str
    values: dict[str, object]

    def __new__(cls, form: str, **values: object) -> Self:
        """form: as in the catalogues, with the names of values such as %(count)s."""
        text = super().__new__(cls, form % values if values else form)
        text.form, text.values = form, values
        return text


def translated(text: str) -> str:
    """Return a text in the language of the request; one without a translation as it is. Numbers follow the language."""
    if not isinstance(text, Text) or not text.values:
        return _(text) if text else ""
    values = {name: str(value) for name, value in text.values.items()}
    written = {name: number(value) if _NUMBER.fullmatch(value) else value for name, value in values.items()}
    return _(text.form) % written


def translated_error(error: InputError) -> str:
    """Return the message of an error in the language of the request, after the file and the line as they are.

    A message without a translation, since a reader's own values stand in it, is the reason in a sentence that has one.
    """
    text = translated(error.problem)
    if text == error.problem and current().language != "en":
        text = translated(Text("cannot be read (%(reason)s)", reason=text))
    return str(error).removesuffix(error.problem) + text


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


_NUMBER = re.compile(r"\d{1,3}(,\d{3})*(\.\d+)?|\d+(\.\d+)?")


def number(written: str) -> str:
    """Return a number, written as in English, as the language of the request writes it."""
    marks = {"en": ",.", "de": ".,", "fi": "\u00a0,", "sv": "\u00a0,", "fr": "\u202f,"}
    return written.translate(str.maketrans(",.", marks[current().language]))


def percent(share: float) -> str:
    """Return a share in whole per cent, as the language of the request writes it."""
    return f"{100 * share:.0f}%" if current().language == "en" else f"{100 * share:.0f}\u00a0%"


def _(message: str) -> str:
    """Return a message in the language of the request."""
    return translations(current().language).gettext(message)


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
