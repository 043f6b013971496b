from __future__ import annotations

import json
import math
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch
from accelerate import Accelerator
from hypothesis import given
from hypothesis import strategies as st
from safetensors.torch import load_file
from tests.tiny import tiny_encoder

from tagwright.core.steps import NAME, Steps
from tagwright.encoders.cross_encoder import CrossEncoder
from tagwright.errors import ConfigError
from tagwright.papers.cross_encoder import CROSS, TripleContrast, train_cross_encoder, with_negatives
from tagwright.training.gradient_caching import GradientCache
from tagwright.training.loop import train
from tagwright.training.objectives import Text
from tagwright.training.trainable_encoder import trainable_encoder
from tagwright.types import Pair, Triple

pytestmark = pytest.mark.usefixtures("one_thread")

TOPICS = {"bee": "honey", "wasp": "wing", "bank": "money", "market": "stock", "river": "water"}
TRAINING = replace(CROSS, steps=12, learning_rate=5e-3, validation=0.2, log_every=1, checkpoint_seconds=0, seed=2)


def triples(epoch: int) -> Iterator[Triple]:
    """A topic with its own word, and that of another topic."""
    rng = np.random.default_rng(epoch)
    topics = list(TOPICS)
    for i in range(40):
        topic, other = rng.choice(topics, 2, replace=False).tolist()
        yield Triple(f"{topic} and {topic}", TOPICS[topic], i, TOPICS[other])


@pytest.fixture
def encoder(tmp_path: Path) -> CrossEncoder:
    return CrossEncoder.load(str(tiny_encoder(tmp_path / "tiny")))


def margins(encoder: CrossEncoder) -> list[float]:
    """How much higher each topic scores with its own word than with the best other."""
    topics, words = list(TOPICS), list(TOPICS.values())
    rows, columns = (part.ravel() for part in np.indices((len(topics), len(words))))
    scores = encoder.score([f"{t} and {t}" for t in topics], words, rows, columns).reshape(len(topics), -1)
    own = np.diag(scores).copy()
    np.fill_diagonal(scores, -np.inf)
    return (own - scores.max(1)).tolist()  # type: ignore[no-any-return]


def test_a_cross_encoder_learns_which_texts_go_together(encoder: CrossEncoder) -> None:
    assert min(margins(encoder)) < 0
    learnt = train_cross_encoder(encoder, triples, replace(TRAINING, steps=200, batch=32, validation=0.0))
    assert min(margins(learnt)) > 1  # 4 and more with any of five seeds


class Stop(Exception):  # noqa: N818
    pass


class StoppingAt(TripleContrast):
    def __init__(self, step: int) -> None:
        super().__init__()
        self.last = step

    def views(self, batch: Sequence[Pair], step: int) -> Sequence[Sequence[Text]]:
        if step == self.last:
            raise Stop
        return super().views(batch, step)


def test_a_run_that_was_stopped_and_resumed_again_and_again_ends_with_the_same_weights(tmp_path: Path) -> None:
    folder = str(tiny_encoder(tmp_path / "tiny"))
    train_cross_encoder(CrossEncoder.load(folder), triples, TRAINING, Steps(tmp_path / "whole"))
    for stop in (1, 6, 11):
        steps = Steps(tmp_path / "stopped", resume=stop > 1)
        with pytest.raises(Stop):
            train(CrossEncoder.load(folder).model, triples, StoppingAt(stop), TRAINING, steps)
        torch.manual_seed(99)
    train_cross_encoder(CrossEncoder.load(folder), triples, TRAINING, Steps(tmp_path / "stopped", resume=True))
    whole, resumed = (load_file(tmp_path / name / NAME) for name in ("whole", "stopped"))
    assert whole.keys() == resumed.keys()
    assert [name for name in whole if not torch.equal(whole[name], resumed[name])] == []


def test_the_loss_is_that_of_the_scores_of_both_pairs(encoder: CrossEncoder, monkeypatch: pytest.MonkeyPatch) -> None:
    """MICoL Eq. 11 with one negative: log(1 + exp(s(d, d-) - s(d, d+)))."""
    monkeypatch.setattr("tagwright.training.trainable_encoder.best_dtype", lambda _: torch.float32)
    batch = [Triple("bee", "honey and a bee", 1, "stock"), Triple("river " * 200, "water", 2, "money " * 200)]
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


def test_the_held_out_loss_chooses_the_weights(encoder: CrossEncoder, tmp_path: Path) -> None:
    train_cross_encoder(encoder, triples, TRAINING, Steps(tmp_path))
    rows = [json.loads(line) for line in (tmp_path / "log.jsonl").read_text().splitlines()]
    measured = [row["validation_loss"] for row in rows if "validation_loss" in row]
    assert len(measured) == 1 + 12
    kept = {n[5:]: w for n, w in load_file(tmp_path / NAME).items() if n.startswith("best/")}
    assert all(torch.equal(weight, kept[name]) for name, weight in encoder.model.named_parameters())


def test_a_batch_of_more_than_there_is_is_refused(encoder: CrossEncoder) -> None:
    with pytest.raises(ConfigError, match="99"):
        train_cross_encoder(encoder, triples, plan=replace(CROSS, batch=99))


@given(groups=st.lists(st.integers(0, 3), max_size=30), epoch=st.integers(0, 2))
def test_a_negative_is_the_positive_of_another_group(groups: list[int], epoch: int) -> None:
    pairs = [Pair(f"anchor {i}", f"{group} {i}", group) for i, group in enumerate(groups)]
    drawn = list(with_negatives(lambda _: pairs, seed=5)(epoch))
    assert drawn == list(with_negatives(lambda _: pairs, seed=5)(epoch))
    assert all(t.negative in {pair.positive for pair in pairs} for t in drawn)
    assert all(int(t.negative.split()[0]) != t.group for t in drawn)
    assert {(t.anchor, t.positive, t.group) for t in drawn} <= {(p.anchor, p.positive, p.group) for p in pairs}


def test_another_positive_of_the_anchor_is_no_negative() -> None:
    pairs = [Pair("bees", "insects", 1), Pair("bees", "honey", 2), Pair("banks", "money", 3)]
    assert {t.negative for t in with_negatives(lambda _: pairs)(0) if t.anchor == "bees"} == {"money"}


def test_a_positive_of_the_anchor_that_another_pair_brings_is_no_negative() -> None:
    pairs = [Pair("bees", "insects", 1), Pair("bees", "honey", 2), Pair("wasps", "insects", 1)]
    drawn = list(with_negatives(lambda _: pairs)(0))
    assert [(t.anchor, t.negative) for t in drawn] == [("wasps", "honey")]


def test_negatives_are_drawn_anew_each_epoch_and_every_pair_gets_one() -> None:
    pairs = [Pair(f"anchor {i}", str(i), i) for i in range(50)]
    first, second = (list(with_negatives(lambda _: pairs)(epoch)) for epoch in (0, 1))
    assert [t.anchor for t in first] == [t.anchor for t in second] == [pair.anchor for pair in pairs]
    assert [t.negative for t in first] != [t.negative for t in second]
