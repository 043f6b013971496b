"""MICoL: contrast documents that a meta-path joins, then re-rank labels found by name and word (Zhang et al., 2022).

"Metadata-Induced Contrastive Learning for Zero-Shot Multi-Label Text Classification". No label of a document is read.
"""

import logging
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Annotated, Any, Literal, TypeAlias

from tagwright.combining.pool import PoolOptions
from tagwright.combining.weighted_sum import WeightedSum
from tagwright.core.checked import AtLeastOne, Positive, Range
from tagwright.core.steps import Steps
from tagwright.data.vocabulary import Vocabulary
from tagwright.encoders.bi_encoder import BiEncoder
from tagwright.encoders.cross_encoder import CrossEncoder
from tagwright.encoders.device import uses_gpu
from tagwright.encoders.model_folder import PACKAGED
from tagwright.encoders.model_folder import STATIC as STATIC_ENCODER
from tagwright.errors import ConfigError, setting
from tagwright.graph.network import Graph
from tagwright.papers.meta_path_selection import PathEstimate, rank_paths, split_paths
from tagwright.papers.metadata_pairs import (
    metadata_pairs,
    metadata_triples,
    mix_sources,
    name_pairs,
    value_pairs,
    with_negatives,
)
from tagwright.papers.pairs import rts_pairs, sample_documents
from tagwright.stages.dense import DenseOptions, LabelText
from tagwright.stages.lexical import Lexical, LexicalOptions, LexicalText
from tagwright.stages.names.exact_match import ExactMatch, ExactMatchOptions
from tagwright.stages.reranker import CrossEncoderReranker, PairedText, RerankerOptions
from tagwright.tagger import Tagger, batches
from tagwright.text.language import check
from tagwright.training.config import TrainingConfig, TrainingPlan
from tagwright.training.encoder import VectorOptions, load, settle, train_model
from tagwright.training.objectives import Loss
from tagwright.training.shared_work import shared_dense
from tagwright.types import Document, PairSource, Retriever, Run, Stage, TextField

Pairs: TypeAlias = Literal["mixed", "metadata", "values", "names", "rts"]

_log = logging.getLogger(__name__)

AUTO = "auto"
"Instead of a meta-path: choose one by `papers.meta_path_selection`."

VALIDATION = 1 / 11
"5,000 of 55,000 pairs are for validation (A.3.2); here that share is, and 1,024 of it are measured."

TRANSFORMER = TrainingPlan(batch=8, epochs=3, learning_rate=2e-5, validation=VALIDATION)
"""A.3.2, but for AdamW in place of Adam, warm-up and decay, the usual ways to train a BERT; the paper does not state
the rate. Without a GPU, one epoch."""

CROSS = TrainingPlan(batch=4, epochs=3, learning_rate=5e-5, dropout="all", validation=VALIDATION)
"""A.3.2, but for AdamW in place of Adam. The paper does not state the learning rate; this is the usual one of BERT's
fine-tuning. Both texts of a pair are cut together, where the paper cuts each at 256 tokens. Without a GPU, one epoch.
"""

STATIC = TrainingPlan(batch=256, epochs=3, learning_rate=1e-2, weight_decay=0.0, validation=VALIDATION)
"As the static encoder of RTS, in batches as much smaller as there are fewer pairs."

PAIRS, PAIRS_WITHOUT_GPU = 55_000, 1_100
"Pairs of an epoch, one in eleven of them for validation (A.3.2); the second number is for machines without a GPU."

CONFIDENT = 3
"The number of labels of a document that count as confident, as in MACLR's pseudo labels."

CALIBRATED_ON = 500
"Documents, drawn by the seed, on which the threshold of BM25 is calibrated."

WEIGHTS = {"exact_match": 0.5, "lexical": 1.0, "encoder": 2.5}
"Weights of the stages in a fused tagger: those of the zero-shot method, chosen without gold labels."


@dataclass(frozen=True, kw_only=True)
class Config(VectorOptions):
    """The choices of MICoL; those of the encoder are in `VectorOptions`.

    pooling, max_length: by default the encoder's own, so that its knowledge is kept; the paper has the CLS token of
    SciBERT and 256 tokens, or 512 of both texts for a cross-encoder (3.3, A.3.2).
    """

    encoder: str = PACKAGED
    """As in `VectorOptions`, but not static by default: a small corpus does not make up for the knowledge of the
    packaged encoder (page "Metadata")."""
    architecture: Literal["bi", "cross"] = "bi"
    "A cross-encoder reads document and label together: slower by the number of candidates, and never static."
    meta_path: str = AUTO
    """Which documents are similar, such as "P->P<-P", or several: "P->P<-P + P-A-P" (A.5). "auto" takes the one whose
    neighbourhoods are nearest to the documents that share a confident label, apart from hubs: see
    `papers.meta_path_selection`."""
    pairs: Pairs = "mixed"
    """What is paired: documents that the meta-path joins ("metadata"); a document and each value of a field ("values")
    or each of the first label names in it ("names"); these three in equal parts ("mixed"); the pairs of RTS ("rts")."""
    field: str = "keyword"
    "The metadata field of short texts whose values are paired; mixed pairs leave it out if no document has it."
    by_value: bool = False
    "Whether d+ is drawn through a metadata value first, so that hubs weigh less, in place of Eq. 15."
    count: AtLeastOne | None = None
    """Pairs of an epoch, drawn anew for each; None: 55,000, or 1,100 for a transformer on a machine without a GPU, and
    at most ten for each document."""
    temperature: Positive = 0.05
    "tau of Eq. 9."
    candidates: Annotated[float, Range(least=1)] = 100.0
    """Labels that BM25 finds for a document on average: its threshold is calibrated on a seeded sample of 500
    documents. The paper's threshold of 400 is on an unstated scale, and no threshold suits all vocabularies."""
    budget: AtLeastOne | None = None
    "The most candidates of a document to rank, the best ones of the retrievers; None: all, or 50 for cross."
    text_field: TextField = "title_and_abstract"
    "What is read of a document to tag: title and abstract, as in the paper, or everything."
    rank: Literal["encoder", "fused"] = "fused"
    """Whether the encoder alone ranks the candidates, as in the paper ("encoder"), or together with the retrievers,
    which agrees better with the keywords of authors (page "Metadata")."""
    label_text: LabelText = "both"
    """The text of a label for the encoder: its preferred "name", all "names", or its "text", all names and the
    description; "both" averages the vectors of name and text in a bi-encoder, and is text for a cross-encoder. The
    paper reads the preferred name and the description (3.2, footnote 4)."""
    language: str = "auto"
    """The language of the names, for stemming and stop words: a code or a name ("fi", "finnish"), several as "de+en";
    "auto" recognises it in the names, "none" turns both off."""

    training: TrainingConfig = TrainingConfig()
    "How to train; unset values are those of `TRANSFORMER`, `CROSS` or `STATIC`."

    def __post_init__(self) -> None:
        super().__post_init__()
        check(self.language)
        if self.architecture == "cross" and (self.prompts or self.encoder == STATIC_ENCODER):
            raise ConfigError(
                "a cross-encoder reads two texts together, which a static encoder cannot, and has no prompts; take "
                "minilm, and leave prompts out"
            )

    @property
    def encoder_name(self) -> str:
        """As for any method, but a cross-encoder is never static."""
        return PACKAGED if self.encoder == "auto" and self.architecture == "cross" else super().encoder_name

    @property
    def resolved(self) -> dict[str, Any]:
        """As for any method, with the pairs of an epoch."""
        return {**super().resolved, "count": self.count or _usual_count(self)}

    @property
    def plan(self) -> TrainingPlan:
        """How this kind of encoder is trained."""
        if self.architecture == "bi" and self.is_static:
            return STATIC
        own = TRANSFORMER if self.architecture == "bi" else CROSS
        return own if uses_gpu() else replace(own, epochs=1.0)


def paper(architecture: Literal["bi", "cross"] = "cross") -> Config:
    """The settings of 3.2 and A.3.2: SciBERT, Adam (no weight decay), the preferred name and the description of labels.

    The encoder alone ranks the candidates. The threshold of BM25, 400, is of a scale that the paper does not state:
    `candidates` stands for it. Words are compared unstemmed, as the paper says nothing of stems or stop words. It does
    not state the learning rate. Of the architectures its Table 2 has both.
    """
    bi = architecture == "bi"
    return Config(
        encoder="allenai/scibert_scivocab_uncased",
        architecture=architecture,
        pooling="cls" if bi else None,
        max_length=256 if bi else 512,
        meta_path="P->P<-P",
        pairs="metadata",
        count=55_000,
        label_text="described",
        rank="encoder",
        language="none",
        training=TrainingConfig(batch=8 if bi else 4, epochs=3, weight_decay=0.0, dropout="all", validation=VALIDATION),
    )


def published_code(architecture: Literal["bi", "cross"] = "cross") -> Config:
    """What main.py and prepare.py of the authors have instead: its optimiser, and d+ drawn through a metadata value."""
    settings = paper(architecture)
    training = replace(settings.training, learning_rate=5e-5, weight_decay=0.01, warmup_steps=100, clip=1.0)
    return replace(settings, by_value=True, training=training)


def fit(
    documents: Sequence[Document],
    labels: Vocabulary,
    config: Config = Config(),
    steps: Steps = Steps(),
    *,
    loss: "Loss | None" = None,
) -> Tagger:
    """Train on text and metadata of the documents (Algorithm 1). steps: the store of the training.

    loss: in place of Eq. 9, a function as `rts.fit` takes; for a bi-encoder. Raises ConfigError or InputError when
    documents, config and loss do not fit, before anything is loaded; ModelError without encoder.
    """
    if loss and config.architecture != "bi":
        bi = setting("architecture", "bi")
        raise ConfigError(f"a cross-encoder has no vectors of pairs to compare by a loss; set {bi}, or leave it out")
    found_by = retrievers(documents, labels, config)  # 3.2
    config, graph = with_graph(documents, labels, config, found_by)
    pairs = pair_source(documents, labels, config, found_by, graph)
    return learn(labels, found_by, pairs, config, steps, loss)  # 3.3.2


def learn(
    labels: Vocabulary,
    found_by: Mapping[str, Retriever],
    pairs: PairSource,
    config: Config,
    steps: Steps = Steps(),
    loss: "Loss | None" = None,
) -> Tagger:
    """Train the encoder on these pairs, or triples for a cross-encoder, and rank the retrievers' candidates with it."""
    from tagwright.papers.losses import in_batch, train_cross_encoder

    encoder: BiEncoder | CrossEncoder
    plan = settle(config.training, config.plan, pairs)
    if config.architecture == "bi":
        objective = in_batch(config.temperature, loss=loss or "info_nce")  # Eq. 9
        encoder = train_model(load(config, plan.seed), pairs, objective, plan, steps)
    else:
        encoder = CrossEncoder.load(config.encoder_name, max_length=config.max_length, seed=config.training.seed)
        encoder = train_cross_encoder(encoder, pairs, plan, steps)  # Eq. 11
    tagger = rerank(labels, found_by, encoder, config)  # Algorithm 2
    return replace(tagger, training={"meta_path": config.meta_path})


def retrievers(documents: Sequence[Document], labels: Vocabulary, config: Config) -> dict[str, Retriever]:
    """The retrievers of a document's candidates (3.2): exact names, and BM25 above a calibrated threshold (Eq. 2)."""
    names = ExactMatch(labels, ExactMatchOptions(text_field=config.text_field, stem=config.language))
    label_text: LexicalText = "described" if config.label_text == "described" else "text"
    options = LexicalOptions(k=None, text_field=config.text_field, stem=config.language, label_text=label_text)
    sample = sample_documents(documents, CALIBRATED_ON, seed=config.training.seed)
    return {"exact_match": names, "lexical": Lexical(labels, options).calibrated(sample, config.candidates)}


def rerank(
    labels: Vocabulary, found_by: Mapping[str, Retriever], encoder: BiEncoder | CrossEncoder, config: Config
) -> Tagger:
    """The retrievers' candidates ranked by the encoder (3.3.1), trained or not, or by all of them together."""
    limit = config.budget
    if isinstance(encoder, CrossEncoder):
        text: PairedText = "text" if config.label_text == "both" else config.label_text
        stage: Stage = CrossEncoderReranker(labels, encoder, RerankerOptions(label_text=text))
        limit = limit or 50  # some seconds a document with a hundred on two cores
    else:
        options = DenseOptions(label_text=config.label_text, text_field=config.text_field)
        stage = shared_dense(labels, encoder, options)
    weights = WEIGHTS if config.rank == "fused" else {**dict.fromkeys(found_by, 0.0), "encoder": 1.0}
    return Tagger(labels, found_by, {"encoder": stage}, PoolOptions(limit=limit), (WeightedSum(weights=weights),))


def with_graph(
    documents: Sequence[Document], labels: Vocabulary, config: Config, found_by: Mapping[str, Retriever]
) -> tuple[Config, Graph | None]:
    """The config with "auto" resolved to a meta-path, and the network to follow it; None where no pairs need one."""
    if config.pairs not in ("metadata", "mixed"):
        return config, None
    graph = Graph.of(documents)  # Def. 2.1
    if split_paths(config.meta_path) != [AUTO]:
        return config, graph
    *_, best = choose_path(documents, labels, graph, found_by, config.training.seed)[0]
    return replace(config, meta_path=best), graph


def pair_source(
    documents: Sequence[Document],
    labels: Vocabulary,
    config: Config,
    found_by: Mapping[str, Retriever],
    graph: Graph | None,
) -> PairSource:
    """`count` pairs an epoch (A.3.1), each with a negative if they are for a cross-encoder.

    config, graph: from `with_graph`. Mixed pairs leave out short texts that the documents lack, with a warning.
    """
    count = epoch_pairs(documents, config)
    cross, parts = config.architecture == "cross", dict[PairSource, float]()
    if graph:
        paths = split_paths(config.meta_path)
        plan = config.training.over(config.plan)
        source = partial(metadata_triples if cross else metadata_pairs, documents, count=count, seed=plan.seed)
        for path in paths:
            drawn = source(graph.follow(path), by_value=config.by_value, validation=plan.validation)  # Eq. 15
            parts[drawn] = 1 / len(paths)
    others: dict[Pairs, tuple[Pairs, ...]] = {"metadata": (), "mixed": ("values", "names")}
    for kind in others.get(config.pairs, (config.pairs,)):
        try:
            pairs = _text_pairs(kind, documents, labels, config, found_by["exact_match"])
        except ConfigError as error:
            if config.pairs != "mixed":
                raise
            _log.warning("pairs mixed, without %s: %s", kind, error)
        else:
            parts[with_negatives(pairs, seed=config.training.seed) if cross else pairs] = 1.0
    return mix_sources(parts, count)


def epoch_pairs(documents: Sequence[Document], config: Config) -> int:
    """The number of pairs of an epoch: by default at most ten a document, as the paper's corpora are far larger."""
    return config.count or min(_usual_count(config), 10 * len(documents))


def choose_path(
    documents: Sequence[Document], labels: Vocabulary, graph: Graph, found_by: Mapping[str, Retriever], seed: int = 0
) -> list[PathEstimate]:
    """The measured usual meta-paths for "auto", the chosen one first."""
    ranked = rank_paths(graph, Tagger(labels, found_by).tag(documents, CONFIDENT), seed=seed)
    best, *others = (f"{path} ({divergence:.3f}{', hubs' if is_hub else ''})" for is_hub, divergence, path in ranked)
    _log.warning("meta_path auto: %s, by the divergence of Eq. 17; then %s", best, ", ".join(others) or "none")
    return ranked


def _text_pairs(
    kind: Pairs, documents: Sequence[Document], labels: Vocabulary, config: Config, names: Retriever
) -> PairSource:
    if kind == "values":
        return value_pairs(documents, config.field, seed=config.training.seed)
    if kind == "names":
        in_text = Run.concat([names(batch).top(CONFIDENT) for batch in batches(documents)])
        return name_pairs(documents, labels, in_text, seed=config.training.seed)
    return rts_pairs(documents, labels, seed=config.training.seed)


def _usual_count(config: Config) -> int:
    return PAIRS if config.is_static or uses_gpu() else PAIRS_WITHOUT_GPU
