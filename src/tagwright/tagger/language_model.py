"""Add a language model to a tagger, which ranks the first candidates again, or finds more by keywords."""

from collections.abc import Sequence
from dataclasses import replace

from tagwright.combining.confidence import ScoreMap
from tagwright.combining.reranked import Reranked, RerankOptions
from tagwright.errors import ConfigError
from tagwright.llm.client import client
from tagwright.llm.options import LLM_RANKING, LlmOptions
from tagwright.stages.lexical import Lexical
from tagwright.stages.llm import BEGINNING, BEST, LlmKeywords, LlmRanking
from tagwright.stages.names.exact_match import ExactMatch
from tagwright.tagger.pipeline import Tagger
from tagwright.types import Document

LLM_KEYWORDS = "llm_keywords"
"The name of the stage that finds labels by the words of a language model."


def with_model(
    tagger: Tagger, options: LlmOptions, how: RerankOptions | None = None, confidence: ScoreMap | None = None
) -> Tagger:
    """Return the tagger with the model; without a model's name, the tagger itself.

    how: how far it is trusted; None: as the options say, with the middle of its scores adding nothing. Raises
    ConfigError without an address, and for a tagger that is combined in another way.
    """
    if not options.model:
        return tagger
    client(options)  # says at once what is wrong with the address
    how = how or RerankOptions(weight=options.weight, center=1 + BEST / 2)
    how = replace(how, by=LLM_RANKING, candidates=options.candidates)
    rerankers = {**tagger.rerankers, LLM_RANKING: LlmRanking(tagger.vocabulary, options)}
    return replace(tagger, rerankers=rerankers, combiner=Reranked(tagger.combiner, how, confidence))


def with_keywords(tagger: Tagger, options: LlmOptions, labelled: Sequence[Document] = ()) -> Tagger:
    """Return the tagger with the stage that finds labels by a model's keywords; itself, where none are asked for.

    labelled: documents with labels, from which examples are drawn. The confidences that were made for the other stages
    alone go. Raises ConfigError without an address, and for a tagger without a stage that looks keywords up.
    """
    if not (options.model and options.keywords):
        return tagger
    client(options)
    by = {name: stage for name, stage in tagger.retrievers.items() if isinstance(stage, ExactMatch | Lexical)}
    if not by:
        raise ConfigError("llm.keywords are looked up by exact_match or tfidf; add one of them to the stages")
    index, labels = tagger.vocabulary.index, tagger.vocabulary
    examples = [
        (each.text[:BEGINNING], tuple(labels[index[id_]].name for id_ in each.labels if id_ in index))
        for each in labelled
    ]
    stage = LlmKeywords(labels, by, options, examples)
    assert tagger.combiner.weighted_sum, "the combiner of the zero-shot method"
    combiner = replace(tagger.combiner.weighted_sum, confidence="none")
    return replace(tagger, retrievers={**tagger.retrievers, LLM_KEYWORDS: stage}, combiner=combiner)
