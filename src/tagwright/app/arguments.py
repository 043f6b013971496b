"""The arguments and options that several commands have."""

from __future__ import annotations

from enum import Enum
from pathlib import Path
from typing import Annotated, Optional

import typer

from tagwright.readers.limits import document_limit


class Format(str, Enum):
    """How suggestions are printed."""

    text = "text"
    jsonl = "jsonl"
    tsv = "tsv"
    spreadsheet = "spreadsheet"


FORMATS = "How to print; tsv has cells as they are, spreadsheet an apostrophe before those that look like formulas."


class Method(str, Enum):
    """What can be trained."""

    zero_shot = "zero-shot"
    rts = "rts"
    maclr = "maclr"
    micol = "micol"
    futex = "futex"
    ict = "ict"
    simcse = "simcse"
    finetune = "finetune"
    svm = "svm"
    classifier = "classifier"
    de_ret = "de-ret"
    depl = "depl"
    depl_cls = "depl+cls"


class UnknownLabels(str, Enum):
    """What is done about gold labels that the vocabulary lacks."""

    warn = "warn"
    error = "error"
    ignore = "ignore"


Docs = Annotated[list[str], typer.Argument(metavar="DOCS...", help="Documents.", show_default=False)]
Columns = Annotated[
    str,
    typer.Option(
        metavar="FIELD=COLUMN,...",
        help="Which columns hold what, where they have names of their own: title=Name,text=Body,labels=Codes; "
        "also id, abstract, and any name for metadata.",
        show_default=False,
    ),
]
InputFormat = Annotated[
    str,
    typer.Option(metavar="FORMAT", help="The format of DOCS, where name and content do not tell.", show_default=False),
]


def _limit(context: typer.Context, size: Optional[int]) -> None:  # noqa: UP045
    """Hold while the command runs, wherever it reads."""
    context.with_resource(document_limit(size))


MaxDocumentSize = Annotated[
    Optional[int],  # noqa: UP045
    typer.Option(
        "--max-document-size",
        metavar="BYTES",
        min=1,
        callback=_limit,
        help="Read documents of so many bytes, unpacked, at most; 20,000,000 or TAGWRIGHT_MAX_DOCUMENT_SIZE if unset.",
        show_default=False,
    ),
]
LabelFile = Annotated[
    Optional[Path],  # noqa: UP045  (typer evaluates this on Python 3.10)
    typer.Option("--labels", help="Vocabulary: JSONL, TSV, CSV, SKOS, or one name or path a line.", show_default=False),
]
Language = Annotated[
    str,
    typer.Option(
        help="Language of names and endings: fi, finnish, de+en, none. Recognised when unset.", show_default=False
    ),
]
Model = Annotated[Optional[Path], typer.Option("--model", help="A saved tagger.", show_default=False)]  # noqa: UP045
MinConfidence = Annotated[
    Optional[float],  # noqa: UP045
    typer.Option(
        "--min-confidence",
        min=0,
        max=1,
        help="Only labels that are right with this probability, as the tagger sees it: 0.5 likely, 0.2 possible.",
        show_default=False,
    ),
]
Settings = Annotated[
    list[str],
    typer.Option(
        "--set",
        metavar="KEY=VALUE",
        help="An option of the zero-shot method: tagwright options zero-shot.",
        show_default=False,
    ),
]
Train = Annotated[
    list[str],
    typer.Option(help="Labelled documents, read for label frequencies only: PSP, slices.", show_default=False),
]
Json = Annotated[bool, typer.Option("--json", help="Print JSON.")]
ExcludeSelf = Annotated[bool, typer.Option(help="Never suggest the label whose id is the document's own.")]
SkipUnlabelled = Annotated[bool, typer.Option(help="Leave out documents without gold labels.")]
Unknown = Annotated[
    UnknownLabels,
    typer.Option("--unknown-labels", help="Gold labels that the vocabulary lacks: leave out, warning or not, or stop."),
]
Quiet = Annotated[bool, typer.Option("--quiet", help="No progress bars, no hints.")]
