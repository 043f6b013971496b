"""`train auto` on all dev documents, draw by draw: `python -m benchmarks auto_draws --work DIR [--before OTHER]`.

Labelled documents are the draws of `curve` and `curve_methods`; other train documents are known without labels. With 0
labelled ones it is the zero-shot method. Of each draw: nDCG@5, P@1, P@5, R@100, ECE@5, what was kept, what
cross-validation found, seconds of the processor, and the processor's milliseconds to tag a document.
Texts may be encoded already: time without that is what several draws have in common.

DIR keeps the score of each document, so that two states of the sources can be compared: run the former state with
another DIR and give it as `--before`; both are then written beside each other, with tests of each draw and of the means
of the draws, which are also tested against the zero-shot method. What is there is not run again, and what the results
have of other draws stays.

`--shift` measures whether the gain holds on new documents: ten draws of 50 labelled documents, the first five at
random, in the others documents of one cluster of vectors, where those outside it are scored, up to 800. Of each draw:
the gain over the zero-shot method on these, its p, the interval that `auto` said, and whether it holds the gain.
"""

from __future__ import annotations

import argparse
import json
import tempfile
import time
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
from benchmarks import corpora, figures
from benchmarks.calibration import calibration_error
from benchmarks.curve import LEVEL, MEASURES, UNLABELLED, by_document
from benchmarks.curve_methods import DEPTH, POOL, SIZES, Draw, Task, fit_auto, fit_zero_shot

from tagwright.evaluation.significance import holm, paired_p_value
from tagwright.tagger import Tagger
from tagwright.types import Document, Doubles, Ints

NOTHING: Mapping[str, Any] = {"kept": "zero_shot", "nDCG@5": {}, "brought": {}}
"What is recorded of the zero-shot method."

CLUSTERS, LABELLED, SCORED = 5, 50, 800
"Of `--shift`: clusters of the documents to draw from, labelled documents of a draw, and documents that are scored."

KNOWN = 1000
"From so many documents that no draw labels, others are not known: RTS needs as many."

AT_RANDOM = 5
"The first draws of `--shift` are drawn at random, the others from one cluster."


def main(arguments: list[str]) -> None:
    parser = corpora.parser("auto_draws", __doc__, corpora.ALL, work=True)
    parser.add_argument("--sizes", nargs="+", choices=SIZES, default=("50", "300"), help="labelled documents")
    parser.add_argument("--draws", type=int, nargs="+", help="seeds of the draws: 0 and 1, of --shift 0 to 9")
    parser.add_argument("--unlabelled", type=int, default=UNLABELLED, help="train documents that are known")
    parser.add_argument("--shift", action="store_true", help="measure whether the gain holds on new documents")
    parser.add_argument("--before", type=Path, help="the same of a former state, to compare with")
    options = parser.parse_args(arguments)
    corpora.require(tuple(options.corpora))
    options.work.mkdir(parents=True, exist_ok=True)
    if options.shift:
        measure_shifts(options)
        return
    draws = options.draws or [0, 1]
    with tempfile.TemporaryDirectory() as folder:
        for name in options.corpora:
            task = Task(name, None, options.unlabelled, Path(folder) / name)
            task.folder.mkdir()
            for size in options.sizes:
                for draw in draws[:1] if size in ("0", "all") else draws:
                    path = options.work / f"{name}-{size}-{draw}.npz"
                    if not path.is_file() and (size == "all" or int(size) <= len(task.pool) // 2):
                        print(json.dumps(measure(task.draw(size, draw), path)), flush=True)
    content = figures.read(options.output)
    for cell, draws in compared(options.work, options.before).items():
        content.setdefault("rows", {}).setdefault(cell, {}).update(draws)
    means = {**content.get("means", {}), **compared_means(options.work, options.before)}
    content |= {"unlabelled": options.unlabelled, "means": means}
    figures.write(options.output, content, states(options.work))


def measure(draw: Draw, path: Path) -> dict[str, Any]:
    """Train on a draw and score all of dev; the scores of documents are written to `path`."""
    clock = time.process_time()
    tagger = fit_auto(draw) if draw.labelled else fit_zero_shot(draw)
    fitted = time.process_time()
    run = tagger.tag(draw.scored, DEPTH).without(draw.task.own_labels(draw.scored))
    tagged = time.process_time()
    gold, first = draw.task.gold(draw.scored), run.top(5)
    scores, record = by_document(run, gold), tagger.training.get("auto", NOTHING)
    row = {
        **{name: round(float(values.mean()), 4) for name, values in scores.items()},
        "documents": len(draw.scored),
        "kept": record["kept"],
        "cross-validation": record["nDCG@5"],
        "brought": record["brought"],
        "seconds": {"of the processor": round(fitted - clock, 1)},
        "milliseconds to tag": round(1000 * (tagged - fitted) / len(draw.scored), 2),
    }
    if first.confidences is not None:
        right = gold.scores_of(first) > 0
        row["ECE@5"] = round(calibration_error(first.confidences.astype(np.float64), right), 4)
    np.savez(path, np.array(json.dumps(row)), *scores.values(), made=np.array(json.dumps(figures.state())))
    return row


@dataclass(frozen=True)
class Clusters:
    """A corpus whose documents are clustered by their vectors."""

    task: Task

    @cached_property
    def plain(self) -> Tagger:
        """The zero-shot method."""
        return fit_zero_shot(self.task.draw("0", 0))

    @cached_property
    def scores(self) -> dict[str, float]:
        """nDCG@5 of the zero-shot method, by the ids of dev documents."""
        return dict(zip((each.id for each in self.task.dev), _ndcg(self.task, self.plain, self.task.dev), strict=True))

    @cached_property
    def clusters(self) -> tuple[Ints, Ints]:
        """The cluster of each document to draw from, and of each dev document."""
        from sklearn.cluster import KMeans

        drawn_from, dev = (self.plain.encode(each) for each in (self.task.pool[:POOL], self.task.dev))
        found = KMeans(CLUSTERS, random_state=0, n_init=4).fit(drawn_from)
        return found.labels_, found.predict(dev)

    def draw(self, draw: int) -> Draw:
        """A draw at random, or of one cluster that holds enough; others than these are then scored."""
        rng, (pool, dev) = np.random.default_rng(draw), self.clusters
        if draw < AT_RANDOM:
            places, scored = np.arange(len(pool)), self.task.dev
        else:
            sizes = np.bincount(pool)
            large = [each for each in np.argsort(-sizes) if sizes[each] > LABELLED]
            cluster = large[draw % len(large)]
            places = np.flatnonzero(pool == cluster)
            scored = [self.task.dev[place] for place in np.flatnonzero(dev != cluster)]
        labelled = [self.task.pool[place] for place in rng.permutation(places)[:LABELLED]]
        drawn = {each.id for each in labelled}
        return ShiftDraw(self.task, labelled, [each for each in scored if each.id not in drawn][:SCORED])


@dataclass(frozen=True)
class ShiftDraw(Draw):
    """Labelled documents, and those to score. Known are no documents that a draw may label, if enough others are."""

    asked: Sequence[Document]

    @cached_property
    def scored(self) -> list[Document]:
        """Documents to score."""
        return [*self.asked]

    @cached_property
    def others(self) -> list[Document]:
        """The same for all draws of a corpus, so that the encoder of RTS can be."""
        pool = {each.id for each in self.task.pool[:POOL]}
        known = [replace(each, labels=()) for each in self.task.train[: self.task.known] if each.id not in pool]
        return known if len(known) > KNOWN else Draw(self.task, self.labelled).others


def measure_shifts(options: argparse.Namespace) -> None:
    """Measure the gain and its interval of each draw, and write each as it comes."""
    with tempfile.TemporaryDirectory() as folder:
        for name in options.corpora:
            most = None if name in corpora.FROM_DEV else SCORED + SCORED // 4
            corpus = Clusters(Task(name, most, options.unlabelled, Path(folder) / name))
            corpus.task.folder.mkdir()
            for draw in options.draws or range(2 * AT_RANDOM):
                content = figures.read(options.output)
                drawn = "at random" if draw < AT_RANDOM else "one cluster"
                rows = content.setdefault("shift", {}).setdefault(f"{name}, {drawn}", {})
                if str(draw) not in rows:
                    rows[str(draw)] = row = measure_shift(corpus, corpus.draw(draw))
                    print(name, draw, json.dumps(row), flush=True)
                    figures.write(options.output, content)


def measure_shift(corpus: Clusters, draw: Draw) -> dict[str, Any]:
    """Train on a draw; the gain over the zero-shot method on the documents to score, and what `auto` said of it."""
    tagger = fit_auto(draw, ("corpus", "rts"))
    record = tagger.training["auto"]
    plain = np.array([corpus.scores[each.id] for each in draw.scored])
    now = plain if record["kept"] == "zero_shot" else _ndcg(draw.task, tagger, draw.scored)
    gain = float((now - plain).mean())
    p = paired_p_value(now, plain)
    low, high = record["gain"]["low"], record["gain"]["high"]
    return {
        "zero_shot": round(float(plain.mean()), 4),
        "auto": round(float(now.mean()), 4),
        "gain": round(gain, 4),
        "p": round(p, 4),
        "said": record["gain"],
        "holds": low <= gain <= high,
        "below": gain < 0 and p < LEVEL,
        "kept": record["kept"],
        "cross-validation": record["nDCG@5"],
        "documents": len(draw.scored),
    }


def _ndcg(task: Task, tagger: Tagger, documents: Sequence[Document]) -> Doubles:
    """(documents,) nDCG@5."""
    run = tagger.tag(documents, DEPTH).without(task.own_labels(documents))
    return by_document(run, task.gold(documents))["nDCG@5"]


def compared(work: Path, before: Path | None) -> dict[str, Any]:
    """Corpus and size -> draw -> the row, and beside it the former state's with p of nDCG@5."""
    found: dict[str, Any] = {}
    for path in sorted(work.glob("*.npz")):
        name, size, draw = path.stem.split("-")
        row, scores = _read(path)
        cell: dict[str, Any] = {"now": row}
        if before and (before / path.name).is_file():
            former, others = _read(before / path.name)
            cell |= {"before": former, "p": round(paired_p_value(scores["nDCG@5"], others["nDCG@5"]), 4)}
        found.setdefault(f"{name} {size}", {})[draw] = cell
    return found


def compared_means(work: Path, before: Path | None) -> dict[str, Any]:
    """Corpus and size -> how many draws, and how their means differ from the former state's and the zero-shot method's.

    Each document has its mean nDCG@5 over the draws that leave it to be scored. p is adjusted over the corpora of a
    size.
    """
    cells: dict[str, list[Path]] = {}
    for path in sorted(work.glob("*.npz")):
        cells.setdefault(" ".join(path.stem.split("-")[:2]), []).append(path)
    tests: dict[str, dict[str, Any]] = {cell: {} for cell in cells if not cell.endswith(" 0")}
    for cell, test in tests.items():
        former = [before / path.name for path in cells[cell] if before and (before / path.name).is_file()]
        if former:
            test |= {"draws": len(former), **_differs([work / path.name for path in former], former)}
        plain = work / f"{cell.split()[0]}-0-0.npz"
        if plain.is_file():
            test["against zero_shot"] = _differs(cells[cell], [plain])
    for size in {cell.split()[1] for cell in tests}:
        _adjust([test for cell, test in tests.items() if cell.split()[1] == size and "p" in test])
        against = [test.get("against zero_shot", {}) for cell, test in tests.items() if cell.split()[1] == size]
        _adjust([test for test in against if test])
    return {cell: test for cell, test in tests.items() if "p" in test}


def _differs(now: Sequence[Path], other: Sequence[Path]) -> dict[str, Any]:
    """The mean difference of nDCG@5, and its p."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)  # of a document that is labelled in every draw
        a, b = (np.nanmean([_by_document(path) for path in paths], axis=0) for paths in (now, other))
    scored = ~np.isnan(a) & ~np.isnan(b)
    p = paired_p_value(a[scored], b[scored])
    return {"difference": round(float((a - b)[scored].mean()), 4), "p": {"randomisation": round(p, 4)}}


def _by_document(path: Path) -> Doubles:
    """(documents,) nDCG@5 of all documents of dev; NaN for those that are labelled."""
    name, size, draw = path.stem.split("-")
    scores = _read(path)[1]["nDCG@5"]
    if name not in corpora.FROM_DEV:
        return scores
    labelled = np.random.default_rng(int(draw)).permutation(len(scores) + int(size))[: int(size)]
    return np.insert(scores, np.sort(labelled) - np.arange(len(labelled)), np.nan)


def _adjust(tests: Sequence[dict[str, Any]]) -> None:
    """Add p after Holm's correction over these tests."""
    for place, p in holm({place: test["p"]["randomisation"] for place, test in enumerate(tests)}).items():
        tests[place]["adjusted"] = {"randomisation": round(p, 4)}


def states(work: Path) -> list[figures.State]:
    """What the sources were when each draw was measured."""
    found = []
    for path in sorted(work.glob("*.npz")):
        with np.load(path) as file:
            found.append(json.loads(str(file["made"])) if "made" in file else figures.UNRECORDED)
    return found


def _read(path: Path) -> tuple[Mapping[str, Any], dict[str, Doubles]]:
    with np.load(path) as file:
        scores = {name: file[f"arr_{place}"] for place, name in enumerate(MEASURES, 1)}
        return json.loads(str(file["arr_0"])), scores
