"""Whether our ranking trees pay: `python -m benchmarks rankers [--corpora ...] [--sizes ...] [--work DIR]`.

Only the ranker of the learned combiner is exchanged, see `exchanged_rankers`: features, folds, the blend with the fixed
sum, biases of labels and confidences stay. With 50 and 300 labelled documents, candidates have the features of stages
that are not trained; with `many`, up to 6,000, also those of the SVM and the nearest labelled documents, as in `train
auto`, and the combiner learns from 1,000 of them. One draw a row, with seed 0. Measured are nDCG@5 and ECE@5 on dev
documents drawn at random, p of the paired randomisation test against our trees, the processor's seconds to choose and
fit a combiner and to score 1,000 documents, and kilobytes on disk. Results are written as they come, and what is there
is not measured again. DIR keeps the features, and the scores of the rankers.
"""

from __future__ import annotations

import argparse
import tempfile
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from benchmarks import corpora, curve, figures
from benchmarks.calibration import confidence_errors
from benchmarks.curve_methods import Task
from benchmarks.exchanged_rankers import OURS, RANKERS

from tagwright.core.steps import State, Steps
from tagwright.methods import zero_shot
from tagwright.methods.auto import combine, plan, recipe
from tagwright.methods.auto import examples as auto_examples
from tagwright.methods.auto.examples import Weighted
from tagwright.training.combiner import CombinerOptions, Examples, fit_combiner
from tagwright.training.out_of_fold import Folds

RESULT = figures.RESULTS / "rankers.json"

SIZES = ("50", "300", "many")
DEV, KNOWN, POOL, MANY, TEACHING = 1000, 500, 600, 6000, 1000
"""Documents: scored, known without labels, to draw 50 or 300 from, with labels where there are many, and of these, such
that teach the combiner."""

DONE = "done"
"A file that says that all candidates of a corpus are stored."


def main(arguments: list[str]) -> None:
    parser = argparse.ArgumentParser(prog="benchmarks rankers", description=__doc__)
    parser.add_argument("--corpora", nargs="+", choices=curve.NAMES, default=curve.NAMES)
    parser.add_argument("--sizes", nargs="+", choices=SIZES, default=SIZES, help="labelled documents")
    parser.add_argument("--rankers", nargs="+", choices=[*RANKERS], default=[*RANKERS])
    parser.add_argument("--work", type=Path, help="keep features and scores there, and go on from what it has")
    parser.add_argument("--output", type=Path, default=RESULT)
    options = parser.parse_args(arguments)
    corpora.require(tuple(options.corpora))
    result: dict[str, Any] = {"rows": {}, **figures.read(options.output)}
    with tempfile.TemporaryDirectory() as folder:
        for line in rows(result["rows"], options.work or Path(folder), options):
            print(line, flush=True)
            figures.write(options.output, result)


def rows(found: dict[str, Any], work: Path, options: argparse.Namespace) -> Iterator[str]:
    """Add what is missing to "corpus size" -> ranker; a line for each."""
    for name in options.corpora:
        for size in options.sizes:
            task = Task(name, DEV, KNOWN, work / name)
            if not (has_many(task) if size == "many" else int(size) < len(task.pool)):
                continue
            row = found.setdefault(f"{name} {size}", {})
            missing = [ranker for ranker in (OURS, *options.rankers) if ranker not in row]
            if not missing:
                continue
            training, test = examples(task, size)
            for ranker in dict.fromkeys(missing):
                try:
                    row[ranker] = measure(ranker, training, test, work / name / size)
                except ModuleNotFoundError as error:  # LightGBM is no dependency of ours
                    yield f"{name:6} {size:>5} {ranker:20} left out: pip install {error.name}"
                    continue
                yield f"{name:6} {size:>5} {ranker:20} {row[ranker]}"


def measure(ranker: str, training: Examples, test: Examples, folder: Path) -> dict[str, Any]:
    """One ranker on one draw. folder: for the scores of the candidates; those of our trees are compared with."""
    clock = time.process_time()
    fitted = fit_combiner(training, combine.ndcg_at_5, choices(training), RANKERS[ranker])
    to_fit, clock = time.process_time() - clock, time.process_time()
    scores, size = test.run.scores, 0
    if fitted.ranker:
        scores = (fitted.ranker.predict(test.features) + fitted.bias[test.run.labels]).astype(np.float32)
        with tempfile.TemporaryDirectory() as saved:
            fitted.ranker.save(Path(saved))
            size = sum(path.stat().st_size for path in Path(saved).rglob("*") if path.is_file())
    to_predict = time.process_time() - clock
    folder.mkdir(parents=True, exist_ok=True)
    np.save(folder / f"{ranker}.npy", scores)
    run, ours = test.run.rescored(scores), test.run.rescored(np.load(folder / f"{OURS}.npy"))
    return {
        "nDCG@5": round(float(combine.ndcg_at_5(run, test.gold).mean()), 4),
        "p": round(curve.significance(run, ours, test.gold), 4),
        "ECE@5": round(confidence_errors(fitted, test)[0], 4),
        "cross-validation": round(float(fitted.measured.mean()), 4),
        "learned": fitted.choice,
        "labelled": len(training.run),
        "documents": len(test.run),
        "seconds to fit": round(to_fit, 2),
        "seconds to score 1000": round(1000 * to_predict / len(test.run), 3),
        "kilobytes": round(size / 1000, 1),
    }


def choices(training: Examples) -> CombinerOptions:
    """As in `train auto`."""
    options = CombinerOptions()
    return options if len(training.run) < plan.TRAINED_STAGES_ONLY else replace(options, folds=recipe.FEWER)


def has_many(task: Task) -> bool:
    """Whether enough train documents have labels, besides those that teach the combiner."""
    return task.name not in corpora.FROM_DEV and len(task.pool) > TEACHING


def examples(task: Task, size: str) -> tuple[Examples, Examples]:
    """Labelled documents and those to score, with the features of their candidates."""
    name, work = task.name, task.folder
    work.mkdir(parents=True, exist_ok=True)
    if not (work / DONE).is_file():
        prepare(task, work)
    parts = ("many", "many test") if size == "many" else ("pool", "test")
    pool, test = (Weighted.of(Steps(work, resume=True).once(part, _never)).examples for part in parts)
    if size == "many":
        return pool, test
    drawn = np.random.default_rng(0).permutation(len(pool.run))[: int(size)]
    return pool.take(np.sort(drawn)), curve.Task(name, pool, test, name in corpora.FROM_DEV).scored(drawn)


def prepare(task: Task, work: Path) -> None:
    """Describe the candidates, without and with the stages that are trained on labels, as `train auto` does."""
    unlabelled = [replace(each, labels=()) for each in task.train[:KNOWN]]
    plain = zero_shot.fit(task.labels, documents=unlabelled[: combine.BATCH])
    tagger = combine.with_more_stages(combine.without_confidence(plain))
    described = combine.describe_corpus(tagger, unlabelled, combine.Config(exclude_self=task.name == "mdn"))
    few = task.dev if task.name in corpora.FROM_DEV else task.pool[:POOL]
    _store(work / "test", combine.examples(tagger, described, task.dev))
    _store(work / "pool", combine.examples(tagger, described, few))
    if has_many(task):
        labelled = task.pool[:MANY]  # in random order
        found = Folds(labelled, task.labels, task.gold(labelled), np.arange(TEACHING))
        made = auto_examples.with_trained(tagger, described, labelled[:TEACHING], iter(found))
        joined = replace(tagger, retrievers={**tagger.retrievers, **found.last()})
        described = auto_examples.weighted(described, made.weights)
        _store(work / "many", made.examples)
        _store(work / "many test", combine.examples(joined, described, task.dev))
    (work / DONE).touch()


def _store(folder: Path, examples: Examples) -> None:
    Steps(folder.parent).once(folder.name, lambda: Weighted(examples).state)


def _never() -> State:
    raise AssertionError("the candidates have been stored")
