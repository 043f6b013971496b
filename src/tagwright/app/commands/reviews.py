"""The command `reviews`: statistics and export of the decisions on the review page."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from contextlib import closing
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal, TypeAlias

import typer

from tagwright.app.arguments import Json, Named, Quiet, Reading, ReplaceGone, refuse
from tagwright.core.display import escape_controls, for_programs, print_json
from tagwright.core.outputs import Written
from tagwright.errors import ConfigError, InputError, note_left_out

if TYPE_CHECKING:
    from tagwright.data.vocabulary import Vocabulary
    from tagwright.review.file import ReviewFile

Output: TypeAlias = Literal[
    "jsonl", "blind", "decisions", "tsv", "annif", "uris", "csv", "xlsx", "label_studio", "argilla"
]


def reviews(
    files: Annotated[list[Path], typer.Argument(metavar="FILE.sqlite", help="A file of `tagwright serve --reviews`.")],
    reading: Reading,
    chosen: Named,
    export: Annotated[bool, typer.Option("--export", help="Print the decisions for other programs.")] = False,
    added: Annotated[
        bool,
        typer.Option(
            "--import",
            help="Add the decisions of further files to the first, which is created if missing: review files, exports "
            "in --format decisions, or labelled documents with --reviewer. If reviewers disagree, both verdicts stay.",
        ),
    ] = False,
    reviewer: Annotated[str, typer.Option(metavar="NAME", help="--import: who labelled the documents.")] = "",
    backup: Annotated[
        Path | None,
        Written(),
        typer.Option(metavar="COPY", help="Copy the whole review to this file, even while a server has it open."),
    ] = None,
    output: Annotated[
        Output,
        typer.Option(
            "--format",
            help="With --export: jsonl (for train), tsv and annif (for Annif) leave out documents reviewed blind; "
            "blind (for evaluate) has only these; decisions has a JSON line for each, as --import reads them; "
            "uris has a line per label; csv has a row per document, with names if --labels or --model is "
            "given and headers by --columns; xlsx is the same, for > FILE.xlsx; label_studio and argilla are "
            "suggestions for these tools.",
        ),
    ] = "jsonl",
    replace_gone: ReplaceGone = False,
    as_json: Json = False,
    _quiet: Quiet = False,
) -> None:
    """Show progress of a review and agreement of its reviewers; export, copy or add decisions."""
    from tagwright.app.render import check_workbook_output
    from tagwright.review.file import ReviewFile

    if added:
        _import(files, reviewer)
        return
    file = files[0]
    add = f"--format is the format of an export; add --export: reviews {file} --export --format {output}"
    one = f"reviews are in one file, got {len(files)}; --import adds others to one"
    refuse({one: len(files) > 1, add: output != "jsonl" and not export})
    if output == "xlsx":
        check_workbook_output("reviewed.xlsx")
    with closing(ReviewFile.open_existing(file)) as opened:
        if backup:
            opened.copy_to(backup)
        elif export:
            _export(opened, output, reading, chosen, replace_gone=replace_gone)
        else:
            _show(opened, _names(chosen, opened), as_json=as_json)


def _import(files: Sequence[Path], reviewer: str) -> None:
    """Add the decisions of all files but the first to it; the exit code is 3 where the first says otherwise."""
    from tagwright.review.file import ReviewFile
    from tagwright.review.merging import merge

    if len(files) == 1:
        raise ConfigError(f"import what? name files behind {files[0]}: reviews {files[0]} --import OTHER.sqlite")
    with closing(ReviewFile(files[0])) as target:
        for path in files[1:]:
            merged = merge(target, path, reviewer)
            for line in merged.lines(path):
                print(escape_controls(line))
            note_left_out(InputError(line, path) for line in merged.kept)


def _names(chosen: Named, opened: ReviewFile) -> Vocabulary | None:
    """The vocabulary that is given, if any is, by its names in the language asked for, or that of the documents."""
    from tagwright.app import inputs, shown_names
    from tagwright.review.export import labelled_documents

    if not (chosen.labels or chosen.model or chosen.names_in):
        return None
    names = shown_names.in_languages_of(list(labelled_documents(opened)), chosen, inputs.vocabulary(chosen))
    return shown_names.named_in(shown_names.asked_names(chosen, names), names)


def _export(opened: ReviewFile, wanted: Any, reading: Reading, chosen: Named, *, replace_gone: bool) -> None:
    """Print an export. Raises ConfigError for names and headers of another format than a table.

    Labels that are gone from the vocabulary are told on stderr, with the exit code 3.
    """
    from tagwright.readers.documents.columns import parse_columns
    from tagwright.readers.workbooks import write_workbook
    from tagwright.review.applied import LeftOut, gone_labels, without_replaced
    from tagwright.review.decisions import Decisions
    from tagwright.review.export import export_lines, review_table

    named, tables = ("csv", "xlsx", "annif", "label_studio", "argilla"), ("csv", "xlsx")
    names = _names(chosen, opened)
    refuse(
        {
            "--replace-gone needs the vocabulary, --labels or --model, and a format with names, as csv": replace_gone
            and (names is None or wanted not in named),
            "names (--labels, --model) are those of an export as csv, xlsx, annif, label_studio or argilla, headers "
            "(--columns) as csv or xlsx": (wanted not in named and names) or (wanted not in tables and reading.columns),
        }
    )
    columns = parse_columns(reading.columns)
    if wanted == "xlsx":
        write_workbook(review_table(opened, names, columns, replace_gone=replace_gone), sys.stdout.buffer, "documents")
    else:
        for line in export_lines(opened, wanted, names, columns, replace_gone=replace_gone):
            print(for_programs(line))
    if names:
        gone = gone_labels(Decisions(opened), names)
        LeftOut(without_replaced(gone) if replace_gone else gone, {}).log(names)


def _show(opened: ReviewFile, names: Vocabulary | None, *, as_json: bool) -> None:
    """Print statistics and, with a vocabulary, the accepted labels that are gone from it."""
    from tagwright.review.applied import describe_gone, gone_labels
    from tagwright.review.decisions import Decisions
    from tagwright.review.documents import ReviewedDocuments
    from tagwright.review.recall import describe_recall, describe_right

    decisions, documents = Decisions(opened), len(ReviewedDocuments(opened))
    statistics, differences = decisions.statistics(), len(decisions.differences())
    gone = gone_labels(decisions, names) if names else {}
    if as_json:
        pairs = [{"reviewers": list(pair), "kappa": value} for pair, value in statistics.kappa.items()]
        recall = statistics.recall._asdict() if statistics.recall else None
        content = {
            "all_documents": documents,
            **asdict(statistics),
            "recall": recall,
            **({"gone": gone} if names else {}),
        }
        print_json({**content, "kappa": pairs, "differences": differences})
        return
    blind = f", {statistics.blind:,} of them blind" if statistics.blind else ""
    print(f"documents       {documents:,}, {statistics.documents:,} with verdicts, {statistics.done:,} finished{blind}")
    print(f"verdicts        {statistics.verdicts:,}, {differences:,} of them unsettled differences")
    accepted = "no suggestion that was shown has a verdict"
    if statistics.accepted_share is not None:
        accepted = f"{100 * statistics.accepted_share:.0f}% of the suggestions with a verdict were accepted"
    print(f"suggestions     {accepted}")
    print(f"right labels    {describe_right(**statistics.right)}")
    if statistics.recall:
        print(f"                {describe_recall(statistics.recall)}")
    print(f"agreement       Krippendorff's alpha of all reviewers {_number(statistics.alpha)}")
    for (a, b), kappa in statistics.kappa.items():
        print(escape_controls(f"                Cohen's kappa of {a} and {b} {_number(kappa)}"))
    if names:
        count = sum(map(len, gone.values()))
        print(f"gone            {count:,} accepted labels of {len(gone):,} documents are gone from the vocabulary")
        for line in describe_gone(gone, names):
            print(escape_controls(f"                {line}"))


def _number(value: float | None) -> str:
    return "unknown" if value is None else f"{value:.2f}"
