"""Steps of few tokens in fixed shapes learn what others learn: tried on the processor."""

from __future__ import annotations

import logging
import warnings
from collections.abc import Callable
from dataclasses import replace
from typing import Any
from unittest import mock

import numpy as np
import pytest
import torch
from accelerate import Accelerator
from sentence_transformers import SentenceTransformer
from tests.training.training_run import TRAINING, Watching, bi_encoder, cross_encoder, pairs, plain_loss, texts

from tagwright.encoders.device import PROCESSOR
from tagwright.papers.losses import TripleContrast, in_batch
from tagwright.training import captured
from tagwright.training import trainable_encoder as trainables
from tagwright.training.captured import CapturedSteps
from tagwright.training.gradient_caching import GradientCache
from tagwright.training.loop import train
from tagwright.training.objectives import Contrastive, Objective
from tagwright.training.optimiser import AdamW
from tagwright.training.trainable_encoder import Transformer

pytestmark = pytest.mark.usefixtures("exact")

FIXED = replace(TRAINING, dropout="off", learning_rate=1e-3, activation_token_budget=None)

VIEWS, GROUPS = [12, 12], np.arange(12)


@pytest.fixture(autouse=True)
def in_fixed_shapes(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(trainables, "feed", lambda _: PROCESSOR._replace(captured=10**6))
    monkeypatch.setattr(captured, "LENGTHS", 16)


class Keeping(AdamW):
    """Keeps the gradients of a step."""

    kept: torch.Tensor

    def step(self, rate: float | torch.Tensor) -> torch.Tensor:
        self.kept = torch.cat([weight.grad.flatten() for weight in self.weights.values() if weight.grad is not None])
        return super().step(rate)


def optimiser_of(encoder: Transformer, clip: float = 1.0) -> Keeping:
    return Keeping({name: (weight, 1.0) for name, weight in encoder.model.named_parameters()}, 0.01, clip)


def steps_of(encoder: Transformer, optimiser: AdamW, objective: Objective | None = None) -> CapturedSteps:
    return CapturedSteps(GradientCache(encoder, Accelerator()), objective or in_batch(0.05), optimiser)


@pytest.mark.parametrize(
    ("make", "objective"), [(bi_encoder, in_batch(0.05)), (cross_encoder, TripleContrast())], ids=["bi", "cross"]
)
def test_loss_gradients_and_weights_are_those_of_a_step_that_is_not_captured(
    make: Callable[[str], Transformer], objective: Objective, folder: str
) -> None:
    off, found = np.zeros(24, np.bool_), []
    for is_captured in (False, True):
        encoder = make(folder)
        encoder.model.double()  # in which the order of sums hardly counts
        optimiser, tokens = optimiser_of(encoder), encoder.tokenize(texts(encoder))
        if is_captured:
            done = steps_of(encoder, optimiser, objective).step(tokens, off, VIEWS, GROUPS, 0, 1e-3)
            assert done
        else:
            loss = lambda vectors: objective.loss(torch.split(vectors, VIEWS), torch.from_numpy(GROUPS))  # noqa: E731
            value = GradientCache(encoder, Accelerator(), 100).backward(tokens, off, 0, loss)
            done = value, optimiser.step(1e-3)
        found.append((done, optimiser.kept, torch.cat([w.flatten() for w in optimiser.weights.values()])))
    (plain, gradients, weights), (fixed, own_gradients, own_weights) = found
    assert gradients.abs().max() > 0.01
    for own, expected in ((fixed, plain), (own_gradients, gradients), (own_weights, weights)):
        torch.testing.assert_close(own, expected, rtol=1e-9, atol=1e-9)


def test_a_training_in_fixed_shapes_ends_as_one_without(folder: str, monkeypatch: pytest.MonkeyPatch) -> None:
    ends = []
    used = list[tuple[int, ...]]()
    backward = CapturedSteps._backward

    def noted(steps: CapturedSteps, inputs: Any, views: Any) -> torch.Tensor:
        used.append(inputs["input_ids"].shape)
        return backward(steps, inputs, views)

    monkeypatch.setattr(CapturedSteps, "_backward", noted)
    for most in (0, 10**6):
        monkeypatch.setattr(trainables, "feed", lambda _, most=most: PROCESSOR._replace(captured=most))
        model = SentenceTransformer(folder, device="cpu")
        rows, *_ = train(model, pairs, Contrastive(plain_loss), FIXED)
        ends.append([row["loss"] for row in rows if "loss" in row])
        assert len(used) == (FIXED.steps if most else 0)
    assert set(used) <= {(16, 16), (16, 32), (16, 48), (16, 64)}
    np.testing.assert_allclose(ends[1], ends[0], rtol=1e-3)
    assert ends[0][-1] < ends[0][0]


def test_masks_of_dropout_are_those_of_the_step(folder: str) -> None:
    losses = []
    for number in (1, 2, 1):
        encoder = bi_encoder(folder)
        steps = steps_of(encoder, optimiser_of(encoder))
        done = steps.step(encoder.tokenize(texts(encoder)), np.ones(24, np.bool_), VIEWS, GROUPS, number, 1e-3)
        assert done
        losses.append(float(done[0]))
    assert losses[0] == losses[2] != losses[1]


def test_each_step_has_its_own_rate(folder: str) -> None:
    encoder = bi_encoder(folder)
    optimiser, tokens = optimiser_of(encoder), encoder.tokenize(texts(encoder))
    steps, moved = steps_of(encoder, optimiser), []
    bias = next(weight for name, weight in optimiser.weights.items() if name.endswith("output.dense.bias"))
    for rate in (0.0, 1e-3):
        before = bias.detach().clone()
        steps.step(tokens, np.zeros(24, np.bool_), VIEWS, GROUPS, 0, rate)
        moved.append(float((bias.detach() - before).abs().max()))
    assert moved[0] == 0
    assert moved[1] == pytest.approx(1e-3, rel=0.2)  # the second of two equal gradients


def test_larger_steps_mixed_dropout_and_changing_losses_are_left_to_the_others(folder: str) -> None:
    encoder = bi_encoder(folder)
    encoder.feed = PROCESSOR._replace(captured=24 * 32)
    steps = steps_of(encoder, optimiser_of(encoder))
    short, long = (encoder.tokenize(texts(encoder, most)) for most in (8, 30))
    off, mixed = np.zeros(24, np.bool_), np.arange(24) < 12
    assert steps.step(short, off, VIEWS, GROUPS, 0, 1e-3)
    assert steps.step(long, off, VIEWS, GROUPS, 0, 1e-3) is None
    assert steps.step(short, mixed, VIEWS, GROUPS, 0, 1e-3) is None
    watching = steps_of(encoder, optimiser_of(encoder), Watching(plain_loss))
    assert watching.step(short, off, VIEWS, GROUPS, 0, 1e-3) is None


def test_a_step_that_cannot_be_captured_leaves_nothing_behind_and_one_line_says_so(
    folder: str, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def refuse(steps: CapturedSteps, inputs: Any, views: Any) -> None:
        steps._backward(inputs, views)
        raise RuntimeError("operation not permitted when stream is capturing\nat some place")

    monkeypatch.setattr(CapturedSteps, "_captured", refuse)
    ends = []
    for most in (0, 10**6):
        monkeypatch.setattr(trainables, "feed", lambda _, most=most: PROCESSOR._replace(captured=most))
        model = SentenceTransformer(folder, device="cpu")
        with caplog.at_level(logging.WARNING):
            train(model, pairs, Contrastive(plain_loss), replace(FIXED, dropout="all", validation=0.0))
        ends.append(torch.cat([weight.flatten() for weight in model.parameters()]))
    assert torch.equal(*ends)
    [line] = [record.getMessage() for record in caplog.records if "captured" in record.getMessage()]
    assert line.startswith("steps are not captured, and slower: operation not permitted")


def test_after_a_failed_capture_stream_and_generator_are_restored_and_no_more_are_tried(
    folder: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(CapturedSteps, "spoiled", False)
    stream, generator, cuda = mock.Mock(), mock.Mock(), mock.MagicMock()
    stream.device.index = 1
    cuda.current_stream.return_value = stream
    cuda.default_generators = [None, generator]
    cuda.graph.return_value.__exit__.side_effect = RuntimeError("failed due to a previous error during capture")
    encoder = bi_encoder(folder)
    steps, off = steps_of(encoder, optimiser_of(encoder)), np.zeros(24, np.bool_)
    tokens = encoder.tokenize(texts(encoder))
    assert steps.step(tokens, off, VIEWS, GROUPS, 0, 1e-3)
    with (
        mock.patch.object(torch, "cuda", cuda),
        mock.patch.object(torch, "Generator") as made,
        pytest.raises(RuntimeError, match="previous error"),
    ):
        captured.capture(lambda: 1, None)
    made.assert_called_once_with(stream.device)
    cuda.set_stream.assert_called_once_with(stream)
    generator.graphsafe_set_state.assert_called_once_with(made.return_value.graphsafe_get_state.return_value)
    assert steps.step(tokens, off, VIEWS, GROUPS, 0, 1e-3) is None


@pytest.mark.parametrize("said", ["called a synchronizing CUDA operation", "something else"])
def test_a_step_that_waits_is_known_by_warnings_of_torch(said: str, monkeypatch: pytest.MonkeyPatch) -> None:
    modes = list[object]()
    monkeypatch.setattr(torch.cuda, "set_sync_debug_mode", modes.append)
    monkeypatch.setattr(torch.cuda, "get_sync_debug_mode", lambda: 0)

    def compute() -> None:
        assert modes == ["warn"]
        warnings.warn(said, stacklevel=1)

    assert captured.waits(compute) == said.startswith("called")
    assert modes == ["warn", 0]


def test_shapes_and_memory_are_limited(folder: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(captured, "SHAPES", 1)
    encoder = bi_encoder(folder)
    off, (short, long) = np.zeros(24, np.bool_), (encoder.tokenize(texts(encoder, most)) for most in (8, 30))
    steps = steps_of(encoder, optimiser_of(encoder))
    assert steps.step(short, off, VIEWS, GROUPS, 0, 1e-3)
    assert steps.step(long, off, VIEWS, GROUPS, 0, 1e-3) is None
    assert steps.step(short, off, VIEWS, GROUPS, 0, 1e-3)
    no_room = CapturedSteps(GradientCache(encoder, Accelerator(), 100), in_batch(0.05), optimiser_of(encoder))
    assert no_room.step(short, off, VIEWS, GROUPS, 0, 1e-3) is None
