"""Find the labels nearest in meaning to a document, by the cosine of embeddings.

Below: how far an encoder is trusted with each document, by how well its tokenizer knows the language of the text.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, NamedTuple, Protocol, TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray

from tagwright.core.checked import AtLeastOne, Checked, build
from tagwright.core.saved import saved_folder
from tagwright.encoders.bi_encoder import BiEncoder
from tagwright.encoders.model_folder import MULTILINGUAL, PACKAGED
from tagwright.encoders.prompts import Role
from tagwright.errors import setting
from tagwright.stages.dense.index import (
    Kind,
    RoughLabels,
    Search,
    Storage,
    Vectors,
    mean_of_views,
)
from tagwright.stages.evidence import Span, strongest_spans, text_of
from tagwright.text import language
from tagwright.text.batch import Batch
from tagwright.text.words import sentence_spans
from tagwright.types import (
    Background,
    Distribution,
    Document,
    EvidenceSpan,
    Floats,
    Label,
    Mask,
    Retriever,
    Run,
    TextField,
)

LabelText: TypeAlias = Literal["name", "names", "text", "described", "both"]

_log = logging.getLogger(__name__)

PAYS = 5
"""Labels for each proposed one from which on proposing pays: those that other stages find are encoded too, so that with
fewer labels most would be."""

SENTENCES = 100
"The most sentences of a document that are encoded to find those nearest to a label."

BEGINNING = 2000
"The characters of a document in which its language is recognised: about as many as encoders read."

NAMES = 300
"Labels by whose names, at most, the language of the vocabulary is recognised."

SPANS = 3
"The most evidence spans of a label."


class TextEncoder(Protocol):
    """Turns texts into vectors that are close for texts of similar meaning. encoders.bi_encoder.BiEncoder is one."""

    name: str

    @property
    def dim(self) -> int:
        """Length of a vector."""
        ...

    def encode(self, texts: Sequence[str], *, role: Role | None = None, progress: str = "") -> Floats:
        """(texts, dim) float32, each of norm 1. role: "query" for texts to be tagged, "document" for labels.

        progress: the title of a progress bar, if any.
        """
        ...

    def save(self, folder: Path) -> None:
        """Write into an existing empty folder, to be loaded from there."""
        ...


@dataclass(frozen=True, kw_only=True)
class DenseOptions(Checked):
    """How labels are encoded, stored and searched. Raises ConfigError for a value that cannot work."""

    k: AtLeastOne = 100
    "Candidates of a document."

    label_text: LabelText = "both"
    """Encode the preferred name, all names, names and description ("text"), preferred name and description
    ("described"), or the mean of the name's vector and the text's ("both"): a name alone says too little, and in a long
    text the name has little weight."""

    text_field: TextField = "text"
    "Read the title and abstract of a document, or all of it (always if there is no abstract)."

    storage: Storage = "float16"
    "How label vectors are stored: float16 halves float32 and agrees to 4 digits."

    index: Kind = "auto"
    "exact compares every label; ivf is faster and misses some; auto is exact up to 100,000 labels, then ivf."

    proposed: AtLeastOne | None = None
    """The labels that rough vectors propose for a document, so that not all labels have to be encoded before the first
    tag; the encoder ranks them. Every label is compared where this is None, where there are at most five times as many,
    and by an encoder that is no transformer."""


class Texts(NamedTuple):
    """Documents as an encoder sees them. vectors: (documents, dim); written: (documents,) whether there is any text.

    proposed: the labels that rough vectors propose, if they do. beginnings: of the texts, to recognise their language.
    batch: the documents.
    """

    vectors: Floats
    written: Mask
    proposed: Run | None = None
    beginnings: Sequence[str] = ()
    batch: Batch | None = None


class Dense(Retriever):
    """Candidates by meaning: the labels of largest cosine to the whole document. A types.Retriever.

    Of all labels, or of those that rough vectors propose: see `DenseOptions.proposed`. What is suggested depends
    neither on what was encoded before nor on the other documents of a batch. Threads may share it.

    search: over the vectors of the labels if known; otherwise the labels are encoded now, or, where they are proposed,
    when they are candidates. rough: the rough vectors if known.
    """

    distribution: Distribution = "normal"
    meaning = "sentences close in meaning"

    def __init__(
        self,
        labels: Sequence[Label],
        encoder: TextEncoder,
        options: DenseOptions = DenseOptions(),
        search: Search | None = None,
        rough: RoughLabels | None = None,
    ) -> None:
        self.labels, self.encoder, self.options = labels, encoder, options
        self._rough = rough or self._sketched()
        self._backgrounds: dict[tuple[str, ...], tuple[Floats, float, float]] = {}
        self._missing, self._lock = np.full(len(labels), search is None and self._rough is not None), threading.Lock()
        if self._missing.any():
            search = Search(Vectors(np.zeros((len(labels), encoder.dim), options.storage)), options.index)
        self._search = search or Search(self._encode_labels(self._views(labels)), options.index)

    @property
    def search(self) -> Search:
        """The search among all labels; encodes missing ones."""
        self._encode_missing(np.arange(len(self.labels)))
        return self._search

    @property
    def vectors(self) -> Vectors:
        """The vectors of all labels; encodes missing ones."""
        return self.search.vectors

    def read(self, documents: Sequence[Document]) -> Texts:
        """Encode the documents, each of norm 1, and have labels proposed for them."""
        texts = [document.read_as(self.options.text_field) for document in documents]
        written = np.array([bool(text.strip()) for text in texts], np.bool_)
        proposed = self._rough.propose(texts, self.options.proposed or len(self.labels)) if self._rough else None
        beginnings = [text[:BEGINNING] for text in texts]
        vectors = self.encoder.encode(texts, role="query")
        return Texts(vectors, written, proposed, beginnings, Batch.of(documents))

    def find(self, reading: Texts) -> Run:
        """The k nearest labels of each document, scored by cosine; none for a document without text."""
        if reading.proposed is None:
            run = self.nearest(reading.vectors)
            run = run.keep(reading.written[run.rows])
            return run.rescored(self.score(reading, run))  # a matrix product rounds by how many documents there are
        run = reading.proposed.keep(reading.written[reading.proposed.rows])
        return run.rescored(self.score(reading, run)).top(self.options.k)

    def nearest(self, queries: Floats) -> Run:
        """The k labels of largest cosine to each query (queries, dim), of all labels; encodes missing ones."""
        return self.search.nearest(queries, self.options.k)

    def score(self, reading: Texts, candidates: Run) -> Floats:
        """Return the exact cosine of each document and its candidates, (suggestions,), without the index."""
        self._encode_missing(candidates.labels)
        return self._search.vectors.cosines(reading.vectors, candidates.rows, candidates.labels)

    def trust(self, reading: Texts, weight: float) -> Floats | None:
        """(documents,) how well the encoder knows each document's language, from nearly 0 to 1; 1 if unknown.

        None for an encoder without its own tokenizer. weight: as in `types.Stage`.
        """
        if not isinstance(self.encoder, BiEncoder):
            return None
        trusted = trust(self.encoder.fertility((reading.batch or Batch()).words(reading.beginnings, plain=True)))
        if weight and not self.encoder.saved:  # another encoder cannot be chosen for a saved tagger
            report(self.encoder.name, reading.beginnings, trusted, weight)
        return trusted

    def background(self, reading: Texts, texts: Sequence[str]) -> Background:
        """Return how near the documents are to texts in general, whose mean vector is computed once."""
        if (key := tuple(texts)) not in self._backgrounds:
            self._backgrounds[key] = self._read_background(key)
        mean, deviation, known = self._backgrounds[key]
        documents = len(reading.vectors)
        cosines = np.einsum("ij,j->i", reading.vectors, mean) if documents else np.zeros(0, np.float32)
        return Background(cosines, deviation, np.full(documents, known, np.float32))

    def _read_background(self, texts: Sequence[str]) -> tuple[Floats, float, float]:
        """The mean vector of the texts, the deviation of their cosines, and how well names are known."""
        vectors = self.encoder.encode(texts, role="document")
        between = (vectors @ vectors.T)[np.triu_indices(len(texts), 1)]
        known = 1.0
        if isinstance(self.encoder, BiEncoder) and len(self.labels):
            drawn = np.linspace(0, len(self.labels) - 1, min(NAMES, len(self.labels)), dtype=np.int64).tolist()
            names = ", ".join(self.labels[label].searched[0] for label in drawn)
            known = float(trust(self.encoder.fertility(Batch().words([names], plain=True)))[0])
        return vectors.mean(axis=0), max(float(between.std()), 1e-6), known

    def spans(self, document: Document, labels: Sequence[int]) -> list[tuple[EvidenceSpan, ...]]:
        """For each label the up to 3 sentences nearest to it, of the first 100, weighted by their cosine to it."""
        return self.nearest_pieces(document.text, sentence_spans(document.text)[:SENTENCES], labels)

    def nearest_pieces(self, text: str, spans: Sequence[Span], labels: Sequence[int]) -> list[tuple[EvidenceSpan, ...]]:
        """For each label the up to 3 given spans nearest to it, weighted by their cosine to it."""
        if not spans:
            return [()] * len(labels)
        pieces = self.encoder.encode([text[start:end] for start, end in spans], role="query")
        self._encode_missing(np.array(labels, np.int64))
        cosines = [(pieces @ self._search.vectors[np.array([label])][0]).tolist() for label in labels]
        return [
            strongest_spans(((*span, x) for span, x in zip(spans, of_label, strict=True)), SPANS)
            for of_label in cosines
        ]

    def with_labels(self, labels: Sequence[Label]) -> Dense:
        """Return a copy for other labels: encode new texts, and copy the vectors of the others.

        An index, if needed, is built again. While labels are missing, new ones are encoded when they are candidates.
        """
        if self._missing.any():
            return Dense(labels, self.encoder, self.options)
        vectors = self.vectors.moved(self._views(self.labels), self._views(labels), self._encode_labels)
        return Dense(labels, self.encoder, self.options, Search(vectors, self.options.index))

    def complete(self) -> None:
        """Encode the labels that are not encoded yet."""
        _ = self.search

    def state(self) -> dict[str, Any]:
        """Return what a saved stage is made of; label vectors only if all are encoded, no index where some propose."""
        search = None if self._missing.any() else self._search
        if search and self._rough:
            search = Search(search.vectors, "exact")
        return {
            "options": self.options,
            "encoder": None if self.encoder.name == PACKAGED else self.encoder,
            "record": getattr(self.encoder, "record", None),
            "search": search,
            "rough": self._rough and self._rough.search,
        }

    @classmethod
    def from_state(cls, state: Mapping[str, Any], labels: Sequence[Label], encoder: TextEncoder | None = None) -> Dense:
        """Make the stage of a saved state, for the same labels.

        encoder: None: a BiEncoder with the requested prompts and precision; the log says when this machine computes in
        another precision. Raises ModelError when it is missing or damaged.
        """
        options, search, rough = build(DenseOptions, state["options"]), state["search"], state["rough"]
        if encoder is None:
            folder = saved_folder(state, "encoder") if state["encoder"] else PACKAGED
            encoder = BiEncoder.load_saved(str(folder), state["record"])
        return cls(
            labels,
            encoder,
            options,
            search and Search.from_state(search, options.index),
            RoughLabels(Search.from_state(rough, options.index), encoder.sketch)
            if rough and isinstance(encoder, BiEncoder)
            else None,
        )

    def _sketched(self) -> RoughLabels | None:
        """The rough vectors that propose labels, where the options ask for them and the encoder has any."""
        proposed = self.options.proposed
        if proposed is None or len(self.labels) <= PAYS * proposed or not isinstance(self.encoder, BiEncoder):
            return None
        sketch = self.encoder.sketch()
        return None if sketch is None else RoughLabels.of(self._views(self.labels), sketch, self.options.index)

    def _encode_missing(self, labels: NDArray[np.integer]) -> None:
        """Encode what is missing of these labels, or read it from the encoder's cache."""
        if not self._missing[labels].any():
            return
        with self._lock:  # what is missing is asked again: another thread may just have encoded it
            new = np.unique(labels[self._missing[labels]])
            views = self._views([self.labels[label] for label in new.tolist()])
            self._search.vectors.codes[new] = self._encode_labels(views).codes
            self._missing[new] = False  # only now: others read without the lock

    def _views(self, labels: Sequence[Label]) -> list[tuple[str, ...]]:
        """The texts of each label whose vectors are averaged, the same number for all."""
        if self.options.label_text == "both":
            return [(label.searched[0], label.text) for label in labels]
        return [(text_of(label, self.options.label_text),) for label in labels]

    def _encode_labels(self, views: Sequence[tuple[str, ...]]) -> Vectors:
        texts = [text for texts in views for text in texts]
        vectors = self.encoder.encode(texts, role="document", progress="labels")
        return Vectors.of(mean_of_views(vectors, len(views)), self.options.storage)


UNKNOWN, FLUENT = 2.0, 4.5
"""Letters per token in a language unknown to the encoder, and from which on a language counts as known. With MiniLM's
tokenizer: Russian 1.1, Finnish 2.5, German 3.7, nearly all English texts more than 4.5."""

LEAST = 0.01
"The trust that remains for an unknown language, so that labels without other evidence have an order."

TELLING = 5
"The fewest words of a text whose language is named: the language of shorter ones is often misrecognised."

FEW = 0.3
"Below this mean trust in a batch of documents, a warning is logged."

_warned = set[str]()
"Encoders that were warned of already: every batch has another mean, and perhaps other languages."


def trust(fertility: ArrayLike) -> Floats:
    """(n,) from nearly 0, the language is not known, to 1: it is. fertility: letters per token (`tokens.fertility_of`).

    A text without a known fertility (NaN) is trusted. 3.25 is half way from 2 to 4.5.

    >>> [round(share, 2) for share in trust([1.0, 3.25, 6.0, float("nan")]).tolist()]
    [0.01, 0.5, 1.0, 1.0]
    """
    share = (np.asarray(fertility, np.float32) - UNKNOWN) / (FLUENT - UNKNOWN)
    trusted: Floats = np.nan_to_num(np.clip(share, LEAST, 1.0), nan=1.0).astype(np.float32)
    return trusted


def report(encoder: str, texts: Sequence[str], trusted: Floats, weight: float) -> None:
    """Warn once for each encoder that the encoder does not know the language of a batch."""
    if encoder in _warned or not weight or not len(texts) or (mean := float(trusted.mean())) >= FEW:
        return
    _warned.add(encoder)
    long = [text for text in texts[:100] if len(text.split()) >= TELLING]
    known = language.main_languages(language.recognise(long)) if long else ()
    # English is among them where a text of names, codes or Latin looks like it.
    languages = " and ".join(str(each) for each in known if encoder != PACKAGED or each.code != "en")
    problem = f"does not know the language of these texts{languages and f' ({languages})'}"
    remedy = f"{setting('encoder', 'FOLDER')} names another"
    if encoder == PACKAGED:
        other = "have words that it hardly knows, as of another language" if known else "are in another language"
        problem = f"reads English; these texts {f'are {languages}' if languages else other}"
        remedy = f"{setting('encoder', MULTILINGUAL)} would read them"
    message = "the encoder %s %s: its weight is %.2g, not %.2g; %s"
    _log.warning(message, encoder, problem, weight * mean, weight, remedy)
