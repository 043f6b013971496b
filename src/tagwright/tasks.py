"""Documents with gold labels in, a tagger's run over them and its scores out."""

from __future__ import annotations

import logging
from array import array
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from tagwright.data.corpus import Corpus
from tagwright.data.vocabulary import Unknown, Vocabulary
from tagwright.errors import InputError
from tagwright.evaluation import scores
from tagwright.evaluation.metrics import labelled
from tagwright.evaluation.scores import Scores
from tagwright.progress import bar
from tagwright.tagger import BATCH, Tagger
from tagwright.types import Document, Longs, Run

DEPTH = 100
"Suggestions per document that are scored."

_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Task:
    """Documents with gold labels, and what scoring them needs.

    gold: a row per document that is scored. kept: (scored,) their positions in the corpus. lengths: (scored,) words.
    own: (scored,) the label that is the document itself and is never suggested; -1 where there is none.
    """

    corpus: Corpus
    vocabulary: Vocabulary
    gold: Run
    kept: Longs
    lengths: Longs
    own: Longs
    train: Run | None = None

    def batches(self) -> Iterator[list[Document]]:
        """The documents that are scored, batch by batch: one by one they would take five times as long to read."""
        for start in range(0, len(self.kept), BATCH):
            yield self.corpus.take(self.kept[start : start + BATCH].tolist())


def task(
    corpus: Corpus,
    vocabulary: Vocabulary,
    train: Corpus | None = None,
    *,
    exclude_self: bool = False,
    skip_unlabelled: bool = False,
    unknown: Unknown = "warn",
) -> Task:
    """What is to be scored; train: where label frequencies are counted.

    unknown: what to do about gold labels that the vocabulary lacks; a document that has no other is not scored. Raises
    InputError naming the first document without gold labels, unless skipped.
    """
    lengths, has_any = array("q"), array("b")

    def measured() -> Iterator[Document]:
        for document in corpus:
            lengths.append(len(document.text.split()))
            has_any.append(bool(document.labels))
            yield document

    known = vocabulary.gold(measured(), unknown=unknown)
    own = np.array([vocabulary.index.get(id_, -1) if exclude_self else -1 for id_ in corpus.ids], np.int64)
    gold = without(known, own)
    has_labels, stale = labelled(gold), np.array(has_any, np.bool_) & ~labelled(known)
    if not (has_labels | stale).all() and not skip_unlabelled:
        first = corpus.ids[int(np.argmin(has_labels | stale))]
        raise InputError(f'document "{first}" has no gold label to score against; --skip-unlabelled leaves such out')
    if stale.any():
        left_out, all_ = f"{stale.sum():,}", f"{len(corpus):,}"
        _log.warning("%s of %s documents have no other label and are not scored", left_out, all_)
    kept = np.flatnonzero(has_labels)
    if not len(kept):
        raise InputError(f"none of the {len(corpus)} documents has a gold label; there is nothing to score")
    seen = vocabulary.gold(train, unknown="ignore") if train else None
    return Task(corpus, vocabulary, gold.take(kept), kept, np.array(lengths, np.int64)[kept], own[kept], seen)


def tag(tagger: Tagger, task: Task, depth: int = DEPTH) -> Run:
    """The tagger's best labels for the documents of the task."""
    with bar("tagging", len(task.kept)) as done:
        runs = []
        for batch in task.batches():
            runs.append(tagger.tag(batch, depth + 1))
            done(len(batch))
    return without(Run.concat(runs), task.own).top(depth)


def score(run: Run, task: Task, measures: Sequence[str] | None = None) -> Scores:
    """Every measure of a run over the documents of the task, with its interval, and the slices."""
    return scores.evaluate(
        run, task.gold, train=task.train, labels=len(task.vocabulary), lengths=task.lengths, measures=measures
    )


def without(run: Run, own: Longs) -> Run:
    """The run but for what is in `own` (documents,) of each document; -1: nothing."""
    return run.keep(run.labels != own[run.rows])
