"""One language spells what another has in common with it."""

import pytest

from tagwright.translation.spelling import Spelling

PAIRS = [("biologie", "biology"), ("soziologie", "sociology"), ("psychologie", "psychology"), ("theologie", "theology"),
         ("haus", "tree")]  # fmt: skip


def test_what_was_never_seen_stays_and_is_improbable() -> None:
    assert list(Spelling(PAIRS)(["qqqq"])) == [("qqqq", 1 / 16)]
    assert list(Spelling(PAIRS)(["qqqq"], least=1 / 16)) == [("qqqq", 0)]
    assert [word for word, _ in Spelling([])(["bees"])] == ["bees"]
    assert list(Spelling(PAIRS)([])) == []


def test_a_letter_written_alike_k_of_n_times_has_probability_k_over_n_and_a_half() -> None:
    """Every letter was seen twice in its place, always as the same one."""
    [(word, probability)] = Spelling([("aaab", "aaac")] * 2)(["aaab"])
    assert word == "aaac"
    assert probability == pytest.approx((2 / 2.5) ** 4)
