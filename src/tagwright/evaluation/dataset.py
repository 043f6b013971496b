"""Make an evaluation set of documents with gold labels; tag it, score runs over it, and measure recall ceilings."""

import logging
from array import array
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from tagwright.combining.thresholds import FOLDS, Thresholds, parse_aim, without_thresholds
from tagwright.core.progress import bar
from tagwright.data.corpus import Corpus, folded_key, text_digests, text_groups
from tagwright.data.subjects import relabel_document
from tagwright.data.vocabulary import Unknown, Vocabulary
from tagwright.errors import ConfigError, InputError, option
from tagwright.evaluation import scores
from tagwright.evaluation.metrics import (
    PROPENSITIES,
    Propensity,
    ancestors,
    ceiling,
    count_unreached,
    mark_labelled,
    propensity_of,
)
from tagwright.evaluation.scores import Scores
from tagwright.evaluation.significance import Comparisons, compare_all
from tagwright.tagger import BATCH, Tagger
from tagwright.tagger.acceptance import Arrangement, SuggestOptions
from tagwright.tagger.cut import allowed_by, cut_ranking
from tagwright.types import Document, Longs, Mask, Run

DEPTH = 100
"Suggestions of each document that are scored."

OF_CUTS = (f"micro-F1@{DEPTH}", f"macro-F1@{DEPTH}", f"micro-P@{DEPTH}")

_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class EvaluationSet:
    """Documents with gold labels, and what scoring them needs.

    corpus: all documents, of which those with gold labels are scored. gold: a row for each scored document. positions:
    (scored,) in the corpus. lengths: (scored,) number of words. own: (scored,) the label that is the document itself
    and is never suggested, -1 for none. train: gold labels of the training documents. options: which labels are scored,
    and how narrow or broad they are. filtered: labels that do not count, a row for each scored document. propensity: A
    and B of PSP.
    """

    corpus: Corpus
    vocabulary: Vocabulary
    gold: Run
    positions: Longs
    lengths: Longs
    own: Longs
    train: Run | None = None
    options: SuggestOptions = field(default_factory=SuggestOptions)
    filtered: Run | None = None
    propensity: Propensity = PROPENSITIES["usual"]

    @property
    def allowed(self) -> Mask:
        """(labels,) true for the labels that are scored."""
        return allowed_by(self.vocabulary, self.options)

    def batches(self) -> Iterator[list[Document]]:
        """Yield the scored documents in batches: one by one they would take five times as long to read."""
        for start in range(0, len(self.positions), BATCH):
            yield self.corpus.take(self.positions[start : start + BATCH].tolist())

    def align(self, run: Run) -> Run:
        """Return the rows of the scored documents, restricted. run: a row for each document of the corpus."""
        return self.restrict(run.take(self.positions))

    def restrict(self, run: Run) -> Run:
        """Drop labels that are not scored or are the document itself, and arrange the others as the options ask.

        run: a row for each scored document.
        """
        run = run if self.filtered is None else run.keep(~run.held_by(self.filtered))
        longest = max(1, run.ranks.max(initial=0))  # the options are not to cut any row
        return cut_ranking(self.vocabulary, run, replace(self.options, k=longest), self.own)


def evaluation_set(
    corpus: Corpus,
    vocabulary: Vocabulary,
    train: Corpus | None = None,
    *,
    exclude_self: bool = False,
    skip_unlabelled: bool = False,
    unknown: Unknown = "warn",
    given: Iterable[Sequence[str]] | None = None,
    only: Sequence[str] = (),
    without: Sequence[str] = (),
    hierarchy: Arrangement = "ranked",
    per_branch: int | None = None,
    label_filter: Run | None = None,
    propensity: str = "usual",
) -> EvaluationSet:
    """Return the documents with gold labels as an evaluation set.

    train: training documents, which give the frequencies of labels; a warning says how many documents are among them.
    exclude_self: never suggest the label that has the id of the document.
    skip_unlabelled: leave out documents without gold labels.
    unknown: what to do about gold labels that the vocabulary lacks; a document without others is not scored.
    given: the gold labels of each document, in place of its own.
    only, without: conditions on labels, see `SuggestOptions`; other gold labels are left out, with a warning.
    hierarchy, per_branch: how narrow or broad the scored suggestions are, see `SuggestOptions`.
    label_filter: a row for each document, with the labels that do not count for it.
    propensity: A and B of PSP, see `metrics.propensity_of`.

    Raises InputError for a document without gold labels unless skipped, for one that a language model wrote, and if no
    document has gold labels; ConfigError for a condition that no label fulfils, and for a propensity without train.
    """
    constants = propensity_of(propensity)
    if train is None and constants != PROPENSITIES["usual"]:
        raise ConfigError(f"propensity weighs labels by how frequent they are in training; add {option('train')}")
    options = SuggestOptions(only=only, without=without, hierarchy=hierarchy, per_branch=per_branch)
    allowed = allowed_by(vocabulary, options)
    labelled_corpus: Iterable[Document] = corpus
    if given is not None:
        labelled_corpus = (relabel_document(document, own) for document, own in zip(corpus, given, strict=True))
    lengths, had_labels, shared = array("q"), array("b"), list[str]()
    train_texts = set(map(folded_key, train)) if train else set()

    def scan() -> Iterator[Document]:  # documents are decoded once, and what is needed of each is kept on the way
        for document in labelled_corpus:
            lengths.append(len(document.text.split()))
            had_labels.append(bool(document.labels))
            if train_texts and folded_key(document) in train_texts:
                shared.append(document.id)
            yield document

    known = _keep_allowed(vocabulary.gold(scan(), unknown=unknown), allowed)
    own = np.array([vocabulary.index.get(id_, -1) if exclude_self else -1 for id_ in corpus.ids], np.int64)
    if exclude_self and not (own >= 0).any():
        remedy = f"leave out {option('exclude_self')}, or give documents and labels the same ids"
        raise ConfigError(f"none of the {len(corpus)} documents has the id of a label; {remedy}")
    gold = known.without(own)
    gold = gold if label_filter is None else gold.keep(~gold.held_by(label_filter))
    # Documents with labels all of which are unknown or not allowed are no error; those without any are.
    scorable, only_unknown = mark_labelled(gold), np.array(had_labels, np.bool_) & ~mark_labelled(known)
    if only_unknown.any():
        left_out, all_ = f"{only_unknown.sum():,}", f"{len(corpus):,}"
        _log.warning("%s of %s documents have no other label and are not scored", left_out, all_)
    positions = np.flatnonzero(scorable)
    if not len(positions):
        raise InputError(f"none of the {len(corpus)} documents has a gold label; there is nothing to score")
    if not (scorable | only_unknown).all() and not skip_unlabelled:
        first = corpus.ids[int(np.argmin(scorable | only_unknown))]
        remedy = f"{option('skip_unlabelled', python='skip_unlabelled=True')} leaves such out"
        raise InputError(f'document "{first}" has no gold label to score against; {remedy}')
    if shared:
        _log.warning(
            "%s of %s documents are among those of training too, such as %s: a tagger that learnt from them looks "
            "better here than it is", f"{len(shared):,}", f"{len(corpus):,}", shared[0],
        )  # fmt: skip
    train_gold = vocabulary.gold(train, unknown="ignore") if train else None
    words = np.array(lengths, np.int64)[positions]
    return EvaluationSet(
        corpus,
        vocabulary,
        gold.take(positions),
        positions,
        words,
        own[positions],
        train_gold,
        options,
        None if label_filter is None else label_filter.take(positions),
        constants,
    )


def _keep_allowed(gold: Run, allowed: Mask) -> Run:
    """Leave out gold labels that are not scored; a warning says how many."""
    kept = gold.keep(allowed[gold.labels])
    if outside := len(gold.labels) - len(kept.labels):
        all_ = f"{len(gold.labels):,}"
        _log.warning("%s of %s gold labels do not fulfil the conditions and are left out", f"{outside:,}", all_)
    return kept


def depth_for(measures: Sequence[str] | None) -> int:
    """The suggestions of each document that measures need, at least `DEPTH`. measures: names, as in `score`."""
    return max(DEPTH, scores.greatest_k(measures or ()))


def tag(
    tagger: Tagger,
    data: EvaluationSet,
    depth: int = DEPTH,
    name: str = "the tagger",
    candidates: Run | None = None,
) -> Run:
    """Tag the scored documents. The tagger has the vocabulary of the set.

    depth: suggestions of each, at most. name: how a warning calls the tagger if it has learned from these documents.
    candidates: what is ranked of each scored document, in place of what the stages find.
    """
    _warn_of_training(tagger, data.corpus, name)
    beyond = 0 if data.filtered is None else int(data.filtered.ranks.max(initial=0))
    options = replace(data.options, k=depth + beyond, exclude_self=bool((data.own >= 0).any()))
    tagger.check(options)
    with bar("tagging", len(data.positions)) as advance:
        runs, done = list[Run](), 0
        for batch in data.batches():
            if candidates is None:
                runs.append(tagger.best(batch, options))
            else:
                given = candidates.take(np.arange(done, done + len(batch)))
                ranked = tagger.rank(replace(tagger.candidates(batch), run=given))
                runs.append(tagger.cut(batch, ranked, options))
            done += len(batch)
            advance(len(batch))
    return data.restrict(Run.concat(runs)).top(depth) if beyond else Run.concat(runs)


def tag_across_vocabularies(tagger: Tagger, data: EvaluationSet, depth: int = DEPTH, name: str = "the tagger") -> Run:
    """Tag with a tagger whose labels are some of the set's, in any order; the run has no confidences.

    depth, name: as in `tag`.
    """
    index = data.vocabulary.index
    return tag(tagger, data, depth, name).moved(np.array([index[id_] for id_ in tagger.vocabulary.ids]))


def union(vocabularies: Sequence[Vocabulary]) -> Vocabulary:
    """Return the labels of all, each once. The first one itself if they have the same ids."""
    first = vocabularies[0]
    known = {label.id: label for vocabulary in reversed(vocabularies) for label in vocabulary}
    return first if len(known) == len(first) else Vocabulary(known.values())


def _warn_of_training(tagger: Tagger, documents: Corpus, name: str) -> None:
    """Warn if a tagger has learned from these documents, or from the texts of some, as far as its record tells."""
    trainings = tagger.trainings
    known = {text for training in trainings for text in training.get("texts", ())}
    digests_read = {training.get("data", {}).get("documents") for training in trainings}
    if digests_read - {None} and documents.digest() in digests_read:
        learned = "these documents"
    elif known and (count := len(known.intersection(text_digests(documents)))):
        learned = f"at least {count:,} of these {len(documents):,} documents"
    else:
        return
    _log.warning("%s has learned from %s: it looks better here than it is", name, learned)


def score(run: Run, data: EvaluationSet, measures: Sequence[str] | None = None) -> Scores:
    """Score a run over the scored documents, with slices. measures: names, as in `scores.evaluate`."""
    return scores.evaluate(
        run,
        data.gold,
        train=data.train,
        labels=int(data.allowed.sum()),
        above=ancestors_in(data.vocabulary),
        lengths=data.lengths,
        measures=measures,
        propensity=data.propensity,
    )


def compare(runs: Mapping[str, Run], data: EvaluationSet, measures: Sequence[str] | None = None) -> Comparisons:
    """Compare every two of the runs over the scored documents. measures: names, as in `scores.evaluate`."""
    return compare_all(
        runs,
        data.gold,
        train=data.train,
        above=ancestors_in(data.vocabulary),
        measures=measures,
        propensity=data.propensity,
    )


def tune(tagger: Tagger, run: Run, data: EvaluationSet, aim: str) -> tuple[Tagger, Comparisons]:
    """Return the tagger with thresholds, and what A, one for all labels, gives beside B, one for each label.

    run: what the tagger suggests for the scored documents, from which it has not learned. aim: "f1", or a precision, as
    in "precision=0.8", see `Thresholds.fit`, which says what is raised; InputError too for fewer than two texts. To
    compare, each fifth of the documents is cut by thresholds of the others, and all are measured together: a label that
    the others lack counts too.
    """
    precision, labels, cuts = parse_aim(aim), len(data.vocabulary), list[tuple[Run, Run, Run]]()
    texts = text_groups(document for batch in data.batches() for document in batch)  # copies stay together
    distinct, of_text = np.unique(texts, return_inverse=True)
    if len(distinct) < 2:
        raise InputError("thresholds are found on two documents with different texts, or more; label some more")
    folds = (np.random.default_rng(0).permutation(len(distinct)) % FOLDS)[of_text]
    for fold in np.unique(folds):
        part, others = np.flatnonzero(folds == fold), np.flatnonzero(folds != fold)
        each = Thresholds.fit(run.take(others), data.gold.take(others), labels, precision)
        common = Thresholds(np.full_like(each.values, each.values[-1]))
        cuts.append((common.cut(run.take(part)), each.cut(run.take(part)), data.gold.take(part)))
    one, each_label, gold = (Run.concat(parts) for parts in zip(*cuts, strict=True))
    steps = *without_thresholds(tagger.steps), Thresholds.fit(run, data.gold, labels, precision)
    return replace(tagger, steps=steps), compare_all({"A": one, "B": each_label}, gold, measures=OF_CUTS)


def ancestors_in(vocabulary: Vocabulary) -> Any:
    """Return `metrics.ancestors` of a vocabulary; None where no label has a broader one."""
    return ancestors(vocabulary.links) if len(vocabulary.links.labels) else None


def ceilings(tagger: Tagger, data: EvaluationSet) -> tuple[dict[str, dict[str, float]], dict[int, int]]:
    """Measure the share of gold labels among the candidates of each retriever, and of all together, the union.

    Returns `metrics.ceiling` by retriever, or "union", and `metrics.count_unreached`.
    """
    parts: dict[str, list[Run]] = {}
    for batch in data.batches():
        pool = tagger.candidates(batch)
        for name, run in {**pool.found, "union": tagger.rank(pool)}.items():
            parts.setdefault(name, []).append(run)
    runs = {name: data.restrict(Run.concat(batches)) for name, batches in parts.items()}
    stages = {name: ceiling(run, data.gold) for name, run in runs.items()}
    return stages, count_unreached(runs["union"], data.gold, len(data.vocabulary))
