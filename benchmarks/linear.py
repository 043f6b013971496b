"""The linear SVM against scikit-learn's, and against omikuji's trees: `python -m benchmarks linear [--output FILE]`.

`some documents`, `some labels`: what both SVMs can do, drawn at random with seed 0; both with C = 1 and in one
process, so that times compare; measured on the dev documents of tib that have one of these labels.
`all`: every train document and label, on all cores. Each row is measured in a process of its own: seconds of the clock
and of the processors (which other work on the machine lengthens less), the most memory of a process. Writes JSON.
"""

from __future__ import annotations

import json
import os
import resource
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from benchmarks import corpora, figures
from benchmarks.machine import CHILDREN, SELF, in_own_process, processor_seconds, timed

from tagwright.data.bags import BagOfWords
from tagwright.data.sparse_arrays import Matrix
from tagwright.evaluation.scores import evaluate
from tagwright.papers.label_trees import fit_trees
from tagwright.stages.linear.svm import SvmOptions, fit_svm
from tagwright.types import Run

SUBSETS = {"some documents": (10_000, 2_000), "some labels": (None, 1_000)}
"Train documents and labels that occur in them; None for all."

DEPTH = 100

Fit = Callable[[Matrix, Run, int], Callable[[Matrix, int], Run]]
"Features, gold labels and the number of labels in; what scores other features out."


@dataclass(frozen=True)
class Task:
    """What to learn from, and what to measure on."""

    train: Matrix
    gold: Run
    dev: Matrix
    dev_gold: Run
    labels: int


def main(arguments: list[str]) -> None:
    parser = corpora.parser("linear", __doc__, ())
    parser.add_argument("--subsets", nargs="*", choices=[*SUBSETS, "all"], default=[*SUBSETS, "all"])
    parser.add_argument("--row", nargs=2, help="measure one row in this process: subset and name")
    options = parser.parse_args(arguments)
    corpora.require(("tib",))
    if options.row:
        subset, name = options.row
        print(json.dumps(measure(task(subset), rows(subset)[name])))
        return
    result: dict[str, Any] = {"corpus": "tib"}
    for subset in options.subsets:
        result[subset] = {name: in_own_process("linear", "--row", subset, name) for name in rows(subset)}
        if "scikit-learn" in result[subset]:
            result[subset]["times faster"] = ratios(result[subset]["scikit-learn"], result[subset]["SVM"])
        figures.write(options.output, result)
    print(json.dumps(result, indent=1))


def rows(subset: str) -> dict[str, Fit]:
    """What is compared on a subset."""
    if subset != "all":
        return {"SVM": partial(svm, options=SvmOptions(cost=1, workers=1)), "scikit-learn": scikit_learn}
    return {"SVM": partial(svm, options=SvmOptions()), "Parabel": trees}


def svm(features: Matrix, gold: Run, labels: int, options: SvmOptions) -> Callable[[Matrix, int], Run]:
    return fit_svm(features, gold, labels, options).scores


def trees(features: Matrix, gold: Run, labels: int) -> Callable[[Matrix, int], Run]:
    return fit_trees(features, gold, labels).predict


def scikit_learn(features: Matrix, gold: Run, labels: int) -> Callable[[Matrix, int], Run]:
    from scipy.sparse import csr_matrix
    from sklearn.multiclass import OneVsRestClassifier
    from sklearn.svm import LinearSVC

    # int64: of int8 scikit-learn 1.9 makes other targets
    targets = csr_matrix((np.ones(len(gold.labels), np.int64), gold.labels, gold.indptr), (len(gold), labels))
    model = OneVsRestClassifier(LinearSVC(random_state=0)).fit(features.astype(np.float64), targets)

    def scores(others: Matrix, k: int) -> Run:
        margins = model.decision_function(others)
        k = min(k, margins.shape[1])
        best = np.argpartition(margins, -k, axis=1)[:, -k:]
        indptr = np.arange(len(margins) + 1) * k
        return Run.of(indptr, best.ravel(), np.take_along_axis(margins, best, axis=1).ravel())

    return scores


def task(subset: str) -> Task:
    """The documents of tib; those of a subset, and only its labels."""
    vocabulary, train, dev = corpora.labels("tib"), corpora.documents("tib", "train"), corpora.documents("tib", "dev")
    gold, dev_gold = (vocabulary.gold(documents, unknown="ignore") for documents in (train, dev))
    bag = BagOfWords.of(document.text for document in train)
    features, dev_features = (bag.transform(document.text for document in documents) for documents in (train, dev))
    documents, labels = SUBSETS.get(subset, (None, len(vocabulary)))
    rng = np.random.default_rng(0)
    if documents is not None and documents < len(train):
        drawn = np.sort(rng.choice(len(train), documents, replace=False))
        features, gold = features[drawn], gold.take(drawn)
    if subset in SUBSETS:
        there = np.unique(gold.labels)
        chosen = np.sort(rng.choice(there, min(labels, len(there)), replace=False))
        gold, dev_gold, labels = only(gold, chosen), only(dev_gold, chosen), len(chosen)
    asked = np.flatnonzero(np.diff(dev_gold.indptr))
    return Task(features, gold, dev_features[asked], dev_gold.take(asked), labels)


def only(gold: Run, labels: Any) -> Run:
    """The gold labels that are among these, numbered in their order."""
    kept = gold.keep(np.isin(gold.labels, labels))
    return Run(kept.indptr, np.searchsorted(labels, kept.labels).astype(np.int32), kept.scores)


def measure(given: Task, fit: Fit) -> dict[str, Any]:
    before = processor_seconds(*WHO)
    trained, _, scores = timed(lambda: fit(given.train, given.gold, given.labels))
    used = processor_seconds(*WHO) - before
    tagged, _, run = timed(lambda: scores(given.dev, DEPTH))
    found = evaluate(run, given.dev_gold, measures=("P@1", "P@3", "P@5", "R@100"), samples=1).measures
    return {
        "documents": given.train.shape[0],
        "labels": len(np.unique(given.gold.labels)),
        "seconds": round(trained, 1),
        "processor seconds": round(used, 1),
        "seconds to tag": round(tagged, 1),
        "dev documents": len(run),
        "peak MB": max(resource.getrusage(who).ru_maxrss for who in WHO) // 1024,
        "load": round(os.getloadavg()[0], 1),
        **{name: round(100 * estimate.value, 2) for name, estimate in found.items()},
    }


WHO = (SELF, CHILDREN)


def ratios(slow: dict[str, Any], fast: dict[str, Any]) -> dict[str, float]:
    return {name: round(slow[name] / fast[name], 1) for name in ("seconds", "processor seconds")}
