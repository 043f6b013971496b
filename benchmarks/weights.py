"""The zero-shot method with and without evidence of titles and trust: `python -m benchmarks weights [--output FILE]`.

before: English endings, every stage with its full weight, titles without a say of their own. languages: the language
of names and texts recognised. trust: dense weighs by how well its encoder knows the language of each document. titles:
what titles name exactly too, which is the default. Each is tested against `before` by paired randomisation.

The constants of stages/dense/retriever.py and stages/names/exact_match.py were chosen by the same program on train
documents of mdn, tib and kirja. With the dev documents, which are measured here, nothing was chosen.
"""

from __future__ import annotations

import argparse
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from benchmarks import corpora, figures
from benchmarks.zeroshot import own_labels

from tagwright.data.vocabulary import Vocabulary
from tagwright.evaluation.metrics import labelled
from tagwright.evaluation.significance import compare
from tagwright.tagger import zero_shot
from tagwright.tagger.zero_shot import Config
from tagwright.types import Document, Run

MEASURES = ("nDCG@5", "P@1", "P@5")
NAMES = (*corpora.NAMES, "kirja")
DEPTH = 10
RESULT = figures.RESULTS / "weights.json"

AFTER = Config()
CONFIGURATIONS = {
    "before": replace(AFTER, language="english", trust=False, title_match=0.0),
    "languages": replace(AFTER, trust=False, title_match=0.0),
    "trust": replace(AFTER, title_match=0.0),
    "titles": AFTER,
    "exact_match, tfidf": replace(AFTER, stages=("exact_match", "tfidf")),
}


def main(arguments: list[str]) -> None:
    parser = argparse.ArgumentParser(prog="benchmarks weights", description=__doc__)
    parser.add_argument("--documents", type=int, help="only so many of each corpus, drawn with seed 0")
    parser.add_argument("--corpora", nargs="+", choices=NAMES, default=NAMES)
    parser.add_argument("--output", type=Path, default=RESULT)
    options = parser.parse_args(arguments)
    corpora.require(tuple(options.corpora))
    result: dict[str, Any] = {}
    for name in options.corpora:
        result[name] = measure(name, options.documents)
        figures.write(options.output, result)


def measure(name: str, most: int | None) -> dict[str, Any]:
    """Each configuration on a corpus, and its differences from the first."""
    vocabulary = corpora.labels(name)
    documents, gold, own = _sample(name, most, vocabulary)
    runs: dict[str, Run] = {}
    found: dict[str, Any] = {"documents": len(documents), "labels": len(vocabulary)}
    for title, config in CONFIGURATIONS.items():
        run = zero_shot.fit(vocabulary, config, documents).tag(documents, DEPTH + 1)
        runs[title] = run.keep(run.labels != own[run.rows]).top(DEPTH)
        compared = compare(runs[title], runs["before"], gold, measures=MEASURES)
        found[title] = compared.to_json()["measures"]
        rows = ((key, each.a, each.difference.value, each.p) for key, each in compared.measures.items())
        print(f"{name:6} {title:14}", *(f"{key} {100 * a:5.1f} ({100 * d:+5.2f}, p {p:.4f})" for key, a, d, p in rows))
    return found


def _sample(name: str, most: int | None, vocabulary: Vocabulary) -> tuple[list[Document], Run, Any]:
    documents = corpora.documents(name, "dev")
    gold, own = vocabulary.gold(documents, unknown="ignore"), own_labels(documents, vocabulary, name == "mdn")
    gold = gold.keep(gold.labels != own[gold.rows])
    drawn = np.sort(np.random.default_rng(0).permutation(np.flatnonzero(labelled(gold)))[:most])
    return [documents[i] for i in drawn], gold.take(drawn), own[drawn]
