"""How many labels, and where to cut: `python -m benchmarks cuts --work DIR [--corpora ...]`.

`auto` learns from 300 labelled documents, those of `curve_methods`, as `TaggerClassifier` trains it: in three folds,
for suggestions out of fold, and on all of them, for up to 600 dev documents (epmc: those that were not drawn).

Best cut: micro-F1 of `cross_val_score` with the classifier's defaults, beside the best that one threshold of confidence
could have given on the same documents, chosen after seeing their labels. Thresholds: macro-F1 on the dev documents of a
threshold for each label beside one for all, both found out of fold. How many documents are added to those of each label
is chosen on the other corpora: the number with the best mean difference to one threshold.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
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

PSEUDO = (0.5, 1.0, 2.0, 5.0, 10.0, 20.0, 50.0)
"Documents that are added to those of each label."

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
    content = figures.read(options.output)
    found = {name: suggest(name, options.work) for name in options.corpora}
    ...


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
    np.savez(work / f"{name}.npz", folds=folds, size=len(ids), **arrays)  # type: ignore[arg-type]
    print(f"{name:8} {len(documents)} labelled, {len(dev)} dev documents", flush=True)
