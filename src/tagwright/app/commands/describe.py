"""The command `describe`: what the data hold, what the network joins, what the candidate stages can find."""

from typing import Annotated

import typer

from tagwright.app.arguments import Chosen, Docs, Json, Quiet, Reading, Scoring
from tagwright.errors import ConfigError


def describe(
    docs: Docs,
    reading: Reading,
    chosen: Chosen,
    scoring: Scoring,
    candidates: Annotated[
        bool,
        typer.Option("--candidates", help="Show the ceiling: how many gold labels each candidate stage can find."),
    ] = False,
    graph: Annotated[
        bool, typer.Option("--graph", help="Show how many documents each common meta-path joins, and its hubs.")
    ] = False,
    path: Annotated[
        list[str], typer.Option(metavar="EXPR", help='--graph: a meta-path, such as "P-A-P" or "P->P<-P".')
    ] = [],  # noqa: B006
    as_json: Json = False,
    _quiet: Quiet = False,
) -> None:
    """Describe the data: contents, problems and applicable methods; or their network, or a tagger's candidates.

    --json names every column.

    --model, --set and the options from --only to --qrels belong to --candidates.
    """
    from tagwright.api.evaluating import read_evaluation_set
    from tagwright.app import inputs, render, shown_names
    from tagwright.evaluation import dataset, description
    from tagwright.graph.network import Graph
    from tagwright.readers.labels.files import to_vocabulary

    if not candidates and (chosen.model or chosen.settings):
        raise ConfigError("--model and --set name the tagger of --candidates; add --candidates, or leave them out")
    corpus = inputs.read(docs, reading, chosen)
    if graph:
        render.print_coverages(Graph.of(corpus).coverages(path), as_json=as_json)
    elif candidates:
        tagger = inputs.fitted_tagger(chosen, corpus)
        task = read_evaluation_set(
            corpus, shown_names.in_languages_of(corpus, chosen, tagger.vocabulary), **vars(scoring)
        )
        render.print_ceilings(*dataset.ceilings(tagger, task), len(task.gold), tagger, as_json=as_json)
    else:
        labels = to_vocabulary(chosen.labels, chosen.language, corpus) if chosen.labels else None
        render.print_description(description.describe(corpus, labels), as_json=as_json)
