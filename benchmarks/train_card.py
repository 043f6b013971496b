"""Rows of `python -m benchmarks train --card`: what a GPU makes of training and encoding, as a share of its own rate.

Each row is written as it ends, and one that is there is not measured again; `--tiny` tries all of them on a processor
with small numbers. Nothing is fetched: MiniLM is the package's or a folder's, and the BERT-base has random weights,
which compute as long as trained ones.
"""

from __future__ import annotations

import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from importlib.metadata import version
from itertools import chain, count, islice
from pathlib import Path
from typing import Any, NamedTuple
from unittest import mock

from benchmarks import corpora, figures
from benchmarks.plain_loop import Figures, matrix_rate, plain, training_operations
from sentence_transformers import SentenceTransformer

from tagwright.encoders import device
from tagwright.encoders.bi_encoder import BiEncoder
from tagwright.encoders.device import best_device, gpu_name, uses_gpu
from tagwright.papers.losses import info_nce
from tagwright.papers.pairs import RtsOptions, Source, rts_pairs
from tagwright.training import trainable_encoder
from tagwright.training.config import TrainingPlan
from tagwright.training.loop import train
from tagwright.training.objectives import Contrastive


class Size(NamedTuple):
    """How much is measured."""

    warm: int
    timed: int
    large: int
    small: int
    plain: tuple[int, ...]
    bert: tuple[int, int, int]
    labels: int


FULL = Size(30, 90, 384, 8, (64, 128, 192, 384, 768), (12, 768, 128), 30_000)
TINY = Size(1, 2, 32, 8, (16, 32), (2, 64, 16), 300)
"""warm, timed: steps before the clock starts, and steps on the clock. large, small: pairs of a batch; plain: those of
the plain loop. bert: layers and dimensions of the random BERT, and pairs of its batch. labels: how many are encoded."""


def measure(output: Path, encoder: str, size: Size, minutes: float) -> None:
    """Measure the rows that the file does not have, as long as there is time to begin one."""
    end, rows = time.monotonic() + 60 * minutes, _rows(encoder, size)
    name_of_device = gpu_name() if uses_gpu() else "processor"
    for name, row in rows.items():
        content = figures.read(output)
        done = content.setdefault(f"{name_of_device}{', tiny' * (size is TINY)}", {"versions": _versions()})
        if name not in done and time.monotonic() < end:
            done[name] = row()
            figures.write(output, content)
            print(f"{name}: {done[name]}", flush=True)
    print("\n".join(table(figures.read(output))))


def table(content: dict[str, Any]) -> Iterator[str]:
    """The rows of each device, with the versions of the libraries."""
    for name_of_device, rows in content.items():
        if isinstance(rows, dict) and "versions" in rows:
            versions = ", ".join(f"{name} {said}" for name, said in rows["versions"].items())
            yield from ("", f"{name_of_device}; {versions}", "")
            yield from ("| row | rate | share of the device's bfloat16 rate |", "| --- | --- | --- |")
            for name, row in rows.items():
                if name != "versions":
                    rate = next(f"{value:,} {unit.replace('_', ' ')}" for unit, value in row.items() if unit != "share")
                    yield f"| {name} | {rate} | {format(row['share'], '.1%') if 'share' in row else ''} |"
            yield from _ratio(rows)


def _ratio(rows: dict[str, Any]) -> Iterator[str]:
    plain_rates = [row["pairs_per_second"] for name, row in rows.items() if name.startswith("plain")]
    ours = [row["pairs_per_second"] for name, row in rows.items() if name.startswith("ours, MiniLM")]
    if plain_rates and ours:
        yield f"| ours, largest batch, against the best plain one | {max(ours) / max(plain_rates):.2f} times | |"


def _rows(encoder: str, size: Size) -> dict[str, Callable[[], Figures]]:
    """Name -> what measures it, the most important ones first."""

    def minilm() -> SentenceTransformer:
        return BiEncoder.load(encoder, max_length=128).model

    layers, dim, batch = size.bert
    rows: dict[str, Callable[[], Figures]] = {
        f"ours, MiniLM, batch {size.large}": lambda: ours(minilm(), rts(), size.large, size),
        **{f"plain, MiniLM, batch {n}": partial(plainly, minilm, n, size) for n in size.plain},
        f"ours, MiniLM, batch {size.small}": lambda: ours(minilm(), rts(), size.small, size),
        f"ours, MiniLM, batch {size.small}, without CUDA graphs": lambda: not_captured(minilm(), size.small, size),
        "CUDA graphs against single kernels, in float32": lambda: difference(minilm(), rts(), size.small),
        f"ours, random BERT of {layers} x {dim}, 256 tokens, batch {batch}": lambda: ours(
            random_bert(minilm(), layers, dim), rts(RtsOptions(min_words=160, max_words=320)), batch, size
        ),
        f"{size.labels:,} labels encoded": lambda: encoded(encoder, size.labels),
    }
    return rows


def rts(options: RtsOptions | None = None) -> Source:
    """RTS's pairs of the train documents of mdn."""
    return rts_pairs(corpora.documents("mdn", "train"), corpora.labels("mdn"), options)


def ours(model: SentenceTransformer, source: Source, batch: int, size: Size) -> Figures:
    """Our loop with all that belongs to it: drawing, tokenising, the log."""
    steps = size.warm + size.timed
    plan = TrainingPlan(batch=batch, steps=steps, validation=0.0, log_every=size.warm, learning_rate=1e-5)
    rows, *_ = train(model, source, Contrastive(lambda a, p, groups: info_nce(a, p, groups=groups)), plan)
    first, last = (next(row for row in rows if row["step"] == step) for step in (size.warm, steps))
    pairs = list(islice(chain.from_iterable(map(source, count())), batch * size.warm, batch * steps))
    return _rates(model, pairs, last["seconds"] - first["seconds"])


def not_captured(model: SentenceTransformer, batch: int, size: Size) -> Figures:
    """As `ours`, with single kernels."""
    with fed(captured=0):
        return ours(model, rts(), batch, size)


@contextmanager
def fed(**how: Any) -> Iterator[None]:
    """Feed both kinds of device so inside."""
    before = device.CARD, device.PROCESSOR
    device.CARD, device.PROCESSOR = (feed._replace(**how) for feed in before)
    try:
        yield
    finally:
        device.CARD, device.PROCESSOR = before


def difference(model: SentenceTransformer, source: Source, batch: int) -> Figures:
    """How far losses and gradient norms of some steps are off in fixed shapes, as a share: 1e-4 and less is rounding.

    In float32 and without dropout, on the same pairs in each step.
    """
    import torch

    pairs, found = list(islice(source(0), batch)), list[list[float]]()
    start = {name: weight.detach().clone() for name, weight in model.state_dict().items()}
    plan = TrainingPlan(batch=batch, steps=4, validation=0.0, log_every=1, dropout="off", learning_rate=1e-5)
    for most in (0, 1 << 14):
        model.load_state_dict(start)
        with fed(captured=most), mock.patch.object(trainable_encoder, "best_dtype", return_value=torch.float32):
            rows, *_ = train(model, lambda _: pairs, Contrastive(lambda a, p, _: info_nce(a, p)), plan)
        found.append([row[name] for row in rows for name in ("loss", "gradient_norm")])
    return {"largest": max(abs(fixed - plain) / plain for plain, fixed in zip(*found, strict=True))}


def plainly(load: Callable[[], SentenceTransformer], batch: int, size: Size) -> Figures:
    """The plain loop on the same pairs, which it gets for nothing; one step warms up."""
    steps = max(2, min(size.timed, size.timed * 128 // batch) + 1)
    model = load().to(best_device())
    pairs = list(islice(chain.from_iterable(map(rts(), count())), batch * steps))
    return _rates(model, pairs[batch:], plain(model, pairs, batch))


def encoded(encoder: str, labels: int) -> Figures:
    """Names and texts of labels, as many as are asked for, with the tokenising; other labels warm up."""
    every = chain.from_iterable(corpora.labels(name) for name in ("tib", "mdn"))
    texts = [label.text for label in islice(every, labels)]
    minilm = BiEncoder.load(encoder, max_length=128, cached=False)
    minilm.encode([f"{number}" for number in range(64)])
    start = time.perf_counter()
    minilm.encode([f"{text} {number}" for number, text in enumerate(texts)])
    seconds = time.perf_counter() - start
    return {"seconds": round(seconds, 2), "labels": len(texts), "labels_per_second": round(len(texts) / seconds)}


def random_bert(minilm: SentenceTransformer, layers: int, dim: int) -> SentenceTransformer:
    """A BERT of random weights that reads 256 tokens of MiniLM's tokenizer."""
    from sentence_transformers.sentence_transformer.modules import Pooling, Transformer
    from transformers import BertConfig, BertModel

    with tempfile.TemporaryDirectory() as folder:
        config = BertConfig(
            vocab_size=len(minilm.tokenizer),
            hidden_size=dim,
            num_hidden_layers=layers,
            num_attention_heads=dim // 64,
            intermediate_size=4 * dim,
        )
        BertModel(config).save_pretrained(folder)
        minilm.tokenizer.save_pretrained(folder)
        body = Transformer(folder)
    body.max_seq_length = 256
    return SentenceTransformer(modules=[body, Pooling(dim, "mean")], device=str(best_device()))


def _rates(model: SentenceTransformer, pairs: list[Any], seconds: float) -> Figures:
    operations, tokens = training_operations(model, pairs)
    return {
        "pairs_per_second": round(len(pairs) / seconds, 1),
        "share": round(operations / seconds / matrix_rate(), 4),
        "tokens_per_second": round(tokens / seconds),
        "matrix_rate_tflops": round(matrix_rate() / 1e12, 2),
    }


def _versions() -> dict[str, str]:
    return {name: version(name) for name in ("torch", "transformers", "sentence-transformers")}
