"""Retrieve labels by their descriptions, with DEPL's dual encoder: one shared model, two poolings and poolers."""

from __future__ import annotations

import copy
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from tagwright.core.checked import AtLeastOne, Checked
from tagwright.core.saved import saved_folder
from tagwright.data.keywords import Keywords
from tagwright.encoders.architecture import prompts_of
from tagwright.encoders.bi_encoder import BiEncoder
from tagwright.encoders.device import best_device
from tagwright.stages.dense.index import Search, Storage, Vectors
from tagwright.stages.dense.retriever import Texts
from tagwright.stages.evidence import strongest_spans
from tagwright.text.words import sentence_spans
from tagwright.types import Distribution, Document, EvidenceSpan, Floats, Ints, Label, Longs, Retriever, Run

if TYPE_CHECKING:
    import torch
    from sentence_transformers import SentenceTransformer
    from tokenizers import Tokenizer

SENTENCES, SPANS = 100, 3
"Maximum number of sentences scored in a document, and of evidence spans for a label."


@dataclass(frozen=True, kw_only=True)
class DescriptionRetrieverOptions(Checked):
    """How labels are encoded, stored and searched. Raises ConfigError for a value that cannot work."""

    k: AtLeastOne = 100
    "Candidates per document."
    tokens: AtLeastOne = 16
    "Maximum tokens of a label's text (A.1.3)."
    names_only: bool = False
    "Read names only, without descriptions and keywords (DE-ret)."
    storage: Storage = "float16"
    "How label vectors are stored: see stages/dense/index.py."


@dataclass(frozen=True, eq=False)
class ClassifierWeights:
    """The weights of a trained classifier (Eq. 3). labels: the labels with weights, ascending."""

    labels: Ints
    vectors: Vectors

    def nearest(self, queries: Floats, k: int) -> Run:
        """Return the k labels of largest inner product with each query."""
        run = self.vectors.nearest(queries, k)
        return Run(run.indptr, self.labels[run.labels], run.scores)

    def of(self, positions: Sequence[int | None]) -> ClassifierWeights:
        """Return the weights for other labels: label i was at positions[i] before, None for a new label."""
        row = {label: row for row, label in enumerate(self.labels.tolist())}
        kept = [(i, row[old]) for i, old in enumerate(positions) if old in row]
        labels, rows = np.array(kept, np.int64).reshape(-1, 2).T
        return ClassifierWeights(labels.astype(np.int32), Vectors(self.vectors.codes[rows]))

    @classmethod
    def from_state(cls, state: Mapping[str, Any]) -> ClassifierWeights:
        """Make the weights of a saved state."""
        return cls(state["labels"], Vectors(state["vectors"]["codes"]))


class DescriptionRetriever(Retriever):
    """Retrieve the most probable labels with DEPL. A types.Retriever.

    documents: the encoder phi_doc. texts: the encoder phi_label of Eq. 1, or None for the dense classifier. weights:
    classifier weights, or None for DEPL. With both, the score is Eq. 4; a label without classifier weights has the
    probability of its text. keywords: by label id. search: of the label texts; they are encoded if None.
    """

    distribution: Distribution = "sparse"
    meaning = "sentences close in meaning, as learned"

    def __init__(
        self,
        labels: Sequence[Label],
        documents: BiEncoder,
        texts: BiEncoder | None,
        weights: ClassifierWeights | None = None,
        keywords: Keywords | None = None,
        options: DescriptionRetrieverOptions = DescriptionRetrieverOptions(),
        *,
        search: Search | None = None,
    ) -> None:
        self.labels, self.documents, self.texts, self.weights = labels, documents, texts, weights
        self.keywords, self.options = keywords or {}, options
        self.search = search
        if texts is None and weights is None:
            raise ValueError("neither texts nor classifier weights: nothing to compare documents with")
        if texts and search is None:
            self.search = Search(self._encode(self.label_texts(labels)), "auto")

    def read(self, documents: Sequence[Document]) -> Texts:
        """Encode the documents."""
        texts = [document.text for document in documents]
        vectors = self.documents.encode_raw(texts, role="query")
        return Texts(vectors, np.array([bool(text.strip()) for text in texts], np.bool_))

    def find(self, reading: Texts) -> Run:
        """Return the k most probable labels of each document; none for a document without text.

        With label texts and classifier weights, candidates are the 2 k best labels of each.
        """
        queries, k = reading.vectors, self.options.k
        depth = 2 * k if self.search and self.weights else k
        pool = Run.union([part.nearest(queries, depth) for part in (self.search, self.weights) if part])
        pool = pool.keep(reading.written[pool.rows])
        return pool.rescored(self._probabilities(queries, pool.rows, pool.labels)).top(k)

    def score(self, reading: Texts, candidates: Run) -> Floats:
        """Return the probability of each candidate, (suggestions,); 0 for a label without text and weights."""
        return self._probabilities(reading.vectors, candidates.rows, candidates.labels)

    def spans(self, document: Document, labels: Sequence[int]) -> list[tuple[EvidenceSpan, ...]]:
        """For each label up to 3 of the first 100 sentences: those for which alone it is most probable."""
        text = document.text
        spans = sentence_spans(text)[:SENTENCES]
        queries = self.documents.encode_raw([text[start:end] for start, end in spans], role="query")
        evidence = list[tuple[EvidenceSpan, ...]]()
        for label in labels:
            chances = self._probabilities(queries, np.arange(len(spans)), np.full(len(spans), label, np.int32))
            evidence.append(
                strongest_spans(((*span, x) for span, x in zip(spans, chances.tolist(), strict=True)), SPANS)
            )
        return evidence

    def with_labels(self, labels: Sequence[Label]) -> DescriptionRetriever:
        """Return a copy for other labels: retrieve new ones by name and description, without training.

        Labels keep their keywords and classifier weights by id. Only new texts are encoded.
        """
        at = {label.id: position for position, label in enumerate(self.labels)}
        weights = self.weights and self.weights.of([at.get(label.id) for label in labels])
        search = None
        if self.search:
            before, after = self.label_texts(self.labels), self.label_texts(labels)
            search = Search(self.search.vectors.moved(before, after, self._encode), "auto")
        return DescriptionRetriever(
            labels, self.documents, self.texts, weights, self.keywords, self.options, search=search
        )

    def label_texts(self, labels: Sequence[Label]) -> list[str]:
        """Return the text of each label: its truncated pseudo description; for DE-ret its name."""
        if self.texts is None:
            return []
        return label_texts(labels, self.keywords, self.options, tokenizer_of(self.texts.model))

    def describe(self) -> str:
        """Return a summary: "26,983 labels by their texts, 14,000 by classifier weights"."""
        parts = [f"{len(self.labels):,} labels by their texts"] if self.search else []
        return ", ".join([*parts, *([f"{len(self.weights.labels):,} by classifier weights"] if self.weights else [])])

    def state(self) -> dict[str, Any]:
        """Return what a saved stage is made of."""
        return {
            "options": self.options,
            "documents": self.documents,
            "texts": self.texts,
            "record": self.documents.record,
            "search": self.search,
            "weights": self.weights,
            "keywords": self.keywords,
        }

    @classmethod
    def from_state(cls, state: Mapping[str, Any], labels: Sequence[Label]) -> DescriptionRetriever:
        """Make the stage of a saved state, for the same labels."""
        options = DescriptionRetrieverOptions(**state["options"])
        documents, texts = (
            state[name] and BiEncoder.load_saved(str(saved_folder(state, name)), state["record"], cached=False)
            for name in ("documents", "texts")
        )
        search, weights = state["search"], state["weights"]
        return cls(
            labels,
            documents,
            texts,
            weights and ClassifierWeights.from_state(weights),
            state["keywords"],
            options,
            search=search and Search.from_state(search, "auto"),
        )

    def _encode(self, texts: Sequence[str]) -> Vectors:
        assert self.texts
        return Vectors.of(self.texts.encode_raw(texts, role="document", progress="labels"), self.options.storage)

    def _probabilities(self, queries: Floats, rows: Longs, labels: Ints) -> Floats:
        """Return Eq. 4, or its available part, for the pairs of query rows[i] and labels[i]; (pairs,)."""
        by_text = probability(self.search.vectors.cosines(queries, rows, labels)) if self.search else None
        if self.weights is None:
            assert by_text is not None
            return by_text
        places = np.searchsorted(self.weights.labels, labels).clip(max=max(0, len(self.weights.labels) - 1))
        has = self.weights.labels[places] == labels if len(self.weights.labels) else np.zeros(len(labels), np.bool_)
        probabilities = np.zeros(len(labels), np.float32) if by_text is None else by_text
        by_weights = probability(self.weights.vectors.cosines(queries, rows[has], places[has]))
        probabilities[has] = by_weights if by_text is None else (by_text[has] + by_weights) / 2
        return probabilities


def label_texts(
    labels: Sequence[Label], keywords: Keywords, options: DescriptionRetrieverOptions, tokenizer: Tokenizer
) -> list[str]:
    """Return the text of each label: name, keywords and description, truncated; for DE-ret the name."""

    def text(label: Label) -> str:
        return label.name if options.names_only else pseudo_description(label, keywords.get(label.id, ()))

    return [cut_to_tokens(text(label), tokenizer, options.tokens) for label in labels]


def tokenizer_of(model: SentenceTransformer) -> Tokenizer:
    """The fast tokenizer of an encoder, static or transformer."""
    tokenizer: Tokenizer = getattr(model.tokenizer, "backend_tokenizer", model.tokenizer)
    return tokenizer


def probability(logits: Floats) -> Floats:
    """The sigmoid, 1 / (1 + e^-x), for logits of any size.

    >>> probability(np.array([0.0, -200.0, 1.0])).round(3).tolist()
    [0.5, 0.0, 0.731]
    """
    from scipy.special import expit

    shares: Floats = expit(logits)
    return shares


def encoder(model: SentenceTransformer) -> SentenceTransformer:
    """The shared encoder to train: a copy of a model's first module; a transformer gives [CLS, mean] as one vector.

    The model's prompts are kept.
    """
    from sentence_transformers import SentenceTransformer
    from sentence_transformers.sentence_transformer.modules import Pooling, StaticEmbedding

    module: Any = copy.deepcopy(model[0])
    prompts, device = prompts_of(model).by_role, str(best_device())
    if isinstance(module, StaticEmbedding):
        return SentenceTransformer(modules=[module], prompts=prompts, device=device)
    pooling = Pooling(module.get_embedding_dimension(), ("cls", "mean"))
    return SentenceTransformer(modules=[module, pooling], prompts=prompts, device=device)


def side(
    model: SentenceTransformer, pooler: torch.nn.Linear, pooling: Literal["cls", "mean"], *, unit: bool = True
) -> SentenceTransformer:
    """One side of the dual encoder: the shared encoder, its pooling, and the linear pooler (3.3).

    unit: scale vectors to length 1 before the pooler, which the paper does not mention: the encoders are made for
    cosines. The mean of a label's text (Eq. 2) counts the special tokens, as the encoders' own pooling does.
    """
    import torch
    from sentence_transformers import SentenceTransformer
    from sentence_transformers.sentence_transformer.modules import Dense, Normalize, Pooling

    shared: Any = model[0]
    linear = Dense(pooler.in_features, pooler.out_features, activation_function=torch.nn.Identity())
    linear.linear.load_state_dict(pooler.state_dict())
    pool = [] if len(model) == 1 else [Pooling(pooler.in_features, pooling)]
    modules = [shared, *pool, *([Normalize()] if unit else []), linear]
    return SentenceTransformer(modules=modules, prompts=prompts_of(model).by_role, device=str(model.device)).eval()


def pseudo_description(label: Label, keywords: Sequence[str] = ()) -> str:
    """DEPL 3.2: name and keywords. A given description comes last, since only about 16 tokens are read.

    >>> pseudo_description(Label("1", ("Kakuro",), "A puzzle."), ["clues", "sums"])
    'Kakuro. clues sums. A puzzle'
    """
    parts = (label.name, " ".join(keywords), label.description)
    return ". ".join(part.rstrip(".") for part in parts if part)


def cut_to_tokens(text: str, tokenizer: Tokenizer, tokens: int) -> str:
    """The beginning of a text, up to the end of token number `tokens`; special tokens are not counted."""
    encoding = tokenizer.encode(text, add_special_tokens=False)
    # without padding
    offsets = [ends for ends, own in zip(encoding.offsets, encoding.attention_mask, strict=True) if own]
    return text if len(offsets) <= tokens else text[: offsets[tokens - 1][1]]
