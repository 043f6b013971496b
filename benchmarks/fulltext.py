"""What the full text is worth: `python -m benchmarks fulltext --work DIR`.

Rankings of the same candidates by abstract and full text, FuTex and its parts. No gold label is read but by the rows
that say so in their names. Each opinion of the candidates is kept in --work, and rows are made of these: a run that was
interrupted goes on there, and row by row can be added. Beside the measures stands how far a row agrees with the
authors' keywords, where the corpus has some: evidence for choices that no gold label has a part in.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from benchmarks import corpora, rows
from benchmarks.opinions import CROSS, MENTIONS, OPINIONS, Task

from tagwright.combining.fusion import append_labels
from tagwright.data.corpus import Corpus
from tagwright.evaluation.metrics import mark_labelled
from tagwright.papers import futex
from tagwright.papers.full_text import FullText
from tagwright.papers.label_trees import Trees, fit_trees
from tagwright.stages.lexical import Lexical, LexicalOptions
from tagwright.stages.names.exact_match import ExactMatch, ExactMatchOptions
from tagwright.training.config import TrainingConfig
from tagwright.types import Retriever, Run

MEASURES = ("P@1", "P@3", "P@5", "nDCG@5", "nDCG@10", "PSP@5", "R@20", "R@100")
TESTED = ("P@1", "P@3", "P@5", "nDCG@10", "PSP@5", "R@20", "R@100")


@dataclass(frozen=True)
class Row:
    """A ranking of candidates. opinions: in OPINIONS, MENTIONS or CROSS, their reciprocal ranks are added.

    learn: options of the classifier that learns from the first of them, if there is one. against: rows to test
    against, besides the first.
    """

    opinions: tuple[str, ...]
    learn: Mapping[str, Any] | None = None
    against: tuple[str, ...] = ()


BASE, ENCODER = "names in the abstract, re-ranked on the abstract", "all labels: encoder on abstract"
AGAINST = {"epmc": (BASE,), "mdn": (BASE, ENCODER)}
"What every row is tested against: the line to start from, and mdn's best single stage."

FUTEX = "FuTex"
BOTH = ("cross", "tree")
"What the paper adds up."
DEFAULT = (*MENTIONS, "abstract")
"What `train futex` adds up."

ROWS: Mapping[str, Row] = {
    BASE: Row(("abstract",)),
    "abstract and tree": Row(("abstract", "tree")),
    **{f"re-ranked on: {name}": Row((name,)) for name in (*OPINIONS, *MENTIONS, CROSS) if name != "abstract"},
    "FuTex-NoSelfTrain": Row(BOTH),
    FUTEX: Row(BOTH, {}, ("FuTex-NoSelfTrain",)),
    "FuTex-NoNetwork": Row(("abstract", "tree"), {}, (FUTEX,)),
    "FuTex-NoHierarchy": Row((CROSS,), {}, (FUTEX,)),
    " and ".join(DEFAULT): Row(DEFAULT),
    "with mentions, append, N = 5": Row(DEFAULT, {"pseudo_labels": 5, "order": "append"}, (" and ".join(DEFAULT),)),
}
"The paper's and ours; results/fulltext.json also has rows by which ours was chosen."


def encoded(name: str, task: Task) -> Retriever:
    """The labels nearest to what an aggregation makes of a document."""
    return FullText(task.plain, OPINIONS[name])


SINGLE: Mapping[str, Callable[[Task], Retriever]] = {
    "all labels: names in the abstract": lambda task: ExactMatch(
        task.labels, ExactMatchOptions(text_field="title_and_abstract")
    ),
    "all labels: names": lambda task: ExactMatch(task.labels),
    "all labels: TF-IDF on the abstract": lambda task: Lexical(
        task.labels, LexicalOptions(weighting="tfidf", text_field="title_and_abstract")
    ),
    "all labels: TF-IDF": lambda task: Lexical(task.labels, LexicalOptions(weighting="tfidf")),
    **{f"all labels: encoder on {name}": partial(encoded, name) for name in OPINIONS},
}
"Stages alone, over all labels: the baselines of Table 2 for whatever encoder is named."

SUPERVISED = {f"supervised, {n} labelled papers": n for n in (30, 100, 250, 1000, 3000)}
"Parabel on the gold labels of so many papers (Fig. 5)."

FOLDS = 5
"Parts of dev; supervised rows learn from the papers of the others and of train, where train has gold labels."

ALL = [BASE, *(row for row in ROWS if row != BASE), *SINGLE, *SUPERVISED]


def main(arguments: list[str]) -> None:
    parser = corpora.parser("fulltext", __doc__, ("epmc", "mdn"), ["epmc"], work=True)
    parser.add_argument("--rows", nargs="+", choices=ALL, default=ALL, metavar="ROW")
    parser.add_argument("--encoder", default="minilm", help="static, or the name of a transformer")
    parser.add_argument("--most", type=int, help="so many documents of train and of dev")
    parser.add_argument(
        "--count", type=int, help="paragraphs of an epoch of the fine-tuning; needs a --work of its own"
    )
    parser.add_argument("--epochs", type=float, help="epochs of the fine-tuning")
    parser.add_argument("--steps", type=int, help="batches of the fine-tuning")
    options = parser.parse_args(arguments)
    corpora.require(tuple(options.corpora))
    tuning = {"count": options.count, "training": TrainingConfig(epochs=options.epochs, steps=options.steps)}
    for name in options.corpora:
        work = options.work / f"{options.encoder.replace('/', '-')}, {options.most or 'all'}"
        task = Task(name, work, options.encoder, options.most, tuning)
        for row in options.rows:
            if SUPERVISED.get(row, 0) > mark_labelled(task.gold_everywhere).sum() * (1 - 1.5 / FOLDS):
                print(f"{name}: too few labelled papers for: {row}", file=sys.stderr)
                continue
            if not task.is_measured(row):
                measure(task, row)
            others = [*AGAINST[name], *(ROWS[row].against if row in ROWS else ())]
            about = {"documents": len(task.dev), "learnt from": len(task.train) + len(task.dev)}
            size = f", {options.most} train papers" if options.most else ""
            heading = f"{name}, {options.encoder}{size}"
            rows.add(options.output, task, row, heading, about, others, TESTED, task.gold_everywhere)


def measure(task: Task, row: str) -> None:
    """Make the run of a row, and store it with its scores."""
    start = time.perf_counter()
    if row in SINGLE:
        run = SINGLE[row](task)(task.dev)
    elif row in SUPERVISED:
        run = supervised(task, SUPERVISED[row])
    else:
        run = ranked(task, ROWS[row])
    run = task.without_self(task.dev, run).top(rows.DEPTH)
    rows.store(task, row, run, time.perf_counter() - start, MEASURES, task.gold_everywhere)


def ranked(task: Task, row: Row) -> Run:
    """The ranking of a row over dev, with what a classifier adds if there is one."""
    found = task.ranking(row.opinions, "dev")
    if row.learn is None:
        return found
    config = futex.Config(**{"order": "example", **row.learn})
    pseudo = Run.concat([task.ranking(row.opinions, "train"), found]).top(config.pseudo_labels)
    bag, features = task.words
    trees = Trees(task.labels, bag, fit_trees(features, pseudo, len(task.labels)), rows.DEPTH + 20)
    head = found.top(config.pseudo_labels) if config.order == "example" else found
    return append_labels(append_labels(head, trees(task.dev)), found)


def supervised(task: Task, papers: int) -> Run:
    """What Parabel says of each fold of dev that has learnt from the gold labels of so many papers outside of it."""
    rng = np.random.default_rng(0)
    config = futex.Config(min_papers=2 if papers < 1000 else 5)
    first, fold = len(task.train), rng.integers(FOLDS, size=len(task.dev))
    parts = []
    for number in range(FOLDS):
        hidden = np.concatenate([np.zeros(first, np.bool_), fold == number])
        able = np.flatnonzero(mark_labelled(task.gold_everywhere) & ~hidden)
        chosen = np.sort(rng.permutation(able)[:papers])
        documents = Corpus.of(task.everything[int(place)] for place in chosen)
        bag, features = futex.bag_of_words(documents, config)
        learnt = fit_trees(features, task.gold_everywhere.take(chosen), len(task.labels))
        trees = Trees(task.labels, bag, learnt, rows.DEPTH + 1)
        parts.append(trees([task.dev[place] for place in np.flatnonzero(fold == number).tolist()]))
    return Run.concat(parts).take(np.argsort(np.argsort(fold, kind="stable")))
