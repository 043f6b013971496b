"""Train a cross-encoder on triples of texts: MICoL Eq. 11, FuTex Eq. 3."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, cast

import numpy as np

from tagwright.core.steps import Steps
from tagwright.encoders.cross_encoder import CrossEncoder
from tagwright.training.config import TrainingPlan
from tagwright.training.encoder import check_batch
from tagwright.training.loop import train
from tagwright.training.objectives import Contrastive, Text
from tagwright.types import Pair, PairSource, Triple

if TYPE_CHECKING:
    import torch

CROSS = TrainingPlan(batch=4, epochs=3, learning_rate=5e-5, dropout="all")
"""As MICoL trains (A.3.2), but for AdamW in place of Adam. The paper does not state the learning rate; this is the
usual one of BERT's fine-tuning. Both texts of a pair are cut together, where the paper cuts each at 256 tokens."""


TRIES = 10
"The most draws of a negative of another group; after that, the pair is left out."


class TripleContrast(Contrastive):
    """The anchor is read with the positive and with the negative, and should score higher with the positive."""

    def __init__(self) -> None:
        def loss(positive: torch.Tensor, negative: torch.Tensor, groups: torch.Tensor) -> torch.Tensor:  # noqa: ARG001
            from tagwright.papers.losses import score_contrast

            return score_contrast(positive[:, 0], negative)

        super().__init__(loss)

    def views(self, batch: Sequence[Pair], step: int) -> Sequence[Sequence[Text]]:  # noqa: ARG002
        """Anchors with positives, anchors with negatives; all pairs are `Triple`s."""
        triples = cast("Sequence[Triple]", batch)
        return [(t.anchor, t.positive) for t in triples], [(t.anchor, t.negative) for t in triples]


def train_cross_encoder(
    encoder: CrossEncoder,
    triples: PairSource,
    plan: TrainingPlan = CROSS,
    steps: Steps = Steps(),
) -> CrossEncoder:
    """The cross-encoder trained on `Triple`s; its model is trained in place. steps: see `loop.train`.

    Raises ConfigError when the triples do not fill a batch.
    """
    check_batch(triples, plan)
    train(encoder.model, triples, TripleContrast(), plan, steps)
    return CrossEncoder.of(encoder.model, encoder.name)


def with_negatives(pairs: PairSource, *, seed: int = 0) -> Callable[[int], Iterator[Triple]]:
    """The pairs as `Triple`s: the negative of each is the positive of a pair of another group, never one of its anchor.

    So negatives resemble positives, for instance in length. Neighbours of the anchor can be among them: a source that
    knows the neighbours gives better triples. All pairs of an epoch are in memory.
    """

    def triples(epoch: int) -> Iterator[Triple]:
        drawn, own = list(pairs(epoch)), defaultdict[str, set[str]](set)
        for pair in drawn:
            own[pair.anchor].add(pair.positive)
        rng = np.random.default_rng((seed, epoch))
        for pair in drawn:
            others = (drawn[i] for i in rng.integers(len(drawn), size=TRIES).tolist())
            foreign = (o.positive for o in others if o.group != pair.group and o.positive not in own[pair.anchor])
            negative = next(foreign, None)
            if negative is not None:
                yield Triple(pair.anchor, pair.positive, pair.group, negative)

    return triples
