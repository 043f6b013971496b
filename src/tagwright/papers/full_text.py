"""Retrieve labels by the full text: encode every paragraph, and average the vectors along the section tree."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, Self, TypeAlias

import numpy as np

from tagwright.core.checked import AtLeastZero, Checked
from tagwright.data.paragraphs import HEAD, SHORTEST, Paragraph, paragraphs, parents
from tagwright.encoders.layers import normalize_in_place
from tagwright.errors import ConfigError
from tagwright.stages.dense import Dense, TextEncoder
from tagwright.stages.dense.retriever import Texts
from tagwright.text.words import plain_spans, sentence_spans
from tagwright.types import Distribution, Document, EvidenceSpan, Floats, Label, Retriever, Run

Aggregate: TypeAlias = Literal["tree", "paragraphs", "abstract", "first"]

BATCH = 64
"Documents whose paragraphs are in memory at once."


@dataclass(frozen=True, kw_only=True)
class FullTextOptions(Checked):
    """How to aggregate the paragraphs of a document. Raises ConfigError for a value that cannot work."""

    aggregate: Aggregate = "tree"
    """The vector of a document. tree: the mean along its section tree (FuTex Eq. 6). paragraphs: the mean of all
    paragraphs. abstract: title and abstract only. first: the first 512 words, as far as the encoder reads."""

    unit_paragraphs: bool = True
    """Whether the vectors of paragraphs are scaled to length 1 before they are averaged. Eq. 6 averages them as the
    encoder gives them, so that a long vector counts more."""

    shortest: AtLeastZero = SHORTEST
    "Leave out paragraphs of fewer words (FuTex 4.1)."


class FullText(Retriever):
    """Retrieve and score labels by their cosine with the paragraphs of a document. A types.Retriever.

    dense: the labels, their vectors and the encoder of labels and paragraphs; its k limits the candidates.
    """

    distribution: Distribution = "normal"
    meaning = "paragraphs close in meaning"

    def __init__(self, dense: Dense, options: FullTextOptions = FullTextOptions()) -> None:
        self.dense, self.options = dense, options
        if not options.unit_paragraphs and not hasattr(dense.encoder, "encode_raw"):
            name = dense.encoder.name
            raise ConfigError(f"unit_paragraphs is false, but the encoder {name} only gives vectors of length 1")

    def read(self, documents: Sequence[Document]) -> Texts:
        """Encode the paragraphs and aggregate them (Eq. 6)."""
        parts = [self._read(documents[start : start + BATCH]) for start in range(0, len(documents), BATCH)]
        vectors = np.concatenate([np.zeros((0, self.dense.encoder.dim), np.float32), *parts])
        return Texts(vectors, np.asarray(vectors.any(axis=1)))

    def find(self, reading: Texts) -> Run:
        """Return the k labels of highest score of each document; none for a document without text."""
        return self.dense.find(reading)

    def score(self, reading: Texts, candidates: Run) -> Floats:
        """Return (suggestions,) scores: FuTex Eq. 7; 0 without text."""
        return self.dense.score(reading, candidates)

    def spans(self, document: Document, labels: Sequence[int]) -> list[tuple[EvidenceSpan, ...]]:
        """For each label the up to 3 paragraphs nearest to it, or sentences if there is only one paragraph.

        Their weights are cosines with the label. `data.paragraphs.headings_at` returns their section headings.
        """
        spans = [(leaf.start, leaf.start + len(leaf.text)) for leaf in self._leaves(document)[0]]
        if len(spans) == 1:
            start, end = spans[0]
            spans = [(start + first, start + last) for first, last in sentence_spans(document.text[start:end])]
        return self.dense.nearest_pieces(document.text, spans, labels)

    def with_labels(self, labels: Sequence[Label]) -> "FullText":
        """Return a copy for other labels; encodes new label texts only."""
        return FullText(self.dense.with_labels(labels), self.options)

    def complete(self) -> None:
        """Encode the labels that are not encoded yet."""
        self.dense.complete()

    def state(self) -> dict[str, Any]:
        """Return what a saved stage is made of."""
        return {"options": self.options, "dense": self.dense}

    @classmethod
    def from_state(cls, state: Mapping[str, Any], labels: Sequence[Label], encoder: TextEncoder | None = None) -> Self:
        """Make the stage of a saved state, for the same labels; encoder: as `Dense.from_state`."""
        return cls(Dense.from_state(state["dense"], labels, encoder), FullTextOptions(**state["options"]))

    def _read(self, documents: Sequence[Document]) -> Floats:
        """(documents, dim) the sum of share * vector of the paragraphs, of norm 1; 0 without text (Eq. 6)."""
        from scipy.sparse import csr_array

        leaves, shares = zip(*map(self._leaves, documents), strict=True)
        indptr = np.cumsum([0, *map(len, leaves)])
        texts = [leaf.text for own in leaves for leaf in own]
        encoder: Any = self.dense.encoder
        if self.options.unit_paragraphs:
            vectors: Floats = encoder.encode(texts, role="query")
        else:
            vectors = encoder.encode_raw(texts, role="query")
        sums: Floats = (
            csr_array((np.concatenate(shares), np.arange(len(texts)), indptr), (len(documents), len(texts))) @ vectors
        )
        return normalize_in_place(sums)

    def _leaves(self, document: Document) -> tuple[list[Paragraph], Floats]:
        """Return the texts of a document to encode, and their shares in its vector."""
        aggregate = self.options.aggregate
        if aggregate == "first":
            spans = plain_spans(document.text)[:512]  # at least as many as fit into 512 tokens
            leaves = [Paragraph(document.text[: spans[-1][1]], 0, HEAD)] if spans else []
        else:
            leaves = paragraphs(document, self.options.shortest)
        if aggregate == "abstract":
            leaves = leaves[:1]
        if aggregate == "tree" and leaves:
            return _along_tree(leaves, document)
        return leaves, np.full(len(leaves), 1 / max(1, len(leaves)), np.float32)


def _along_tree(leaves: list[Paragraph], document: Document) -> tuple[list[Paragraph], Floats]:
    """Sort the paragraphs by section and compute their shares. Title and abstract form the first section."""
    levels, owners = [section.level for section in document.sections], np.array([leaf.section for leaf in leaves])
    sizes = np.bincount(owners + 1, minlength=len(levels) + 1).tolist()
    order = np.argsort(owners, kind="stable")
    return [leaves[place] for place in order.tolist()], tree_shares([1, *levels], sizes)


def tree_shares(levels: Sequence[int], sizes: Sequence[int]) -> Floats:
    """FuTex Eq. 6, from the root down: the weight of each paragraph in a mean of means along the section tree.

    h_x is the mean over Child(x), so a child has 1 / |Child(x)| of the share of x, and h of the root is the sum of
    share * h_p over the paragraphs. Children are a section's own paragraphs and its subsections that have any.

    levels: (sections,) as in Section. sizes: (sections,) own paragraphs. Returns (paragraphs,), section by section;
    they sum to 1.

    The root has an abstract of one paragraph and a body: 1/2 each. The body has one paragraph and a subsection: 1/4
    each. The subsection has two: 1/8 each.

    >>> tree_shares([1, 1, 2], [1, 1, 2]).tolist()
    [0.5, 0.25, 0.125, 0.125]
    """
    above = parents(levels)
    filled, total = list(sizes), np.zeros(len(levels) + 1)  # the last position is that of the root, HEAD
    for section in reversed(range(len(levels))):
        if filled[section]:
            total[section] += sizes[section]
            total[above[section]] += 1
            if above[section] != HEAD:
                filled[above[section]] += filled[section]
    share = np.zeros(len(levels) + 1)
    share[HEAD] = 1.0
    for section, parent in enumerate(above):
        if filled[section]:
            share[section] = share[parent] / total[parent]
    own = np.divide(share[:-1], total[:-1], out=np.zeros(len(levels)), where=total[:-1] > 0)
    return np.repeat(own, sizes).astype(np.float32)
