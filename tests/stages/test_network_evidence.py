from tagwright.graph.network import Graph
from tagwright.stages.network_evidence import Sharing, sharing
from tagwright.types import Document, Run

GRAPH = Graph.of(
    [
        Document("0", metadata={"author": ("Ann",), "reference": ("a",)}),
        Document("1", metadata={"author": ("Ann",), "reference": ("a",)}),
        Document("2", metadata={"author": ("Ann",)}),
        Document("3", metadata={"author": ("Ann",)}),
        Document("4", metadata={"reference": ("a",)}),
    ]
)
RUN = Run.from_rows([{7: 1.0}, {7: 0.1, 8: 0.9}, {7: 0.9}, {8: 1.0}, {9: 1.0}])


def test_neighbours_that_share_the_label_come_by_its_rank_with_them() -> None:
    paths = [GRAPH.follow(path) for path in ("P-A-P", "P->P<-P", "P->P")]
    assert sharing(paths, RUN, document=0, label=7) == [Sharing("P-A-P", 3, 2, (2, 1)), Sharing("P->P<-P", 2, 1, (1,))]


def test_no_more_are_named_than_asked_for_but_all_are_counted() -> None:
    assert sharing([GRAPH.follow("P-A-P")], RUN, 0, 7, most=1) == [Sharing("P-A-P", 3, 2, (2,))]


def test_a_label_that_no_neighbour_has_gives_nothing_and_ties_stay_in_order() -> None:
    paths = [GRAPH.follow("P-A-P"), GRAPH.follow("P->P<-P")]
    assert sharing(paths, RUN, 4, 9) == []
    assert sharing(paths, RUN, 2, 8) == [Sharing("P-A-P", 3, 2, (1, 3))]
