"""The command `suggest`: labels for documents, a batch after the other."""

from __future__ import annotations

import sys
from itertools import chain, islice
from typing import Annotated

import typer

from tagwright.app.arguments import FORMATS, Cut, Docs, Format, Named, Quiet, Reading


def suggest(
    docs: Docs,
    reading: Reading,
    chosen: Named,
    cut: Cut,
    output: Annotated[Format, typer.Option("--format", help=FORMATS)] = "text",
    explain: Annotated[bool, typer.Option(help="Show the evidence for each label: spans of the document.")] = False,
    paths: Annotated[
        bool, typer.Option("--paths", help="Print names with their broader labels: Animals > Birds.")
    ] = False,
    _quiet: Quiet = False,
) -> None:
    """Suggest labels for documents."""
    from tagwright.app import inputs, shown_names
    from tagwright.app.render import check_workbook_output
    from tagwright.app.suggestions import Naming, suggestion_lines, write_workbook
    from tagwright.tagger.acceptance import SuggestOptions

    if output == "xlsx":
        check_workbook_output("suggestions.xlsx")
    options = SuggestOptions(**vars(cut))
    documents = inputs.documents_to_tag(docs, reading, chosen)
    first = list(islice(documents, 1))  # read before anything heavy is loaded
    tagger = inputs.tagger(chosen, first)
    suggested = tagger.suggestions(chain(first, documents), options, explain=explain)
    asked = shown_names.asked_names(chosen, tagger.vocabulary)
    naming = Naming(shown_names.names_for(chosen, tagger, asked), paths, asked)
    if output == "xlsx":
        write_workbook(suggested, sys.stdout.buffer, naming)
    else:
        for line in suggestion_lines(suggested, tagger, output, naming):
            print(line)
    sys.stdout.flush()
