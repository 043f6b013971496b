"""Keywords of labels (DEPL 3.2)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, TypeAlias

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
