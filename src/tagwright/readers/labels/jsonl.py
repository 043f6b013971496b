"""Labels as JSON lines: each read with its line."""

from __future__ import annotations

import logging
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, TypeVar

from tagwright.core.checked import show
from tagwright.core.display import plural
from tagwright.data.records import LISTS
from tagwright.readers.documents.records import POSITION
from tagwright.readers.headers import LABEL, recognise_columns
from tagwright.readers.labels.languages import by_language
from tagwright.readers.limits import PLAIN, Reading
from tagwright.readers.lines import Place, id_field, ids_field, json_lines, json_objects, text_field, texts_field
from tagwright.types import Label

REPLACED_BY = "replaced_by"
"Of a concept that is out of use: the ids of those in its place."

_LISTED = frozenset({"names", "broader", "translated", *LISTS, REPLACED_BY})
_FIELDS = _LISTED | {"id", "name", "description", "notation", "languages", "descriptions"}
"The keys of a label."

T = TypeVar("T")
_log = logging.getLogger(__name__)

_DOCUMENT_FIELDS = frozenset({"title", "abstract", "text", "sections", "suggestions"})


def read_records(path: Path | str, reading: Reading = PLAIN) -> Iterator[tuple[int, Label]]:
    """The labels as they are in the file, each with its line, without names where these are given by language only.

    Concepts with `replaced_by` are out of use: they are left out, and the labels in their place say so.

    Keys may have the names of `readers.headers`; those of no use are counted and logged. Raises InputError with the
    line.
    """
    other, out_of_use = Counter[str](), dict[str, Sequence[str]]()
    labels = list[tuple[int, Label]]()
    is_json = Path(str(path).removesuffix(".gz")).suffix == ".json"
    for position, (line, record) in enumerate(
        json_objects(path, reading) if is_json else json_lines(path, reading=reading)
    ):
        place = Place(path, line)
        if "id" not in record and "uid" in record:
            names = {"uid": "id", "title": "name", "content": "description"}
            record = {names.get(key, key): value for key, value in record.items()}
            record["notation"] = f"{POSITION}{position}"  # by which documents refer to it
        elif "id" not in record and "combined_text" in record:  # of MICoL and FuTex
            record = {"id": record.get("label"), "names": record.get("name"), "description": record.get("definition")}
        else:
            record = _rename_keys(record)
        other.update(record.keys() - _FIELDS)
        if new := ids_field(record, REPLACED_BY, place) if REPLACED_BY in record else ():
            out_of_use[id_field(record, place)] = new
        else:
            labels.append((line, _label(record, place)))
    if other:
        _log.warning("%s: keys left out: %s", path, ", ".join(f"{key} ({other[key]:,})" for key in sorted(other)))
    return in_place_of(labels, out_of_use, path)


def in_place_of(
    labels: Sequence[tuple[int, Label]], out_of_use: Mapping[str, Sequence[str]], path: Path | str
) -> Iterator[tuple[int, Label]]:
    """The labels, each with its line, with the concepts out of use that they replace; the log counts these.

    out_of_use: id -> ids of the concepts in its place, which may be out of use as well.

    >>> (_, owls), = in_place_of([(1, Label("3", ("Owls",), replaces=("0",)))], {"1": ["2"], "2": ["3"]}, "zoo.jsonl")
    >>> owls.replaces
    ('0', '1', '2')
    """
    if out_of_use:
        first = next(iter(out_of_use))
        _log.warning("%s: %s out of use left out (first: %s)", path, plural(len(out_of_use), "concept"), show(first))
    replaced = replaced_ids(out_of_use)
    for line, label in labels:
        old = dict.fromkeys((*label.replaces, *replaced.get(label.id, ())))
        yield line, replace(label, replaces=tuple(old)) if replaced else label


def replaced_ids(out_of_use: Mapping[str, Iterable[str]]) -> dict[str, list[str]]:
    """Id -> the concepts out of use in whose place it is, directly or by way of others. out_of_use: id -> new ids."""
    found = defaultdict[str, list[str]](list)
    for old in out_of_use:
        for new in follow_steps(old, out_of_use) - {old}:
            found[new].append(old)
    return found


def follow_steps(start: T, steps: Mapping[T, Iterable[T]]) -> set[T]:
    """Return everything that the steps lead to from the start, directly or by way of others."""
    reached, open_ = set[T](), [start]
    while open_:
        new = set(steps.get(open_.pop(), ())) - reached
        reached |= new
        open_ += new
    return reached


def _rename_keys(record: dict[str, Any]) -> dict[str, Any]:
    """The record with keys of our own in place of usual other names. Documents stay as they are, to be refused."""
    own, other = record.keys() & _FIELDS, [key for key in record if key not in _FIELDS]
    is_named = bool(own & {"name", "names", "languages"})
    if not other or not (is_named or _DOCUMENT_FIELDS.isdisjoint(record)):
        return record
    words = {part: usual for part, usual in LABEL.items() if part not in own and not (part == "name" and is_named)}
    parts = {key: part for part, key in recognise_columns(other, words).items()}
    renamed = {parts.get(key, key): value for key, value in record.items()}
    for part in _LISTED.intersection(parts.values()):
        value = renamed[part]
        renamed[part] = [value] if isinstance(value, str) and value else value or []
    return renamed


def _label(record: Mapping[str, Any], place: Place) -> Label:
    label_id = id_field(record, place)
    languages, names = _read_by_language(record, "names", place), tuple[str, ...]()
    if not languages:
        texts = [text_field(record, "name", place), *texts_field(record, "names", place)]
        names = tuple(dict.fromkeys(filter(None, texts)))
        languages = _read_by_language(record, "languages", place)
    if not names and not languages and not _DOCUMENT_FIELDS.isdisjoint(record):
        raise place.error("holds documents, expected labels; give a vocabulary here")
    if not names and not languages:
        raise place.error(f'label {show(label_id)} has no name; write "names": ["..."]')
    descriptions = _read_by_language(record, "descriptions", place)
    first = "".join(text for _, text in descriptions[:1])
    return Label(
        label_id,
        names,
        text_field(record, "description", place) if "description" in record else first,
        ids_field(record, "broader", place),
        languages,
        texts_field(record, "translated", place),
        text_field(record, "notation", place),
        descriptions=descriptions,
        **{field: ids_field(record, field, place) for field in LISTS if field in record},
    )


def _read_by_language(record: Mapping[str, Any], key: str, place: Place) -> tuple[tuple[str, str], ...]:
    """Texts by the code of their language, in lower case; empty where the field is missing or no mapping.

    Of descriptions the language need not be known: the code is empty then.
    """
    value = record.get(key)
    if not isinstance(value, dict):
        return ()
    for code in value:
        is_code = code.isascii() and code.replace("-", "").isalnum()
        if not is_code and (code or key != "descriptions"):
            raise place.error(f'{key} has the language {show(code)}, expected a code, as in {{"en": ["Bees"]}}')
    return by_language((code.lower(), text) for code in value for text in texts_field(value, code, place))
