"""Names of files, folders and globs in, documents out: which reader reads what. The readers are beside this module."""

from __future__ import annotations

import glob
import os
import shutil
import sys
import tempfile
from collections.abc import Callable, Iterator, Mapping
from functools import partial
from pathlib import Path
from typing import IO, Literal, TypeAlias

from tagwright.data.jsonl import read_jsonl
from tagwright.data.lines import open_bytes, open_lines
from tagwright.data.prose import SUFFIXES, read_folder, read_text
from tagwright.data.records import Located
from tagwright.data.tables import read_arrow, read_csv, read_parquet, read_tsv
from tagwright.types import ConfigError, InputError

Format: TypeAlias = Literal["jsonl", "annif", "xc", "micol", "futex", "tsv", "csv", "parquet", "arrow", "text"]
Reader: TypeAlias = Callable[[Path], Iterator[Located]]

READERS: Mapping[Format, Reader] = {
    "jsonl": read_jsonl,
    "annif": partial(read_jsonl, flavour="annif"),
    "xc": partial(read_jsonl, flavour="xc"),
    "micol": partial(read_jsonl, flavour="micol"),
    "futex": partial(read_jsonl, flavour="futex"),
    "tsv": read_tsv,
    "csv": read_csv,
    "parquet": read_parquet,
    "arrow": read_arrow,
    "text": read_text,
}
"Format -> reader. The five kinds of JSON lines are told apart by `jsonl` itself; naming one skips the guess."

_SUFFIXES: Mapping[str, Format] = {
    ".jsonl": "jsonl", ".ndjson": "jsonl", ".json": "jsonl",
    ".tsv": "tsv", ".tab": "tsv", ".csv": "csv",
    ".parquet": "parquet", ".pq": "parquet", ".arrow": "arrow",
    **dict.fromkeys(SUFFIXES, "text"),
}  # fmt: skip
_SIGNS: Mapping[bytes, Format] = {b"PAR1": "parquet", b"ARROW1": "arrow", b"{": "jsonl"}


def open_sources(*sources: str | Path, format: Format | None = None) -> Iterator[tuple[str, Iterator[Located]]]:  # noqa: A002
    """Each file behind the sources, with its documents and their lines.

    A source is a file, a folder of text and Markdown files, a glob, or `-` for JSON lines on standard input. Raises
    InputError for a source that is not there or holds no documents, ConfigError for a format there is not.
    """
    if format is not None and format not in READERS:
        raise ConfigError(f"there is no format {format!r} of documents; there are {', '.join(READERS)}")
    if not sources:
        raise InputError("no documents given; name a file, a folder, a glob, or - for standard input")
    for source in sources:
        if str(source) == "-":
            yield from _spooled(sys.stdin.buffer, "standard input", format)
            continue
        for path in _paths(str(source)):
            if path.is_dir():
                yield from ((str(file), documents) for file, documents in read_folder(path))
            elif path.is_file():
                yield str(path), _not_empty(READERS[format or guess_format(path)](path), path)
            else:  # a pipe can be read only once, a guess would use it up
                with open_bytes(path) as pipe:
                    yield from _spooled(pipe, str(path), format)


def guess_format(path: Path) -> Format:
    """The format of a file after its name, or else its first bytes. Raises InputError when neither tells."""
    name = path.with_suffix("") if path.suffix.lower() == ".gz" else path
    if by_name := _SUFFIXES.get(name.suffix.lower()):
        return by_name
    with open_bytes(path) as file:
        start = file.readline(1 << 16).removeprefix(b"\xef\xbb\xbf")
    for sign, by_content in _SIGNS.items():
        if start.lstrip().startswith(sign):
            return by_content
    if b"\t" in start:
        return "tsv"
    raise InputError(f"is in no format that can be recognised; give the format, one of {', '.join(READERS)}", path)


def read_filter(path: Path | str) -> list[tuple[int, int]]:
    """The pairs to leave out before scoring, from the Extreme Classification repository's `filter_labels_test.txt`.

    Each line holds the position of a document and the position of a label, from 0. Raises InputError with the line.
    """
    return [_pair(line, number, path) for number, line in open_lines(path) if line.strip()]


def _paths(source: str) -> list[Path]:
    if os.path.exists(source):  # noqa: PTH110 - Path.exists raises on names that cannot be
        return [Path(source)]
    matches = [Path(match) for match in sorted(glob.glob(source, recursive=True))]  # noqa: PTH207 - sources may be absolute
    if not matches:
        problem = "no file matches" if set("*?[") & set(source) else "no such file or folder"
        raise InputError(problem, source or '""')
    return [path for path in matches if path.is_file()] or matches


def _not_empty(documents: Iterator[Located], path: Path) -> Iterator[Located]:
    first = next(documents, None)
    if first is None:
        raise InputError("is empty, expected documents" if not path.stat().st_size else "holds no documents", path)
    yield first
    yield from documents


def _spooled(stream: IO[bytes], name: str, format: Format | None) -> Iterator[tuple[str, Iterator[Located]]]:  # noqa: A002
    """What can be read only once, put into a file; errors name the stream."""
    handle, temporary = tempfile.mkstemp(prefix="tagwright-")
    path = Path(temporary)
    try:
        with os.fdopen(handle, "wb") as file:
            shutil.copyfileobj(stream, file)
        yield name, _as_from(name, _not_empty(READERS[format or "jsonl"](path), path))
    finally:
        path.unlink(missing_ok=True)


def _as_from(name: str, documents: Iterator[Located]) -> Iterator[Located]:
    try:
        yield from documents
    except InputError as error:
        raise InputError(error.problem, name, error.line) from None


def _pair(line: str, number: int, path: Path | str) -> tuple[int, int]:
    try:
        document, label = map(int, line.split())
    except ValueError:
        raise InputError(f'is "{line[:60]}", expected the positions of a document and a label', path, number) from None
    return document, label
