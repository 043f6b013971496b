"""What `tagwright train` does: files and options in, a saved tagger out, with checkpoints beside it until then."""

from __future__ import annotations

import logging
import shutil
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from tagwright import __version__
from tagwright.app.inputs import read as read_documents
from tagwright.app.options import Option, configure, in_language
from tagwright.app.options import options_of as described
from tagwright.app.resume import Start, beside, digest, resumable
from tagwright.core.progress import note, silence
from tagwright.core.saved import check_replaceable, is_first, lies_in, read_manifest, remove_folder, replace_folder
from tagwright.data.corpus import Corpus
from tagwright.data.descriptions import read_keywords
from tagwright.data.in_memory import to_vocabulary
from tagwright.data.run_files import read_run
from tagwright.data.same_text import same_texts
from tagwright.data.vocabulary import Unknown, Vocabulary
from tagwright.errors import ConfigError, TagwrightError
from tagwright.evaluation.holdout import check, validation, without
from tagwright.evaluation.metrics import labelled
from tagwright.methods import maclr, zero_shot
from tagwright.methods.table import (
    AUTO_METHOD,
    FINETUNE,
    METHODS,
    SUPERVISED,
    ZERO_SHOT,
    check_given,
    check_shares,
    encoder_alone,
    fused,
    machine,
    options_class,
    options_of,
    record,
    resolved,
    sampled,
)
from tagwright.review.gold import with_reviews
from tagwright.tagger import KIND, Tagger
from tagwright.tagger.fuse import LEARNT
from tagwright.training.checkpoints import configs
from tagwright.training.gold_labels import confident, known_labels
from tagwright.types import Document, Longs, Run

_log = logging.getLogger(__name__)


@dataclass(frozen=True, kw_only=True)
class Job:
    """The options of `tagwright train`, see there. labels: only fine-tuning can do without."""

    docs: Sequence[str]
    labels: Path | None
    output: Path
    language: str = ""
    config: Path | None = None
    settings: Sequence[str] = ()
    resume: bool = False
    overwrite: bool = False
    quiet: bool = False
    keywords: Path | None = None
    guesses: Path | None = None
    fuse: bool = False
    fuse_with: Sequence[Path] = ()
    unknown: Unknown = "warn"
    check: bool = True
    columns: str = ""
    input_format: str = ""
    reviews: Path | None = None
    minutes: float | None = None
    model: Path | None = None
    share_of_labels: float | None = None
    share_of_pairs: float | None = None


def train(method: str, job: Job) -> None:
    """Train a method from scratch, save its tagger (joined with others if asked), and check it against zero-shot."""
    _check_options(method, job)
    config = _configure(method, job)
    _check_labels(job)
    with silence(job.quiet):
        documents = read_documents(job.docs, job.columns, job.input_format)
        vocabulary = _vocabulary(job, documents)
        more: dict[str, Any] = {}
        data = {"documents": documents.digest(), "labels": digest(vocabulary)}
        if job.keywords:
            more["keywords"] = read_keywords(job.keywords, vocabulary.index)
            data["keywords"] = digest(more["keywords"].items())
        learnt = method in SUPERVISED and not job.guesses
        gold = known_labels(documents, vocabulary, job.unknown) if learnt else _gold(documents, vocabulary, job)
        rows = _validation(gold, job, learnt=learnt)
        if job.guesses:
            more["gold"] = confident(read_run(job.guesses, documents.ids, vocabulary.index))
            data["guesses"] = digest(more["gold"])
        elif learnt:
            more["gold"] = without(gold, same_texts(documents, rows))
            data["validation"] = digest(rows.tolist())
        start = _start(method, config, data)
        with resumable(job.output, start, resume=job.resume) as folder:
            _say_auto(config)
            trained = METHODS[method].fit(documents, vocabulary, config, folder, resume=job.resume, **more)
            tagger = replace(_fused(trained, job), training=trained.training)
            _save(tagger, start, job, folder)
        _say_check(tagger, documents, gold, rows)


def auto(job: Job) -> None:
    """Train what pays on these documents, and save it. It is compared with zero-shot by cross-validation on the way."""
    minutes = [] if job.minutes is None else [f"minutes={job.minutes}"]
    job = replace(job, settings=[*job.settings, *minutes])
    _check_options(AUTO_METHOD, job)
    config = _configure(AUTO_METHOD, job)
    with silence(job.quiet):
        documents = read_documents(job.docs, job.columns, job.input_format)
        vocabulary = _vocabulary(job, documents)
        more = {"gold": vocabulary.gold(documents, unknown=job.unknown)}
        if job.reviews:
            reviewed = with_reviews(more["gold"], documents.ids, vocabulary, job.reviews)
            more = {"gold": reviewed.gold, "judged": reviewed.judged}
        data = {"documents": documents.digest(), "labels": digest(vocabulary)}
        data |= {name: digest([run.indptr.tolist(), run.labels.tolist()]) for name, run in more.items()}
        start = _start(AUTO_METHOD, config, data)
        with resumable(job.output, start, resume=job.resume) as folder:
            tagger = METHODS[AUTO_METHOD].fit(documents, vocabulary, config, folder, resume=job.resume, **more)
            _save(tagger, start, job, folder)


def save_zero_shot(job: Job) -> None:
    """Save a tagger of the zero-shot method, so that other commands can start from it."""
    _check_options(ZERO_SHOT, job)
    config: zero_shot.Config = _configure(ZERO_SHOT, job)
    with silence(job.quiet):
        if job.docs:
            _log.warning("zero-shot learns nothing: the documents are not read")
        tagger = zero_shot.fit(_vocabulary(job, ()), config)
        training = record(ZERO_SHOT, options_of(config), machine(), __version__)
        replace(tagger, training=training).save(job.output, overwrite=job.overwrite)


def finetune(job: Job) -> None:
    """Fine-tune a saved tagger on the gold labels of the documents, or a share of them, and save it."""
    _check_options(FINETUNE, job)
    config: maclr.FewShot = _configure(FINETUNE, job)
    if job.model is None:
        raise ConfigError("which tagger is to be fine-tuned? give a saved one: --model DIR")
    check_shares(job.share_of_labels, job.share_of_pairs)
    with silence(job.quiet):
        documents = read_documents(job.docs, job.columns, job.input_format)
        vocabulary = _vocabulary(job, documents) if job.labels else None
        tagger = Tagger.load(job.model)
        if vocabulary:
            tagger = tagger.with_labels(vocabulary)
        if job.fuse and LEARNT in tagger.stages:
            raise ConfigError(f"{job.model}: has the stages {', '.join(tagger.stages)} already; leave out --fuse")
        gold = tagger.vocabulary.gold(documents, unknown=job.unknown)
        rows = _validation(gold, job, learnt=True)
        kept, shares = without(gold, same_texts(documents, rows)), (job.share_of_labels, job.share_of_pairs)
        sample = sampled(kept, tagger.vocabulary, *shares, config.training.seed)
        if not len(sample.labels):
            raise ConfigError("none of the documents has a label of the vocabulary; fine-tuning learns from these")
        data = {"documents": documents.digest(), "labels": digest(tagger.vocabulary), "shares": digest(sample)}
        stats = ((file.name, file.stat()) for file in sorted(job.model.rglob("*")) if file.is_file())
        data["model"] = digest((name, stat.st_size, stat.st_mtime_ns) for name, stat in stats)
        start = _start(FINETUNE, config, data)
        with resumable(job.output, start, resume=job.resume) as folder:
            before = {"before": tagger.training}
            tagger = maclr.fine_tune(tagger, documents, sample, config, folder, resume=job.resume)
            tagger = _fused(encoder_alone(tagger) if job.fuse else tagger, job)
            _save(replace(tagger, training=before), start, job, folder)
        _say_check(tagger, documents, gold, rows)


def options(method: str) -> list[Option]:
    """What `--set` knows for a method."""
    return described(options_class(method))


def _configure(method: str, job: Job) -> Any:
    spoken = hasattr(options_class(method), "language")
    return configure(method, job.config, in_language(job.settings, job.language) if spoken else job.settings)


def _vocabulary(job: Job, documents: Sequence[Document]) -> Vocabulary:
    _check_labels(job)
    assert job.labels
    return to_vocabulary(job.labels, job.language, documents)


def _check_labels(job: Job) -> None:
    if job.labels is None:
        raise ConfigError("which labels? give a vocabulary: --labels FILE")


def _gold(documents: Corpus, vocabulary: Vocabulary, job: Job) -> Run:
    """The gold labels for the check of a method that trains without labels."""
    return vocabulary.gold(documents if job.check else (), unknown="ignore")


def _validation(gold: Run, job: Job, *, learnt: bool) -> Longs:
    """The documents to check on. learnt: whether their labels are kept from the training."""
    rows = validation(gold, learnt=learnt) if job.check else np.zeros(0, np.int64)
    if learnt and job.check and not len(rows):
        _log.warning(
            "%d labelled documents are too few to keep some for a check, and perhaps to learn from: compare with the "
            "untrained method on others (tagwright evaluate)", int(labelled(gold).sum()),
        )  # fmt: skip
    return rows


def _fused(tagger: Tagger, job: Job) -> Tagger:
    """The tagger with the stages of the zero-shot method and those of saved taggers."""
    return fused(tagger, map(Tagger.load, job.fuse_with), zero_shot=job.fuse, language=job.language)


def _say_check(tagger: Tagger, documents: Corpus, gold: Run, rows: Longs) -> None:
    """Report in one line whether training helped. The tagger is saved by now, whatever goes wrong here."""
    if not len(rows) or not is_first():
        return
    try:
        found = check(tagger, zero_shot.fit, documents.take(rows.tolist()), gold.take(rows))
    except TagwrightError as error:
        _log.warning("not compared with the untrained method: %s", error)
        return
    if found.worse:
        _log.warning("%s", found)
    else:
        note(str(found))


def _check_options(method: str, job: Job) -> None:
    """Raise ConfigError for an option that the method does not accept, TagwrightError for an unusable output folder."""
    given = {name: bool(getattr(job, name)) for name in ("fuse", "fuse_with", "keywords", "guesses", "reviews")}
    given |= {
        name: getattr(job, name) is not None for name in ("minutes", "model", "share_of_labels", "share_of_pairs")
    }
    check_given(method, given)
    if job.output.name in ("", ".."):
        raise ConfigError(f"--output {job.output}: give a folder by its name")
    check_replaceable(job.output, KIND, overwrite=job.overwrite)
    _check_apart(job)
    for folder in job.fuse_with:
        read_manifest(folder, KIND)  # says what is wrong if there is no tagger
    if not job.docs and method != ZERO_SHOT:
        raise ConfigError(f"{method} learns from documents; name some: train {method} DOCS...")


def _check_apart(job: Job) -> None:
    """Raise ConfigError where a file to read lies in a folder that the training replaces or removes."""
    files = [*job.docs, job.labels, job.config, job.keywords, job.guesses, job.reviews]
    for folder in (job.output, beside(job.output)):
        for file in files:
            if file and str(file) != "-" and lies_in(file, folder):
                raise ConfigError(f"{file}: is inside {folder}, which is replaced; move it, or give another --output")


def _start(method: str, config: Any, data: Mapping[str, str]) -> Start:
    return Start(method, options_of(config), data, machine())


def _say_auto(config: Any) -> None:
    if is_first() and (chosen := resolved(config)):
        note(f"auto: {', '.join(f'{name} {value}' for name, value in chosen.items())}")


def _save(tagger: Tagger, start: Start, job: Job, folder: Path) -> None:
    """Save the tagger with its training record and logs, then remove the checkpoints."""
    if not is_first():
        return
    made = record(start.method, start.options, start.machine, __version__, runs=configs(folder))
    with replace_folder(job.output, KIND, overwrite=job.overwrite) as target:
        for log in sorted(folder.rglob("log.jsonl")):
            name = "-".join(("training", *log.relative_to(folder).parent.parts))
            shutil.copyfile(log, target / f"{name}.jsonl")
        for events in folder.rglob("events.out.tfevents.*"):
            kept = target / "tensorboard" / events.relative_to(folder)
            kept.parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(events, kept)
        replace(tagger, training={**made, **tagger.training}).write(target)
    remove_folder(folder)
