"""The command `suggest`: labels for documents, a batch after the other."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Annotated

import typer

from tagwright.app.arguments import FORMATS, Cut, Docs, Format, Named, Quiet, Reading
from tagwright.errors import ConfigError

if TYPE_CHECKING:
    from tagwright.data.corpus import Corpus
    from tagwright.tagger import Suggestions, Tagger
    from tagwright.tagger.acceptance import SuggestOptions
    from tagwright.types import Document


def suggest(
    docs: Docs,
    reading: Reading,
    chosen: Named,
    cut: Cut,
    output: Annotated[Format, typer.Option("--format", help=FORMATS)] = "text",
    explain: Annotated[bool, typer.Option(help="Show the evidence for each label: spans of the document.")] = False,
    path: Annotated[
        list[str],
        typer.Option(
            metavar="EXPR", help="Also show which neighbours by this meta-path, such as P->P<-P, share the label."
        ),
    ] = [],  # noqa: B006
    paths: Annotated[
        bool, typer.Option("--paths", help="Print names with their broader labels: Animals > Birds.")
    ] = False,
    _quiet: Quiet = False,
) -> None:
    """Suggest labels for documents."""
    from tagwright.app import inputs, shown_names
    from tagwright.app.render import check_workbook_output
    from tagwright.app.suggestions import Naming, suggestion_lines, write_workbook
    from tagwright.data.corpus import Corpus
    from tagwright.tagger.acceptance import SuggestOptions

    if output == "xlsx":
        check_workbook_output("suggestions.xlsx")
    if path and not explain:
        raise ConfigError("meta-paths add neighbours to the explanation of a label; add --explain")
    options = SuggestOptions(**vars(cut))
    with inputs.open_tagger(chosen, inputs.documents_to_tag(docs, reading, chosen)) as (tagger, documents):
        if path:
            suggested = explained_by_neighbours(tagger, Corpus.of(documents), options, path)
        else:
            suggested = tagger.suggestions(documents, options, explain=explain)
        asked = shown_names.asked_names(chosen, tagger.vocabulary)
        naming = Naming(shown_names.names_for(chosen, tagger, asked), paths, asked)
        if output == "xlsx":
            write_workbook(suggested, sys.stdout.buffer, naming)
        else:
            for line in suggestion_lines(suggested, tagger, output, naming):
                print(line)
        sys.stdout.flush()


def explained_by_neighbours(
    tagger: Tagger, corpus: Corpus, options: SuggestOptions, paths: Sequence[str]
) -> Iterator[tuple[Document, Suggestions]]:
    """Each document with its suggestions, their evidence, and of each meta-path the neighbours that share the label.

    All documents are tagged before the first is passed on. Raises ConfigError for a meta-path that the data lack, and
    as `Tagger.check` does.
    """
    from tagwright.graph.neighbours import network_evidence
    from tagwright.graph.network import Graph
    from tagwright.tagger import Suggestions, batches
    from tagwright.types import Run

    graph = Graph.of(corpus)
    joined, ids = [graph.follow(path) for path in paths], corpus.ids
    tagger.check(options)
    whole = Run.concat([tagger.best(batch, options) for batch in batches(corpus)])
    for row, (document, labels) in enumerate(tagger.suggestions(corpus, options, explain=True)):
        near = (network_evidence(joined, ids, whole, row, label) for label in whole[row][0].tolist())
        joined_by = (replace(one, neighbours=shared) for one, shared in zip(labels, near, strict=True))
        yield document, Suggestions(joined_by, none=labels.none)
