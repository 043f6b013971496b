from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tagwright.server.label_search import FEWEST_FOR_PARTS, LabelSearch, folded
from tagwright.types import Label

LABELS = [
    Label("b1", ("Honey bees", "Apis mellifera")),
    Label("b2", ("Bees",)),
    Label("t1", ("Tax law",)),
    Label("t2", ("Law of taxation", "Tax law")),
    Label("c", ("Crème brûlée",)),
    Label("q", ('The "quoted" (name)',)),
]


@pytest.fixture(scope="module")
def search() -> LabelSearch:
    return LabelSearch(LABELS)


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ("bees", [1, 0]),  # the whole name, then a word of a name
        ("BEE", [1, 0]),  # the beginning of a name before that of a later word
        ("tax", [2, 3]),  # a preferred name before another label's alternative name
        ("law tax", [2, 3]),  # words in any order, begun
        ("creme BRULEE", [4]),  # without case and accents
        ("rulé", [4]),  # inside a word
        ("b1", [0]),  # an id
        ("melli", [0]),  # an alternative name
        ('"quoted" (na', [5]),  # signs that mean something to the index
        ("bees AND NOT", []),
        ("", []),
        ("*", []),
    ],
)
def test_finds_labels_by_what_was_typed(search: LabelSearch, query: str, expected: list[int]) -> None:
    assert search(query) == expected


def test_no_more_than_k_and_no_label_twice() -> None:
    search = LabelSearch([Label(str(i), tuple(f"Bee {i} {j}" for j in range(20))) for i in range(5)])
    assert search("bee", k=3) == [0, 1, 2]
    assert sorted(search("bee", k=9)) == [0, 1, 2, 3, 4]


def test_an_index_on_disk_replaces_an_older_one(tmp_path: Path) -> None:
    LabelSearch([Label("1", ("Ants",))], tmp_path / "labels.sqlite").close()
    search = LabelSearch(LABELS, tmp_path / "labels.sqlite")
    assert (search("ants"), search("apis")) == ([], [0])


@given(st.text(max_size=12))
def test_anything_may_be_typed(search: LabelSearch, query: str) -> None:
    assert set(search(query)) <= set(range(len(LABELS)))


@given(st.integers(0, len(LABELS) - 1), st.data())
def test_every_part_of_a_name_finds_its_label(search: LabelSearch, position: int, data: st.DataObject) -> None:
    name = folded(data.draw(st.sampled_from(LABELS[position].names)))
    start = data.draw(st.integers(0, len(name) - FEWEST_FOR_PARTS))
    part = name[start : data.draw(st.integers(start + FEWEST_FOR_PARTS, len(name)))]
    if len(part.strip()) >= FEWEST_FOR_PARTS and part == part.strip() and part in name:
        assert position in search(part)
