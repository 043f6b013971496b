"""Keywords of labels, in an editable file (DEPL 3.2)."""

from __future__ import annotations

from collections.abc import Container, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, TypeAlias

from tagwright.core.checked import show
from tagwright.readers.lines import Place, id_field, json_lines, texts_field, write_json_lines
from tagwright.types import Label

Keywords: TypeAlias = Mapping[str, Sequence[str]]
"Label id -> its keywords, the most important first. A label without words may be missing."


def keyword_records(labels: Iterable[Label], keywords: Keywords) -> Iterable[dict[str, Any]]:
    """The records of a keyword file: for each label with keywords, its id, its name (for readers) and the keywords."""
    return (
        {"id": label.id, "name": label.name, "keywords": list(keywords[label.id])}
        for label in labels
        if keywords.get(label.id)
    )


def write_keywords(labels: Iterable[Label], keywords: Keywords, path: Path | str) -> None:
    """Write JSON lines. Raises TagwrightError when the file cannot be written."""
    write_json_lines(keyword_records(labels, keywords), path)


def read_keywords(path: Path | str, labels: Container[str] | None = None) -> dict[str, tuple[str, ...]]:
    """Read JSON lines `{"id", "keywords": [...]}`, as written or edited. labels: the known ids.

    Raises InputError with file and line.
    """
    keywords: dict[str, tuple[str, ...]] = {}
    for line, record in json_lines(path):
        place = Place(path, line)
        label = id_field(record, place)
        if labels is not None and label not in labels:
            raise place.error(f"no label has the id {show(label)}; give the vocabulary that the keywords are for")
        if "keywords" not in record:
            raise place.error(f"keywords is missing, expected a list of words; there are {', '.join(record)}")
        if label in keywords:
            raise place.error(f"the id {label} is on an earlier line too; join their keywords")
        keywords[label] = texts_field(record, "keywords", place)
    return keywords
