"""What `tagwright train` does: files and options in, a saved tagger out. What a killed run needs lies beside it."""

from __future__ import annotations

import os
import shutil
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from types import ModuleType
from typing import Any

from tagwright.app.options import configure
from tagwright.data.descriptions import read_keywords
from tagwright.data.documents import Corpus
from tagwright.data.labels import Vocabulary
from tagwright.data.runs import read_run
from tagwright.learning.pairs import sample_labels, sample_pairs
from tagwright.methods import contrastive, depl, futex, maclr, micol, rts, zeroshot
from tagwright.progress import silence
from tagwright.store import check_replaceable
from tagwright.tagging.tagger import Tagger
from tagwright.types import ConfigError, Run, TagwrightError

METHODS: dict[str, tuple[ModuleType, str]] = {
    "rts": (rts, ""),
    "maclr": (maclr, ""),
    "micol": (micol, ""),
    "futex": (futex, ""),
    **{name: (contrastive, f'pairs="{name}"') for name in ("ict", "simcse")},
    **{name: (depl, f'kind="{name}"') for name in ("svm", "classifier", "de-ret", "depl", "depl+cls")},
}
"Name -> the module, and the setting that tells the methods of one module apart."

FUSED = ("rts", "maclr", "ict", "simcse")
"Methods whose tagger is an encoder and nothing else."


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


@dataclass(frozen=True)
class Few:
    """The options of fine-tuning: a saved tagger, and the share of labels or of pairs of documents and labels."""

    model: Path | None
    share_of_labels: float | None
    share_of_pairs: float | None


def train(method: str, job: Job, few: Few, *, fuse: bool) -> None:
    """Train a method from scratch and save its tagger. fuse: with the other stages of the zero-shot method."""
    module, setting = METHODS[method]
    config = configure(module.Config, job.config, [*job.settings, *filter(None, [setting])])
    if fuse and method not in FUSED:
        raise ConfigError(f"--fuse belongs to {', '.join(FUSED)}; the tagger of {method} has other stages already")
    if job.keywords and not method.startswith("depl"):
        raise ConfigError(f"--keywords belongs to depl and depl+cls, which retrieve labels by them, not to {method}")
    if job.guesses and module is not depl:
        raise ConfigError(f"--guesses takes the place of the documents' labels, which {method} does not read")
    for name, value in asdict(few).items():
        if value is not None:
            raise ConfigError(f"--{name.replace('_', '-')} belongs to finetune, which goes on with a saved tagger")
    if job.labels is None:
        raise ConfigError("which labels? give a vocabulary: --labels FILE")
    check_replaceable(job.output, "saved tagger")
    with silence(job.quiet):
        vocabulary = Vocabulary.read(job.labels, language=job.language or None)
        documents = Corpus.read(*job.docs)
        with _folder(job) as folder:
            more: dict[str, Any] = {"keywords": read_keywords(job.keywords)} if job.keywords else {}
            if job.guesses:
                more["gold"] = depl.confident(read_run(job.guesses, documents.ids, vocabulary.index))
            tagger = module.fit(documents, vocabulary, config, folder, resume=job.resume, **more)
            if fuse:
                tagger = zeroshot.joined(zeroshot.fit(vocabulary), tagger.stages["dense"])
            _save(tagger, job.output, folder)


def finetune(job: Job, few: Few, *, fuse: bool) -> None:
    """Go on training a saved tagger with the gold labels of the documents, or a share of them, and save it."""
    config = configure(maclr.FewShot, job.config, job.settings)
    if few.model is None:
        raise ConfigError("which tagger is to be fine-tuned? give a saved one: --model DIR")
    if few.share_of_labels is not None and few.share_of_pairs is not None:
        raise ConfigError("a share of the labels, or of the pairs? give --share-of-labels or --share-of-pairs")
    if fuse:
        raise ConfigError("--fuse belongs to the methods that train from scratch; a saved tagger keeps its stages")
    check_replaceable(job.output, "saved tagger")
    with silence(job.quiet):
        tagger = Tagger.load(few.model)
        if job.labels:
            tagger = tagger.with_labels(Vocabulary.read(job.labels, language=job.language or None))
        documents = Corpus.read(*job.docs)
        gold = _sample(tagger.vocabulary, documents, few, config.seed)
        if not len(gold.labels):
            raise ConfigError("none of the documents has a label of the vocabulary; fine-tuning learns from these")
        with _folder(job) as folder:
            _save(maclr.fine_tune(tagger, documents, gold, config, folder, resume=job.resume), job.output, folder)


def _sample(vocabulary: Vocabulary, documents: Corpus, few: Few, seed: int) -> Run:
    gold = vocabulary.gold(documents, unknown="ignore")
    if few.share_of_labels is not None:
        return sample_labels(gold, len(vocabulary), few.share_of_labels, seed=seed)
    return gold if few.share_of_pairs is None else sample_pairs(gold, few.share_of_pairs, seed=seed)


@contextmanager
def _folder(job: Job) -> Iterator[Path]:
    """Where checkpoints and logs are while the training runs: DIR.training, beside what it will save.

    It stays when the training stops for whatever reason, unless there is nothing to resume.
    """
    folder = job.output.with_name(f"{job.output.name}.training")
    if not job.resume and _is_first():
        shutil.rmtree(folder, ignore_errors=True)
    elif _is_first() and not folder.exists():
        print(f"tagwright: {folder}: no training to resume; starting anew", file=sys.stderr)
    folder.mkdir(parents=True, exist_ok=True)
    try:
        yield folder
    except TagwrightError:
        if not any(file.is_file() for file in folder.rglob("*")):
            shutil.rmtree(folder, ignore_errors=True)
        raise


def _save(tagger: Tagger, output: Path, folder: Path) -> None:
    """Save the tagger with the log of its training; only then is the checkpoint no longer needed."""
    if not _is_first():
        return
    tagger.save(output)
    for log in sorted(folder.rglob("log.jsonl")):
        name = "-".join(("training", *log.relative_to(folder).parent.parts))
        shutil.copyfile(log, output / f"{name}.jsonl")
    shutil.rmtree(folder, ignore_errors=True)


def _is_first() -> bool:
    """Whether this is the only process, or the first of those that `accelerate launch` started."""
    return os.environ.get("RANK", "0") == "0"
