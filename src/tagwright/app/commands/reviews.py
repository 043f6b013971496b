"""The command `reviews`: show statistics of the decisions on the review page, or export them."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from tagwright.app.arguments import Json
from tagwright.core.display import escaped, for_programs, print_json
from tagwright.errors import ConfigError, InputError

if TYPE_CHECKING:
    from tagwright.review.decisions import Statistics


def reviews(
    file: Annotated[Path, typer.Argument(metavar="FILE.sqlite", help="A file of `tagwright serve --reviews`.")],
    export: Annotated[bool, typer.Option("--export", help="Print the decisions for other programs.")] = False,
    output: Annotated[
        Literal["jsonl", "verdicts", "tsv", "csv"] | None,
        typer.Option(
            "--format",
            help="Format of --export; jsonl: labelled documents, for train and evaluate; verdicts: JSON, one a line; "
            "tsv: for Annif; csv.",
            show_default="jsonl",
        ),
    ] = None,
    as_json: Json = False,
) -> None:
    """Show progress of a review and agreement of its reviewers, or export its decisions."""
    from tagwright.review.decisions import Decisions
    from tagwright.review.documents import ReviewedDocuments
    from tagwright.review.export import exported
    from tagwright.review.file import ReviewFile

    if output and not export:
        raise ConfigError(
            f"--format is the format of an export; add --export: reviews {file} --export --format {output}"
        )
    if not file.is_file():
        raise InputError("no such file; give a file of `tagwright serve --reviews`", file)
    opened = ReviewFile.to_read(file)
    try:
        if export:
            for line in exported(opened, output or "jsonl"):
                print(for_programs(line))
            return
        decisions = Decisions(opened)
        _show(decisions.statistics(), len(ReviewedDocuments(opened)), len(decisions.differences()), as_json=as_json)
    finally:
        opened.close()


def _show(found: Statistics, documents: int, differences: int, *, as_json: bool) -> None:
    from tagwright.review.recall import describe_recall, describe_right

    if as_json:
        pairs = [{"reviewers": list(pair), "kappa": value} for pair, value in found.kappa.items()]
        recall = found.recall._asdict() if found.recall else None
        content = {"all_documents": documents, **asdict(found), "right": found.right._asdict(), "recall": recall}
        print_json({**content, "kappa": pairs, "differences": differences})
        return
    print(f"documents       {documents:,}, {found.documents:,} with verdicts, {found.done:,} finished")
    print(f"verdicts        {found.verdicts:,}, {differences:,} of them unsettled differences")
    print(f"suggestions     {_share(found.accepted_share)}")
    print(f"right labels    {describe_right(found.right)}")
    if found.recall:
        print(f"                {describe_recall(found.recall)}")
    print(f"agreement       Krippendorff's alpha of all reviewers {_number(found.alpha)}")
    for (a, b), kappa in found.kappa.items():
        print(escaped(f"                Cohen's kappa of {a} and {b} {_number(kappa)}"))


def _number(value: float | None) -> str:
    return "unknown" if value is None else f"{value:.2f}"


def _share(value: float | None) -> str:
    if value is None:
        return "no suggestion that was shown has a verdict"
    return f"{100 * value:.0f}% of the suggestions with a verdict were accepted"
