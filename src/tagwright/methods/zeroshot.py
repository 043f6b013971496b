"""Zero-shot tagging: nothing is trained. Names, words and meaning suggest labels, and score what the others found."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Literal

from tagwright.data.labels import Vocabulary
from tagwright.encoders.bi import BiEncoder
from tagwright.encoders.precision import Precision
from tagwright.errors import ConfigError
from tagwright.tagging.dense import Dense, DenseOptions
from tagwright.tagging.lexical import Lexical, LexicalOptions
from tagwright.tagging.names import NameOptions, Names
from tagwright.tagging.tagger import By, Fusion, Tagger
from tagwright.types import Stage

StageName = Literal["names", "bm25", "tfidf", "dense"]

LEARNT = "learnt"
"The name of a trained stage among those of the zero-shot method."

JOINED = 1.0
"""The weight of a trained stage beside the default ones, which keep theirs: the best of those tried by `benchmarks
zeroshot fuse`, without gold labels, on mdn and tib together. That test would rather have the plain encoder weigh less,
0.5; on dev documents that was worse, and this is the one choice here that has seen them."""


@dataclass(frozen=True, kw_only=True)
class Config:
    """The choices of the zero-shot method. What could be chosen without gold labels was: see benchmarks/zeroshot.py."""

    stages: tuple[StageName, ...] = ("names", "tfidf", "dense")
    "Which stages suggest and score: names, bm25, tfidf, dense."

    weights: tuple[float, ...] = (0.5, 1.0, 2.5)
    """One per stage. The weight of dense was chosen by benchmarks/zeroshot.py; that test is made of names and cannot
    judge them, so they got the least of the weights tried."""

    fusion: By = "evidence"
    "How the stages are combined: see tagging/combine.py."

    encoder: str = "minilm"
    "The encoder of the dense stage: the packaged one, a folder, or a Hugging Face id that is on this machine."

    precision: Precision = "auto"
    "What the encoder computes in: auto is bfloat16 where the device has it, else float32; int8 is faster."

    language: str = "english"
    'The language whose word endings are cut off (snowball); "none" leaves words whole.'

    scope: Literal["head", "text"] = "head"
    "What bm25 and tfidf read: title and abstract, or everything."

    candidates: int = 500
    "Labels that each stage suggests; the candidates of all are then scored by all."

    def __post_init__(self) -> None:
        known = StageName.__args__  # type: ignore[attr-defined]
        if not self.stages or not set(self.stages) <= set(known) or len(set(self.stages)) < len(self.stages):
            raise ConfigError(f"stages are {list(self.stages)}, expected some of {', '.join(known)}, each once")
        if len(self.weights) != len(self.stages):
            raise ConfigError(f"{len(self.weights)} weights for the stages {', '.join(self.stages)}; give one for each")
        if self.candidates < 1:
            raise ConfigError(f"candidates is {self.candidates}, expected 1 or more")


def fit(labels: Vocabulary, config: Config = Config()) -> Tagger:
    """A tagger over the labels. Labels are encoded, nothing is learned. Raises ModelError when there is no encoder."""
    stages = {str(name): _stage(name, labels, config) for name in config.stages}
    fusion = Fusion(by=config.fusion, weights=dict(zip(stages, config.weights, strict=True)))
    return Tagger(labels, stages, fusion)


def joined(tagger: Tagger, learnt: Stage) -> Tagger:
    """The tagger with a stage more: the dense one of a trained tagger over the same labels."""
    fusion = replace(tagger.fusion, weights={**tagger.fusion.weights, LEARNT: JOINED})
    return Tagger(tagger.vocabulary, {**tagger.stages, LEARNT: learnt}, fusion)


def _stage(name: StageName, labels: Vocabulary, config: Config) -> Stage:
    if name == "names":
        return Names(labels, NameOptions(stem=config.language, k=config.candidates))
    if name == "dense":
        encoder = BiEncoder.load(config.encoder, precision=config.precision)
        return Dense(labels, encoder, DenseOptions(k=config.candidates))
    lexical = LexicalOptions(weighting=name, stem=config.language, scope=config.scope, k=config.candidates)
    return Lexical(labels, lexical)
