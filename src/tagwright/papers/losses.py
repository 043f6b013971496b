"""The training losses of the papers, each as one pure function of embeddings, and the objectives that only need one.

A contrastive loss sees matrices of embeddings and nothing else. So it can be called on a batch whose embeddings were
computed in parts (cached gradients), on one process or several. Half precision is converted to float32 first: at a
temperature of 0.05 the last bit of a bfloat16 cosine moves a logit by 0.08. For the same reason, call the losses
outside of autocast.
"""

import math
from collections.abc import Sequence
from typing import Literal, TypeAlias

import torch
from torch import Tensor
from torch.nn import functional

from tagwright.core.steps import Steps
from tagwright.encoders.cross_encoder import CrossEncoder
from tagwright.encoders.prompts import Role
from tagwright.training.config import TrainingPlan
from tagwright.training.encoder import check_batch
from tagwright.training.loop import train
from tagwright.training.objectives import Contrastive, Loss, LossName, Text
from tagwright.types import Pair, PairSource

Similarity: TypeAlias = Literal["cosine", "dot"]


def info_nce(
    anchors: Tensor,
    positives: Tensor,
    temperature: float = 0.05,
    *,
    similarity: Similarity = "cosine",
    groups: Tensor | None = None,
) -> Tensor:
    """RTS Eq. 1, MICoL Eq. 9, MACLR Eq. 1: cross-entropy of each anchor's own positive among all positives.

    anchors: (batch, dim). positives: (candidates, dim); row i belongs to anchor i, the others are its negatives, but
    for those of its own group. groups: (candidates,) integers, or (candidates, n) for pairs of n groups, of which one
    is enough to share. Returns a scalar, natural log, mean over the batch.

    Two orthogonal pairs at temperature 1: each row is log(1 + e^-1).

    >>> eye = torch.eye(2)
    >>> round(info_nce(eye, eye, temperature=1.0).item(), 4)
    0.3133

    In one group they are no negatives of each other, so nothing is left to confuse them with.

    >>> info_nce(eye, eye, groups=torch.tensor([7, 7])).item()
    0.0
    >>> info_nce(eye, eye, groups=torch.tensor([[7, 8], [9, 7]])).item()
    0.0
    """
    logits = _similarities(anchors, positives, similarity) / temperature
    own = _own_rows(anchors)
    if groups is not None:
        others_of_group = _same_group(groups, own).scatter(1, own[:, None], value=False)
        logits = logits.masked_fill(others_of_group, -torch.inf)
    return functional.cross_entropy(logits, own)


def symmetric_info_nce(
    anchors: Tensor, positives: Tensor, temperature: float = 0.05, *, groups: Tensor | None = None
) -> Tensor:
    """The mean of `info_nce` in both directions, where each positive also seeks its anchor (Radford et al., 2021).

    Two orthogonal anchors with the same positive, that of the first: log 2 from anchors to positives, and back
    (log(1 + e^-1) + log(1 + e)) / 2.

    >>> eye = torch.eye(2)
    >>> round(symmetric_info_nce(eye, eye[[0, 0]], temperature=1.0).item(), 4)
    0.7532
    """
    there = info_nce(anchors, positives, temperature, groups=groups)
    return (there + info_nce(positives, anchors, temperature, groups=groups)) / 2


def cluster_loss(
    anchors: Tensor, positives: Tensor, temperature: float = 1.0, *, similarity: Similarity = "dot", groups: Tensor
) -> Tensor:
    """MACLR Eq. 2: cross-entropy of the pseudo labels of an instance's whole cluster among all pseudo labels.

    As `info_nce`, except that the positives of a group, here the cluster, attract each anchor of the group. anchors
    are the instances (contexts), positives the pseudo labels (titles). Mean over the batch; the paper has the sum.

    Two orthogonal pairs: alone in its cluster, an instance has log(1 + e) - 1. In a cluster of both, its positives
    have similarity 1 and 0, and it has log(1 + e) - 1/2.

    >>> eye = torch.eye(2)
    >>> round(cluster_loss(eye, eye, groups=torch.tensor([0, 1])).item(), 4)
    0.3133
    >>> round(cluster_loss(eye, eye, groups=torch.tensor([0, 0])).item(), 4)
    0.8133
    """
    logits = _similarities(anchors, positives, similarity) / temperature
    attract = _same_group(groups, _own_rows(anchors)).to(logits.dtype)
    return (logits.logsumexp(1) - (logits * attract).sum(1) / attract.sum(1)).mean()


def label_regularisation(
    instances: Tensor, second_views: Tensor, labels: Tensor, temperature: float = 1.0, *, similarity: Similarity = "dot"
) -> Tensor:
    """MACLR Eq. 3: an instance is closer to itself under another dropout mask than to random labels.

    instances, second_views: (batch, dim), the same texts encoded twice. labels: (sampled, dim). Returns a scalar,
    mean over the batch; the paper has the sum.

    An instance equal to its second view, and two labels at right angles to it: log(1 + 2 e^-1).

    >>> view = torch.tensor([[1.0, 0.0]])
    >>> round(label_regularisation(view, view, torch.tensor([[0.0, 1.0], [0.0, -1.0]])).item(), 4)
    0.5514
    """
    instances, second_views = _vectors(instances, similarity), _vectors(second_views, similarity)
    to_itself = (instances * second_views).sum(1)
    return score_contrast(to_itself / temperature, instances @ _vectors(labels, similarity).mT / temperature)


def score_contrast(positive: Tensor, negatives: Tensor) -> Tensor:
    """MICoL Eq. 11: cross-entropy of the score of a similar document against the scores of sampled ones.

    positive: (batch,) scores of a cross-encoder. negatives: (batch, sampled). Returns a scalar, mean over the batch.

    A positive that scores log 3 above its only negative: log(1 + 1/3).

    >>> round(score_contrast(torch.tensor([3.0]).log(), torch.tensor([[0.0]])).item(), 4)
    0.2877
    """
    return functional.softplus(_to_full_precision(negatives).logsumexp(1) - _to_full_precision(positive)).mean()


def dual_encoder_bce(documents: Tensor, labels: Tensor, relevant: Tensor) -> Tensor:
    """DEPL 3.3: binary cross-entropy of the inner products of documents and sampled labels.

    A wrong label has log sigma(-f), where the paper prints log sigma(1 - f). documents: (batch, dim). labels: (sampled,
    dim). relevant: (batch, sampled), 1 where the label is one of the document's, else 0. Returns a scalar, mean over
    the matrix.

    Inner products 1 and 0, the first label is the right one: (log(1 + e^-1) + log 2) / 2.

    >>> round(dual_encoder_bce(torch.tensor([[1.0, 0.0]]), torch.eye(2), torch.tensor([[1, 0]])).item(), 4)
    0.5032
    """
    logits = _similarities(documents, labels, "dot")
    return functional.binary_cross_entropy_with_logits(logits, relevant.to(logits.dtype))


def dual_encoder_classifier_bce(documents: Tensor, labels: Tensor, classifiers: Tensor, relevant: Tensor) -> Tensor:
    """DEPL Eq. 4: binary cross-entropy of the mean of two probabilities, the dual encoder's and a classifier's.

    As `dual_encoder_bce`; classifiers: (sampled, dim), the learned weights of the labels (Eq. 3). Probabilities are
    computed as logarithms, so that one that rounds to 0 or 1 still has a gradient.

    Probabilities 1/2 and 3/4 for a right label: -log(5/8).

    >>> one, log_3 = torch.tensor([[1.0]]), torch.tensor([[3.0]]).log()
    >>> round(dual_encoder_classifier_bce(one, 0 * one, log_3, one).item(), 4)
    0.47
    """
    logits = torch.stack([_similarities(documents, weights, "dot") for weights in (labels, classifiers)])
    signed = torch.where(relevant.bool(), logits, -logits)
    return math.log(2) - functional.logsigmoid(signed).logsumexp(0).mean()


def missed_ndcg(scores: Tensor, relevant: Tensor, k: int) -> Tensor:
    """1 - nDCG@k, the mean over the documents that have a right label: for measuring only, without a gradient.

    scores: (batch, labels). relevant: (batch, labels), true where the label is right.

    The only right label is at rank 2: 1 - (1 / log2(3)) / 1.

    >>> round(missed_ndcg(torch.tensor([[3.0, 2.0, 1.0]]), torch.tensor([[False, True, False]]), 5).item(), 4)
    0.3691
    """
    hits = relevant.gather(1, scores.topk(min(k, scores.shape[1]), dim=1).indices)
    discount = 1 / torch.arange(2, 2 + hits.shape[1], device=scores.device, dtype=torch.float32).log2()
    right = relevant.sum(1)
    ideal = discount.cumsum(0)[right.clamp(1, len(discount)) - 1]
    return 1 - ((hits * discount).sum(1) / ideal)[right > 0].mean()


def in_batch(
    temperature: float,
    *,
    groups: bool = True,
    roles: tuple[Role, Role] = ("query", "document"),
    loss: LossName | Loss = "info_nce",
) -> Contrastive:
    """RTS Eq. 1, MACLR Eq. 1: pairs of one batch are each other's negatives.

    groups: false-negative masking, pairs of one group are not. roles: which prompts anchors and positives get. loss:
    another one by name; or a function, to which temperature and groups are left.
    """
    formulas = {"info_nce": info_nce, "symmetric": symmetric_info_nce}

    def named(anchors: Tensor, positives: Tensor, group: Tensor) -> Tensor:
        return formulas[str(loss)](anchors, positives, temperature, groups=group if groups else None)

    return Contrastive(loss if callable(loss) else named, roles)


def in_clusters(temperature: float) -> Contrastive:
    """MACLR Eq. 2: the pairs of a group, here of a cluster or a label, are each other's positives."""

    def loss(anchors: Tensor, positives: Tensor, groups: Tensor) -> Tensor:
        return cluster_loss(anchors, positives, temperature, similarity="cosine", groups=groups)

    return Contrastive(loss)


class TripleContrast(Contrastive):
    """MICoL Eq. 11, FuTex Eq. 3: an anchor should score higher with its positive than with its negative."""

    def __init__(self) -> None:
        super().__init__(lambda positive, negative, _: score_contrast(positive[:, 0], negative))

    def views(self, batch: Sequence[Pair], step: int) -> Sequence[Sequence[Text]]:  # noqa: ARG002
        """Anchors with positives, anchors with negatives; all pairs have one."""
        return [(pair.anchor, pair.positive) for pair in batch], [(pair.anchor, pair.negative) for pair in batch]


def train_cross_encoder(
    encoder: CrossEncoder, triples: PairSource, plan: TrainingPlan, steps: Steps = Steps()
) -> CrossEncoder:
    """The cross-encoder trained on pairs with negatives; its model is trained in place. steps: see `loop.train`.

    Raises ConfigError when the triples do not fill a batch.
    """
    check_batch(triples, plan)
    train(encoder.model, triples, TripleContrast(), plan, steps)
    return CrossEncoder.of(encoder.model, encoder.name)


def _similarities(x: Tensor, y: Tensor, similarity: Similarity) -> Tensor:
    """Every row of x with every row of y: (rows of x, rows of y)."""
    return _vectors(x, similarity) @ _vectors(y, similarity).mT


def _vectors(embeddings: Tensor, similarity: Similarity) -> Tensor:
    return (
        functional.normalize(_to_full_precision(embeddings), dim=1)
        if similarity == "cosine"
        else _to_full_precision(embeddings)
    )


def _to_full_precision(values: Tensor) -> Tensor:
    return values.to(torch.promote_types(values.dtype, torch.float32))


def _own_rows(anchors: Tensor) -> Tensor:
    return torch.arange(len(anchors), device=anchors.device)


def _same_group(groups: Tensor, own: Tensor) -> Tensor:
    """(anchors, positives), true where a positive is of a group of the anchor; its own positive is."""
    if groups.ndim == 1:
        return groups[own, None] == groups
    return (groups[own, None, :, None] == groups[:, None, :]).flatten(2).any(2)
