"""Tag documents batch by batch, so that any number of them needs bounded memory."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any

from tagwright.combining.acceptance import acceptable
from tagwright.data.corpus import Corpus
from tagwright.errors import ConfigError, option
from tagwright.graph.network import Graph
from tagwright.stages.network_evidence import network_evidence
from tagwright.tagger.pipeline import Suggestion, Tagger, batches
from tagwright.types import Document, Run


def suggestions(
    tagger: Tagger,
    corpus: Corpus,
    k: int = 10,
    *,
    exclude_self: bool = False,
    explain: bool = False,
    paths: Sequence[str] = (),
    min_score: float | None = None,
    min_confidence: float | None = None,
    best_cut: bool = False,
) -> Iterator[tuple[Document, list[Suggestion]]]:
    """Each document with its k best labels, best first; a batch is tagged when its first document is asked for.

    exclude_self: a document whose id is that of a label is not tagged with this label. explain: add the evidence.
    paths: meta-paths whose neighbours are part of the evidence; all documents are then tagged before the first is
    passed on. min_score, min_confidence: leave out what has less. best_cut: of each document as many labels as have the
    greatest expected F1. Raises ConfigError for paths without explain, for a meta-path that the data lack, and for a
    min_confidence or a best_cut where the tagger estimates no confidences.
    """
    if paths and not explain:
        remedy = f"add {option('explain', python='explain=True')}"
        raise ConfigError(f"meta-paths add neighbours to the explanation of a label; {remedy}")
    graph = Graph.of(corpus) if paths else None
    joined = [graph.follow(path) for path in paths] if graph else []
    rules: dict[str, Any] = {
        "exclude_self": exclude_self,
        "min_score": min_score,
        "min_confidence": min_confidence,
        "best_cut": best_cut,
    }
    ids, whole = (corpus.ids, best_labels(tagger, corpus, k, **rules)) if joined else ([], None)
    start = 0
    for batch in batches(corpus):
        pool = tagger.candidates(batch)
        if whole:
            run = whole.take(range(start, start + len(batch)))
        else:
            run = best_labels(tagger, batch, k, ranking=tagger.rank(pool), **rules)
        found = tagger.explained(pool, tagger.named(run)) if explain else tagger.named(run)
        for row, (document, labels) in enumerate(zip(batch, found, strict=True)):
            if whole:
                near = (network_evidence(joined, ids, whole, start + row, label) for label in run[row][0].tolist())
                labels = [replace(one, neighbours=shared) for one, shared in zip(labels, near, strict=True)]
            yield document, labels
        start += len(batch)


def best_labels(
    tagger: Tagger,
    documents: Sequence[Document],
    k: int,
    *,
    ranking: Run | None = None,
    exclude_self: bool = False,
    min_confidence: float | None = None,
    min_score: float | None = None,
    best_cut: bool = False,
) -> Run:
    """The k best labels of each document, without its own and those that are not acceptable, as in `suggestions`.

    ranking: by the tagger, of more than k labels each, where it is known already.
    """
    run = tagger.tag(documents, k + exclude_self) if ranking is None else ranking
    run = run.without(tagger.vocabulary.own(documents)) if exclude_self else run
    return acceptable(run.top(k), min_score, min_confidence, cut=best_cut)
