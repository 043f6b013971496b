"""Which documents to label: `python -m benchmarks sample CORPUS... [--output FILE]`.

50 of 600 train documents (of epmc, which has too few with labels: of 250 dev documents) are chosen at random, by length
and by uncertainty of the zero-shot method (sampling.py). The combiner learns from their labels; nDCG@5 on up to 300
dev documents that were not chosen from, five seeds. Uncertainty has no seed: one choice, among other documents each
time; it is left out where a vocabulary has too few labels for confidences.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, get_args

import numpy as np
from benchmarks import corpora, figures
from benchmarks.curve import sampled

from tagwright.methods import zero_shot
from tagwright.methods.auto import combine
from tagwright.tagger.sampling import By, sample
from tagwright.training.combiner import Examples, fit_combiner
from tagwright.types import Document

POOL, TEST, CHOSEN, SEEDS = 600, 300, 50, 5
"Documents to choose from, to score, and to choose; and how often, each time from other five sixths of the pool."

RESULT = figures.RESULTS / "sample.json"


def main(arguments: list[str]) -> None:
    parser = argparse.ArgumentParser(prog="benchmarks sample", description=__doc__)
    parser.add_argument("names", nargs="+", choices=(*corpora.NAMES, "kirja"))
    parser.add_argument("--seeds", type=int, default=SEEDS)
    parser.add_argument("--output", type=Path, default=RESULT)
    options = parser.parse_args(arguments)
    corpora.require(tuple(options.names))
    for name in options.names:
        row = measure(name, options.seeds)
        print(name, json.dumps(row), flush=True)
        figures.write(options.output, {**figures.read(options.output), name: row})


def measure(name: str, seeds: int) -> dict[str, Any]:
    """nDCG@5 by way to choose, of each seed; and that of the zero-shot method."""
    vocabulary, (pool, dev) = corpora.labels(name), documents(name)
    plain = zero_shot.fit(vocabulary, documents=pool)
    tagger, config = combine.with_more_stages(plain), combine.Config(exclude_self=name == "mdn")
    described = combine.describe_corpus(tagger, [replace(each, labels=()) for each in pool], config)
    known, test = (combine.examples(tagger, described, each) for each in (pool, dev))
    row: dict[str, Any] = {"zero_shot": round(float(combine.ndcg_at_5(test.run, test.gold).mean()), 4)}
    ways = [by for by in get_args(By) if by != "uncertainty" or plain.combiner.estimates_confidence]
    for seed in range(seeds):
        part = np.random.default_rng(seed).permutation(len(pool))[: len(pool) * 5 // 6]
        among = [pool[place] for place in part.tolist()]
        for by in ways:
            chosen = part[sample(among, CHOSEN, by, tagger=plain, seed=seed)]
            row.setdefault(by, []).append(round(learned(known.take(np.sort(chosen)), test), 4))
    return row


def learned(known: Examples, test: Examples) -> float:
    """nDCG@5 of the combiner that learns from these."""
    fitted = fit_combiner(known, combine.ndcg_at_5)
    run = test.run
    if fitted.ranker:
        run = run.rescored(fitted.ranker.predict(test.features) + fitted.bias[run.labels])
    return float(combine.ndcg_at_5(run, test.gold).mean())


def documents(name: str) -> tuple[Sequence[Document], Sequence[Document]]:
    """Documents with labels to choose from, and others to score."""
    dev = [each for each in sampled(corpora.documents(name, "dev"), None) if each.labels]
    if name == "epmc":
        pool = min(250, len(dev) * 3 // 5)
        return dev[:pool], dev[pool:]
    train = [each for each in sampled(corpora.documents(name, "train", 20 * POOL), None) if each.labels]
    return train[:POOL], dev[:TEST]
