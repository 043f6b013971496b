"""How many labels, and where to cut: `python -m benchmarks cuts --work DIR [--corpora ...]`.

`auto` learns from 300 labelled documents, those of `curve_methods`, as `TaggerClassifier` trains it: in three folds,
for suggestions out of fold, and on all of them, for up to 600 dev documents (epmc: those that were not drawn).

Best cut: micro-F1 of `cross_val_score` with the classifier's defaults, beside the best that one threshold of confidence
could have given on the same documents, chosen after seeing their labels; the prior is that with the best mean of
micro-F1 and F1 of documents on dev documents of the other corpora. Thresholds: macro-F1 on the dev documents of a
threshold for each label beside one for all, both found out of fold. How often the common threshold counts is chosen on
the other corpora: the number with the best mean gain of macro-F1 and micro-F1 there.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
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
from tagwright.tagger.acceptance import best_cut
from tagwright.types import Document, Floats, Longs, Run

LABELLED, FOLDS, DEV = "300", 3, 600

EVERYTHING = 10_000
"Suggestions of a document: all."

PSEUDO = (1.0, 2.0, 5.0, 10.0, 20.0, 50.0, 100.0)
"How often the common threshold counts, see `Thresholds`."

PRIORS = (0.0, 0.5, 1.0, 2.0, 4.0)
"Of `best_cut`."

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
    priors = {name: {prior: _of_prior(each, prior) for prior in PRIORS} for name, each in found.items()}
    gains = {name: {pseudo: _gain(each, pseudo) for pseudo in PSEUDO} for name, each in found.items()}
    content: dict[str, Any] = {"best cut": {}, "thresholds": {}, "F1 by prior": priors, "gain by pseudo": gains}
    for name, each in found.items():
        content["best cut"][name] = best_cuts(each, _best_elsewhere(priors, name))
        pseudo = _best_elsewhere(gains, name)
        content["thresholds"][name] = {"pseudo": pseudo, "documents": len(each.dev), **thresholds(each, pseudo)}
        print(name, content["best cut"][name], content["thresholds"][name], flush=True)
    figures.write(options.output, {**figures.read(options.output), **content})


def _best_elsewhere(scores: Mapping[str, Mapping[float, float]], name: str) -> float:
    """The constant with the best mean score on the other corpora."""
    others = [each for other, each in scores.items() if other != name] or [*scores.values()]
    return max(others[0], key=lambda constant: mean(each[constant] for each in others))


def best_cuts(found: Suggested, prior: float) -> dict[str, float]:
    """The mean micro-F1 of the folds with best cuts, and with the one threshold that is best for them."""
    folds = [np.flatnonzero(found.folds == fold) for fold in range(FOLDS)]

    def score(cut: Callable[[Run], Run]) -> float:
        return mean(_micro_f1(cut(found.labelled.take(rows)), found.gold.take(rows)) for rows in folds)

    sure = _confidences(found.labelled)
    tried = np.unique(np.quantile(sure[found.labelled.held_by(found.gold)], np.linspace(0, 1, 200), method="lower"))
    scores = {least: score(_above(least)) for least in tried.tolist()}
    best = max(scores, key=lambda least: scores[least])
    cuts = {"best cut": score(_cut(prior)), "best cut without prior": score(_cut(0.0)), "one threshold": scores[best]}
    expected, gold = float(sure.sum()) / len(found.gold), len(found.gold.labels) / len(found.gold)
    values = {"prior": prior, **cuts, "threshold": best, "expected labels": expected, "gold labels": gold}
    return {name: round(value, 4) for name, value in values.items()}


def _of_prior(found: Suggested, prior: float) -> float:
    """The mean of micro-F1 and the F1 of single documents, on dev documents."""
    run, gold = _cut(prior)(found.dev), found.dev_gold
    hits = np.bincount(run.rows, run.held_by(gold), len(run))
    return (_micro_f1(run, gold) + float(np.mean(2 * hits / (np.diff(run.indptr) + np.diff(gold.indptr))))) / 2


def _confidences(run: Run) -> Floats:
    assert run.confidences is not None
    return run.confidences


def _cut(prior: float) -> Callable[[Run], Run]:
    return lambda run: run.keep(best_cut(run, _confidences(run), prior))


def _above(least: float) -> Callable[[Run], Run]:
    return lambda run: run.keep(_confidences(run) >= least)


def _micro_f1(run: Run, gold: Run) -> float:
    """As scikit-learn's f1_score(average="micro")."""
    return 2 * int(run.held_by(gold).sum()) / max(1, len(run.labels) + len(gold.labels))


def thresholds(found: Suggested, pseudo: float, **effort: Any) -> dict[str, Any]:
    """Each measure on dev documents of thresholds for each label (a) and of one for all (b), with a paired test."""
    each = Thresholds.fit(found.labelled, found.gold, found.labels, pseudo=pseudo)
    one = Thresholds(np.full_like(each.values, each.values[-1]))
    runs = each.cut(found.dev), one.cut(found.dev)
    measured: dict[str, Any] = compare(*runs, found.dev_gold, measures=MEASURES, **effort).to_json()["measures"]
    return measured


def _gain(found: Suggested, pseudo: float) -> float:
    """The mean gain of macro-F1 and micro-F1."""
    measured = thresholds(found, pseudo, samples=10, permutations=10)
    return float(round(mean(measured[name]["difference"]["value"] for name in MEASURES[:2]), 5))


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
