"""The command `sample`: which documents to label next."""

from __future__ import annotations

import json
from enum import Enum
from typing import Annotated

import typer

from tagwright.app.arguments import Columns, Docs, InputFormat, LabelFile, Language, MaxDocumentSize, Model, Quiet
from tagwright.core.terminal import escaped


class By(str, Enum):
    """How documents are chosen."""

    uncertainty = "uncertainty"
    random = "random"
    length = "length"


class Printed(str, Enum):
    """How they are printed."""

    text = "text"
    jsonl = "jsonl"


def sample(
    docs: Docs,
    columns: Columns = "",
    input_format: InputFormat = "",
    _max_document_size: MaxDocumentSize = None,
    model: Model = None,
    labels: LabelFile = None,
    language: Language = "",
    n: Annotated[int, typer.Option("-n", min=1, help="How many documents.")] = 50,
    by: Annotated[
        By,
        typer.Option(
            help="random; length: of all lengths; uncertainty: those whose labels the tagger is least sure about, far "
            "from each other."
        ),
    ] = By.random,
    seed: Annotated[int, typer.Option(min=0, help="Of what is drawn.")] = 0,
    output: Annotated[Printed, typer.Option("--format", help="text: ids; jsonl: with their titles.")] = Printed.text,
    quiet: Quiet = False,
) -> None:
    """Choose documents to label next: prints their ids. Documents that have labels are left out.

    Random is the default: neither of the others was better on three of four corpora.
    """
    from tagwright.app import inputs
    from tagwright.core.progress import silence
    from tagwright.tagger.sampling import sample as chosen

    with silence(quiet):
        documents = [document for document in inputs.read(docs, columns, input_format) if not document.labels]
        tagger = inputs.tagger(model, labels, language, [], documents) if by is By.uncertainty else None
        for place in chosen(documents, n, by.value, tagger=tagger, seed=seed):
            found = documents[place]
            as_json = json.dumps({"id": found.id, "title": found.title}, ensure_ascii=False)
            print(escaped(as_json if output is Printed.jsonl else found.id))
