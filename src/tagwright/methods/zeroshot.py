"""Zero-shot tagging: nothing is trained. Names, words and meaning suggest labels, and score what the others found."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Annotated, Any, Literal

from tagwright.combining.weighted_sum import By, WeightedSum
from tagwright.data.vocabulary import Vocabulary
from tagwright.encoders.bi_encoder import BiEncoder
from tagwright.encoders.model_folder import pinned
from tagwright.encoders.precision import Precision
from tagwright.encoders.prompts import check_prompts
from tagwright.errors import ConfigError
from tagwright.fields import AtLeastOne, Checked, Distinct
from tagwright.stages.dense import Dense, DenseOptions
from tagwright.stages.exact_match import ExactMatch, ExactMatchOptions
from tagwright.stages.lexical import Lexical, LexicalOptions
from tagwright.stages.title_match import TitleMatch, share
from tagwright.tagger import Tagger
from tagwright.text.language import AUTO, check, joins_words, parse_all, resolve
from tagwright.types import Document, Retriever, Stage, TextField

StageName = Literal["exact_match", "bm25", "tfidf", "dense"]

WEIGHTS: Mapping[str, float] = {"exact_match": 0.5, "bm25": 1.0, "tfidf": 1.0, "dense": 2.5}
"What each stage counts by default."

TITLES = "title_match"
"The name of the stage that scores what titles name."


NGRAMS = 0.5
"""The weight of character n-grams beside words where a language joins words: the best of those tried on the train
documents of kirja, with their labels."""


@dataclass(frozen=True, kw_only=True)
class Config(Checked):
    """The choices of the zero-shot method. What could be chosen without gold labels was: see benchmarks/zeroshot.py."""

    stages: Annotated[tuple[StageName, ...], Distinct()] = ("exact_match", "tfidf", "dense")
    "Which stages suggest and score: names, bm25, tfidf, dense."

    weights: tuple[float, ...] | None = None
    """One per stage; None: names 0.5, bm25 and tfidf 1, dense 2.5. The weight of dense was chosen by
    benchmarks/zeroshot.py; that test is made of names and cannot judge them, so they got the least of the weights
    tried."""

    title_match: float = 1.0
    """The weight of what a title names exactly (stages/title_match.py), with names and dense, which can speak
    against it; 0 leaves it out. Chosen on train documents of mdn, tib and kirja."""

    trust: bool = True
    """Whether dense and titles lose weight on documents in a language that the encoder does not know: see
    stages/trust.py."""

    fusion: By = "evidence"
    "How the stages are combined: see combining/weighted_sum.py."

    encoder: str = "minilm"
    """The encoder of the dense stage: the packaged one, a folder, or a Hugging Face id, with @revision if need be,
    which is fetched where it is not on this machine."""

    prompts: Mapping[str, str] = field(default_factory=dict)
    """What the encoder reads before a text: "query" before texts to be tagged, "document" before labels, as
    {query="query: ", document="passage: "} for E5; what is not given is the model's own, and "" is none."""

    precision: Precision = "auto"
    """What the encoder computes in: auto is bfloat16 where the device has it, else int8 where the processor multiplies
    8 bits by 8, else float32."""

    language: str = AUTO
    """The language of the names, for endings, stop words and parts of words: a code or a name ("fi", "finnish"),
    several as "de+en"; "auto" recognises it, "none" leaves words whole."""

    text_field: TextField = "title_and_abstract"
    "What bm25 and tfidf read: title and abstract, or everything."

    candidates: AtLeastOne = 500
    "Labels that each stage suggests; the candidates of all are then scored by all."

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.weights is not None and len(self.weights) != len(self.stages):
            raise ConfigError(f"{len(self.weights)} weights for the stages {', '.join(self.stages)}; give one for each")
        check(self.language)
        check_prompts(self.prompts)

    @property
    def weight_of(self) -> dict[str, float]:
        """Stage -> weight."""
        weights = [WEIGHTS[name] for name in self.stages] if self.weights is None else self.weights
        return dict(zip(map(str, self.stages), weights, strict=True))

    @property
    def resolved(self) -> dict[str, Any]:
        """What is recorded of the encoder: a model of the Hugging Face Hub with its revision."""
        return {"encoder": pinned(self.encoder)} if "dense" in self.stages else {}


def fit(labels: Vocabulary, config: Config = Config(), documents: Iterable[Document] = ()) -> Tagger:
    """A tagger over the labels. Labels are encoded, nothing is learned. Raises ModelError when there is no encoder.

    documents: some of those that are to be tagged, if they are known; their language counts where names have none.
    """
    resolved = replace(config, language=resolve(config.language, labels, documents))
    retrievers = {str(name): _retriever(name, labels, resolved) for name in config.stages}
    rerankers, weights = dict[str, Stage](), dict(config.weight_of)
    if config.title_match and {"exact_match", "dense"} <= retrievers.keys():
        rerankers[TITLES] = TitleMatch(labels, ExactMatchOptions(stem=resolved.language))
        weights[TITLES] = config.title_match
    judged = [name for name in ("dense", TITLES) if config.trust and name in {**retrievers, **rerankers}]
    combiner = WeightedSum(by=config.fusion, weights=weights, language_trust=dict.fromkeys(judged, "dense"))
    return Tagger(labels, retrievers, share(rerankers, retrievers), combiner=combiner)


def _retriever(name: StageName, labels: Vocabulary, config: Config) -> Retriever:
    if name == "exact_match":
        return ExactMatch(labels, ExactMatchOptions(stem=config.language, k=config.candidates))
    if name == "dense":
        encoder = BiEncoder.load(config.encoder, prompts=config.prompts, precision=config.precision)
        return Dense.lazy(labels, encoder, DenseOptions(k=config.candidates))
    ngrams = NGRAMS if name == "tfidf" and joins_words(parse_all(config.language)) else 0
    lexical = LexicalOptions(
        weighting=name, stem=config.language, text_field=config.text_field, k=config.candidates, ngrams=ngrams
    )
    return Lexical(labels, lexical)
