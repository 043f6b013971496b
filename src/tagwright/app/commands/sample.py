"""The command `sample`: which documents to label next."""

import json
from typing import Annotated, Literal

import typer

from tagwright.app.arguments import Chosen, Conditions, Docs, Quiet, Reading
from tagwright.core.display import for_programs


def sample(
    docs: Docs,
    reading: Reading,
    chosen: Chosen,
    conditions: Conditions,
    n: Annotated[int, typer.Option("-n", min=1, help="Number of documents.")] = 50,
    by: Annotated[
        Literal["uncertainty", "random", "length"],
        typer.Option(
            help="random; length: evenly over all lengths; uncertainty: documents with the least certain suggestions, "
            "far from each other."
        ),
    ] = "random",
    seed: Annotated[int, typer.Option(min=0, help="Seed of the random choice.")] = 0,
    output: Annotated[
        Literal["text", "jsonl"], typer.Option("--format", help="text: ids; jsonl: ids and titles.")
    ] = "text",
    _quiet: Quiet = False,
) -> None:
    """Choose documents to label next: prints their ids. Documents that have labels are left out.

    Random is the default: neither of the others was better on three of four corpora.
    """
    from tagwright.app import inputs
    from tagwright.review import sampling

    documents = [document for document in inputs.read(docs, reading) if not document.labels]
    tagger = inputs.tagger(chosen) if by == "uncertainty" else None
    for place in sampling.sample(documents, n, by, tagger=tagger, seed=seed, **vars(conditions)):
        found = documents[place]
        as_json = json.dumps({"id": found.id, "title": found.title}, ensure_ascii=False)
        print(for_programs(as_json if output == "jsonl" else found.id))
