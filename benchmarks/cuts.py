"""How many labels, and where to cut: `python -m benchmarks cuts --work DIR [--corpora ...]`.

`auto` learns from 300 labelled documents, those of `curve_methods`, as `TaggerClassifier` trains it: in three folds,
for suggestions out of fold, and on all of them, for up to 600 dev documents (epmc: those that were not drawn).

Best cut: micro-F1 of `cross_val_score` with the classifier's defaults, beside the best that one threshold of confidence
could have given on the same documents, chosen after seeing their labels. Thresholds: macro-F1 on the dev documents of a
threshold for each label beside one for all, both found out of fold. How often the common threshold counts is chosen on
the other corpora: the number with the best mean gain of macro-F1 and micro-F1 there.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import mean
from typing import Any

import numpy as np
from benchmarks import corpora, figures
from benchmarks.curve_methods import Task
from sklearn.model_selection import KFold

from tagwright.combining.thresholds import Thresholds
from tagwright.evaluation.significance import compare
from tagwright.sklearn import TaggerClassifier
from tagwright.tagger.acceptance import SuggestOptions
from tagwright.types import Document, Longs, Run

LABELLED, FOLDS, DEV = "300", 3, 600

EVERYTHING = 10_000
"Suggestions of a document: all."

PSEUDO = (1.0, 2.0, 5.0, 10.0, 20.0, 50.0, 100.0)
"How often the common threshold counts, see `Thresholds`."

MEASURES = ("macro-F1@100", "micro-F1@100", "micro-P@100")


@dataclass(frozen=True, eq=False)
class Suggested:
    """Suggestions for labelled documents out of fold, and for dev documents, with gold labels. folds: (labelled,)."""

    labels: int
    folds: Longs
    labelled: Run
    gold: Run
    dev: Run
    dev_gold: Run


def main(arguments: list[str]) -> None:
    parser = corpora.parser("cuts", __doc__, corpora.ALL, work=True)
    options = parser.parse_args(arguments)
    corpora.require(tuple(options.corpora))
    options.work.mkdir(exist_ok=True)
    found = {name: suggest(name, options.work) for name in options.corpora}
    gains = {name: {pseudo: _gain(each, pseudo) for pseudo in PSEUDO} for name, each in found.items()}
    content: dict[str, Any] = {"best cut": {}, "thresholds": {}, "gain by pseudo": gains}
    for name, each in found.items():
        others = [gain for other, gain in gains.items() if other != name] or [gains[name]]
        chosen = max(PSEUDO, key=lambda pseudo: mean(gain[pseudo] for gain in others))
        content["best cut"][name] = best_cuts(each)
        content["thresholds"][name] = {"pseudo": chosen, "documents": len(each.dev), **thresholds(each, chosen)}
        print(name, content["best cut"][name], content["thresholds"][name], flush=True)
    figures.write(options.output, {**figures.read(options.output), **content})


def best_cuts(found: Suggested) -> dict[str, float]:
    """The mean micro-F1 of the folds with the best cut, and with the one threshold that is best for them."""
    folds = [np.flatnonzero(found.folds == fold) for fold in range(FOLDS)]

    def score(cut: Callable[[Run], Run]) -> float:
        return mean(_micro_f1(cut(found.labelled.take(rows)), found.gold.take(rows)) for rows in folds)

    sure = found.labelled.confidences
    assert sure is not None
    tried = np.unique(np.quantile(sure[found.labelled.held_by(found.gold)], np.linspace(0, 1, 200), method="lower"))
    scores = {float(least): score(_above(float(least))) for least in tried}
    best = max(scores, key=lambda least: scores[least])
    options = SuggestOptions(k=EVERYTHING, best_cut=True)
    cut = {"best cut": score(lambda run: run.keep(options.accepts(run))), "one threshold": scores[best]}
    held, gold = float(sure.sum()) / len(found.gold), len(found.gold.labels) / len(found.gold)
    return {name: round(value, 4) for name, value in {**cut, "threshold": best, "expected": held, "gold": gold}.items()}


def _above(least: float) -> Callable[[Run], Run]:
    options = SuggestOptions(k=EVERYTHING, min_confidence=least)
    return lambda run: run.keep(options.accepts(run))


def _micro_f1(run: Run, gold: Run) -> float:
    """As scikit-learn's f1_score(average="micro")."""
    return 2 * int(run.held_by(gold).sum()) / max(1, len(run.labels) + len(gold.labels))


def thresholds(found: Suggested, pseudo: float, **effort: int) -> dict[str, Any]:
    """Each measure on dev documents of thresholds for each label (a) and of one for all (b), with a paired test."""
    each = Thresholds.fit(found.labelled, found.gold, found.labels, pseudo=pseudo)
    one = Thresholds(np.full_like(each.values, each.values[-1]))
    runs = each.cut(found.dev), one.cut(found.dev)
    measured: dict[str, Any] = compare(*runs, found.dev_gold, measures=MEASURES, **effort).to_json()["measures"]
    return measured


def _gain(found: Suggested, pseudo: float) -> float:
    """The mean gain of macro-F1 and micro-F1."""
    measured = thresholds(found, pseudo, samples=10, permutations=10)
    return round(mean(measured[name]["difference"]["value"] for name in MEASURES[:2]), 5)


def suggest(name: str, work: Path) -> Suggested:
    """Train in folds and on all labelled documents; read what is in the folder already."""
    file = work / f"{name}.npz"
    if not file.is_file():
        _train(name, work)
    with np.load(file) as kept:
        runs = {
            part: Run(*(kept[f"{part} {array}"] for array in ("indptr", "labels", "scores", "confidences")))
            for part in ("labelled", "gold", "dev", "dev_gold")
        }
        return Suggested(int(kept["size"]), kept["folds"], **runs)


def _train(name: str, work: Path) -> None:
    task = Task(name, DEV, 0, work)
    draw = task.draw(LABELLED, 0)
    documents, ids, gold = list(draw.labelled), task.labels.ids, task.gold(draw.labelled)

    def suggested(learned: Sequence[int], asked: Sequence[Document]) -> Run:
        y = [[ids[label] for label in gold[place][0].tolist()] for place in learned]
        classifier = TaggerClassifier("auto", labels=task.labels, minutes=600.0)
        tagger = classifier.fit([documents[place] for place in learned], y).tagger_
        return tagger.tag(asked, EVERYTHING).without(task.own_labels(asked))

    folds, runs, order = np.empty(len(documents), np.int64), list[Run](), list[int]()
    for fold, (learned, asked) in enumerate(KFold(FOLDS, shuffle=True, random_state=0).split(documents)):
        folds[asked] = fold
        runs.append(suggested(learned.tolist(), [documents[place] for place in asked.tolist()]))
        order += asked.tolist()
        print(f"{name:8} fold {fold}", flush=True)
    dev, dev_gold = suggested(range(len(documents)), draw.scored), task.gold(draw.scored)
    parts = {"labelled": Run.concat(runs).take(np.argsort(order)), "gold": gold, "dev": dev, "dev_gold": dev_gold}
    arrays = {
        f"{part} {array}": getattr(run, array)
        for part, run in parts.items()
        for array in ("indptr", "labels", "scores", "confidences")
        if getattr(run, array) is not None
    }
    arrays |= {f"{part} confidences": np.ones_like(parts[part].scores) for part in ("gold", "dev_gold")}
    np.savez(work / f"{name}.npz", folds=folds, size=len(ids), **arrays)
    print(f"{name:8} {len(documents)} labelled, {len(dev)} dev documents", flush=True)
