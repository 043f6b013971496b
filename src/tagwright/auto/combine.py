"""Learn from labelled documents how to combine the stages of a tagger.

All documents show how often labels are suggested and which documents are similar. Labelled documents show how much to
trust each stage.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tagwright.auto.combiner import CombinerOptions, Examples, FittedCombiner, fit_combiner
from tagwright.combining.candidate_features import CandidateFeatures, FeatureOptions
from tagwright.combining.confidence import fit_score_map
from tagwright.combining.features import Features
from tagwright.combining.learned_combiner import LearnedCombiner
from tagwright.combining.pool import CandidatePool
from tagwright.combining.weighted_sum import WeightedSum
from tagwright.core.checked import AtLeastOne, AtLeastZero, Checked
from tagwright.core.progress import bar
from tagwright.data.corpus import distinct_texts
from tagwright.data.gold import excludes_self
from tagwright.data.vocabulary import Vocabulary
from tagwright.errors import ConfigError
from tagwright.stages.by_language import changed, plain
from tagwright.stages.dense import Dense
from tagwright.stages.lexical import Lexical
from tagwright.stages.names.exact_match import ExactMatch
from tagwright.tagger import Tagger, batches
from tagwright.types import Document, Label, Run, Stage

BATCH = 256
"Number of documents whose candidates are in memory at a time."

FEWEST = 2
"Minimum number of labelled documents to train a combiner."


@dataclass(frozen=True, kw_only=True)
class Config(Checked):
    """The options of the method. Raises ConfigError for a value that cannot work."""

    corpus: AtLeastZero = 10_000
    """Number of documents, drawn by the seed, to count suggested labels in and to search similar documents. Each has to
    be encoded. With many labels, more documents help: 300, 1,000 and 3,000 on tib added 0.1, 0.5 and 0.9 nDCG@5."""

    candidates: AtLeastOne = 100
    "Number of candidates per document to re-rank: the first of the fixed sum."

    candidates_each: AtLeastZero = 10
    """Number of candidates of each retriever to re-rank beside these, which it may find alone: a label that nearly all
    documents have stands in no text. Chosen on train documents, see docs/results/few-labels.md."""

    exclude_self: bool | None = None
    """Never suggest the label that has the id of the document. None: where most documents are labels, and none is
    among its own."""

    combiner: CombinerOptions = field(default_factory=CombinerOptions)
    "How the combiner is trained."


class TooLateError(Exception):
    """There was no time to read all documents."""


def fit(
    documents: Sequence[Document],
    tagger: Tagger,
    config: Config = Config(),
    *,
    gold: Run | None = None,
    judged: Run | None = None,
) -> tuple[Tagger, FittedCombiner | None]:
    """Learn from labelled documents how to combine the stages of a tagger; returns it with its fitted combiner.

    With fewer than two labelled documents, the tagger is returned unchanged, with None. If the learned combiner is
    clearly worse in cross-validation, the ranking stays and only confidences are learned. gold: replaces the labels of
    the documents. judged: a row for each document, with the labels known to be right or wrong; if a row has any, the
    other labels of this document are no examples. A tagger that was combined by learning keeps that combiner, and more
    is learned on top of it. Raises ConfigError for a combiner of another package, and as `check_can_learn` does.
    """
    check_can_learn(tagger)
    gold = tagger.vocabulary.gold(documents, unknown="ignore") if gold is None else gold
    if config.exclude_self is None:
        config = replace(config, exclude_self=excludes_self(tagger.vocabulary.own(documents), gold))
    labelled = np.flatnonzero(np.diff(gold.indptr) > 0)
    labelled = distinct_texts(documents, labelled)
    if len(labelled) < FEWEST:
        return tagger, None
    richer = with_more_stages(tagger)
    described = describe_corpus(richer, documents, config)
    options = config.combiner
    drawn = np.sort(np.random.default_rng(options.seed).permutation(labelled)[: options.documents])
    chosen = with_gold([documents[place] for place in drawn.tolist()], gold.take(drawn), tagger.vocabulary)
    known = judged_only(examples(richer, described, chosen), None if judged is None else judged.take(drawn))
    fitted = fit_combiner(known, options)
    return with_combiner(richer, described, fitted) or with_curve(tagger, fitted.examples), fitted


def check_can_learn(tagger: Tagger) -> None:
    """Raise ConfigError for a tagger whose stages nothing can learn to combine, see `Combiner.check_can_learn`."""
    if not hasattr(tagger.combiner, "check_can_learn"):  # a combiner that was written for 0.9
        raise ConfigError(f"{type(tagger.combiner).__name__} does not say what can be learned on top of it")
    tagger.combiner.check_can_learn()


def with_gold(documents: Sequence[Document], gold: Run, labels: Vocabulary) -> list[Document]:
    """Replace the labels of the documents. gold: a row for each."""
    ids = labels.ids
    return [
        replace(document, labels=tuple(ids[label] for label in row.tolist()))
        for document, (row, _) in zip(documents, gold, strict=True)
    ]


def with_more_stages(tagger: Tagger) -> Tagger:
    """Add re-rankers that have weight 0 in the sum, but that a combiner can learn from.

    They match names in title and abstract only, and compare words of the whole text. A learned combiner reads the
    stages that it was trained with.
    """
    if tagger.combiner.learned_features:
        return tagger
    added = dict[str, Stage]()
    for name, stage in tagger.retrievers.items():
        one = plain(stage)
        if isinstance(one, ExactMatch):
            added[f"{name}_in_abstract"] = changed(stage, tagger.vocabulary, _in_abstract)
        if isinstance(one, Lexical) and one.options.text_field == "title_and_abstract":
            added[f"{name}_in_text"] = changed(stage, tagger.vocabulary, _in_text)
    added = {name: stage for name, stage in added.items() if name not in tagger.stages}
    first = _weighted_sum(tagger)
    first = replace(first, weights={**first.weights, **dict.fromkeys(added, 0.0)})
    pool = replace(tagger.pool, exclude=())  # keep candidates that only one stage found
    return replace(tagger, rerankers={**tagger.rerankers, **added}, pool=pool, combiner=first)


def _in_abstract(stage: ExactMatch, _: Sequence[Label]) -> Stage:
    return stage.alike(replace(stage.options, text_field="title_and_abstract"))


def _in_text(stage: Lexical, labels: Sequence[Label]) -> Stage:
    return Lexical(labels, replace(stage.options, text_field="text"))


def with_combiner(tagger: Tagger, described: CandidateFeatures, fitted: FittedCombiner) -> Tagger | None:
    """Return the tagger with the learned combiner and its confidences; None if the fixed sum stays."""
    if fitted.ranker is None:
        return None
    examples = fitted.examples
    confidence = fit_score_map(fitted.scores, examples.right, examples.run.rows)
    combiner = LearnedCombiner(described, fitted.ranker, fitted.bias, confidence)
    return replace(tagger, combiner=combiner)


def with_curve(tagger: Tagger, examples: Examples) -> Tagger:
    """Keep the weighted sum, and learn its confidences from labelled documents, which it was not fitted on.

    A learned combiner keeps the confidences that it has.
    """
    if tagger.combiner.learned_features or not len(examples.run.labels):
        return tagger
    return replace(tagger, combiner=_weighted_sum(tagger).calibrated(examples.run, examples.right))


def without_confidence(tagger: Tagger) -> Tagger:
    """Keep the weighted sum without confidences, which cost time and would be estimated again."""
    return replace(tagger, combiner=replace(_weighted_sum(tagger), confidence="none"))


def describe_corpus(
    tagger: Tagger, documents: Sequence[Document], config: Config, in_time: Callable[[], bool] = lambda: True
) -> CandidateFeatures:
    """Fit the features of candidates to the corpus, without reading the labels of documents.

    Those of a learned combiner are fitted already. Raises TooLateError where the corpus is not read in time.
    """
    if learned := tagger.combiner.learned_features:  # at most two combiners stand on each other
        return replace(learned, first=learned.first if learned.first.learned_features else tagger.combiner)
    vectors = next((name for name, stage in tagger.stages.items() if isinstance(plain(stage), Dense)), "")
    options = FeatureOptions(
        candidates=config.candidates,
        candidates_each=config.candidates_each,
        exclude_self=bool(config.exclude_self),
        vectors=vectors,
    )
    first = _weighted_sum(tagger)
    described = CandidateFeatures(first, tagger.vocabulary, options)
    weighted = {name: stage for name, stage in tagger.rerankers.items() if first.weight(name) or name == vectors}
    reading = replace(tagger, rerankers=weighted)  # of stages without weight nothing is counted
    drawn = np.random.default_rng(config.combiner.seed).permutation(len(documents))[: config.corpus]
    return described.fit_corpus(pools(reading, [documents[place] for place in np.sort(drawn).tolist()], in_time))


def examples(tagger: Tagger, described: CandidateFeatures, documents: Sequence[Document]) -> Examples:
    """Return the candidates of labelled documents, with features and gold labels."""
    gold = tagger.vocabulary.gold(documents, unknown="ignore")
    return examples_of(pools(tagger, documents), described, gold)


def examples_of(read: Iterable[CandidatePool], described: CandidateFeatures, gold: Run) -> Examples:
    """Return the candidates of documents that are read, batch by batch. gold: a row for each document."""
    runs, values, names = list[Run](), list[NDArray[Any]](), tuple[str, ...]()
    for pool in read:
        runs.append(described.candidates(pool))
        features = described.describe(pool, runs[-1])
        names, values = features.names, [*values, features.values]
    return Examples(Run.concat(runs), Features(names, np.concatenate(values)), gold, len(described.labels))


def judged_only(examples: Examples, judged: Run | None) -> Examples:
    """Remove the candidates without a verdict from documents that a reviewer has looked at.

    judged: a row for each document of the examples, empty if all of its labels are known.
    """
    if judged is None:
        return examples
    reviewed = (np.diff(judged.indptr) > 0)[examples.run.rows]
    kept = ~reviewed | examples.run.held_by(judged)
    features = Features(examples.features.names, examples.features.values[kept])
    return Examples(examples.run.keep(kept), features, examples.gold, examples.labels)


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


def _weighted_sum(tagger: Tagger) -> WeightedSum:
    combiner = tagger.combiner.weighted_sum
    assert combiner, "checked by `check_can_learn`"
    return combiner
