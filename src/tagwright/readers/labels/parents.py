"""Find the parents that a vocabulary names: by id, by notation or by name."""

import logging
from collections.abc import Iterable, Iterator
from dataclasses import replace
from pathlib import Path

from tagwright.core.display import few
from tagwright.types import Label

_log = logging.getLogger(__name__)


def with_parents(labels: Iterable[tuple[int, Label]], path: Path | str) -> Iterator[tuple[int, Label]]:
    """The labels, each with its line, with the ids of their parents where these are given by notation or name.

    A notation or name counts if one label alone has it. Parents that are no label are kept, counted and logged.

    >>> zoo = [Label("Birds", ("Birds",), notation="59"), Label("Owls", ("Owls",), broader=("59",))]
    >>> [label.broader for _, label in with_parents(enumerate(zoo), "zoo.csv")]
    [(), ('Birds',)]
    """
    every = list(labels)
    ids = {label.id for _, label in every}
    if all(parent in ids for _, label in every for parent in label.broader):
        return iter(every)
    known = _one_of(
        (name, label.id) for _, label in every for name in (*label.names[:1], *(text for _, text in label.languages))
    )
    known |= _one_of((label.notation, label.id) for _, label in every if label.notation)
    missing, count, resolved = list[str](), 0, list[tuple[int, Label]]()
    for line, label in every:
        others = ((parent, known.get(parent, "")) for parent in label.broader)
        named = [parent if parent in ids else other if other != label.id else "" for parent, other in others]
        missing += [parent for parent, name in zip(label.broader, named, strict=True) if not name]
        count += len(named)
        broader = tuple(name or parent for parent, name in zip(label.broader, named, strict=True))
        resolved.append((line, label if broader == label.broader else replace(label, broader=broader)))
    if missing:
        _log.warning("%s: %d of %d parents are no label: %s", path, len(missing), count, few([*dict.fromkeys(missing)]))
    return iter(resolved)


def _one_of(named: Iterable[tuple[str, str]]) -> dict[str, str]:
    """Text -> id, without the texts of several labels."""
    found = dict[str, str]()
    for text, label_id in named:
        found[text] = label_id if found.get(text, label_id) == label_id else ""
    return found
