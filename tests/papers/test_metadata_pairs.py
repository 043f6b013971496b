from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

import pytest
from scipy.stats import chisquare

from tagwright.errors import ConfigError
from tagwright.graph.neighbours import Neighbours
from tagwright.graph.network import Graph
from tagwright.papers.metadata_pairs import (
    metadata_pairs,
    metadata_triples,
    mix_sources,
    name_pairs,
    one_paragraph,
    value_pairs,
)
from tagwright.papers.pairs import group_of, group_of_document
from tagwright.training.batching import Batches, is_validation
from tagwright.types import Document, Label, Pair, PairSource, Run, Section

# By author 0 is joined with 1 and 2, 3 with 4; 5 with none.
AUTHORS = [("Ann", "Bo"), ("Ann",), ("Bo",), ("Cy",), ("Cy",), ("Di",)]
DOCUMENTS = [
    Document(f"d{i}", title=f"title {i}", abstract=f"text {i}", metadata={"author": names})
    for i, names in enumerate(AUTHORS)
]
NEIGHBOURS = {0: {1, 2}, 1: {0}, 2: {0}, 3: {4}, 4: {3}}


def follow(documents: Sequence[Document] = DOCUMENTS, path: str = "P-A-P") -> Neighbours:
    return Graph.of(documents).follow(path)


def number(text: str) -> int:
    """Of the document that has this text."""
    return [document.title_and_abstract for document in DOCUMENTS].index(text)


def numbers(pairs: PairSource, epoch: int = 0) -> list[tuple[int, int]]:
    return [(number(pair.anchor), number(pair.positive)) for pair in pairs(epoch)]


def triples(source: PairSource, epoch: int = 0) -> list[Pair]:
    drawn = list(source(epoch))
    assert all(triple.negative for triple in drawn)
    return drawn


def test_every_document_with_a_neighbour_comes_once_with_one_of_them() -> None:
    drawn = numbers(metadata_pairs(DOCUMENTS, follow(), 5))
    assert sorted(anchor for anchor, _ in drawn) == [0, 1, 2, 3, 4]
    assert all(positive in NEIGHBOURS[anchor] for anchor, positive in drawn)


def test_a_pair_has_the_groups_of_both_its_documents() -> None:
    for pair in metadata_pairs(DOCUMENTS, follow(), 50)(0):
        assert pair.other == group_of_document(DOCUMENTS[number(pair.positive)])


def test_a_held_out_document_is_in_no_training_pair_at_either_end() -> None:
    documents = [
        Document(f"d{i}", title=f"title {i}", abstract=f"text {i}", metadata={"tag": ("x",)}) for i in range(60)
    ]
    validation = {d.title_and_abstract for d in documents if is_validation(group_of_document(d), 0.3, seed=4)}
    pairs = metadata_pairs(documents, follow(documents, "P-tag-P"), 600, validation=0.3, seed=4)
    batches = Batches(pairs, 2, validation=0.3, seed=4)
    trained = [pair for _, (state, batch) in zip(range(100), batches(), strict=False) for pair in batch]
    assert not validation & {text for pair in trained for text in (pair.anchor, pair.positive)}
    assert {pair.anchor for pair in batches.validation_pairs()} == validation


def test_a_held_out_document_is_no_negative_of_a_training_triple() -> None:
    documents = [
        Document(f"d{i}", title=f"title {i}", abstract=f"text {i}", metadata={"tag": (str(i % 3),)}) for i in range(60)
    ]
    validation = {d.title_and_abstract for d in documents if is_validation(group_of_document(d), 0.3, seed=4)}
    source = metadata_triples(documents, follow(documents, "P-tag-P"), 600, validation=0.3, seed=4)
    trained = [triple for triple in triples(source, 0) if triple.anchor not in validation]
    assert len(trained) > 100
    assert not validation & {text for triple in trained for text in (triple.positive, triple.negative)}


def test_by_value_draws_through_a_value() -> None:
    # Document 0 has Ann with 1 and Bo with 2, 3 and 4: by value 1 comes in half of the draws, else in a quarter.
    shared = {0: ("Ann", "Bo"), 1: ("Ann",), 2: ("Bo",), 3: ("Bo",), 4: ("Bo",)}
    documents = [Document(str(i), abstract=f"{i}", metadata={"author": names}) for i, names in shared.items()]
    near, found = follow(documents), []
    for by_value in (True, False):
        pairs = metadata_pairs(documents, near, 5, by_value=by_value)
        found.append(sum(pair.anchor == "0" and pair.positive == "1" for epoch in range(400) for pair in pairs(epoch)))
    assert chisquare([found[0], 400 - found[0]], [200, 200]).pvalue > 0.001
    assert chisquare([found[1], 400 - found[1]], [100, 300]).pvalue > 0.001


def test_a_negative_is_neither_the_document_nor_a_neighbour() -> None:
    source = metadata_triples(DOCUMENTS, follow(), 50)
    drawn = [triple for epoch in range(20) for triple in triples(source, epoch)]
    assert len(drawn) == 1000
    for triple in drawn:
        anchor, negative = number(triple.anchor), number(triple.negative)
        assert number(triple.positive) in NEIGHBOURS[anchor]
        assert negative != anchor
        assert negative not in NEIGHBOURS[anchor]


def test_documents_that_are_all_neighbours_give_no_triple() -> None:
    documents = [Document(str(i), abstract=f"{i}", metadata={"tag": ("x",)}) for i in range(3)]
    with pytest.raises(ConfigError, match="none has a document that it is not joined with"):
        metadata_triples(documents, follow(documents, "P-tag-P"), 10)


def test_documents_without_text_are_in_no_pair() -> None:
    silent = [*DOCUMENTS[:2], Document("mute", metadata={"author": ("Ann",)})]
    drawn = list(metadata_pairs(silent, follow(silent), 30)(0))
    assert {(pair.anchor[-1], pair.positive[-1]) for pair in drawn} == {("0", "1"), ("1", "0")}
    mute = [Document(str(i), metadata={"author": ("Ann",)}) for i in range(3)]
    with pytest.raises(ConfigError, match='none of the documents that meta-path "P-A-P" joins has text'):
        metadata_pairs(mute, follow(mute), 30)


def test_a_value_is_a_positive_of_every_document_that_has_it_in_one_group() -> None:
    tagged = [
        Document(str(i), abstract=f"{i}", metadata={"keyword": words}) for i, words in enumerate([("x", "y"), ("X",)])
    ]
    pairs = list(value_pairs(tagged, "keyword")(0))
    assert sorted((pair.anchor, pair.positive) for pair in pairs) == [("0", "x"), ("0", "y"), ("1", "X")]
    assert {pair.positive: pair.group for pair in pairs} == {text: group_of(text) for text in ("x", "X", "y")}
    assert group_of("x") == group_of("X")
    assert {pair.other for pair in pairs} == set(map(group_of_document, tagged))


def test_names_of_suggested_labels_are_positives() -> None:
    labels = [Label("a", ("Ants", "Formicidae")), Label("b", ("Bees",), "They fly.")]
    pairs = name_pairs(DOCUMENTS[:3], labels, Run.from_rows([[1, 0], [], [1]]))(0)
    found = sorted((number(pair.anchor), pair.positive, pair.group) for pair in pairs)
    assert found == sorted(
        [(0, "Ants", group_of("Ants")), (0, "Bees", group_of("Bees")), (2, "Bees", group_of("Bees"))]
    )


def test_names_are_refused_where_there_are_none() -> None:
    with pytest.raises(ConfigError, match="none of 6 documents has both text and a label that it names"):
        name_pairs(DOCUMENTS, [], Run.from_rows([[]] * 6))


def of(word: str, count: int) -> PairSource:
    return lambda epoch: [Pair(f"{word}{i}", str(epoch), i) for i in range(count)]


def test_every_batch_of_a_mixture_has_its_shares() -> None:
    drawn = [pair.anchor[0] for pair in mix_sources({of("a", 100): 3.0, of("b", 100): 1.0}, 40)(0)]
    for start in range(0, 40, 8):
        assert Counter(drawn[start : start + 8]) == {"a": 6, "b": 2}


def test_a_source_that_ends_is_begun_anew_with_other_pairs() -> None:
    drawn = [pair for pair in mix_sources({of("a", 3): 1.0, of("b", 100): 1.0}, 12)(0) if pair.anchor[0] == "a"]
    assert [pair.anchor for pair in drawn] == ["a0", "a1", "a2"] * 2
    assert len({pair.positive for pair in drawn}) == 2


def test_a_mixture_with_an_empty_source_ends_with_an_error() -> None:
    with pytest.raises(ConfigError, match="a source that has no pairs"):
        list(mix_sources({of("a", 0): 1.0}, 10)(0))


def paper(topic: str, number: int) -> Document:
    """Its paragraphs name the paper; papers of a topic cite the same work."""
    name = f"{topic}{number}"
    sections = (Section("A", 1, (f"{name} first", "short")), Section("B", 2, (f"{name} second",)))
    return Document(name, f"{name} title", "and abstract", sections, {"reference": (f"work of {topic}",)})


PAPERS = [paper(topic, number) for number in range(4) for topic in ("bee", "oak")]
PAPERS_JOINED = Graph.of(PAPERS).follow("P->P<-P")
VIEW = one_paragraph(abstract=0.0, shortest=2)


def owner(text: str) -> str:
    return text.split()[0]


def test_paragraphs_of_a_triple_come_from_joined_and_unjoined_papers() -> None:
    triples = [triple for triple in metadata_triples(PAPERS, PAPERS_JOINED, 200, view=VIEW)(0) if triple.negative]
    assert len(triples) == 200
    for triple in triples:
        p, positive, negative = map(owner, (triple.anchor, triple.positive, triple.negative))
        assert p != positive
        assert p[:3] == positive[:3]
        assert p[:3] != negative[:3]
    assert {triple.negative.split(maxsplit=1)[1] for triple in triples} == {"title\nand abstract", "first", "second"}


def test_pairs_are_drawn_anew_each_epoch_and_the_same_for_the_same_epoch() -> None:
    source = metadata_pairs(PAPERS, PAPERS_JOINED, 50, view=VIEW)
    first = list(source(0))
    assert first == list(source(0))
    assert first != list(source(1))
    assert all(owner(pair.anchor)[:3] == owner(pair.positive)[:3] for pair in first)
    triples = metadata_triples(PAPERS, PAPERS_JOINED, 50, view=VIEW)
    assert list(triples(0)) == list(triples(0))
    assert list(triples(0)) != list(triples(1))


def test_the_abstract_can_be_given_more_weight() -> None:
    def share(abstract: float) -> float:
        view = one_paragraph(abstract=abstract, shortest=2)
        return sum("title" in view(PAPERS[0], (0, i)) for i in range(3000)) / 3000

    assert share(1.0) == 1.0
    assert share(0.0) == pytest.approx(1 / 3, abs=0.04)
    assert share(0.5) == pytest.approx(1 / 2 + 1 / 2 / 3, abs=0.04)
