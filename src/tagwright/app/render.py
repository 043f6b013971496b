"""Print results as text for people or as JSON for programs."""

import json
import shutil
import sys
import textwrap
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tagwright.core.display import escape_controls, for_programs, plural, print_json
from tagwright.core.extras import require
from tagwright.data.records import to_record
from tagwright.data.vocabulary import Vocabulary
from tagwright.data.vocabulary_changes import VocabularyChanges
from tagwright.errors import ConfigError
from tagwright.evaluation import significance, tables
from tagwright.evaluation.calibration import threshold_rows
from tagwright.evaluation.description import Description
from tagwright.evaluation.metrics import CEILING_DEPTHS
from tagwright.evaluation.scores import Scores, slice_rows
from tagwright.evaluation.significance import Comparisons
from tagwright.graph.network import Coverage
from tagwright.types import Document, Label

if TYPE_CHECKING:
    from tagwright.tagger import Tagger

WIDTH = 100
"Columns of the lines that people read."


def print_lines(lines: Iterable[str]) -> None:
    """Print the lines of a file."""
    for line in lines:
        print(for_programs(line))


def check_workbook_output(name: str) -> None:
    """Raise ConfigError where a workbook cannot be printed: on a terminal, without openpyxl. name: of an example."""
    require("writing Excel workbooks", "openpyxl")
    if sys.stdout.isatty():
        raise ConfigError(f"a workbook is no text that a terminal can show; write it to a file: > {name}")


def print_options(options: Sequence[Mapping[str, str | None]], *, as_json: bool, of: str = "paper") -> None:
    """Print the options of a method, as `options_of` gives them; settings of the paper, or its code, that differ."""
    if as_json:
        print_json({"options": options})
        return
    for option in options:
        paper = "" if option["paper"] in (None, option["default"]) else f"; {of}: {option['paper']}"
        print(escape_controls(f"{option['name']} = {option['default']}{paper}"))
        _wrap_text(option["expected"] or "", 4)
        _wrap_text(option["meaning"] or "", 4)


def print_verified(
    model: Path | None,
    labels: Vocabulary,
    changes: VocabularyChanges | None,
    unfound: Sequence[tuple[Label, str]],
    *,
    as_json: bool,
) -> None:
    """Print that a saved tagger is whole, how its labels differ from others, and those that texts cannot name.

    model: None where there are labels only. changes: None where no others were given. unfound: with the reasons.
    """
    if as_json:
        known = {} if model is None else {"model": str(model), "whole": True}
        known |= {} if changes is None else {"changes": changes.to_json()}
        missed = [{"id": label.id, "name": label.name, "reason": reason} for label, reason in unfound]
        print_json({**known, "labels": len(labels), "unfound": missed})
        return
    print(escape_controls(f"{'' if model is None else f'{model}: whole, '}{plural(len(labels), 'label')}"))
    if changes is not None:
        print(escape_controls(f"compared with its labels: {changes}"))
    for label, reason in unfound:
        print(escape_controls(f"never found by name: {label.name} [{label.id}]: {reason}"))


def print_scores(scores: Scores, *, as_json: bool) -> None:
    """Print the measures and slices."""
    if as_json:
        print_json(scores.to_json())
        return
    show_table(tables.score_rows(scores.measures), plural(scores.documents, "document"))
    if scores.calibration:
        show_table(tables.score_rows(scores.calibration.measures), "confidences; lower is better")
        show_table(threshold_rows(scores.calibration.thresholds), "which suggestions to accept")
    if scores.slices:
        show_table(slice_rows(scores), "the same, by kinds of documents and labels")


def print_comparison(compared: Comparisons, runs: Mapping[str, Path | str], *, as_json: bool) -> None:
    """Print a comparison of runs. runs: name -> file, or what it is."""
    if as_json:
        print_json({"runs": {name.lower(): str(run) for name, run in runs.items()}, **compared.to_json()})
        return
    for name, run in runs.items():
        print(escape_controls(f"{name}  {run}"))
    for pair in compared.pairs:
        title = f"{plural(compared.documents, 'document')}; * marks p of 0.05 or less (Holm)"
        show_table(significance.comparison_rows(pair), title)
        _wrap_text(significance.who_is_better(pair), 0)
    _wrap_text(f"p: {significance.MEANING_OF_P}", 0)


def print_ceilings(
    stages: Mapping[str, Mapping[str, float]],
    missed: Mapping[int, int],
    documents: int,
    tagger: "Tagger",
    *,
    as_json: bool,
) -> None:
    """Print the recall ceiling of each stage, the gold labels that no stage finds, and how stages are combined.

    stages, missed: see `dataset.ceilings`. documents: their number.
    """
    vocabulary, combined = tagger.vocabulary, tagger.description
    if as_json:
        listed = [{"label": vocabulary[label].id, "times": times} for label, times in missed.items()]
        print_json({"documents": documents, "stages": stages, "missed": listed, "combined": combined})
        return
    rows = [["stage", *(f"first {k}" for k in CEILING_DEPTHS), "all", "candidates"]]
    for name, stage in stages.items():
        size, *shares = stage.values()
        rows.append([name, *(f"{100 * share:.1f}" for share in shares), f"{size:,.0f}"])
    show_table(rows, f"{plural(documents, 'document')}, % of the gold labels found")
    if missed:
        distinct, occurrences = plural(len(missed), "gold label"), plural(sum(missed.values()), "time")
        print(f"No stage reaches {distinct}, {occurrences} in all; most often:")
    for label, times in islice(missed.items(), 10):
        print(escape_controls(f"  {times:>5} x {one_line(vocabulary[label].name)}  [{one_line(vocabulary[label].id)}]"))
    print(escape_controls(f"Weights: {combined}"))


def print_description(described: Description, *, as_json: bool) -> None:
    """Print contents, problems and applicable methods."""
    if as_json:
        print_json(asdict(described))
        return
    show_table([["what the data hold", ""], *([name, _format_value(value)] for name, value in described.facts.items())])
    for title, lines in (("Worth a look", described.warnings), ("Methods", described.methods)):
        print(escape_controls(f"\n{title}"))
        print("\n".join(f"  {escape_controls(one_line(line))}" for line in lines) or "  nothing")
    print(f"\nTo begin with: {described.advice['method']}\n  tagwright {described.advice['command']}")
    _wrap_text(described.advice["why"], 2)


def _wrap_text(text: str, indent: int) -> None:
    width = min(WIDTH, shutil.get_terminal_size().columns)
    print(textwrap.fill(escape_controls(text), width, initial_indent=" " * indent, subsequent_indent=" " * indent))


def print_document(document: Document, *, line: bool = False) -> None:
    """Print a document as JSON with nested sections, or as a line that is read again as the same document."""
    record = to_record(document)
    if line:
        print_lines([json.dumps(record, ensure_ascii=False)])
        return
    print_json({**record, "sections": _tree(record["sections"])})


def print_coverages(coverages: Sequence[Coverage], *, as_json: bool) -> None:
    """Print the coverage of meta-paths, and their hubs."""
    if as_json:
        print_json({"paths": [_coverage(coverage) for coverage in coverages]})
        return
    rows = [["meta-path", "documents with a neighbour", "median", "largest", "hubs"]]
    for each in coverages:
        hubs = ", ".join(f"{shorten(name, 30)} ({documents:,})" for _, name, documents in each.hubs)
        rows.append([each.expression, f"{100 * each.share:.1f}%", f"{each.median:,.0f}", f"{each.largest:,}", hubs])
    measured = min(coverage.measured for coverage in coverages)
    part = "" if measured == coverages[0].documents else f", measured on {measured:,} or more of them"
    show_table(rows, plural(coverages[0].documents, "document") + part)


def show_table(rows: tables.Rows, title: str = "") -> None:
    """Print a table, with cells on several lines if the terminal is too narrow; a pipe has no width."""
    from rich.console import Console

    console = Console(width=None if sys.stdout.isatty() else 200)
    cells = [[escape_controls(one_line(cell)) for cell in row] for row in rows]
    if cells:
        console.print(tables.terminal_table(cells, escape_controls(title)))


def shorten(text: str, length: int = 60) -> str:
    r"""The text on one line, cut to `length` characters.

    >>> shorten("Bees\nand apples", 8)
    'Bees an…'
    """
    text = one_line(text)
    return text if len(text) <= length else text[: length - 1].rstrip() + "…"


def _tree(sections: Iterable[dict[str, Any]]) -> list[dict[str, Any]]:
    """Sections in reading order as a tree: each in the section before it that is of a lower level."""
    top: list[dict[str, Any]] = []
    above: list[tuple[int, list[dict[str, Any]]]] = [(0, top)]
    for section in sections:
        inside: list[dict[str, Any]] = []
        while above[-1][0] >= section["level"]:
            above.pop()
        above[-1][1].append({"heading": section["heading"], "paragraphs": section["paragraphs"], "sections": inside})
        above.append((section["level"], inside))
    return top


def _coverage(coverage: Coverage) -> dict[str, Any]:
    others = {key: value for key, value in asdict(coverage).items() if key != "expression"}
    hubs = [dict(zip(("type", "name", "documents"), hub, strict=True)) for hub in coverage.hubs]
    return {"path": coverage.expression, **others, "hubs": hubs}


def one_line(text: str) -> str:
    """The text with single spaces in place of line ends, tabs and the like."""
    return " ".join(text.split())


def _format_value(value: object) -> str:
    return f"{value:,}" if isinstance(value, int) else f"{value:,.1f}" if isinstance(value, float) else str(value)
