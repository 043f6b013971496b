"""The objectives of DEPL and its variants: move documents towards label texts, or towards classifier weights."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

import numpy as np

from tagwright.encoders.prompts import Role
from tagwright.papers.pairs import Key, Source, of_documents
from tagwright.training.objectives import Objective, OwnWeight
from tagwright.types import Document, Floats, Ints, Longs, Mask, Pair, Run

if TYPE_CHECKING:
    import torch

DEVIATION = 0.02
"Of weights that are drawn: BERT's for layers that are not pre-trained."

MEASURED = 4096
"The number of labels that validation documents are ranked against."


def labelled_documents(documents: Sequence[Document], gold: Run, *, seed: int = 0) -> Source:
    """One pair for each document that has text and a label; its group is the document's position.

    The labels belong to the objective, not to the pair. Raises ConfigError when there is no pair.
    """
    labelled = np.diff(gold.indptr) > 0

    def of_document(document: Document, place: int, _: Key) -> Iterator[Pair]:
        if labelled[place] and (text := document.text).strip():
            yield Pair(text, "", place)

    return of_documents(documents, of_document, seed).checked(
        f"none of {len(documents)} documents has both text and a label of the vocabulary; a supervised method needs "
        "documents with labels"
    )


@dataclass(frozen=True, eq=False)
class LabelSampler:
    """S_b, the labels that a batch is trained on (DEPL 3.3).

    gold, hard: for each training document its labels, and the wrong labels that a sparse classifier ranks highest.
    labels: size of the vocabulary. size: the labels of a batch.
    """

    gold: Run
    hard: Run
    labels: int
    size: int
    seed: int = 0

    def __call__(self, documents: Longs, size: int | None = None) -> Ints:
        """Every label of these documents, then hard negatives, then random labels, up to `size`; ascending.

        Positives are never dropped, even if there are more than `size`. The same documents always give the same labels.
        """
        size = size or self.size
        if size >= self.labels:
            return np.arange(self.labels, dtype=np.int32)
        rng = np.random.default_rng((self.seed, *documents.tolist()))
        chosen = np.unique(self.gold.take(documents).labels)
        drawn = rng.choice(self.labels, size, replace=False, shuffle=False).astype(np.int32)
        for more in (self.hard.take(documents).labels, drawn):
            new = np.setdiff1d(more, chosen)
            chosen = np.union1d(chosen, rng.permutation(new)[: max(0, size - len(chosen))])
        return chosen

    @property
    def share(self) -> float:
        """The estimated share of a batch's labels that is right for a document."""
        documents = max(1, int((np.diff(self.gold.indptr) > 0).sum()))
        return min(0.5, len(self.gold.labels) / documents / min(self.size, self.labels))

    def relevant(self, documents: Longs, labels: Ints) -> Mask:
        """(documents, labels) whether the label is one of the document's. labels: ascending."""
        gold = self.gold.take(documents)
        places = np.searchsorted(labels, gold.labels).clip(max=len(labels) - 1)
        there = labels[places] == gold.labels
        table = np.zeros((len(documents), len(labels)), np.bool_)
        table[gold.rows[there], places[there]] = True
        return table


def hard_negatives(ranking: Run, gold: Run, count: int) -> Run:
    """Return the first `count` labels of each document in a ranking that are not gold.

    >>> hard_negatives(Run.from_rows([{4: 0.9, 1: 0.8, 2: 0.7, 3: 0.1}]), Run.from_rows([[1]]), 2).labels.tolist()
    [4, 2]
    """
    return ranking.keep(~ranking.held_by(gold)).top(count)


@dataclass(eq=False)
class Heads:
    """The layers on the shared encoder: linear poolers, and classifier weights of each label.

    None: there is no such part. document: phi_doc of 3.3. label: Eq. 1. classifiers: (labels, dim), Eq. 3. unit:
    whether the poolers read vectors of length 1.
    """

    document: torch.nn.Linear
    label: torch.nn.Linear | None
    classifiers: torch.nn.Parameter | None
    unit: bool = True

    @classmethod
    def start(
        cls, dim: int, labels: int, share: float, *, texts: bool, classifiers: bool, seed: int, unit: bool = True
    ) -> Heads:
        """Poolers that keep the encoder's cosines, and label vectors near 0; without unit, all drawn as BERT's layers.

        share: of the labels of a batch that are right for a document. The biases are such that a document and a label
        start at this probability: otherwise the first steps only move all probabilities away from one half (Lin et al.,
        2017, 4.1).
        """
        import torch

        rng, offset = torch.Generator().manual_seed(seed), 0.0
        if unit:
            offset = float(np.sqrt(max(0.0, np.log((1 - share) / share)) / dim))

        def pooler(bias: float) -> torch.nn.Linear:
            layer = torch.nn.Linear(dim, dim)
            # times 4: the inner product starts as 16 cosines of the encoder
            weight = torch.nn.init.eye_(layer.weight).mul_(4.0) if unit else drawn(dim, DEVIATION)
            layer.weight = torch.nn.Parameter(weight)
            torch.nn.init.constant_(layer.bias, bias)
            return layer

        def drawn(rows: int, deviation: float) -> torch.Tensor:
            return torch.randn(rows, dim, generator=rng).mul_(deviation)

        with torch.no_grad():
            document, label = pooler(offset), pooler(-offset) if texts else None
            weights = drawn(labels, 0.1 / dim**0.5 if unit else DEVIATION).sub_(offset) if classifiers else None
            return cls(document, label, None if weights is None else torch.nn.Parameter(weights), unit=unit)

    def init_from(self, document: torch.nn.Linear, classifiers: Floats) -> None:
        """Take the document pooler of a trained classifier (A.1.5), and its label vectors if this model has any.

        With unit, the bias of the label pooler becomes the mean of those vectors, the start of an unknown label.
        """
        import torch

        vectors = torch.from_numpy(classifiers)
        with torch.no_grad():
            self.document.load_state_dict(document.state_dict())
            if self.classifiers is not None:
                self.classifiers.copy_(vectors)
            if self.label is not None and self.unit:
                self.label.bias.copy_(vectors.mean(0))

    def weights(self, poolers: float, classifiers: float) -> dict[str, OwnWeight]:
        """All parameters by name, with the learning rates of poolers and of classifier weights."""
        own = {f"document.{name}": (weight, poolers) for name, weight in self.document.named_parameters()}
        if self.label is not None:
            own |= {f"label.{name}": (weight, poolers) for name, weight in self.label.named_parameters()}
        if self.classifiers is not None:
            own["classifiers"] = self.classifiers, classifiers
        return own


@dataclass(eq=False)
class DualEncoder(Objective):
    """Binary cross-entropy of documents and the labels S_b of their batch.

    Pairs are those of `labelled_documents`. texts: the text of every label; not read without heads.label. rates: see
    `Heads.weights`. seen: (labels,) which labels have a training document. The others have no classifier weights, in
    training as in tagging: with both heads, their probability is that of their text. apart: with both heads, each has
    its own loss. label_pooling: which half of a transformer's vector, [CLS, mean], represents the label; CLS represents
    the document. A static encoder has a single vector for both.
    """

    heads: Heads
    sampler: LabelSampler
    texts: Sequence[str]
    rates: tuple[float, float]
    seen: Mask
    apart: bool = True
    label_pooling: Literal["cls", "mean"] = "mean"

    def views(self, batch: Sequence[Pair], step: int) -> Sequence[Sequence[str]]:  # noqa: ARG002
        """The documents, and the texts of S_b."""
        return [pair.anchor for pair in batch], self._texts(self.sampler(_documents(batch)))

    def role(self, view: int) -> Role:
        """Documents are searched with, labels are searched."""
        return "document" if view else "query"

    def loss(self, views: Sequence[torch.Tensor], groups: torch.Tensor) -> torch.Tensor:
        """3.3 or Eq. 4: the mean over the labels as printed or, with heads.unit, times |S_b|.

        The sum only changes Adam relative to its epsilon, which would swamp gradients of a mean over a million cells.
        With `apart`, the mean of the losses of both heads: in the loss of averaged probabilities, a head that is
        confident and wrong gets no gradient.
        """
        import torch

        from tagwright.papers.losses import dual_encoder_bce, dual_encoder_classifier_bce

        rows = groups.cpu().numpy()
        labels = self.sampler(rows)
        relevant = torch.from_numpy(self.sampler.relevant(rows, labels)).to(groups.device)
        documents, texts = views
        queries, *targets = self._vectors(documents, texts, labels)
        if self.apart or len(targets) == 1:
            losses = [dual_encoder_bce(queries, target, relevant) for target in targets]
            loss = torch.stack(losses).mean()
        else:
            loss = dual_encoder_classifier_bce(queries, targets[0], targets[1], relevant)
        return loss * len(labels) if self.heads.unit else loss

    def validation_views(self, pairs: Sequence[Pair]) -> tuple[Sequence[str], Sequence[str]]:
        """The documents, and the texts of thousands of labels, the right ones and hard negatives among them."""
        return [pair.anchor for pair in pairs], self._texts(self.sampler(_documents(pairs), MEASURED))

    def validation_loss(self, anchors: torch.Tensor, positives: torch.Tensor, groups: torch.Tensor) -> torch.Tensor:
        """1 - nDCG@5 among these labels.

        The cross-entropy of validation documents rises long before their ranking stops improving.
        """
        import torch

        from tagwright.papers.losses import missed_ndcg

        rows = groups.cpu().numpy()
        labels = self.sampler(rows, MEASURED)
        queries, *targets = self._vectors(anchors, positives, labels)
        scores = torch.stack([torch.sigmoid(queries @ target.mT) for target in targets]).mean(0)
        return missed_ndcg(scores, torch.from_numpy(self.sampler.relevant(rows, labels)).to(scores.device), 5)

    def weights(self) -> Mapping[str, OwnWeight]:
        """The heads."""
        return self.heads.weights(*self.rates)

    def _texts(self, labels: Ints) -> list[str]:
        return [] if self.heads.label is None else [self.texts[label] for label in labels.tolist()]

    def _vectors(self, documents: torch.Tensor, texts: torch.Tensor, labels: Ints) -> list[torch.Tensor]:
        """The vectors of the documents, then of the labels: from their texts, their classifier weights, or both."""
        import torch
        from torch.nn.functional import normalize

        def scaled(vectors: torch.Tensor) -> torch.Tensor:
            return normalize(vectors, dim=1) if self.heads.unit else vectors

        dim = self.heads.document.in_features
        vectors = [self.heads.document(scaled(documents[:, :dim]))]
        if self.heads.label is not None:
            half = texts[:, :dim] if self.label_pooling == "cls" else texts[:, -dim:]
            vectors.append(self.heads.label(scaled(half)))
        if self.heads.classifiers is not None:
            weights = self.heads.classifiers[torch.from_numpy(labels).to(documents.device)]
            if self.heads.label is not None:
                seen = torch.from_numpy(self.seen[labels]).to(documents.device)
                weights = torch.where(seen[:, None], weights, vectors[1])  # the mean of twice the same
            vectors.append(weights)
        return vectors


def _documents(batch: Sequence[Pair]) -> Longs:
    return np.array([pair.group for pair in batch], np.int64)
