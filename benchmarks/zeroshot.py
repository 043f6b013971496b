"""Quality of the zero-shot method: `python -m benchmarks zeroshot [choose | fuse | table] [--output FILE]`.

choose: how the configuration was chosen, without gold labels. A label is taken for right when its name stands in the
title of a document and its vector is among the ten nearest to the document; the document is then tagged without its
title. Train documents only; their labels are not read. The test is made of names, so it cannot judge their weight.
fuse: the same for the weights with which a learnt encoder joins (`train METHOD --fuse`); needs the saved taggers.
table: every stage alone and the default, on the dev documents, with intervals and paired tests.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import product
from pathlib import Path
from typing import Any, get_args

import numpy as np
from benchmarks import corpora, figures

from tagwright.combining.pool import CandidatePool
from tagwright.combining.weighted_sum import By, WeightedSum
from tagwright.data.vocabulary import Vocabulary
from tagwright.encoders.bi_encoder import BiEncoder
from tagwright.evaluation.metrics import label_counts, labelled
from tagwright.evaluation.scores import evaluate
from tagwright.evaluation.significance import compare
from tagwright.methods import zero_shot
from tagwright.stages.dense import Dense, DenseOptions
from tagwright.stages.lexical import Lexical, LexicalOptions
from tagwright.stages.names.exact_match import ExactMatch, ExactMatchOptions
from tagwright.tagger import Tagger, batches
from tagwright.types import Document, Longs, Retriever, Run

DEPTH = 100
RESULTS = {
    "choose": figures.RESULTS / "zeroshot-choice.json",
    "fuse": figures.RESULTS / "fuse-choice.json",
    "table": figures.RESULTS / "zeroshot.json",
}
MEASURES = ("P@1", "P@3", "P@5", "nDCG@3", "nDCG@5", "nDCG@10", "R@10", "R@100")
SAMPLE = 500
"Train documents of each corpus that `choose` looks at, drawn with seed 0."

SHORTEST = 200
"Characters that the abstract of such a document must have."


def main(arguments: list[str]) -> None:
    parser = argparse.ArgumentParser(prog="benchmarks zeroshot")
    parser.add_argument("job", choices=("choose", "fuse", "table"), nargs="?", default="table")
    parser.add_argument("--documents", type=int, help="only the first N dev documents of each corpus")
    parser.add_argument("--corpora", nargs="+", choices=corpora.NAMES, default=corpora.NAMES)
    parser.add_argument("--taggers", type=Path, nargs="+", help="fuse: a saved tagger of `train` for each corpus")
    parser.add_argument("--output", type=Path, help="write the result as JSON")
    options = parser.parse_args(arguments)
    corpora.require(tuple(options.corpora))
    result: dict[str, Any] = {"job": options.job}
    taggers = dict(zip(options.corpora, options.taggers or [], strict=bool(options.taggers)))
    for name in options.corpora:
        if options.job == "table":
            result[name] = table(name, options.documents)
        else:
            result[name] = choose(name) if options.job == "choose" else fuse(name, taggers[name])
            result["all"] = pooled([result[each] for each in options.corpora if each in result])
        figures.write(options.output or RESULTS[options.job], result)


def choose(name: str) -> dict[str, Any]:
    """nDCG@5 and R@100 of many configurations against labels whose names stand in the titles."""
    vocabulary = corpora.labels(name)
    stages = all_stages(vocabulary)
    documents, wanted = titles_as_gold(name, vocabulary, stages["dense both"])
    own = own_labels(documents, vocabulary, name == "mdn")
    found: dict[str, Any] = {"documents": len(documents)}
    for title, run in configurations(retrieved(documents, stages)):
        scores = evaluate(without(run, own), wanted, measures=("nDCG@5", "R@100"), samples=1).measures
        found[title] = {measure: round(estimate.value, 4) for measure, estimate in scores.items()}
        print(f"{name:6} {title:56}", *(f"{measure} {100 * value:5.1f}" for measure, value in found[title].items()))
    return found


def fuse(name: str, tagger: Path) -> dict[str, Any]:
    """The same for fusions of names, TF-IDF, the plain encoder and the learnt one of a saved tagger.

    Labels are taken for right when either encoder has them among its ten nearest, so that neither is favoured.
    """
    vocabulary = corpora.labels(name)
    learnt = Tagger.load(tagger).stages["dense"]
    assert isinstance(learnt, Dense)
    stages = {
        key: stage
        for key, stage in all_stages(vocabulary).items()
        if key in ("exact_match", "tfidf title_and_abstract", "dense both")
    }
    stages["learnt"] = Dense(vocabulary, learnt.encoder, DenseOptions(k=500))
    documents, wanted = titles_as_gold(name, vocabulary, stages["dense both"], stages["learnt"])
    own = own_labels(documents, vocabulary, name == "mdn")
    pool = retrieved(documents, stages)
    found: dict[str, Any] = {"documents": len(documents)}
    for plain, trained in product((0.0, 0.5, 1.0, 1.5, 2.0, 2.5), repeat=2):
        weights = {"exact_match": 0.5, "tfidf title_and_abstract": 1.0, "dense both": plain, "learnt": trained}
        weights = {key: weight for key, weight in weights.items() if weight}
        run = ranked(pool, WeightedSum(weights=weights))
        scores = evaluate(without(run, own), wanted, measures=("nDCG@5", "R@100"), samples=1).measures
        title = f"plain {plain}, learnt {trained}"
        found[title] = {measure: round(estimate.value, 4) for measure, estimate in scores.items()}
        print(f"{name:6} {title:30}", *(f"{measure} {100 * value:5.1f}" for measure, value in found[title].items()))
    return found


def pooled(corpora_so_far: Sequence[Mapping[str, Any]]) -> dict[str, float]:
    """The mean nDCG@5 of each configuration over the documents of all corpora, best first."""
    documents = sum(found["documents"] for found in corpora_so_far)
    means = {
        title: sum(found["documents"] * found[title]["nDCG@5"] for found in corpora_so_far) / documents
        for title in corpora_so_far[0]
        if title != "documents"
    }
    return dict(sorted(means.items(), key=lambda item: -item[1]))


def titles_as_gold(name: str, vocabulary: Vocabulary, *dense: Retriever) -> tuple[list[Document], Run]:
    """Train documents without their titles, and the labels that their titles name and that one has near to them."""
    train = corpora.documents(name, "train")
    sample = [train[i] for i in np.random.default_rng(0).permutation(len(train))[: 6 * SAMPLE]]
    sample = [document for document in sample if len(document.abstract) >= SHORTEST]
    named = ExactMatch(vocabulary, ExactMatchOptions(longest=True))([Document(d.id, title=d.title) for d in sample])
    named = named.keep(named.labels != own_labels(sample, vocabulary, name == "mdn")[named.rows])
    kept = np.flatnonzero(labelled(named))[: 2 * SAMPLE]
    sample, named = [sample[i] for i in kept], named.take(kept)
    near = Run.union([stage(sample).top(10) for stage in dense])
    wanted = named.keep(near.scores_of(named) > 0)
    kept = np.flatnonzero(labelled(wanted))[:SAMPLE]
    if not len(kept):
        sys.exit(f"{name}: no train document of {SHORTEST} characters has a title that names a label")
    return [replace(sample[i], title="") for i in kept], wanted.take(kept)


def all_stages(vocabulary: Vocabulary) -> dict[str, Retriever]:
    """Every candidate stage that the choice is between."""
    encoder = BiEncoder.load()
    stages: dict[str, Retriever] = {"exact_match": ExactMatch(vocabulary, ExactMatchOptions(k=500))}
    for weighting in ("bm25", "tfidf"):
        for text_field in ("title_and_abstract", "text"):
            lexical = LexicalOptions(weighting=weighting, text_field=text_field, k=500)
            stages[f"{weighting} {text_field}"] = Lexical(vocabulary, lexical)
    for text in ("name", "text", "both"):
        stages[f"dense {text}"] = Dense(vocabulary, encoder, DenseOptions(label_text=text, k=500))
    return stages


def retrieved(documents: Sequence[Document], stages: Mapping[str, Retriever]) -> CandidatePool:
    """What every stage has read and found."""
    readings = {key: stage.read(documents) for key, stage in stages.items()}
    found = {key: stage.find(readings[key]) for key, stage in stages.items()}
    return CandidatePool.of(documents, found, stages, readings)


def ranked(pool: CandidatePool, combiner: WeightedSum) -> Run:
    """What a tagger with the stages that have a weight would suggest."""
    found = {key: pool.found[key] for key in combiner.weights}
    stages = {key: pool.stages[key] for key in combiner.weights}
    return combiner.combine(CandidatePool.of(pool.documents, found, stages, pool.readings)).top(DEPTH)


def configurations(pool: CandidatePool) -> list[tuple[str, Run]]:
    """Single stages, and sums of them that differ in one thing at a time."""
    tries: list[tuple[Mapping[str, float], By]] = [
        *(
            ({"exact_match": 0.5, lexical: 1.0, dense: 2.5}, "evidence")
            for lexical in ("tfidf title_and_abstract", "tfidf text", "bm25 title_and_abstract", "bm25 text")
            for dense in ("dense both", "dense name", "dense text")
        ),
        *(
            ({"exact_match": 0.5, "tfidf title_and_abstract": 1.0, "dense both": weight}, by)
            for by in get_args(By)
            for weight in (0.5, 1.0, 1.5, 2.0, 2.5, 3.0, 4.0)
        ),
    ]
    found = [(key, run.top(DEPTH)) for key, run in pool.found.items()]
    for weights, by in tries:
        title = f"{by}: {', '.join(f'{weight} {key}' for key, weight in weights.items())}"
        found.append((title, ranked(pool, WeightedSum(by=by, weights=weights))))
    return found


def table(name: str, most: int | None) -> dict[str, Any]:
    """Every stage alone and the default configuration on the dev documents, the default tested against each stage."""
    vocabulary, documents = corpora.labels(name), corpora.documents(name, "dev", most)
    train = vocabulary.gold((d for d in corpora.documents(name, "train") if d.labels), unknown="ignore")
    gold, own = vocabulary.gold(documents, unknown="ignore"), own_labels(documents, vocabulary, name == "mdn")
    kept = np.flatnonzero(labelled(gold))
    documents, gold, own = [documents[i] for i in kept], gold.take(kept), own[kept]
    runs = {key: without(tag_with(stage, documents), own) for key, stage in all_stages(vocabulary).items()}
    start = time.perf_counter()
    runs["zeroshot"] = without(zero_shot.fit(vocabulary).tag(documents, DEPTH + 1), own)
    seconds = time.perf_counter() - start
    found: dict[str, Any] = {"documents": len(documents), "labels": len(vocabulary), "seconds": round(seconds, 1)}
    for key, run in runs.items():
        scores = evaluate(run, gold, train=train, measures=(*MEASURES, "PSP@1", "PSP@5"))
        found[key] = scores.to_json()["measures"]
        print(f"{name:6} {key:12}", *(f"{m} {100 * scores.measures[m].value:5.1f}" for m in MEASURES))
    found["zeroshot against"] = {
        key: compare(runs["zeroshot"], run, gold, measures=("P@1", "nDCG@5", "R@100")).to_json()["measures"]
        for key, run in runs.items()
        if key != "zeroshot"
    }
    found["tail labels"] = int((label_counts(train, len(vocabulary)) < 10).sum())
    return found


def tag_with(stage: Retriever, documents: Sequence[Document]) -> Run:
    return Run.concat([stage(batch).top(DEPTH + 1) for batch in batches(documents)])


def own_labels(documents: Sequence[Document], vocabulary: Vocabulary, exclude: bool) -> Longs:
    """The label that is the document itself, -1 where there is none: on mdn a page is a label too."""
    return vocabulary.own(documents) if exclude else np.full(len(documents), -1)


def without(run: Run, own: Longs) -> Run:
    return run.keep(run.labels != own[run.rows]).top(DEPTH)
