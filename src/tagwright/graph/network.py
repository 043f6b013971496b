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
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np

from tagwright.core.progress import bar
from tagwright.errors import InputError
from tagwright.graph.meta_path import DOCUMENT, EDGE_FIELDS, MetaPath, parse, possible_paths
from tagwright.graph.neighbours import Bracket, Neighbours, Relation
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


@dataclass(frozen=True, eq=False)
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
    relations: Mapping[str, Relation]
    names: Mapping[str, Sequence[str]]
    fields: tuple[str, ...]

    @classmethod
    def of(cls, documents: Iterable[Document]) -> Graph:
        """Build the network in one pass. Raises InputError when two documents have the same id.

        Nodes are numbered in the order of their first occurrence, but documents come first among the works.
        """
        works, corpus = dict[str, int](), dict[int, int]()
        nodes = defaultdict[str, dict[str, int]](dict, dict.fromkeys(EDGE_FIELDS, works))
        edges: dict[str, tuple[array[int], array[int]]] = defaultdict(lambda: (array("q"), array("q")))
        for number, document in enumerate(documents):
            work = works.setdefault(document.id.strip(), len(works))
            if corpus.setdefault(work, number) != number:
                raise InputError(
                    f'two documents have the id "{document.id}", so references to it are unclear; make ids unique'
                )
            for field in sorted(document.metadata.keys() - {DOCUMENT}):
                values, (starts, ends) = _names(document.metadata[field]), edges[field]
                starts.extend([work if field in EDGE_FIELDS else number] * len(values))
                ends.extend([nodes[field].setdefault(value, len(nodes[field])) for value in values])
        order = [*corpus, *(work for work in range(len(works)) if work not in corpus)]
        numbers, ids = np.argsort(order), list(works)
        references, citations = (np.array(edges[field], np.int64) for field in EDGE_FIELDS)
        citing, cited = numbers[np.concatenate([references, citations[::-1]], axis=1)]
        fields = tuple(sorted(name for name, (starts, _) in edges.items() if starts))
        others = citing != cited
        names: dict[str, list[str]] = {DOCUMENT: [ids[work] for work in order]}
        relations = {DOCUMENT: Relation.of(citing[others], cited[others], (len(works), len(works)))}
        for field in fields:
            if field not in EDGE_FIELDS:
                names[field] = list(nodes[field])
                starting, ending = np.array(edges[field], np.int64)
                relations[field] = Relation.of(starting, ending, (len(works), len(nodes[field])))
        return cls(len(corpus), relations, names, fields)

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
        return Neighbours(expression, self.documents, len(self.names[DOCUMENT]), self._legs(path), self.joining)

    def joining(self) -> list[str]:
        """Of the usual meta-paths over these fields, those that join at least two documents."""
        return [expression for expression in possible_paths(self.fields) if self.follow(expression).any()]

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
        paths = [self.follow(path).expression for path in expressions] or possible_paths(self.fields)
        if not paths:
            raise InputError(f"none of the {self.documents} documents has metadata, so no meta-path joins them")
        measured = []
        with bar("measuring meta-paths", len(paths)) as done:
            for path in paths:
                measured.append(self.coverage(path))
                done(1)
        return measured

    def _legs(self, path: MetaPath) -> list[Relation | Bracket]:
        legs = list[Relation | Bracket]()
        nodes, links = path
        for place, link in enumerate(links):
            starts, types = nodes[place : place + 2]
            if len(types) > 1:
                legs.append(self._bracket(link, types, links[place + 1]))
            elif len(starts) == 1:
                legs.append(self._relation(starts[0], link, types[0]))
        return [*legs[:-1], legs[-1].into(self.documents)]

    def _bracket(self, link: str, types: Sequence[str], link_back: str) -> Bracket:
        branches = [
            (self._relation(DOCUMENT, link, type_), self._relation(type_, link_back, DOCUMENT), times)
            for type_, times in Counter(types).items()
        ]
        return Bracket.of(branches)

    def _relation(self, start: str, link: str, end: str) -> Relation:
        if link == "-":
            return self.relations[end] if start == DOCUMENT else self.relations[start].reverse
        return self.relations[DOCUMENT] if link == "->" else self.relations[DOCUMENT].reverse

    def _hubs(self, path: MetaPath) -> tuple[Hub, ...]:
        hubs = list[Hub]()
        nodes, links = path
        for type_ in dict.fromkeys(nodes[1]):
            to_documents = self._relation(DOCUMENT, links[0], type_).reverse.into(self.documents)
            counts = np.diff(to_documents.forward.indptr)
            top = np.argsort(-counts, kind="stable")[:3].tolist()
            hubs += [(type_, self.names[type_][node], int(counts[node])) for node in top if counts[node]]
        return tuple(hubs)


def _names(values: str | Iterable[str] | None) -> list[str]:
    """The values of a field, which may be one string, without blanks and repetitions, sorted."""
    several = [values] if isinstance(values, str) else values or ()
    return sorted({value.strip() for value in several} - {""})
