"""Add neighbours that share a label to the suggestions of a whole corpus."""

from collections.abc import Iterator, Sequence
from dataclasses import replace

from tagwright.combining.acceptance import SuggestOptions
from tagwright.data.corpus import Corpus
from tagwright.graph.network import Graph
from tagwright.stages.network_evidence import network_evidence
from tagwright.tagger.pipeline import Suggestion, Tagger, batches
from tagwright.types import Document, Run


def explained_by_neighbours(
    tagger: Tagger, corpus: Corpus, options: SuggestOptions, paths: Sequence[str]
) -> Iterator[tuple[Document, list[Suggestion]]]:
    """Each document with its suggestions, their evidence, and of each meta-path the neighbours that share the label.

    All documents are tagged before the first is passed on. Raises ConfigError for a meta-path that the data lack, and
    as `Tagger.check` does.
    """
    graph = Graph.of(corpus)
    joined, ids = [graph.follow(path) for path in paths], corpus.ids
    tagger.check(options)
    runs = [tagger.best(batch, options) for batch in batches(corpus)]
    whole = Run.concat(runs)
    for row, (document, labels) in enumerate(tagger.suggestions(corpus, options, explain=True)):
        near = (network_evidence(joined, ids, whole, row, label) for label in whole[row][0].tolist())
        yield document, [replace(one, neighbours=shared) for one, shared in zip(labels, near, strict=True)]
