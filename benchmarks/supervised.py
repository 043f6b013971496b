"""Quality of what is learnt from labels: `python -m benchmarks supervised --work DIR [--corpora ...] [--rows ...]`.

DEPL's Tables 3, 5, 6, 7 and Figures 1, 3, 4. Every row learns from the labels of the train documents and is measured on
dev; nothing is chosen there. Rows are written as they come, and what they were measured with stays in --work: a run
that was interrupted goes on there. The rows of DEPL share the SVM and the classifier of theirs, whose
seconds they do not count.
"""

from __future__ import annotations

import argparse
import shutil
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import cached_property, partial
from itertools import pairwise
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
from benchmarks import bound, corpora, figures, rows

from tagwright.core.steps import Steps
from tagwright.evaluation.metrics import Bin, Contingency, by_frequency, f1
from tagwright.evaluation.report.page import write_page
from tagwright.evaluation.report.plots import FREQUENCY, rank_plot
from tagwright.methods import auto, depl, svm
from tagwright.stages.linear.classifiers import Linear
from tagwright.tagger import Tagger
from tagwright.types import Document, Run

C = TypeVar("C", bound=depl.ClassifierConfig)

K = 5
MEASURES = (
    *("P@1", "P@3", "P@5", "nDCG@5", "R@10", "R@100"),
    *("PSP@1", "PSP@3", "PSP@5", "macro-F1@5", "macro-F1-tail@5"),
)
TESTED = ("P@1", "P@3", "P@5", "nDCG@5", "R@100", "PSP@1", "PSP@3", "PSP@5", "macro-F1@5", "macro-F1-tail@5")
RESULT = figures.RESULTS / "supervised.json"

BLOCK, KEYWORDS = 256, 20
"Documents that the bound is computed for together, and keywords of a label that it compares with all its words."


@dataclass(frozen=True)
class Task(rows.Task):
    """A corpus, an encoder with what it reads of a document, and how many of the train documents are learnt from.

    documents: 0 for all. max_length: tokens; None for as many as the encoder can read.
    """

    encoder: str
    documents: int
    max_length: int | None

    @cached_property
    def material(self) -> list[Document]:
        """The documents to learn from: those that have a label, a random part of them where not all are wanted."""
        labelled = [document for document in self.train if document.labels]
        return rows.sample(labelled, self.documents or len(labelled))

    @cached_property
    def known(self) -> Run:
        """Their labels."""
        return self.without_self(self.material, self.labels.gold(self.material, unknown="ignore"))

    @property
    def heading(self) -> str:
        """What the result calls the table."""
        cut = f", {self.max_length} tokens" if self.max_length else ""
        return f"{self.name}, {self.encoder}{cut}" + (f", {self.documents} documents" if self.documents else "")

    def folder(self, row: str) -> Path:
        """Where the tagger, the run and the scores of a row lie; the linear ones are those of every encoder."""
        encoder = "linear" if row in LINEAR else self.encoder + (f" {self.max_length}" if self.max_length else "")
        return self.work / f"{encoder} {self.documents or 'all'}" / self.name / row

    def config(self, kind: type[C], **options: Any) -> C:
        """The configuration of a row."""
        return kind(encoder=self.encoder, max_length=self.max_length, **options)

    def tagger(self, row: str) -> Tagger:
        """The tagger of a row, made if need be."""
        if not self.is_measured(row):
            measure(self, row)
        return Tagger.load(self.folder(row) / "tagger")


Fit = Callable[[Task, Path], Tagger]


def linear(task: Task, folder: Path) -> Tagger:
    return svm.fit(task.material, task.labels, svm.Config(), Steps(folder, resume=True), gold=task.known)


def classifier(task: Task, folder: Path) -> Tagger:
    config = task.config(depl.ClassifierConfig)
    return depl.fit(task.material, task.labels, config, Steps(folder, resume=True), gold=task.known)


def retrieval(task: Task, folder: Path, kind: type[depl.DeRetConfig] = depl.Config, **options: Any) -> Tagger:
    """DEPL or DE-ret, with the SVM and, unless it starts untrained, the classifier of this table."""
    config = task.config(kind, **options)
    start = task.tagger(CLASSIFIER) if config.trained_start else None
    parts: dict[str, Any] = {"gold": task.known, "svm": task.tagger(SVM), "classifier": start}
    return depl.fit(task.material, task.labels, config, Steps(folder, resume=True), **parts)


def as_in_the_paper(task: Task, folder: Path, paper: Callable[[], depl.DeRetConfig] = depl.paper) -> Tagger:
    """The settings of the paper, with SVM and classifier of their own, but for the encoder and how much it reads."""
    config = replace(paper(), encoder=task.encoder, max_length=task.max_length)
    return depl.fit(task.material, task.labels, config, Steps(folder, resume=True), gold=task.known)


def trees(task: Task, folder: Path) -> Tagger:  # noqa: ARG001
    return rows.parabel(task, task.material, task.known)


def both(task: Task, folder: Path) -> Tagger:  # noqa: ARG001
    """The evidence of the SVM and of DEPL+cls, added up."""
    return Tagger(task.labels, {**task.tagger(SVM).retrievers, **task.tagger(CLS).retrievers})


def whatever_helps(task: Task, folder: Path) -> Tagger:
    """`train auto` with as much time as it takes."""
    return auto.fit(task.material, task.labels, auto.Config(minutes=600), Steps(folder, resume=True), gold=task.known)


SVM, TREES, CLASSIFIER, DE_RET, DEPL, CLS = "SVM", "omikuji", "classifier", "DE-ret", "DEPL, 16 tokens", "DEPL+cls"
FUSED, AUTO = "SVM and DEPL+cls, fused", "auto"

LINEAR = (SVM, TREES, AUTO)
"Rows without the encoder of the table: `auto` has that of the zero-shot method."

ROWS: Mapping[str, tuple[Fit, tuple[str, ...]]] = {
    SVM: (linear, ()),
    TREES: (trees, (SVM,)),
    CLASSIFIER: (classifier, (SVM, TREES)),
    DE_RET: (partial(retrieval, kind=depl.DeRetConfig), (SVM, CLASSIFIER)),
    DEPL: (partial(retrieval, tokens=16), (SVM, TREES, CLASSIFIER, DE_RET)),
    "DEPL, 8 tokens": (partial(retrieval, tokens=8), (SVM, DEPL)),
    "DEPL, 32 tokens": (partial(retrieval, tokens=32), (SVM, DEPL)),
    CLS: (partial(retrieval, kind=depl.ClsConfig), (SVM, TREES, CLASSIFIER, DEPL)),
    "DEPL+cls, Eq. 4": (partial(retrieval, kind=depl.ClsConfig, apart=False), (CLS, DEPL)),
    "DEPL, as in the paper": (as_in_the_paper, (SVM, DEPL)),
    "DEPL+cls, as in the paper": (partial(as_in_the_paper, paper=depl.cls_paper), (SVM, CLS)),
    "DEPL, no hard negatives": (partial(retrieval, hard_negatives=0), (DEPL,)),
    "DEPL, 5 hard negatives": (partial(retrieval, hard_negatives=5), (DEPL,)),
    "DEPL, no trained start": (partial(retrieval, trained_start=False), (DEPL,)),
    "DEPL, CLS of labels": (partial(retrieval, label_pooling="cls"), (DEPL,)),
    FUSED: (both, (SVM, CLS)),
    AUTO: (whatever_helps, (SVM, CLS, FUSED)),
}
"Name -> how to make its tagger, and the rows that it is tested against."


def main(arguments: list[str]) -> None:
    parser = argparse.ArgumentParser(prog="benchmarks supervised")
    parser.add_argument("--corpora", nargs="+", choices=corpora.NAMES, default=["tib", "mdn"])
    parser.add_argument("--rows", nargs="*", choices=tuple(ROWS), default=list(ROWS), metavar="ROW")
    parser.add_argument("--encoder", default="static", help="what is trained")
    parser.add_argument("--max-length", type=int, help="tokens that a transformer reads of a document")
    parser.add_argument("--documents", type=int, default=0, help="learn from so many train documents; 0: all")
    parser.add_argument("--work", type=Path, required=True, help="a folder for taggers and runs")
    parser.add_argument("--output", type=Path, default=RESULT, help="a JSON file, added to where it exists")
    parser.add_argument("--curves", type=Path, help="an HTML page: macro-F1 by label frequency (Fig. 1), and by bound")
    parser.add_argument("--bound", action="store_true", help="what Theorem 3 says of each label")
    options = parser.parse_args(arguments)
    corpora.require(tuple(options.corpora))
    figures: list[str] = []
    for name in options.corpora:
        task = Task(name, options.work, options.encoder, options.documents, options.max_length)
        for row in options.rows:
            if row == "DEPL, CLS of labels" and options.encoder == "static":
                continue  # a static encoder has one way to make a vector of a text
            if not task.is_measured(row):
                measure(task, row)
            about = {"documents": len(task.material)}
            rows.add(options.output, task, row, task.heading, about, ROWS[row][1], TESTED, train=task.known)
        if options.curves:
            figures.append(curves(task))
        if options.bound:
            figures.append(add_bound(task, options.output))
    if options.curves:
        write_page("\n".join(figures), options.curves)


def measure(task: Task, row: str) -> None:
    """Make the tagger of a row, in its own folder; what its training leaves there is found again after a kill."""
    for needed in () if row in (*LINEAR, CLASSIFIER) else (SVM, CLASSIFIER):
        task.tagger(needed)  # before the clock starts
    folder = task.folder(row) / "training"
    folder.mkdir(parents=True, exist_ok=True)
    rows.measure(task, row, lambda: ROWS[row][0](task, folder), MEASURES, train=task.known)
    shutil.rmtree(folder)


def curves(task: Task) -> str:
    """DEPL Fig. 1 over the rows that are there."""
    there = [row for row in (SVM, CLASSIFIER, DE_RET, DEPL, CLS) if task.is_measured(row)]
    lines = {row: by_frequency(task.run(row), task.gold, task.known, k=K) for row in there}
    return rank_plot(lines, f"{task.heading}: {FREQUENCY}")


def add_bound(task: Task, output: Path, documents: int = 4000, dim: int = 256) -> str:
    """The share of labels that Theorem 3 says anything of, and how the SVM and DEPL fare from small to large margins.

    Returns a plot of the latter.
    """
    stage = task.tagger(SVM).stages["svm"]
    assert isinstance(stage, Linear)
    bounds = bounds_of(task, stage, documents, dim)
    asked = np.bincount(task.gold.labels, minlength=len(task.labels)) > 0
    order = sorted((each for each in bounds if asked[each.label]), key=lambda each: each.margin - each.loss)
    values = {}
    for row in (SVM, DEPL):
        table = Contingency.of(task.run(row), task.gold, len(task.labels), K)
        values[row] = f1(table.tp, table.fp, table.fn)[[each.label for each in order]]

    def parts(count: int) -> list[tuple[int, int]]:
        ends = [len(order) * i // count for i in range(count + 1)]
        return list(pairwise(ends))

    result = figures.read(output)
    result.setdefault(task.heading, {})["Theorem 3"] = {
        "labels": len(bounds),
        "share with a bound below 1": bound.share_bounded(bounds),
        "fifths of the labels, by margin less loss": [
            {
                "margin - loss, at most": round(order[end - 1].margin - order[end - 1].loss, 4),
                "labels": end - start,
                **{f"macro-F1@{K} of {row}": round(float(each[start:end].mean()), 4) for row, each in values.items()},
            }
            for start, end in parts(5)
        ],
        "hardest": [{"name": task.labels[each.label].name, **asdict_of(each)} for each in order[:10]],
    }
    figures.write(output, result)
    print(f"{task.name}: the bound is below 1 for {bound.share_bounded(bounds):.1%} of the labels", file=sys.stderr)
    lines = {
        row: [Bin(start, end, 0, float(each[start:end].mean())) for start, end in parts(50)]
        for row, each in values.items()
    }
    return rank_plot(lines, f"{task.heading}: macro-F1@{K} by margin less loss (Theorem 3), hard labels to the left")


def asdict_of(each: bound.LabelBound) -> dict[str, float]:
    return {name: round(float(value), 4) for name, value in each._asdict().items() if name != "label"}


def bounds_of(task: Task, stage: Linear, documents: int, dim: int) -> list[bound.LabelBound]:
    """Over a sample of the train documents, with the bias as a word that every document and every label has.

    Keywords have no negative weights, so that wrong labels gain by them too. Hence the loss here is what the margin
    loses, over all wrong labels that it is about: the proof (Lemma 5) uses just the margin that is left.
    """
    from scipy.sparse import csr_matrix

    weights, bias, known = stage.model.weights, stage.model.bias, stage.model.known
    squares = np.asarray(weights.multiply(weights).sum(axis=1)).ravel()[known] + bias[known] ** 2
    scale = 1 / np.sqrt(2 * squares.max())  # of documents, the bias's word included, and of the longest label: norm 1
    words = [stage.model.keywords(label, KEYWORDS) for label in known.tolist()]
    places = np.repeat(known, [len(each) for each in words]), np.concatenate(words)
    kept = csr_matrix((np.asarray(weights[places]).ravel(), places), weights.shape)
    full, short = (each[known].T.tocsr() for each in (weights, kept))
    sample = np.random.default_rng(0).permutation(len(task.material))[:documents]
    parts: list[tuple[Any, ...]] = []
    for start in range(0, len(sample), BLOCK):
        block = sample[start : start + BLOCK]
        features = stage.bag.transform(task.material[i].text for i in block)
        gold = task.known.take(block)
        scores, by_keywords = ((features @ each).toarray() + bias[known] for each in (full, short))
        right = np.zeros(scores.shape, np.bool_)
        right[gold.rows, np.searchsorted(known, gold.labels)] = True
        found = bound.margins(scores, right)
        left = bound.margins_left(scores, by_keywords, right)
        parts.append((known[found.labels], found.margin * scale, (found.margin - left) * scale, found.below))
    labels, margin, lost, below = (np.concatenate(each) for each in zip(*parts, strict=True))
    return bound.by_label(labels, margin, lost, below, dim)
