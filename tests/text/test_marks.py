from __future__ import annotations

from tagwright.text.words import clean


def test_more_marks_on_a_letter_than_any_has_are_separated_and_dashes_are_not() -> None:
    """Marks are put in order within runs of 30: the time does not grow with the square of their number."""
    assert (
        clean("a" + "\u0301\u0327" * 20) == "á" + "\u0327" * 15 + "\u0301" * 14 + "\u034f" + "\u0327" * 5 + "\u0301" * 5
    )
    assert len(clean("a" + "\u0301\u0327" * 200_000)) > 400_000
    assert clean("e\u0301 " + "—" * 100) == "é " + "—" * 100
