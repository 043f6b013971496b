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


FORMATS = "How to print; spreadsheet is tsv with an apostrophe before cells that look like formulas."


class Method(str, Enum):
    """What can be trained."""

    auto = "auto"
    zero_shot = "zero-shot"
    rts = "rts"
    maclr = "maclr"
    micol = "micol"
    futex = "futex"
    ict = "ict"
    simcse = "simcse"
    finetune = "finetune"
    combine = "combine"
    svm = "svm"
    classifier = "classifier"
    de_ret = "de-ret"
    depl = "depl"
    depl_cls = "depl+cls"


class UnknownLabels(str, Enum):
    """How to treat gold labels missing from the vocabulary."""

    warn = "warn"
    error = "error"
    ignore = "ignore"


Docs = Annotated[list[str], typer.Argument(metavar="DOCS...", help="Documents.", show_default=False)]
Columns = Annotated[
    str,
    typer.Option(
        metavar="FIELD=COLUMN,...",
        help="Columns of the fields, if they have other names: title=Name,text=Body,labels=Codes; "
        "also id, abstract, and any name for metadata.",
        show_default=False,
    ),
]
InputFormat = Annotated[
    str,
    typer.Option(metavar="FORMAT", help="The format of DOCS, if name and content do not show it.", show_default=False),
]


def _limit(context: typer.Context, size: Optional[int]) -> None:  # noqa: UP045
    """Applies to all readers while the command runs."""
    context.with_resource(document_limit(size))


MaxDocumentSize = Annotated[
    Optional[int],  # noqa: UP045
    typer.Option(
        "--max-document-size",
        metavar="BYTES",
        min=1,
        callback=_limit,
        help="The largest document to read, in uncompressed bytes; 20,000,000 or TAGWRIGHT_MAX_DOCUMENT_SIZE if unset.",
        show_default=False,
    ),
]


def _offline(context: typer.Context, wanted: bool) -> None:
    """Fetch nothing while the command runs."""
    if wanted:
        from tagwright.encoders.model_folder import offline

        context.with_resource(offline())


Offline = Annotated[
    bool,
    typer.Option(
        "--offline", callback=_offline, help="Fetch no encoder from the Hugging Face Hub, as with HF_HUB_OFFLINE=1."
    ),
]
LabelFile = Annotated[
    Optional[Path],  # noqa: UP045  (typer evaluates this on Python 3.10)
    typer.Option("--labels", help="Vocabulary: JSONL, TSV, CSV, SKOS, or a name or path per line.", show_default=False),
]
Language = Annotated[
    str,
    typer.Option(
        help="Language for stemming and stop words: fi, finnish, de+en, none. Recognised by default.",
        show_default=False,
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
MinScore = Annotated[
    Optional[float],  # noqa: UP045
    typer.Option(
        "--min-score", help="Only labels with this score or more, on the tagger's own scale.", show_default=False
    ),
]
ExplainedBy = Annotated[
    list[str],
    typer.Option(help="A meta-path, such as P->P<-P: explain by neighbours that share the label.", metavar="EXPR"),
]
BroaderNames = Annotated[bool, typer.Option("--paths", help="Names with those of broader labels: Animals > Birds.")]
BestCut = Annotated[
    bool,
    typer.Option(
        "--best-cut", help="Of each document as many labels as have the greatest expected F1, as the tagger sees it."
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
    typer.Option(help="Labelled training documents, for label frequencies (PSP, slices).", show_default=False),
]
Json = Annotated[bool, typer.Option("--json", help="Print JSON.")]
ExcludeSelf = Annotated[bool, typer.Option(help="Never suggest the label whose id is the document's own.")]
SkipUnlabelled = Annotated[bool, typer.Option(help="Leave out documents without gold labels.")]
Unknown = Annotated[
    UnknownLabels,
    typer.Option(
        "--unknown-labels",
        help="Gold labels missing from the vocabulary: warn, ignore, or stop.",
    ),
]
Quiet = Annotated[bool, typer.Option("--quiet", help="No progress bars, no hints.")]
