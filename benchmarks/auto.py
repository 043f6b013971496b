"""What `train auto` brings and costs: `python -m benchmarks auto CORPUS N [--corpus 1000] [--output FILE]`.

N documents have labels, drawn with seed 0 from the train documents (of epmc, which has too few: from dev); others are
unlabelled. One row: nDCG@5 of what was tried in cross-validation, of the tagger and of zero_shot on dev documents that
were not drawn from, and time and memory as predicted and as measured. One process for each row, as memory is a peak.
Predicted is the time on a machine that does nothing else: compare it with that of the wall on such a machine, and with
that of the processor (OMP_NUM_THREADS=1) where other programs run. Tagging: texts that no cache knows, encoder too.
"""

from __future__ import annotations

import argparse
import json
import resource
import time
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from benchmarks import corpora, figures
from benchmarks.curve import sampled
from benchmarks.zeroshot import own_labels

from tagwright.methods import auto, zero_shot
from tagwright.methods.auto.combine import ndcg_at_5
from tagwright.methods.auto.speed import timed
from tagwright.tagger import Tagger
from tagwright.types import Document, Doubles, Run

RESULT = figures.RESULTS / "auto.json"

DEV = 400
"Dev documents that are scored."

WARM, TAGGED = 8, 64
"Documents that are tagged before time is measured, and for it."


def main(arguments: list[str]) -> None:
    parser = argparse.ArgumentParser(prog="benchmarks auto", description=__doc__)
    parser.add_argument("name", choices=(*corpora.NAMES, "kirja"))
    parser.add_argument("labelled", type=int)
    parser.add_argument("--corpus", type=int, default=1000, help="documents that the tagger is trained with")
    parser.add_argument("--in-order", action="store_true", help="the first documents of each file, not random ones")
    parser.add_argument("--output", type=Path, default=RESULT, help="a JSON file, to which the row is added")
    options = parser.parse_args(arguments)
    corpora.require((options.name,))
    row = measure(options.name, options.labelled, options.corpus, in_order=options.in_order)
    print(json.dumps(row, indent=1))
    result = figures.read(options.output)
    result.setdefault("rows", {})[f"{options.name} {options.labelled}{' in order' * options.in_order}"] = row
    figures.write(options.output, result)


def measure(name: str, labelled: int, corpus: int, *, in_order: bool) -> dict[str, Any]:
    """A row of the table."""
    vocabulary, (training, dev) = corpora.labels(name), split(name, corpus, in_order=in_order)
    gold = vocabulary.gold(training, unknown="ignore")
    drawn = np.random.default_rng(0).permutation(np.flatnonzero(np.diff(gold.indptr) > 0))[:labelled]
    started, clock = time.perf_counter(), time.process_time()
    tagger = auto.fit(training, vocabulary, gold=gold.keep(np.isin(gold.rows, drawn)))
    seconds, processor = time.perf_counter() - started, time.process_time() - clock
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    own = own_labels(dev, vocabulary, name == "mdn")
    right = vocabulary.gold(dev, unknown="ignore").without(own)
    found, fixed = (scores(each, dev, right, own) for each in (tagger, zero_shot.fit(vocabulary, documents=dev)))
    difference = found - fixed
    with_, without = (tagging(each, dev) for each in (tagger, zero_shot.fit(vocabulary, documents=dev)))
    record = tagger.training["auto"]
    return {
        "cross-validation": record["nDCG@5"],
        "kept": record["kept"],
        "dev documents": len(dev),
        "auto": round(float(found.mean()), 4),
        "zero_shot": round(float(fixed.mean()), 4),
        "standard error of the difference": round(float(difference.std(ddof=1) / np.sqrt(len(dev))), 4),
        "seconds": {
            "predicted": round(sum(record["predicted"].values()), 1),
            "measured": round(seconds, 1),
            "of the processor": round(processor, 1),
        },
        "milliseconds to tag a document": {"auto": round(1000 * with_, 1), "zero_shot": round(1000 * without, 1)},
        "megabytes": {"predicted": round(record["memory"]), "measured": round(peak)},
    }


def tagging(tagger: Tagger, documents: list[Document]) -> float:
    """Seconds for a document: the best of three, each time with other texts."""
    tagger.tag(documents[:WARM])
    marked = ([replace(each, title=f"{each.title} {time.time_ns()}") for each in documents[:TAGGED]] for _ in range(3))
    return min(timed(partial(tagger.tag, some)) for some in marked) / TAGGED


def split(name: str, corpus: int, *, in_order: bool) -> tuple[list[Document], list[Document]]:
    """Documents to train with, and others to score. The files are not in random order."""
    train, dev = ([*corpora.documents(name, part)] for part in ("train", "dev"))
    if not in_order:
        train, dev = sampled(train, None), sampled(dev, None)
    if name != "epmc":
        return train[:corpus], labelled_only(dev[:DEV])
    known = min(300, len(dev) * 3 // 4)
    others = [replace(each, labels=()) for each in train[: max(0, corpus - known)]]
    return [*dev[:known], *others], labelled_only(dev[known:])


def labelled_only(documents: list[Document]) -> list[Document]:
    return [each for each in documents if each.labels]


def scores(tagger: Tagger, documents: list[Document], gold: Run, own: np.ndarray[Any, Any]) -> Doubles:
    """(documents,) nDCG@5."""
    return ndcg_at_5(tagger.tag(documents, 6).without(own), gold)
