"""FuTex: rank the labels of a paper by its abstract and its full text, then train a classifier on the best of them.

"Weakly Supervised Multi-Label Classification of Full-Text Scientific Papers" (Zhang et al., 2023). No label of a
document is read. The paper tags its training documents; here the tagger also tags others.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, fields, replace
from functools import cache
from typing import Annotated, Any, Literal, TypeAlias

from tagwright.combining.pool import PoolOptions
from tagwright.combining.weighted_sum import AppendLabels, WeightedSum
from tagwright.core.checked import AtLeastOne, Distinct, Probability
from tagwright.core.extras import require
from tagwright.core.progress import bar
from tagwright.core.steps import State, Steps
from tagwright.data.bags import BagOfWords, BagOptions
from tagwright.data.sparse_arrays import Matrix
from tagwright.data.vocabulary import Vocabulary
from tagwright.encoders.bi_encoder import BiEncoder
from tagwright.encoders.cross_encoder import CrossEncoder
from tagwright.encoders.device import uses_gpu
from tagwright.encoders.model_folder import PACKAGED
from tagwright.errors import ConfigError
from tagwright.graph.network import Graph
from tagwright.papers.full_text import FullText, FullTextOptions
from tagwright.papers.label_trees import Trees, fit_trees
from tagwright.papers.metadata_pairs import View, metadata_triples, one_paragraph
from tagwright.stages.dense import Dense, DenseOptions, LabelText
from tagwright.stages.names.exact_match import ExactMatch, ExactMatchOptions
from tagwright.stages.reranker import CrossEncoderReranker, RerankerOptions
from tagwright.tagger import Tagger
from tagwright.text.language import AUTO, check
from tagwright.training.config import TrainingConfig, TrainingPlan, lasting_options
from tagwright.training.encoder import VectorOptions, load, load_untrained
from tagwright.training.shared_work import shared_dense, shared_run
from tagwright.types import Document, Retriever, Run, Stage, TextField

RetrieverName: TypeAlias = Literal["exact_match", "dense"]
Network: TypeAlias = Literal["auto", "cross", "shared", "none"]
Ranking: TypeAlias = Literal["abstract", "fulltext", "mentions", "all_mentions"]

CROSS = TrainingPlan(batch=8, epochs=1, learning_rate=5e-5, dropout="all")
"""4.1, but with one epoch, for CPUs (the paper has 20 and 5), and a tenth of the steps for warm-up instead of 100."""

COUNT, COUNT_WITHOUT_GPU = 45_000, 4_000
"Paragraphs p of an epoch: those of MAG-CS (4.1); the second number is for a machine without a GPU."

FOUND = 100
"The most labels that dense finds for a document, and that the classifier suggests for it."

BATCH = 256
"Documents that are ranked together, as one step of the training."


@dataclass(frozen=True, kw_only=True)
class Config(FullTextOptions, VectorOptions):
    """The choices of FuTex; those of the aggregation are in `FullTextOptions`, of the encoder in `VectorOptions`."""

    encoder: str = PACKAGED
    """The bi-encoder of paragraphs and labels (Eq. 5), from which the cross-encoder is initialised: "minilm", a folder
    or a Hugging Face id; or "static", much faster, with the cross-encoder initialised from minilm."""
    network: Network = "auto"
    """What learns from the network (3.1): "cross", the cross-encoder, which reads abstract and label together. "shared"
    is the paper's: one transformer learns as cross-encoder, and reads paragraphs and labels alone too (Eq. 5; a static
    one stays as it is). "none" is NoNetwork of Table 3: there is no cross-encoder, and the bi-encoder reads the
    abstract too. "auto" is cross with a GPU, and none without, where a cross-encoder takes long."""
    meta_path: str = "P->P<-P"
    "The meta-path that makes documents similar; the paper's (4.1)."
    count: AtLeastOne | None = None
    "Paragraphs p of an epoch, drawn anew for each; None: 45,000, or 4,000 on a machine without a GPU."
    abstract_chance: Probability = 0.5
    "How often p is title and abstract instead of any paragraph: 0 in the paper, 1/2 in its published code."
    by_value: bool = False
    "Whether the similar document is drawn through a metadata value, as in MICoL: not in the paper, in its code."
    rankings: Annotated[tuple[Ranking, ...], Distinct()] = ("mentions", "all_mentions", "abstract")
    """What ranks the candidates. abstract, fulltext: the encoders (Eq. 8, 7), together the paper's; the first alone is
    NoHierarchy of Table 3. mentions, all_mentions: how often, how early and how specifically a label is named, in title
    and abstract or everywhere; not in the paper. These three agree best with the keywords of authors, and adding the
    section tree costs agreement (page "Full papers")."""
    retrievers: Annotated[tuple[RetrieverName, ...], Distinct()] = ("exact_match",)
    "What finds the candidates C(d): exact_match, or dense, the nearest labels to the full text."
    text_field: TextField = "title_and_abstract"
    "What exact_match reads: title and abstract, if there is an abstract, as in the paper, or everything."
    budget: AtLeastOne | None = None
    "The most candidates of a document that are ranked; None: all, as in the paper."
    self_training: bool = True
    "Whether a classifier of the full text is trained on the first labels (3.3; Table 3, NoSelfTrain)."
    pseudo_labels: AtLeastOne = 5
    "N: the first labels of a document that the classifier learns from, and that stay first (Eq. 11)."
    order: Literal["example", "append"] = "append"
    """The labels after which the classifier's are appended: the first N (Example 3.1), or the whole ranking (published
    code). The latter agrees better with the keywords of authors (page "Full papers")."""
    min_papers: AtLeastOne = 5
    "Minimum number of documents in which a word must occur (4.1)."
    label_text: LabelText = "both"
    """The text of a label: see `DenseOptions`. "described", name and description, is the paper's (3.1). For a
    cross-encoder, "both" is text."""
    language: str = AUTO
    """The language of the names, for stemming and stop words: a code or a name ("fi", "finnish"), several as "de+en";
    "auto" recognises it in the names, "none" turns both off."""

    training: TrainingConfig = TrainingConfig()
    "How to train on the network; unset values are those of `CROSS`."

    def __post_init__(self) -> None:
        super().__post_init__()  # of both
        check(self.language)
        if self.network in ("cross", "shared") and "abstract" not in self.rankings:
            raise ConfigError(f'network is "{self.network}", which only the ranking "abstract" reads; add that ranking')

    @property
    def full_text(self) -> FullTextOptions:
        """How to aggregate the paragraphs of a document."""
        return FullTextOptions(**{field.name: getattr(self, field.name) for field in fields(FullTextOptions)})

    @property
    def view(self) -> View:
        """The part of a document to read in fine-tuning."""
        return one_paragraph(abstract=self.abstract_chance, shortest=self.shortest)

    @property
    def learning(self) -> str:
        """The resolved "auto" on this machine, or else the named network; none if no encoder is used."""
        if not {"abstract", "fulltext", "dense"} & {*self.rankings, *self.retrievers}:
            return "none"
        if self.network != "auto":
            return self.network
        return "cross" if uses_gpu() and "abstract" in self.rankings else "none"

    @property
    def resolved(self) -> dict[str, Any]:
        """As for any method, with the network that is trained and the pairs it reads."""
        return {**super().resolved, "network": self.learning, "count": self.count or _usual_count()}


def paper() -> Config:
    """The settings of section 4.1 for MAG-CS, and its 20 epochs (4.5): SPECTER, AdamW.

    512 tokens of a pair are read, where the paper has 256 of each paragraph. For PubMed it has 150,000 and 5 epochs.
    Names are matched as in MICoL.
    """
    return Config(
        encoder="allenai/specter",
        pooling="cls",
        max_length=512,
        network="shared",
        count=45_000,
        abstract_chance=0.0,
        rankings=("abstract", "fulltext"),
        unit_paragraphs=False,
        order="example",
        label_text="described",
        language="none",
        training=TrainingConfig(
            batch=8,
            epochs=20,
            learning_rate=5e-5,
            warmup_steps=100,
            weight_decay=0.01,
            clip=0.0,
            dropout="all",
            validation=0.0,
        ),
    )


def published_code() -> Config:
    """What contrastive/ and the ensemble of the authors have instead: often abstracts, a draw through a reference."""
    settings = paper()
    training = replace(settings.training, clip=1.0)
    return replace(settings, abstract_chance=0.5, by_value=True, order="append", training=training)


def fit(documents: Sequence[Document], labels: Vocabulary, config: Config = Config(), steps: Steps = Steps()) -> Tagger:
    """Algorithm 1. steps: the store of every stage.

    Raises ConfigError or InputError when documents and config do not fit, or omikuji is needed and missing, before
    anything is loaded; ModelError without encoder.
    """
    if config.self_training:
        require("self-training by label trees", "omikuji")
    cross, bi = fine_tune(documents, config, steps)  # line 3
    ensemble = rank(labels, bi, cross, config)  # lines 4 to 17
    if not config.self_training:
        return ensemble
    pseudo = pseudo_labels(ensemble, documents, config, steps.within("ranking"))
    return self_train(ensemble, documents, pseudo, config)  # lines 18 to 23


def fine_tune(
    documents: Sequence[Document], config: Config, steps: Steps = Steps()
) -> tuple[CrossEncoder | None, BiEncoder]:
    """Network-aware contrastive fine-tuning (3.1): the trained cross-encoder, if any, and the encoder of paragraphs.

    The triples have no neighbour as p- (Eq. 3).
    """
    from tagwright.papers.losses import train_cross_encoder

    if config.learning == "none":
        return None, _as_it_comes(config)
    training = config.training.over(CROSS)
    triples = metadata_triples(
        documents,
        Graph.of(documents).follow(config.meta_path),
        config.count or _usual_count(),
        by_value=config.by_value,
        validation=training.validation,
        view=config.view,
        seed=training.seed,
    )  # Eq. 1
    name = PACKAGED if config.is_static else config.encoder_name
    start = CrossEncoder.load(name, max_length=config.max_length, seed=training.seed)
    cross = train_cross_encoder(start, triples, training, steps.within("cross"))  # Eq. 3
    return cross, _share_transformer(cross, config) if config.learning == "shared" else _as_it_comes(config)


def rank(labels: Vocabulary, bi: BiEncoder, cross: CrossEncoder | None, config: Config) -> Tagger:
    """The candidates C(d) in the combined order of all rankings (Eq. 4 to 9)."""

    @cache
    def dense() -> Dense:
        return shared_dense(labels, bi, DenseOptions(k=FOUND, label_text=config.label_text))

    def full(options: FullTextOptions = config.full_text) -> FullText:
        return FullText(dense(), options)

    paired = RerankerOptions(label_text="text" if config.label_text == "both" else config.label_text)
    by_abstract = FullTextOptions(aggregate="abstract")
    makers: dict[Ranking, Callable[[], Stage]] = {
        "abstract": lambda: CrossEncoderReranker(labels, cross, paired) if cross else full(by_abstract),  # Eq. 8
        "fulltext": full,  # Eq. 6, 7
        "mentions": lambda: _mentions(labels, config, "title_and_abstract"),
        "all_mentions": lambda: _mentions(labels, config, "text"),
    }
    # how the retriever scores its candidates
    own: Ranking = "mentions" if config.text_field == "title_and_abstract" else "all_mentions"
    is_retrieved = "exact_match" in config.retrievers and own in config.rankings
    rerankers = {str(name): makers[name]() for name in config.rankings if not (is_retrieved and name == own)}
    found_by = retrievers(labels, config, full)
    weights = {name: float(is_retrieved and name == "exact_match") for name in found_by}
    ensemble = WeightedSum(by="ranks", weights=weights, rank_constant=0)  # Eq. 9
    return Tagger(labels, found_by, rerankers, PoolOptions(limit=config.budget), (ensemble,))


def retrievers(labels: Vocabulary, config: Config, full: Callable[[], Retriever]) -> dict[str, Retriever]:
    """The retrievers of the candidates C(d), by name. full: makes the one for "dense"."""
    return {
        name: _mentions(labels, config, config.text_field) if name == "exact_match" else full()
        for name in config.retrievers
    }


def pseudo_labels(ensemble: Tagger, documents: Sequence[Document], config: Config, steps: Steps = Steps()) -> Run:
    """The first N labels of every document, fewer where fewer are found (Eq. 11). steps: what is ranked is stored."""
    settings = {**lasting_options(config), "documents": len(documents)}
    parts = []
    with bar("ranking", len(documents)) as ranked:
        for start in range(0, len(documents), BATCH):
            batch = documents[start : start + BATCH]

            def best(batch: Sequence[Document] = batch) -> State:
                run = shared_run(batch, lambda some: ensemble.tag(some, config.pseudo_labels))
                return State({"indptr": run.indptr, "labels": run.labels, "scores": run.scores})

            parts.append(Run(**steps.once(str(start), best, settings).arrays))
            ranked(len(batch))
    return Run.concat(parts)


def self_train(ensemble: Tagger, documents: Sequence[Document], pseudo: Run, config: Config) -> Tagger:
    """A classifier of the full text, trained on pseudo labels; its labels follow those of the ensemble (3.3)."""
    trees = classifier(ensemble.vocabulary, *bag_of_words(documents, config), pseudo)
    keep = config.pseudo_labels if config.order == "example" else None  # Example 3.1
    return replace(
        ensemble,
        retrievers={**ensemble.retrievers, "classifier": trees},
        pool=replace(ensemble.pool, exclude=("classifier",)),
        steps=(*ensemble.steps, AppendLabels(by="classifier", keep=keep)),
    )


def bag_of_words(documents: Sequence[Document], config: Config) -> tuple[BagOfWords, Matrix]:
    """The words that count, and (documents, words) their weights in the full text (Eq. 10)."""
    options = BagOptions(min_documents=config.min_papers, max_share=1.0, weighting="plain")
    with bar("words", 2 * len(documents)) as counted:
        bag = BagOfWords.of(_texts(documents, counted), options)
        return bag, bag.transform(_texts(documents, counted))


def classifier(labels: Vocabulary, bag: BagOfWords, features: Matrix, pseudo: Run) -> Retriever:
    """Parabel, trained on pseudo labels of the documents of the features."""
    return Trees(labels, bag, fit_trees(features, pseudo, len(labels)), FOUND)


def _mentions(labels: Vocabulary, config: Config, text_field: TextField) -> ExactMatch:
    return ExactMatch(labels, ExactMatchOptions(text_field=text_field, stem=config.language))


def _usual_count() -> int:
    return COUNT if uses_gpu() else COUNT_WITHOUT_GPU


def _share_transformer(cross: CrossEncoder, config: Config) -> BiEncoder:
    """The transformer of the cross-encoder, pooled to vectors (Eq. 5)."""
    if config.is_static:
        return _as_it_comes(config)
    model, source = load_untrained(config).model, cross.model
    if len(source) == 1:
        raise ConfigError(
            f'{config.encoder} is a cross-encoder already, which network="shared" cannot pool; take cross'
        )
    model[0].load_state_dict(source[0].state_dict())
    encoder = BiEncoder.of(model)
    encoder.cached = True  # the paragraphs are read more than once
    return encoder


def _as_it_comes(config: Config) -> BiEncoder:
    return BiEncoder.of(load(config)) if config.is_static else load_untrained(config)


def _texts(documents: Sequence[Document], done: Callable[[int], object]) -> Iterator[str]:
    for document in documents:
        yield document.text
        done(1)
