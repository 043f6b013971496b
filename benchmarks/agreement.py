"""Two encoders, and weights by agreement: `python -m benchmarks agreement [--corpora ...] [--documents N]`.

For one encoder (MiniLM) and for two (multilingual beside it): the usual weights, and those that
combining/agreement.py fits to dev documents without their labels. Two corpora of few labels are made of others: MeSH
headings rolled up to those with 150 narrower ones or more, and MDN pages by page type.

`left out` has for each corpus the figures with the threshold (`agreement.OFTEN`) that the others would choose: the one
with the highest mean nDCG@5, and the highest among equals, which changes least. With `--part train`, labelled train
documents are measured, `train` has the figures and the best thresholds, and epmc has no part in it. A corpus that is in
the results file already is not measured again.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any
from unittest.mock import patch

import numpy as np
from benchmarks import corpora, figures
from benchmarks.corpora import Scored

from tagwright.combining import agreement
from tagwright.combining.agreement import Agreements
from tagwright.combining.pool import CandidatePool
from tagwright.combining.steps import find_last
from tagwright.combining.weighted_sum import WeightedSum
from tagwright.data.vocabulary import Vocabulary
from tagwright.evaluation.metrics import mark_labelled
from tagwright.evaluation.scores import evaluate
from tagwright.evaluation.significance import compare
from tagwright.tagger import batches, zero_shot
from tagwright.tagger.zero_shot import SECOND, Config
from tagwright.types import Document, Label, Run

DEPTH, DOCUMENTS = 100, 400
MEASURES = ("nDCG@5", "P@1", "R@100")
SIZES = (50, 100)
"Documents that qualities are estimated from, beside all."

THRESHOLDS = (1.0, 1.25, 1.5, 2.0, 3.0)

ROLLED = {"epmc headings": "epmc", "mdn page types": "mdn"}
NAMES = (*corpora.ALL, *ROLLED)
STAGES = ("exact_match", "tfidf", "dense", SECOND)


def main(arguments: list[str]) -> None:
    parser = corpora.parser("agreement", __doc__, NAMES)
    parser.add_argument("--documents", type=int, default=DOCUMENTS, help="of each corpus, drawn with seed 0")
    parser.add_argument("--part", choices=("dev", "train"), default="dev")
    options = parser.parse_args(arguments)
    corpora.require(tuple(ROLLED.get(name, name) for name in options.corpora))
    result = figures.read(options.output)
    found = result if options.part == "dev" else result.setdefault("train", {})
    for name in options.corpora:
        if options.part == "train" and ROLLED.get(name, name) in corpora.FROM_DEV:
            continue
        if name not in found:
            found[name] = measure(name, options.documents, options.part)
            show(name, found[name])
        measured = {each: found[each] for each in NAMES if each in found}
        if options.part == "dev":
            found["left out"] = left_out(measured)
        else:
            found["best"] = best_thresholds(list(measured.values()))
        figures.write(options.output, result)


def measure(name: str, most: int, part: str) -> dict[str, Any]:
    """Every stage alone with its estimates, and every choice of weights for one encoder and two."""
    dev = rolled_up(name, most, part) if name in ROLLED else corpora.scored(name, most, part)
    tagger = zero_shot.fit(dev.labels, Config(encoder="minilm+multilingual"), dev.documents)
    combined = find_last(tagger.steps, WeightedSum)
    assert combined
    pools = [tagger.candidates(batch) for batch in batches(dev.documents, 200)]
    alone = {each: dev.without_self(Run.concat([pool.found[each] for pool in pools]), DEPTH) for each in STAGES}
    found: dict[str, Any] = {
        "documents": len(dev.documents),
        "labels": len(dev.labels),
        "estimates": estimates(alone),
        "true nDCG@5": {each: round(_ndcg(run, dev), 4) for each, run in alone.items()},
    }
    runs: dict[str, Run] = {}
    for encoders, dense in (("one", STAGES[2:3]), ("two", STAGES[2:])):
        few = pools if encoders == "two" else [_of_one_encoder(pool) for pool in pools]
        judged = Agreements.of(alone["exact_match"], alone["tfidf"], {each: alone[each] for each in dense})
        sums = {"usual": _without(combined, dense)}
        sums |= {f"fitted {start}": _fitted(sums["usual"], judged, start) for start in THRESHOLDS}
        for key, each in sums.items():
            runs[f"{encoders}, {key}"] = dev.without_self(_ranked(each, few), DEPTH)
    for key, run in runs.items():
        tested = compare(run, runs["one, usual"], dev.gold, measures=MEASURES)
        found[key] = {**_scores(run, dev), "against one, usual": tested.to_json()["measures"]}
    return found


def estimates(alone: Mapping[str, Run]) -> dict[str, dict[str, float]]:
    """The qualities that agreement tells, from some documents and from all."""
    documents = len(alone["dense"])
    order, found = np.random.default_rng(1).permutation(documents), {}
    for size in (*(size for size in SIZES if size < documents), documents):
        names, words, *dense = (alone[each].take(order[:size]) for each in STAGES)
        judged = Agreements.of(names, words, dict(zip(STAGES[2:], dense, strict=True)))
        found[str(size)] = {key: round(quality, 3) for key, quality in judged.qualities.items()}
    return found


def left_out(measured: Mapping[str, Mapping[str, Any]]) -> dict[str, Any]:
    """Corpus -> the threshold that is the best on the others, and the figures with it."""
    found: dict[str, Any] = {}
    for name in measured:
        others = [each for other, each in measured.items() if ROLLED.get(other, other) != ROLLED.get(name, name)]
        chosen = best_thresholds(others)[-1]
        found[name] = {"threshold": chosen}
        found[name] |= {key: measured[name][f"{key}, fitted {chosen}"] for key in ("one", "two")}
    return found


def best_thresholds(others: Sequence[Mapping[str, Any]]) -> list[float]:
    """The thresholds with the highest mean nDCG@5 over corpora and numbers of encoders, the lowest first."""

    def mean(start: float) -> float:
        measured = [each[f"{key}, fitted {start}"]["nDCG@5"] for each in others for key in ("one", "two")]
        return round(float(np.mean(measured or [0.0])), 5)

    best = max(map(mean, THRESHOLDS))
    return [start for start in THRESHOLDS if mean(start) == best]


def rolled_up(name: str, most: int, part: str) -> Scored:
    """A corpus of few labels: the same documents with broad labels."""
    documents = corpora.documents(ROLLED[name], part)
    labels, documents = headings(documents) if name == "epmc headings" else page_types(documents)
    gold = labels.gold(documents, unknown="ignore")
    drawn = np.sort(np.random.default_rng(0).permutation(np.flatnonzero(mark_labelled(gold)))[:most])
    return Scored(labels, [documents[i] for i in drawn], gold.take(drawn), np.full(len(drawn), -1))


def headings(documents: Sequence[Document]) -> tuple[Vocabulary, list[Document]]:
    """The headings without a broader one that have 150 narrower ones or more, and documents labelled with these."""
    labels = corpora.labels("epmc")
    by_id = {label.id: label for label in labels}

    def tops(id_: str, seen: tuple[str, ...] = ()) -> set[str]:
        if id_ not in by_id or id_ in seen:
            return set()
        broader = [each for each in by_id[id_].broader if each in by_id]
        return set().union(*(tops(each, (*seen, id_)) for each in broader)) if broader else {id_}

    above = {label.id: tops(label.id) for label in labels}
    counts = Counter(top for each in above.values() for top in each)
    kept = {top for top, count in counts.items() if count >= 150}
    rolled = [
        replace(each, labels=tuple(sorted(kept.intersection(*[set().union(*(above.get(x, ()) for x in each.labels))]))))
        for each in documents
    ]
    return Vocabulary(replace(by_id[top], broader=()) for top in sorted(kept)), rolled


def page_types(documents: Sequence[Document]) -> tuple[Vocabulary, list[Document]]:
    """The types of at least five training pages, and documents labelled with theirs."""
    counts = Counter(each for page in corpora.documents("mdn", "train") for each in page.metadata.get("venue", ()))
    types = sorted(each for each, count in counts.items() if count >= 5)
    names = ((each, each.replace("-", " ").replace("api", "API")) for each in types)
    typed = [replace(each, labels=tuple(each.metadata.get("venue", ()))) for each in documents]
    return Vocabulary(Label(id_, (name,)) for id_, name in names), typed


def _of_one_encoder(pool: CandidatePool) -> CandidatePool:
    """The pool without the second encoder, and without the candidates that only it found."""
    rest = pool.without(SECOND)
    return CandidatePool.of(pool.documents, rest.found, rest.stages, pool.readings)


def _without(combined: WeightedSum, dense: Sequence[str]) -> WeightedSum:
    """The usual weights of the encoders that are asked."""
    judges = {name: judge for name, judge in combined.language_trust.items() if judge in dense}
    return replace(combined, language_trust=judges)


def _fitted(usual: WeightedSum, judged: Agreements, start: float) -> WeightedSum:
    with patch.object(agreement, "OFTEN", start):
        weights = judged.weights({"tfidf": 1.0, **usual.weights}, "tfidf")
    return replace(usual, weights=weights)


def _ranked(combined: WeightedSum, pools: Sequence[CandidatePool]) -> Run:
    return Run.concat([combined.apply(pool, pool.run).top(DEPTH + 1) for pool in pools])


def _scores(run: Run, dev: Scored) -> dict[str, float]:
    measured = evaluate(run, dev.gold, measures=MEASURES).measures
    return {name: round(measured[name].value, 4) for name in MEASURES}


def _ndcg(run: Run, dev: Scored) -> float:
    return _scores(run, dev)["nDCG@5"]


def show(name: str, found: Mapping[str, Any]) -> None:
    print(name, found["true nDCG@5"], found["estimates"])
    for key in (key for key in found if key.startswith(("one,", "two,"))):
        print(f"  {key:18}", *(f"{measure} {100 * found[key][measure]:5.1f}" for measure in MEASURES), flush=True)
