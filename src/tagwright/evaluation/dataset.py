"""Documents with gold labels: tag them, score a run over them, and measure what candidates could reach."""

import logging
from array import array
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, NamedTuple, TypedDict

import numpy as np

from tagwright.core.progress import bar
from tagwright.data import run_files
from tagwright.data.corpus import SYNTHETIC, Corpus, is_synthetic, text_key
from tagwright.data.in_memory import with_labels
from tagwright.data.trec import read_qrels
from tagwright.data.vocabulary import Unknown, Vocabulary
from tagwright.errors import InputError, option
from tagwright.evaluation import scores
from tagwright.evaluation.metrics import ancestors, ceiling, labelled, unreached
from tagwright.evaluation.scores import Scores
from tagwright.evaluation.significance import Comparisons, compare_all
from tagwright.tagger import BATCH, Tagger
from tagwright.tagger.acceptance import Arrangement, SuggestOptions
from tagwright.tagger.cut import allowed_by, cut
from tagwright.types import Document, Longs, Mask, Run

DEPTH = 100
"Suggestions per document that are scored."

_log = logging.getLogger(__name__)


class TaskArguments(TypedDict, total=False):
    """What is scored: keyword arguments of `task`."""

    exclude_self: bool
    skip_unlabelled: bool
    unknown: Unknown
    only: Sequence[str]
    without: Sequence[str]
    hierarchy: Arrangement
    per_branch: int | None


@dataclass(frozen=True, slots=True)
class EvaluationSet:
    """Documents with gold labels, and what scoring them needs.

    gold: a row per document that is scored. kept: (scored,) their positions in the corpus. lengths: (scored,) words.
    own: (scored,) the label that is the document itself and is never suggested; -1 where there is none. options: of the
    suggestions that are scored: which labels, and how narrow or broad.
    """

    corpus: Corpus
    vocabulary: Vocabulary
    gold: Run
    kept: Longs
    lengths: Longs
    own: Longs
    train: Run | None = None
    options: SuggestOptions = field(default_factory=SuggestOptions)

    @property
    def allowed(self) -> Mask:
        """(labels,) true for the labels that are scored."""
        return allowed_by(self.vocabulary, self.options)

    def batches(self) -> Iterator[list[Document]]:
        """The documents that are scored, batch by batch: one by one they would take five times as long to read."""
        for start in range(0, len(self.kept), BATCH):
            yield self.corpus.take(self.kept[start : start + BATCH].tolist())

    def aligned(self, run: Run) -> Run:
        """The rows of the documents that are scored, without labels that are the documents themselves or not scored.

        run: a row for each document of the corpus.
        """
        return self.scored(run.take(self.kept))

    def scored(self, run: Run) -> Run:
        """The labels of a run over the scored documents that are scored, as narrow or broad as the options ask."""
        return cut(self.vocabulary, run, replace(self.options, k=max(1, run.ranks.max(initial=0))), self.own)


def task(
    corpus: Corpus,
    vocabulary: Vocabulary,
    train: Corpus | None = None,
    *,
    exclude_self: bool = False,
    skip_unlabelled: bool = False,
    unknown: Unknown = "warn",
    qrels: Path | None = None,
    only: Sequence[str] = (),
    without: Sequence[str] = (),
    hierarchy: Arrangement = "ranked",
    per_branch: int | None = None,
) -> EvaluationSet:
    """What is to be scored; train: where label frequencies are counted; the log says how many documents are there too.

    unknown: what to do about gold labels that the vocabulary lacks; a document that has no other is not scored. qrels:
    a file of TREC with the gold labels, instead of those the documents have. only, without: conditions on labels, see
    `SuggestOptions`; gold labels that do not fulfil them are left out, and the log says how many. hierarchy,
    per_branch: how narrow or broad the suggestions are that are scored. Raises InputError naming the first document
    without gold labels, unless skipped; ConfigError for a condition that no label fulfils.
    """
    options = SuggestOptions(only=only, without=without, hierarchy=hierarchy, per_branch=per_branch)
    allowed = allowed_by(vocabulary, options)
    judged = read_qrels(qrels, corpus.ids, vocabulary.index) if qrels else None
    lengths, has_any, shared = array("q"), array("b"), list[str]()
    trained = set(map(text_key, train)) if train else set()

    def measured() -> Iterator[Document]:
        for document in corpus if judged is None else with_labels(corpus, judged):
            if is_synthetic(document):
                raise InputError(
                    f'document "{document.id}" was written by a language model ({SYNTHETIC}), and nothing is measured '
                    "on such documents; leave them out"
                )
            lengths.append(len(document.text.split()))
            has_any.append(bool(document.labels))
            if trained and text_key(document) in trained:
                shared.append(document.id)
            yield document

    known = _allowed(vocabulary.gold(measured(), unknown=unknown), allowed)
    own = np.array([vocabulary.index.get(id_, -1) if exclude_self else -1 for id_ in corpus.ids], np.int64)
    gold = known.without(own)
    has_labels, stale = labelled(gold), np.array(has_any, np.bool_) & ~labelled(known)
    if not (has_labels | stale).all() and not skip_unlabelled:
        first = corpus.ids[int(np.argmin(has_labels | stale))]
        remedy = f"{option('skip_unlabelled', python='skip_unlabelled=True')} leaves such out"
        raise InputError(f'document "{first}" has no gold label to score against; {remedy}')
    if stale.any():
        left_out, all_ = f"{stale.sum():,}", f"{len(corpus):,}"
        _log.warning("%s of %s documents have no other label and are not scored", left_out, all_)
    kept = np.flatnonzero(has_labels)
    if not len(kept):
        raise InputError(f"none of the {len(corpus)} documents has a gold label; there is nothing to score")
    if shared:
        _log.warning(
            "%s of %s documents are among those of training too, such as %s: a tagger that learnt from them looks "
            "better here than it is", f"{len(shared):,}", f"{len(corpus):,}", shared[0],
        )  # fmt: skip
    seen = vocabulary.gold(train, unknown="ignore") if train else None
    words = np.array(lengths, np.int64)[kept]
    return EvaluationSet(corpus, vocabulary, gold.take(kept), kept, words, own[kept], seen, options)


def _allowed(gold: Run, allowed: Mask) -> Run:
    """The gold labels that are scored; the log says how many are not."""
    kept = gold.keep(allowed[gold.labels])
    if outside := len(gold.labels) - len(kept.labels):
        all_ = f"{len(gold.labels):,}"
        _log.warning("%s of %s gold labels do not fulfil the conditions and are left out", f"{outside:,}", all_)
    return kept


def tag(tagger: Tagger, task: EvaluationSet, depth: int = DEPTH) -> Run:
    """The tagger's best labels for the documents of the task."""
    options = replace(task.options, k=depth, exclude_self=bool((task.own >= 0).any()))
    tagger.check(options)
    with bar("tagging", len(task.kept)) as done:
        runs = []
        for batch in task.batches():
            runs.append(tagger.best(batch, options))
            done(len(batch))
    return Run.concat(runs)


def tag_by_own_labels(tagger: Tagger, task: EvaluationSet) -> Run:
    """The same of a tagger with fewer labels than the task, or in another order; without confidences."""
    index = task.vocabulary.index
    return tag(tagger, task).moved(np.array([index[id_] for id_ in tagger.vocabulary.ids]))


def score(run: Run, task: EvaluationSet, measures: Sequence[str] | None = None) -> Scores:
    """Every measure of a run over the documents of the task, with its interval, and the slices."""
    return scores.evaluate(
        run,
        task.gold,
        train=task.train,
        labels=int(task.allowed.sum()),
        above=above(task.vocabulary),
        lengths=task.lengths,
        measures=measures,
        broad=task.options.hierarchy == "parents",
    )


def compare(runs: Mapping[str, Run], task: EvaluationSet, measures: Sequence[str] | None = None) -> Comparisons:
    """Every two of the runs over the documents of the task."""
    return compare_all(runs, task.gold, train=task.train, above=above(task.vocabulary), measures=measures)


def above(vocabulary: Vocabulary) -> Any:
    """The labels above each one, see `metrics.ancestors`; None where no label has a broader one."""
    return ancestors(vocabulary.links) if len(vocabulary.links.labels) else None


def read_run(path: Path, task: EvaluationSet) -> Run:
    """A run file over the documents of the task; it may hold documents that are not scored as well.

    Raises InputError as `run_files.read_run` does.
    """
    run = run_files.read_run(path, task.corpus.ids, task.vocabulary.index)
    depth = int(run.ranks.max(initial=0))
    if depth < min(DEPTH, len(task.vocabulary) - 1):
        _log.warning(
            "%s holds at most %d labels per document: measures beyond @%d count the rest as missed; suggest -k %d "
            "writes enough", path, depth, depth, DEPTH,
        )  # fmt: skip
    return task.aligned(run)


class Ceilings(NamedTuple):
    """stages: name -> `metrics.ceiling`. missed: label -> gold occurrences that no stage reaches, most first."""

    documents: int
    stages: Mapping[str, Mapping[str, float]]
    missed: Mapping[int, int]


def ceilings(tagger: Tagger, task: EvaluationSet) -> Ceilings:
    """Measure the share of gold labels among the candidates of each retriever, and of all together, the union."""
    parts: dict[str, list[Run]] = {}
    for batch in task.batches():
        pool = tagger.candidates(batch)
        for name, run in {**pool.found, "union": tagger.rank(pool)}.items():
            parts.setdefault(name, []).append(run)
    runs = {name: task.scored(Run.concat(batches)) for name, batches in parts.items()}
    stages = {name: ceiling(run, task.gold) for name, run in runs.items()}
    return Ceilings(len(task.gold), stages, unreached(runs["union"], task.gold, len(task.vocabulary)))
