"""Translate pages (gettext) into the language that their reader chose or the browser prefers."""

import gettext
import re
from functools import cache
from pathlib import Path
from typing import Self
from urllib.parse import parse_qs

from starlette.requests import HTTPConnection
from starlette.types import Scope

from tagwright.errors import InputError
from tagwright.server.current_request import get_current_request

LANGUAGES = {"en": "English", "de": "Deutsch", "fi": "Suomi", "sv": "Svenska", "fr": "Français"}
"Languages of the pages: code -> the language's own name."

COOKIE = "tagwright_language"
FOLDER = Path(__file__).parent / "locale"


class Text(str):
    """A text that pages translate, and programs get in English. form: the message in the catalogues; values: in it.

    >>> Text("The form has %(count)s fields", count="25,001")
    'The form has 25,001 fields'
    """

    __slots__ = ("form", "values")

    form: str
    values: dict[str, object]

    def __new__(cls, form: str, **values: object) -> Self:
        """Fill in the values of a form such as "%(count)s fields"."""
        text = super().__new__(cls, form % values if values else form)
        text.form, text.values = form, values
        return text


def translate(text: str) -> str:
    """Return a text and its numbers in the language of the request; without a translation, as it is."""
    if not isinstance(text, Text) or not text.values:
        return _(text) if text else ""
    values = {name: str(value) for name, value in text.values.items()}
    return _(text.form) % {name: number(value) if _NUMBER.fullmatch(value) else value for name, value in values.items()}


def translated_error(error: InputError) -> str:
    """Return the message of an error in the language of the request, after its file and line.

    A message without a translation, such as one with values of a reader, stands in a translated sentence as the reason.
    """
    text = translate(error.problem)
    if text == error.problem and get_current_request().language != "en":
        text = translate(Text("cannot be read (%(reason)s)", reason=text))
    return str(error).removesuffix(error.problem) + text


def choose(scope: Scope) -> str:
    """Return the language of a request: of `?lang=`, of the cookie, or else the one that the browser prefers."""
    request = HTTPConnection(scope)
    last = request.cookies.get(COOKIE, "")
    return get_chosen_language(scope) or (
        last if last in LANGUAGES else best_language(request.headers.get("accept-language", ""))
    )


def get_chosen_language(scope: Scope) -> str:
    """Return the language that the address asks for with `?lang=`; "" for none."""
    asked = parse_qs(scope.get("query_string", b"").decode("latin-1")).get("lang", [""])[0]
    return asked if asked in LANGUAGES else ""


def best_language(header: str) -> str:
    """Return the best of `LANGUAGES` for a header Accept-Language.

    >>> best_language("nl, fr-CH;q=0.7, sv;q=0.9"), best_language("de;q=0"), best_language("")
    ('sv', 'en', 'en')
    """
    weighted = map(_weight_and_code, header[:1000].split(","))
    known = [(weight, code) for weight, code in weighted if weight > 0 and code in LANGUAGES]
    return max(known, key=lambda each: each[0], default=(1.0, "en"))[1]


_NUMBER = re.compile(r"[+-]?(\d{1,3}(,\d{3})*|\d+)(\.\d+)?")


def number(written: str) -> str:
    """Return a number, written as in English, as the language of the request writes it."""
    marks = {"en": ",.", "de": ".,", "fi": "\u00a0,", "sv": "\u00a0,", "fr": "\u202f,"}
    return written.translate(str.maketrans(",.", marks[get_current_request().language]))


def percent(share: float) -> str:
    """Return a share in whole per cent, as the language of the request writes it."""
    return f"{100 * share:.0f}%" if get_current_request().language == "en" else f"{100 * share:.0f}\u00a0%"


def _(message: str) -> str:
    """Return a message in the language of the request."""
    request = get_current_request()
    return translations(request.language, request.word).gettext(message)


class _OfSubjects(gettext.NullTranslations):
    """English messages that speak of subjects: all other languages do.

    >>> _OfSubjects().gettext("Labels of labelled documents, for Label Studio")
    'Subjects of indexed documents, for Label Studio'
    """

    def gettext(self, message: str) -> str:
        words = {"label": "subject", "Label": "Subject", "labelled": "indexed"}
        return re.sub(r"\b([Ll]abel|labelled)(?=s?\b)(?! Studio)", lambda found: words[found[1]], message)

    def ngettext(self, one: str, many: str, count: int) -> str:
        return self.gettext(one if count == 1 else many)


@cache
def translations(language: str, word: str = "label") -> gettext.NullTranslations:
    """Return the catalogue of a language; none for English, whose messages stand in the sources. word: for a label."""
    if (language, word) == ("en", "subject"):
        return _OfSubjects()
    return gettext.translation("messages", FOLDER, [language], fallback=language == "en")


def _weight_and_code(part: str) -> tuple[float, str]:
    """The weight and the code of a part of the header, without the variant; an invalid weight counts as 0."""
    tag, _, weight = part.partition(";")
    try:
        value = float(weight.strip().removeprefix("q=") or 1)
    except ValueError:
        value = 0.0
    return value, tag.strip().lower().partition("-")[0]
