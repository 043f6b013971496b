"""The command `train`: a training of `api.job`, with the options of its method."""

from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated

import typer

from tagwright.app.arguments import Basis, Docs, Json, Offline, Quiet, Reading, Unknown, Verbose
from tagwright.core.display import escape_controls
from tagwright.errors import ConfigError


@dataclass(frozen=True)
class JobOptions(Basis):
    """Fields of a `Job` as options: see there."""

    unknown: Unknown = "warn"
    check: Annotated[
        bool, typer.Option(help="Compare with zero_shot on a tenth of the labelled documents; not of auto.")
    ] = True
    output: Annotated[Path | None, typer.Option(help="Where to save the tagger.")] = None
    resume: Annotated[bool, typer.Option("--resume", help="Continue a training that was interrupted.")] = False
    overwrite: Annotated[bool, typer.Option("--overwrite", help="Replace a tagger saved there.")] = False
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
        typer.Option(metavar="FILE", help="auto: learn from decisions of reviewers, a file of `serve`."),
    ] = None
    share_of_labels: Annotated[
        float | None, typer.Option(help="finetune: learn from this share of the labels, 0.01 being 1%.")
    ] = None
    share_of_pairs: Annotated[
        float | None, typer.Option(help="finetune: learn from this share of the documents' labels.")
    ] = None


def train(
    method: Annotated[
        str,
        typer.Argument(metavar="METHOD", help="auto, zero_shot, rts, maclr, micol, futex, depl, svm or finetune."),
    ],
    reading: Reading,
    job: JobOptions,
    docs: Docs = [],  # noqa: B006
    list_options: Annotated[
        bool, typer.Option("--options", help="Print the options of METHOD, with --paper those of its paper too.")
    ] = False,
    config: Annotated[Path | None, typer.Option(help="Options of the method: TOML.")] = None,
    settings: Annotated[
        list[str], typer.Option("--set", metavar="KEY=VALUE", help="An option of the method; --options lists them.")
    ] = [],  # noqa: B006
    paper: Annotated[
        bool, typer.Option("--paper", help="Start from the settings of the method's paper; --set changes single ones.")
    ] = False,
    published_code: Annotated[
        bool,
        typer.Option("--published-code", help="As --paper, but as the authors' programs have it where they differ."),
    ] = False,
    minutes: Annotated[
        float | None, typer.Option(help="auto: leave out stages that would take longer in all; 10 by default.")
    ] = None,
    as_json: Json = False,
    _offline: Offline = False,
    _quiet: Quiet = False,
    _verbose: Verbose = False,
) -> None:
    """Train a method and save its tagger.

    Trains and combines what pays, with labels of some documents or of none: auto.
    Without training, only saved: zero_shot. Without labels: rts, maclr; micol
    with metadata; futex with full texts. From few labels: finetune, which needs a
    saved tagger (--model), or auto with one, which learns how to combine its
    stages. From many: svm, depl.

    `tagwright train METHOD --options` prints what --set knows; `tagwright describe DOCS` says which method suits.
    """
    from tagwright.api.job import Job
    from tagwright.api.options import check_given, configuration, find_method, settings_of_paper
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
    check_given(method, {"minutes": minutes is not None})
    values = [*settings, *([] if minutes is None else [f"minutes={minutes}"])]
    if not docs and find_method(method).learns != "nothing":
        raise ConfigError(f"{method} learns from documents; name some: train {method} DOCS...")
    Job(
        method=method,
        config=configuration(
            method, values_of(config, values), job.language, paper=paper, published_code=published_code
        ),
        documents=(lambda: inputs.read(docs, reading, job)) if docs else (),
        files=[*docs, *filter(None, [config])],
        **vars(job),
    ).run()
    print(escape_controls(f"saved {job.output}"))
