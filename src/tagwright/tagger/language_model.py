"""Add a language model to a tagger, which ranks the first candidates again."""

from dataclasses import replace

from tagwright.combining.confidence import ScoreMap
from tagwright.combining.learned_combiner import LearnedCombiner
from tagwright.combining.reranked import Reranked, RerankOptions
from tagwright.combining.weighted_sum import WeightedSum
from tagwright.errors import ConfigError
from tagwright.llm.client import client
from tagwright.llm.options import LlmOptions
from tagwright.stages.llm_ranking import BEST, LlmRanking
from tagwright.tagger.pipeline import Tagger

LLM_RANKING = "llm_ranking"
"The name of the stage."


def with_model(
    tagger: Tagger, options: LlmOptions, how: RerankOptions | None = None, confidence: ScoreMap | None = None
) -> Tagger:
    """Return the tagger with the model; without a model's name, the tagger itself.

    how: how far it is trusted; None: as the options say, with the middle of its scores adding nothing. Raises
    ConfigError without an address, and for a tagger that is combined in another way.
    """
    first = tagger.combiner
    if not options.model:
        return tagger
    client(options)  # says at once what is wrong with the address
    if not isinstance(first, WeightedSum | LearnedCombiner):
        raise ConfigError(f"a language model cannot rank again what {type(first).__name__} combines; train it anew")
    how = how or RerankOptions(weight=options.weight, center=1 + BEST / 2)
    how = replace(how, by=LLM_RANKING, candidates=options.candidates)
    rerankers = {**tagger.rerankers, LLM_RANKING: LlmRanking(tagger.vocabulary, options)}
    return replace(tagger, rerankers=rerankers, combiner=Reranked(first, how, confidence))
