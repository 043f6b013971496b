"""What `tagwright train` does: files and options in, a saved tagger out. What a killed run needs lies beside it."""

from __future__ import annotations

import shutil
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from types import ModuleType
from typing import Any

from tagwright.app.options import configure
from tagwright.app.unfinished import Start, digest, unfinished
from tagwright.data.descriptions import read_keywords
from tagwright.data.documents import Corpus
from tagwright.data.labels import Vocabulary
from tagwright.data.runs import read_run
from tagwright.errors import ConfigError
from tagwright.learning.pairs import sample_labels, sample_pairs
from tagwright.learning.trainer import FREE_TO_CHANGE
from tagwright.methods import contrastive, depl, futex, maclr, micol, rts, zeroshot
from tagwright.progress import silence
from tagwright.store import check_replaceable, is_first
from tagwright.tagging.tagger import Tagger
from tagwright.types import Run

METHODS: dict[str, tuple[ModuleType, Mapping[str, str]]] = {
    "rts": (rts, {}),
    "maclr": (maclr, {}),
    "micol": (micol, {}),
    "futex": (futex, {}),
    **{name: (contrastive, {"pairs": name}) for name in ("ict", "simcse")},
    **{name: (depl, {"kind": name}) for name in ("svm", "classifier", "de-ret", "depl", "depl+cls")},
}
"Name -> the module, and the option that tells the methods of one module apart."

FUSED = ("rts", "maclr", "ict", "simcse")
"Methods whose tagger is an encoder and nothing else."

SUPERVISED = tuple(name for name, (module, _) in METHODS.items() if module is depl)

BELONGS = {
    "fuse": FUSED,
    "keywords": ("depl", "depl+cls"),
    "guesses": SUPERVISED,
    **dict.fromkeys(("model", "share_of_labels", "share_of_pairs"), ("finetune",)),
}
"Option -> the methods that heed it."


@dataclass(frozen=True)
class Job:
    """The options that all trainings share. labels: only fine-tuning can do without."""

    docs: Sequence[str]
    labels: Path | None
    language: str
    output: Path
    config: Path | None
    settings: Sequence[str]
    resume: bool
    quiet: bool
    keywords: Path | None = None
    guesses: Path | None = None
    fuse: bool = False


@dataclass(frozen=True)
class Few:
    """The options of fine-tuning: a saved tagger, and the share of labels or of pairs of documents and labels."""

    model: Path | None
    share_of_labels: float | None
    share_of_pairs: float | None


def train(method: str, job: Job, few: Few) -> None:
    """Train a method from scratch and save its tagger; to fuse is to add the other stages of the zero-shot method."""
    _check_options(method, job, few)
    module, fixed = METHODS[method]
    config = configure(module.Config, job.config, job.settings, **fixed)
    if job.labels is None:
        raise ConfigError("which labels? give a vocabulary: --labels FILE")
    with silence(job.quiet):
        vocabulary = Vocabulary.read(job.labels, language=job.language or None)
        documents = Corpus.read(*job.docs)
        more: dict[str, Any] = {}
        data = {"documents": documents.digest(), "labels": digest(vocabulary)}
        if job.keywords:
            more["keywords"] = read_keywords(job.keywords, vocabulary.index)
            data["keywords"] = digest(more["keywords"].items())
        if job.guesses:
            more["gold"] = depl.confident(read_run(job.guesses, documents.ids, vocabulary.index))
            data["guesses"] = digest(more["gold"])
        with unfinished(job.output, _start(method, config, data), resume=job.resume) as folder:
            tagger = module.fit(documents, vocabulary, config, folder, resume=job.resume, **more)
            if job.fuse:
                tagger = zeroshot.joined(zeroshot.fit(vocabulary), tagger.stages["dense"])
            _save(tagger, job.output, folder)


def finetune(job: Job, few: Few) -> None:
    """Go on training a saved tagger with the gold labels of the documents, or a share of them, and save it."""
    _check_options("finetune", job, few)
    config = configure(maclr.FewShot, job.config, job.settings)
    if few.model is None:
        raise ConfigError("which tagger is to be fine-tuned? give a saved one: --model DIR")
    if few.share_of_labels is not None and few.share_of_pairs is not None:
        raise ConfigError("a share of the labels, or of the pairs? give --share-of-labels or --share-of-pairs")
    with silence(job.quiet):
        tagger = Tagger.load(few.model)
        if job.labels:
            tagger = tagger.with_labels(Vocabulary.read(job.labels, language=job.language or None))
        documents = Corpus.read(*job.docs)
        gold = _sample(tagger.vocabulary, documents, few, config.seed)
        if not len(gold.labels):
            raise ConfigError("none of the documents has a label of the vocabulary; fine-tuning learns from these")
        data = {"documents": documents.digest(), "labels": digest(tagger.vocabulary), "shares": digest(gold)}
        stats = ((file.name, file.stat()) for file in sorted(few.model.rglob("*")) if file.is_file())
        data["model"] = digest((name, stat.st_size, stat.st_mtime_ns) for name, stat in stats)
        with unfinished(job.output, _start("finetune", config, data), resume=job.resume) as folder:
            _save(maclr.fine_tune(tagger, documents, gold, config, folder, resume=job.resume), job.output, folder)


def _check_options(method: str, job: Job, few: Few) -> None:
    """Raise ConfigError for an option that the method would not heed, TagwrightError for a place not to save at."""
    for name, methods in BELONGS.items():
        given = getattr(few, name) is not None if hasattr(few, name) else bool(getattr(job, name))
        if given and method not in methods:
            raise ConfigError(f"--{name.replace('_', '-')} belongs to {', '.join(methods)}, not to {method}")
    if job.output.name in ("", ".."):
        raise ConfigError(f"--output {job.output}: give a folder by its name")
    check_replaceable(job.output, "saved tagger")


def _start(method: str, config: Any, data: Mapping[str, str]) -> Start:
    return Start(method, {name: value for name, value in asdict(config).items() if name not in FREE_TO_CHANGE}, data)


def _sample(vocabulary: Vocabulary, documents: Corpus, few: Few, seed: int) -> Run:
    gold = vocabulary.gold(documents, unknown="ignore")
    if few.share_of_labels is not None:
        return sample_labels(gold, len(vocabulary), few.share_of_labels, seed=seed)
    return gold if few.share_of_pairs is None else sample_pairs(gold, few.share_of_pairs, seed=seed)


def _save(tagger: Tagger, output: Path, folder: Path) -> None:
    """Save the tagger with the logs of its training; only then are the checkpoints no longer needed."""
    if not is_first():
        return
    tagger.save(output)
    for log in sorted(folder.rglob("log.jsonl")):
        name = "-".join(("training", *log.relative_to(folder).parent.parts))
        shutil.copyfile(log, output / f"{name}.jsonl")
    for events in folder.rglob("events.out.tfevents.*"):
        kept = output / "tensorboard" / events.relative_to(folder)
        kept.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(events, kept)
    shutil.rmtree(folder, ignore_errors=True)
