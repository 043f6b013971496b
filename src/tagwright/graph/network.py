"""The metadata network of a corpus: find the documents that a meta-path joins.

    graph = Graph.of(documents)
    coauthored = graph.follow("P-A-P")
    coauthored[7]                                   # the neighbours of document 7
    anchors, positives = coauthored.sample(50_000)  # pairs to train on
    graph.coverage("P-A-P")                         # how many documents it joins, and through whom

No document-by-document matrix is ever built: the network is one sparse incidence matrix per metadata field, read a few
rows at a time.
"""

from __future__ import annotations

from array import array
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np

from tagwright.core.progress import bar
from tagwright.errors import InputError
from tagwright.graph.meta_path import DOCUMENT, EDGE_FIELDS, MetaPath, parse, possible
from tagwright.graph.neighbours import Bracket, Branch, Neighbours, Relation
from tagwright.types import Document

MEASURED_WALKS = 1e8
"Walks that `coverage` follows: a few seconds of work."


Hub: TypeAlias = tuple[str, str, int]
"A node that many documents reach with the first step of a meta-path: its type, its name, their number."


@dataclass(frozen=True, slots=True)
class Coverage:
    """Statistics of a meta-path, measured on all documents or, if that takes too long, on a random sample.

    share: of the measured documents, those with a neighbour. median, largest: sizes of the neighbourhoods that are not
    empty. hubs: the three nodes with the most documents, for each node type of the first step.
    """

    expression: str
    documents: int
    measured: int
    share: float
    median: float
    largest: int
    hubs: tuple[Hub, ...]


@dataclass(frozen=True, eq=False, repr=False)
class Graph:
    """The heterogeneous information network of a corpus (MICoL Def. 2.1).

    Documents are nodes; every metadata field is a node type, or for reference and citation an edge type between
    documents, each completed from the other. Cited works outside the corpus are nodes too, which join documents and are
    never neighbours themselves. Missing and blank values give no nodes, self-references no edges. A field named P is
    left out, since P is the document.

    >>> ants, bees = Document("1", metadata={"author": ("Ann", "Bo")}), Document("2", metadata={"author": ("Bo",)})
    >>> graph = Graph.of([ants, bees, Document("3", metadata={"reference": ("2", "a book")})])
    >>> graph.fields, graph.follow("P-A-P")[0].tolist(), graph.follow("P<-P")[1].tolist()
    (('author', 'reference'), [1], [2])
    """

    documents: int
    fields: tuple[str, ...]
    _relations: Mapping[str, Relation]
    _names: Mapping[str, Sequence[str]]

    @classmethod
    def of(cls, documents: Iterable[Document]) -> Graph:
        """Build the network in one pass. Raises InputError when two documents have the same id."""
        works, corpus, citing, cited = dict[str, int](), array("q"), array("q"), array("q")
        fields = set[str]()
        edges: dict[str, tuple[dict[str, int], array[int], array[int]]] = {}
        for document in documents:  # nodes are numbered in the order of their first occurrence
            work = works.setdefault(document.id.strip(), len(works))
            for field in sorted(document.metadata.keys() - {DOCUMENT}):
                if not (values := _values(document.metadata[field])):
                    continue
                fields.add(field)
                if field in EDGE_FIELDS:
                    own, nodes = work, works
                    here, there = (citing, cited) if field == "reference" else (cited, citing)
                else:
                    own, (nodes, here, there) = len(corpus), edges.setdefault(field, ({}, array("q"), array("q")))
                here.extend([own] * len(values))
                there.extend([nodes.setdefault(value, len(nodes)) for value in values])
            corpus.append(work)
        known, own_works = list(works), np.array(corpus, np.int64)
        first = np.unique(own_works, return_index=True)[1]
        if len(again := np.setdiff1d(np.arange(len(own_works)), first)):
            name = known[own_works[again[0]]]
            raise InputError(f'two documents have the id "{name}", so references to it are unclear; make ids unique')
        numbers = np.full(len(known), -1)  # in the end, the corpus comes first among the works
        numbers[own_works] = np.arange(len(own_works))
        numbers[numbers < 0] = np.arange(len(own_works), len(known))
        ends, starts = numbers[np.array(cited, np.int64)], numbers[np.array(citing, np.int64)]
        others = starts != ends
        names: dict[str, list[str]] = {DOCUMENT: [known[code] for code in np.argsort(numbers).tolist()]}
        relations = {DOCUMENT: Relation.of(starts[others], ends[others], (len(known), len(known)))}
        for field, (nodes, here, there) in edges.items():
            names[field] = list(nodes)
            relations[field] = Relation.of(np.array(here), np.array(there), (len(known), len(nodes)))
        return Graph(len(corpus), tuple(sorted(fields)), relations, names)

    def follow(self, expression: str) -> Neighbours:
        """The neighbours over a meta-path such as "P->P<-P" or "P-(A,A)-P"; see `tagwright.graph.meta_path`.

        Raises ConfigError, pointing at the character, for an expression that is malformed or does not fit the data.

        Two keywords in common, and any two documents that share one:

        >>> keywords = ("wing", "leg"), ("leg", "eye"), ("wing", "leg", "eye")
        >>> graph = Graph.of(Document(str(i), metadata={"keyword": words}) for i, words in enumerate(keywords))
        >>> [row.tolist() for row in graph.follow("P-(keyword,keyword)-P")]
        [[2], [2], [0, 1]]
        >>> [row.tolist() for row in graph.follow("P-K-P")]
        [[1, 2], [0, 2], [0, 1]]
        """
        path = parse(expression, self.fields)
        return Neighbours(expression, self.documents, self._works, self._legs(path), self.joining)

    def joining(self) -> list[str]:
        """Of the usual meta-paths over these fields, those that join at least two documents."""
        return [expression for expression in possible(self.fields) if self.follow(expression).any()]

    def coverage(self, expression: str, seed: int = 0) -> Coverage:
        """Measure what a meta-path joins. Raises ConfigError as `follow` does."""
        neighbours = self.follow(expression)
        order = np.random.default_rng(seed).permutation(self.documents)
        walks = neighbours.walks[order]
        sizes = neighbours.sizes(order[np.cumsum(walks) - walks < MEASURED_WALKS])
        some = sizes[sizes > 0]
        return Coverage(
            expression=expression,
            documents=self.documents,
            measured=len(sizes),
            share=len(some) / max(len(sizes), 1),
            median=float(np.median(some)) if len(some) else 0.0,
            largest=int(some.max(initial=0)),
            hubs=self._hubs(parse(expression, self.fields)),
        )

    def coverages(self, expressions: Sequence[str] = ()) -> list[Coverage]:
        """Measure several meta-paths; without any, all usual ones over these fields.

        Raises ConfigError as `follow` does, before anything is measured; InputError when no document has metadata.
        """
        paths = [self.follow(path).expression for path in expressions] or possible(self.fields)
        if not paths:
            raise InputError(f"none of the {self.documents} documents has metadata, so no meta-path joins them")
        measured = []
        with bar("measuring meta-paths", len(paths)) as done:
            for path in paths:
                measured.append(self.coverage(path))
                done(1)
        return measured

    def neighbour_ids(self, expression: str) -> Iterator[tuple[str, list[str]]]:
        """The id of each document, and the ids of its neighbours over a meta-path.

        >>> graph = Graph.of(Document(name, metadata={"author": ("Ann",)}) for name in "ab")
        >>> dict(graph.neighbour_ids("P-A-P"))
        {'a': ['b'], 'b': ['a']}
        """
        ids = self._names[DOCUMENT]
        for id_, row in zip(ids[: self.documents], self.follow(expression), strict=True):
            yield id_, [ids[other] for other in row.tolist()]

    @property
    def _works(self) -> int:
        return len(self._names[DOCUMENT])

    def _legs(self, path: MetaPath) -> list[Relation | Bracket]:
        legs = list[Relation | Bracket]()
        nodes, links = path
        for place, link in enumerate(links):
            starts, types = nodes[place : place + 2]
            if len(types) > 1:
                back = links[place + 1]
                legs.append(
                    Bracket.of(
                        Branch(self._relation(DOCUMENT, link, type_), self._relation(type_, back, DOCUMENT), times)
                        for type_, times in Counter(types).items()
                    )
                )
            elif len(starts) == 1:
                legs.append(self._relation(starts[0], link, types[0]))
        return [*legs[:-1], legs[-1].into(self.documents)]

    def _relation(self, start: str, link: str, end: str) -> Relation:
        if link == "-":
            return self._relations[end] if start == DOCUMENT else self._relations[start].reverse
        return self._relations[DOCUMENT] if link == "->" else self._relations[DOCUMENT].reverse

    def _hubs(self, path: MetaPath) -> tuple[Hub, ...]:
        hubs = list[Hub]()
        nodes, links = path
        for type_ in dict.fromkeys(nodes[1]):
            to_documents = self._relation(DOCUMENT, links[0], type_).reverse.into(self.documents)
            counts = np.diff(to_documents.forward.indptr)
            top = np.argsort(-counts, kind="stable")[:3].tolist()
            hubs += [(type_, self._names[type_][node], int(counts[node])) for node in top if counts[node]]
        return tuple(hubs)


def _values(values: str | Iterable[str] | None) -> list[str]:
    """The values of a field, which may be one string, without blanks and repetitions, sorted."""
    several = [values] if isinstance(values, str) else values or ()
    return sorted({value.strip() for value in several} - {""})
