"""Training speed and peak memory on mdn against a plain loop: `python -m benchmarks train [--rounds N]`. Prints JSON.

`--card` measures a GPU instead, in rows that are kept as they end: see `train_card`.

The plain loop is what sentence-transformers' documentation leads to: its model, its MultipleNegativesRankingLoss,
bfloat16 autocast, batches padded to their longest text. Both train on the same pairs of RTS, in turns, each in a
process of its own; our static training draws its pairs meanwhile, the plain loops get theirs for nothing.
"""

from __future__ import annotations

import json
import os
import resource
import sys
from itertools import chain, count, islice
from pathlib import Path
from statistics import median
from typing import Any

from benchmarks import corpora, figures
from benchmarks.machine import in_own_process
from benchmarks.plain_loop import Figures, matrix_rate, plain, training_operations
from sentence_transformers import SentenceTransformer

from tagwright.encoders.bi_encoder import BiEncoder
from tagwright.encoders.device import best_device
from tagwright.encoders.model_folder import PACKAGED
from tagwright.papers.losses import info_nce
from tagwright.papers.pairs import Source, rts_pairs
from tagwright.training.config import TrainingPlan
from tagwright.training.loop import train
from tagwright.training.objectives import Contrastive
from tagwright.types import Pair

BATCH = {"transformer": 192, "static": 1024}
LOOPS = ("ours", "plain")
STEPS = {"transformer": 3, "static": 60}
"One step to warm up and the others to be timed; a few are enough, since they take seconds."


def main(arguments: list[str]) -> None:
    parser = corpora.parser("train", __doc__, ())
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--kind", choices=BATCH, action="append", help="what to train; both by default")
    parser.add_argument("--loop", choices=LOOPS, help="do one measurement in this process")
    parser.add_argument("--card", action="store_true", help="measure rows for a GPU, and print their table")
    parser.add_argument("--tiny", action="store_true", help="with --card: small numbers, to try it on a processor")
    parser.add_argument("--encoder", default=PACKAGED, help="with --card: MiniLM, or a folder with its weights")
    parser.add_argument("--minutes", type=float, default=8.0, help="with --card: no row begins later")
    options = parser.parse_args(arguments)
    corpora.require(("mdn", "tib") if options.card else ("mdn",))
    if options.card:
        from benchmarks import train_card

        size = train_card.TINY if options.tiny else train_card.FULL
        output = (
            options.output.with_stem("train-card")
            if options.output == figures.RESULTS / "train.json"
            else options.output
        )
        train_card.measure(output, options.encoder, size, options.minutes)
        return
    kinds = options.kind or list(BATCH)
    for kind in kinds:
        if (there := sum(1 for _ in islice(rts()(0), BATCH[kind]))) < BATCH[kind]:
            sys.exit(f"a batch of the {kind} encoder is {BATCH[kind]:,} pairs, and the train documents make {there:,}")
    if options.loop:
        print(json.dumps(measure(kinds[0], options.loop)))
    else:
        found = {kind: compare(kind, options.rounds) for kind in kinds}
        print(json.dumps(found, indent=1))
        figures.write(options.output, found)


def compare(kind: str, rounds: int) -> dict[str, Any]:
    """Medians over the rounds; the ratio is the median of the rounds' own, which noise of the machine hits less."""
    found = [{loop: in_own_process("train", "--kind", kind, "--loop", loop) for loop in LOOPS} for _ in range(rounds)]
    report: dict[str, Any] = {
        loop: {name: median(one[loop][name] for one in found) for name in found[0][loop]} for loop in LOOPS
    }
    ratios = [one["ours"]["pairs_per_second"] / one["plain"]["pairs_per_second"] for one in found]
    return {**report, "rounds": rounds, "ours / plain": round(median(ratios), 2), "load": round(os.getloadavg()[0], 1)}


def measure(kind: str, loop: str) -> Figures:
    model = (BiEncoder.load(max_length=128) if kind == "transformer" else BiEncoder.load("static")).model
    model.to(best_device())
    source = rts()
    before = memory_mb(since_now=True)
    if loop == "plain":
        pairs = taken(source, kind)
        seconds = plain(model, pairs, BATCH[kind])
    else:
        seconds = ours(model, source, kind)
        pairs = taken(source, kind)
    trained = BATCH[kind] * (STEPS[kind] - 1)
    figures = {"pairs_per_second": round(trained / seconds, 1), "peak_mb": memory_mb(), "mb_before": before}
    if model.device.type == "cuda":
        figures |= on_gpu(model, pairs[BATCH[kind] :], seconds)
    return figures


def rts() -> Source:
    """The pairs of the train documents."""
    return rts_pairs(corpora.documents("mdn", "train"), corpora.labels("mdn"))


def taken(source: Source, kind: str) -> list[Pair]:
    """As many pairs as all steps need, from as many epochs as it takes."""
    return list(islice(chain.from_iterable(map(source, count())), BATCH[kind] * STEPS[kind]))


def ours(model: SentenceTransformer, source: Source, kind: str) -> float:
    training = TrainingPlan(
        batch=BATCH[kind],
        steps=STEPS[kind],
        validation=0.0,
        log_every=1,
        learning_rate=1e-4,
    )
    rows, *_ = train(model, source, Contrastive(lambda a, p, groups: info_nce(a, p, groups=groups)), training)
    return rows[-1]["seconds"] - rows[0]["seconds"]


def on_gpu(model: SentenceTransformer, pairs: list[Pair], seconds: float) -> Figures:
    """Tokens are counted without padding."""
    import torch

    operations, tokens = training_operations(model, pairs)
    peak = torch.cuda.max_memory_allocated() >> 20
    figures: Figures = {"tokens_per_second": round(tokens / seconds), "peak_gpu_mb": peak}
    return figures | ({"share_of_matrix_rate": round(operations / seconds / matrix_rate(), 3)} if operations else {})


def memory_mb(*, since_now: bool = False) -> int:
    """The most memory this process has held; since_now: count from here on (where Linux lets us)."""
    if since_now and Path("/proc/self/clear_refs").exists():
        Path("/proc/self/clear_refs").write_text("5", encoding="ascii")
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024
