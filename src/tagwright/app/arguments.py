"""The arguments and options that several commands have, alone and in groups.

A command takes a group as one parameter: `expand_groups` shows its fields to typer as options of their own.
"""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import MISSING, dataclass, field, fields, is_dataclass
from functools import wraps
from inspect import Parameter, Signature, signature
from pathlib import Path
from typing import Annotated, Any, Literal, TypeAlias, get_type_hints

import typer

from tagwright.core.outputs import REPORT, Written, check_kind, check_output
from tagwright.core.progress import silence, silence_log
from tagwright.core.versions import in_use
from tagwright.defaults import MAX_LABELS
from tagwright.errors import ConfigError, option

Format: TypeAlias = Literal["text", "jsonl", "trec", "tsv", "csv", "xlsx", "label_studio", "argilla"]

FORMATS = (
    "Output format. jsonl, trec: run files. tsv, csv, xlsx: a table with a row for each suggestion; csv puts an "
    "apostrophe before cells that look like formulas; send xlsx to a file with > FILE.xlsx. label_studio, argilla: "
    "JSON for these tools."
)

Docs = Annotated[list[str], typer.Argument(metavar="DOCS...", help="Documents.")]


def _forbid_fetching(context: typer.Context, wanted: bool) -> None:
    """Fetch nothing while the command runs."""
    if wanted:
        from tagwright.encoders.device import model_settings

        context.with_resource(model_settings(offline=True))


Offline = Annotated[
    bool,
    typer.Option(
        "--offline",
        callback=_forbid_fetching,
        help="Do not fetch encoders from the Hugging Face Hub, as with HF_HUB_OFFLINE=1.",
    ),
]


Encoding = Annotated[
    str,
    typer.Option(
        "--encoding",
        metavar="NAME",
        help="Encoding of texts and tables that are not UTF-8, such as cp1252.",
    ),
]
LabelFile = Annotated[
    Path | None, typer.Option("--labels", help="Vocabulary: JSONL, TSV, CSV, XLSX, SKOS, or lines of names or paths.")
]
Language = Annotated[
    str,
    typer.Option(
        help="Language of the documents, for stemming, stop words and the names to search: fi, finnish, de+en, none. "
        "Recognised by default."
    ),
]
NamesIn = Annotated[
    str,
    typer.Option(
        metavar="CODE",
        help="Language of printed names, such as sv; those in other languages are marked. By default the document's.",
    ),
]


def model_in_use(model: Path | None) -> Path | None:
    """Of a folder of models the one in use, so that a command does all of its work with that one."""
    return None if model is None else in_use(model)


MODEL: Any = typer.Option(
    "--model", callback=model_in_use, help="A saved tagger, or a folder of them with a file `current`."
)
Model = Annotated[Path | None, MODEL]
Settings = Annotated[
    list[str],
    typer.Option(
        "--set",
        metavar="KEY=VALUE",
        help="An option of the zero-shot method; `tagwright train zero_shot --options` lists them. With --model, an "
        "option of a re-ranking language model: llm.model=NAME.",
    ),
]
Train = Annotated[list[str], typer.Option(help="Labelled training documents, for label frequencies (PSP, slices).")]
Json = Annotated[bool, typer.Option("--json", help="Print JSON.")]
ReplaceGone = Annotated[
    bool,
    typer.Option(
        "--replace-gone",
        help="Replace accepted labels that are gone from the vocabulary with their successors, if there are any.",
    ),
]
ExcludeSelf = Annotated[bool, typer.Option(help="Never suggest the label with the document's own id.")]
SkipUnlabelled = Annotated[bool, typer.Option(help="Leave out documents without gold labels.")]
Unknown = Annotated[
    Literal["warn", "error", "ignore"],
    typer.Option(
        "--unknown-labels", help="Gold labels missing from the vocabulary: warn, stop with an error, or ignore."
    ),
]

LabelFilter = Annotated[
    Path | None,
    typer.Option(help="Labels that do not count: positions of document and label, as in filter_labels_test.txt."),
]
Propensity = Annotated[
    str, typer.Option(metavar="NAME|A,B", help="Constants of PSP: usual, wikipedia, amazon, or A,B.")
]
Measures = Annotated[
    str, typer.Option(metavar="NAMES", help="Measures to print, such as P@1,R@50; with --train also PSP@10.")
]


def _silence_command(context: typer.Context, wanted: bool) -> None:
    """Show no progress and no hints while the command runs."""
    context.with_resource(silence(wanted))
    if wanted:
        context.with_resource(silence_log("tagwright.stages.dense.retriever"))


def _print_details(context: typer.Context, wanted: bool) -> None:
    from tagwright.core.progress import show_details

    context.with_resource(show_details(wanted))


Verbose = Annotated[
    bool, typer.Option("--verbose", callback=_print_details, help="Also print what was tried, and why.")
]
Quiet = Annotated[bool, typer.Option("--quiet", callback=_silence_command, help="No progress bars, no hints.")]
Report = Annotated[Path | None, Written(own=REPORT), typer.Option(help="Write an HTML page with tables and plots.")]


@dataclass(frozen=True)
class Reading:
    """How documents are read."""

    columns: Annotated[
        str,
        typer.Option(
            metavar="FIELD=COLUMN,...",
            help="The column of each field with another name: title=Name,text=Body,labels=Codes; fields are also id, "
            "abstract, and any name for metadata.",
        ),
    ] = ""
    input_format: Annotated[
        str, typer.Option(metavar="FORMAT", help="Format of the documents, if name and content do not show it.")
    ] = ""
    encoding: Encoding = ""


@dataclass(frozen=True)
class Chosen:
    """The tagger: a saved one, with another vocabulary if one is given, or else the zero-shot method."""

    labels: LabelFile = None
    language: Language = ""
    model: Model = None
    settings: Settings = field(default_factory=list)
    offline: Offline = False


@dataclass(frozen=True)
class Named(Chosen):
    """The tagger, and the language of the names to print."""

    names_in: NamesIn = ""


@dataclass(frozen=True)
class Conditions:
    """Which labels may be suggested, and how their hierarchy limits them."""

    only: Annotated[
        list[str],
        typer.Option(
            metavar="CONDITION",
            help="Suggest only labels that fulfil this; may be repeated. An id, or id:, notation:, type:, scheme:, "
            "collection: or branch: and a value; a final * matches any ending: notation:33*. Of several conditions "
            "of the same kind, a label needs to fulfil only one.",
        ),
    ] = field(default_factory=list)
    without: Annotated[
        list[str], typer.Option(metavar="CONDITION", help="Suggest no labels that fulfil this; may be repeated.")
    ] = field(default_factory=list)
    hierarchy: Annotated[
        Literal["ranked", "narrowest", "all"],
        typer.Option(
            help="ranked: no change. narrowest: a label replaces those above it. all: also all labels above each.",
        ),
    ] = "ranked"
    per_branch: Annotated[int | None, typer.Option(min=1, help="Maximum number of labels below one top label.")] = None


@dataclass(frozen=True)
class Cut(Conditions):
    """Which ranked labels are suggested: the fields of `SuggestOptions`."""

    k: Annotated[int, typer.Option("-k", "--max-labels", min=1, help="Maximum number of labels per document.")] = (
        MAX_LABELS
    )
    min_score: Annotated[float | None, typer.Option(help="Minimum score of a label, on the tagger's own scale.")] = None
    min_confidence: Annotated[
        float | None,
        typer.Option(
            min=0,
            max=1,
            help="Minimum estimated probability that a label is right: 0.5 likely, 0.2 possible.",
        ),
    ] = None
    best_cut: Annotated[
        bool,
        typer.Option(
            "--best-cut",
            help="For each document, keep as many labels as give the highest expected F1.",
        ),
    ] = False
    thresholds: Annotated[
        bool, typer.Option("--thresholds", help="Keep only labels that reach their thresholds from `evaluate --tune`.")
    ] = False
    exclude_self: ExcludeSelf = False


@dataclass(frozen=True)
class Scoring(Conditions):
    """Which documents and labels are scored."""

    exclude_self: ExcludeSelf = False
    skip_unlabelled: SkipUnlabelled = False
    unknown: Unknown = "warn"
    qrels: Annotated[
        Path | None, typer.Option(help="Gold labels in TREC's qrels format, instead of the documents' own.")
    ] = None


def expand_groups(command: Callable[..., None]) -> Callable[..., None]:
    """The command as typer reads it: a parameter that is a group stands for the fields of this dataclass.

    What the command is to write is tried before it does anything. Raises TagwrightError as `check_output` does.
    """
    parameters = list(signature(command, eval_str=True).parameters.values())
    groups: dict[str, Any] = {each.name: each.annotation for each in parameters if is_dataclass(each.annotation)}
    shown = list[Parameter]()
    for parameter in parameters:
        shown += _options(groups[parameter.name]) if parameter.name in groups else [parameter]

    @wraps(command)
    def run(**values: Any) -> None:
        _check_outputs(shown, values)
        made = {
            name: group(**{member.name: values.pop(member.name) for member in fields(group)})
            for name, group in groups.items()
        }
        command(**made, **values)

    run.__signature__ = Signature([each.replace(kind=Parameter.KEYWORD_ONLY) for each in shown])  # type: ignore[attr-defined]
    return run


def _options(group: Any) -> list[Parameter]:
    types, options = get_type_hints(group, include_extras=True), list[Parameter]()
    for member in fields(group):
        default = member.default if member.default_factory is MISSING else member.default_factory()
        default = Parameter.empty if default is MISSING else default
        options.append(Parameter(member.name, Parameter.KEYWORD_ONLY, default=default, annotation=types[member.name]))
    return options


def _check_outputs(parameters: Iterable[Parameter], values: Mapping[str, Any]) -> None:
    marks = {
        parameter.name: mark
        for parameter in parameters
        for mark in getattr(parameter.annotation, "__metadata__", ())
        if isinstance(mark, Written)
    }
    others: list[Path | str] = []
    for name in values.keys() - marks:  # paths are read, and so are lists of texts but for those of options
        parts = values[name] if isinstance(values[name], list | tuple) else [values[name]]
        in_list = parts is values[name] and name in ("docs", "train", "test", "documents", "model")
        others += [part for part in parts if isinstance(part, Path) or in_list]
    for name, mark in marks.items():
        if values[name] is not None:
            check_output(values[name], others, option(name), log=mark.log)
            check_kind(values[name], mark.own, option(name), values.get(mark.like))
            others.append(values[name])


def refuse(problems: Mapping[str, object]) -> None:
    """Raise ConfigError for the first problem that there is: options that do not go together, and what to do."""
    if problem := next((problem for problem, there in problems.items() if there), ""):
        raise ConfigError(problem)
