"""The command `read`: documents as they are read."""

from typing import Annotated, Literal

import typer

from tagwright.app.arguments import Chosen, Docs, LabelFile, Quiet, Reading
from tagwright.errors import InputError


def read(
    docs: Docs,
    reading: Reading,
    output: Annotated[
        Literal["json", "jsonl", "qrels"],
        typer.Option(
            "--format", help="Output format; jsonl can be read again, qrels are gold labels for TREC's tools."
        ),
    ] = "json",
    labels: LabelFile = None,
    _quiet: Quiet = False,
) -> None:
    """Print documents as they were read, as JSON: title, abstract, nested sections, metadata.

    --format jsonl prints a line for each document, which can be read again unchanged. --format qrels prints gold
    labels instead, to evaluate runs with other programs; with --labels, only those in the vocabulary.
    """
    from tagwright.app import inputs, render
    from tagwright.data.subjects import relabel_document
    from tagwright.data.vocabulary import Vocabulary
    from tagwright.readers.labels.files import to_vocabulary
    from tagwright.readers.trec import qrels_lines

    chosen = Chosen(labels)
    if output != "qrels":
        for document in inputs.documents_to_tag(docs, reading, chosen):
            render.print_document(document, line=output == "jsonl")
        return
    corpus = inputs.read(docs, reading, chosen)
    own = {label for document in corpus for label in document.labels}
    if not own:
        raise InputError("none of the documents has a gold label, so there are no qrels to print")
    known = to_vocabulary(labels, "", corpus) if labels else Vocabulary(sorted(own))
    documents = (
        corpus if labels else (relabel_document(each, each.labels) for each in corpus)
    )  # all labels are their own
    render.print_lines(qrels_lines(known.gold(documents, unknown="warn"), corpus.ids, known.ids))
