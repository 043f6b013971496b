"""Write scores and comparisons as one self-contained HTML page without scripts."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from html import escape
from importlib.resources import files
from pathlib import Path

from tagwright.core.outputs import write_output
from tagwright.evaluation.calibration import Calibration
from tagwright.evaluation.metrics import Bin
from tagwright.evaluation.report.examples import Example, Shown
from tagwright.evaluation.report.plots import interval_table, rank_plot, reliability_plot, risk_coverage_plot
from tagwright.evaluation.report.tables import slice_rows, threshold_rows
from tagwright.evaluation.resampling import Score
from tagwright.evaluation.scores import LabelScore, Scores, split
from tagwright.evaluation.significance import MEANING_OF_P, Comparison, Comparisons, comparison_rows
from tagwright.evaluation.text_tables import Rows, percent

SENTENCES = {
    "P": "Precision: of the first k suggestions, the share that is right.",
    "R": "Recall: of a document's right labels, the share that is among the first k suggestions.",
    "F1": "The harmonic mean of precision and recall of the first k suggestions of each document, averaged over the "
    "documents; the main measure of Annif.",
    "nDCG": "Like precision, but a right label counts more the earlier it stands; 100 is the best possible order.",
    "success": "The share of documents with at least one right label among the first k suggestions.",
    "macro-F1": "F1 of each label by itself, averaged over the labels: rare labels count as much as common ones.",
    "macro-F1-tail": "macro-F1 over the labels that 1 to 9 training documents have.",
    "hP": "Precision over the first k suggestions and the right labels, each with all labels above them: a suggestion "
    "near a right label counts in part (Kiritchenko et al. 2006).",
    "hR": "Recall in the same way: of the right labels and those above them, the share that is suggested.",
    "hF": "The harmonic mean of hP@k and hR@k.",
    "PSP": "Precision in which rare labels count more than common ones (propensity-scored).",
    "PSnDCG": "nDCG in which rare labels count more than common ones (propensity-scored).",
    "coverage": "The share of the vocabulary that is suggested for any document among the first k.",
    "answered": "The share of documents with any suggestion at all.",
    "ECE": "Calibration error: how far confidence is from the share that is right, on average over ten groups of the "
    "first k suggestions that are equally sure; 0 is best.",
    "Brier": "The mean squared distance of the confidence of the first k suggestions from 100 where they are right and "
    "from 0 where they are wrong; 0 is best.",
    "AURC": "The share of wrong labels among the accepted when the surest are accepted first, averaged over how many "
    "of the first ten suggestions are accepted; low is good.",
    "AUGRC": "The share of suggestions that is both accepted and wrong, averaged in the same way: the few surest do "
    "not decide it; low is good.",
}
"Kind of measure -> its meaning."

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
"Slice -> what is in it."

_WHOLE = ("answered", "AURC", "AUGRC")
"Measures that have no k."


def sentence(name: str) -> str:
    """The sentence for one measure.

    >>> sentence("P@5")
    'Precision: of the first 5 suggestions, the share that is right.'
    """
    kind, k = split(name)
    if name == "P@1":
        return "Precision: the share of first suggestions that are right."
    return SENTENCES[kind].replace("first k", f"first {k}")


def explained(names: Iterable[str]) -> dict[str, str]:
    """The sentence for each kind of measure among the names, once.

    >>> list(explained(["P@1", "P@5", "answered"]))
    ['P@k', 'answered']
    """
    kinds = dict.fromkeys(split(name)[0] for name in names)
    return {kind if kind in _WHOLE else f"{kind}@k": SENTENCES[kind] for kind in kinds if kind in SENTENCES}


FEW = 30
"A slice of fewer documents is only listed: its intervals are too wide to draw."

CARDS = ("P@1", "P@5", "F1@5", "nDCG@5", "R@100")
"The measures at the top of the page."


PANELS = ("P@1", "nDCG@5", "R@100")
"The measures that are drawn slice by slice."


@dataclass(frozen=True, slots=True)
class Details:
    """Content of a page besides the measures. missed: labels with their names. curves: macro-F1 by label frequency."""

    notes: Mapping[str, str]
    examples: Sequence[Example] = ()
    missed: Sequence[tuple[str, LabelScore]] = ()
    curves: Mapping[str, Sequence[Bin]] | None = None


def scores_page(title: str, scores: Scores, details: Details) -> str:
    """The measures of a run, what they mean, by slices, with examples and the labels that are missed most."""
    first = scores.measures.get("P@1")
    lead = f"The first suggestion is right for {percent(first.value)} of 100 documents." if first else ""
    return _page(
        title,
        f'<p class="lead">{lead} {scores.documents:,} documents were scored.</p>',
        _cards({name: scores.measures[name] for name in CARDS if name in scores.measures}),
        _section("What was scored", _terms(details.notes)),
        _section("Measures", _beside(interval_table(scores.measures), _terms(explained(scores.measures)))),
        _calibration(scores.calibration),
        _slices(scores),
        _section("Examples", _examples(details.examples)) if details.examples else "",
        _section("Labels that are missed most", _missed(details.missed)) if details.missed else "",
        _curves(details.curves),
    )


def comparison_page(title: str, found: Comparisons, details: Details) -> str:
    """Like `scores_page`, for two or more runs: the differences of every two are drawn, with a line at 0."""
    note = "All p are corrected over the measures and comparisons (Holm); * marks p of 0.05 or less."
    names = list(dict.fromkeys(name for pair in found.pairs for name in pair.measures))
    return _page(
        title,
        f'<p class="lead">{found.documents:,} documents were scored in all runs.</p>',
        _section("What was compared", _terms(details.notes)),
        *(_differences(pair) for pair in found.pairs),
        _section("Measures", _terms(explained(names))),
        _section("Test", f"<p>{note}</p>", _terms({"p": MEANING_OF_P}), *map(_tested, found.pairs)),
        _curves(details.curves),
    )


def _differences(pair: Comparison) -> str:
    differences = {name: row.difference for name, row in pair.measures.items()}
    return _section(f"{pair.a} - {pair.b}, in points", f'<div class="wide">{interval_table(differences, "+")}</div>')


def _tested(pair: Comparison) -> str:
    return f"<h3>{escape(pair.a)} and {escape(pair.b)}</h3>{_table(comparison_rows(pair))}"


def write_page(page: str, path: Path | str) -> None:
    """Write a page in one step. Raises TagwrightError when it cannot be written."""
    with write_output(path) as temporary:
        temporary.write_text(page, encoding="utf-8")


def _page(title: str, *parts: str) -> str:
    head = (
        '<meta charset="utf-8"><meta name="viewport" content="width=device-width,initial-scale=1">'
        f'<meta name="color-scheme" content="light dark"><title>{escape(title)}</title>'
    )
    body = "\n".join(part for part in (f"<h1>{escape(title)}</h1>", *parts) if part)
    style = files(__package__).joinpath("page.css").read_text(encoding="utf-8")
    head += f"<style>\n{style}</style>"
    return f'<!DOCTYPE html>\n<html lang="en"><head>{head}</head>\n<body>\n{body}\n</body></html>\n'


def _section(title: str, *parts: str) -> str:
    return f"<section><h2>{escape(title)}</h2>\n{''.join(parts)}\n</section>"


def _beside(main: str, side: str) -> str:
    return f'<div class="beside"><div class="wide">{main}</div><div>{side}</div></div>'


def _cards(measures: Mapping[str, Score]) -> str:
    cards = (
        f'<div class="card"><span class="name">{escape(name)}</span><span class="number">{percent(found.value)}</span>'
        f"<span>{percent(found.low)} to {percent(found.high)}</span><p>{escape(sentence(name))}</p></div>"
        for name, found in measures.items()
    )
    return f'<div class="cards">{"".join(cards)}</div>' if measures else ""


def _terms(notes: Mapping[str, str]) -> str:
    lines = (f"<div><dt>{escape(name)}</dt><dd>{escape(text)}</dd></div>" for name, text in notes.items())
    return f"<dl>{''.join(lines)}</dl>" if notes else ""


def _calibration(found: Calibration | None) -> str:
    """Write the section about confidences with its two curves, if there are any."""
    if found is None:
        return ""
    drawn = f'<div class="panels">{reliability_plot(found.reliability)}{risk_coverage_plot(found.risk_coverage)}</div>'
    measures = _beside(interval_table(found.measures), _terms(explained(found.measures)))
    note = (
        "<p>Which suggestions to accept, so that a further document of the same kind is expected to keep a bound. This "
        "holds if these documents had no part in how the confidences were learnt (conformal risk control).</p>"
    )
    rules = note + _table(threshold_rows(found.thresholds)) if found.thresholds else ""
    return _section("How far the confidences can be trusted", measures, drawn, rules)


def _slices(scores: Scores) -> str:
    """A panel for each measure, slices below each other; slices of few documents are a line each."""
    if not scores.slices:
        return ""
    large = {name: part for name, part in scores.slices.items() if part.documents >= FEW}
    few = {name: part for name, part in scores.slices.items() if name not in large}
    panels = "".join(
        f"<figure><figcaption>{escape(measure)}</figcaption>"
        f"{interval_table({name: part.measures[measure] for name, part in large.items()})}</figure>"
        for measure in PANELS
        if large and all(measure in part.measures for part in large.values())
    )
    terms = {f"{name}, {part.documents:,}": SLICES.get(name, "") for name, part in large.items()}
    table = f"<details><summary>All measures</summary>{_table(slice_rows(scores))}</details>"
    lines = "".join(f"<p>{_line(name, part)}</p>" for name, part in few.items())
    drawn = f'<div class="panels">{panels}</div>'
    return _section("Parts of the labels and documents", _terms(terms), drawn, lines, table)


def _line(name: str, part: Scores) -> str:
    found = ", ".join(f"{each} {percent(part.measures[each].value)}" for each in CARDS if each in part.measures)
    documents = f"{part.documents:,} document{'' if part.documents == 1 else 's'}"
    return f"{escape(name)}: {documents}, too few to draw ({escape(found)})"


def _examples(examples: Iterable[Example]) -> str:
    note = (
        "<p>Documents at equal distances in the corpus, not selected by hand. &#10003; right, &#10007; not among the "
        "document's labels; in brackets the words that are evidence.</p>"
    )
    return f'{note}<div class="examples">{"".join(map(_example, examples))}</div>'


def _example(found: Example) -> str:
    missed = f'<p class="missed">Missed: {escape(", ".join(found.missed))}</p>' if found.missed else ""
    shown = "".join(map(_suggestion, found.suggestions)) or "<li>no suggestion</li>"
    return f"<article><h3>{escape(found.title or found.id)}</h3><ol>{shown}</ol>{missed}</article>"


def _suggestion(shown: Shown) -> str:
    kind, mark, said = ("right", "&#10003;", "right") if shown.right else ("wrong", "&#10007;", "wrong")
    words = f' <span class="words">({escape(", ".join(shown.words))})</span>' if shown.words else ""
    return f'<li class="{kind}"><b aria-label="{said}">{mark}</b> {escape(shown.name)}{words}</li>'


def _missed(missed: Sequence[tuple[str, LabelScore]]) -> str:
    note = "<p>How often a label is among the first five suggestions of the documents that have it.</p>"
    rows = [["label", "documents", "found", "missed", "suggested wrongly"]]
    rows += [[name, *map(str, (row.tp + row.fn, row.tp, row.fn, row.fp))] for name, row in missed]
    return note + _table(rows)


def _curves(curves: Mapping[str, Sequence[Bin]] | None) -> str:
    return _section("Rare and common labels", f'<div class="wide">{rank_plot(curves)}</div>') if curves else ""


def _table(rows: Rows) -> str:
    head = "".join(f'<th scope="col">{escape(cell)}</th>' for cell in rows[0])
    body = "\n".join(
        f'<tr><th scope="row">{escape(row[0])}</th>{"".join(f"<td>{escape(cell)}</td>" for cell in row[1:])}</tr>'
        for row in rows[1:]
    )
    return f'<div class="wide"><table><thead><tr>{head}</tr></thead><tbody>\n{body}\n</tbody></table></div>'
