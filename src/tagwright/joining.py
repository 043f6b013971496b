"""Two taggers over the same labels in, one with the stages of both out: each stage keeps its weight."""

from __future__ import annotations

from dataclasses import replace

from tagwright.errors import ConfigError
from tagwright.stages.title_match import TitleMatch
from tagwright.tagger import Tagger
from tagwright.types import Stage

LEARNT = "learnt"
"The name of a trained stage whose own name is taken: an encoder beside the zero-shot method's."


def join(first: Tagger, second: Tagger) -> Tagger:
    """The first tagger with the stages of the second added, over the labels of the first.

    A stage that has no weight yet counts 1. Beside the default zero-shot stages, which keep theirs, that was the best
    of the weights tried for a trained encoder by `benchmarks zeroshot fuse`, without gold labels, on mdn and tib
    together. That test would rather have the plain encoder weigh less, 0.5; on dev documents that was worse, and this
    is the one choice here that has seen them. Raises ConfigError for a tagger that re-ranks, or has a tail.
    """
    for tagger in (first, second):
        reranks = any(not isinstance(tagger.stages[name], TitleMatch) for name in tagger.fusion.rankers)
        if reranks or tagger.fusion.tail or tagger.fusion.budget:
            listed = ", ".join(tagger.stages)
            raise ConfigError(f"the tagger with the stages {listed} re-ranks: it cannot be fused with another one")
    if len(second.stages) > 1 and len(first.stages) > 1 and first.fusion.by != second.fusion.by:
        raise ConfigError(f"one tagger is fused by {first.fusion.by}, the other by {second.fusion.by}; train one anew")
    stages, weights, names = dict(first.stages), dict(first.fusion.weights), dict[str, str]()
    for name, stage in second.with_labels(first.vocabulary).stages.items():
        free = names[name] = _free(name, stages)
        stages[free], weights[free] = stage, second.fusion.weight(name)
    fusion = first.fusion if len(first.stages) > 1 else second.fusion
    rankers = (*first.fusion.rankers, *(names[name] for name in second.fusion.rankers))
    fluency = {names[name]: names[judge] for name, judge in second.fusion.fluency.items()}
    fluency = {**first.fusion.fluency, **fluency}
    return Tagger(first.vocabulary, stages, replace(fusion, weights=weights, rankers=rankers, fluency=fluency))


def _free(name: str, taken: dict[str, Stage]) -> str:
    """The name, or "learnt", "learnt-2", ... where it is taken."""
    names = (name, LEARNT, *(f"{LEARNT}-{number}" for number in range(2, len(taken) + 2)))
    return next(each for each in names if each not in taken)
