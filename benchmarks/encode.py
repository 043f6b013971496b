"""How many documents a second `BiEncoder` encodes, beside `SentenceTransformer.encode` with its defaults.

The same documents, cut to 256 tokens by both, and label names; the two take turns, and medians are compared. Needs the
packaged MiniLM and the corpora.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import statistics
import time
from collections.abc import Callable, Sequence
from functools import partial
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np
from rich.console import Console
from rich.table import Table

from tagwright.data.documents import Corpus
from tagwright.data.labels import Vocabulary
from tagwright.encoders.bi import BiEncoder
from tagwright.types import Floats

CORPORA = ("epmc", "mdn", "tib")


def main(arguments: list[str]) -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks encode", description=__doc__)
    parser.add_argument("--data", type=Path, default=Path(__file__).resolve().parents[2] / "shared/data")
    parser.add_argument("--documents", type=int, default=128, help="of each corpus")
    parser.add_argument("--labels", type=int, default=2000, help="names of labels, of tib")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--output", type=Path, help="a JSON file")
    options = parser.parse_args(arguments)

    corpora = {name: Corpus.read(options.data / name / "dev.jsonl.gz") for name in CORPORA}
    texts = {name: [d.text for d in islice(corpus, options.documents)] for name, corpus in corpora.items()}
    vocabulary = Vocabulary.read(options.data / "tib" / "labels.jsonl.gz")
    texts["label names"] = [label.name for label in islice(vocabulary, options.labels)]
    encoder = BiEncoder.load(cached=False)
    report = {"machine": machine(), "rounds": options.rounds}
    report["texts"] = {name: compare(encoder, texts[name], options.rounds) for name in texts}
    show(report)
    if options.output:
        options.output.parent.mkdir(parents=True, exist_ok=True)
        options.output.write_text(json.dumps(report, indent=1) + "\n", encoding="utf-8")


def compare(encoder: BiEncoder, texts: Sequence[str], rounds: int) -> dict[str, Any]:
    """Both ways in turn, after a first run of each that is not counted."""
    ways: dict[str, Callable[[], Floats]] = {
        "tagwright": partial(encoder.encode, texts),
        "sentence-transformers": partial(encoder.model.encode, list(texts), show_progress_bar=False),
    }
    vectors = {way: encode() for way, encode in ways.items()}
    runs = [{way: timed(encode) for way, encode in ways.items()} for _ in range(rounds)]
    ids = encoder.model.tokenizer(list(texts), truncation=True, max_length=encoder.max_length)["input_ids"]
    tokens = sum(map(len, ids))
    cosines = (vectors["tagwright"] * vectors["sentence-transformers"]).sum(axis=1)
    result: dict[str, Any] = {"texts": len(texts), "tokens": tokens}
    for way in ways:
        seconds = statistics.median(run[way][0] for run in runs)
        result[way] = {
            "texts_per_second": len(texts) / seconds,
            "tokens_per_second": tokens / seconds,
            "processor_microseconds_per_token": 1e6 * statistics.median(run[way][1] for run in runs) / tokens,
        }
    ratios = [run["sentence-transformers"][0] / run["tagwright"][0] for run in runs]
    result["times_as_fast"] = {"median": statistics.median(ratios), "least": min(ratios), "most": max(ratios)}
    result["cosine"] = {"least": float(cosines.min()), "mean": float(np.mean(cosines))}
    return result


def timed(encode: Callable[[], Floats]) -> tuple[float, float]:
    """Seconds on the clock and of the processor."""
    clock, processor = time.perf_counter(), time.process_time()
    encode()
    return time.perf_counter() - clock, time.process_time() - processor


def machine() -> dict[str, Any]:
    import torch

    from tagwright.encoders.kernels import best_device, best_dtype

    device = best_device()
    able = [kind for kind in ("avx2", "avx512_bf16", "amx_bf16") if torch.cpu.get_capabilities().get(kind)]
    return {
        "processor": processor(),
        "cores": os.cpu_count(),
        "threads": torch.get_num_threads(),
        "able": able,
        "load": round(os.getloadavg()[0], 1),
        "python": platform.python_version(),
        "torch": torch.__version__,
        "path": f"{device.type} {str(best_dtype(device)).removeprefix('torch.')}",
    }


def processor() -> str:
    info = Path("/proc/cpuinfo")
    lines = info.read_text(encoding="utf-8").splitlines() if info.is_file() else []
    return next(
        (line.split(":", 1)[1].strip() for line in lines if line.startswith("model name")), platform.processor()
    )


def show(report: dict[str, Any]) -> None:
    rows = Table("texts", "", "texts/s", "tokens/s", "processor us/token", "times as fast", "cosine least", "mean")
    for name, result in report["texts"].items():
        for way in ("sentence-transformers", "tagwright"):
            speed = result[way]
            cells = [f"{speed['texts_per_second']:,.1f}", f"{speed['tokens_per_second']:,.0f}"]
            cells.append(f"{speed['processor_microseconds_per_token']:.0f}")
            if way == "tagwright":
                cells += [
                    f"{result['times_as_fast']['median']:.1f}",
                    *(f"{result['cosine'][k]:.5f}" for k in ("least", "mean")),
                ]
            rows.add_row(name, way, *cells)
    Console(width=130).print(", ".join(f"{key} {value}" for key, value in report["machine"].items()), rows, sep="\n")
