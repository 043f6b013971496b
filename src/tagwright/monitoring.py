"""Notice when a tagger is less sure of new documents than of earlier ones, from what it suggested for them.

The last documents are compared with the first ones of the same version by Fisher's exact test, so the probabilities
hold for documents of any distribution, as long as their order says nothing.
"""

import json
import logging
from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, NamedTuple, TypeAlias

from tagwright.combining.confidence import LIKELY
from tagwright.core.atomic import append_at_once, report_write_errors
from tagwright.errors import InputError
from tagwright.tagger import Suggestions

FIRST, WINDOW = 500, 200
"Documents to compare with, and the last ones, which are compared."

STEP = 20
"New documents between two comparisons."

STREAM, FALSE_ALARMS, SIGNALS = 5_000, 0.05, 2
"Among so many documents in any order there is a false alarm of any signal with this probability at most."

LEVEL = FALSE_ALARMS * STEP / (STREAM * SIGNALS)
"Probability below which a change is an alarm: by Bonferroni, over all comparisons and signals."

_log = logging.getLogger(__name__)


Doubt: TypeAlias = tuple[bool | None, bool | None]
"Whether no label of a document is likely, and whether none fits; None where the tagger does not say."


class Change(NamedTuple):
    """A share of the first and of the last documents, and how probable so large a change is."""

    before: float
    value: float
    p: float

    @property
    def is_alarm(self) -> bool:
        """Whether this would hardly happen by chance."""
        return self.p < LEVEL


def log_suggestions(path: Path, version: str, suggested: Iterable[Suggestions]) -> None:
    """Append a line for each document to a log: labels and confidences, no text. Raises TagwrightError."""
    head = {"time": datetime.now(UTC).isoformat(timespec="seconds"), "version": version}
    records = (
        {**head, "suggestions": [{"label": each.id, "confidence": each.confidence} for each in row], "none": row.none}
        for row in suggested
    )
    lines = "".join(json.dumps(record, ensure_ascii=False) + "\n" for record in records)
    with report_write_errors(path), path.open("ab", buffering=0) as file:
        append_at_once(file, lines.encode(errors="replace"))


def read_doubts(paths: Iterable[Path]) -> dict[str, list[Doubt]]:
    """The documents of logs and run files in their order, by version. Raises InputError.

    Other lines, such as those of killed processes, are left out, with a warning.
    """
    found, others = dict[str, list[Doubt]](), 0
    for path in paths:
        with path.open(encoding="utf-8", errors="replace") as file:
            for line in filter(str.strip, file):
                try:
                    record = json.loads(line)
                    doubt = _doubt(record)
                    found.setdefault(record.get("version", ""), []).append(doubt)
                except (ValueError, TypeError, KeyError, AttributeError):
                    others += 1
        if not found:
            raise InputError("holds no suggestions; expected a log of suggestions or a run file", path)
    if others:
        _log.warning("%d lines hold no suggestions, and are left out", others)
    return found


def _doubt(record: Mapping[str, Any]) -> Doubt:
    suggestions, none = record["suggestions"], record.get("none")
    sure = [each["confidence"] for each in suggestions if each.get("confidence") is not None]
    unsure = None if suggestions and not sure else max(sure, default=0.0) < LIKELY
    return unsure, None if none is None else none > LIKELY


def changes(documents: Sequence[Doubt]) -> dict[str, Change]:
    """The change of each share that the tagger says, by its name; none for too few documents."""
    end = len(documents) // STEP * STEP
    if end < FIRST + WINDOW:
        return {}
    found = dict[str, Change]()
    for place, name in enumerate(("unsure", "none")):
        before, now = ([each[place] for each in rows] for rows in (documents[:FIRST], documents[end - WINDOW : end]))
        if None not in (*before, *now):
            p = probability(now.count(True), WINDOW, before.count(True), FIRST)
            found[name] = Change(before.count(True) / FIRST, now.count(True) / WINDOW, p)
    return found


def probability(now: int, documents: int, before: int, others: int) -> float:
    """How probable it is that the shares `now / documents` and `before / others` differ so: Fisher's exact test.

    Of 4 and 4 documents, all and none: one of the 70 ways to draw 4 of 8, or two with the opposite.

    >>> round(70 * probability(4, 4, 0, 4), 6)
    2.0
    """
    from scipy.stats import hypergeom

    drawn = hypergeom(documents + others, now + before, documents)
    return min(1.0, 2 * float(min(drawn.sf(now - 1), drawn.cdf(now))))
