"""Time and memory over the number of documents and of labels: `python -m benchmarks scale [--sizes 10000 100000]`.

Texts and names of labels are drawn word by word, with the frequencies of words and the lengths of real ones where the
corpora are beside the project (abstracts of arxiv, labels of epmc), and by Zipf's law otherwise. Every figure is
measured in a process of its own with one thread: seconds of the processor, so that other work on the machine counts as
little as possible, and peak memory. The slope is that of a line through the logarithms: 1 is proportional. Results are
written as they come; those that are there are kept.
"""

from __future__ import annotations

import argparse
import gzip
import json
import math
import os
import random
import resource
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import accumulate, islice
from pathlib import Path
from typing import Any

from benchmarks import corpora, machine

RESULTS = Path(__file__).parent / "results" / "scale.json"
SIZES = (10_000, 100_000, 1_000_000)
FIXED = {"documents": 10_000, "labels": 1_000}
"Over the number of documents there are so many labels, over that of labels so many documents."
SOURCES = {
    "documents": corpora.FOLDER / "arxiv" / "train.jsonl.gz",
    "labels": corpora.FOLDER / "epmc" / "labels.jsonl.gz",
}
SAMPLE = 20_000
"Real texts from which words and lengths are counted."
ONE_THREAD = dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "RAYON_NUM_THREADS"), "1")

Parts = dict[str, float]
"Seconds of the processor by what was done."
Clock = Callable[[str], None]


def main(arguments: list[str]) -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks scale", description=__doc__)
    parser.add_argument("--sizes", type=int, nargs="+", default=SIZES)
    parser.add_argument("--only", nargs="+", choices=sorted(MEASURES), default=list(MEASURES))
    parser.add_argument("--output", type=Path, default=RESULTS)
    parser.add_argument("--work", type=Path, help="a folder for texts, which may be used again")
    parser.add_argument("--measure", help=argparse.SUPPRESS)
    options = parser.parse_args(arguments)
    if options.measure:
        print(json.dumps(measured(options.measure, options.work, options.sizes[0])))
        return
    with tempfile.TemporaryDirectory() as temporary:
        work = options.work or Path(temporary)
        work.mkdir(parents=True, exist_ok=True)
        for size in sorted(options.sizes):
            for name in options.only:
                add(options.output, name, size, work)


def add(output: Path, name: str, size: int, work: Path) -> None:
    """Measure one figure unless it is there, and fit its slope anew."""
    from tagwright.store import replace_file

    result = json.loads(output.read_text(encoding="utf-8")) if output.is_file() else {}
    rows = result.setdefault("rows", {}).setdefault(name, {})
    if str(size) in rows:
        return
    axis = MEASURES[name][0]
    source = texts(work, "documents", size if axis == "documents" else FIXED["labels"])
    texts(work, "labels", size if axis == "labels" else FIXED["documents"])
    command = [
        sys.executable,
        "-m",
        "benchmarks",
        "scale",
        "--measure",
        name,
        "--sizes",
        str(size),
        "--work",
        str(work),
    ]
    done = subprocess.run(command, check=True, stdout=subprocess.PIPE, env={**os.environ, **ONE_THREAD})
    rows[str(size)] = json.loads(done.stdout.splitlines()[-1])
    result |= {"machine": machine.describe(), "words": source, "slopes": slopes(result["rows"])}
    print(f"{name:28} {size:10,} {rows[str(size)]} slope {result['slopes'].get(name)}", file=sys.stderr, flush=True)
    with replace_file(output) as file:
        file.write_text(json.dumps(result, indent=1) + "\n", encoding="utf-8")


def slopes(rows: Mapping[str, Mapping[str, Any]]) -> dict[str, dict[str, float]]:
    """By figure, of each of its seconds and of peak memory; where there are two sizes at least."""
    return {
        name: {
            what: round(slope([int(size) for size in found], [max(each[what], 0.001) for each in found.values()]), 3)
            for what in next(iter(found.values()))
        }
        for name, found in rows.items()
        if len(found) > 1
    }


def slope(sizes: Sequence[float], values: Sequence[float]) -> float:
    """The slope of the least-squares line through the logarithms.

    Twice as much for twice as many, four times as much for four times as many:

    >>> slope([1, 2, 4], [3.0, 6.0, 12.0])
    1.0
    """
    x, y = ([math.log(value) for value in each] for each in (sizes, values))
    mean_x, mean_y = sum(x) / len(x), sum(y) / len(y)
    products = sum((a - mean_x) * (b - mean_y) for a, b in zip(x, y, strict=True))
    return round(products / sum((a - mean_x) ** 2 for a in x), 12)


def measured(name: str, work: Path, size: int) -> dict[str, Any]:
    """Time and peak memory of one figure, in this process."""
    axis, measure = MEASURES[name]
    documents, labels = (
        work / f"{kind}-{size if axis == kind else FIXED[axis]}.jsonl" for kind in ("documents", "labels")
    )
    parts: Parts = {}
    last = time.process_time()

    def clock(what: str) -> None:
        nonlocal last
        now = time.process_time()
        if what:
            parts[what] = round(now - last, 3)
        last = time.process_time()

    measure(documents, labels, clock)
    return {**parts, "peak_mb": round(peak_memory(), 1)}


def peak_memory() -> float:
    """MB of this process. What getrusage says includes, on Linux, the memory of the process that started it."""
    status = Path("/proc/self/status")
    if status.exists():
        fields = dict(line.split(":", 1) for line in status.read_text(encoding="ascii").splitlines())
        return int(fields["VmHWM"].split()[0]) / 2**10
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20


def reading(documents: Path, _: Path, clock: Clock) -> None:
    """JSON lines into a corpus on disk."""
    from tagwright.data.corpus import Corpus

    clock("")
    corpus = Corpus.read(documents)
    clock("read")
    sum(len(document.title) for document in corpus)
    clock("iterate")


def tagging(documents: Path, labels: Path, clock: Clock) -> None:
    """The whole of `batch` but its processes: shards are read, tagged and written."""
    from tagwright.data.vocabulary import Vocabulary
    from tagwright.readers.files import open_sources
    from tagwright.scale.batch_options import BatchOptions
    from tagwright.scale.shard_tagging import ShardTagger
    from tagwright.scale.shards import cut

    tagger = ShardTagger(_words(Vocabulary.read(labels)), BatchOptions())
    clock("")
    with tempfile.TemporaryDirectory() as folder:
        for shard in cut(open_sources(documents), tagger.options.shard_size, lambda _: True, Path(folder)):
            tagger.write(shard.path, Path(folder) / "suggestions")
            shard.remove()
    clock("tag")


def exact_match(documents: Path, labels: Path, clock: Clock) -> None:
    """Names found in texts."""
    from tagwright.stages.exact_match import ExactMatch, ExactMatchOptions

    _stage(documents, labels, clock, lambda vocabulary: ExactMatch(vocabulary, ExactMatchOptions(stem="english")))


def tfidf(documents: Path, labels: Path, clock: Clock) -> None:
    """Words shared with names and descriptions."""
    from tagwright.stages.lexical import Lexical, LexicalOptions

    options = LexicalOptions(weighting="tfidf", stem="english")
    _stage(documents, labels, clock, lambda vocabulary: Lexical(vocabulary, options))


def dense(documents: Path, labels: Path, clock: Clock) -> None:
    """Nearest labels of a static encoder, with an index from 100,000 labels on."""
    from tagwright.encoders.bi_encoder import BiEncoder
    from tagwright.encoders.static import distil
    from tagwright.stages.dense import Dense

    encoder = BiEncoder.of(distil())
    _stage(documents, labels, clock, lambda vocabulary: Dense(vocabulary, encoder))


def saving(documents: Path, labels: Path, clock: Clock) -> None:
    """A vocabulary is read, a tagger made, saved and loaded; the first document tagged."""
    from tagwright.data.vocabulary import Vocabulary
    from tagwright.tagger import Tagger

    clock("")
    vocabulary = Vocabulary.read(labels)
    clock("read the vocabulary")
    tagger = _words(vocabulary)
    clock("build")
    with tempfile.TemporaryDirectory() as folder:
        tagger.save(Path(folder) / "model")
        clock("save")
        loaded = Tagger.load(Path(folder) / "model")
        clock("load")
        loaded.tag([_documents(documents, 1)[0]])
        clock("first tag")


MEASURES: Mapping[str, tuple[str, Callable[[Path, Path, Clock], None]]] = {
    "reading": ("documents", reading),
    "whole tagger": ("documents", tagging),
    "exact match": ("labels", exact_match),
    "tfidf": ("labels", tfidf),
    "vocabulary, save, load": ("labels", saving),
    "dense search, static": ("labels", dense),
}
"Name -> over the number of what, and how. The whole tagger is exact match and TF-IDF."


def _stage(documents: Path, labels: Path, clock: Clock, build: Callable[[Any], Any]) -> None:
    from tagwright.data.vocabulary import Vocabulary

    vocabulary, batch = Vocabulary.read(labels), _documents(documents, FIXED["labels"])
    clock("")
    stage = build(vocabulary)
    stage(batch[:1])  # an index is built when it is first needed
    clock("build")
    stage(batch)
    clock("find")


def _words(vocabulary: Any) -> Any:
    from tagwright import zero_shot

    return zero_shot(vocabulary, stages=("exact_match", "tfidf"), language="english")


def _documents(path: Path, count: int) -> list[Any]:
    from tagwright.readers.files import open_sources

    return [document for _, found in open_sources(path) for _, document in islice(found, count)]


def texts(work: Path, kind: str, count: int) -> str:
    """Write so many documents or labels, unless they are there. Returns where the words come from."""
    path, source = work / f"{kind}-{count}.jsonl", SOURCES[kind]
    real = all(each.is_file() for each in SOURCES.values())
    if not path.is_file():
        rng = random.Random(f"{kind} {count}")
        part = path.with_suffix(".part")
        with part.open("w", encoding="utf-8") as file:
            for number, text in enumerate(_texts(kind, source if real else None, count, rng)):
                file.write(json.dumps(_record(kind, number, text)) + "\n")
        part.replace(path)
    return "arxiv, epmc" if real else "Zipf's law"


def _record(kind: str, number: int, words: list[str]) -> dict[str, Any]:
    if kind == "labels":
        return {"id": str(number), "names": [" ".join(words)]}
    return {"id": str(number), "title": " ".join(words[:9]), "abstract": " ".join(words[9:])}


def _texts(kind: str, source: Path | None, count: int, rng: random.Random) -> Iterator[list[str]]:
    words, weights, lengths = _statistics(kind, source)
    cumulative, names = list(accumulate(weights)), set[str]()
    for _ in range(count):
        text = rng.choices(words, cum_weights=cumulative, k=rng.choice(lengths))
        while kind == "labels" and " ".join(text) in names:  # two labels with one name are rare
            text += rng.choices(words, cum_weights=cumulative)
        if kind == "labels":
            names.add(" ".join(text))
        yield text


def _statistics(kind: str, source: Path | None) -> tuple[list[str], list[float], list[int]]:
    """Words, how often each occurs, and lengths of texts in words."""
    if source is None:
        words = ["".join(random.Random(i).choices("abcdefghiklmnoprstuv", k=3 + i % 8)) for i in range(50_000)]
        return words, [1 / (rank + 2) for rank in range(len(words))], [2, 3] if kind == "labels" else [100, 150, 200]
    counts, lengths = Counter[str](), list[int]()
    with gzip.open(source, "rt", encoding="utf-8") as file:
        for line in islice(file, SAMPLE):
            record = json.loads(line)
            text = record["names"][0] if kind == "labels" else f"{record.get('title', '')} {record.get('abstract', '')}"
            lengths.append(max(1, len(text.split())))
            counts.update(text.split())
    return list(counts), [float(count) for count in counts.values()], lengths
