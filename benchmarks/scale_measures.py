"""What `scale` measures, each over the number of documents or of labels."""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import replace
from itertools import islice
from pathlib import Path
from typing import Any

FIXED = {"documents": 10_000, "labels": 1_000}
"Over the number of documents there are so many labels, over that of labels so many documents."

LABELLED = 500
"Documents from which a combiner is learned."

RECALL, RECALLED = "recall@10 of an index", 200
"The share of the ten nearest labels that an index finds, and for how many documents it is measured."


class Clock:
    """Seconds of the processor since the last call, added up by what was done; "": not counted."""

    def __init__(self) -> None:
        self.seconds: dict[str, float] = {}
        self._last = time.process_time()

    def __call__(self, what: str) -> None:
        """Count what has passed as this."""
        if what:
            self.seconds[what] = self.seconds.get(what, 0.0) + time.process_time() - self._last
        self._last = time.process_time()

    @property
    def rounded(self) -> dict[str, float]:
        """To milliseconds."""
        return {what: round(seconds, 3) for what, seconds in self.seconds.items()}


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
    from tagwright.batch.output_folder import BatchOptions
    from tagwright.batch.shard_tagging import ShardTagger
    from tagwright.batch.shards import cut_into_shards
    from tagwright.core.atomic import scratch_folder
    from tagwright.readers.documents.files import open_sources

    tagger = ShardTagger(_words(_vocabulary(labels)), BatchOptions())
    clock("")
    with scratch_folder() as folder:
        for shard in cut_into_shards(open_sources(documents), tagger.options.shard_size, lambda _: True, folder):
            tagger.write(shard.path, folder / "suggestions")
            shard.remove()
    clock("tag")


def static_tagging(documents: Path, labels: Path, clock: Clock) -> None:
    """Names, words and static vectors, each stage by itself: it reads, finds, and scores what the others found."""
    tagger, corpus = _static(_vocabulary(labels), labels.parent), _corpus(documents)
    tagger.tag(first_documents(documents, 10))  # what is built when it is first needed
    clock("")
    _by_stage(tagger, corpus, clock)


def static_labels(documents: Path, labels: Path, clock: Clock) -> None:
    """The same over labels, all of which are encoded and indexed before."""
    vocabulary, batch = _vocabulary(labels), first_documents(documents, FIXED["labels"])
    tagger = _static(vocabulary, labels.parent)
    _indexed(tagger, len(vocabulary))
    tagger.tag(batch[:10])
    clock("")
    _by_stage(tagger, batch, clock)


def _by_stage(tagger: Any, documents: Iterable[Any], clock: Clock) -> None:
    """Tag, and count what each stage and the combiner take. Like `Tagger.tag`, but with a clock."""
    from tagwright.combining.pool import CandidatePool
    from tagwright.tagger import batches

    clock("")
    for batch in batches(documents):
        clock("read documents")
        readings, found = {}, {}
        for name, stage in tagger.stages.items():
            readings[name] = stage.read(batch)
            if name in tagger.retrievers:
                found[name] = stage.find(readings[name])
            clock(name.replace("_", " "))
        pool = CandidatePool.of(batch, found, tagger.stages, readings, tagger.pool)
        clock("pool")
        for name in tagger.stages:
            pool.scores(name)
            clock(name.replace("_", " "))
        tagger.rank(pool).top(10)
        clock("combine")


def learned_combiner(documents: Path, labels: Path, clock: Clock) -> None:
    """A combiner trained on 500 documents, whose labels are made up: the first that their texts name."""
    from tagwright.auto import combination
    from tagwright.tagger import batches

    corpus = _corpus(documents)
    tagger = _static(_vocabulary(labels), labels.parent)
    named = tagger.retrievers["exact_match"](corpus[:LABELLED]).top(3)
    labelled = [
        replace(document, labels=tuple(tagger.vocabulary.ids[label] for label in named[row][0].tolist()))
        for row, document in enumerate(corpus[:LABELLED])
    ]
    clock("")
    trained = combination.fit(labelled, tagger)[0]
    clock("train on 500")
    for batch in batches(corpus):
        pool = trained.candidates(batch)
        for name in trained.stages:
            pool.scores(name)
        clock("")
        trained.rank(pool).top(10)
        clock("combine")


def encoding(documents: Path, _: Path, clock: Clock) -> None:
    """Texts into static vectors."""
    from tagwright.encoders.bi_encoder import BiEncoder
    from tagwright.tagger import batches

    encoder = BiEncoder.load(str(_static_encoder(documents.parent)), cached=False)
    corpus = _corpus(documents)
    encoder.encode(["a"])  # reads it
    clock("")
    for batch in batches(corpus):
        encoder.encode([document.text for document in batch], keep=False)
    clock("encode")


def rts(documents: Path, labels: Path, clock: Clock) -> None:
    """RTS trains a static encoder, one epoch."""
    from tagwright.papers import rts as method
    from tagwright.training.config import TrainingConfig

    corpus, vocabulary = _corpus(documents), _vocabulary(labels)
    config = method.Config(encoder="static", training=TrainingConfig(epochs=1))
    clock("")
    method.fit(corpus, vocabulary, config)
    clock("train")


def svm(documents: Path, _: Path, clock: Clock) -> None:
    """`train svm`, as a command, on documents whose labels are words that they hold."""
    from benchmarks.scale_texts import labelled

    from tagwright.app.cli import app

    with tempfile.TemporaryDirectory(dir=documents.parent) as folder:
        texts, labels = labelled(documents, Path(folder))
        where = ["--labels", str(labels), "--output", str(Path(folder) / "model"), "--set", "workers=1"]
        clock("")
        app(["train", "svm", str(texts), *where, "--no-check", "--quiet", "--offline"], standalone_mode=False)
        clock("train")


def graph(documents: Path, _: Path, clock: Clock) -> None:
    """Citations and authors of as many made-up documents; a pair of each along two meta-paths."""
    from tagwright.graph.network import Graph

    count = int(documents.stem.partition("-")[2])
    clock("")
    network = Graph.of(_citing(count))
    clock("build")
    for path in ("P->P<-P", "P-A-P"):
        network.follow(path).sample(count, seed=0)
    clock("draw a pair for each")


def _citing(count: int, references: int = 10, authors: int = 4) -> Iterator[Any]:
    """References to works of the corpus and twice as many outside, skewed to the early ones; authors skewed too."""
    import numpy as np

    from tagwright.types import Document

    rng = np.random.default_rng(0)
    for number in range(count):
        cited = (3 * count * rng.random(references) ** 3).astype(int).tolist()
        wrote = (count * rng.random(authors) ** 2).astype(int).tolist()
        metadata = {"reference": tuple(f"W{work}" for work in cited), "author": tuple(f"A{one}" for one in wrote)}
        yield Document(f"W{number}", metadata=metadata)


def exact_match(documents: Path, labels: Path, clock: Clock) -> None:
    """Names found in texts."""
    from tagwright.stages.names.exact_match import ExactMatch, ExactMatchOptions

    _stage(documents, labels, clock, lambda vocabulary: ExactMatch(vocabulary, ExactMatchOptions(stem="english")))


def tfidf(documents: Path, labels: Path, clock: Clock) -> None:
    """Words shared with names and descriptions."""
    from tagwright.stages.lexical import Lexical, LexicalOptions

    options = LexicalOptions(weighting="tfidf", stem="english")
    _stage(documents, labels, clock, lambda vocabulary: Lexical(vocabulary, options))


def exact_search(documents: Path, labels: Path, clock: Clock) -> None:
    """The 500 nearest labels of a static encoder, each compared."""
    _search(documents, labels, clock, "exact")


def ivf_search(documents: Path, labels: Path, clock: Clock) -> None:
    """The same by the index that is built from 100,000 labels on, whatever their number."""
    _search(documents, labels, clock, "ivf")


def hnsw_search(documents: Path, labels: Path, clock: Clock) -> None:
    """The same by the index that a user can ask for, which takes longer to build."""
    _search(documents, labels, clock, "hnsw")


def _search(documents: Path, labels: Path, clock: Clock, kind: Any) -> None:
    from tagwright.encoders.bi_encoder import BiEncoder
    from tagwright.stages.dense import Dense, DenseOptions
    from tagwright.stages.dense.index import recall

    vocabulary, batch = _vocabulary(labels), first_documents(documents, FIXED["labels"])
    encoder = BiEncoder.load(str(_static_encoder(labels.parent)), cached=False)
    encoder.encode(["a"])  # reads it
    clock("")
    stage = Dense(vocabulary, encoder, DenseOptions(k=500, index=kind))
    clock("encode labels")
    if kind != "exact":
        assert stage.index or len(vocabulary) < 10_000
        clock("build the index")
    vectors = stage.read(batch).vectors
    clock("encode 1,000 documents")
    stage.nearest(vectors)
    clock("search for 1,000, together")
    for row in range(len(vectors)):
        stage.nearest(vectors[row : row + 1])
    clock("search for 1,000, one by one")
    if stage.index:
        some = vectors[:RECALLED]
        found, exact = stage.index.nearest(stage.vectors, some, 10), stage.vectors.nearest(some, 10)
        clock.seconds[RECALL] = recall(found, exact)


def saving(documents: Path, labels: Path, clock: Clock) -> None:
    """A vocabulary is read, a tagger made, saved, and loaded by another process, which tags one document and more."""
    from tagwright.data.vocabulary import Vocabulary

    _static_encoder(labels.parent)
    clock("")
    vocabulary = Vocabulary.read(labels)
    clock("read the vocabulary")
    tagger = _static(vocabulary, labels.parent)
    clock("build")
    _indexed(tagger, len(vocabulary))
    clock("index vectors")
    with tempfile.TemporaryDirectory() as folder:
        tagger.save(Path(folder) / "model")
        clock("save")
        clock.seconds["saved, GB"] = (
            sum(file.stat().st_size for file in Path(folder).rglob("*") if file.is_file()) / 1e9
        )
        command = [sys.executable, "-c", LOADING, str(Path(folder) / "model"), str(documents)]
        done = subprocess.run(command, check=True, stdout=subprocess.PIPE)
        clock.seconds |= json.loads(done.stdout.splitlines()[-1])


LOADING = """
import json, sys, time
from pathlib import Path
from benchmarks.machine import peak_mb
from benchmarks.scale_measures import Clock, FIXED, first_documents
batch = first_documents(Path(sys.argv[2]), FIXED["labels"])
clock = Clock()
from tagwright.tagger import Tagger
clock("imports")
began = time.perf_counter()
tagger = Tagger.load(sys.argv[1])
clock("load")
clock.seconds["load, by the clock on the wall"] = time.perf_counter() - began
tagger.suggest(batch[0])
clock("first tag")
clock.seconds["from start to first tag"] = time.process_time()
clock.seconds["first tag, MB"] = peak_mb()
tagger.tag(batch)
clock("tag 1,000")
clock.seconds["tagging process, MB"] = peak_mb()
print(json.dumps(clock.rounded))
"""
"A process that loads a saved tagger. Seconds of the processor; start-up includes all imports."


MEASURES: Mapping[str, tuple[str, Callable[[Path, Path, Clock], None]]] = {
    "reading": ("documents", reading),
    "whole tagger": ("documents", tagging),
    "whole tagger, static": ("documents", static_tagging),
    "static encoder": ("documents", encoding),
    "learned combiner": ("documents", learned_combiner),
    "RTS, static": ("documents", rts),
    "SVM": ("documents", svm),
    "graph": ("documents", graph),
    "exact match": ("labels", exact_match),
    "tfidf": ("labels", tfidf),
    "vocabulary, save, load": ("labels", saving),
    "dense search, exact": ("labels", exact_search),
    "dense search, IVF": ("labels", ivf_search),
    "dense search, HNSW": ("labels", hnsw_search),
    "whole tagger, static, labels": ("labels", static_labels),
}
"Name -> over the number of what, and how. The whole tagger is exact match and TF-IDF, static: with a static encoder."


def _stage(documents: Path, labels: Path, clock: Clock, build: Callable[[Any], Any]) -> None:

    vocabulary, batch = _vocabulary(labels), first_documents(documents, FIXED["labels"])
    clock("")
    stage = build(vocabulary)
    stage(batch[:1])  # an index is built when it is first needed
    clock("build")
    stage(batch)
    clock("find")


def _corpus(path: Path) -> Any:
    from tagwright.data.corpus import Corpus

    return Corpus.read(path)


def _vocabulary(path: Path) -> Any:
    from tagwright.data.vocabulary import Vocabulary

    return Vocabulary.read(path)


def _words(vocabulary: Any) -> Any:
    from tagwright import zero_shot

    return zero_shot(vocabulary, stages=("exact_match", "tfidf"), language="english")


def _static(vocabulary: Any, folder: Path) -> Any:
    from tagwright import zero_shot

    return zero_shot(vocabulary, encoder=str(_static_encoder(folder)), language="english")


def _indexed(tagger: Any, labels: int) -> None:
    """Build the index of the vectors, which is built when it is first needed."""
    from tagwright.stages.dense.index import EXACT_LIMIT

    assert tagger.retrievers["dense"].index or labels <= EXACT_LIMIT


def _static_encoder(folder: Path) -> Path:
    """Distilled once for all measures."""
    from tagwright.encoders.static import distil

    if not (folder / "static").is_dir():
        distil(folder / "static")
    return folder / "static"


def first_documents(path: Path, count: int) -> list[Any]:
    """The first so many documents of a file."""
    from tagwright.readers.documents.files import open_sources

    return [document for _, found in open_sources(path) for _, document in islice(found, count)]
