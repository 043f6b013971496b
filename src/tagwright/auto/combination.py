"""Learn from labelled documents how to combine the stages of a tagger.

All documents show how often labels are suggested and which documents are similar. Labelled documents show how much to
trust each stage.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace

import numpy as np

from tagwright.auto.ranker import CombinerOptions, Examples, FittedCombiner, fit_combiner
from tagwright.combining.candidate_features import CandidateFeatures, FeatureOptions, Features
from tagwright.combining.learned_combiner import LearnedCombiner
from tagwright.combining.none_fits import NoneFits
from tagwright.combining.pool import CandidatePool
from tagwright.combining.reranked import Reranked
from tagwright.combining.steps import Step, before_last, find_last
from tagwright.combining.thresholds import without_thresholds
from tagwright.combining.weighted_sum import AppendLabels, WeightedSum
from tagwright.core.progress import bar
from tagwright.data.corpus import distinct_texts
from tagwright.data.gold import excludes_self
from tagwright.data.subjects import relabel_document
from tagwright.data.vocabulary import Vocabulary
from tagwright.errors import ConfigError, option, setting
from tagwright.stages.by_language import change_stage, unwrap_stage
from tagwright.stages.dense import Dense
from tagwright.stages.lexical import Lexical
from tagwright.stages.names.exact_match import ExactMatch
from tagwright.tagger import Tagger, batches
from tagwright.tagger.confidences import calibrate, with_confidence
from tagwright.types import Document, Label, Run, Stage

BATCH = 256
"Number of documents whose candidates are in memory at a time."

WORTH = 0.05
"""Share of the labels of labelled documents that must be among the candidates only as a retriever's own first ones, or
these are left out."""

FEWEST = 2
"Minimum number of labelled documents to train a combiner."


class TooLateError(Exception):
    """There was no time to read all documents."""


def fit(
    documents: Sequence[Document],
    tagger: Tagger,
    options: CombinerOptions = CombinerOptions(),
    *,
    gold: Run | None = None,
    judged: Run | None = None,
) -> tuple[Tagger, FittedCombiner | None]:
    """Learn from labelled documents how to combine the stages of a tagger; returns it with its fitted combiner.

    With fewer than two labelled documents, the tagger is returned unchanged, with None. If the learned combiner is
    clearly worse in cross-validation, the ranking stays and only confidences are learned. gold: replaces the labels of
    the documents. judged: a row for each document, with the labels known to be right or wrong; if a row has any, the
    other labels of this document are no examples. A tagger that was combined by learning keeps that combiner, and more
    is learned on top of it. Raises ConfigError as `check_can_learn` does.
    """
    check_can_learn(tagger)
    gold = tagger.vocabulary.gold(documents, unknown="ignore") if gold is None else gold
    if options.exclude_self is None:
        options = replace(options, exclude_self=excludes_self(tagger.vocabulary.own(documents), gold))
    labelled = distinct_texts(documents, np.flatnonzero(np.diff(gold.indptr) > 0))
    if len(labelled) < FEWEST:
        return tagger, None
    richer = with_more_stages(tagger)
    described = describe_corpus(richer, documents, options)
    drawn = np.sort(np.random.default_rng(options.seed).permutation(labelled)[: options.documents])
    chosen = with_gold([documents[place] for place in drawn.tolist()], gold.take(drawn), tagger.vocabulary)
    known = judged_only(examples(richer, described, chosen), None if judged is None else judged.take(drawn))
    fitted = fit_combiner(known, options)
    return with_combiner(richer, described, fitted) or with_curve(tagger, fitted.examples), fitted


def check_can_learn(tagger: Tagger) -> None:
    """Raise ConfigError for a tagger whose stages nothing can learn to combine."""
    if find_last(tagger.steps, Reranked):  # how far the model is trusted fits the old ranking
        raise ConfigError(
            "how to combine the stages is not learned where a language model ranks again; train a tagger without it "
            f"({option('reviews', 'FILE')}), and add the model when it suggests, {setting('llm.model', 'NAME')}"
        )
    if find_last(tagger.steps, WeightedSum) is None:
        raise ConfigError(f"the tagger ranks by {tagger.description}, expected a weighted sum or a learned combiner")


def with_gold(documents: Sequence[Document], gold: Run, labels: Vocabulary) -> list[Document]:
    """Replace the labels of the documents. gold: a row for each."""
    ids = labels.ids
    return [
        relabel_document(document, (ids[label] for label in row.tolist()))
        for document, (row, _) in zip(documents, gold, strict=True)
    ]


def with_more_stages(tagger: Tagger) -> Tagger:
    """Add re-rankers that have weight 0 in the sum, but that a combiner can learn from.

    They match names in title and abstract only, and compare words of the whole text. A learned combiner reads the
    stages that it was trained with.
    """
    if find_last(tagger.steps, LearnedCombiner):
        return tagger
    added = dict[str, Stage]()
    for name, stage in tagger.retrievers.items():
        one = unwrap_stage(stage)
        if isinstance(one, ExactMatch):
            added[f"{name}_in_abstract"] = change_stage(stage, tagger.vocabulary, _in_abstract)
        if isinstance(one, Lexical) and one.options.text_field == "title_and_abstract":
            added[f"{name}_in_text"] = change_stage(stage, tagger.vocabulary, _in_text)
    added = {name: stage for name, stage in added.items() if name not in tagger.stages}
    pool = replace(tagger.pool, exclude=())  # keep candidates that only one stage found
    rerankers, steps = {**tagger.rerankers, **added}, _without_appended(tagger.steps)
    return replace(tagger, rerankers=rerankers, pool=pool, steps=with_weights(steps, dict.fromkeys(added, 0.0)))


def _in_abstract(stage: ExactMatch, _: Sequence[Label]) -> Stage:
    return stage.alike(replace(stage.options, text_field="title_and_abstract"))


def _in_text(stage: Lexical, labels: Sequence[Label]) -> Stage:
    return Lexical(labels, replace(stage.options, text_field="text"))


def with_combiner(tagger: Tagger, described: CandidateFeatures, fitted: FittedCombiner) -> Tagger | None:
    """Return the tagger with the learned combiner and its confidences; None if the fixed sum stays."""
    if fitted.ranker is None:
        return None
    as_learned = described.with_candidates_each(fitted.examples.candidates_each)
    learned = LearnedCombiner(as_learned, fitted.ranker, fitted.bias)
    tagger = replace(tagger, steps=(*_ranked_first(tagger.steps), learned))
    ranked = replace(fitted.examples.run, scores=fitted.scores)  # type: ignore[arg-type]  # as they are, not rounded
    confidence = calibrate(tagger, ranked, fitted.examples.right)
    return replace(tagger, steps=(*tagger.steps, confidence, NoneFits(labels=len(tagger.vocabulary))))


def with_curve(tagger: Tagger, examples: Examples) -> Tagger:
    """Keep the weighted sum, and learn its confidences from labelled documents, which it was not fitted on.

    A learned combiner keeps the confidences that it has.
    """
    if find_last(tagger.steps, LearnedCombiner) or not len(examples.run.labels):
        return tagger
    tagger = replace(tagger, steps=_without_appended(tagger.steps))
    return with_confidence(tagger, calibrate(tagger, examples.run, examples.right))


def without_confidence(tagger: Tagger) -> Tagger:
    """Keep the weighted sum without confidences, which cost time and would be estimated again."""
    return with_confidence(replace(tagger, steps=_without_appended(tagger.steps)), None)


def describe_corpus(
    tagger: Tagger, documents: Sequence[Document], options: CombinerOptions, in_time: Callable[[], bool] = lambda: True
) -> CandidateFeatures:
    """Fit the features of candidates to the corpus, without reading the labels of documents.

    Those of a learned combiner are fitted already. Raises TooLateError where the corpus is not read in time.
    """
    if learned := find_last(tagger.steps, LearnedCombiner):
        return learned.described
    vectors = next((name for name, stage in tagger.stages.items() if isinstance(unwrap_stage(stage), Dense)), "")
    described_by = FeatureOptions(
        candidates=options.candidates,
        candidates_each=options.candidates_each,
        exclude_self=bool(options.exclude_self),
        vectors=vectors,
    )
    first = find_last(tagger.steps, WeightedSum)
    assert first, "checked by `check_can_learn`"
    described = CandidateFeatures(tagger.vocabulary, described_by)
    weighted = {name: stage for name, stage in tagger.rerankers.items() if first.weight(name) or name == vectors}
    reading = replace(tagger, rerankers=weighted)  # of stages without weight nothing is counted
    drawn = np.random.default_rng(options.seed).permutation(len(documents))[: options.corpus]
    read = pools(reading, [documents[place] for place in np.sort(drawn).tolist()], in_time)
    return described.fit_corpus((pool, reading.rank(pool)) for pool in read)


def examples(tagger: Tagger, described: CandidateFeatures, documents: Sequence[Document]) -> Examples:
    """Return the candidates of labelled documents, with features and gold labels."""
    gold = tagger.vocabulary.gold(documents, unknown="ignore")
    first = replace(tagger, steps=_ranked_first(tagger.steps))
    return examples_of(((pool, first.rank(pool)) for pool in pools(first, documents)), described, gold)


def examples_of(read: Iterable[tuple[CandidatePool, Run]], described: CandidateFeatures, gold: Run) -> Examples:
    """Return the candidates of documents that are read and ranked, batch by batch. gold: a row for each document.

    With those of each retriever where the documents show that they are worth it.
    """
    read = [*read]
    runs = [described.candidates(pool, ranked) for pool, ranked in read]
    run = Run.concat(runs)
    beyond = run.ranks > described.options.candidates
    gained = np.count_nonzero(gold.scores_of(run)[beyond] > 0) / max(1, len(gold.labels))
    if gained < WORTH:
        described = described.with_candidates_each(0)
        runs = [described.candidates(pool, ranked) for pool, ranked in read]
        run = Run.concat(runs)
    parts = [described.describe(pool, candidates) for (pool, _), candidates in zip(read, runs, strict=True)]
    features = Features(parts[0].names, np.concatenate([part.values for part in parts]))
    return Examples(run, features, gold, len(described.labels), described.options.candidates_each)


def judged_only(examples: Examples, judged: Run | None) -> Examples:
    """Remove the candidates without a verdict from documents that a reviewer has looked at.

    judged: a row for each document of the examples, empty if all of its labels are known.
    """
    if judged is None:
        return examples
    reviewed = (np.diff(judged.indptr) > 0)[examples.run.rows]
    kept = ~reviewed | examples.run.held_by(judged)
    features = Features(examples.features.names, examples.features.values[kept])
    return replace(examples, run=examples.run.keep(kept), features=features)


def pools(
    tagger: Tagger, documents: Sequence[Document], in_time: Callable[[], bool] = lambda: True
) -> Iterator[CandidatePool]:
    """Yield the candidates of documents, batch by batch. Raises TooLateError before a batch that is not in time."""
    with bar("reading documents", len(documents)) as done:
        for batch in batches(documents, BATCH):
            if not in_time():
                raise TooLateError
            yield tagger.candidates(batch)
            done(len(batch))


def with_weights(steps: Sequence[Step], weights: Mapping[str, float]) -> tuple[Step, ...]:
    """Return the steps with other weights of some stages in the weighted sum."""
    first = find_last(steps, WeightedSum)
    assert first, "checked by `check_can_learn`"
    changed_sum = replace(first, weights={**first.weights, **weights})
    return tuple(changed_sum if step is first else step for step in steps)


def _without_appended(steps: Sequence[Step]) -> tuple[Step, ...]:
    """Return the steps without labels that follow, whose stage then counts nothing in the sum."""
    appended = find_last(steps, AppendLabels)
    if appended is None:
        return tuple(steps)
    kept = [step for step in steps if step is not appended]
    return with_weights(kept, {appended.by: 0.0})


def _ranked_first(steps: Sequence[Step]) -> tuple[Step, ...]:
    """Return the steps on top of which more is learned: at most one learned combiner."""
    inner = before_last(steps, LearnedCombiner)
    return inner if find_last(inner, LearnedCombiner) else without_thresholds(steps)
