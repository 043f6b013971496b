from __future__ import annotations

import math
from pathlib import Path

import numpy as np
import pytest
import torch
from accelerate import Accelerator
from hypothesis import given
from hypothesis import strategies as st
from tests.tiny import tiny_encoder

from tagwright.encoders.cross_encoder import CrossEncoder
from tagwright.papers.losses import TripleContrast
from tagwright.papers.metadata_pairs import with_negatives
from tagwright.training.gradient_caching import GradientCache
from tagwright.training.trainable_encoder import trainable_encoder
from tagwright.types import Pair

pytestmark = pytest.mark.usefixtures("one_thread")


@pytest.fixture
def encoder(tmp_path: Path) -> CrossEncoder:
    return CrossEncoder.load(str(tiny_encoder(tmp_path / "tiny")))


def test_the_loss_is_that_of_the_scores_of_both_pairs(encoder: CrossEncoder, monkeypatch: pytest.MonkeyPatch) -> None:
    """MICoL Eq. 11 with one negative: log(1 + exp(s(d, d-) - s(d, d+)))."""
    monkeypatch.setattr("tagwright.training.trainable_encoder.best_dtype", lambda _: torch.float32)
    batch = [
        Pair("bee", "honey and a bee", 1, negative="stock"),
        Pair("river " * 200, "water", 2, negative="money " * 200),
    ]
    objective, trained = TripleContrast(), trainable_encoder(encoder.model)
    views = objective.views(batch, 0)
    tokens = trained.tokenize([text for view in views for text in view])
    cache = GradientCache(trained, Accelerator(cpu=True))
    scores = cache.encode(tokens)
    loss = objective.loss(torch.split(scores, 2), torch.tensor([1, 2]))

    def score(first: str, second: str) -> float:
        return float(encoder.score([first], [second], np.array([0]), np.array([0]))[0])

    gaps = [(score(t.anchor, t.negative) - score(t.anchor, t.positive)) for t in batch]
    assert loss.item() == pytest.approx(sum(math.log1p(math.exp(gap)) for gap in gaps) / 2, abs=1e-5)


@given(groups=st.lists(st.integers(0, 3), max_size=30), epoch=st.integers(0, 2))
def test_a_negative_is_the_positive_of_another_group(groups: list[int], epoch: int) -> None:
    pairs = [Pair(f"anchor {i}", f"{group} {i}", group) for i, group in enumerate(groups)]
    drawn = list(with_negatives(lambda _: pairs, seed=5)(epoch))
    assert drawn == list(with_negatives(lambda _: pairs, seed=5)(epoch))
    assert all(t.negative in {pair.positive for pair in pairs} for t in drawn)
    assert all(int(t.negative.split()[0]) != t.group for t in drawn)
    assert {(t.anchor, t.positive, t.group) for t in drawn} <= {(p.anchor, p.positive, p.group) for p in pairs}


def test_a_positive_of_the_anchor_that_another_pair_brings_is_no_negative() -> None:
    pairs = [Pair("bees", "insects", 1), Pair("bees", "honey", 2), Pair("wasps", "insects", 1)]
    drawn = list(with_negatives(lambda _: pairs)(0))
    assert [(t.anchor, t.negative) for t in drawn] == [("wasps", "honey")]


def test_negatives_are_drawn_anew_each_epoch_and_every_pair_gets_one() -> None:
    pairs = [Pair(f"anchor {i}", str(i), i) for i in range(50)]
    first, second = (list(with_negatives(lambda _: pairs)(epoch)) for epoch in (0, 1))
    assert [t.anchor for t in first] == [t.anchor for t in second] == [pair.anchor for pair in pairs]
    assert [t.negative for t in first] != [t.negative for t in second]
