"""Read the keywords of labels from a file, as a command has written it or a person has edited it (DEPL 3.2)."""

from collections.abc import Container
from pathlib import Path

from tagwright.core.checked import show
from tagwright.readers.lines import Place, id_field, json_lines, texts_field


def read_keywords(path: Path | str, labels: Container[str]) -> dict[str, tuple[str, ...]]:
    """Read JSON lines `{"id", "keywords": [...]}`, as written or edited. labels: the known ids.

    Raises InputError with file and line.
    """
    keywords: dict[str, tuple[str, ...]] = {}
    for line, record in json_lines(path):
        place = Place(path, line)
        label = id_field(record, place)
        if label not in labels:
            raise place.error(f"no label has the id {show(label)}; give the vocabulary that the keywords are for")
        if "keywords" not in record:
            raise place.error(f"keywords is missing, expected a list of words; there are {', '.join(record)}")
        if label in keywords:
            raise place.error(f"the id {label} is on an earlier line too; join their keywords")
        keywords[label] = texts_field(record, "keywords", place)
    return keywords
