"""What labelled documents bring: `python -m benchmarks curve [--corpora ...] [--output FILE]`.

nDCG@5, P@1, P@5 and R@100 of the zero-shot method and of the combiner that is learned from n labelled documents, over
n; means and deviations of the draws, and in how many of them nDCG@5 is significantly above or below the zero-shot
method: by the paired randomisation test over documents, p < 0.05. Documents are drawn from train and all of dev is
scored; where train documents have no labels (epmc), they are drawn from dev and the rest of it is scored. The other
documents count as unlabelled. Candidates are described once for each corpus: that does not depend on the draw. Results
are written as they come.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from benchmarks import corpora, figures

from tagwright.auto import combination
from tagwright.auto.ranker import CombinerOptions, Examples, fit_combiner
from tagwright.data.gold import excludes_self
from tagwright.evaluation.metrics import Hits, ndcg, precision, recall
from tagwright.evaluation.significance import compare
from tagwright.tagger import zero_shot
from tagwright.types import Document, Doubles, Longs, Run

SIZES = (10, 20, 50, 100, 300, 1000, 3000)
DRAWS = 5
UNLABELLED = CombinerOptions.corpus
"Train documents that are looked at without their labels."

LARGE = 1000
"From so many labelled documents on draws differ little: three of them are enough."

LEVEL = 0.05
"A difference is significant below this p."


@dataclass(frozen=True, eq=False)
class Task:
    """A corpus with its candidates described. pool: documents to draw from; test: those to score.

    shared: whether both are the same documents, of which only those that are not drawn are scored.
    """

    name: str
    pool: Examples
    test: Examples
    shared: bool

    def scored(self, drawn: Longs) -> Examples:
        """What is scored when these documents of the pool are labelled."""
        return self.test.take(np.setdiff1d(np.arange(len(self.test.run)), drawn)) if self.shared else self.test


def main(arguments: list[str]) -> None:
    parser = corpora.parser("curve", __doc__, corpora.ALL)
    parser.add_argument("--sizes", nargs="+", type=int, default=SIZES, help="labelled documents")
    parser.add_argument("--draws", type=int, default=DRAWS)
    parser.add_argument("--documents", type=int, help="score only N dev documents, drawn with seed 0")
    parser.add_argument("--unlabelled", type=int, default=UNLABELLED, help="train documents that are known")
    options = parser.parse_args(arguments)
    corpora.require(tuple(options.corpora))
    settings = {"documents": options.documents, "unlabelled": options.unlabelled}
    result = {**figures.read(options.output), **settings}
    for name in options.corpora:
        task = prepare(name, options.documents, options.unlabelled, 2 * max(options.sizes))
        for size in options.sizes:
            if size <= len(task.pool.run) // 2:
                draws = min(options.draws, 3) if size >= LARGE else options.draws
                found = [measure(task, size, draw) for draw in range(draws)]
                result.setdefault(name, {})[str(size)] = row = summary(found)
                print(f"{name:6} {size:5}", *(f"{key} {value}" for key, value in row.items()), flush=True)
                figures.write(options.output, result)


def prepare(name: str, most: int | None, known: int, labelled: int) -> Task:
    """Describe the candidates of the documents to score, and of up to so many to draw from; known: without labels."""
    vocabulary = corpora.labels(name)
    dev = [each for each in sampled(corpora.corpus(name, "dev"), most) if each.labels]
    train = sampled(corpora.corpus(name, "train"), max(known, 2 * labelled))
    unlabelled = [replace(each, labels=()) for each in train[:known]]
    plain = zero_shot.fit(vocabulary, documents=unlabelled[: combination.BATCH])
    excluded = excludes_self(vocabulary.own(dev), vocabulary.gold(dev, unknown="ignore"))
    tagger, config = combination.with_more_stages(plain), CombinerOptions(exclude_self=excluded)
    described = combination.describe_corpus(tagger, unlabelled, config)

    def examples(documents: Sequence[Document]) -> Examples:
        return combination.examples(tagger, described, documents)

    test, drawn = examples(dev), [each for each in train if each.labels][:labelled]
    shared = len(drawn) < min(labelled, len(dev))  # of epmc's train documents hardly any have labels
    return Task(name, test if shared else examples(drawn), test, shared)


def sampled(documents: Sequence[Document], most: int | None) -> list[Document]:
    """Up to so many documents, drawn with seed 0: corpora are not in random order."""
    return [documents[place] for place in np.random.default_rng(0).permutation(len(documents))[:most].tolist()]


def measure(task: Task, size: int, draw: int) -> dict[str, Any]:
    """The zero-shot method and the combiner for one draw."""
    drawn = np.random.default_rng(draw).permutation(len(task.pool.run))[:size]
    test = task.scored(drawn)
    start, clock = time.perf_counter(), time.process_time()
    fitted = fit_combiner(task.pool.take(np.sort(drawn)))
    seconds, cpu = time.perf_counter() - start, time.process_time() - clock
    ranked = test.run
    if fitted.ranker:
        ranked = test.run.rescored(fitted.ranker.predict(test.features) + fitted.bias[test.run.labels])
    return {
        "zero_shot": measures(test.run, test.gold),
        "auto": measures(ranked, test.gold),
        "p": significance(ranked, test.run, test.gold),
        "learned": float(fitted.ranker is not None),
        "expected gain": fitted.gain,
        "seconds": seconds,
        "processor seconds": cpu,
    }


def significance(run: Run, other: Run, gold: Run) -> float:
    """Two-sided p that the nDCG@5 of two runs over the same documents is the same."""
    found = compare(run, other, gold, measures=["nDCG@5"], samples=1)
    return found.measures["nDCG@5"].p


MEASURES = ("nDCG@5", "P@1", "P@5", "R@100")


def by_document(run: Run, gold: Run) -> dict[str, Doubles]:
    """Measure -> (documents,) its values."""
    hits = Hits.of(run, gold, 100)
    values = ndcg(hits, 5), precision(hits, 1), precision(hits, 5), recall(hits, 100)
    return dict(zip(MEASURES, values, strict=True))


def measures(run: Run, gold: Run) -> dict[str, float]:
    """Measure -> its mean over the documents."""
    return {name: float(values.mean()) for name, values in by_document(run, gold).items()}


def summary(draws: Sequence[dict[str, Any]]) -> dict[str, Any]:
    """Means and deviations over the draws."""
    row: dict[str, Any] = {}
    for key in ("zero_shot", "auto"):
        row[key] = {name: round(float(np.mean([each[key][name] for each in draws])), 4) for name in draws[0][key]}
        row[key]["deviation"] = round(float(np.std([each[key]["nDCG@5"] for each in draws])), 4)
    gains = [each["auto"]["nDCG@5"] - each["zero_shot"]["nDCG@5"] for each in draws]
    row["p"] = [round(each["p"], 4) for each in draws]
    row["above"] = int(sum(p < LEVEL and gain > 0 for p, gain in zip(row["p"], gains, strict=True)))
    row["below"] = int(sum(p < LEVEL and gain < 0 for p, gain in zip(row["p"], gains, strict=True)))
    row["draws"], row["learned"] = len(draws), [each["learned"] for each in draws]
    row["seconds"] = round(max(each["seconds"] for each in draws), 1)
    row["processor seconds"] = round(max(each["processor seconds"] for each in draws), 1)
    return row
