from tagwright.graph.neighbours import NetworkEvidence, network_evidence
from tagwright.graph.network import Graph
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
IDS = "abcde"


def test_neighbours_that_share_the_label_come_by_its_rank_with_them() -> None:
    paths = [GRAPH.follow(path) for path in ("P-A-P", "P->P<-P", "P->P")]
    assert network_evidence(paths, IDS, RUN, document=0, label=7) == (
        NetworkEvidence("P-A-P", 3, 2, ("c", "b")),
        NetworkEvidence("P->P<-P", 2, 1, ("b",)),
    )


def test_a_label_that_no_neighbour_has_gives_nothing_and_ties_stay_in_order() -> None:
    paths = [GRAPH.follow("P-A-P"), GRAPH.follow("P->P<-P")]
    assert network_evidence(paths, IDS, RUN, 4, 9) == ()
    assert network_evidence(paths, IDS, RUN, 2, 8) == (NetworkEvidence("P-A-P", 3, 2, ("b", "d")),)
