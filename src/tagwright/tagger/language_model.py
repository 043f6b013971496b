"""Add a language model to a tagger, which ranks the first candidates again."""

from dataclasses import replace

from tagwright.combining.reranked import Reranked
from tagwright.combining.steps import find_last
from tagwright.combining.weighted_sum import WeightedSum
from tagwright.errors import ConfigError
from tagwright.llm.client import client
from tagwright.llm.options import LLM_RANKING, LlmOptions
from tagwright.stages.llm import BEST, LlmRanking
from tagwright.tagger.pipeline import Tagger


def with_model(tagger: Tagger, options: LlmOptions) -> Tagger:
    """Return the tagger with the model; without a model's name, the tagger itself.

    It is trusted as far as the options say; the middle of its scores adds nothing. Raises ConfigError without an
    address, and for a tagger that is combined in another way.
    """
    if not options.model:
        return tagger
    client(options)  # says at once what is wrong with the address
    if find_last(tagger.steps, WeightedSum) is None:
        raise ConfigError(f"a language model cannot rank again what {tagger.description} ranks; train it anew")
    again = Reranked(by=LLM_RANKING, candidates=options.candidates, weight=options.weight, center=1 + BEST / 2)
    rerankers = {**tagger.rerankers, LLM_RANKING: LlmRanking(tagger.vocabulary, options)}
    return replace(tagger, rerankers=rerankers, steps=(*tagger.steps, again))
