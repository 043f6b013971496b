from __future__ import annotations

import pytest

from tagwright.errors import ConfigError
from tagwright.graph.network import Graph
from tagwright.training.metadata_pairs import metadata_pairs, metadata_triples
from tagwright.training.paragraph_pairs import one_paragraph
from tagwright.types import Document, Section, Triple


def paper(topic: str, number: int) -> Document:
    """Its paragraphs name the paper; papers of a topic cite the same work."""
    name = f"{topic}{number}"
    sections = (Section("A", 1, (f"{name} first", "short")), Section("B", 2, (f"{name} second",)))
    return Document(name, f"{name} title", "and abstract", sections, {"reference": (f"work of {topic}",)})


PAPERS = [paper(topic, number) for number in range(4) for topic in ("bee", "oak")]
NEIGHBOURS = Graph.of(PAPERS).follow("P->P<-P")
VIEW = one_paragraph(abstract=0.0, shortest=2)


def owner(text: str) -> str:
    return text.split()[0]


def test_paragraphs_of_a_triple_come_from_joined_and_unjoined_papers() -> None:
    triples = [
        triple for triple in metadata_triples(PAPERS, NEIGHBOURS, 200, view=VIEW)(0) if isinstance(triple, Triple)
    ]
    assert len(triples) == 200
    for triple in triples:
        p, positive, negative = map(owner, (triple.anchor, triple.positive, triple.negative))
        assert p != positive
        assert p[:3] == positive[:3]
        assert p[:3] != negative[:3]
    assert {triple.negative.split(maxsplit=1)[1] for triple in triples} == {"title\nand abstract", "first", "second"}


def test_pairs_are_drawn_anew_each_epoch_and_the_same_for_the_same_epoch() -> None:
    source = metadata_pairs(PAPERS, NEIGHBOURS, 50, view=VIEW)
    first = list(source(0))
    assert first == list(source(0))
    assert first != list(source(1))
    assert all(owner(pair.anchor)[:3] == owner(pair.positive)[:3] for pair in first)
    triples = metadata_triples(PAPERS, NEIGHBOURS, 50, view=VIEW)
    assert list(triples(0)) == list(triples(0))
    assert list(triples(0)) != list(triples(1))


def test_the_abstract_can_be_given_more_weight() -> None:
    def share(abstract: float) -> float:
        view = one_paragraph(abstract=abstract, shortest=2)
        return sum("title" in view(PAPERS[0], (0, i)) for i in range(3000)) / 3000

    assert share(1.0) == 1.0
    assert share(0.0) == pytest.approx(1 / 3, abs=0.04)
    assert share(0.5) == pytest.approx(1 / 2 + 1 / 2 / 3, abs=0.04)


def test_a_document_without_text_gives_nothing() -> None:
    assert VIEW(Document("e"), (0,)) == ""
    pairs = metadata_pairs(
        [*PAPERS, Document("e", metadata={"reference": ("work of bee",)})], NEIGHBOURS, 50, view=VIEW
    )
    assert all(pair.anchor and pair.positive for pair in pairs(0))


def test_a_chance_is_between_0_and_1() -> None:
    with pytest.raises(ConfigError, match="abstract is 2, expected a probability from 0 to 1"):
        one_paragraph(abstract=2)
