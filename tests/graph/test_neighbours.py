"""Neighbours and draws against brute force: every choice of nodes is tried, on random networks of eight documents."""

import tracemalloc
from collections import defaultdict
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import product
from typing import Any, TypeAlias
from unittest.mock import patch

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray
from scipy.stats import chisquare

from tagwright.errors import ConfigError
from tagwright.graph import neighbours as module
from tagwright.graph.meta_path import DOCUMENT, parse
from tagwright.graph.neighbours import Neighbours
from tagwright.graph.network import Graph
from tagwright.types import Document

Node: TypeAlias = tuple[str, str]
Edges: TypeAlias = defaultdict[tuple[Node, str], set[Node]]

TEN = ["P->P", "P<-P", "P-A-P", "P-V-P", "P->P<-P", "P<-P->P", "P-(A,A)-P", "P-(A,V)-P", "P->(P,P)<-P", "P<-(P,P)->P"]
CHAINS = ["P->P->P", "P-A-P->P", "P-A-P-V-P", "P->P<-P->P"]
META_GRAPHS = ["P->(P,P)->P", "P-(A,V)-P<-P", "P->P-(A,A)-P", "P-(A,V,A)-P"]
ALL = TEN + CHAINS + META_GRAPHS

WORKS = [f"d{number}" for number in range(8)] + ["x0", "x1"]
SOME_WORKS = st.lists(st.sampled_from(WORKS), max_size=4).map(tuple)
METADATA = st.fixed_dictionaries(
    {
        "author": st.lists(st.sampled_from("abcd"), max_size=3).map(tuple),
        "venue": st.lists(st.sampled_from("vw"), max_size=1).map(tuple),
        "reference": SOME_WORKS,
        "citation": SOME_WORKS,
    }
)
EVERY_FIELD = {"author": ("a",), "venue": ("v",), "reference": ("d0",), "citation": ()}
CORPORA = st.lists(METADATA, min_size=7, max_size=7).map(
    lambda rows: [Document(f"d{number}", metadata=row) for number, row in enumerate([*rows, EVERY_FIELD])]
)
FIELDS = ["author", "reference", "venue"]


def network(documents: list[Document]) -> Edges:
    """(node, link) -> the nodes there, a node being (type, name)."""
    edges: Edges = defaultdict(set)
    for document in documents:
        here = (DOCUMENT, document.id)
        for field, value in ((field, value) for field, values in document.metadata.items() for value in values):
            there = (field if field in {"author", "venue"} else DOCUMENT, value)
            out, back = {"reference": ("->", "<-"), "citation": ("<-", "->")}.get(field, ("-", "-"))
            if here != there:
                edges[here, out].add(there)
                edges[there, back].add(here)
    return edges


def brute_force(documents: list[Document], expression: str) -> list[set[int]]:
    edges, (nodes, links) = network(documents), parse(expression, FIELDS)

    def ends(node: Node, place: int) -> set[Node]:
        if place == len(links):
            return {node}
        link, types = links[place], nodes[place + 1]
        if len(types) == 1:
            return {end for n in edges[node, link] if n[0] == types[0] for end in ends(n, place + 1)}
        choices = product(*({n for n in edges[node, link] if n[0] == type_} for type_ in types))
        different = [choice for choice in choices if len(set(choice)) == len(types)]
        met = {n for choice in different for n in set.intersection(*(edges[n, links[place + 1]] for n in choice))}
        return {end for n in met if n[0] == DOCUMENT for end in ends(n, place + 2)}

    numbers = {(DOCUMENT, document.id): number for number, document in enumerate(documents)}
    return [{numbers[end] for end in ends(node, 0) if end in numbers} - {number} for node, number in numbers.items()]


def follow(documents: list[Document], expression: str) -> Neighbours:
    return Graph.of(documents).follow(expression)


@contextmanager
def drawing(way: str, batch: int = module.BATCH) -> Iterator[None]:
    """Draw the way that is otherwise left to small (listed) or to large (rejection) neighbourhoods."""
    with (
        patch.object(module, "LISTED", {"listed": 1 << 30, "rejection": -1}[way]),
        patch.object(module, "BATCH", batch),
    ):
        yield


@settings(max_examples=8, deadline=None)
@given(documents=CORPORA)
def test_neighbours_are_those_of_brute_force(documents: list[Document]) -> None:
    everyone = np.arange(8)
    starts, ends = np.repeat(everyone, 8), np.tile(everyone, 8)
    for expression in ALL:
        expected, found = brute_force(documents, expression), follow(documents, expression)
        assert [row.tolist() for row in found] == [sorted(row) for row in expected], expression
        assert [found[number].tolist() for number in range(8)] == [sorted(row) for row in expected], expression
        assert found.sizes(everyone).tolist() == [len(row) for row in expected], expression
        assert found.any() == any(expected), expression
        joined = [end in expected[start] for start in range(8) for end in range(8)]
        assert found.joins(starts, ends).tolist() == joined, expression


@settings(max_examples=3, deadline=None)
@given(documents=CORPORA, seed=st.integers(0, 99))
def test_every_draw_is_a_neighbour_and_none_means_none(documents: list[Document], seed: int) -> None:
    everyone = np.repeat(np.arange(8), 5)
    for expression in ALL:
        expected, found = brute_force(documents, expression), follow(documents, expression)
        for way in ("listed", "rejection"):
            with drawing(way, batch=16):
                check_drawn(found.draw(everyone, np.random.default_rng(seed)), everyone, expected, expression)
        if expression in TEN[:6] + CHAINS:
            drawn = found.draw_by_value(everyone, np.random.default_rng(seed))
            check_drawn(drawn, everyone, expected, expression)


def check_drawn(drawn: NDArray[Any], starts: NDArray[Any], expected: list[set[int]], expression: str) -> None:
    """Each is a neighbour of its document; where there is none it is -1."""
    assert all(
        end in expected[start] if expected[start] else end == -1 for start, end in zip(starts, drawn, strict=True)
    ), expression


# Document 0 shares Ann with 1, 2, 3 and Bo with 3, 4; Cy is its own. Documents 3 and 4 share Di too. All are in Nature
# but 4; 0 and 3 cite the same two works, 0 and 1 one of them.
UNEVEN = [
    Document("0", metadata={"author": ("Ann", "Bo", "Cy"), "venue": ("Nature",), "reference": ("x", "y")}),
    Document("1", metadata={"author": ("Ann",), "venue": ("Nature",), "reference": ("x",)}),
    Document("2", metadata={"author": ("Ann",), "venue": ("Nature",)}),
    Document("3", metadata={"author": ("Ann", "Bo", "Di"), "venue": ("Nature",), "reference": ("x", "y")}),
    Document("4", metadata={"author": ("Bo", "Di"), "venue": ("Science",), "reference": ("x",)}),
]


@pytest.mark.parametrize("way", ["listed", "rejection"])
@pytest.mark.parametrize(
    ("expression", "expected"),
    [
        ("P-A-P", [1, 2, 3, 4]),
        ("P-V-P", [1, 2, 3]),
        ("P-(A,V)-P", [1, 2, 3]),
        ("P->P<-P", [1, 3, 4]),
        ("P-A-P-V-P", [1, 2, 3, 4]),
        ("P-V-P-(A,A)-P", [3, 4]),
    ],
)
def test_draws_are_uniform_however_many_nodes_are_shared(way: str, expression: str, expected: list[int]) -> None:
    with drawing(way):
        drawn = follow(UNEVEN, expression).draw(np.zeros(12_000, np.int64), np.random.default_rng(1))
    values, counts = np.unique(drawn, return_counts=True)
    assert values.tolist() == expected
    assert chisquare(counts).pvalue > 0.001


def test_draws_by_value_take_a_value_first_and_a_document_second() -> None:
    # Ann or Bo with 1/2 each, never Cy. Ann: 1, 2, 3 with 1/3 each; Bo: 3, 4 with 1/2 each.
    drawn = follow(UNEVEN, "P-A-P").draw_by_value(np.zeros(12_000, np.int64), np.random.default_rng(1))
    counts = np.bincount(drawn, minlength=5)
    assert counts[0] == 0
    assert chisquare(counts[1:], 12_000 * np.array([1 / 6, 1 / 6, 1 / 6 + 1 / 4, 1 / 4])).pvalue > 0.001


def test_by_value_over_a_bracket_is_an_error() -> None:
    with pytest.raises(ConfigError, match="by_value draws one value at a time"):
        follow(UNEVEN, "P-(A,A)-P").sample(1, by_value=True)


def test_a_sample_takes_no_document_twice_before_all_once() -> None:
    documents, drawn = follow(UNEVEN, "P-A-P").sample(12, seed=3)
    assert sorted(documents[:5]) == sorted(documents[5:10]) == [0, 1, 2, 3, 4]
    assert len(documents) == len(drawn) == 12


def test_one_venue_of_twenty_thousand_documents_needs_no_quadratic_memory() -> None:
    venue = follow([Document(str(number), metadata={"venue": ("Nature",)}) for number in range(20_000)], "P-V-P")
    tracemalloc.start()
    try:
        documents, drawn = venue.sample(20_000)
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert len(np.unique(documents)) == 20_000
    assert (documents != drawn).all()
    assert peak < 50e6  # a bit for each of the 4e8 pairs would take as much
