"""Read lines, table rows and JSON records with their line numbers, so that errors name the place; write JSON lines."""

import contextlib
import csv
import gzip
import io
import itertools
import json
import math
import re
import sys
import zlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextvars import ContextVar
from pathlib import Path
from typing import IO, Any, Literal, NamedTuple, TypeAlias, cast

from tagwright.core.atomic import replace_file
from tagwright.core.checked import shown
from tagwright.errors import ConfigError, InputError, option
from tagwright.readers.limits import largest_document, leave_out, reject, too_large
from tagwright.text.words import clean

WORKBOOKS = frozenset({".xlsx", ".xlsm", ".xls", ".ods", ".numbers"})
"Suffixes of spreadsheet workbooks, which cannot be read."

_FORMULA = ("=", "+", "-", "@", "\t", "\r")
"The first characters of cells that spreadsheets compute as formulas."

_GZIP = b"\x1f\x8b"
_UNPACKED = 1 << 13
"Bytes that are unpacked together: of a file that breaks off, the last ones are lost (128 KiB by default in 3.14)."
_LONGEST_CELL = 1 << 30
_LARGEST = 3.4028235e38
"The largest float32, as it is written."
_BOM = b"\xef\xbb\xbf"
_CHUNK = 1 << 16
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


_decoded: ContextVar[Mapping[Path, bytes]] = ContextVar("decoded", default={})  # noqa: B039 - never changed


@contextlib.contextmanager
def as_utf8(path: Path, encoding: str) -> Iterator[None]:
    """Inside this block a file that is not UTF-8 is read as if it were, decoded from this encoding; "" changes nothing.

    Raises InputError for bytes that do not fit, ConfigError for an unknown encoding.
    """
    with open_bytes(path) as file:
        content = file.read() if encoding else b""
    try:
        decoded = {} if is_utf8(content) else {path: content.decode(encoding).encode()}
    except LookupError:
        raise ConfigError(f"unknown encoding {shown(encoding)}, expected one such as cp1252 or latin-1") from None
    except UnicodeDecodeError as error:
        line = content.count(b"\n", 0, error.start) + 1
        raise InputError(f"byte 0x{content[error.start]:02x} is not {encoding}", path, line) from None
    token = _decoded.set({**_decoded.get(), **decoded})
    try:
        yield
    finally:
        _decoded.reset(token)


def is_utf8(content: bytes, encoding: str = "utf-8") -> bool:
    """Whether the bytes are text in this encoding."""
    with contextlib.suppress(UnicodeDecodeError):
        content.decode(encoding)
        return True
    return False


@contextlib.contextmanager
def open_bytes(path: Path | str) -> Iterator[IO[bytes]]:
    """Open a file for reading bytes; gzip is unpacked, recognised by name or content.

    Raises InputError, also while the file is being read: missing, a directory, not permitted, broken gzip.
    """
    if (decoded := _decoded.get().get(Path(path))) is not None:
        yield io.BytesIO(decoded)
        return
    try:
        with Path(path).open("rb") as file:
            packed = Path(path).suffix == ".gz" or file.peek(2).startswith(_GZIP)
            yield io.BufferedReader(gzip.GzipFile(fileobj=file), _UNPACKED) if packed else file
    except FileNotFoundError:
        raise InputError("no such file", path) from None
    except IsADirectoryError:
        raise InputError("is a folder, expected a file", path) from None
    except (gzip.BadGzipFile, zlib.error, EOFError) as error:
        raise InputError(f"is a broken gzip file ({error}); compress or download it again", path) from None
    except OSError as error:
        raise InputError(f"cannot be read ({error.strerror or error})", path) from None


def open_lines(path: Path | str, large: Large = "refuse") -> Iterator[tuple[int, str]]:
    """The lines of a UTF-8 file, plain or gzip, with numbers from 1, without line ends and byte order mark.

    Raises InputError as `open_bytes` does, and with the line number for bytes that are not UTF-8 and for a line above
    the limit for a document, unless those are left out or taken.
    """
    with open_bytes(path) as file:
        for number, line in _raw_lines(file, path, large):
            if number == 1:
                line = line.removeprefix(_BOM)
            try:
                text = line.decode()
            except UnicodeDecodeError as error:
                problem = f"byte 0x{line[error.start]:02x} is not UTF-8; save the file as UTF-8"
                problem += f", or name the encoding of documents: {option('encoding', 'cp1252')}"
                _refuse(InputError(problem, path, number), large)
            else:
                yield number, text.rstrip("\r\n")


def open_text(path: Path | str) -> str:
    """The lines of a UTF-8 file that is one document. Raises InputError as `open_lines` does, and for a larger one."""
    left, kept = largest_document(), list[str]()
    for _, line in open_lines(path):
        left -= len(line.encode()) + 1
        if left < -1:  # the last line may have no end
            raise InputError(too_large(), path)
        kept.append(line)
    return "\n".join(kept)


def json_lines(path: Path | str, large: Large = "refuse") -> Iterator[tuple[int, dict[str, Any]]]:
    """The JSON objects of a JSON lines file with their line numbers; blank lines are skipped.

    Half a surrogate pair, which cannot be written as UTF-8 again, becomes U+FFFD. Raises InputError as `open_lines`
    does, and with the line number for what is not a JSON object, is nested too deep, or gives a key twice.
    """
    return json_records(open_lines(path, large), path, large)


def json_records(
    lines: Iterable[tuple[int, str]], path: Path | str, large: Large = "refuse"
) -> Iterator[tuple[int, dict[str, Any]]]:
    """The JSON objects in numbered lines, as `json_lines` reads them."""
    for number, line in lines:
        if line.strip():
            try:
                record = _object(_parsed(line, path, number), path, number)
            except InputError as error:
                _refuse(error, large)
            else:
                yield number, record


def json_objects(path: Path | str) -> Iterator[tuple[int, dict[str, Any]]]:
    """The JSON objects of a `.json` file: lines, or else one object or one list of them over the whole file.

    A place in a list is a position, from 1. Raises InputError as `json_lines` does, and for a file above the limit for
    a document that is not lines: it is in memory as a whole.
    """
    first = next((line for _, line in open_lines(path, "leave out") if line.strip()), "")
    if _is_object(first):
        yield from json_lines(path, "leave out")
    elif text := open_text(path):
        found = _parsed(text, path, None)
        for number, each in enumerate(found if isinstance(found, list) else [found], 1):
            yield number, _object(each, path, number)


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
    """Open a file for writing bytes, as `replace_file` does; gzip if the name ends in `.gz`."""
    with replace_file(path) as temporary, temporary.open("wb") as file:
        packed = Path(path).suffix == ".gz"
        with gzip.GzipFile("", "wb", fileobj=file, mtime=0) if packed else file as stream:
            yield cast("IO[bytes]", stream)


def table_lines(rows: Iterable[Sequence[str]], file_format: Literal["csv", "tsv"]) -> Iterator[str]:
    r"""The rows as CSV, whose quoted cells may hold line ends, or as TSV, in which white space becomes one space.

    >>> list(table_lines([["a b", 'c"\n,d']], "csv")), list(table_lines([["a b", "c\td"]], "tsv"))
    (['a b,"c""\n,d"'], ['a b\tc d'])
    """
    for row in rows:
        if file_format == "tsv":
            yield "\t".join(" ".join(cell.split()) for cell in row)
        else:
            line = io.StringIO()
            csv.writer(line, lineterminator="\r\n").writerow(row)  # cells with either of them are quoted
            yield line.getvalue().removesuffix("\r\n")


def tsv_rows(path: Path | str, large: Large = "refuse") -> Iterator[tuple[int, list[str]]]:
    """The cells of each line between tabs, nothing quoted; blank lines are left out. Raises as `open_lines` does."""
    return ((line, text.split("\t")) for line, text in open_lines(path, large) if text.strip())


def csv_rows(path: Path | str) -> Iterator[tuple[int, list[str]]]:
    """The cells of each row, separated by commas, semicolons or tabs, with the line on which the row begins.

    A quoted cell may hold line ends; blank rows are left out. The separator is inferred from the first line, a header,
    or said in a line before it as Excel does: `sep=;`.
    Raises InputError as `open_lines` does, for quotes out of place, and for a row above the limit for a document, most
    often a quoted cell that is never closed.
    """
    csv.field_size_limit(max(_LONGEST_CELL, csv.field_size_limit()))  # the default refuses cells over 128 kB
    size, line = 0, 1

    def lines() -> Iterator[str]:
        nonlocal size
        for _, text in open_lines(path):
            size += len(text) + 1
            if size > largest_document() + 1:
                raise InputError(f"begins a row that {too_large()}, or close the quote of its cell", path, line)
            yield text.replace("\0", " ") + "\n"  # as everywhere, a NUL is a space

    header, above = next(rest := lines(), ""), 0
    separator = max(",;\t", key=header.count)
    if said := re.fullmatch(r"\"?sep=([,;|:\t])\"?[,;\t]*\n", header, re.IGNORECASE):
        header, separator, above = next(rest, ""), said[1], 1
        line = 2
    reader = csv.reader(itertools.chain([header], rest), delimiter=separator, strict=True)
    try:
        for cells in reader:
            if any(map(str.strip, cells)):
                yield line, cells
            line, size = above + reader.line_num + 1, 0
    except csv.Error as error:
        raise InputError(f"is not CSV ({error}); a quote in a quoted cell is written twice", path, line) from None


def escape_formula(cell: str) -> str:
    """The cell with an apostrophe before it where a spreadsheet would compute it as a formula.

    >>> escape_formula("=1+1"), unescape_formula("'=1+1"), escape_formula("'Tis"), unescape_formula("'Tis")
    ("'=1+1", '=1+1', "'Tis", "'Tis")
    """
    return f"'{cell}" if _is_formula(cell) else cell


def unescape_formula(cell: str) -> str:
    """The cell that was given to `escape_formula`."""
    return cell[1:] if cell.startswith("'") and _is_formula(cell) else cell


def whole_characters(text: str) -> str:
    r"""The text with U+FFFD in place of half a surrogate pair, which can neither be stored nor sent.

    >>> whole_characters("\ud83d bees") == "\ufffd bees"
    True
    """
    return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")


def is_missing(value: object) -> bool:
    """Whether a value is null, or NaN, as pandas writes a missing one."""
    return value is None or (isinstance(value, float) and math.isnan(value))


def id_field(record: Mapping[str, Any], place: Place, key: str = "id") -> str:
    """The id of a record; a number becomes text. Raises InputError when it is missing or blank."""
    value = text_field(record, key, place)
    if not value:
        got = f"is {shown(record[key])}" if key in record else "is missing"
        raise place.error(f'{key} {got}, expected a text; write "{key}": "..." on every line')
    return value


def text_field(record: Mapping[str, Any], key: str, place: Place) -> str:
    """A clean text, blank when `is_missing`; a number becomes text. Raises InputError for anything else."""
    value = record.get(key)
    if is_missing(value):
        return ""
    text = _text(value)
    if text is None:
        raise place.error(f"{key} is {shown(value)}, expected a text")
    return text


def texts_field(record: Mapping[str, Any], key: str, place: Place, separators: str = "") -> tuple[str, ...]:
    """A list of clean texts, blank ones left out; empty when it is missing or null. Raises InputError otherwise.

    separators: of ids; what may stand between several in one text, for the remedy in the message.
    """
    value = record.get(key)
    if is_missing(value) or value == []:
        return ()
    texts = [_text(part) for part in value] if isinstance(value, list) else [None]
    if None not in texts:
        return tuple(filter(None, texts))
    kind = f"{key.removesuffix('s')} ids" if separators else key if key.endswith("s") else "texts"
    if isinstance(value, list):
        raise place.error(f"{key} holds {shown(value[texts.index(None)])}, expected a list of {kind}")
    split = separators and isinstance(value, str)
    remedy = shown([part for part in re.split(separators, str(value)) if part] if split else [value])
    raise place.error(f"{key} is {shown(value)}, expected a list of {kind}; write {remedy}")


def ids_field(record: Mapping[str, Any], key: str, place: Place) -> tuple[str, ...]:
    """Like `texts_field`, for ids: numbers become texts, and the error shows how to split a string of several ids."""
    return texts_field(record, key, place, r"[\s,;|]+")


def finite_score(score: object, place: Place) -> float:
    """The score of a suggestion. Raises InputError for anything that is not a finite float32."""
    if isinstance(score, bool) or not isinstance(score, int | float) or not -_LARGEST <= score <= _LARGEST:
        raise place.error(f"score is {shown(score)}, expected a finite number")
    return float(score)


def _is_formula(cell: str) -> bool:
    """Whether the cell is a formula, or one behind apostrophes: these get one more, so that it can be taken away."""
    return cell.lstrip("'").startswith(_FORMULA)


def _raw_lines(file: IO[bytes], path: Path | str, large: Large) -> Iterator[tuple[int, bytes]]:
    """Numbered lines; never more of one than the limit for a document is in memory."""
    limit = largest_document() if large != "take" else sys.maxsize - 1
    for number in itertools.count(1):
        line = file.readline(limit + 1)
        if not line:
            return
        if len(line) <= limit or line.endswith(b"\n"):
            yield number, line
        elif large == "refuse":
            raise InputError(too_large(), path, number)
        else:
            leave_out(path, number)
            while line and not line.endswith(b"\n"):
                line = file.readline(_CHUNK)


def _refuse(error: InputError, large: Large) -> None:
    """Raise the error; where lines are documents, it may be collected instead."""
    if large != "leave out":
        raise error from None
    reject(error)


def _parsed(text: str, path: Path | str, number: int | None) -> object:
    """The value of a line, or of a whole file where there is no number. Raises InputError."""
    try:
        return _parse(text)
    except json.JSONDecodeError as error:
        if number is None:
            raise InputError(f"is not JSON ({error.msg} at column {error.colno})", path, error.lineno) from None
        problem = f"is not JSON ({error.msg} at column {error.colno}); each line must hold one object"
        raise InputError(problem, path, number) from None
    except (ValueError, RecursionError) as error:
        problem = "nested too deep" if isinstance(error, RecursionError) else str(error)
        raise InputError(f"is JSON that cannot be used ({problem})", path, number) from None


def _object(record: object, path: Path | str, number: int) -> dict[str, Any]:
    if not isinstance(record, dict):
        raise InputError(f'holds {shown(record)}, expected a JSON object like {{"id": ...}}', path, number)
    return record


def _is_object(text: str) -> bool:
    try:
        return isinstance(_parse(text), dict)
    except (ValueError, RecursionError):
        return False


def _parse(line: str) -> object:
    record = _DECODER.decode(line)
    if SURROGATE_ESCAPE.search(line):
        record = _DECODER.decode(whole_characters(json.dumps(record, ensure_ascii=False)))
    return record


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    record = dict(pairs)
    if len(record) < len(pairs):
        keys = [key for key, _ in pairs]
        twice = next(key for key in keys if keys.count(key) > 1)
        raise ValueError(f"it gives {shown(twice)} twice")
    return record


_DECODER = json.JSONDecoder(object_pairs_hook=_once)


def _text(value: object) -> str | None:
    """Clean text of a string or number; None for anything else (a bool is a number to Python only)."""
    if isinstance(value, str):
        return clean(value).strip()
    return str(value) if isinstance(value, int | float) and not isinstance(value, bool) else None
