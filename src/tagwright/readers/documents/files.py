"""Choose the reader for each file, folder or glob."""

from __future__ import annotations

import glob
import logging
import os
import re
import shutil
import sys
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import nullcontext, suppress
from dataclasses import replace
from functools import partial
from itertools import chain, count, islice
from pathlib import Path
from typing import NamedTuple

from tagwright import registry as plugins
from tagwright.core.atomic import scratch_folder
from tagwright.core.checked import show
from tagwright.core.display import plural
from tagwright.data.texts import Columns
from tagwright.errors import ConfigError, InputError, class_and_message, note_left_out, option
from tagwright.readers.account import by_suffix, say
from tagwright.readers.documents.formats import FORMATS, Format
from tagwright.readers.documents.plain_text import LABELS_BESIDE, refuse_training_file, with_labels_beside
from tagwright.readers.documents.records import Located
from tagwright.readers.documents.tables import recognise_table
from tagwright.readers.documents.text_lines import labels_beside
from tagwright.readers.limits import PLAIN, Reading
from tagwright.readers.lines import NOT_READ, WORKBOOKS, EncodingError, check_encoding, marked_encoding, open_bytes
from tagwright.text.words import clean
from tagwright.types import Document

_log = logging.getLogger(__name__)
_STDIN = "stdin"


_REFUSED: Mapping[str, str] = {
    **dict.fromkeys(WORKBOOKS, NOT_READ),
    **dict.fromkeys((".npz", ".npy"), "holds arrays of NumPy, expected texts; write the documents as JSON lines"),
}
"Suffix -> why its files are not read."

_SAYING_WRONGLY = frozenset({"html", "marc"})
"Formats that may say a wrong encoding, so that another one can be given."

_SUFFIXES: Mapping[str, str] = {
    suffix: name for name, format_ in FORMATS.items() for suffix in format_.suffixes.split()
}
_IN_FOLDERS = frozenset({".xml", *(suffix for suffix, name in _SUFFIXES.items() if FORMATS[name].paper)})

_REGISTERED = Format("of an installed package", "", paper=True)

_INFO, _DICT = "dataset_info.json", "dataset_dict.json"
"Files beside the tables of a dataset that Hugging Face saved."

_SIGNS: Mapping[bytes, str] = {
    b"PAR1": "parquet", b"ARROW1": "arrow", b"\xff\xff\xff\xff": "arrow", b"{\\rtf": "rtf", b"{": "jsonl",
    b"%PDF-": "pdf", b"PK\x03\x04": "docx",
}  # fmt: skip
_CONTENTS: Mapping[str, re.Pattern[bytes]] = {
    "marc": re.compile(rb"\d{5}(?:[a-z]{2}.{2}[ a]22\d{5}|.{4}[ a]22\d{5}.{3}45)", re.DOTALL),
    "marcxml": re.compile(rb"<.*?<(?:\w+:)?datafield\s[^>]*?\btag=[\"']\d{3}[\"']", re.DOTALL),
    "pica": re.compile(
        rb"(?:[\dX]+ *\x1e|[\x1d\x1e\s]*)\d{3}[A-Z@](?:/\d{2,3})? *(?:\x1f|\$|\xc6\x92)[0-9A-Za-z]"
        rb"|<.*?<(?:\w+:)?(?:datafield\s[^>]*?\btag|tag\s[^>]*?\bid)=[\"']\d{3}[A-Z@][\"']",
        re.DOTALL,
    ),
    "json": re.compile(rb"(?:\[\s*)?\{\s*\"[^\"]*\"\s*:"),
    "bibtex": re.compile(rb"@[A-Za-z]+\s*\{[^\s{},=]+,\s*[\w-]+\s*="),
    "ris": re.compile(rb"(?:\d+\.?\s+)?TY  - [A-Z]|PMID- \d|(?:FN .*\n(?:VR .*\n)?)?PT [A-Z]\r?\n"),
}
"Catalogue records have no root element of their own: formats that are recognised by how the content begins."


def open_sources(
    *sources: str | Path,
    input_format: str | None = None,
    columns: Columns | None = None,
    encoding: str = "",
    is_label: Callable[[str], bool] | None = None,
    collect: Callable[[InputError], object] | None = None,
) -> Iterator[tuple[str, Iterator[Located]]]:
    """Each file of the sources, with its documents and their lines.

    A source is a file, a folder of papers, a glob, or `-` for standard input: JSON lines, a paper, or else a text
    that is one document. The id of a document without one is the path of its file, relative to the folder that was
    given unless files in several folders share that path; "stdin" on standard input. columns: which columns or keys of
    files that have such hold the parts of a document; a row without an id is called by its line, and by its file if
    there are several. Outside of tables and JSON lines, a repeated id is told apart (`UniqueIds`). encoding: of texts,
    tables, HTML and MARC that are not UTF-8; a byte order mark counts more. is_label, collect: see `Reading`. Of
    several files, unreadable papers are logged and skipped; so is any file where errors are collected. At the end a
    line says how many files were read, and which files of folders are left out. Raises InputError for a source
    that does not exist or holds no documents, for any other file that cannot be read, and when none can be read;
    ConfigError for an unknown format or encoding, for columns of files that have none, and for the encoding of files
    that say theirs.
    """
    if input_format is not None and input_format not in FORMATS:
        point = plugins.find("readers", input_format)
        if point is None:
            raise ConfigError(f"unknown format {input_format!r} of documents; the formats are {', '.join(_formats())}")
        input_format = point.name
    check_encoding(encoding, " of documents")
    if not sources:
        raise InputError("no documents given; name a file, a folder, a glob, or - for standard input")
    left, damaged, collected, ids = list[Path](), list[InputError](), list[InputError](), UniqueIds()
    found = list[_File]()
    for path in (path for source in sources for path in _paths(str(source))):
        found += _in_folder(path, input_format, left) if path.is_dir() else [_File(path, _id(path), input_format)]
    files, left = _without_labels(found, left)
    _check_use(files, columns, encoding)
    named = Counter(file.name for file in files)
    names = (file.name if named[file.name] == 1 else _id(file.path) for file in files)
    files = [file._replace(name=name, ids=ids, alone=len(files) == 1) for file, name in zip(files, names, strict=True)]
    reading = Reading(columns=columns or {}, encoding=encoding, is_label=is_label, collect=collect)
    for file in files:
        if str(file.path) == "-" or not file.path.is_file():
            yield from _read_stream(file, reading)
        elif file.alone:
            yield str(file.path), _read(file, reading)
        else:
            yield str(file.path), _skip_unreadable(file, reading, damaged, collected)
    ids.report()
    if damaged and len(damaged) == len(files):
        raise damaged[0]
    if damaged or left or (len(files) > len(sources) and not collected):  # the caller says what it collects
        _say_files(len(files), len(damaged) + len(collected), left)
    note_left_out(damaged)


def guess_format(path: Path) -> str:
    """The format of a file from its name, or else from its first bytes. Raises InputError when neither tells."""
    if labels_beside(path):
        return "lines"
    by_name = _by_suffix(path)
    if by_name and (by_name != "text"):
        return by_name
    start = _start(path, 1 << 12 if by_name else 1 << 16)
    if by_name:  # exports of many records, and tables of Excel, are often called .txt
        return _by_content(start) or by_name
    if problem := _REFUSED.get(_suffix(path)):
        raise InputError(problem, path)
    if start.startswith(b"PK\x03\x04") and b"xl/" in start:
        return "xlsx"
    signs = (name for sign, name in _SIGNS.items() if start.startswith(sign))
    if by_content := next(signs, "") or _by_content(start):
        return by_content
    if b"\t" in start.partition(b"\n")[0]:
        return "tsv"
    refuse_training_file(start.decode("utf-8", "replace"), path)
    problem = f"has no recognisable format; name it: {option('input_format')}, one of {', '.join(_formats())}"
    if start.startswith(b"<?xml"):
        problem = "is XML of an unknown kind, expected JATS (article), TEI, html, MARCXML or Dublin Core"
    raise InputError(problem, path)


def _by_content(start: bytes) -> str:
    """The format of records, a table or marked-up text that the first bytes surely tell, whatever its name; else ""."""
    if records := next((name for name, begin in _CONTENTS.items() if begin.match(start)), ""):
        return records
    root = rb"<.*?(?<=<)(?:!DOCTYPE\s+|\w+:)?(article|PubmedArticleSet|TEI|html)(?=[\s/>])"
    if found := re.match(root, start, re.IGNORECASE | re.DOTALL):
        return {b"article": "jats", b"pubmedarticleset": "pubmed"}.get(found[1].lower()) or found[1].decode().lower()
    if re.match(rb"<.*?\bxmlns:?\w*=[\"']http://purl\.org/dc/(?:elements/1\.1|terms)/[\"']", start, re.DOTALL):
        return "dublin_core"
    return recognise_table(start.decode("utf-8", "ignore"))


class _File(NamedTuple):
    """A file to read. name: the id of a document without one. format: None where it has to be guessed.

    alone: no other is read. ids: of the documents of all files.
    """

    path: Path
    name: str
    format: str | None
    alone: bool = True
    ids: UniqueIds | None = None


def _say_files(given: int, damaged: int, left: Sequence[Path]) -> None:
    """Say how many files were read, and which could not be or are left out."""
    named = {_suffix(path) for path in left if _by_suffix(path)}
    parts = [f"{given - damaged:,} read", *([f"{damaged:,} could not be read"] if damaged else [])]
    parts += [f"{len(left):,} left out: {by_suffix(map(_suffix, left), named)}"] if left else []
    say(f"{plural(given + len(left), 'file')}: {'; '.join(parts)}", warn=bool(damaged or left))


def _without_labels(files: list[_File], left: list[Path]) -> tuple[list[_File], list[Path]]:
    """The files, and those that are left out, without those that hold the labels of a document beside them."""
    suffixes = {suffix for suffix, name in _SUFFIXES.items() if FORMATS[name].labelled}
    labelled = {file.path.with_suffix("") for file in files if file.path.suffix.lower() in suffixes}

    def is_read(path: Path) -> bool:
        return path.suffix not in LABELS_BESIDE or path.with_suffix("") not in labelled

    return [file for file in files if is_read(file.path)], list(filter(is_read, left))


def _check_use(files: list[_File], columns: Columns | None, encoding: str) -> None:
    """Refuse columns when no file can have any, and an encoding that applies to no file.

    Files of a yet unknown format can have both.
    """
    names = [file.format or _by_suffix(file.path) or "jsonl" for file in files]
    if columns and not any(_format(name).columns for name in names):
        raise ConfigError(f"columns are given, but {files[0].path} has none; tables and JSON lines have")
    if encoding and not any(map(_has_encoding, names)):
        problem = f"an encoding is given, but {files[0].path} is read without one; leave out {option('encoding')}"
        raise ConfigError(problem)


def _format(name: str) -> Format:
    return FORMATS.get(name, _REGISTERED)


def _has_encoding(name: str) -> bool:
    """Whether the encoding of a format can be named."""
    return name in _SAYING_WRONGLY or _format(name).text


def _paths(source: str) -> list[Path]:
    if source == "-" or os.path.exists(source):  # noqa: PTH110 - Path.exists raises on names that cannot be
        return [Path(source)]
    matches = [Path(match) for match in sorted(glob.glob(source, recursive=True))]  # noqa: PTH207 - sources may be absolute
    if not matches:
        problem = "no file matches" if set("*?[") & set(source) else "no such file or folder"
        raise InputError(problem, source or '""')
    return [path for path in matches if path.is_file()] or matches


def _in_folder(folder: Path, format: str | None, left: list[Path]) -> list[_File]:  # noqa: A002
    """The papers in a folder and its subfolders, without hidden ones; and the tables of saved Hugging Face datasets.

    With a format, the files whose names do not say otherwise. left: gets the files that are left out.
    """
    named = [(path, path.relative_to(folder)) for path in sorted(folder.rglob("*")) if path.is_file()]
    named = [(path, name) for path, name in named if not any(part[0] == "." for part in name.parts)]
    saved = {path.parent for path, _ in named if path.name == "state.json" and (path.parent / _INFO).is_file()}
    needless = {dataset.parent / _DICT for dataset in saved}
    files = list[_File]()
    for path, name in named:
        if path.parent in saved:
            files += [_File(path, _id(name), None)] if path.match("data-*.arrow") else []
        elif path not in needless and _fits(path, format):
            files.append(_File(path, _id(name), format))
        elif path not in needless:
            left.append(path)
    if not files:
        kinds = ", ".join(sorted(_IN_FOLDERS))
        raise InputError(f"holds no files of text ({kinds}); give files of other kinds by name", folder)
    return files


def _fits(path: Path, format: str | None) -> bool:  # noqa: A002
    """Whether a file in a folder is read: as a paper, or as a file of the given format."""
    suffix, named = _suffix(path), _by_suffix(path)
    if format is None:
        return suffix in _IN_FOLDERS or (named is not None and named not in FORMATS)
    return named in (None, format)


def _by_suffix(path: Path) -> str | None:
    """Return the format of the suffix, a built-in one or one of an installed package."""
    ours, other = _SUFFIXES.get(_suffix(path)), path.suffix.lower()
    if ours or other in ("", ".", ".xml"):  # XML formats are recognised by content
        return ours
    point = plugins.find("readers", other[1:])
    return point.name if point else None


def _formats() -> list[str]:
    return [*FORMATS, *(point.name for point in plugins.find_registered("readers"))]


def _suffix(path: Path) -> str:
    """Return the suffix, without .gz."""
    return (path.with_suffix("") if path.suffix.lower() == ".gz" else path).suffix.lower()


def _id(path: Path) -> str:
    """The path with `/` on every system, and with U+FFFD for bytes in it that are not UTF-8."""
    return clean(os.fsencode(path.as_posix()).decode("utf-8", "replace"))


def _read(file: _File, reading: Reading, guess: Callable[[Path], str] = guess_format) -> Iterator[Located]:
    if not file.path.stat().st_size and (file.format or _by_suffix(file.path)) != "text":
        raise InputError("is empty, expected documents", file.path)
    name = file.format or guess(file.path)
    format_ = _format(name)
    read = format_.read if name in FORMATS else partial(_read_registered, name)
    documents = read(file.path, reading)
    if format_.labelled:  # labels beside a page or a file that is no text are in UTF-8
        documents = with_labels_beside(documents, file.path, reading if format_.text else PLAIN)
    documents = _with_advice(documents, name)
    documents = _name_documents(documents, file, name, format_.rows)
    # the user has given the ids of rows, and refers to documents by them: a repeated one is an error
    if file.ids and not (format_.rows and not format_.paper):
        documents = file.ids.told_apart(documents, file.name)
    yield from documents


def _name_documents(documents: Iterator[Located], file: _File, format_name: str, is_table: bool) -> Iterator[Located]:
    """The documents; one without an id is called by its file and number, or, in the only table, by its line."""
    may_be_one = format_name == "json" and file.name != _STDIN
    first = list(islice(documents, 2 if may_be_one else 1))
    if not first:
        raise InputError("holds no documents", file.path)
    rows, nameless = is_table and not (may_be_one and len(first) == 1), 0
    for line, document in chain(first, documents):
        nameless += not document.id
        if rows:
            name = str(line) if file.alone else f"{file.name}#{line}"
        else:
            name = file.name if nameless == 1 else f"{file.name}#{nameless}"
        yield line, document if document.id else replace(document, id=name)


def _with_advice(documents: Iterator[Located], format: str) -> Iterator[Located]:  # noqa: A002
    """Documents whose encoding can be named: an error about it says so."""
    try:
        yield from documents
    except EncodingError as error:
        beside_page = format in _SAYING_WRONGLY and Path(error.path or "").suffix in LABELS_BESIDE  # in UTF-8
        if not _has_encoding(format) or beside_page:
            raise
        problem = f"{error.problem}, or name the encoding of documents: {option('encoding', 'cp1252')}"
        raise InputError(problem, error.path, error.line) from None


def _read_registered(name: str, path: Path, _reading: Reading) -> Iterator[Located]:
    """Read with the reader of an installed package. Raises InputError, which names the file, for any of its errors."""
    point = plugins.find("readers", name)
    assert point is not None
    read, package = plugins.load(point), plugins.package_of(point)
    try:
        for document in read(path):
            if not isinstance(document, Document):
                raise InputError(f"the package {package} reads a {type(document).__name__}, expected a Document", path)
            metadata: Mapping[str, object] = document.metadata
            if field := next((name for name, values in metadata.items() if isinstance(values, str)), None):
                raise InputError(f"the package {package} gives {field} as a text, expected a tuple of texts", path)
            yield 0, document
    except InputError as error:
        raise error if error.path else InputError(error.problem, path, error.line) from None
    except Exception as error:  # the code of another package may fail in any way
        raise InputError(f"cannot be read by the package {package} ({class_and_message(error)})", path) from error


def _skip_unreadable(
    file: _File, reading: Reading, damaged: list[InputError], collected: list[InputError]
) -> Iterator[Located]:
    """The documents of one file of several; its error is collected, or noted if it is a paper, or where others are."""
    try:
        yield from _read(file, reading)
    except InputError as error:
        name = file.format or ""
        with suppress(InputError):
            name = name or guess_format(file.path)
        if reading.collects(error):
            collected.append(error)
        elif reading.collect or _format(name).paper:
            _log.warning("%s", error)
            damaged.append(error)
        else:
            raise


def _read_stream(file: _File, reading: Reading) -> Iterator[tuple[str, Iterator[Located]]]:
    """Standard input or a pipe, copied to a file, as it can be read only once; errors name the stream."""
    is_stdin = str(file.path) == "-"
    name = "standard input" if is_stdin else str(file.path)
    opened = nullcontext(sys.stdin.buffer) if is_stdin else open_bytes(file.path)
    with opened as stream, scratch_folder() as folder:
        path = folder / Path(name).name
        with path.open("wb") as copy:
            shutil.copyfileobj(stream, copy)
        file = file._replace(path=path, name=_STDIN if is_stdin else file.name)
        reading = replace(reading, collect=partial(_collect_as_from, name, reading))
        yield name, _as_from(name, _read(file, reading, _piped_format))


def _piped_format(path: Path) -> str:
    """Return the format by name; by first bytes for JSON, papers and tables; or else text."""
    if by_name := _by_suffix(path):
        return by_name
    start = _start(path)
    return _by_content(start) or (guess_format(path) if start.startswith((*_SIGNS,)) else "text")


def _start(path: Path, size: int = 1 << 16) -> bytes:
    """The first bytes of a file; of a text in UTF-16 or UTF-32, in UTF-8."""
    with open_bytes(path) as file:
        start = file.read(size)
    text = start.decode(encoding, "ignore").encode() if (encoding := marked_encoding(start)) else start
    return text.removeprefix(b"\xef\xbb\xbf").lstrip()


def _as_from(name: str, documents: Iterator[Located]) -> Iterator[Located]:
    """The documents of the copy of a stream, the errors of which name the stream."""
    try:
        yield from documents
    except InputError as error:
        raise InputError(error.problem, name, error.line) from None


def _collect_as_from(name: str, reading: Reading, error: InputError) -> bool:
    """Collect an error of the copy of a stream as one of the stream."""
    return reading.collects(InputError(error.problem, name, error.line))


class UniqueIds:
    """The ids of the documents that are read together, in the order of their files.

    They come from a catalogue or a publisher and not from the user. Exports repeat them: harvests overlap, and a record
    that is too long is split into several of the same number. Only hashes of the ids are kept.
    """

    def __init__(self) -> None:
        self._seen = set[int]()
        self._first, self._repeated, self._numbers = "", 0, count(2)

    def told_apart(self, documents: Iterator[Located], file: str) -> Iterator[Located]:
        """The documents of a file; the id of an earlier one is followed by the place, as in `1#3`.

        Ids that are the name of the file are left as they are: only a file that is read twice repeats them.
        """
        for place, document in documents:
            id_ = document.id
            if not (id_ == file or id_.startswith(f"{file}#") or self._is_new(id_)):
                # the place, or else a number that is tried once: the work stays linear
                numbers = chain([place] if place else [], self._numbers)
                own = next(new for number in numbers if self._is_new(new := f"{id_}#{number}"))
                at, self._repeated = f"{file}:{place}" if place else file, self._repeated + 1
                said = f"{at}: the id {show(id_)} is also that of an earlier document; here it is {show(own)}"
                self._first = self._first or said
                document = replace(document, id=own)
            yield place, document

    def report(self) -> None:
        """Log how many ids were repeated, and the first of them."""
        if self._repeated:
            more = f" (and so for {plural(self._repeated - 1, 'other document')})" if self._repeated > 1 else ""
            _log.warning("%s%s", self._first, more)

    def _is_new(self, id_: str) -> bool:
        """Whether the id is new; it is known from now on."""
        before = len(self._seen)
        self._seen.add(hash(id_))
        return len(self._seen) > before
