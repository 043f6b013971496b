from collections.abc import Mapping

import pytest

from tagwright.errors import InputError
from tagwright.graph.network import Coverage, Graph
from tagwright.types import Document


def graph_of(*metadata: Mapping[str, tuple[str, ...]]) -> Graph:
    """Documents d0, d1, ... with this metadata."""
    return Graph.of(Document(f"d{number}", metadata=fields) for number, fields in enumerate(metadata))


def neighbours(graph: Graph, path: str) -> list[list[int]]:
    return [row.tolist() for row in graph.follow(path)]


def test_a_citation_is_a_reference_the_other_way_round() -> None:
    cited, citing = graph_of({}, {"reference": ("d0",)}), graph_of({"citation": ("d1",)}, {})
    for path in ("P->P", "P<-P"):
        assert neighbours(cited, path) == neighbours(citing, path)
    assert neighbours(citing, "P->P") == [[], [0]]
    assert neighbours(citing, "P<-P") == [[1], []]


def test_works_outside_the_corpus_join_documents_and_are_no_neighbours() -> None:
    graph = graph_of({"reference": ("a book",)}, {"reference": ("a book",)}, {"citation": ("a review",)})
    assert neighbours(graph, "P->P<-P") == [[1], [0], []]
    assert neighbours(graph, "P->P") == [[], [], []]
    assert neighbours(graph, "P<-P") == [[], [], []]


def test_missing_and_blank_values_make_no_node() -> None:
    graph = graph_of({"author": ("",), "venue": ()}, {"author": (" ",), "tag": ("x",)}, {})
    assert graph.fields == ("tag",)


def test_a_field_named_p_does_not_take_the_place_of_the_documents() -> None:
    graph = graph_of({"P": ("x",), "reference": ("d1",)}, {"P": ("x",)})
    assert graph.fields == ("reference",)
    assert neighbours(graph, "P->P") == [[1], []]


def test_two_documents_of_one_id_are_an_error_that_names_it() -> None:
    with pytest.raises(InputError, match='two documents have the id "d", '):
        Graph.of([Document("c"), Document("d"), Document("d")])


def test_a_network_without_any_pair_says_that_no_path_helps() -> None:
    with pytest.raises(InputError, match=r"nor does any other usual meta-path$"):
        graph_of({"author": ("Ann",)}, {"author": ("Bo",)}).follow("P-A-P").sample(1)


def test_joining_lists_the_usual_paths_with_a_pair() -> None:
    graph = graph_of({"author": ("Ann",), "tag": ("x",)}, {"author": ("Ann",), "tag": ("y",)})
    assert graph.joining() == ["P-A-P"]


def test_coverage_counts_documents_neighbourhoods_and_hubs() -> None:
    # Ann joins 0, 1, 2 and Bo joins 0, 3: neighbourhoods of 3, 2, 2 and 1; document 4 has no author.
    graph = graph_of({"author": ("Ann", "Bo")}, {"author": ("Ann",)}, {"author": ("Ann",)}, {"author": ("Bo",)}, {})
    hubs = (("author", "Ann", 3), ("author", "Bo", 2))
    assert graph.coverage("P-A-P") == Coverage("P-A-P", 5, 5, 0.8, 2.0, 3, hubs)


def test_coverage_of_a_large_network_is_measured_on_a_part_of_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tagwright.graph.network.MEASURED_WALKS", 500)
    coverage = graph_of(*[{"venue": ("Nature",)}] * 100).coverage("P-V-P")
    # Each takes 101 steps, one to the venue and 100 to its documents: the fifth begins below 500, the sixth does not.
    assert (coverage.documents, coverage.measured, coverage.share, coverage.median) == (100, 5, 1.0, 99.0)


def test_several_paths_are_measured_at_once_and_without_any_all_usual_ones() -> None:
    graph = Graph.of([Document("a", metadata={"author": ("Ann",)}), Document("b", metadata={"author": ("Ann", "Bo")})])
    assert [(each.expression, each.share) for each in graph.coverages(["P-A-P"])] == [("P-A-P", 1.0)]
    assert [(each.expression, each.share) for each in graph.coverages()] == [("P-A-P", 1.0), ("P-(A,A)-P", 0.0)]


def test_documents_without_metadata_have_no_paths_to_measure() -> None:
    with pytest.raises(InputError, match="none of the 2 documents has metadata, so no meta-path joins them"):
        Graph.of([Document("a"), Document("b")]).coverages()
