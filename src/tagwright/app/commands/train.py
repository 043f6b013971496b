"""The commands `train` and `options`."""

from pathlib import Path
from typing import Annotated

import typer

from tagwright.app.arguments import Docs, Json, LabelFile, Language, Method, Model, Offline, Quiet, Reading, Unknown
from tagwright.core.display import escaped
from tagwright.errors import ConfigError


def train(
    method: Annotated[Method, typer.Argument(help="finetune and combine continue from a saved tagger (--model).")],
    output: Annotated[Path, typer.Option(help="Where to save the tagger.")],
    reading: Reading,
    docs: Docs = [],  # noqa: B006
    labels: LabelFile = None,
    language: Language = "",
    config: Annotated[Path | None, typer.Option(help="Options of the method: TOML.")] = None,
    settings: Annotated[
        list[str], typer.Option("--set", metavar="KEY=VALUE", help="An option of the method: tagwright options METHOD.")
    ] = [],  # noqa: B006
    paper: Annotated[
        bool, typer.Option("--paper", help="Start from the settings of the method's paper; --set changes single ones.")
    ] = False,
    resume: Annotated[bool, typer.Option("--resume", help="Continue a training that was interrupted.")] = False,
    overwrite: Annotated[bool, typer.Option("--overwrite", help="Replace a tagger saved there.")] = False,
    fuse: Annotated[
        bool, typer.Option("--fuse", help="Add the stages of the zero-shot method: names, words, meaning.")
    ] = False,
    fuse_with: Annotated[list[Path], typer.Option(metavar="DIR", help="Add the stages of a saved tagger.")] = [],  # noqa: B006
    model: Model = None,
    share_of_labels: Annotated[
        float | None, typer.Option(help="finetune: learn from this share of the labels, 0.01 being 1%.")
    ] = None,
    share_of_pairs: Annotated[
        float | None, typer.Option(help="finetune: learn from this share of the documents' labels.")
    ] = None,
    keywords: Annotated[
        Path | None, typer.Option(help="depl: keywords of the labels, as `tagwright labels` prints them.")
    ] = None,
    guesses: Annotated[
        Path | None,
        typer.Option(
            metavar="RUN",
            help="svm to depl_cls: learn from the most confident suggestions of a run file instead of gold labels.",
        ),
    ] = None,
    minutes: Annotated[
        float | None, typer.Option(help="auto: leave out stages that would take longer in all; 10 by default.")
    ] = None,
    reviews: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="auto, combine: learn from decisions of reviewers, a file of `serve`."),
    ] = None,
    synthetic: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="auto: learn from these too, and measure on DOCS alone: `synthesise`."),
    ] = None,
    unknown: Unknown = "warn",
    check: Annotated[
        bool, typer.Option(help="Compare with zero_shot on a tenth of the labelled documents; not of auto and combine.")
    ] = True,
    _offline: Offline = False,
    _quiet: Quiet = False,
) -> None:
    """Train a method and save its tagger.

    Trains and combines what pays, with labels of some documents or of none: auto.
    Without training, only saved: zero_shot. Without labels: rts, maclr, ict,
    simcse; micol with metadata; futex with full texts. From few labels: finetune,
    or combine, which learns how to combine the stages of a saved tagger. From
    many: svm, classifier, de_ret, depl, depl_cls.

    `tagwright options METHOD` prints what --set knows; `tagwright describe DOCS` says which method suits.
    """
    from tagwright.api.job import Job
    from tagwright.api.options import ZERO_SHOT, check_given, configuration
    from tagwright.app import inputs
    from tagwright.app.options import values_of

    check_given(method, {"minutes": minutes is not None, "synthetic": synthetic is not None})
    values = [*settings, *([] if minutes is None else [f"minutes={minutes}"])]
    if not docs and method != ZERO_SHOT:
        raise ConfigError(f"{method} learns from documents; name some: train {method} DOCS...")
    Job(
        method=method,
        config=configuration(method, values_of(config, values), language, paper=paper),
        documents=(lambda: inputs.read_with_synthetic(docs, synthetic, reading)) if docs else (),
        files=[*docs, *filter(None, (config, synthetic))],
        labels=labels,
        language=language,
        unknown=unknown,
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


def options(
    method: Annotated[Method, typer.Argument(help="A method of train.")],
    paper: Annotated[bool, typer.Option("--paper", help="Show the settings of its paper where they differ.")] = False,
    as_json: Json = False,
) -> None:
    """Print the options of a method for --set: names, values, defaults, meanings."""
    from tagwright.api.options import named, settings_of_paper
    from tagwright.app import render
    from tagwright.app.options import options_of

    settings = settings_of_paper(method) if paper else None
    render.options(options_of(named(method).config, settings), as_json=as_json)
