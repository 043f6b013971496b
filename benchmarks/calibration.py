"""How far confidences can be trusted: `python -m benchmarks calibration [fit | few | combiner | methods | bins]`.

fit: the confidence of a tagger that has seen no label (combining/label_free.py). The two models are fitted on four
corpora and measured on the dev documents of the fifth; then those of the package are fitted on all five and written
to src/tagwright/combining/label_free.json. Labels of train documents are read for the fit (of epmc, which has too few,
those of dev); those of a corpus never for the measurement on it, but for how many labels its documents have on
average, where that is taken to be known.
few: the model of small vocabularies. 2 to 80 labels of a corpus are drawn, frequent ones oftener, as are 60 train
documents (of epmc dev documents) that have any of them; the zero-shot method with and without an encoder ranks these.
ECE@5 is of the model of the other corpora; that of the package is written into label_free.json.
combiner: the confidences of the learned combiner (methods/combined.py) with 50 and 300 labelled documents of train,
measured on 800 dev documents; of epmc on those dev documents that were not drawn. The draws are those of `curve`.
methods: each method as `train` trains it, with the confidences that it then has, measured on 600 dev documents of
kirja and tib. 300 train documents are labelled, those of `curve_methods`; methods that learn from texts read 2,000
others too. Trainings are short (100 steps of a static encoder), as a bad tagger must know how bad it is.
bins: ten bins of confidences and the share of right labels in each, for the diagrams of `plots`: without labels, as in
`fit` (the package keeps its models), and of the first draw of `combiner` with 300 labelled documents.
"""

from __future__ import annotations

import argparse
import json
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import date
from pathlib import Path
from typing import Any

import numpy as np
from benchmarks import corpora, curve, curve_methods, figures
from sklearn.linear_model import LogisticRegression

import tagwright as tw
import tagwright.combining
from tagwright.api.options import find_method
from tagwright.auto import combination
from tagwright.auto.ranker import Examples, FittedCombiner, fit_combiner
from tagwright.combining.confidence import (
    fit_logistic,
    fit_score_map,
    ranks_within,
)
from tagwright.combining.label_free import (
    FEATURES,
    FEW_FEATURES,
    FILE,
    features,
    features_of_few,
    logistic,
    named_bits,
    read_packaged,
    text_lengths,
)
from tagwright.core.atomic import replace_file
from tagwright.data.vocabulary import Vocabulary
from tagwright.evaluation.calibration import Judged, assess, reliability
from tagwright.tagger import Tagger, batches, zero_shot
from tagwright.tagger.confidences import with_confidences
from tagwright.types import Document, Doubles, Longs, Mask, Run

DOCUMENTS = 1000
"Of each part of a corpus, drawn with seed 0 among those that have a label."

RANKS = 20
"The model is fitted on the first so many candidates of each document."

FEW_LABELS = 2, 3, 5, 10, 20, 40, 80
"few: labels of a vocabulary."

FEW_STAGES = ("exact_match", "tfidf", "dense"), ("exact_match", "tfidf")

ALL = corpora.ALL
"The corpora of the fit; that the encoder does not know the language of kirja is a case of its own."

LABELLED, FITS, SCORED, KNOWN = (50, 300), 3, 800, 1500
"combiner: labelled documents; how often they are drawn; dev documents that are scored; unlabelled ones it knows."

QUICK: Mapping[str, Any] = {"encoder": "static", "steps": 100}

METHODS: Mapping[str, Mapping[str, Any]] = {
    "svm": {},
    "depl": QUICK,
    "depl_cls": {**QUICK, "variant": "depl_cls"},
    "finetune": {"steps": 50},
    "rts": QUICK,
    "maclr": QUICK,
    "micol": QUICK,
    "futex": {"encoder": "static"},
    "zero_shot": {},
    "auto": {},
}
"methods: the options of each."


@dataclass(frozen=True, eq=False)
class Sample:
    """Candidates of some documents of a corpus: their features, and whether they are right; gold labels of each."""

    gold: Longs
    run: Run
    right: Mask
    table: Doubles

    @property
    def documents(self) -> int:
        """How many there are."""
        return len(self.gold)

    @property
    def labels_per_document(self) -> float:
        """How many gold labels a document has on average."""
        return float(self.gold.mean())

    def features(self, labels_per_document: float | None) -> Doubles:
        """The features, rank over the labels of a document where that number is known."""
        shift = np.log(labels_per_document or 1.0) * (np.arange(len(FEATURES)) == 0)
        return np.asarray(self.table - shift, np.float64)

    def first(self, k: int) -> Mask:
        """The first k candidates of each document."""
        return np.asarray(self.run.ranks <= k, np.bool_)


def main(arguments: list[str]) -> None:
    parser = corpora.parser("calibration", __doc__, ALL)
    parser.add_argument("job", choices=("fit", "few", "combiner", "methods", "bins"), nargs="?", default="fit")
    parser.add_argument("--methods", nargs="+", choices=[*METHODS], default=[*METHODS])
    parser.add_argument("--labelled", default="300", help="methods: labelled documents")
    parser.add_argument("--draws", nargs="+", default=["0", "1"], help="methods: seeds")
    options = parser.parse_args(arguments)
    corpora.require(tuple(options.corpora) if options.job == "combiner" else ALL)
    if options.job == "few":
        few()
        return
    if options.job == "methods":
        methods(options)
        return
    if options.job == "bins":
        _keep(options.output, {"bins": bins(options.corpora)})
        return
    if options.job == "combiner":
        for name in options.corpora:
            _keep(options.output, {"combiner": learned(name)})
    else:
        _keep(options.output, fit())


def fit() -> dict[str, Any]:
    """Measure the label-free models with each corpus left out, and write those of the package, or of own corpora."""
    learnt = {name: sample(name, "dev" if name == "epmc" else "train", fitting=True) for name in ALL}
    asked = {name: sample(name, "dev", fitting=False) for name in ALL}
    found: dict[str, Any] = {}
    for known in (False, True):
        rows: dict[str, Any] = {}
        for name, dev in asked.items():
            model = fitted([each for other, each in learnt.items() if other != name], known)
            usual = learnt[name].labels_per_document
            rows[name] = measured(dev, logistic(dev.features(usual if known else None), *model))
            _show(f"{name:6} labels per document {'known' if known else 'unknown'}", rows[name])
        found["known" if known else "unknown"] = rows
    package = Path(tagwright.combining.__file__).parent
    with replace_file(
        (package if figures.RESULTS == figures.COMMITTED else figures.RESULTS) / "label_free.json"
    ) as file:
        file.write_text(json.dumps(_shipped(learnt, found), indent=1) + "\n", encoding="utf-8")
    return {"label-free": found}


def bins(names: Sequence[str]) -> dict[str, dict[str, list[list[float]]]]:
    """Condition -> corpus -> (suggestions, mean confidence, share of right ones) of the first five, bin by bin.

    The model without labels is that of the corpora with another vocabulary.
    """
    learnt = {name: sample(name, "dev" if name == "epmc" else "train", fitting=True) for name in ALL}
    found: dict[str, dict[str, list[list[float]]]] = {"no labelled documents": {}, "300 labelled documents": {}}
    for name in names:
        dev = sample(name, "dev", fitting=False)
        same = {"epmc", "pubmedqa"} if name in ("epmc", "pubmedqa") else {name}
        model = fitted([each for other, each in learnt.items() if other not in same], known=False)
        sure, first = logistic(dev.features(None), *model).astype(np.float64), dev.first(5)
        found["no labelled documents"][name] = _rounded_bins(sure[first], dev.right[first])
        print(name, found["no labelled documents"][name], flush=True)
    for name in names:
        task = curve.prepare(name, SCORED, KNOWN, 2 * max(LABELLED))
        if len(task.pool.run) * 3 // 4 < 300:
            continue
        drawn = np.random.default_rng(0).permutation(len(task.pool.run))[:300]
        test = task.scored(drawn)
        sure, ranks = combined_confidences(fit_combiner(task.pool.take(np.sort(drawn))), test)
        found["300 labelled documents"][name] = _rounded_bins(sure[ranks <= 5], test.right[ranks <= 5])
        print(name, found["300 labelled documents"][name], flush=True)
    return found


def _rounded_bins(sure: Doubles, right: Mask) -> list[list[float]]:
    return [[count, round(mean, 4), round(share, 4)] for count, mean, share in reliability(sure, right)]


def few() -> None:
    """Measure the model of few labels with each corpus left out, and write that of the package."""
    tables = {name: small_tasks(name) for name in ALL}
    for name, own in tables.items():
        model = _few_model([table for other, each in tables.items() if other != name for table in each])
        print(f"{name:6} {len(own)} small vocabularies: ECE@5 {_few_error(own, model):.3f}", flush=True)
    weights, intercept = _few_model([table for each in tables.values() for table in each])
    path, content = Path(tagwright.combining.__file__).parent / FILE, {**read_packaged(FILE)}
    content["models"] = {**content["models"], "few": _named_weights(FEW_FEATURES, weights, intercept)}
    with replace_file(path) as file:
        file.write_text(json.dumps(content, indent=1) + "\n", encoding="utf-8")


def small_tasks(name: str) -> list[tuple[Doubles, Mask]]:
    """Features of the candidates of documents over a part of the vocabulary, and which are right, task by task."""
    scored = corpora.scored(name, 400, "dev" if name == "epmc" else "train")
    counts = np.bincount(scored.gold.labels, minlength=len(scored.labels))
    found = []
    for size in FEW_LABELS:
        for draw in range(3):
            rng = np.random.default_rng(1000 * size + draw)
            chosen = np.sort(rng.choice(len(counts), size, replace=False, p=counts / counts.sum()))
            place = np.full(len(counts), -1, np.int32)
            place[chosen] = np.arange(size)
            gold = scored.gold.moved(place)
            rows = rng.permutation(np.flatnonzero(np.diff(gold.indptr)))[:60]
            labels = Vocabulary([replace(scored.labels[label], broader=()) for label in chosen.tolist()])
            documents = [scored.documents[row] for row in rows.tolist()]
            task = corpora.Scored(labels, documents, gold.take(rows), scored.own[rows])
            found += [_few_table(task, scored.documents[:256], stages) for stages in FEW_STAGES]
    return [each for each in found if len(each[0])]


def _few_table(task: corpora.Scored, known: Sequence[Document], stages: tuple[str, ...]) -> tuple[Doubles, Mask]:
    """Features of the first candidates of a task, and which are right. known: the zero-shot method sees these."""
    tagger = zero_shot.fit(task.labels, zero_shot.Config(stages=stages), known)
    pool = tagger.candidates(task.documents)
    run = tagger.rank(pool).top(RANKS)
    table = features_of_few(run, pool.evidence(run), named_bits(pool, run), len(task.labels))
    return table, run.held_by(task.gold)


def calibration_error(confidence: Doubles, right: Mask) -> float:
    """ECE of suggestions, see `tagwright.evaluation.calibration`."""
    bins = reliability(confidence, right)
    return sum(count * abs(mean - share) for count, mean, share in bins) / max(1, len(confidence))


def _few_error(tasks: Sequence[tuple[Doubles, Mask]], model: tuple[tuple[float, ...], float]) -> float:
    """ECE@5 of a model on tasks."""
    first = [(table[table[:, 0] <= np.log(5.5)], right[table[:, 0] <= np.log(5.5)]) for table, right in tasks]
    sure = np.concatenate([logistic(table, *model) for table, _ in first]).astype(np.float64)
    return calibration_error(sure, np.concatenate([right for _, right in first]))


def _few_model(tasks: Sequence[tuple[Doubles, Mask]]) -> tuple[tuple[float, ...], float]:
    """Weights and intercept; all tasks count the same, and of each the first candidates most, as in DCG."""
    table, right = np.concatenate([each for each, _ in tasks]), np.concatenate([each for _, each in tasks])
    counts = np.concatenate([np.full(len(each), 1.0 / len(each)) for each, _ in tasks])
    weights = 1000 * counts / np.log2(1 + np.exp(table[:, 0]))
    model = LogisticRegression(C=np.inf, tol=1e-10, max_iter=10_000).fit(table, right, weights)
    return tuple(model.coef_[0].tolist()), float(model.intercept_[0])


def learned(name: str) -> dict[str, Any]:
    """ECE@5 and ECE@10 of the learned combiner, means and greatest of the draws, for each number of labels."""
    found: dict[str, Any] = {}
    task = curve.prepare(name, SCORED, KNOWN, 2 * max(LABELLED))
    for size in (size for size in LABELLED if size <= len(task.pool.run) * 3 // 4):
        errors, choices = [], []
        for draw in range(FITS):
            drawn = np.random.default_rng(draw).permutation(len(task.pool.run))[:size]
            fitted = fit_combiner(task.pool.take(np.sort(drawn)))
            errors.append(confidence_errors(fitted, task.scored(drawn)))
            choices.append(float(fitted.ranker is not None))
        mean, most = (each(errors, axis=0).round(4).tolist() for each in (np.mean, np.max))
        found[f"{name} {size}"] = {
            "ECE@5": {"mean": mean[0], "greatest": most[0]},
            "ECE@10": {"mean": mean[1], "greatest": most[1]},
            "choices": choices,
        }
        print(f"{name:6} {size:5} documents: ECE@5 {mean[0]:.3f}, ECE@10 {mean[1]:.3f}", flush=True)
    return found


def methods(options: argparse.Namespace) -> None:
    """Measure what is missing of corpus and size -> method -> draw, and write each row when it is there."""
    content = figures.read(options.output)
    with tempfile.TemporaryDirectory() as folder:
        for name in {"kirja", "tib"}.intersection(options.corpora):
            task = curve_methods.Task(name, 600, 2000, Path(folder) / name)
            rows = content.setdefault("methods", {}).setdefault(f"{name} {options.labelled}", {})
            for draw, method in ((draw, method) for draw in options.draws for method in options.methods):
                if draw not in rows.setdefault(method, {}):
                    rows[method][draw] = row = of_method(method, task.draw(options.labelled, int(draw)))
                    print(f"{name:6} {options.labelled} {draw} {method:10} {row}", flush=True)
                    figures.write(options.output, content)


def of_method(method: str, draw: curve_methods.Draw) -> dict[str, float]:
    """P@5 and ECE@5 of a method that is trained on a draw, and its mean confidence."""
    run = trained(method, draw).tag(draw.scored, 6).without(draw.task.own_labels(draw.scored)).top(5)
    assert run.confidences is not None, method
    right, sure = run.held_by(draw.task.gold(draw.scored)), run.confidences.astype(np.float64)
    found = {"P@5": right.mean(), "confidence": sure.mean(), "ECE@5": calibration_error(sure, right)}
    return {name: round(float(value), 4) for name, value in found.items()}


def trained(method: str, draw: curve_methods.Draw) -> Tagger:
    """A tagger of the method: of zero_shot with confidences from the labels, of finetune on one of zero_shot."""
    labels, options = draw.task.labels, dict(METHODS[method])
    if method == "auto":
        return curve_methods.fit_auto(draw)
    if method == "zero_shot":
        plain = curve_methods.fit_zero_shot(draw)
        return with_confidences(plain, draw.labelled, draw.task.gold(draw.labelled), anew=True)
    if method == "finetune":
        options["model"] = tw.zero_shot(labels, documents=draw.others[:256], encoder="static")
    if method == "micol" and not any(each.metadata for each in draw.labelled):
        options["pairs"] = "names"
    learns = find_method(method.removesuffix("_cls")).learns
    documents = draw.labelled if learns == "labels" else [*draw.labelled, *draw.others]
    return tw.train(method.removesuffix("_cls"), documents, labels, **options)


def confidence_errors(fitted: FittedCombiner, test: Examples) -> tuple[float, float]:
    """ECE@5 and ECE@10 on other documents of the confidences that a tagger of the method has."""
    sure, ranks = combined_confidences(fitted, test)
    five, ten = (calibration_error(sure[ranks <= k], test.right[ranks <= k]) for k in (5, 10))
    return five, ten


def combined_confidences(fitted: FittedCombiner, test: Examples) -> tuple[Doubles, Longs]:
    """The confidence of each candidate of other documents, and its rank in its document."""
    if fitted.ranker is None:
        examples, standard = fitted.examples, test.features.values[:, test.base].astype(np.float64)
        teaching = examples.features.values[:, examples.base].astype(np.float64)
        scores, sure = standard, fit_logistic(teaching, examples.right, examples.run.rows)(standard)
    else:
        scores = fitted.ranker.predict(test.features) + fitted.bias[test.run.labels]
        examples = fitted.examples
        sure = fit_score_map(fitted.scores, examples.right, examples.run.rows)(scores)
    return sure, ranks_within(test.run.rows, scores)


def sample(name: str, part: str, *, fitting: bool) -> Sample:
    """The zero-shot ranking of some documents.

    A document's own label (mdn) is left out. When it is measured, it is left out of what was computed with it, as
    `evaluate --exclude-self` does; a fit should see documents as they are elsewhere, without such a label.
    """
    scored = corpora.scored(name, DOCUMENTS, part)
    chosen, gold, own = scored.documents, scored.gold, scored.own
    tagger = combination.without_confidence(zero_shot.fit(scored.labels, zero_shot.Config(), chosen))
    runs, tables, start = [], [], 0
    for batch in batches(chosen, 250):
        run, table = _candidates(tagger, batch, own[start : start + len(batch)], fitting=fitting)
        runs.append(run)
        tables.append(table)
        start += len(batch)
    run = Run.concat(runs)
    return Sample(np.diff(gold.indptr), run, run.held_by(gold), np.concatenate(tables))


def fitted(samples: Sequence[Sample], known: bool) -> tuple[tuple[float, ...], float]:
    """Weights and intercept of a logistic model of the first candidates of some corpora, which all count the same."""
    tables = [each.features(each.labels_per_document if known else None)[each.first(RANKS)] for each in samples]
    right = np.concatenate([each.right[each.first(RANKS)] for each in samples])
    weights = np.concatenate([np.full(len(table), 1.0 / len(table)) for table in tables])
    model = LogisticRegression(C=np.inf, tol=1e-10, max_iter=10_000).fit(np.concatenate(tables), right, weights)
    return tuple(model.coef_[0].tolist()), float(model.intercept_[0])


def measured(dev: Sample, confidence: Any) -> dict[str, Any]:
    """The measures of `evaluate --json`."""
    judged = Judged(dev.gold, dev.run.rows, dev.run.ranks, confidence.astype(np.float64), dev.right)
    found = assess(judged)
    assert found is not None
    scores = {name: score.to_json() for name, score in found.measures.items()}
    return {"documents": dev.documents, "P@5": round(float(dev.right[dev.first(5)].mean()), 4), **scores}


def _candidates(tagger: Tagger, batch: list[Document], own: Longs, *, fitting: bool) -> tuple[Run, Doubles]:
    pool = tagger.candidates(batch)
    run = tagger.rank(pool)
    if fitting:
        run = run.keep(run.labels != own[run.rows])
    table = features(run, named_bits(pool, run), text_lengths(pool))
    kept = (run.labels != own[run.rows]) & (run.ranks <= RANKS + 1)
    return run.keep(kept).top(RANKS), table[kept][run.keep(kept).ranks <= RANKS]


def _shipped(learnt: Mapping[str, Sample], measured_: Mapping[str, Any]) -> dict[str, Any]:
    """The file of the package: two models, what they were fitted on, and their error on corpora left out."""
    models = {name: fitted(list(learnt.values()), name == "known") for name in ("unknown", "known")}
    few_labels = read_packaged(FILE)["models"]["few"]
    return {
        "about": "Confidence of the zero-shot method without labels: logistic models, for when the usual number of "
        "labels of a document is known and when it is not. Made by benchmarks/calibration.py.",
        "date": date.today().isoformat(),
        "candidates": RANKS,
        "fitted on": {
            name: {"documents": each.documents, "labels_per_document": round(each.labels_per_document, 2)}
            for name, each in learnt.items()
        },
        "ECE@5 with the corpus left out": {
            name: {corpus: round(row["ECE@5"]["value"], 3) for corpus, row in rows.items()}
            for name, rows in measured_.items()
        },
        "models": {name: _named_weights(FEATURES, *model) for name, model in models.items()} | {"few": few_labels},
    }


def _named_weights(names: Sequence[str], weights: Sequence[float], intercept: float) -> dict[str, Any]:
    rounded = {name: round(weight, 5) for name, weight in zip(names, weights, strict=True)}
    return {"weights": rounded, "intercept": round(intercept, 5)}


def _keep(path: Path, found: Mapping[str, Any]) -> None:
    """Write what was found beside what the file holds; rows of a table are added to it."""
    before = figures.read(path)
    if "bins" in found:
        kept = before.get("bins", {})
        found = {"bins": {name: {**kept.get(name, {}), **rows} for name, rows in found["bins"].items()}}
    rows = {"combiner": {**before.get("combiner", {}), **found["combiner"]}} if "combiner" in found else found
    figures.write(path, {**before, **rows})


def _show(title: str, row: Mapping[str, Any]) -> None:
    shown = (f"{name} {row[name]['value']:.3f}" for name in ("ECE@5", "ECE@10", "Brier@5", "AURC", "AUGRC"))
    print(title, f"P@5 {row['P@5']:.3f}", *shown, flush=True)
