"""What pages presuppose and do not show: files, saved taggers, decisions of reviewers.

A comment `<!-- prepare: NAME -->` of a page runs the function of that name here, in the folder of the page.
"""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

import tagwright as tw
from tagwright.review.decisions import Decisions
from tagwright.review.events import Action, Decision
from tagwright.review.file import ReviewFile


def small_tagger() -> None:
    """A saved tagger of four labels, found by their names."""
    _saved(["Bees", "Wild bees", "Orchards", "Tax law"], "my-tagger")


def review() -> None:
    """A tagger and a folder of two documents to review."""
    Path("labels.csv").write_text("id,name\nbees,Bees\norchards,Orchards\ntax,Tax law\n", encoding="utf-8")
    _saved("labels.csv", "my-tagger")
    Path("papers").mkdir()
    for name, text in (("orchard", "Bees visit orchards."), ("council", "A new tax law.")):
        Path(f"papers/{name}.txt").write_text(text, encoding="utf-8")


def reviewed() -> None:
    """Both documents of `review` are reviewed."""
    named = (("council.txt", "tax"), ("orchard.txt", "bees"), ("orchard.txt", "orchards"))
    _decide(_decision(document, "accept", label) for document, label in named)


def decided() -> None:
    """A review with one decision."""
    _decide([_decision("1", "accept", "bee")])


def catalogue_reviewed() -> None:
    """Ten records of catalogue.mrc are judged by suggestions, four more are reviewed blind."""
    for row in range(10):
        judged = _decision(f"n{row}", "reject" if row % 2 else "accept", _gnd(row + 1))
        _decide([_decision(f"n{row}", "accept", _gnd(row)), judged])
    _decide([_decision("n0", "accept", _gnd(4), rank=None)])
    for row in range(10, 14):
        blind = (_decision(f"n{row}", action) for action in ("blind", "done"))
        _decide([_decision(f"n{row}", "accept", _gnd(row), rank=None), *blind])


def catalogue_rejected() -> None:
    """A subject that was accepted is rejected."""
    _decide([_decision("n0", "reject", _gnd(1))])


def _gnd(number: int) -> str:
    return f"http://d-nb.info/gnd/400000{number % 5}-1"


def _saved(labels: str | list[str], folder: str) -> None:
    tw.zero_shot(labels, stages=["exact_match"], language="en").save(folder)


def _decision(document: str, action: Action, label: str | None = None, *, rank: int | None = 1) -> Decision:
    """rank: where the label was suggested; None: found by search."""
    return Decision(document=document, reviewer="Ann", action=action, label=label, rank=rank if label else None)


def _decide(decisions: Iterable[Decision]) -> None:
    file = ReviewFile("reviews.sqlite")
    stored = Decisions(file)
    for decision in decisions:
        stored.add_all([decision])
    file.close()
