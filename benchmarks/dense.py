"""Speed and recall of the index of labels: `python -m benchmarks dense [LABELS]`, a million by default. Prints JSON.

The labels are sentences and phrases of the training texts of three corpora, the queries titles and abstracts of their
held-out documents. To be done in minutes, both are embedded by the mean of the packaged encoder's word vectors (without
the most common direction), weighted by idf: real text with its clusters and near-duplicates, not noise.
"""

from __future__ import annotations

import gzip
import json
import os
import random
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from itertools import chain
from pathlib import Path
from typing import Any

import faiss
import numpy as np
from benchmarks import corpora, figures
from benchmarks.machine import peak_mb, timed
from safetensors.numpy import load_file
from tokenizers import Tokenizer

from tagwright.encoders.model_folder import PACKAGED, find
from tagwright.stages.dense.index import INDEX_MINIMUM, Index, Vectors, index_name, recall
from tagwright.text.words import ANALYSIS, sentence_spans, word_spans
from tagwright.types import Floats, Run

NAMES = ("tib", "mdn", "epmc")
QUERIES = 512


def main(arguments: list[str]) -> None:
    parser = corpora.parser("dense", __doc__, ())
    parser.add_argument("size", type=int, nargs="?", default=1_000_000)
    options = parser.parse_args(arguments)
    corpora.require(NAMES)
    size = options.size
    if size < INDEX_MINIMUM:
        sys.exit(f"{size:,} labels: none is indexed below {INDEX_MINIMUM:,}")
    embed = word_vectors()
    labels = embed(label_texts(size))
    queries = embed(query_texts())
    vectors = Vectors.of(labels, "float16")
    exact = Vectors.of(labels, "float32").nearest(queries, 100)
    del labels
    report = {
        "cores used by a search": 1,
        "load": os.getloadavg()[0],
        "labels": f"{len(vectors):,} x {vectors.codes.shape[1]}",
        "exact, float16": searched(lambda few: vectors.nearest(few, 10), queries[:64]),
    }
    name = str(index_name("ivf", size))
    report[name] = measure(vectors, name, queries, exact, efforts=[8, 16, 32, 64, 128, 256])
    report["peak memory GB"] = round(peak_mb() / 2**10, 1)
    print(json.dumps(report, indent=1))
    figures.write(options.output, report)


def measure(vectors: Vectors, name: str, queries: Floats, exact: Run, efforts: list[int]) -> dict[str, object]:
    """Build (all cores), save, memory-map, and search (one core) with the chosen effort and with others."""
    seconds, _, built = timed(lambda: Index.build(vectors, name))
    with tempfile.TemporaryDirectory() as folder:
        built.save(Path(folder))
        size = (Path(folder) / "index.faiss").stat().st_size
        index = Index.load(Path(folder), name, built.effort, vectors.codes.shape)
        table = {effort: quality(replace(index, effort=effort), vectors, queries, exact) for effort in efforts}
    return {"build s": round(seconds), "MB": round(size / 1e6), "chosen": built.effort, "by effort": table}


def quality(index: Index, vectors: Vectors, queries: Floats, exact: Run) -> dict[str, float]:
    """Recall of the 10 and of the 100 nearest, and milliseconds for a query."""
    recalls = {f"recall@{k}": round(recall(index.nearest(vectors, queries, k), exact.top(k)), 3) for k in (10, 100)}
    return recalls | searched(lambda few: index.nearest(vectors, few, 10), queries)


def searched(search: Callable[[Floats], Run], queries: Floats) -> dict[str, float]:
    """Milliseconds for a query on one core, one query at a time and 32 at a time."""
    faiss.omp_set_num_threads(1)
    result = {}
    for batch in (1, 32):
        parts = [queries[i : i + batch] for i in range(0, len(queries), batch)]
        start = time.process_time()  # other work on the machine counts as little as possible
        for part in parts:
            search(part)
        result[f"ms, batches of {batch}"] = round((time.process_time() - start) / len(queries) * 1000, 2)
    faiss.omp_set_num_threads(os.cpu_count() or 1)
    return result


def word_vectors() -> Callable[[Sequence[str]], Floats]:
    """A static encoder: texts in, unit vectors out."""
    folder = find(PACKAGED)
    tokenizer = Tokenizer.from_file(str(folder / "tokenizer.json"))
    tokenizer.enable_truncation(256)
    tokenizer.no_padding()
    table = load_file(folder / "model.safetensors")["embeddings.word_embeddings.weight"]
    table = table - table.mean(axis=0)
    weights = np.ones(len(table), np.float32)

    def embed(texts: Sequence[str]) -> Floats:
        vectors = np.zeros((len(texts), table.shape[1]), np.float32)
        for start in range(0, len(texts), 8192):
            encoded = tokenizer.encode_batch_fast(texts[start : start + 8192], add_special_tokens=False)
            tokens = np.concatenate([np.array(e.ids, np.int64) for e in encoded])
            ends = np.cumsum([0, *(len(e.ids) for e in encoded[:-1])])
            if start == 0 and len(texts) >= 8192:
                weights[:] = np.log(len(tokens) / (1 + np.bincount(tokens, minlength=len(table))))
            vectors[start : start + 8192] = np.add.reduceat(table[tokens] * weights[tokens, None], ends)
        vectors /= np.maximum(np.linalg.norm(vectors, axis=1, keepdims=True), 1e-9)
        return vectors

    return embed


def label_texts(size: int) -> list[str]:
    """Different sentences and phrases of 1 to 5 words of them, half and half."""
    generator, texts = random.Random(0), dict[str, None]()
    for text in chain.from_iterable(map(paragraphs, corpus("train.jsonl.gz"))):
        for start, end in sentence_spans(text):
            spans = word_spans(text[start:end], ANALYSIS)
            if len(spans) < 3:
                continue
            first = generator.randrange(len(spans))
            last = min(first + generator.randint(0, 4), len(spans) - 1)
            texts[text[start:end]] = texts[text[start + spans[first][0] : start + spans[last][1]]] = None
        if len(texts) >= size:
            return list(texts)[:size]
    sys.exit(f"the corpora hold {len(texts):,} sentences and phrases, {size:,} labels are wanted")


def query_texts() -> list[str]:
    heads = ["\n".join((document["title"], document["abstract"])) for document in corpus("dev.jsonl.gz")]
    return random.Random(0).sample(heads, min(QUERIES, len(heads)))


def corpus(file: str) -> Iterator[dict[str, Any]]:
    for name in NAMES:
        with gzip.open(corpora.folder(name) / file, "rt", encoding="utf-8") as lines:
            yield from map(json.loads, lines)


def paragraphs(document: dict[str, Any]) -> list[str]:
    body = (paragraph for section in document.get("sections", ()) for paragraph in section["paragraphs"])
    return [document["title"], document["abstract"], *body]
