"""Collect the details that a report page shows beside the scores: origin, examples, missed labels."""

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime

from tagwright import __version__
from tagwright.evaluation.dataset import EvaluationSet
from tagwright.evaluation.metrics import Bin, by_frequency
from tagwright.evaluation.report.examples import Example, K, Shown, most_missed, spread
from tagwright.evaluation.report.page import Details
from tagwright.tagger import Tagger
from tagwright.types import Document, Run

EXAMPLES, MISSED, WORDS = 10, 10, 3
"Documents that are shown, labels that are listed, and evidence spans shown for a suggestion."


def details(
    task: EvaluationSet,
    run: Run,
    tagger: Tagger | None,
    notes: Mapping[str, str],
) -> Details:
    """Collect the content of an evaluation page. tagger: the tagger of the run, if known, to show evidence."""
    names = [f"{label.name} {label.notation}".rstrip() for label in task.vocabulary]
    missed = [(names[each.label], each) for each in most_missed(run, task.gold, MISSED)]
    return Details(notes, _examples(task, run, tagger, names), missed, curves({"this run": run}, task))


def origin(task: EvaluationSet, documents: str, labels: str) -> dict[str, str]:
    """Where the numbers come from: documents, labels, date, version. documents, labels: what they are called."""
    return {
        "documents": f"{documents}: {len(task.kept):,} scored",
        "labels": f"{labels}: {len(task.vocabulary):,} labels",
        "date": f"{datetime.now(UTC):%Y-%m-%d %H:%M} UTC",
        "version": f"tagwright {__version__}",
    }


def settings_of(tagger: Tagger | None, settings: Sequence[str]) -> dict[str, str]:
    """The stages of a tagger with their weights, and the options that were set."""
    if tagger is None:
        return {}
    found = {"stages and weights": tagger.combiner.describe(tagger.stages)}
    return {**found, "options": ", ".join(settings)} if settings else found


def curves(runs: Mapping[str, Run], task: EvaluationSet) -> dict[str, list[Bin]]:
    """Quality by label frequency in the training documents (DEPL Fig. 1); nothing without training documents."""
    return {name: by_frequency(run, task.gold, task.train) for name, run in runs.items()} if task.train else {}


def _examples(task: EvaluationSet, run: Run, tagger: Tagger | None, names: Sequence[str]) -> list[Example]:
    shown = []
    for row in spread(len(task.kept), EXAMPLES).tolist():
        document = task.corpus[int(task.kept[row])]
        suggested, gold = run[row][0][:K].tolist(), set(task.gold[row][0].tolist())
        words = _words(tagger, document, suggested) if tagger else [()] * len(suggested)
        found = [Shown(names[label], label in gold, each) for label, each in zip(suggested, words, strict=True)]
        missed = tuple(names[label] for label in sorted(gold.difference(suggested)))
        shown.append(Example(document.id, document.title, tuple(found), missed))
    return shown


def _words(tagger: Tagger, document: Document, labels: Sequence[int]) -> list[tuple[str, ...]]:
    """The evidence spans of each label that weigh most; whole sentences are too long to be shown here."""
    return [
        tuple(
            dict.fromkeys(
                piece
                for each in evidence
                for span in each.spans
                if len(piece := " ".join(document.text[span.start : span.end].split()).casefold()) <= 40
            )
        )[:WORDS]
        for evidence in tagger.evidence(document, labels)
    ]
