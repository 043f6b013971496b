"""Read lines, table rows and JSON records with their line numbers, so that errors name the place; write JSON lines."""

import codecs
import contextlib
import csv
import errno
import gzip
import io
import itertools
import json
import logging
import re
import sys
import zlib
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import IO, Any, Literal, NamedTuple, TypeAlias, TypeVar, cast

from tagwright.core.checked import is_missing, show
from tagwright.core.display import plural
from tagwright.core.outputs import write_output
from tagwright.errors import ConfigError, InputError, option
from tagwright.readers import limits
from tagwright.readers.limits import PLAIN, Reading
from tagwright.text.words import clean

T = TypeVar("T")

WORKBOOKS = frozenset({".xls", ".xlsb", ".ods", ".numbers"})
"Suffixes of spreadsheet workbooks that cannot be read."

NOT_READ = "is a spreadsheet workbook, which cannot be read; save the sheet as CSV"
"The error for them."

ENDS = re.compile(r"[\t\r\n]")
"What ends a cell of TSV."

_CHUNK = 1 << 16
_log = logging.getLogger(__name__)
SURROGATE_ESCAPE = re.compile(r"\\u[dD][89a-fA-F]")
"Half of a character as JSON writes it, or of a pair, which is a whole character once it is read."

Large: TypeAlias = Literal["refuse", "leave out", "take"]
"What happens to a line above the limit for a document: an error, a warning, or nothing if lines are not documents."


class Place(NamedTuple):
    """A place in the input, for error messages."""

    path: Path | str
    line: int | None = None

    def error(self, problem: str) -> InputError:
        """The InputError to raise for a problem at this place."""
        return InputError(problem, *self)


@contextlib.contextmanager
def open_bytes(path: Path | str) -> Iterator[IO[bytes]]:
    """Open a file for reading bytes; gzip is unpacked, recognised by name or content.

    Raises InputError, also while the file is being read: missing, a directory, not permitted, broken gzip.
    """
    try:
        with Path(path).open("rb") as file:
            packed = Path(path).suffix == ".gz" or file.peek(2).startswith(b"\x1f\x8b")
            # unpacked in small parts: of a file that breaks off, the last part is lost
            yield io.BufferedReader(gzip.GzipFile(fileobj=file), 1 << 13) if packed else file
    except (OSError, EOFError, zlib.error) as error:
        problem = f"is a broken gzip file ({error}); compress or download it again"  # its errors have no number
        if isinstance(error, OSError) and error.errno:
            known = {errno.ENOENT: "no such file", errno.EISDIR: "is a folder, expected a file"}
            problem = known.get(error.errno, f"cannot be read ({error.strerror})")
        raise InputError(problem, path) from None


def check_encoding(encoding: str, what: str = "") -> None:
    """Raise ConfigError for an encoding that is unknown or none of text. what: whose it is, " of documents"."""
    try:
        "".encode(encoding or "utf-8")
    except LookupError:
        raise ConfigError(f"unknown encoding {show(encoding)}{what}, expected one such as cp1252 or latin-1") from None


class EncodingError(InputError):
    """A file is not in UTF-8, and no encoding was given."""


def in_encoding(path: Path, encoding: str, read: Callable[[Reading], T]) -> T:
    """Return `read` of a vocabulary: in UTF-8, or else in the given encoding. Raises InputError, which says how."""
    try:
        return read(PLAIN)
    except EncodingError as error:
        if encoding:
            check_encoding(encoding)
            return read(Reading(encoding=encoding))
        how = option(
            "encoding",
            f"cp1252, with tagwright labels --labels {path} --format csv, prints it so",
            python=f'Vocabulary.read({show(str(path))}, encoding="cp1252") reads it',
        )
        raise InputError(f"{error.problem}; {how}", path, error.line) from None


def marked_encoding(start: bytes) -> str:
    r"""The encoding that the first bytes of a text tell: by a byte order mark, or as UTF-16; "" if they do not.

    UTF-16 without a mark is known by two letters of ASCII.

    >>> marked_encoding(b"\xff\xfeB\0"), marked_encoding(b"B\0e\0"), marked_encoding(b"Bees")
    ('utf-16', 'utf-16-le', '')
    """
    for mark, encoding in (
        (codecs.BOM_UTF8, "utf-8-sig"),
        (codecs.BOM_UTF32_LE, "utf-32"),  # begins as the mark of UTF-16 does
        (codecs.BOM_UTF32_BE, "utf-32"),
        (codecs.BOM_UTF16_LE, "utf-16"),
        (codecs.BOM_UTF16_BE, "utf-16"),
    ):
        if start.startswith(mark):
            return encoding
    if re.match(rb"[^\0]\0[^\0]\0", start):
        return "utf-16-le"
    return "utf-16-be" if re.match(rb"\0[^\0]\0[^\0]", start) else ""


def open_lines(
    path: Path | str, large: Large = "refuse", reading: Reading = PLAIN, *, ends: bool = False
) -> Iterator[tuple[int, str]]:
    """The lines of a UTF-8 file, plain or gzip, with numbers from 1, without byte order mark, and with ends if asked.

    Other encodings are those that the first bytes tell (`marked_encoding`), or else that of `reading`. Raises
    InputError as `open_bytes` does, and with the line number for bytes that are not of the encoding and for a line
    above the limit for a document, unless those are left out or taken.
    """
    with open_bytes(path) as file:
        encoding = marked_encoding(cast("io.BufferedReader", file).peek(4)) or reading.encoding
        for number, line in _raw_lines(file, path, large, encoding, reading):
            try:
                text = line.decode()
            except UnicodeDecodeError as error:
                problem = f"byte 0x{line[error.start]:02x} is not UTF-8; save the file as UTF-8"
                _refuse(EncodingError(problem, path, number), large, reading.reject)
            else:
                yield number, text if ends else text.rstrip("\r\n")


def open_text(path: Path | str, reading: Reading = PLAIN) -> str:
    r"""The text of a file that is one document, with `\n` at line ends and bad bytes repaired as by `decode_text`.

    Raises InputError as `open_bytes` does, for a file above the limit for a document, and for another encoding.
    """
    with open_bytes(path) as file:
        return decode_text(limits.read_whole(file, path), path, wanted=reading.encoding).removesuffix("\n")


def decode_text(content: bytes, path: Path | str, encoding: str = "utf-8", wanted: str = "") -> str:
    r"""The text of a whole file, with `\n` at line ends.

    encoding: where neither the first bytes tell one, nor one is wanted, which has to fit. A bad byte
    becomes U+FFFD, as do several if they are at most a tenth of the characters beyond ASCII, which the log says in one
    line. More are another encoding: raises EncodingError.
    """
    wanted = "" if (marked := marked_encoding(content)) else wanted
    encoding = marked or wanted or encoding
    try:
        text = content.decode(encoding)
    except UnicodeDecodeError as error:
        line = content.count(b"\n", 0, error.start) + 1
        if wanted:
            raise InputError(f"byte 0x{content[error.start]:02x} is not {wanted}", path, line) from None
        text, name = content.decode(encoding, "replace"), encoding.removesuffix("-sig").upper()
        bad = text.count("\ufffd")
        beyond = sum(not character.isascii() for character in text) - bad
        if bad > max(1, beyond // 10) or 10 * bad > len(text):
            problem = f"byte 0x{content[error.start]:02x} is not {name}; save the file as UTF-8"
            raise EncodingError(problem, path, line) from None
        _log.warning("%s: bytes that are not %s, read as U+FFFD: %d", path, name, bad)
    return text.removeprefix("\ufeff").replace("\r\n", "\n")


def is_utf8(content: bytes) -> bool:
    """Whether bytes are UTF-8."""
    try:
        content.decode()
    except UnicodeDecodeError:
        return False
    return True


def json_lines(
    path: Path | str, large: Large = "refuse", reading: Reading = PLAIN
) -> Iterator[tuple[int, dict[str, Any]]]:
    """The JSON objects of a JSON lines file with their line numbers; blank lines are skipped.

    Half a surrogate pair, which cannot be written as UTF-8 again, becomes U+FFFD. Raises InputError as `open_lines`
    does, and with the line number for what is not a JSON object, is nested too deep, or gives a key twice.
    """
    return json_records(open_lines(path, large, reading), path, large, reading)


def json_records(
    lines: Iterable[tuple[int, str]], path: Path | str, large: Large = "refuse", reading: Reading = PLAIN
) -> Iterator[tuple[int, dict[str, Any]]]:
    """The JSON objects in numbered lines, as `json_lines` reads them."""
    for number, line in lines:
        if line.strip():
            try:
                record = _object(_parse_value(line, path, number), path, number)
            except InputError as error:
                _refuse(error, large, reading.reject)
            else:
                yield number, record


def json_objects(path: Path | str, reading: Reading = PLAIN) -> Iterator[tuple[int, dict[str, Any]]]:
    """The JSON objects of a `.json` file: lines, or else one object or one list of them over the whole file.

    A place in a list is a position, from 1. Raises InputError as `json_lines` does, and for a file above the limit for
    a document that is not lines: it is in memory as a whole.
    """
    first, is_lines = next((line for _, line in open_lines(path, "leave out", reading) if line.strip()), ""), False
    with contextlib.suppress(InputError):
        is_lines = isinstance(_parse_value(first, "", None), dict)
    if is_lines:
        yield from json_lines(path, "leave out", reading)
    elif text := open_text(path, reading):
        value = _parse_value(text, path, None)
        for number, record in enumerate(value if isinstance(value, list) else [value], 1):
            yield number, _object(record, path, number)


def write_json_lines(records: Iterable[Mapping[str, Any]], path: Path | str) -> None:
    """Write one record a line, as `write_lines` does."""
    write_lines((json.dumps(record, ensure_ascii=False) for record in records), path)


def write_lines(lines: Iterable[str], path: Path | str) -> None:
    """Write lines, gzip if the name ends in `.gz`; `path` changes only when all is written.

    The same lines give the same bytes. Raises TagwrightError when it cannot be written.
    """
    with replace_bytes(path) as file:
        file.writelines(line.encode(errors="replace") + b"\n" for line in lines)


@contextlib.contextmanager
def replace_bytes(path: Path | str) -> Iterator[IO[bytes]]:
    """Open a file for writing bytes, as `write_output` does; gzip if the name ends in `.gz`."""
    with write_output(path) as temporary, temporary.open("wb") as file:
        packed = Path(path).suffix == ".gz"
        with gzip.GzipFile("", "wb", fileobj=file, mtime=0) if packed else file as stream:
            yield cast("IO[bytes]", stream)


def table_lines(rows: Iterable[Sequence[str]], file_format: Literal["csv", "tsv"]) -> Iterator[str]:
    r"""The rows as CSV, whose quoted cells may hold line ends, or as TSV. Raises ConfigError for what TSV cannot hold.

    >>> list(table_lines([["a b", 'c"\n,d']], "csv")), list(table_lines([["a b", "c"]], "tsv"))
    (['a b,"c""\n,d"'], ['a b\tc'])
    """
    for row in rows:
        if file_format == "tsv":
            for cell in filter(ENDS.search, row):
                raise ConfigError(f"{show(cell)} has a tab or a line end, which TSV cannot hold; JSON lines can")
            yield "\t".join(row)
        else:
            line = io.StringIO()
            csv.writer(line, lineterminator="\r\n").writerow(row)  # cells with either of them are quoted
            yield line.getvalue().removesuffix("\r\n")


def tsv_rows(path: Path | str, large: Large = "refuse", reading: Reading = PLAIN) -> Iterator[tuple[int, list[str]]]:
    """The cells of each line between tabs, nothing quoted; blank lines are left out. Raises as `open_lines` does."""
    return ((line, text.split("\t")) for line, text in open_lines(path, large, reading) if text.strip())


def csv_rows(path: Path | str, reading: Reading = PLAIN) -> Iterator[tuple[int, list[str]]]:
    """The cells of each row, separated by commas, semicolons or tabs, with the line on which the row begins.

    A quoted cell may hold line ends; blank rows are left out. The separator is inferred from the first line, a header,
    or said in a line before it as Excel does: `sep=;`.
    Raises InputError as `open_lines` does, for quotes out of place, and for a row above the limit for a document, most
    often a quoted cell that is never closed. One that the quote of a later row closes is logged: rows are lost in it.
    """
    csv.field_size_limit(max(1 << 30, csv.field_size_limit()))  # the default refuses cells over 128 kB
    size, line, width = 0, 1, 0

    def lines() -> Iterator[str]:
        nonlocal size
        for _, text in open_lines(path, reading=reading, ends=True):
            size += len(text)
            if size > limits.largest_document() + 2:  # its end
                raise InputError(f"begins a row that {limits.too_large()}, or close the quote of its cell", path, line)
            yield text.replace("\0", " ")  # as everywhere, a NUL is a space

    header, above = next(rest := lines(), ""), 0
    separator = max(",;\t", key=header.count)
    if said := re.fullmatch(r"\"?sep=([,;|:\t])\"?[,;\t]*[\r\n]*", header, re.IGNORECASE):
        header, separator, above = next(rest, ""), said[1], 1
        line = 2
    reader = csv.reader(itertools.chain([header], rest), delimiter=separator, strict=True)
    try:
        for cells in reader:
            width = width or len(cells)
            if lost := sum(_rows_in(cell, separator, width) for cell in cells):
                problem = "%s:%d: a quoted cell holds %s; is its quote not closed?"
                _log.warning(problem, path, line, plural(lost, "further row"))
            if any(map(str.strip, cells)):
                yield line, cells
            line, size = above + reader.line_num + 1, 0
    except csv.Error as error:
        raise InputError(f"is not CSV ({error}); a quote in a quoted cell is written twice", path, line) from None


def _rows_in(cell: str, separator: str, width: int) -> int:
    r"""The number of rows that a cell has swallowed: each has a line end, and as many separators as a row.

    >>> _rows_in("Bees,a\n2,Wasps,b\n3,Ants 5", ",", 3), _rows_in("Bees, wasps\nand ants", ",", 3)
    (2, 0)
    """
    rows = cell.count("\n")
    return rows if width > 1 and cell.count(separator) == rows * (width - 1) else 0


def whole_characters(text: str) -> str:
    r"""The text with U+FFFD in place of half a surrogate pair, which can neither be stored nor sent.

    >>> whole_characters("\ud83d bees") == "\ufffd bees"
    True
    """
    return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")


def is_nan(value: object) -> bool:
    """Whether a value is a missing one other than null."""
    return value is not None and is_missing(value)


def id_field(record: Mapping[str, Any], place: Place, key: str = "id") -> str:
    """The id of a record; a number becomes text. Raises InputError when it is missing or blank."""
    value = text_field(record, key, place)
    if not value:
        got = f"is {show(record[key])}" if key in record else "is missing"
        raise place.error(f'{key} {got}, expected a text; write "{key}": "..." on every line')
    return value


def text_field(record: Mapping[str, Any], key: str, place: Place) -> str:
    """A clean text, blank when `is_missing`; a number becomes text. Raises InputError for anything else."""
    value = record.get(key)
    if is_missing(value):
        return ""
    text = _text(value)
    if text is None:
        raise place.error(f"{key} is {show(value)}, expected a text")
    return text


def texts_field(record: Mapping[str, Any], key: str, place: Place, separators: str = "") -> tuple[str, ...]:
    """A list of clean texts without blank ones and NaN; empty when it is missing or null. Raises InputError otherwise.

    separators: of ids; what may stand between several in one text, for the remedy in the message.
    """
    value = record.get(key)
    if is_missing(value) or value == []:
        return ()
    if isinstance(value, list):
        value = [part for part in value if not is_nan(part)]
    texts = [_text(part) for part in value] if isinstance(value, list) else [None]
    if None not in texts:
        return tuple(filter(None, texts))
    kind = f"{key.removesuffix('s')} ids" if separators else key if key.endswith("s") else "texts"
    if isinstance(value, list):
        raise place.error(f"{key} holds {show(value[texts.index(None)])}, expected a list of {kind}")
    split = separators and isinstance(value, str)
    remedy = show([part for part in re.split(separators, str(value)) if part] if split else [value])
    raise place.error(f"{key} is {show(value)}, expected a list of {kind}; write {remedy}")


def ids_field(record: Mapping[str, Any], key: str, place: Place) -> tuple[str, ...]:
    """Like `texts_field`, for ids: numbers become texts, and the error shows how to split a string of several ids."""
    return texts_field(record, key, place, r"[\s,;|]+")


def finite_score(score: object, place: Place) -> float:
    """The score of a suggestion. Raises InputError for anything that is not a finite float32."""
    if isinstance(score, bool) or not isinstance(score, int | float) or not abs(score) <= 3.4028235e38:
        raise place.error(f"score is {show(score)}, expected a finite number")
    return float(score)


@contextlib.contextmanager
def _utf8_lines(file: IO[bytes], encoding: str) -> Iterator[Callable[[int], bytes]]:
    """A function that reads a line in UTF-8, of so many bytes or characters at most. encoding: "" for UTF-8."""
    if encoding in ("", "utf-8-sig"):
        file.read(len(codecs.BOM_UTF8) if encoding else 0)
        yield file.readline
    else:
        with io.TextIOWrapper(file, encoding, newline="\n") as text:
            yield lambda size: text.readline(size).encode("utf-8", "replace")


def _raw_lines(
    file: IO[bytes], path: Path | str, large: Large, encoding: str, reading: Reading
) -> Iterator[tuple[int, bytes]]:
    """Numbered lines in UTF-8; never more of one than the limit for a document is in memory."""
    limit = limits.largest_document() if large != "take" else sys.maxsize - 1
    with _utf8_lines(file, encoding) as readline:
        for number in itertools.count(1):
            try:
                line = readline(limit + 1)
                if len(line) > limit and len(line.removesuffix(b"\n")) > limit:
                    _refuse(InputError(limits.too_large(), path, number), large, reading.leave_out)
                    while line and not line.endswith(b"\n"):
                        line = readline(_CHUNK)
                    continue
            except UnicodeDecodeError as error:
                before = error.object[: error.start].decode(encoding, "replace")
                problem = f"byte 0x{error.object[error.start]:02x} is not {encoding} ({error.reason})"
                raise InputError(problem, path, number + before.count("\n")) from None
            if not line:
                return
            yield number, line


def _refuse(error: InputError, large: Large, otherwise: Callable[[InputError], None]) -> None:
    """Raise the error; where lines are documents, it costs its line only."""
    if large != "leave out":
        raise error from None
    otherwise(error)


def _parse_value(text: str, path: Path | str, number: int | None) -> object:
    """The value of a line, or of a whole file where there is no number. Raises InputError."""
    try:
        value = _DECODER.decode(text)
        if SURROGATE_ESCAPE.search(text):
            value = _DECODER.decode(whole_characters(json.dumps(value, ensure_ascii=False)))
        return value
    except (ValueError, RecursionError) as error:
        why = "nested too deep" if isinstance(error, RecursionError) else str(error)
        problem, line = f"is JSON that cannot be used ({why})", number
        if isinstance(error, json.JSONDecodeError):
            more = "" if number is None else "; each line must hold one object"
            problem, line = f"is not JSON ({error.msg} at column {error.colno}){more}", number or error.lineno
        raise InputError(problem, path, line) from None


def _object(record: object, path: Path | str, number: int) -> dict[str, Any]:
    if not isinstance(record, dict):
        raise InputError(f'holds {show(record)}, expected a JSON object like {{"id": ...}}', path, number)
    return record


def _refuse_repeated_keys(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    record = dict(pairs)
    if len(record) < len(pairs):
        twice = next(key for key, count in Counter(key for key, _ in pairs).items() if count > 1)
        raise ValueError(f"it gives {show(twice)} twice")
    return record


_DECODER = json.JSONDecoder(object_pairs_hook=_refuse_repeated_keys)


def _text(value: object) -> str | None:
    """Clean text of a string or number; None for anything else (a bool is a number to Python only)."""
    if isinstance(value, str):
        return clean(value).strip()
    return str(value) if isinstance(value, int | float) and not isinstance(value, bool) else None
