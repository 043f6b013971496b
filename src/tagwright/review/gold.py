"""Merge reviewers' decisions into gold labels, for `train auto --reviews`."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path

from tagwright.data.vocabulary import Vocabulary
from tagwright.errors import InputError
from tagwright.types import Run


@dataclass(frozen=True, slots=True)
class Reviewed:
    """Both with a row for each document. gold: its labels.

    judged: labels of which it is known whether they are right, see `Decisions.judged`; empty where all are.
    """

    gold: Run
    judged: Run


def with_reviews(gold: Run, ids: Sequence[str], labels: Vocabulary, file: Path) -> Reviewed:
    """Gold labels with the decisions of a file of `tagwright serve` put in.

    gold: a row for each document, given by their ids. An accepted label is added, a rejected one taken away, and so is
    one that reviewers disagree about; what was never shown to a reviewer is unknown. Decisions on other documents and
    labels do not matter. Raises InputError for a file without any on these documents.
    """
    from tagwright.review.decisions import Decisions
    from tagwright.review.file import ReviewFile

    if not file.is_file():
        raise InputError("there is no such file of decisions", file)
    with closing(ReviewFile.to_read(file)) as opened:
        decisions = Decisions(opened)
        verdicts, examples = decisions.verdicts(), decisions.judged()
    rows = {id_: row for row, id_ in enumerate(ids)}
    known = [set(found.tolist()) for found, _ in gold]
    judged = [{labels.index[id_] for id_ in examples.get(document, ()) if id_ in labels.index} for document in ids]
    found = False
    for (document, label), given in verdicts.items():
        row, place = rows.get(document), labels.index.get(label)
        if row is None or place is None or document not in examples:
            continue
        found = True
        if set(given.values()) == {"accept"}:
            known[row].add(place)
        else:
            known[row].discard(place)
    if not found and not any(judged):
        raise InputError("has no decision on any of these documents and labels", file)
    return Reviewed(Run.from_rows(known), Run.from_rows(judged))
