"""The commands `train` and `options`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Optional

import typer

from tagwright.app.arguments import (
    Columns,
    Docs,
    InputFormat,
    Json,
    LabelFile,
    Language,
    MaxDocumentSize,
    Method,
    Model,
    Offline,
    Quiet,
    Unknown,
    UnknownLabels,
)
from tagwright.core.terminal import escaped
from tagwright.errors import ConfigError


def train(
    method: Annotated[Method, typer.Argument(help="finetune and combine continue from a saved tagger (--model).")],
    output: Annotated[Path, typer.Option(help="Where to save the tagger.", show_default=False)],
    docs: Docs = [],  # noqa: B006
    columns: Columns = "",
    input_format: InputFormat = "",
    _max_document_size: MaxDocumentSize = None,
    labels: LabelFile = None,
    language: Language = "",
    config: Annotated[Optional[Path], typer.Option(help="Options of the method: TOML.", show_default=False)] = None,  # noqa: UP045
    settings: Annotated[
        list[str],
        typer.Option(
            "--set", metavar="KEY=VALUE", help="An option of the method: tagwright options METHOD.", show_default=False
        ),
    ] = [],  # noqa: B006
    resume: Annotated[bool, typer.Option("--resume", help="Continue a training that was interrupted.")] = False,
    overwrite: Annotated[bool, typer.Option("--overwrite", help="Replace a tagger saved there.")] = False,
    fuse: Annotated[bool, typer.Option("--fuse", help="Add the zero-shot method: names, words, meaning.")] = False,
    fuse_with: Annotated[
        list[Path], typer.Option(metavar="DIR", help="Add the stages of a saved tagger.", show_default=False)
    ] = [],  # noqa: B006
    model: Model = None,
    share_of_labels: Annotated[
        Optional[float],  # noqa: UP045
        typer.Option(help="finetune: learn from this share of the labels, 0.01 being 1%.", show_default=False),
    ] = None,
    share_of_pairs: Annotated[
        Optional[float],  # noqa: UP045
        typer.Option(help="finetune: learn from this share of the documents' labels.", show_default=False),
    ] = None,
    keywords: Annotated[
        Optional[Path],  # noqa: UP045
        typer.Option(help="depl: keywords of the labels, as `tagwright labels` prints them.", show_default=False),
    ] = None,
    guesses: Annotated[
        Optional[Path],  # noqa: UP045
        typer.Option(
            metavar="RUN",
            help="svm to depl+cls: learn from the most confident suggestions of a run file instead of gold labels.",
            show_default=False,
        ),
    ] = None,
    minutes: Annotated[
        Optional[float],  # noqa: UP045
        typer.Option(help="auto: leave out what would take longer, 10 by default.", show_default=False),
    ] = None,
    reviews: Annotated[
        Optional[Path],  # noqa: UP045
        typer.Option(
            metavar="FILE",
            help="auto: learn from reviewers' decisions, a file of `tagwright serve`.",
            show_default=False,
        ),
    ] = None,
    unknown: Unknown = UnknownLabels.warn,
    check: Annotated[
        bool,
        typer.Option(help="Compare with zero-shot on up to 200 labelled documents that are left out of training."),
    ] = True,
    _offline: Offline = False,
    quiet: Quiet = False,
) -> None:
    """Train a method and save its tagger.

    Trains and combines what pays, with labels of some documents or of none: auto. Without training, only saved:
    zero-shot. Without labels: rts, maclr, ict, simcse; micol with metadata; futex with
    full texts. From few labels: finetune, or combine, which learns how to combine the stages of a
    saved tagger. From many: svm, classifier, de-ret, depl, depl+cls.

    `tagwright options METHOD` prints what --set knows; `tagwright describe DOCS` says which method suits.
    """
    from tagwright.app import inputs
    from tagwright.app.options import configure
    from tagwright.core.progress import silence
    from tagwright.job import Job
    from tagwright.methods.table import ZERO_SHOT, check_given

    name = method.value
    check_given(name, {"minutes": minutes is not None})
    values = [*settings, *([] if minutes is None else [f"minutes={minutes}"])]
    if not docs and name != ZERO_SHOT:
        raise ConfigError(f"{name} learns from documents; name some: train {name} DOCS...")
    with silence(quiet):
        Job(
            method=name,
            config=configure(name, config, values, language),
            documents=(lambda: inputs.read(docs, columns, input_format)) if docs else (),
            files=[*docs, *([config] if config else [])],
            labels=labels,
            language=language,
            unknown=unknown.value,
            check=check,
            folder=output,
            resume=resume,
            overwrite=overwrite,
            fuse=fuse,
            fuse_with=fuse_with,
            keywords=keywords,
            guesses=guesses,
            reviews=reviews,
            model=model,
            share_of_labels=share_of_labels,
            share_of_pairs=share_of_pairs,
        ).run()
    print(escaped(f"saved {output}"))


def options(method: Annotated[Method, typer.Argument(help="A method of train.")], as_json: Json = False) -> None:
    """Print the options of a method for --set: names, values, defaults, meanings."""
    from tagwright.app import render
    from tagwright.app.options import options_of
    from tagwright.methods.table import named

    render.options(options_of(named(method.value).config), as_json=as_json)
