import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tagwright.training.segments import Segmentation, segments

BOUNDS = st.tuples(st.integers(1, 12), st.integers(0, 12)).map(lambda drawn: (drawn[0], drawn[0] + drawn[1]))
SEEDS = st.integers(0, 2**32 - 1)


def numbered(words: int) -> str:
    return " ".join(map(str, range(words)))


@given(st.text(alphabet="aB.,é \n\t", max_size=200), BOUNDS, st.sampled_from(["random", "fixed"]), SEEDS)
def test_segments_one_after_the_other_are_the_words_as_they_were(
    text: str, bounds: tuple[int, int], kind: Segmentation, seed: int
) -> None:
    pieces = segments(text, kind, *bounds, np.random.default_rng(seed))

    assert " ".join(pieces).split() == text.split()
    assert all(pieces)


@given(st.integers(1, 100), BOUNDS, st.sampled_from(["random", "fixed"]), SEEDS)
def test_only_the_last_segment_may_leave_the_bounds_and_only_by_half_the_minimum(
    words: int, bounds: tuple[int, int], kind: Segmentation, seed: int
) -> None:
    shortest, longest = bounds

    *inner, last = map(len, map(str.split, segments(numbered(words), kind, *bounds, np.random.default_rng(seed))))

    assert all(shortest <= length <= longest for length in inner)
    assert last >= shortest / 2 or not inner
    assert last < longest + shortest / 2


def test_both_bounds_are_drawn_and_all_between_about_equally_often() -> None:
    rng = np.random.default_rng(0)

    first = [len(segments(numbered(100), "random", 40, 43, rng)[0].split()) for _ in range(4000)]

    lengths, counts = np.unique(first, return_counts=True)
    assert lengths.tolist() == [40, 41, 42, 43]
    assert counts.min() > 850  # a quarter of 4,000, less five standard deviations


@pytest.mark.parametrize(
    ("words", "lengths"), [(139, [60, 79]), (140, [60, 60, 20]), (60, [60]), (61, [61]), (40, [40]), (3, [3])]
)
def test_last_segment_shorter_than_half_the_minimum_is_merged(words: int, lengths: list[int]) -> None:
    pieces = segments(numbered(words), "fixed", 40, 80, np.random.default_rng(0))

    assert [len(piece.split()) for piece in pieces] == lengths


def test_natural_segments_are_sentences_of_any_length() -> None:
    text = "Bees fly. They do so by day, and seldom in rain.\nWhy?"

    pieces = segments(text, "natural", 40, 80, np.random.default_rng(0))

    assert pieces == ["Bees fly.", "They do so by day, and seldom in rain.", "Why?"]


def test_text_of_blanks_has_no_segments() -> None:
    assert segments(" \n\t ", "random", 40, 80, np.random.default_rng(0)) == []
    assert segments(" \n\t ", "natural", 40, 80, np.random.default_rng(0)) == []
