"""Does any label fit? `python -m benchmarks none`: fit and measure combining/none_fits.py, each corpus left out.

Of each corpus 200 documents of train (of epmc, whose train documents have no labels, of dev) meet its vocabulary and
parts of it with 5, 20, 100 and 1,000 labels, half of which are some document's; so do 30 of each other corpus, and
noise. A document fits where the vocabulary has one of its labels. The models are measured on 200 documents of dev, with
the corpora of the same vocabulary left out as well: against documents of each other corpus, noise, short notes of an
office, and against themselves with their labels taken out of the vocabulary. Those of the package are fitted on all
corpora and written to src/tagwright/combining/none_fits.json.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import date
from pathlib import Path
from typing import Any

import numpy as np
from benchmarks import corpora, figures
from benchmarks.calibration import calibration_error
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import roc_auc_score

import tagwright.combining
from tagwright.combining.confidence import LIKELY, sigmoid
from tagwright.combining.label_free import Model
from tagwright.combining.none_fits import MEANING, NAMES, Described, describe, leave_room
from tagwright.core.atomic import replace_file
from tagwright.data.vocabulary import Vocabulary
from tagwright.tagger import Tagger, batches, zero_shot
from tagwright.types import Document, Doubles, Longs, Mask, Run

DOCUMENTS, FOREIGN = 200, 30
"Of a corpus, and of each other one."

SIZES, DRAWS = (5, 20, 100, 1000), 2
"Labels of a part of a vocabulary, and how many parts there are."

SAME = ("epmc", "pubmedqa")
"Corpora of one vocabulary."

UNFAMILIAR = ("kirja",)
"Corpora in a language that the encoder does not know: the model of meaning is not fitted on them."

FAR = {
    "mdn": ("epmc", "pubmedqa", "kirja"),
    "tib": ("kirja",),
    "epmc": ("mdn", "kirja"),
    "arxiv": ("kirja", "epmc", "pubmedqa"),
    "kirja": ("mdn", "epmc", "arxiv", "pubmedqa"),
    "pubmedqa": ("mdn", "kirja"),
}
"Of whose documents none is taken to fit the whole vocabulary: the others may share subjects."

WEIGHTS: Mapping[str, float] = {"far": 0.5, "other": 0.1, "taken out": 0.15, "noise": 0.3, "notes": 0.1}
"What documents that do not fit count beside each other, of one vocabulary."

FITS, WHOLE = 1.5, 3.0
"What documents that fit count beside those that do not; and a whole vocabulary beside a part of it."

NOTES = (
    "Please call me back, my printer makes a noise",
    "asdf qwer zxcv",
    "Meeting moved to Thursday at ten, please confirm",
    "Lorem ipsum dolor sit amet, consectetur adipiscing elit",
    "My order has not arrived yet, where is the parcel?",
    "Thanks for the lovely evening, see you next week!",
    "The password must be reset before Friday",
    "Happy birthday, grandma!",
)


@dataclass(frozen=True, eq=False)
class Met:
    """Documents of one kind that met a vocabulary. none: (documents,) whether no label fits each."""

    kind: str
    vocabulary: str
    features: Described
    none: Mask


def main(arguments: list[str]) -> None:
    parser = corpora.parser("none", __doc__, corpora.ALL)
    options = parser.parse_args(arguments)
    corpora.require(corpora.ALL)
    parts = {name: halves(name) for name in corpora.ALL}
    fitted_on, measured_on, errors = dict[str, list[Met]](), dict[str, list[Met]](), dict[str, Any]()
    for name in corpora.ALL:
        fitted_on[name], measured_on[name], errors[name] = meet(name, parts)
        print(f"{name}: {sum(len(each.none) for each in fitted_on[name])} documents to fit", flush=True)
    rows = {}
    for name in corpora.ALL:
        others = [other for other in corpora.ALL if other != name and {name, other} != set(SAME)]
        models = fit({other: fitted_on[other] for other in others})
        rows[name] = {**measure(measured_on[name], models), **errors[name](models)}
        print(name, json.dumps(rows[name]), flush=True)
    models = fit(fitted_on)
    folder = Path(tagwright.combining.__file__).parent if figures.RESULTS == figures.COMMITTED else figures.RESULTS
    with replace_file(folder / "none_fits.json") as file:
        file.write_text(json.dumps(shipped(models, rows), indent=1) + "\n", encoding="utf-8")
    figures.write(options.output, {"rows": rows})


def halves(name: str) -> tuple[corpora.Scored, corpora.Scored]:
    """Documents to fit on, and to measure on."""
    if name in corpora.FROM_DEV:
        every = corpora.scored(name, 2 * DOCUMENTS)
        return _rows(every, np.arange(DOCUMENTS)), _rows(every, np.arange(DOCUMENTS, 2 * DOCUMENTS))
    return corpora.scored(name, DOCUMENTS, "train"), corpora.scored(name, DOCUMENTS)


def _rows(every: corpora.Scored, rows: Longs) -> corpora.Scored:
    documents = [every.documents[row] for row in rows.tolist()]
    return corpora.Scored(every.labels, documents, every.gold.take(rows), every.own[rows])


def noise() -> list[Document]:
    """Keys that a hand falls on, and letters by chance."""
    rng = np.random.default_rng(5)
    keys = ["asdf", "qwer", "zxcv", "hjkl", "uiop", "jklö", "fghj", "sdfg", "yxcv", "bnm"]

    def word(kind: int) -> str:
        letters = "abcdefghijklmnopqrstuvwxyz" if kind == 1 else "asdfghjkl"
        return str(rng.choice(keys)) if kind == 0 else "".join(rng.choice(list(letters), int(rng.integers(2, 9))))

    sizes = rng.integers(3, 40, 45).tolist()
    texts = (" ".join(word(number % 3) for _ in range(size)) for number, size in enumerate(sizes))
    return [Document(f"noise {number}", abstract=text) for number, text in enumerate(texts)]


def meet(name: str, parts: Mapping[str, tuple[corpora.Scored, corpora.Scored]]) -> tuple[list[Met], list[Met], Any]:
    """Let documents meet the vocabulary of a corpus, and parts of it.

    Returns those to fit on, those to measure on, and how to measure the calibration with models.
    """
    to_fit, to_measure = parts[name]
    known = [replace(each, labels=()) for each in to_fit.documents]
    foreign = {other: [part.documents[:FOREIGN] for part in parts[other]] for other in corpora.ALL if other != name}
    odd = {"noise": noise(), "notes": [Document(f"note {n}", abstract=text) for n, text in enumerate(NOTES)]}
    found: tuple[list[Met], list[Met]] = ([], [])
    calibrated: Any = None
    for title, places in vocabularies(to_fit):
        labels = Vocabulary([replace(to_fit.labels[place], broader=()) for place in places.tolist()])
        tagger = zero_shot.fit(labels, documents=known)
        place_of = np.full(len(to_fit.labels), -1, np.int64)
        place_of[places] = np.arange(len(places))
        for side, part in enumerate((to_fit, to_measure)):
            gold = part.gold.moved(place_of)
            own = np.where(part.own >= 0, place_of[part.own], -1)
            described = read(tagger, part.documents, own)
            found[side].append(Met("own", title, described, np.diff(gold.indptr) == 0))
            for other, texts in foreign.items():
                kind = f"{'far' if other in FAR[name] else 'other'}: {other}"
                if title != "whole" or kind.startswith("far") or side:
                    found[side].append(_all_none(kind, title, read(tagger, texts[side])))
            found[side].extend(_all_none(kind, title, read(tagger, texts)) for kind, texts in odd.items())
            if title == "whole" and side:
                found[side].append(_all_none("taken out", title, read(tagger, part.documents, own, gold)))
                calibrated = calibration(tagger, part)
    return *found, calibrated


def _all_none(kind: str, vocabulary: str, features: Described) -> Met:
    return Met(kind, vocabulary, features, np.ones(len(features.known), np.bool_))


def vocabularies(part: corpora.Scored) -> list[tuple[str, Longs]]:
    """The whole vocabulary, and parts of it, half of which some document has, frequent ones oftener."""
    counts, rng = np.bincount(part.gold.labels, minlength=len(part.labels)), np.random.default_rng(1)
    used, found = np.flatnonzero(counts), [("whole", np.arange(len(part.labels)))]
    for size in (size for size in SIZES if size < len(counts)):
        for draw in range(DRAWS):
            some = rng.choice(used, min(size // 2, len(used)), replace=False, p=counts[used] / counts.sum())
            rest = rng.permutation(np.setdiff1d(np.arange(len(counts)), some))[: size - len(some)]
            found.append((f"{size} {draw}", np.sort(np.concatenate([some, rest]))))
    return found


def read(
    tagger: Tagger, documents: Sequence[Document], own: Longs | None = None, taken: Run | None = None
) -> Described:
    """The features of documents. own: the label that each is, which is left out. taken: labels left out of each."""
    parts, start = [], 0
    for batch in batches(documents):
        rows = np.arange(start, start + len(batch))
        parts.append(describe(_pool(tagger, batch, rows, own, taken)[0], len(tagger.vocabulary)))
        start += len(batch)
    columns = zip(*(part for part in parts if part is not None), strict=True)
    return Described(*map(np.concatenate, columns))


def _pool(tagger: Tagger, batch: Sequence[Document], rows: Longs, own: Longs | None, taken: Run | None) -> Any:
    """The pool of a batch and its ranking by the sum, without the labels that are left out."""
    pool = tagger.candidates(batch)

    def left(run: Run) -> Run:
        run = run if own is None else run.without(own[rows])
        return run if taken is None else run.keep(~run.held_by(taken.take(rows)))

    pool = replace(pool, run=left(pool.run), found={name: left(run) for name, run in pool.found.items()})
    return pool, tagger.steps[0].apply(pool, pool.run)


def calibration(tagger: Tagger, part: corpora.Scored) -> Any:
    """How to measure ECE@5 without and with a model, on documents with their vocabulary."""
    held, start = [], 0
    for batch in batches(part.documents):
        rows = np.arange(start, start + len(batch))
        pool, run = _pool(tagger, batch, rows, part.own, None)
        held.append((describe(pool, len(tagger.vocabulary)), tagger.steps[1].apply(pool, run).top(100)))
        start += len(batch)
    run, right = Run.concat([each for _, each in held]), part.gold

    def error(run: Run) -> float:
        first = run.top(5)
        assert first.confidences is not None
        return round(calibration_error(first.confidences.astype(np.float64), first.held_by(right)), 4)

    def measured(models: tuple[Model, Model]) -> dict[str, Any]:
        none = np.concatenate([sigmoid(features.logits(*models)) for features, _ in held if features])
        return {"ECE@5": {"without": error(run), "with": error(leave_room(run, none))}}

    return measured


def fit(groups: Mapping[str, Sequence[Met]]) -> tuple[Model, Model]:
    """The models of meaning and of names; each vocabulary counts the same, the whole ones more."""
    known = [met for name, met in groups.items() if name not in UNFAMILIAR]
    return _fit(known, lambda each: each.meaning), _fit([*groups.values()], lambda each: each.names)


def _fit(groups: Sequence[Sequence[Met]], features: Callable[[Described], Doubles]) -> Model:
    every = [each for met in groups for each in met]
    table, none = (np.concatenate(part) for part in ([features(e.features) for e in every], [e.none for e in every]))
    counts = np.concatenate([_weights(met) for met in groups])
    model = LogisticRegression(C=1.0, tol=1e-10, max_iter=10_000).fit(table, none, counts)  # languages apart part all
    return tuple(model.coef_[0].tolist()), float(model.intercept_[0])


def _weights(met: Sequence[Met]) -> Doubles:
    """What each document of a corpus counts: see `WEIGHTS`, `FITS` and `WHOLE`."""
    keys = [(each.vocabulary, _kind(each, none)) for each in met for none in each.none.tolist()]
    counts, shares = Counter(keys), Counter[str]()
    for vocabulary, kind in counts:
        shares[vocabulary] += 0 if kind == "fits" else WEIGHTS[kind]  # type: ignore[assignment]

    def weight(vocabulary: str, kind: str) -> float:
        share = FITS if kind == "fits" else WEIGHTS[kind] / shares[vocabulary]
        return 1000 * share * (WHOLE if vocabulary == "whole" else 1.0) / counts[vocabulary, kind]

    return np.array([weight(*key) for key in keys])


def _kind(met: Met, none: bool) -> str:
    return met.kind.partition(":")[0] if met.kind != "own" else "taken out" if none else "fits"


def measure(groups: Sequence[Met], models: tuple[Model, Model]) -> dict[str, Any]:
    """Of the whole vocabulary: the share that is wrongly said to fit nothing, and how well each kind is told apart."""
    said = {each.kind: sigmoid(each.features.logits(*models)) for each in groups if each.vocabulary == "whole"}
    fits = said.pop("own")
    found: dict[str, Any] = {"wrongly none": round(float((fits > LIKELY).mean()), 3)}
    bound = np.quantile(fits, 0.95)
    for kind, none in said.items():
        area = roc_auc_score(np.repeat([0, 1], [len(fits), len(none)]), np.concatenate([fits, none]))
        found[kind] = {"area": round(float(area), 3), "missed at 95%": round(float((none <= bound).mean()), 3)}
        found[kind]["none"] = round(float((none > LIKELY).mean()), 3)
    for size in map(str, SIZES):
        parts = [each for each in groups if each.kind == "own" and each.vocabulary.split()[0] == size]
        none = np.concatenate([each.none for each in parts]) if parts else np.zeros(0, np.bool_)
        if none.any() and not none.all():
            sure = np.concatenate([sigmoid(each.features.logits(*models)) for each in parts])
            wrong = float((sure[none == 0] > LIKELY).mean())
            found[f"{size} labels"] = {
                "area": round(float(roc_auc_score(none, sure)), 3),
                "wrongly none": round(wrong, 3),
            }
    return found


def shipped(models: tuple[Model, Model], rows: Mapping[str, Any]) -> dict[str, Any]:
    """The file of the package."""
    named = {"meaning": (MEANING, models[0]), "names": (NAMES, models[1])}
    return {
        "about": "Whether no label fits a document: logistic models. Made by benchmarks/none.py.",
        "date": date.today().isoformat(),
        "fitted on": {name: {"documents": DOCUMENTS} for name in corpora.ALL},
        "wrongly none with the corpus left out": {name: row["wrongly none"] for name, row in rows.items()},
        "models": {
            name: {
                "weights": {key: round(weight, 5) for key, weight in zip(keys, weights, strict=True)},
                "intercept": round(intercept, 5),
            }
            for name, (keys, (weights, intercept)) in named.items()
        },
    }
