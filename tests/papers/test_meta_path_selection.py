from typing import TypeAlias

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from tagwright.errors import InputError
from tagwright.graph.network import Graph
from tagwright.papers.meta_path_selection import divergence, rank_paths, split_paths
from tagwright.types import Document, Run

Weights: TypeAlias = NDArray[np.float64]

PERFECT = [
    Document("0", metadata={"author": ("Ann",), "venue": ("Nature",)}),
    Document("1", metadata={"author": ("Ann",), "venue": ("Nature",)}),
    Document("2", metadata={"author": ("Bo",), "venue": ("Nature",)}),
    Document("3", metadata={"author": ("Bo",), "venue": ("Nature",)}),
]
LABELS = Run.from_rows([[0], [0, 5], [1], [1]])


def jensen_shannon(p: Weights, q: Weights) -> float:
    """By its definition: how far each of two distributions is from their mean."""
    mean = (p + q) / 2

    def kullback_leibler(r: Weights) -> float:
        return float(sum(r_i * np.log(r_i / m_i) for r_i, m_i in zip(r, mean, strict=True) if r_i))

    return (kullback_leibler(p) + kullback_leibler(q)) / 2


@given(st.sets(st.integers(0, 9), min_size=1), st.sets(st.integers(0, 9), min_size=1))
def test_eq_17_is_the_divergence_of_two_uniform_distributions(near: set[int], sharing: set[int]) -> None:
    p, q = (np.array([i in chosen for i in range(10)]) / len(chosen) for chosen in (near, sharing))
    counts = (np.array([float(n)]) for n in (len(near), len(sharing), len(near & sharing)))
    assert np.isclose(divergence(*counts)[0], jensen_shannon(p, q))


def test_the_path_that_joins_documents_of_one_label_comes_first() -> None:
    # By author each has the one document of its label: 0. By venue three neighbours, one of them of its label:
    # 1/2 log(6/4) + 1/2 (2/3) log(1 + 3) + 1/2 log(2/4) = 0.3183.
    best, other, both = rank_paths(Graph.of(PERFECT), LABELS, ["P-V-P", "P-A-P", "P-(A,V)-P"])
    assert {best[2], other[2]} == {"P-A-P", "P-(A,V)-P"}
    assert best[:2] == (False, 0)
    assert both[2] == "P-V-P"
    expected = np.log(1.5) / 2 + np.log(4) / 3 + np.log(0.5) / 2
    assert np.isclose(both[1], expected)


def test_a_document_without_neighbours_counts_most() -> None:
    documents = [*PERFECT[:2], *(Document(str(i), metadata={"venue": ("Nature",)}) for i in (2, 3))]
    found = {path: estimate for *estimate, path in rank_paths(Graph.of(documents), LABELS)}
    assert np.isclose(found["P-A-P"][1], np.log(2) / 2)
    assert not found["P-A-P"][0]


def test_a_hub_that_joins_everything_comes_after_a_path_that_tells_documents_apart() -> None:
    # Of eight documents each shares its label with one other: by chance one in seven does. All are of one year, so its
    # neighbours share labels as often as any; two have an author in common, and a label. By Eq. 17 alone the year is
    # nearer: 1/2 log(14/8) + 1/2 (6/7) log(1 + 7) + 1/2 log(2/8) = 0.4779 against 3/4 log 2 = 0.5199.
    authors = ["Ann", "Ann", "Bo", "Cy", "Di", "Ed", "Flo", "Gus"]
    documents = [
        Document(str(i), metadata={"author": (author,), "year": ("2018",)}) for i, author in enumerate(authors)
    ]
    author, year = rank_paths(Graph.of(documents), Run.from_rows([[i // 2] for i in range(8)]))
    assert [author[::2], year[::2]] == [(False, "P-A-P"), (True, "P-year-P")]
    assert np.isclose(author[1], 0.75 * np.log(2))
    assert np.isclose(year[1], 0.4779, atol=1e-4)


def test_documents_that_share_no_label_are_not_looked_at() -> None:
    (found,) = rank_paths(Graph.of(PERFECT), Run.from_rows([[0], [0], [1], [2]]), ["P-A-P"])
    assert found[1] == 0


def test_where_nothing_can_be_compared_the_error_says_why() -> None:
    with pytest.raises(InputError, match="no two of 4 documents share a suggested label; name a meta-path"):
        rank_paths(Graph.of(PERFECT), Run.from_rows([[0], [1], [2], []]))
    with pytest.raises(InputError, match="no usual meta-path joins two of the 2 documents, which have no metadata"):
        rank_paths(Graph.of([Document("1"), Document("2")]), Run.from_rows([[0], [0]]))
    lonely = [Document("1", metadata={"author": ("Ann",)}), Document("2", metadata={"author": ("Bo",)})]
    with pytest.raises(InputError, match="of the 2 documents, which have metadata author; learn from their text"):
        rank_paths(Graph.of(lonely), Run.from_rows([[0], [0]]))


@pytest.mark.parametrize(
    ("expression", "paths"),
    [
        ("P-A-P", ["P-A-P"]),
        ("P->P<-P + P-A-P", ["P->P<-P", "P-A-P"]),
        (" PRP  +  PAP + PVP ", ["PRP", "PAP", "PVP"]),
        ("P-c++-P", ["P-c++-P"]),
        ('P-"a + b"-P + P-A-P', ['P-"a + b"-P', "P-A-P"]),
    ],
)
def test_combinations_are_parted_at_a_plus_between_blanks(expression: str, paths: list[str]) -> None:
    assert split_paths(expression) == paths
