from __future__ import annotations

import sqlite3
from collections.abc import Sequence
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tagwright.errors import ConfigError
from tagwright.server import label_search
from tagwright.server.label_search import FEWEST_FOR_PARTS, LabelSearch, build_file, fold_text, kept_index
from tagwright.types import Label

LABELS = [
    Label("b1", ("Honey bees", "Apis mellifera")),
    Label("b2", ("Bees",)),
    Label("t1", ("Tax law",), notation="33.5 TL"),
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
        ("33.5 tl", [2]),  # a notation
        ("33", [2]),  # its beginning
        ("melli", [0]),  # an alternative name
        ('"quoted" (na', [5]),  # signs that mean something to the index
        ("bees AND NOT", []),
        ("", []),
        ("*", []),
    ],
)
def test_finds_labels_by_what_was_typed(search: LabelSearch, query: str, expected: list[int]) -> None:
    assert search(query) == expected


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ("http://x.org/onto#b12", [0]),  # the whole address
        ("HTTP://x.org/onto#b1", [0, 1]),  # its beginning
        ("b12", [0]),  # the last part
        ("b1", [0, 1]),
        ("x.org", []),  # what all addresses share says nothing
        ("either/or", [2]),
    ],
)
def test_ids_that_are_addresses(query: str, expected: list[int]) -> None:
    labels = [Label("http://x.org/onto#b12", ("Bees",)), Label("http://x.org/onto#b14", ("Wasps",))]
    assert LabelSearch([*labels, Label("3", ("Either/or",))])(query) == expected


def test_names_in_languages_that_are_not_searched_are_found() -> None:
    labels = [Label("1", ("Wasps",)), Label("2", ("Bees",), languages=(("en", "Bees"), ("de", "Bienen")))]
    assert LabelSearch(labels)("biene") == [1]


def test_no_more_than_k_and_no_label_twice() -> None:
    search = LabelSearch([Label(str(i), tuple(f"Bee {i} {j}" for j in range(20))) for i in range(5)])
    assert search("bee", k=3) == [0, 1, 2]
    assert sorted(search("bee", k=9)) == [0, 1, 2, 3, 4]


def test_large_indexes_are_kept_by_what_the_labels_are_called(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TAGWRIGHT_CACHE", str(tmp_path))
    built = list[Path]()

    def counted(path: Path, labels: Sequence[Label]) -> None:
        built.append(path)
        build_file(path, labels)

    monkeypatch.setattr(label_search, "build_file", counted)
    for labels, expected in ((LABELS[:1], 0), (LABELS, 1), (LABELS, 1), (LABELS[:3], 2), (LABELS[1:], 3)):
        search = kept_index(labels, fewest=2)
        assert search(labels[-1].name)[0] == len(labels) - 1
        assert len(built) == expected


def test_a_kept_index_is_used_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TAGWRIGHT_CACHE", str(tmp_path))
    kept_index(LABELS, fewest=2)
    monkeypatch.setattr("tagwright.server.label_search.build_file", None)
    assert kept_index(LABELS, fewest=2)("apis") == [0]


def test_without_a_cache_the_index_is_made_anew(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "file").touch()
    monkeypatch.setenv("TAGWRIGHT_CACHE", str(tmp_path / "file"))
    assert kept_index(LABELS, fewest=2)("apis") == [0]


@given(st.text(max_size=12))
def test_anything_may_be_typed(search: LabelSearch, query: str) -> None:
    assert set(search(query)) <= set(range(len(LABELS)))


@given(st.integers(0, len(LABELS) - 1), st.data())
def test_every_part_of_a_name_finds_its_label(search: LabelSearch, position: int, data: st.DataObject) -> None:
    name = fold_text(data.draw(st.sampled_from(LABELS[position].names)))
    start = data.draw(st.integers(0, len(name) - FEWEST_FOR_PARTS))
    part = name[start : data.draw(st.integers(start + FEWEST_FOR_PARTS, len(name)))]
    if len(part.strip()) >= FEWEST_FOR_PARTS and part == part.strip() and part in name:
        assert position in search(part)


def test_a_sqlite_without_full_text_search_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    def missing(*_: object) -> None:
        raise sqlite3.OperationalError("no such module: fts5")

    monkeypatch.setattr(label_search, "_build", missing)
    with pytest.raises(ConfigError, match=r"labels cannot be searched with the SQLite .*\(no such module: fts5\); it"):
        LabelSearch([Label("1", ("Bees",))])
