"""Count what a body holds while it comes, in its bytes, and refuse what holds too much before more of it is read.

Length alone bounds no work: 20 MB can hold ten million empty fields, each of which costs memory and time.
"""

import codecs
import json
from collections.abc import Callable
from typing import TypeAlias

from tagwright.server.problems import Problem, bad_request

ITEMS, DEPTH = 100_000, 64
"JSON values in a body, and how deep they may be nested."

FIELDS, PARTS = 25_000, 100
"Fields of a form, enough for 10,000 conditions of both kinds; parts of one in parts."

Count: TypeAlias = Callable[[bytes], None]
"Takes the next bytes of a body. Raises Problem where it holds too much."

_STEP = 65_536


def too_many(
    count: int, what: str, of: str, most: int, status: int = 413, remedy: str = "send less at a time"
) -> Problem:
    """The problem of what holds more than is accepted; count: so far."""
    return Problem(status, f"The {of} has {count:,} {what} or more, at most {most:,} are accepted; {remedy}")


def too_deep() -> Problem:
    """The problem of JSON that is nested too deep."""
    return bad_request(f"The JSON is nested too deep, at most {DEPTH} levels are accepted")


def count_all(body: bytes, count: Count) -> None:
    """Count in steps, so that other threads go on meanwhile, and that what holds too much is known early."""
    for start in range(0, len(body), _STEP):
        count(body[start : start + _STEP])


class JsonCount:
    """Counts brackets and commas outside of texts: a list of three values has two commas.

    values: so far, without the one that holds all others.
    """

    def __init__(self) -> None:
        self.values = self._quotes = 0
        self._within, self._escape, self._brackets = False, b"", b""
        self._decoder: codecs.IncrementalDecoder | None = None
        self._start: bytes | None = b""

    def __call__(self, piece: bytes) -> None:
        """Count the next piece. Escapes go first: then each quote begins or ends a text."""
        piece = self._escape + self._in_utf8(piece)
        self._escape = b"\\" if (len(piece) - len(piece.rstrip(b"\\"))) % 2 else b""
        plain = piece[: len(piece) - len(self._escape)].replace(rb"\\", b"").replace(rb"\"", b"")
        quotes = plain.count(b'"')
        self._quotes += quotes
        self._refuse(self._quotes // 4)  # at least half of the texts are values, and not the names of some
        outside = b'"'.join(plain.split(b'"')[self._within :: 2])  # so that a list of one text is not empty
        self._within ^= bool(quotes % 2)
        filled = outside.count(b"[") + outside.count(b"{") - outside.count(b"[]") - outside.count(b"{}")
        self.values += outside.count(b",") + filled
        self._refuse(self.values)
        self._nest(outside.translate(_AS_SQUARE, _NO_BRACKETS))

    def _in_utf8(self, piece: bytes) -> bytes:
        """The piece in UTF-8; the first four bytes tell the encoding, and wait for each other."""
        if self._start is not None:
            self._start += piece
            if len(self._start) < 4:
                return b""
            piece, self._start = self._start, None
            if not (encoding := json.detect_encoding(piece)).startswith("utf-8"):
                self._decoder = codecs.getincrementaldecoder(encoding)("replace")
        return piece if self._decoder is None else self._decoder.decode(piece).encode("utf-8", "replace")

    def _refuse(self, values: int) -> None:
        if values > ITEMS:
            raise too_many(values, "JSON values", "body", ITEMS)

    def _nest(self, brackets: bytes) -> None:
        """Remove the innermost pairs, level by level; what is left is open."""
        brackets = self._brackets + brackets
        for _ in range(DEPTH):
            if b"[]" not in brackets:
                break
            brackets = brackets.replace(b"[]", b"")
        self._brackets = brackets.lstrip(b"]")
        if b"[]" in brackets or len(self._brackets) > DEPTH:
            raise too_deep()


_AS_SQUARE = bytes.maketrans(b"{}", b"[]")
_NO_BRACKETS = bytes({*range(256)} - {*b"[]{}"})


class FormCount:
    """Counts what stands between the fields of a form; or before its parts and at its end.

    begin: from which it counts.
    """

    def __init__(self, border: bytes = b"&", what: str = "fields", most: int = FIELDS, begin: int = 0) -> None:
        self._border, self._what, self._most = border, what, most
        self._count, self._end = begin, b""

    def __call__(self, piece: bytes) -> None:
        """Count the next piece; a border may be cut in two."""
        piece = self._end + piece
        self._count += piece.count(self._border)
        self._end = piece[max(len(piece) - len(self._border) + 1, 0) :] if len(self._border) > 1 else b""
        if self._count > self._most:
            raise too_many(self._count, self._what, "form", self._most)
