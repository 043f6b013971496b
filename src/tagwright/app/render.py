"""Print results as text for people or as JSON for programs."""

import json
import shutil
import sys
import textwrap
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict
from functools import partial
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tagwright.combining.confidence import confidence_level
from tagwright.combining.learned_combiner import Contribution
from tagwright.core.terminal import escaped
from tagwright.data.paragraphs import headings_at
from tagwright.data.vocabulary import Vocabulary
from tagwright.evaluation.description import Description, many
from tagwright.evaluation.metrics import Ceiling, Ceilings
from tagwright.evaluation.report import tables
from tagwright.evaluation.scores import Scores
from tagwright.evaluation.significance import Comparison
from tagwright.graph.network import Coverage
from tagwright.readers.documents.records import to_record
from tagwright.readers.lines import escape_formula
from tagwright.stages.network_evidence import NetworkEvidence
from tagwright.tagger import Evidence, Suggestion
from tagwright.types import Document, EvidenceSpan

if TYPE_CHECKING:
    from tagwright.app.options import Option

Suggestions = Iterable[tuple[Document, list[Suggestion]]]

SPANS = 3
"Pieces of text shown for each stage, at most."

GROUPS = 5
"Groups of features of a learned combiner that are shown for a suggestion."

WIDTH = 100
"Columns of the lines that people read."

_INDENT = " " * 10


def suggestions(found: Suggestions, vocabulary: Vocabulary, output: str, *, paths: bool = False) -> Iterator[str]:
    """The suggestions as lines: text for people, a run file (jsonl), or document, label, name, score (tsv).

    spreadsheet: TSV with an apostrophe before every cell that a spreadsheet would take for a formula and compute.
    paths: names with those of broader labels, which ambiguous names always have.
    """
    lines: Mapping[str, Callable[[Document, list[Suggestion], Vocabulary], Iterator[str]]] = {
        "text": partial(as_text, paths=paths),
        "jsonl": lambda document, suggested, _: _as_jsonl(document, suggested),
        "tsv": partial(_as_tsv, paths=paths),
        "spreadsheet": partial(_as_spreadsheet, paths=paths),
    }
    for document, suggested in found:
        yield from map(escaped, lines[output](document, suggested, vocabulary))


def as_text(
    document: Document, suggested: list[Suggestion], vocabulary: Vocabulary, *, paths: bool = False
) -> Iterator[str]:
    """One document and its labels for people: a line each, and one for the evidence of each stage.

    How sure the tagger is stands there in a word: two decimals would promise more than the estimate is worth.
    """
    yield f"{_cell(document.id)}  {shortened(document.title, 100)}".rstrip()
    for each in suggested:
        name = vocabulary.shown_name(vocabulary.index[each.id], whole=paths)
        sure = "" if each.confidence is None else f"{confidence_level(each.confidence):8}  "
        yield f"  {each.score:6.3f}  {sure}{_cell(name)}  [{_cell(each.id)}]"
        if each.translated:
            yield (
                _INDENT
                + shortened(" ".join(f'"{_cell(one)}"' for one in each.translated), WIDTH)
                + f" ~ {_cell(each.name)}"
            )
        yield from (f"{_INDENT}{evidence_line(evidence, document)}" for evidence in each.evidence)
        yield from (f"{_INDENT}{neighbours_line(one)}" for one in each.neighbours)
        if each.contributions:
            yield f"{_INDENT}{contributions_line(each.contributions)}"
    if not suggested:
        yield "  (no suggestion)"


def neighbours_line(shared: NetworkEvidence) -> str:
    """The evidence of a meta-path for a label: "P->P<-P 2 of 5 neighbours: d12, d40"."""
    return f"{shared.path} {shared.sharing} of {many(shared.neighbours, 'neighbour')}: {', '.join(shared.documents)}"


def contributions_line(contributions: Sequence[Contribution]) -> str:
    """Return the contribution of each group of features to the score, the largest first.

    >>> contributions_line([Contribution("svm", 0.71), Contribution("dense", -0.2)])
    'features: svm +0.71, dense -0.20'
    """
    shown = [f"{name} {added:+.2f}" for name, added in contributions[:GROUPS]]
    rest = sum(added for _, added in contributions[GROUPS:])
    return f"features: {', '.join([*shown, *([f'others {rest:+.2f}'] if contributions[GROUPS:] else [])])}"


def lines(found: Iterable[str]) -> None:
    """Print the lines of a file."""
    for line in found:
        print(escaped(line))


def options(found: Sequence["Option"], *, as_json: bool) -> None:
    """Print the options of a method: names, values, meanings."""
    if as_json:
        _print_json({"options": [asdict(option) for option in found]})
        return
    for option in found:
        print(escaped(f"{option.name} = {option.default}"))
        _wrapped(option.expected, 4)
        _wrapped(option.meaning, 4)


def scores(found: Scores, *, as_json: bool) -> None:
    """Print the measures and slices."""
    if as_json:
        _print_json(found.to_json())
        return
    show_table(tables.score_rows(found.measures), many(found.documents, "document"))
    if found.calibration:
        show_table(tables.score_rows(found.calibration.measures), "confidences; lower is better")
        show_table(tables.threshold_rows(found.calibration.thresholds), "which suggestions to accept")
    if found.slices:
        show_table(tables.slice_rows(found))


def comparison(found: Comparison, runs: Sequence[Path], *, as_json: bool) -> None:
    """Print a comparison of two runs, the first being A."""
    if as_json:
        _print_json({"runs": dict(zip("ab", map(str, runs), strict=True)), **found.to_json()})
        return
    for name, run in zip("AB", runs, strict=True):
        print(escaped(f"{name}  {run}"))
    show_table(tables.comparison_rows(found), f"{many(found.documents, 'document')}; * marks p of 0.05 or less (Holm)")


def ceilings(found: Ceilings, vocabulary: Vocabulary, *, as_json: bool) -> None:
    """Print the recall ceiling of each stage, and the gold labels that no stage finds."""
    if as_json:
        stages = {name: _ceiling(stage) for name, stage in found.stages.items()}
        missed = [{"label": vocabulary[label].id, "times": times} for label, times in found.missed.items()]
        _print_json({"documents": found.documents, "stages": stages, "missed": missed})
        return
    depths = list(next(iter(found.stages.values())).recall)
    rows = [["stage", *(f"first {k}" for k in depths), "all", "candidates"]]
    for name, stage in found.stages.items():
        shares = [*stage.recall.values(), stage.all]
        rows.append([name, *(f"{100 * share:.1f}" for share in shares), f"{stage.mean_size:,.0f}"])
    show_table(rows, f"{many(found.documents, 'document')}, % of the gold labels found")
    if found.missed:
        distinct, occurrences = many(len(found.missed), "gold label"), many(sum(found.missed.values()), "time")
        print(f"No stage reaches {distinct}, {occurrences} in all; most often:")
    for label, times in islice(found.missed.items(), 10):
        print(escaped(f"  {times:>5} x {_cell(vocabulary[label].name)}  [{_cell(vocabulary[label].id)}]"))


def description(found: Description, *, as_json: bool, every: bool = False) -> None:
    """Print contents, problems and applicable methods; many metadata fields only if asked for."""
    if as_json:
        _print_json(found.to_json())
        return
    found = found if every else found.brief()
    show_table([["what the data hold", ""], *([name, _plain(value)] for name, value in found.facts.items())])
    for title, lines in (("Worth a look", found.warnings), ("Methods", found.methods)):
        print(escaped(f"\n{title}"))
        print("\n".join(f"  {escaped(_cell(line))}" for line in lines) or "  nothing")
    print(f"\nTo begin with: {found.advice.method}\n  tagwright {found.advice.command}")
    _wrapped(found.advice.why, 2)
    for each in found.best_at:
        print(f"\nFor one thing: {each.method}\n  tagwright {each.command}")
        _wrapped(each.why, 2)


def _wrapped(text: str, indent: int) -> None:
    width = min(WIDTH, shutil.get_terminal_size().columns)
    print(textwrap.fill(escaped(text), width, initial_indent=" " * indent, subsequent_indent=" " * indent))


def document(found: Document) -> None:
    """Print a document as JSON with nested sections."""
    record = to_record(found)
    _print_json({**record, "sections": _tree(record["sections"])})


def coverages(found: Sequence[Coverage], *, as_json: bool) -> None:
    """Print the coverage of meta-paths, and their hubs."""
    if as_json:
        _print_json({"paths": [_coverage(each) for each in found]})
        return
    rows = [["meta-path", "documents with a neighbour", "median", "largest", "hubs"]]
    for each in found:
        hubs = ", ".join(f"{shortened(hub.name, 30)} ({hub.documents:,})" for hub in each.hubs)
        rows.append([each.expression, f"{100 * each.share:.1f}%", f"{each.median:,.0f}", f"{each.largest:,}", hubs])
    measured = min(each.measured for each in found)
    part = "" if measured == found[0].documents else f", measured on {measured:,} or more of them"
    show_table(rows, many(found[0].documents, "document") + part)


def neighbours(found: Iterable[tuple[str, list[str]]]) -> None:
    """Print each document with its neighbours as a line of JSON."""
    for id_, ids in found:
        print(escaped(json.dumps({"id": id_, "neighbours": ids}, ensure_ascii=False)))


def show_table(rows: tables.Rows, title: str = "") -> None:
    """Print a table, split into several if the terminal is too narrow; a pipe has no width."""
    from rich.console import Console

    console = Console(width=None if sys.stdout.isatty() else 200)
    cells = [[escaped(_cell(cell)) for cell in row] for row in rows]
    for part in tables.fitting(cells, console.width):
        console.print(tables.table(part, escaped(title)))
        title = ""


def evidence_line(evidence: Evidence, document: Document) -> str:
    """One stage's reasons in one line: its rank and score, and the pieces of text that count most, with section.

    There is at least one piece, and no more than fit.
    """
    line = f"{evidence.stage} #{evidence.rank} ({evidence.score:.3g})"
    for number, span in enumerate(evidence.spans[:SPANS]):
        longer = f"{line}{', ' if number else ': '}{_span(span, document)}"
        if number and len(_INDENT + longer) > WIDTH:
            break
        line = longer
    return line


def shortened(text: str, length: int = 60) -> str:
    r"""The text on one line, cut to `length` characters.

    >>> shortened("Bees\nand apples", 8)
    'Bees an…'
    """
    text = _cell(text)
    return text if len(text) <= length else text[: length - 1].rstrip() + "…"


def _span(span: EvidenceSpan, document: Document) -> str:
    section = " > ".join(headings_at(document, span.start)) if document.sections else ""
    shown = f'"{shortened(document.text[span.start : span.end])}" {span.start}-{span.end}'
    return f"{shown} in {section}" if section else shown


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


def _coverage(found: Coverage) -> dict[str, Any]:
    hubs = [hub._asdict() for hub in found.hubs]
    return {
        "path": found.expression,
        **{key: value for key, value in asdict(found).items() if key != "expression"},
        "hubs": hubs,
    }


def _ceiling(stage: Ceiling) -> dict[str, float]:
    return {"mean_size": stage.mean_size, **{f"R@{k}": share for k, share in stage.recall.items()}, "R": stage.all}


def _as_jsonl(document: Document, suggested: list[Suggestion]) -> Iterator[str]:
    def record(each: Suggestion) -> dict[str, Any]:
        plain: dict[str, Any] = {"label": each.id, "score": each.score}
        if each.confidence is not None:
            plain["confidence"] = each.confidence
        if not each.evidence:
            return plain
        shared: dict[str, Any] = {"neighbours": [asdict(one) for one in each.neighbours]} if each.neighbours else {}
        evidence = [reasons(one) for one in each.evidence]
        shared |= {"translated": list(each.translated)} if each.translated else {}
        added = {"contributions": {one.feature: one.added for one in each.contributions}} if each.contributions else {}
        return {**plain, "name": each.name, "evidence": evidence, **shared, **added}

    def reasons(one: Evidence) -> dict[str, Any]:
        spans = [{**asdict(span), "text": document.text[span.start : span.end]} for span in one.spans]
        return {"stage": one.stage, "rank": one.rank, "score": one.score, "spans": spans}

    yield json.dumps({"id": document.id, "suggestions": [record(each) for each in suggested]}, ensure_ascii=False)


def _as_tsv(document: Document, suggested: list[Suggestion], vocabulary: Vocabulary, *, paths: bool) -> Iterator[str]:
    for each in suggested:
        name = vocabulary.shown_name(vocabulary.index[each.id], whole=paths)
        yield "\t".join((_cell(document.id), _cell(each.id), _cell(name), f"{each.score:.6g}"))


def _as_spreadsheet(
    document: Document, suggested: list[Suggestion], vocabulary: Vocabulary, *, paths: bool
) -> Iterator[str]:
    for line in _as_tsv(document, suggested, vocabulary, paths=paths):
        *texts, score = line.split("\t")
        yield "\t".join([*map(escape_formula, texts), score])


def _cell(text: str) -> str:
    return " ".join(text.split())


def _plain(value: object) -> str:
    return f"{value:,}" if isinstance(value, int) else f"{value:,.1f}" if isinstance(value, float) else str(value)


def _print_json(content: Mapping[str, Any]) -> None:
    print(escaped(json.dumps(content, ensure_ascii=False, indent=1)))
