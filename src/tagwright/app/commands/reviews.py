"""The command `reviews`: statistics and export of the decisions on the review page; which documents to label next."""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal, TypeAlias

import typer

from tagwright.app.arguments import Chosen, Conditions, Json, Quiet, Reading
from tagwright.core.display import escaped, for_programs, print_json
from tagwright.core.outputs import Written
from tagwright.errors import ConfigError, InputError

if TYPE_CHECKING:
    from tagwright.review.decisions import Statistics
    from tagwright.review.file import ReviewFile


By: TypeAlias = Literal["uncertainty", "random", "length"]


def reviews(
    files: Annotated[
        list[str], typer.Argument(metavar="FILE.sqlite", help="A file of `tagwright serve --reviews`; --sample: DOCS.")
    ],
    reading: Reading,
    chosen: Chosen,
    conditions: Conditions,
    export: Annotated[bool, typer.Option("--export", help="Print the decisions for other programs.")] = False,
    sample: Annotated[
        bool, typer.Option("--sample", help="Choose documents of DOCS without labels to label next; print their ids.")
    ] = False,
    backup: Annotated[
        Path | None,
        Written(),
        typer.Option(metavar="COPY", help="Copy all of the review to this file, also while a server has it open."),
    ] = None,
    output: Annotated[
        Literal["jsonl", "blind", "verdicts", "tsv", "annif", "uris", "csv", "xlsx", "label_studio", "argilla", "text"]
        | None,
        typer.Option(
            "--format",
            help="Of --export; jsonl: labelled documents, for train; tsv, annif: for Annif; all three without those "
            "reviewed blind; blind: these, for evaluate; verdicts: JSON, one per line; uris: one line per label; csv: "
            "one row per document, with names beside the ids by --labels or --model, and other headers by --columns; "
            "xlsx: the same as an Excel workbook, > FILE.xlsx; label_studio, argilla: as these tools take suggestions. "
            "Of --sample; text: ids; jsonl: with titles.",
            show_default="jsonl; text",
        ),
    ] = None,
    n: Annotated[int, typer.Option("-n", min=1, help="--sample: the number of documents.")] = 50,
    by: Annotated[
        By,
        typer.Option(
            help="--sample: random; length: evenly over all lengths; uncertainty: documents with the least certain "
            "suggestions, far from each other. Neither was better than random on three of four corpora."
        ),
    ] = "random",
    seed: Annotated[int, typer.Option(min=0, help="--sample: seed of the random choice.")] = 0,
    as_json: Json = False,
    _quiet: Quiet = False,
) -> None:
    """Show progress of a review and agreement of its reviewers; export or copy its decisions; choose what to review."""
    from tagwright.app.render import check_workbook_output
    from tagwright.review.decisions import Decisions
    from tagwright.review.documents import ReviewedDocuments
    from tagwright.review.file import ReviewFile

    if sample:
        _sample(files, reading, chosen, conditions, n, by, seed, output == "jsonl")
        return
    if len(files) > 1:
        raise ConfigError(f"reviews are in one file, got {len(files)}; --sample chooses documents of several")
    file = Path(files[0])
    if output == "text" or (output and not export):
        raise ConfigError(
            f"--format is the format of an export; add --export: reviews {file} --export --format {output}"
        )
    if not file.is_file():
        raise InputError("no such file; give a file of `tagwright serve --reviews`", file)
    if output == "xlsx":
        check_workbook_output("reviewed.xlsx")
    opened = ReviewFile.open_existing(file)
    try:
        if backup:
            opened.copy_to(backup)
        elif export:
            _export(opened, output or "jsonl", reading, chosen)
        else:
            decisions = Decisions(opened)
            _show(decisions.statistics(), len(ReviewedDocuments(opened)), len(decisions.differences()), as_json=as_json)
    finally:
        opened.close()


def _export(opened: ReviewFile, wanted: Any, reading: Reading, chosen: Chosen) -> None:
    """Print an export. Raises ConfigError for names and headers of another format than a table."""
    from tagwright.app import inputs
    from tagwright.readers.documents.columns import parse_columns
    from tagwright.readers.workbooks import write_workbook
    from tagwright.review.export import export_lines, table

    named, tables = ("csv", "xlsx", "annif", "label_studio", "argilla"), ("csv", "xlsx")
    if (wanted not in named and (chosen.labels or chosen.model)) or (wanted not in tables and reading.columns):
        raise ConfigError(
            "names (--labels, --model) are those of an export as csv, xlsx, annif, label_studio or argilla, headers "
            "(--columns) as csv or xlsx"
        )
    names = inputs.vocabulary(chosen) if chosen.labels or chosen.model else None
    columns = parse_columns(reading.columns)
    if wanted == "xlsx":
        write_workbook(table(opened, names, columns), sys.stdout.buffer, "documents")
        return
    for line in export_lines(opened, wanted, names, columns):
        print(for_programs(line))


def _sample(
    docs: Sequence[str], reading: Reading, chosen: Chosen, rules: Conditions, n: int, by: By, seed: int, as_json: bool
) -> None:
    """Print the documents without labels to label next."""
    from tagwright.app import inputs
    from tagwright.review import sampling

    unlabelled = [document for document in inputs.read(docs, reading, chosen) if not document.labels]
    tagger = inputs.tagger(chosen) if by == "uncertainty" else None
    for place in sampling.sample(unlabelled, n, by, tagger=tagger, seed=seed, **vars(rules)):
        document = unlabelled[place]
        as_line = json.dumps({"id": document.id, "title": document.title}, ensure_ascii=False)
        print(for_programs(as_line if as_json else document.id))


def _show(statistics: Statistics, documents: int, differences: int, *, as_json: bool) -> None:
    from tagwright.review.recall import describe_recall, describe_right

    if as_json:
        pairs = [{"reviewers": list(pair), "kappa": value} for pair, value in statistics.kappa.items()]
        recall = statistics.recall._asdict() if statistics.recall else None
        content = {
            "all_documents": documents,
            **asdict(statistics),
            "right": statistics.right._asdict(),
            "recall": recall,
        }
        print_json({**content, "kappa": pairs, "differences": differences})
        return
    blind = f", {statistics.blind:,} of them blind" if statistics.blind else ""
    print(f"documents       {documents:,}, {statistics.documents:,} with verdicts, {statistics.done:,} finished{blind}")
    print(f"verdicts        {statistics.verdicts:,}, {differences:,} of them unsettled differences")
    print(f"suggestions     {_share(statistics.accepted_share)}")
    print(f"right labels    {describe_right(statistics.right)}")
    if statistics.recall:
        print(f"                {describe_recall(statistics.recall)}")
    print(f"agreement       Krippendorff's alpha of all reviewers {_number(statistics.alpha)}")
    for (a, b), kappa in statistics.kappa.items():
        print(escaped(f"                Cohen's kappa of {a} and {b} {_number(kappa)}"))


def _number(value: float | None) -> str:
    return "unknown" if value is None else f"{value:.2f}"


def _share(value: float | None) -> str:
    if value is None:
        return "no suggestion that was shown has a verdict"
    return f"{100 * value:.0f}% of the suggestions with a verdict were accepted"
