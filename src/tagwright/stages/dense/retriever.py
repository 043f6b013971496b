"""Find the labels nearest in meaning to a document, by the cosine of embeddings."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Literal, NamedTuple, Protocol, TypeAlias

import numpy as np
from numpy.typing import NDArray

from tagwright.core.checked import AtLeastOne, Checked
from tagwright.core.saved import read_manifest, read_options, write_manifest
from tagwright.encoders.bi_encoder import BiEncoder
from tagwright.encoders.cache import keeps_documents
from tagwright.encoders.model_folder import PACKAGED
from tagwright.encoders.prompts import Role
from tagwright.encoders.unit_vectors import unit
from tagwright.errors import ModelError
from tagwright.stages.dense.index import Index, Kind, Storage, Vectors, index_name
from tagwright.stages.dense.pending import BUDGET, PendingLabels
from tagwright.stages.dense.trust import report, trust
from tagwright.text.words import sentence_spans
from tagwright.types import Distribution, Document, EvidenceSpan, Floats, Label, Mask, Retriever, Run, TextField

LabelText: TypeAlias = Literal["name", "names", "text", "described", "both"]

WORTH = 500
"""The number of queries from which an index is worth building, see `python -m benchmarks first`."""

SENTENCES = 100
"The most sentences of a document that are encoded to find those nearest to a label."

BEGINNING = 2000
"The characters of a document in which its language is recognised: about as many as encoders read."

SPANS = 3
"The most evidence spans of a label."


class TextEncoder(Protocol):
    """Turns texts into vectors that are close for texts of similar meaning. encoders.bi_encoder.BiEncoder is one."""

    name: str

    @property
    def dim(self) -> int:
        """Length of a vector."""
        ...

    def encode(
        self, texts: Sequence[str], *, role: Role | None = None, progress: str = "", keep: bool = True
    ) -> Floats:
        """(texts, dim) float32, each of norm 1. role: "query" for texts to be tagged, "document" for labels.

        progress: the title of a progress bar, if any. keep: for later runs.
        """
        ...

    def save(self, folder: Path) -> None:
        """Write into a new folder, to be loaded from there."""
        ...


@dataclass(frozen=True, kw_only=True)
class DenseOptions(Checked):
    """What of a label is encoded, and how it is kept and searched. Raises ConfigError for a value that cannot work."""

    k: AtLeastOne = 100
    "Candidates of a document."

    label_text: LabelText = "both"
    """Encode the preferred name, all names, names and description ("text"), preferred name and description
    ("described"), or the mean of the name's vector and the text's ("both"): a name alone says too little, and in a long
    text the name has little weight."""

    text_field: TextField = "text"
    "Read the title and abstract of a document, or all of it (always if there is no abstract)."

    storage: Storage = "float16"
    "How label vectors are stored: float16 halves float32 and agrees to 4 digits, int8 halves it again, to 2 digits."

    index: Kind = "auto"
    "exact compares every label; hnsw and ivf are faster and miss some; auto is exact up to 100,000 labels, then ivf."


class Texts(NamedTuple):
    """Documents as an encoder sees them. vectors: (documents, dim); written: (documents,) whether there is any text.

    proposed: their candidates, where not all labels are encoded. beginnings: of the texts, to recognise their language.
    """

    vectors: Floats
    written: Mask
    proposed: Run | None = None
    beginnings: Sequence[str] = ()


class Dense(Retriever):
    """Candidates by meaning: the labels of largest cosine to the whole document. A types.Retriever.

    vectors: those of the labels if known; otherwise the labels are encoded now.
    """

    distribution: Distribution = "normal"

    def __init__(
        self,
        labels: Sequence[Label],
        encoder: TextEncoder,
        options: DenseOptions = DenseOptions(),
        vectors: Vectors | None = None,
        index: Index | None = None,
    ) -> None:
        self.labels, self.encoder, self.options = labels, encoder, options
        self._pending: PendingLabels | None = None
        self._set(self._encode_labels(self._views(labels)) if vectors is None else vectors, index)

    @classmethod
    def lazy(cls, labels: Sequence[Label], encoder: BiEncoder, options: DenseOptions = DenseOptions()) -> Dense:
        """The same, but labels are encoded on demand: the candidates of a few documents, or all for many.

        Until then candidates are proposed by `encoders.sketch`. Labels that are in the encoder's cache are known.
        """
        sketch = encoder.sketch() if len(labels) > BUDGET else None
        if sketch is None:
            return cls(labels, encoder, options)
        empty = Vectors.of(np.zeros((0, encoder.dim), np.float32), options.storage)
        stage = cls([], encoder, options, empty)
        stage.labels, stage._pending = labels, PendingLabels(stage._views(labels), encoder, sketch)
        if not stage._pending.missing:
            stage.encode_labels()
        return stage

    @property
    def vectors(self) -> Vectors:
        """The vectors of all labels; encodes missing ones."""
        self.encode_labels()
        return self._vectors

    @property
    def index(self) -> Index | None:
        """The index of many labels, built if necessary; encodes missing labels."""
        self.encode_labels()
        self._build_index()
        return self._index

    @property
    def budget(self) -> int | None:
        """The number of candidates that are scored while labels are missing."""
        return BUDGET if self._pending else None

    @property
    def missing(self) -> int:
        """Labels that are not encoded yet."""
        return self._pending.missing if self._pending else 0

    def texts_of(self, label: Label) -> tuple[str, ...]:
        """What is encoded of a label."""
        return self._views([label])[0]

    def encode_labels(self) -> None:
        """Encode the labels that are not encoded yet."""
        if self._pending:
            everything = np.arange(len(self.labels))
            self._pending.encode(everything, progress="labels")
            vectors, self._pending = self._pending.vectors(everything), None
            self._set(Vectors.of(vectors, self.options.storage))

    def read(self, documents: Sequence[Document]) -> Texts:
        """Encode the documents, each of norm 1. If their candidates could be most of the missing labels, encode all."""
        texts = [document.read_as(self.options.text_field) for document in documents]
        if self._pending and len(texts) * BUDGET >= self._pending.missing:
            self.encode_labels()
        written = np.array([bool(text.strip()) for text in texts], np.bool_)
        proposed = self._pending.propose(texts, self.options.k) if self._pending else None
        beginnings = [text[:BEGINNING] for text in texts]
        vectors = self.encoder.encode(texts, role="query", keep=keeps_documents())
        return Texts(vectors, written, proposed, beginnings)

    def find(self, reading: Texts) -> Run:
        """The k nearest labels of each document, scored by cosine; none for a document without text.

        While labels are missing, those proposed instead.
        """
        run = self.nearest(reading.vectors) if reading.proposed is None else reading.proposed
        return run.keep(reading.written[run.rows])

    def nearest(self, queries: Floats) -> Run:
        """The k labels of largest cosine to each query (queries, dim)."""
        self.encode_labels()
        self._asked += len(queries)
        if self._index is None and self._asked >= WORTH:
            self._build_index()
        if self._index:
            return self._index.nearest(self._vectors, queries, self.options.k)
        return self._vectors.nearest(queries, self.options.k)

    def score(self, reading: Texts, candidates: Run) -> Floats:
        """(suggestions,) the cosine of each document and its candidates, exact whatever the index."""
        if not self._pending:
            return self.vectors.cosines(reading.vectors, candidates.rows, candidates.labels)
        used, rows = np.unique(candidates.labels, return_inverse=True)
        return self._some(used).cosines(reading.vectors, candidates.rows, rows)

    def trust(self, reading: Texts, weight: float) -> Floats | None:
        """(documents,) how well the encoder knows each document's language, from nearly 0 to 1; 1 if unknown.

        None for an encoder without its own tokenizer. weight: as in `types.Stage`.
        """
        if not isinstance(self.encoder, BiEncoder):
            return None
        trusted = trust(self.encoder.fluency(reading.beginnings))
        report(self.encoder.name, reading.beginnings, trusted, weight)
        return trusted

    def spans(self, document: Document, label: int) -> tuple[EvidenceSpan, ...]:
        """The up to 3 sentences nearest to the label, of the first 100, weighted by their cosine to it."""
        return self.spans_of(document, [label])[0]

    def spans_of(self, document: Document, labels: Sequence[int]) -> list[tuple[EvidenceSpan, ...]]:
        """`spans` for each of these labels, from one reading of the document."""
        return self.nearest_pieces(document.text, sentence_spans(document.text)[:SENTENCES], labels)

    def nearest_pieces(
        self, text: str, spans: Sequence[tuple[int, int]], labels: Sequence[int]
    ) -> list[tuple[EvidenceSpan, ...]]:
        """For each label the up to 3 given spans nearest to it, weighted by their cosine to it."""
        if not spans:
            return [()] * len(labels)
        pieces = self.encoder.encode([text[start:end] for start, end in spans], role="query", keep=keeps_documents())
        nearest = list[tuple[EvidenceSpan, ...]]()
        for label in labels:
            cosines = pieces @ self._some(np.array([label]))[:][0]
            found = [EvidenceSpan(*span, cosine) for span, cosine in zip(spans, cosines.tolist(), strict=True)]
            nearest.append(tuple(sorted(found, key=lambda span: -span.weight)[:SPANS]))
        return nearest

    def with_labels(self, labels: Sequence[Label]) -> Dense:
        """The same encoder over other labels: encodes the texts that are new, copies the vectors of the rest.

        An index, if needed, is built again.
        """
        if self._pending and isinstance(self.encoder, BiEncoder):
            return Dense.lazy(labels, self.encoder, self.options)
        known = {texts: row for row, texts in enumerate(self._views(self.labels))}
        views = self._views(labels)
        new = [texts for texts in dict.fromkeys(views) if texts not in known]
        known.update(zip(new, range(len(self.vectors), len(self.vectors) + len(new)), strict=True))
        rows = np.fromiter(map(known.__getitem__, views), np.int64, len(views))
        return Dense(labels, self.encoder, self.options, self.vectors.take(rows, self._encode_labels(new)))

    def describe(self) -> str:
        """How the labels are stored and searched: "26,983 labels x 384, float16, exact"."""
        shape = f"{len(self.labels):,} labels x {self.encoder.dim}"
        if self._pending:
            return f"{shape}, {self.options.storage}, {self.missing:,} not encoded yet"
        return f"{shape}, {self.options.storage}, {self.index or 'exact'}"

    def save(self, folder: Path) -> None:
        """Write the label vectors and their index, and the encoder unless it is the packaged one."""
        self.vectors.save(folder)
        if self.index:
            self.index.save(folder)
        packaged = self.encoder.name == PACKAGED
        if not packaged:
            self.encoder.save(folder / "encoder")
        index = self.index and self.index.described
        record = getattr(self.encoder, "record", None)
        content = {"options": asdict(self.options), "packaged_encoder": packaged, "index": index}
        write_manifest(folder, "dense", {**content, "encoder": record})

    @classmethod
    def load(
        cls, folder: Path, labels: Sequence[Label], load_encoder: Callable[[str], TextEncoder] | None = None
    ) -> Dense:
        """Memory-map what `save` wrote, for the same labels. load_encoder gets the packaged name or a folder.

        None: a BiEncoder with the requested prompts and precision; the log says when this machine computes in another
        precision. Raises ModelError when a part is missing or damaged, or does not fit the labels or the encoder.
        """
        manifest = read_manifest(folder, "dense")
        options, packaged = (
            read_options(folder, DenseOptions, manifest.get("options")),
            manifest.get("packaged_encoder"),
        )
        if not isinstance(packaged, bool):
            raise ModelError(f"{folder}: the manifest names no encoder; save the model again")
        name = PACKAGED if packaged else str(folder / "encoder")
        encoder = load_encoder(name) if load_encoder else BiEncoder.load_saved(name, manifest.get("encoder"))
        shape = (len(labels), encoder.dim)
        vectors = Vectors.load(folder, options.storage, shape)
        return cls(labels, encoder, options, vectors, Index.read(folder, manifest.get("index"), shape))

    def _set(self, vectors: Vectors, index: Index | None = None) -> None:
        self._vectors, self._index, self._asked = vectors, index, 0

    def _build_index(self) -> None:
        name = index_name(self.options.index, len(self._vectors))
        if name and self._index is None:
            self._index = Index.build(self._vectors, name)

    def _some(self, labels: NDArray[np.integer]) -> Vectors:
        """The vectors of these labels, computed if necessary."""
        if not self._pending:
            return Vectors.of(self._vectors[labels], "float32")
        self._pending.encode(labels)
        return Vectors.of(self._pending.vectors(labels), "float32")

    def _views(self, labels: Sequence[Label]) -> list[tuple[str, ...]]:
        """The texts of each label whose vectors are averaged, the same number for all."""
        view: Mapping[LabelText, Callable[[Label], tuple[str, ...]]] = {
            "name": lambda label: (label.name,),
            "names": lambda label: ("; ".join(label.names),),
            "text": lambda label: (label.text,),
            "described": lambda label: (label.described,),
            "both": lambda label: (label.name, label.text),
        }
        return list(map(view[self.options.label_text], labels))

    def _encode_labels(self, views: Sequence[tuple[str, ...]]) -> Vectors:
        texts, width = [text for texts in views for text in texts], len(views[0]) if views else 1
        vectors = self.encoder.encode(texts, role="document", progress="labels")
        mean = vectors.reshape(len(views), width, self.encoder.dim).mean(axis=1)
        return Vectors.of(unit(mean), self.options.storage)
