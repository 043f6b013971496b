"""Write scores and comparisons as one self-contained HTML page without scripts."""

from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, datetime
from html import escape
from importlib.resources import files
from pathlib import Path

import numpy as np

from tagwright.core.outputs import REPORT, write_output
from tagwright.evaluation.calibration import Calibration, threshold_rows
from tagwright.evaluation.dataset import EvaluationSet
from tagwright.evaluation.report.plots import interval_table, reliability_plot, risk_coverage_plot
from tagwright.evaluation.scores import SENTENCES, LabelScore, Scores, label_scores, slice_rows, split_measure
from tagwright.evaluation.significance import MEANING_OF_P, Comparison, Comparisons, comparison_rows
from tagwright.evaluation.tables import Rows, percent
from tagwright.tagger import Tagger
from tagwright.types import Document, Longs, Run
from tagwright.version import __version__

SLICES = {
    "head": "the most frequent labels, which together are half of all labels of the training documents",
    "torso": "labels between head and tail",
    "tail": "labels that 1 to 9 training documents have",
    "seen": "labels that any training document has",
    "unseen": "labels that no training document has",
    "short": "the shortest third of the documents",
    "medium": "the middle third of the documents",
    "long": "the longest third of the documents",
}
"Slice -> its labels or documents."


def meanings(names: Iterable[str]) -> dict[str, str]:
    """Return the kinds of these measures with their meanings.

    >>> list(meanings(["P@1", "P@5", "answered"]))
    ['P@k', 'answered']
    """
    kinds = dict.fromkeys(split_measure(name)[0] for name in names)
    without_k = ("answered", "AURC", "AUGRC")
    return {kind if kind in without_k else f"{kind}@k": SENTENCES[kind] for kind in kinds if kind in SENTENCES}


_WIDE = '<div class="wide" tabindex="0">'
"What may be wider than the page and then scrolls, by keys too."

FIRST = 5
"Suggestions of a document that examples show; a gold label that is not among them is missed."


def scores_page(scores: Scores, notes: Mapping[str, str], *sections: str) -> str:
    """Return the page of a run: its measures, their meanings, and slices.

    notes: name -> text, what was scored. sections: HTML to add, see `run_sections`.
    """
    first = scores.measures.get("P@1")
    lead = f"The first suggestion is right for {percent(first.value)} of 100 documents." if first else ""
    return _page(
        "How good the suggestions are",
        f'<p class="lead">{lead} {scores.documents:,} documents were scored.</p>',
        _section("What was scored", _terms(notes)),
        _section("Measures", _place_beside(interval_table(scores.measures), _terms(meanings(scores.measures)))),
        calibration_section(scores.calibration) if scores.calibration else "",
        slices_section(scores) if scores.slices else "",
        *sections,
    )


def comparison_page(comparisons: Comparisons, notes: Mapping[str, str]) -> str:
    """Return the page of a comparison: the differences of every two runs, drawn around 0 and in tables.

    notes: as for `scores_page`.
    """
    note = "All p are corrected over the measures and comparisons (Holm); * marks p of 0.05 or less."
    names = list(dict.fromkeys(name for pair in comparisons.pairs for name in pair.measures))
    tests = (
        f"<h3>{escape(pair.a)} and {escape(pair.b)}</h3>{_table(comparison_rows(pair))}" for pair in comparisons.pairs
    )
    return _page(
        "Which suggestions are better",
        f'<p class="lead">{comparisons.documents:,} documents were scored in all runs.</p>',
        _section("What was compared", _terms(notes)),
        *map(_differences_section, comparisons.pairs),
        _section("Measures", _terms(meanings(names))),
        _section("Test", f"<p>{note}</p>", _terms({"p": MEANING_OF_P}), *tests),
    )


def write_page(page: str, path: Path | str) -> None:
    """Write a page in one step. Raises TagwrightError when it cannot be written."""
    with write_output(path, REPORT) as temporary:
        temporary.write_text(page, encoding="utf-8")


def origin(data: EvaluationSet, documents: str, labels: str) -> dict[str, str]:
    """Return notes on where the numbers come from. documents, labels: names of their files."""
    return {
        "documents": f"{documents}: {len(data.positions):,} scored",
        "labels": f"{labels}: {len(data.vocabulary):,} labels",
        "date": f"{datetime.now(UTC):%Y-%m-%d %H:%M} UTC",
        "version": f"tagwright {__version__}",
    }


def settings_of(tagger: Tagger | None, settings: Sequence[str]) -> dict[str, str]:
    """Return notes on a tagger: its stages with their weights, and the options that were set; none without one."""
    if tagger is None:
        return {}
    notes = {"stages and weights": tagger.description}
    return {**notes, "options": ", ".join(settings)} if settings else notes


def run_sections(data: EvaluationSet, run: Run, tagger: Tagger | None) -> list[str]:
    """Return sections with examples and the labels missed most.

    tagger: the one that made the run, to show evidence; None: without evidence.
    """
    names = [f"{label.name} {label.notation}".rstrip() for label in data.vocabulary]
    examples = list[str]()
    for row in evenly_spaced(len(data.positions), 10).tolist():
        document = data.corpus[int(data.positions[row])]
        suggested, gold = run[row][0][:FIRST].tolist(), set(data.gold[row][0].tolist())
        spans = _spans(tagger, document, suggested) if tagger else [[] for _ in suggested]
        shown = [(names[label], label in gold, words) for label, words in zip(suggested, spans, strict=True)]
        missed = [names[label] for label in sorted(gold.difference(suggested))]
        examples.append(example(document.title or document.id, shown, missed))
    return [
        examples_section(examples) if examples else "",
        missed_section([(names[label.label], label) for label in most_missed(run, data.gold, 10)]),
    ]


def examples_section(examples: Iterable[str]) -> str:
    """Return a section of documents with their suggestions. examples: HTML, see `example`."""
    note = (
        "<p>Documents at equal distances in the corpus, not selected by hand. &#10003; right, &#10007; not among the "
        "document's labels; in brackets the words that are evidence.</p>"
    )
    return _section("Examples", note, f'<div class="examples">{"".join(examples)}</div>')


def example(title: str, suggestions: Iterable[tuple[str, bool, Sequence[str]]], missed: Sequence[str]) -> str:
    """Return a document with its suggestions as HTML.

    suggestions: for each its name, whether it is right, and words that are evidence. missed: names of the gold labels
    that are not among them.
    """
    lines = ""
    for name, right, words in suggestions:
        kind, mark = ("right", "&#10003;") if right else ("wrong", "&#10007;")
        evidence = f' <span class="words">({escape(", ".join(words))})</span>' if words else ""
        lines += f'<li class="{kind}"><b aria-label="{kind}">{mark}</b> {escape(name)}{evidence}</li>'
    others = f'<p class="missed">Missed: {escape(", ".join(missed))}</p>' if missed else ""
    return f"<article><h3>{escape(title)}</h3><ol>{lines or '<li>no suggestion</li>'}</ol>{others}</article>"


def missed_section(missed: Sequence[tuple[str, LabelScore]]) -> str:
    """Return a section of labels, each with its name; empty if there are none."""
    note = "<p>How often a label is among the first five suggestions of the documents that have it.</p>"
    rows = [["label", "documents", "found", "missed", "suggested wrongly"]]
    rows += [[name, *map(str, (label.tp + label.fn, label.tp, label.fn, label.fp))] for name, label in missed]
    return _section("Labels that are missed most", note, _table(rows)) if missed else ""


def calibration_section(calibration: Calibration) -> str:
    """Return a section with the measures of confidences, their two curves, and thresholds."""
    curves = reliability_plot(calibration.reliability) + risk_coverage_plot(*calibration.risk_coverage[1:])
    measures = _place_beside(interval_table(calibration.measures), _terms(meanings(calibration.measures)))
    note = (
        "<p>Which suggestions to accept, so that a further document of the same kind is expected to keep a bound. This "
        "holds if these documents had no part in how the confidences were learnt (conformal risk control).</p>"
    )
    rules = note + _table(threshold_rows(calibration.thresholds)) if calibration.thresholds else ""
    return _section("How far the confidences can be trusted", measures, f'<div class="panels">{curves}</div>', rules)


def slices_section(scores: Scores) -> str:
    """Return a section with a column for each slice, and what the slices are."""
    terms = {f"{name}, {part.documents:,}": SLICES.get(name, "") for name, part in scores.slices.items()}
    return _section("Parts of the labels and documents", _terms(terms), _table(slice_rows(scores)))


def _differences_section(pair: Comparison) -> str:
    differences = {name: row.difference for name, row in pair.measures.items()}
    return _section(f"{pair.a} - {pair.b}, in points", f"{_WIDE}{interval_table(differences, '+')}</div>")


def _page(title: str, *parts: str) -> str:
    head = (
        '<meta charset="utf-8"><meta name="viewport" content="width=device-width,initial-scale=1">'
        f'<meta name="color-scheme" content="light dark"><title>{escape(title)}</title>'
    )
    body = "\n".join(part for part in (f"<h1>{escape(title)}</h1>", *parts) if part)
    style = files(__package__).joinpath("page.css").read_text(encoding="utf-8")
    head += f"<style>\n{style}</style>"
    return f'<!DOCTYPE html>\n<html lang="en"><head>{head}</head>\n<body><main>\n{body}\n</main></body></html>\n'


def _section(title: str, *parts: str) -> str:
    return f"<section><h2>{escape(title)}</h2>\n{''.join(parts)}\n</section>"


def _place_beside(main: str, side: str) -> str:
    """Return the main part with another to the right of it, where there is room."""
    return f'<div class="beside">{_WIDE}{main}</div><div>{side}</div></div>'


def _terms(notes: Mapping[str, str]) -> str:
    """Return a list of terms with their definitions; empty without terms."""
    lines = (f"<div><dt>{escape(name)}</dt><dd>{escape(text)}</dd></div>" for name, text in notes.items())
    return f"<dl>{''.join(lines)}</dl>" if notes else ""


def _table(rows: Rows) -> str:
    head = "".join(f'<th scope="col">{escape(cell)}</th>' for cell in rows[0])
    body = "\n".join(
        f'<tr><th scope="row">{escape(row[0])}</th>{"".join(f"<td>{escape(cell)}</td>" for cell in row[1:])}</tr>'
        for row in rows[1:]
    )
    return f"{_WIDE}<table><thead><tr>{head}</tr></thead><tbody>\n{body}\n</tbody></table></div>"


def evenly_spaced(documents: int, count: int) -> Longs:
    """Return the rows of `count` documents at equal distances, or of all if there are fewer: a sample without choice.

    >>> evenly_spaced(100, 4).tolist(), evenly_spaced(2, 4).tolist()
    ([12, 37, 62, 87], [0, 1])
    """
    count = min(count, documents)
    return np.asarray((np.arange(count) + 0.5) * documents / max(1, count), np.int64)


def most_missed(run: Run, gold: Run, count: int) -> list[LabelScore]:
    """Return up to `count` labels by the number of documents where they are missed, more frequent ones first if equal.

    Label 0 is gold three times and found once; label 1 is gold once and missed; label 2 is found.

    >>> run, gold = Run.from_rows([[0], [2], [2]]), Run.from_rows([[0], [0, 1], [0, 2]])
    >>> [(label.label, label.fn) for label in most_missed(run, gold, 9)]
    [(0, 2), (1, 1)]
    """
    rows = (row for row in label_scores(run, gold, k=FIRST) if row.fn)
    return sorted(rows, key=lambda row: (-row.fn, -row.tp, row.label))[:count]


def _spans(tagger: Tagger, document: Document, labels: Sequence[int]) -> list[list[str]]:
    """Return for each label up to three different evidence spans, largest weight first.

    Spans of over 40 characters are left out: whole sentences are too long for a list of suggestions.
    """
    words = list[list[str]]()
    for evidence in tagger.evidence(document, labels):
        spans = (document.text[span.start : span.end] for stage in evidence for span in stage.spans)
        pieces = (" ".join(text.split()).casefold() for text in spans)
        words.append(list(dict.fromkeys(piece for piece in pieces if len(piece) <= 40))[:3])
    return words
