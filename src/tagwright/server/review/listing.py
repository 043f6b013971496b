"""List the documents of a review for the overview: their state, their reviewers, the time of the last decision."""

from collections.abc import Iterable
from typing import Any, Literal, NamedTuple, TypeAlias, get_args

from tagwright.review.decisions import Decisions
from tagwright.review.documents import Entry
from tagwright.review.events import Decision, DocumentState, person_of

State: TypeAlias = Literal["open", "begun", "skipped", "done"]
"Done by a reviewer; or else skipped by one; or else begun: with any decision."

TITLE = 500
"Characters of a title in the list: a whole text may stand there."


class Listed(NamedTuple):
    """A document in the list. labels: number of right ones so far. time: of the last decision, UTC; "" for none."""

    number: int
    id: str
    title: str
    state: State
    labels: int
    reviewers: tuple[str, ...]
    time: str


def list_documents(entries: Iterable[Entry], decisions: Decisions, query: str = "") -> list[Listed]:
    """Return documents in order. query: a part of the title, the id or a reviewer's name."""
    states, events = decisions.states(), dict[str, list[Decision]]()
    for event in decisions.current():
        events.setdefault(event.document, []).append(event)
    rows = (_list_entry(entry, states.get(entry.id), events.get(entry.id, [])) for entry in entries)
    part, person = query.casefold(), person_of(query)

    def fits(row: Listed) -> bool:
        is_theirs = bool(person) and any(person in person_of(name) for name in row.reviewers)
        return is_theirs or part in row.title.casefold() or part in row.id.casefold()

    return [row._replace(title=row.title[:TITLE]) for row in rows if fits(row)]


def order_rows(rows: Iterable[Listed], column: str) -> list[Listed]:
    """Return documents in the order of a column: the name of a field, after "-" if descending; "" for the given one.

    Those without a title stand where their id belongs; those without reviewers or time come last in either order.
    """
    name, states = column.removeprefix("-"), get_args(State)
    if name not in Listed._fields:
        return list(rows)

    def value(row: Listed) -> Any:
        if name == "title":
            return (row.title or row.id).casefold()
        return states.index(row.state) if name == "state" else getattr(row, name)

    ordered = sorted(rows, key=value, reverse=column != name)
    return sorted(ordered, key=lambda row: value(row) in ((), ""))


def _list_entry(entry: Entry, state: DocumentState | None, events: list[Decision]) -> Listed:
    is_done, is_skipped = (state.done_by, state.skipped_by) if state else ((), ())
    return Listed(
        *entry,
        state="done" if is_done else "skipped" if is_skipped else "begun" if events else "open",
        labels=len(state.labels) if state else 0,
        reviewers=tuple(sorted({event.reviewer for event in events})),
        time=max((event.time for event in events), default=""),
    )
