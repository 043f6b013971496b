from __future__ import annotations

from pathlib import Path

import pytest
from tests.server.conftest import reviewing

from tagwright.review.events import Decision, ReviewerAction
from tagwright.server.review.listing import Listed, list_documents, order_rows
from tagwright.server.review.review import Review
from tagwright.types import Document

BEE = "http://x.org/bee"


@pytest.fixture
def review(tmp_path: Path) -> Review:
    """Of five documents the first is done, the second skipped, the third begun, the fourth begun and undone."""
    review = reviewing(tmp_path, *(Document(f"d{i}", "Hei!" if i > 2 else f"Honey bees {i}") for i in range(1, 6)))
    decisions: list[tuple[str, str, ReviewerAction, str | None]] = [
        ("d1", "Ben", "accept", BEE),
        ("d1", "Ann", "done", None),
        ("d2", "Ann", "skip", None),
        ("d3", "Eve", "reject", BEE),
        ("d4", "Eve", "accept", BEE),
        ("d4", "Eve", "undo", None),
    ]
    for minute, (document, reviewer, action, label) in enumerate(decisions):
        time = f"2026-01-02T03:{minute:02}:00.000"
        review.decisions.add_all(
            [Decision(document=document, reviewer=reviewer, action=action, label=label, time=time)]
        )
    return review


def rows(review: Review, query: str = "") -> list[Listed]:
    return list_documents(review.documents.entries(), review.decisions, query)


def test_each_document_has_its_state_its_reviewers_and_the_time_of_the_last_decision(review: Review) -> None:
    assert rows(review) == [
        (1, "d1", "Honey bees 1", "done", 1, ("Ann", "Ben"), "2026-01-02T03:01:00.000"),
        (2, "d2", "Honey bees 2", "skipped", 0, ("Ann",), "2026-01-02T03:02:00.000"),
        (3, "d3", "Hei!", "begun", 0, ("Eve",), "2026-01-02T03:03:00.000"),
        (4, "d4", "Hei!", "open", 0, (), ""),
        (5, "d5", "Hei!", "open", 0, (), ""),
    ]


@pytest.mark.parametrize(("query", "numbers"), [("hei", [3, 4, 5]), ("ann", [1, 2]), ("d3", [3]), ("wasps", [])])
def test_documents_are_chosen_by_a_part_of_title_id_or_reviewer(review: Review, query: str, numbers: list[int]) -> None:
    assert [row.number for row in rows(review, query)] == numbers


@pytest.mark.parametrize(
    ("column", "numbers"),
    [
        ("", [1, 2, 3, 4, 5]),
        ("title", [3, 4, 5, 1, 2]),
        ("-title", [2, 1, 3, 4, 5]),
        ("state", [4, 5, 3, 2, 1]),
        ("-state", [1, 2, 3, 4, 5]),
        ("-labels", [1, 2, 3, 4, 5]),
        ("reviewers", [2, 1, 3, 4, 5]),
        ("-reviewers", [3, 1, 2, 4, 5]),
        ("time", [1, 2, 3, 4, 5]),
        ("-time", [3, 2, 1, 4, 5]),
        ("weight", [1, 2, 3, 4, 5]),
    ],
)
def test_documents_are_ordered_by_a_column_those_without_a_value_last(
    review: Review, column: str, numbers: list[int]
) -> None:
    assert [row.number for row in order_rows(rows(review), column)] == numbers
