"""The command `train`: a training of `api.job`, with the options of its method."""

from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated

import typer

from tagwright.app.arguments import (
    Chosen,
    Docs,
    Json,
    LabelFile,
    Language,
    Model,
    Offline,
    Quiet,
    Reading,
    Unknown,
    Verbose,
)
from tagwright.core.display import escape_controls
from tagwright.errors import ConfigError
from tagwright.registry import METHODS


@dataclass(frozen=True)
class JobOptions:
    """Fields of a `Job` as options: see there."""

    labels: LabelFile = None
    language: Language = ""
    model: Model = None
    unknown: Unknown = "warn"
    check: Annotated[
        bool, typer.Option(help="Compare with zero_shot on a tenth of the labelled documents; not for auto.")
    ] = True
    output: Annotated[Path | None, typer.Option(help="Where to save the tagger.")] = None
    resume: Annotated[bool, typer.Option("--resume", help="Continue an interrupted training.")] = False
    overwrite: Annotated[bool, typer.Option("--overwrite", help="Replace a tagger saved at --output.")] = False
    fuse: Annotated[
        bool, typer.Option("--fuse", help="Add the stages of the zero-shot method: names, words, meaning.")
    ] = False
    fuse_with: Annotated[list[Path], typer.Option(metavar="DIR", help="Add the stages of a saved tagger.")] = field(
        default_factory=list
    )
    keywords: Annotated[
        Path | None, typer.Option(help="depl: keywords of the labels, as `tagwright labels` prints them.")
    ] = None
    reviews: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="auto: learn from reviewers' decisions in a file of `serve --reviews`."),
    ] = None
    share_of_labels: Annotated[
        float | None, typer.Option(help="finetune: learn from this share of the labels; 0.01 is 1%.")
    ] = None
    share_of_pairs: Annotated[
        float | None, typer.Option(help="finetune: learn from this share of the documents' labels.")
    ] = None


def train(
    method: Annotated[
        str,
        typer.Argument(metavar="METHOD", help=f"{', '.join(METHODS)}, or one of another package."),
    ],
    reading: Reading,
    job: JobOptions,
    docs: Docs = [],  # noqa: B006
    list_options: Annotated[
        bool, typer.Option("--options", help="Print the options of METHOD; with --paper also the paper's values.")
    ] = False,
    config: Annotated[Path | None, typer.Option(help="TOML file with options of the method.")] = None,
    settings: Annotated[
        list[str], typer.Option("--set", metavar="KEY=VALUE", help="An option of the method; --options lists them.")
    ] = [],  # noqa: B006
    paper: Annotated[
        bool, typer.Option("--paper", help="Start from the settings of the method's paper; --set overrides them.")
    ] = False,
    published_code: Annotated[
        bool,
        typer.Option("--published-code", help="Like --paper, but as in the authors' program where it differs."),
    ] = False,
    as_json: Json = False,
    _offline: Offline = False,
    _quiet: Quiet = False,
    _verbose: Verbose = False,
) -> None:
    """Train a method and save its tagger.

    auto trains and combines whatever improves results, with labelled documents or
    without; zero_shot saves the untrained method. Without labels, use rts or
    maclr, with metadata micol, with full texts futex. With few labels, use
    finetune or auto on a saved tagger (--model); auto then learns how to combine
    its stages. With many labels, use svm or depl.

    `tagwright train METHOD --options` lists what --set accepts; `tagwright describe DOCS` says which method suits.
    """
    from tagwright.api.job import Job
    from tagwright.api.options import configuration, find_method, settings_of_paper
    from tagwright.app import inputs, render
    from tagwright.app.options import options_of, values_of

    kind = find_method(method)
    if list_options:
        theirs = settings_of_paper(method, published_code=published_code) if paper or published_code else None
        of = "published code" if published_code else "paper"
        render.print_options(options_of(kind.config, theirs), as_json=as_json, of=of)
        return
    if job.output is None:
        raise ConfigError("where is the tagger to be saved? --output DIR")
    if not docs and find_method(method).learns != "nothing":
        raise ConfigError(f"{method} learns from documents; name some: train {method} DOCS...")
    Job(
        method=method,
        config=configuration(
            method, values_of(config, settings), job.language, paper=paper, published_code=published_code
        ),
        documents=(lambda: inputs.read(docs, reading, Chosen(job.labels, job.language, job.model))) if docs else (),
        **vars(job),
    ).run()
    print(escape_controls(f"saved {job.output}"))
