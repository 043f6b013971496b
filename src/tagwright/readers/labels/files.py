"""Read a vocabulary from a file or from memory, and write it: the format is that of the name."""

from __future__ import annotations

import json
import logging
import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import fields
from pathlib import Path
from typing import Any

from tagwright.core.cache import file_key, user_cache
from tagwright.core.checked import find_nearest, is_missing, show
from tagwright.core.display import list_first, plural
from tagwright.core.extras import require
from tagwright.data.records import label_record
from tagwright.data.texts import Columns
from tagwright.data.vocabulary import Format, Labels, Vocabulary, first_duplicate
from tagwright.errors import ConfigError, InputError
from tagwright.readers.documents import in_memory
from tagwright.readers.documents.tags import label_without_tags
from tagwright.readers.labels.jsonl import read_records
from tagwright.readers.labels.languages import chosen_names, say_chosen
from tagwright.readers.labels.tables import read_label_rows, read_label_table, to_table, with_parents
from tagwright.readers.labels.term_lists import is_published, read_names, read_published
from tagwright.readers.limits import Reading
from tagwright.readers.lines import (
    NOT_READ,
    WORKBOOKS,
    in_encoding,
    open_bytes,
    replace_bytes,
    table_lines,
    write_lines,
)
from tagwright.readers.workbooks import write_workbook
from tagwright.text.language import ALL, AUTO, check
from tagwright.text.language import likely as likely_languages
from tagwright.text.words import clean
from tagwright.types import Document, Label

_log = logging.getLogger(__name__)

PARSER = 9
"Increased whenever the same file gives different labels than before."

_SUFFIXES: Mapping[str, Format] = {
    ".jsonl": "jsonl", ".json": "jsonl", ".ndjson": "jsonl",
    ".tsv": "tsv", ".txt": "tsv", ".csv": "csv", ".xlsx": "xlsx", ".xlsm": "xlsx",
    ".ttl": "turtle", ".rdf": "rdfxml", ".xml": "rdfxml", ".owl": "rdfxml", ".nt": "ntriples",
}  # fmt: skip


def read_labels(
    path: Path | str,
    *,
    language: str | None = None,
    likely: Callable[[], str] = str,
    input_format: Format | None = None,
    encoding: str = "",
) -> Vocabulary:
    """The labels of a file, as `Vocabulary.read` says.

    likely: gives the languages to prefer when none is given, such as those of the documents.
    """
    if not os.path.exists(path):  # noqa: PTH110 - Path.exists raises on names that cannot be
        beside = [other.name for other in Path(path).parent.glob("*") if other.is_file()]
        near = find_nearest(Path(path).name, beside, 0.75)
        raise InputError(f"no such file; did you mean {near}?" if near else "no such file", path)
    located = _read_located(Path(path), language, likely, _format(Path(path), input_format), encoding)
    labels = [label_without_tags(label) for _, label in located]
    if not labels:
        raise InputError("holds no labels, expected at least one", path)
    try:
        vocabulary = Vocabulary(labels)
    except InputError:
        first, second = first_duplicate(labels)
        line = located[second][0]
        if first == second or not line:
            raise
        taken = f"the id {show(labels[second].id)} is taken by line {located[first][0]}"
        raise InputError(taken, path, line) from None
    say_chosen(labels, vocabulary.frequent_languages, path, language)
    return vocabulary


def write_labels(vocabulary: Vocabulary, path: Path | str) -> None:
    """Write a file, as `Vocabulary.write` says."""
    if (file_format := _format(Path(path), None)) == "xlsx":
        with replace_bytes(path) as stream:
            write_workbook(to_table(vocabulary), stream, "labels")
    else:
        write_lines(label_lines(vocabulary, file_format), path)


def label_lines(vocabulary: Vocabulary, file_format: Format = "jsonl") -> Iterator[str]:
    """The lines of the file that `write_labels` writes. Raises ConfigError for a format that cannot be written."""
    if file_format == "jsonl":
        return (json.dumps(label_record(label), ensure_ascii=False) for label in vocabulary)
    if file_format == "csv" or file_format == "tsv":
        return table_lines(to_table(vocabulary, one_line=file_format == "tsv"), file_format)
    if file_format == "names" or file_format == "xlsx":
        raise ConfigError(
            f"labels cannot be written as lines of the format {file_format}; write jsonl, csv, tsv, turtle"
        )
    require("writing SKOS", "rdflib")
    from tagwright.readers.labels import skos

    if changed := [label_id for label_id in vocabulary.ids if not skos.is_uri(label_id)]:
        _log.warning(
            "%s of %d are no URIs, so others are written (first: %s)", plural(len(changed), "id"), len(vocabulary),
            show(changed[0]),
        )  # fmt: skip
    return skos.lines(vocabulary, file_format)


def to_vocabulary(
    labels: Labels, language: str = "", documents: Sequence[Document] = (), columns: Columns | None = None
) -> Vocabulary:
    """A vocabulary of the labels, as `Vocabulary.of` says. Raises InputError, ConfigError for an unknown format.

    language: of the names that are taken from a file; by default those of the documents, if the file has them; without
    documents, names in all languages are searched. columns: of a table or of records, field -> column.

    >>> to_vocabulary({"1": "Bees", "2": ["Wasps", "Vespidae"]})[1].names
    ('Wasps', 'Vespidae')
    """
    is_named = language not in ("", AUTO)
    wanted = language if is_named else None if documents else ALL

    def guess() -> str:
        return "" if is_named else likely_languages(documents)

    listed: Iterable[Any] = ()
    if in_memory.has_columns(labels) or not isinstance(labels, Vocabulary | str | Path | Mapping):
        expected = "names, Labels, a Vocabulary or the name of a file"
        records, listed = in_memory.records_in(labels, "labels", "labels are", expected)
        if records is not None:
            rows = with_parents(read_label_rows(records, columns or {}), "labels")
            rows = chosen_names(rows, wanted, guess, "labels")
            return Vocabulary(label_without_tags(label) for _, label in rows)
    if columns:
        raise ConfigError(f"columns are given ({', '.join(columns)}), but the labels are no table and no records")
    if isinstance(labels, Vocabulary):
        return labels
    if isinstance(labels, str | Path):
        return read_labels(labels, language=wanted, likely=guess)
    return Vocabulary(_from_mapping(labels) if isinstance(labels, Mapping) else listed)


def _from_mapping(labels: Mapping[Any, Any]) -> Iterator[Label]:
    """Labels of ids with names, or of names with descriptions; those with null or NaN for names are left out."""
    if blank := [str(key) for key, value in labels.items() if is_missing(value)]:
        _log.warning("labels: %s without a name left out: %s", plural(len(blank), "id"), list_first(blank))
        labels = {key: value for key, value in labels.items() if not is_missing(value)}
    texts = [value for value in labels.values() if isinstance(value, str)]
    words = sum(len(text.split()) for text in texts)
    coded = any(character.isdigit() for key in labels for character in str(key))
    if len(texts) == len(labels) and not coded and words >= 6 * len(labels):
        return (Label(clean(name), (clean(name),), clean(description)) for name, description in labels.items())
    listed = ((id_, [names] if isinstance(names, str) else names) for id_, names in labels.items())
    return (Label(str(id_), tuple(clean(name) for name in names if not is_missing(name))) for id_, names in listed)


def _format(path: Path, wanted: Format | None) -> Format:
    formats = dict.fromkeys([*_SUFFIXES.values(), "names"])
    if wanted is not None and wanted not in formats:
        raise ConfigError(f"no vocabulary format {show(wanted)}; there are {', '.join(formats)}")
    if path.is_dir():
        raise InputError("is a folder, expected a file of labels", path)
    suffix = Path(path.name.removesuffix(".gz")).suffix.lower()
    if wanted is None and suffix in WORKBOOKS:
        raise InputError(NOT_READ, path)
    if wanted is None and suffix not in _SUFFIXES:
        problem = f"the name ends in {show(suffix)}, expected one of {', '.join(_SUFFIXES)}"
        remedy = "rename it, or in Python give input_format=" + ", ".join(formats)
        raise ConfigError(f"{path}: {problem}; {remedy}")
    return wanted or ("names" if is_published(path) else _SUFFIXES[suffix])


def _read_located(
    path: Path, language: str | None, likely: Callable[[], str], file_format: Format, encoding: str
) -> list[tuple[int, Label]]:
    """The labels of a file, each with its line, 0 where there are no lines."""
    check(language or AUTO if language != ALL else AUTO)
    if file_format in ("turtle", "rdfxml", "ntriples"):
        guess = likely()

        def parse() -> tuple[list[Label], str]:
            require("reading SKOS", "rdflib", path=path)
            from tagwright.readers.labels import skos

            return skos.read_labels(path, language, file_format, guess)

        return [(0, label) for label in _read_through_cache(path, ("skos", file_format, language, guess), parse)]

    def read(reading: Reading) -> list[tuple[int, Label]]:
        labels: Iterable[tuple[int, Label]]
        available: Sequence[str] = ()
        if file_format == "names":
            labels = (read_published if is_published(path) else read_names)(path, reading)
        elif file_format == "jsonl":
            labels = read_records(path, reading)
        else:
            labels, available = read_label_table(path, file_format, reading)
        return list(chosen_names(with_parents(labels, path), language, likely, path, available))

    return in_encoding(path, encoding, read)


def _read_through_cache(
    path: Path, options: Iterable[object], parse: Callable[[], tuple[list[Label], str]]
) -> list[Label]:
    """The labels that `parse` reads from this file with these options, from the cache if it has them.

    What `parse` says beside them is logged. Raises InputError when the file cannot be read, and what `parse` raises.
    """
    cache, kind = user_cache(), "vocabularies"
    with open_bytes(path) as file:
        key = file_key(file, (PARSER, *options))
    if content := cache.get(kind, [key]).get(key):
        said, *lines = content.splitlines()
        labels, left_out = [Label(*map(_tuples, json.loads(line))) for line in lines], json.loads(said)
    else:
        labels, left_out = parse()
        rows = [left_out, *([getattr(label, field.name) for field in fields(Label)] for label in labels)]
        cache.put(kind, {key: b"".join(json.dumps(row).encode() + b"\n" for row in rows)})
    if left_out:
        _log.warning("%s: %s", path, left_out)
    return labels


def _tuples(value: Any) -> Any:
    """The lists of JSON as tuples, those within others too."""
    return tuple(map(_tuples, value)) if isinstance(value, list) else value
