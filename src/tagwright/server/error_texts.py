"""Translate error messages and outcomes of trainings for the pages; programs get the English text.

English messages arrive complete, with their values filled in; they are matched against the patterns below.
"""

import re
from functools import cache

from tagwright.server.languages import _, number

TEXTS = (
    "is encrypted; save it without a password",
    "is no PDF file, or a damaged one (%(reason)s)",
    "holds no text, perhaps only scanned pages; add a text layer with an OCR program",
    "is no Word file (.docx), or a damaged one (%(reason)s)",
    "is no Word file (.docx) but %(what)s",
    "is no LaTeX file, or a damaged one (%(reason)s)",
    "is empty, expected documents",
    "is a spreadsheet workbook, which cannot be read; save the sheet as CSV",
    "is XML of an unknown kind, expected JATS (article), TEI, html, MARCXML or Dublin Core",
    "has no recognisable format",
    "holds no documents",
    "takes more than %(seconds)s s to be read",
    "cannot be read: the file crashed the reader",
    "cannot be read (%(reason)s)",
    "holds more than %(count)s documents; split it, or give it to the server as --documents",
    "holds more than %(count)s bytes of text; split it, or give it to the server as --documents",
    "is larger than %(size)s bytes, the limit for one document; to read it, raise --max-document-size or "
    "TAGWRIGHT_MAX_DOCUMENT_SIZE",
    "unpacks to %(size)s bytes, more than %(times)s times the limit; to read it, raise --max-document-size or "
    "TAGWRIGHT_MAX_DOCUMENT_SIZE",
    "is not JSON (%(reason)s)",
    "is not JSON (%(reason)s); each line must hold one object",
    "is JSON that cannot be used (%(reason)s)",
    'holds %(value)s, expected a JSON object like {"id": ...}',
    "byte %(byte)s is not %(encoding)s",
    "is in the unknown encoding %(encoding)s; save it as UTF-8",
    "is not %(encoding)s (%(reason)s); save it as UTF-8",
    "declares the XML entity %(name)s, which is never resolved; write it out",
    "is not CSV (%(reason)s); a quote in a quoted cell is written twice",
    "the first line is %(line)s, expected the names of columns: id, title, text, labels; or say which they "
    "are: %(remedy)s",
    "two columns are named %(name)s; name each column once",
    "is an article without front and body, expected JATS",
    "is TEI without teiHeader, expected what GROBID writes",
    '%(what)s needs %(package)s, which is not installed; pip install "tagwright[%(extra)s]"',
    "%(value)s is not between %(least)s and %(most)s - '%(place)s'",
    "%(value)s is not of type '%(type)s' - '%(place)s'",
    "language is %(language)s, in which no label has a name",
    "There is no model '%(model)s'",
    "The document has %(size)s bytes of text, at most %(most)s are accepted; split it",
    "Too many requests are waiting; try again in %(seconds)s s",
    "The server cannot write to its disk (%(cause)s); what it confirmed before is kept",
    "The request comes from a page of another site",
    "The form is in %(charset)s, expected utf-8",
    "The form is not valid: %(reason)s",
    "Bad Request",
    "Forbidden",
    "Not Found",
    "Request Entity Too Large",
    "Content Too Large",
    "Unsupported Media Type",
    "Unprocessable Entity",
    "Unprocessable Content",
    "Too Many Requests",
    "Service Unavailable",
    "Not stored",
    "Trained on %(count)s documents at %(time)s UTC, without a gain: the model stays as it is.",
    "Trained on %(count)s documents at %(time)s UTC; it is in use, and gone when the server ends.",
    "Trained on %(count)s documents at %(time)s UTC; it is in use, and saved as version %(version)s of %(name)s.",
    "Trained on %(count)s documents at %(time)s UTC; it is in use, and saved as %(name)s.",
    "Trained on %(count)s documents at %(time)s UTC; it is in use, and not saved, so gone when the server ends "
    "(%(reason)s).",
    "Another version was promoted meanwhile, so nothing is changed: load it and train again.",
    "Another model was saved meanwhile, so nothing is changed: load it and train again.",
    "The model was not trained: internal error; see the server's log.",
    "The model was not trained: %(reason)s",
    "nDCG@5, cross-validated on reviewed documents: %(before)s without the decisions, %(after)s with them.",
    "Too many wrong tokens; try again in %(seconds)s s",
    "With this token, %(most)s requests a minute are accepted; try again in %(seconds)s s",
    "With this token, %(most)s documents a minute are accepted; try again in %(seconds)s s",
    "The request holds %(count)s documents; with this token, %(most)s a minute are accepted",
    "The body has more than %(most)s bytes",
    "Your requests hold %(size)s bytes already, at most %(most)s are accepted; try again in %(seconds)s s",
    "All requests hold %(size)s bytes already, at most %(most)s are accepted; try again in %(seconds)s s",
    "The form has %(count)s fields or more, at most %(most)s are accepted; send less at a time",
    "The form has %(count)s parts or more, at most %(most)s are accepted; send less at a time",
)
"""Of files that cannot be read, of options, the titles of problems, and the outcomes of a training. A form comes before
others that fit the same text."""

LONGEST = 1000
"Characters of a text that is translated: a longer one has a name in it that would take long to match."

_NUMBER = re.compile(r"\d{1,3}(,\d{3})*(\.\d+)?|\d+(\.\d+)?")
_SENTENCES = re.compile(r"(?<=\.) (?=nDCG@5, )")


def translated(text: str) -> str:
    """Return a text in the language of the request; as it is where no form fits. A file and a line may stand before it.

    >>> from tagwright.server.languages import current
    >>> token = current.set("de")
    >>> translated("bees.pdf: is encrypted; save it without a password")
    'bees.pdf: ist verschlüsselt; speichern Sie sie ohne Passwort'
    >>> current.reset(token)
    """
    return " ".join(map(_translated, _SENTENCES.split(text))) if len(text) <= LONGEST else text


def _translated(text: str) -> str:
    for form, pattern in _patterns().items():
        if found := pattern.fullmatch(text):
            found_parts = found.groupdict().items()
            parts = {name: number(part) if _NUMBER.fullmatch(part) else part for name, part in found_parts}
            place = parts.pop("place_")
            return place + (_(form) % parts if parts else _(form))
    return text


@cache
def _patterns() -> dict[str, re.Pattern[str]]:
    """Form -> the texts that have it."""
    found = {}
    for form in TEXTS:
        parts = re.split(r"%\((\w+)\)s", form)
        names = [f"(?P<{part}>.+)" if place % 2 else re.escape(part) for place, part in enumerate(parts)]
        found[form] = re.compile(f"(?P<place_>(?:[^:]+(?::\\d+)?: )?){''.join(names)}", re.DOTALL)
    return found
