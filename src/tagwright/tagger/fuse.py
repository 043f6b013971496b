"""Add stages to a tagger: those of another one over the same labels, each with its weight, or a language model."""

from collections.abc import Collection, Mapping
from copy import copy
from dataclasses import replace
from typing import TypeVar

from tagwright.combining.confidence import Confidence
from tagwright.combining.none_fits import NoneFits
from tagwright.combining.pool import PoolOptions
from tagwright.combining.reranked import Reranked
from tagwright.combining.steps import find_last
from tagwright.combining.thresholds import without_thresholds
from tagwright.combining.weighted_sum import WeightedSum
from tagwright.errors import ConfigError
from tagwright.llm.client import client
from tagwright.llm.options import LLM_RANKING, LlmOptions
from tagwright.stages.llm import BEST, LlmRanking
from tagwright.tagger.pipeline import Tagger
from tagwright.types import Stage

TRAINED = "trained"
"The name of a trained stage whose own name is taken, as of an encoder added to the zero-shot method's."

T = TypeVar("T", bound=Stage)


def fuse(first: Tagger, second: Tagger) -> Tagger:
    """The first tagger with the stages of the second added, over the labels of the first.

    A stage without a weight gets 1, which was chosen for a trained encoder beside the default zero-shot stages. Raises
    ConfigError for a tagger that is more than a weighted sum over all candidates.
    """
    one, other = _weighted_sum(first), _weighted_sum(second)
    if len(second.stages) > 1 and len(first.stages) > 1 and one.by != other.by:
        raise ConfigError(f"one tagger is combined by {one.by}, the other by {other.by}; train one anew")
    names = _free_names(second.stages, first.stages)
    added = second.with_labels(first.vocabulary)
    combined = replace(
        one if len(first.stages) > 1 else other,
        weights={**one.weights, **{free: other.weight(name) for name, free in names.items()}},
        language_trust={**one.language_trust, **{names[a]: names[b] for a, b in other.language_trust.items()}},
    )  # without confidences: what the label-free model was made for is the zero-shot stages alone
    retrievers = {**first.retrievers, **_rename_stages(added.retrievers, names)}
    rerankers = {**first.rerankers, **_rename_stages(added.rerankers, names)}
    return Tagger(first.vocabulary, retrievers, rerankers, steps=(combined,))


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


def plain_sum(tagger: Tagger) -> WeightedSum | None:
    """Return the weighted sum that ranks, perhaps with confidences; None where there is any other step."""
    steps = without_thresholds(tagger.steps)
    combined = find_last(steps, WeightedSum)
    return combined if all(step is combined or isinstance(step, Confidence | NoneFits) for step in steps) else None


def _weighted_sum(tagger: Tagger) -> WeightedSum:
    combined = plain_sum(tagger)
    if combined is None or tagger.pool != PoolOptions():
        listed = ", ".join(tagger.stages)
        raise ConfigError(
            f"the tagger with the stages {listed} is no weighted sum over all candidates: it cannot be fused"
        )
    return combined


def _rename_stages(stages: Mapping[str, T], names: Mapping[str, str]) -> dict[str, T]:
    """The stages by their new names; one that shares the reading of another refers to that one's new name."""
    renamed = {names[name]: copy(stage) if stage.shares else stage for name, stage in stages.items()}
    for stage in renamed.values():
        if stage.shares:
            stage.shares = names[stage.shares]
    return renamed


def _free_names(names: Collection[str], taken: Collection[str]) -> dict[str, str]:
    """Each name -> itself, or "trained", "trained-2", ... where it is taken."""
    free = dict[str, str]()
    for name in names:
        used = {*taken, *free.values()}
        choices = (name, TRAINED, *(f"{TRAINED}-{number}" for number in range(2, len(used) + 2)))
        free[name] = next(choice for choice in choices if choice not in used)
    return free
