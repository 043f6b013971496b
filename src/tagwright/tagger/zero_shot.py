"""Zero-shot tagging: nothing is trained.

Names, words and meaning suggest labels, and all score the candidates of each other.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache, partial
from typing import Annotated, Any, Literal, TypeAlias, cast

from tagwright.combining.weighted_sum import By, WeightedSum
from tagwright.core.checked import AtLeastOne, Checked, Distinct, OneOf, Positive, shown
from tagwright.core.garbage import uncollected
from tagwright.core.progress import hint, note
from tagwright.core.steps import Steps
from tagwright.data.vocabulary import Vocabulary
from tagwright.encoders.bi_encoder import BiEncoder
from tagwright.encoders.model_folder import INSTALL, PACKAGED, has_packaged, pinned
from tagwright.encoders.precision import Precision
from tagwright.encoders.prompts import check_prompts
from tagwright.errors import ConfigError
from tagwright.llm.options import LlmOptions
from tagwright.readers.labels.languages import with_names_in
from tagwright.registry import find, made_by_name
from tagwright.stages.by_language import ByLanguage
from tagwright.stages.dense import Dense, DenseOptions
from tagwright.stages.lexical import Lexical, LexicalOptions
from tagwright.stages.names.exact_match import ExactMatch, ExactMatchOptions, TitleMatch, share
from tagwright.tagger import Tagger
from tagwright.tagger.language_model import with_keywords, with_model
from tagwright.text.language import (
    AUTO,
    check,
    depends_on_documents,
    is_mixed,
    joins_words,
    language_of_document,
    languages_of_names,
    parse_all,
    resolve,
    spelled,
)  # fmt: skip
from tagwright.text.lemmas import INSTALL as LEMMAS
from tagwright.text.lemmas import is_installed, suited
from tagwright.translation import translated
from tagwright.types import Document, Retriever, Stage, TextField

WEIGHTS: Mapping[str, float] = {"exact_match": 0.5, "bm25": 1.0, "tfidf": 1.0, "dense": 2.5}
"The default weight of each stage; 1 for those of other packages."


def _is_registered(name: str) -> bool:
    return find("stages", name) is not None


StageName: TypeAlias = Annotated[str, OneOf(tuple(WEIGHTS), _is_registered, "a stage that a package registers")]

STATIC_WEIGHT = 1.5
"""The default weight of dense with a static encoder, whose cosines say less: of 0.25, 0.5, 1, 1.5 and 2.5 the best mean
nDCG@5 on 1,889 train documents of tib, mdn, arxiv and kirja."""

TITLE_MATCH = "title_match"
"The name of the stage that scores names in titles."

PROPOSED = 300
"""Labels of a large vocabulary that rough vectors propose to the encoder, so that the others need not be encoded. Of
100 to 2,000 tried on dev documents, fewer lose recall on mdn and more cost nDCG@5 on tib; on 500 train documents of
kirja it is the best of 200, 300, 500 and comparing all labels (nDCG@5 38.6; 38.2 for all)."""


@dataclass(frozen=True, kw_only=True)
class Config(Checked):
    """The options of the zero-shot method.

    Defaults were chosen without gold labels where possible: see benchmarks/zeroshot.py.
    """

    stages: Annotated[tuple[StageName, ...], Distinct()] = ("exact_match", "tfidf", "dense")
    "Which stages suggest and score: exact_match, bm25, tfidf, dense, and those that installed packages register."

    # by benchmarks/zeroshot.py
    weights: tuple[float, ...] | Mapping[str, float] | None = None
    """One per stage, or those of some stages, as in {dense=0.5}. Without: exact_match 0.5, bm25 and tfidf 1, dense 2.5.
    The weight of dense was chosen without gold labels; that test is made of names and cannot judge exact_match, which
    got the least of the weights tried."""

    title_match: float = 1.0
    """The weight of what a title names exactly (stages/names/exact_match.py), with exact_match and dense, which can
    lower the label again; 0 leaves it out. Chosen on train documents of mdn, tib and kirja."""

    trust: bool = True
    """Whether dense and title_match lose weight on documents in a language that the encoder does not know: see
    stages/dense/trust.py."""

    fusion: By = "evidence"
    "How the stages are combined: see combining/weighted_sum.py."

    encoder: str = AUTO
    """The encoder of the dense stage: "auto", the packaged one where it is installed, otherwise none, as a line says;
    "minilm", the packaged one; "static", averaged token vectors that are distilled from it once, much faster; a folder;
    or a Hugging Face id, with @revision if need be, which is fetched where it is not on this machine."""

    prompts: Mapping[str, str] = field(default_factory=dict)
    """What the encoder reads before a text: "query" before texts to be tagged, "document" before labels, as
    {query="query: ", document="passage: "} for E5; what is not given is the model's own, and "" is none."""

    precision: Precision = "auto"
    """The precision of the encoder: auto is int8, else bfloat16, where this machine computes it right and faster, else
    float32."""

    language: str = AUTO
    """The language of the names, for stemming, stop words and n-grams: a code or a name ("fi", "finnish"), several as
    "de+en"; "auto" recognises it, "none" turns them off."""

    translation: bool = True
    """Whether labels are also searched by what their names are in another main language of the vocabulary, as far as
    labels with names in both teach it: see `translation`."""

    text_field: TextField = "title_and_abstract"
    "What bm25 and tfidf read: title and abstract, or everything."

    candidates: AtLeastOne = 500
    """The number of labels each stage suggests; every stage then scores all candidates. A transformer suggests 300 of a
    large vocabulary: those that rough vectors propose."""

    labels_per_document: Positive | None = None
    """How many labels a document has as a rule, which texts tell only in part. On each of five corpora, with the model
    of the confidences fitted on the other four, ECE@5 was at most 0.1 without it; it helps most where documents have
    many labels."""

    llm: LlmOptions = field(default_factory=LlmOptions)
    "The language model that ranks the first candidates again, if one is named."

    def __post_init__(self) -> None:
        super().__post_init__()
        if isinstance(self.weights, Mapping):
            if unknown := [name for name in self.weights if name not in self.stages]:
                raise ConfigError(f"weights has {shown(unknown[0])}; the stages are {', '.join(self.stages)}")
        elif self.weights is not None and len(self.weights) != len(self.stages):
            raise ConfigError(f"{len(self.weights)} weights for the stages {', '.join(self.stages)}; give one for each")
        check(self.language)
        check_prompts(self.prompts)

    @property
    def weight_of(self) -> dict[str, float]:
        """Stage -> weight."""
        usual = {name: WEIGHTS.get(name, 1.0) for name in self.stages}
        if self.weights is None or isinstance(self.weights, Mapping):
            return usual | dict(self.weights or {})
        return dict(zip(self.stages, self.weights, strict=True))

    @property
    def resolved(self) -> dict[str, Any]:
        """The encoder for the record: a model of the Hugging Face Hub with its revision."""
        if "dense" not in self.stages or (self.encoder == AUTO and not has_packaged()):
            return {}
        return {"encoder": pinned(PACKAGED if self.encoder == AUTO else self.encoder)}


@uncollected()
def fit(labels: Vocabulary, config: Config = Config(), documents: Iterable[Document] = ()) -> Tagger:
    """A tagger over the labels. Labels are encoded, nothing is trained. Raises ModelError when there is no encoder.

    documents: some of those to tag, if known; their language is used if names show none.
    """
    resolved = replace(config, language=resolve(config.language, labels, documents))
    if config.translation and (found := translated(labels)) is not labels:
        labels = Vocabulary(found)
    if (languages := suited(parse_all(resolved.language))) and not is_installed():
        hint(f"words of {' and '.join(map(str, languages))} are compared by stems; lemmas find more: {LEMMAS}")
    names = config.stages
    if config.encoder == AUTO and "dense" in names and not has_packaged():
        note(f"no encoder is installed: labels are found by names and words only; {INSTALL}")
        names = tuple(name for name in names if name != "dense")
    stages = {name: _stage(name, labels, resolved) for name in names}
    retrievers = {name: cast("Retriever", stage) for name, stage in stages.items() if hasattr(stage, "find")}
    rerankers = {name: stage for name, stage in stages.items() if name not in retrievers}
    weights = dict(config.weight_of)
    is_open = config.weights is None or (isinstance(config.weights, Mapping) and "dense" not in config.weights)
    if is_open and _is_static(retrievers.get("dense")):
        weights["dense"] = STATIC_WEIGHT
    if config.title_match and {"exact_match", "dense"} <= retrievers.keys():
        rerankers[TITLE_MATCH] = TitleMatch(labels, _exact_match(resolved))
        weights[TITLE_MATCH] = config.title_match
    judged = [name for name in ("dense", TITLE_MATCH) if config.trust and name in {**retrievers, **rerankers}]
    combiner = WeightedSum(
        by=config.fusion,
        weights={name: weight for name, weight in weights.items() if name in {**retrievers, **rerankers}},
        language_trust=dict.fromkeys(judged, "dense"),
        confidence="label_free",
        labels_per_document=config.labels_per_document,
    ).with_labels((), labels)
    tagger = Tagger(labels, retrievers, share(rerankers, retrievers), combiner=combiner)
    return with_model(with_keywords(tagger, config.llm), config.llm)


def train(documents: Sequence[Document], labels: Vocabulary, config: Config, _steps: Steps) -> Tagger:
    """The method zero_shot as a training: documents only help to recognise the language of the names."""
    return fit(labels, config, documents)


Make: TypeAlias = Callable[[], Tagger]
"Makes a tagger, which may take a while."


def fit_by_language(
    labels: Vocabulary, config: Config, first: Document, kept: Callable[[str, Make], Tagger] = lambda _, make: make()
) -> Tagger:
    """A tagger that treats each document in its own language, whatever others are tagged with it; it is not saved.

    labels: with their names in all languages. Of names in several, a document is searched for those in its language,
    and for English ones, which texts in any language quote; for all where its language is not clear, or its paragraphs
    are in several. Where names are too few to tell their language, and nothing says it, the document helps. first: a
    document to be tagged, for whose language stages are made now; for others they are made when these come. kept: gets
    a language, empty for all, and what makes the tagger for it; it may have one already. Raises as `fit` does.
    """
    languages = labels.frequent_languages
    several = len(languages) > 1
    if config.language != AUTO or config.llm.model or not (several or depends_on_documents(labels)):
        return kept("", partial(fit, labels, config))

    def language(document: Document) -> str:
        if several:
            return "" if is_mixed(document, languages) else language_of_document(document, languages)
        return spelled(languages_of_names(labels, [document]))

    def make(code: str) -> Tagger:
        if not several:
            return fit(labels, replace(config, language=code))
        wanted = sorted(
            (each for each in languages if code in (each, "") or each == "en"), key=lambda each: each != code
        )
        return fit(Vocabulary(with_names_in(label, wanted) for label in labels), config)

    @cache
    def made_for(code: str) -> Tagger:
        return kept(code, partial(make, code))

    def stage(name: str, code: str) -> Retriever:
        return cast("Retriever", made_for(code).stages[name])

    start = language(first)
    made = made_for(start)
    stages = {name: ByLanguage(partial(stage, name), language, start) for name in made.stages}
    retrievers = {name: stages[name] for name in made.retrievers}
    rerankers = {name: stages[name] for name in made.rerankers}
    return replace(made, vocabulary=labels, retrievers=retrievers, rerankers=rerankers)


def _stage(name: str, labels: Vocabulary, config: Config) -> Stage:
    if name == "exact_match":
        return ExactMatch(labels, replace(_exact_match(config), k=config.candidates))
    if name == "dense":
        chosen = PACKAGED if config.encoder == AUTO else config.encoder
        encoder = BiEncoder.load(chosen, prompts=config.prompts, precision=config.precision)
        return Dense(labels, encoder, DenseOptions(k=config.candidates, proposed=PROPOSED))
    if name not in ("tfidf", "bm25"):
        return made_by_name(name, labels)
    weighting: Literal["tfidf", "bm25"] = "tfidf" if name == "tfidf" else "bm25"
    # the weight beside words in languages with compounds: chosen on labelled training documents of a Finnish corpus
    ngrams = 0.5 if name == "tfidf" and joins_words(parse_all(config.language)) else 0
    lexical = LexicalOptions(
        weighting=weighting, stem=config.language, text_field=config.text_field, k=config.candidates, ngrams=ngrams,
        lemmas=_has_lemmas(config),
    )  # fmt: skip
    return Lexical(labels, lexical)


def _exact_match(config: Config) -> ExactMatchOptions:
    return ExactMatchOptions(stem=config.language, lemmas=_has_lemmas(config))


def _has_lemmas(config: Config) -> bool:
    return is_installed() and bool(suited(parse_all(config.language)))


def _is_static(dense: Retriever | None) -> bool:
    return isinstance(dense, Dense) and isinstance(dense.encoder, BiEncoder) and dense.encoder.is_static
