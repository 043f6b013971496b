from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tagwright.data.paragraphs import HEAD, headings_at, paragraphs, parents, tree_shares
from tagwright.types import Document, Section

LONG = "One two three four five six seven eight nine ten."
PAPER = Document(
    "p",
    title="Bees",
    abstract="They fly.",
    sections=(
        Section("Introduction", 1, (LONG, "Too short.")),
        Section("Methods", 1),
        Section("Traps", 3, (f"{LONG} Traps.", "")),
        Section("Results", 1, ("中文文本也是一段有意义的话",)),
    ),
)

trees = st.lists(st.tuples(st.integers(1, 4), st.integers(0, 3)), max_size=12)


def means(levels: list[int], sizes: list[int], leaves: list[float]) -> float | None:
    """Eq. 6 as it is written: the mean of the children, from the leaves up."""
    starts = np.cumsum([0, *sizes])
    above = parents(levels)

    def value(section: int) -> float | None:
        own = [] if section == HEAD else leaves[starts[section] : starts[section + 1]]
        below = [value(child) for child, parent in enumerate(above) if parent == section]
        children = [*own, *(child for child in below if child is not None)]
        return sum(children) / len(children) if children else None

    return value(HEAD)


@given(trees, st.integers(0, 99))
def test_shares_give_the_mean_of_means(tree: list[tuple[int, int]], seed: int) -> None:
    levels, sizes = [level for level, _ in tree], [size for _, size in tree]
    leaves = np.random.default_rng(seed).normal(size=sum(sizes)).tolist()
    shares = tree_shares(levels, sizes)
    assert len(shares) == len(leaves)
    expected = means(levels, sizes, leaves)
    assert (expected is None) == (not leaves)
    if expected is not None:
        assert shares.sum() == pytest.approx(1, abs=1e-5)
        assert float(shares @ np.array(leaves)) == pytest.approx(expected, abs=1e-5)


def test_a_section_may_count_more_than_its_siblings() -> None:
    # three parts of four for the first section, one for the second, which has two paragraphs
    assert tree_shares([1, 1], [1, 2], [3.0, 1.0]).tolist() == [0.75, 0.125, 0.125]
    # its own paragraph counts 1, its subsection 3
    assert tree_shares([1, 2], [1, 1], [1.0, 3.0]).tolist() == [0.25, 0.75]


def test_short_paragraphs_are_left_out_and_characters_are_words() -> None:
    found = paragraphs(PAPER)
    assert [(part.text[:4], part.section) for part in found] == [
        ("Bees", HEAD),
        ("One ", 0),
        ("One ", 2),
        ("中文文本", 3),
    ]
    assert all(PAPER.text[part.start : part.start + len(part.text)] == part.text for part in found)
    assert len(paragraphs(PAPER, shortest=0)) == 5


def test_a_document_of_short_paragraphs_alone_keeps_them() -> None:
    short = Document("s", sections=(Section("", 1, ("Bees fly.", " ")),))
    assert [part.text for part in paragraphs(short)] == ["Bees fly."]
    assert paragraphs(Document("e", title=" ")) == []
    assert [part.text for part in paragraphs(replace(short, title="Bees"))] == ["Bees"]


def test_headings_over_a_place_in_the_text() -> None:
    assert headings_at(PAPER, 0) == ()
    assert headings_at(PAPER, PAPER.text.index("They")) == ()
    assert headings_at(PAPER, PAPER.text.index("Too short")) == ("Introduction",)
    assert headings_at(PAPER, PAPER.text.index("ten. Traps")) == ("Methods", "Traps")
    assert headings_at(PAPER, len(PAPER.text) - 1) == ("Results",)
    assert headings_at(Document("e"), 0) == ()
