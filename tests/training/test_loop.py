from __future__ import annotations

import logging
import random
import time
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any, TypeAlias

import pytest
import torch
from sentence_transformers import SentenceTransformer
from tests.tiny import tiny_encoder
from tests.training.launching import start
from tests.training.training_run import (
    TRAINING,
    Watching,
    logged,
    pairs,
    plain_loss,
    resume_alone,
    run,
    run_with_workers,
    state,
)

from tagwright.core.progress import silence
from tagwright.core.steps import NAME, Steps
from tagwright.encoders.bi_encoder import BiEncoder
from tagwright.encoders.static import distil
from tagwright.errors import ConfigError, TagwrightError, on_command_line
from tagwright.training import loop
from tagwright.training.callbacks import Row, watch
from tagwright.training.config import TrainingPlan, rate_at
from tagwright.training.loop import History, train
from tagwright.training.objectives import Contrastive, Text
from tagwright.types import Pair

pytestmark = pytest.mark.usefixtures("one_thread")


@pytest.fixture(scope="module")
def encoder(tmp_path_factory: pytest.TempPathFactory) -> str:
    return str(tiny_encoder(tmp_path_factory.mktemp("encoder") / "tiny"))


@pytest.fixture(scope="module")
def static(encoder: str, tmp_path_factory: pytest.TempPathFactory) -> str:
    folder = str(tmp_path_factory.mktemp("encoder") / "static")
    distil(Path(folder), encoder)
    return folder


Whole: TypeAlias = tuple[History, Path]
"A training that nothing stopped, and its folder."


@pytest.fixture(scope="module")
def encoder_whole(encoder: str, tmp_path_factory: pytest.TempPathFactory) -> Whole:
    return _whole(encoder, tmp_path_factory.mktemp("whole"))


@pytest.fixture(scope="module")
def static_whole(static: str, tmp_path_factory: pytest.TempPathFactory) -> Whole:
    return _whole(static, tmp_path_factory.mktemp("whole"))


def _whole(folder: str, output: Path) -> Whole:
    """With one thread, as `one_thread` is for each test alone."""
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        return run(folder, output), output
    finally:
        torch.set_num_threads(before)


def assert_equal(left: Mapping[str, torch.Tensor], right: Mapping[str, torch.Tensor]) -> None:
    assert left.keys() == right.keys()
    assert [name for name in left if not torch.equal(left[name], right[name])] == []


class Stop(Exception):  # noqa: N818
    pass


class StoppingAt(Watching):
    def __init__(self, step: int) -> None:
        super().__init__(plain_loss)
        self.last = step

    def views(self, batch: Sequence[Pair], step: int) -> Sequence[Sequence[Text]]:
        if step == self.last:
            raise Stop
        return super().views(batch, step)


@pytest.mark.parametrize("kind", ["encoder", "static"])
def test_a_run_that_was_stopped_and_resumed_again_and_again_ends_with_the_same_weights(
    kind: str, tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    folder, (whole, output) = request.getfixturevalue(kind), request.getfixturevalue(f"{kind}_whole")
    for stop in (1, 7, 13):
        with pytest.raises(Stop):
            train(
                SentenceTransformer(folder, device="cpu"),
                pairs,
                StoppingAt(stop),
                TRAINING,
                Steps(tmp_path / "stopped", resume=stop > 1),
            )
        torch.manual_seed(99)  # the state of the process has no part in it
    resumed = run(folder, tmp_path / "stopped", resume=True)
    assert_equal(state(tmp_path / "stopped"), state(output))
    assert logged(tmp_path / "stopped", "loss") == logged(output, "loss")
    assert resumed[1:] == whole[1:]


def test_processes_that_prepare_batches_change_nothing(static: str, static_whole: Whole, tmp_path: Path) -> None:
    """In a process of its own: one that has run a thousand other tests has too many threads to fork safely."""
    process = start(run_with_workers, static, tmp_path, 4)
    process.join()
    assert process.exitcode == 0
    assert_equal(state(tmp_path), state(static_whole[1]))
    assert logged(tmp_path, "loss") == logged(static_whole[1], "loss")


def test_weights_in_half_precision_are_stored_as_they_are(static: str, tmp_path: Path) -> None:
    models = [SentenceTransformer(static, device="cpu").bfloat16() for _ in range(3)]
    train(models[0], pairs, Watching(plain_loss), TRAINING)
    with pytest.raises(Stop):
        train(models[1], pairs, StoppingAt(13), TRAINING, Steps(tmp_path))
    train(models[2], pairs, Watching(plain_loss), TRAINING, Steps(tmp_path, resume=True))
    assert_equal(dict(models[2].named_parameters()), dict(models[0].named_parameters()))


@pytest.mark.slow
def test_a_run_killed_at_random_moments_and_resumed_ends_with_the_same_weights(
    encoder: str, encoder_whole: Whole, tmp_path: Path
) -> None:
    output, rng = tmp_path / "killed", random.Random(0)
    for rows in (3, 12, 24):
        process = start(resume_alone, encoder, output)
        log = output / "log.jsonl"
        while process.is_alive() and (not log.exists() or len(log.read_text().splitlines()) < rows):
            time.sleep(0.002)
        time.sleep(rng.random() * 0.1)
        process.kill()  # on a fast machine it may have ended by then
        process.join()
    process = start(resume_alone, encoder, output)
    process.join()
    assert process.exitcode == 0
    assert_equal(state(output), state(encoder_whole[1]))
    assert logged(output, "loss") == logged(encoder_whole[1], "loss")
    assert {file.name for file in output.iterdir()} == {NAME, "log.jsonl"}


def test_the_best_weights_are_kept_or_else_the_last_and_the_folder_loads_elsewhere(static: str, tmp_path: Path) -> None:
    model = SentenceTransformer(static, device="cpu")
    rows, _, loss = run(static, tmp_path, replace(TRAINING, steps=None, epochs=2.0, validation=0.0, batch=7))
    assert loss is None
    assert rows[-1]["step"] == 2 * (60 // 7)
    assert not any(name.startswith("best/") for name in state(tmp_path))
    rows, best_step, _ = train(model, pairs, Watching(plain_loss), TRAINING, Steps(tmp_path / "run"))
    losses = {row["step"]: row["validation_loss"] for row in rows if "validation_loss" in row}
    assert list(losses) == [0, 6, 12, 18, 24]
    assert best_step == min(losses, key=lambda step: losses[step]) > 0
    assert_equal(
        dict(model.named_parameters()),
        {name[5:]: tensor for name, tensor in state(tmp_path / "run").items() if name.startswith("best/")},
    )
    model.save(str(tmp_path / "saved"), create_model_card=False)
    texts = ["a bee and honey", "the stock market"]
    ours = BiEncoder.load(str(tmp_path / "saved"), cached=False).encode(texts)
    theirs = SentenceTransformer(str(tmp_path / "saved"), device="cpu").encode(texts, normalize_embeddings=True)
    assert (ours * theirs).sum(1).min() > 0.999


def test_training_brings_pairs_together_that_were_not(encoder: str) -> None:
    anchors, positives = ["bee", "wasp", "flower", "river"], ["money", "bank", "price", "stock"]
    model = SentenceTransformer(encoder, device="cpu")

    def nearest() -> list[int]:
        similarities = model.similarity(model.encode(anchors), model.encode(positives))
        return similarities.argmax(1).tolist()

    assert nearest() != [0, 1, 2, 3]
    source = [Pair(anchor, positive, i) for i, (anchor, positive) in enumerate(zip(anchors, positives, strict=True))]
    training = TrainingPlan(batch=4, steps=60, learning_rate=1e-2, validation=0.0)
    train(model, lambda _: source, Contrastive(plain_loss), training)
    assert nearest() == [0, 1, 2, 3]


def test_without_a_terminal_one_line_says_how_long_and_where_the_log_is(
    static: str, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(logging.getLogger(), "handlers", [])
    with on_command_line():
        said_of_a_training(static, tmp_path, capsys, monkeypatch)


def said_of_a_training(
    static: str, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """A training says a line, one that is resumed when it has ended none, one without a folder no place."""
    run(static, tmp_path)
    logged = f"logged in {tmp_path / 'log.jsonl'}, which a saved tagger keeps as training*.jsonl"
    assert capsys.readouterr().err == f"tagwright: training: 24 steps of 8 pairs, {logged}\n"
    run(static, tmp_path, resume=True)
    assert capsys.readouterr().err == ""  # nothing is left to do
    run(static, None)
    assert capsys.readouterr().err == "tagwright: training: 24 steps of 8 pairs\n"
    with silence():
        run(static, None)
    assert capsys.readouterr().err == ""
    monkeypatch.setattr("sys.stderr.isatty", lambda: True)
    run(static, None)
    assert "steps" not in capsys.readouterr().err


def test_callbacks_are_called_with_each_row_of_the_log_and_at_the_end(
    static: str, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    class Watching:
        def __init__(self) -> None:
            self.rows, self.ends = list[Row](), list[Sequence[Row]]()

        def on_step(self, row: Row) -> None:
            self.rows.append(row)

        def on_end(self, rows: Sequence[Row]) -> None:
            self.ends.append(rows)

    outer, inner = Watching(), Watching()
    with watch(outer):
        with watch(inner), caplog.at_level("INFO"):
            rows, *_ = run(static, tmp_path, replace(TRAINING, steps=2))
        run(static, None, replace(TRAINING, steps=1))
    run(static, None, replace(TRAINING, steps=1))
    assert inner.rows == rows
    assert inner.ends == [rows]
    assert [row["step"] for row in outer.rows] == [0, 1, 1, 2, 2, 0, 1, 1]
    assert len(outer.ends) == 2
    assert "training on cpu in float32" in caplog.messages


def test_a_batch_has_a_pair_for_each_process(static: str, monkeypatch: pytest.MonkeyPatch) -> None:
    many = SimpleNamespace(num_processes=9, is_main_process=True, device=torch.device("cpu"))
    monkeypatch.setattr(loop, "join_processes", lambda: many)
    with pytest.raises(ConfigError, match="a batch is 8 pairs, expected at least one for each of 9 processes"):
        run(static, None)


def test_resuming_with_other_options_is_refused(static: str, tmp_path: Path) -> None:
    run(static, tmp_path, replace(TRAINING, steps=2))
    with pytest.raises(ConfigError, match=r"started with learning_rate 0\.005, not 0\.1"):
        run(static, tmp_path, replace(TRAINING, steps=2, learning_rate=0.1), resume=True)


def test_a_finished_run_is_resumed_unchanged_and_one_without_checkpoint_begins_anew(
    static: str, tmp_path: Path
) -> None:
    first = run(static, tmp_path, replace(TRAINING, steps=2))
    again = run(static, tmp_path, replace(TRAINING, steps=2), resume=True)
    assert again == first
    (tmp_path / NAME).unlink()
    assert run(static, tmp_path, replace(TRAINING, steps=2), resume=True)[2] == first[2]


def test_a_loss_that_is_no_number_is_an_error_that_names_the_step(static: str) -> None:
    class Broken(Watching):
        def loss(self, views: Sequence[torch.Tensor], groups: torch.Tensor) -> torch.Tensor:
            return super().loss(views, groups) * torch.nan

    with pytest.raises(TagwrightError, match="the loss of step 1 is nan; lower learning_rate"):
        train(SentenceTransformer(static, device="cpu"), pairs, Broken(plain_loss), TRAINING)


def test_training_leaves_torchs_own_chance_and_the_attention_as_they_were(encoder: str) -> None:
    model = SentenceTransformer(encoder, device="cpu")
    inner: Any = model.transformers_model
    before, attention = torch.get_rng_state(), inner.config._attn_implementation
    train(model, pairs, Watching(plain_loss), replace(TRAINING, steps=2))
    assert torch.equal(torch.get_rng_state(), before)
    assert inner.config._attn_implementation == attention
    assert not model.training


def test_the_rate_rises_to_its_highest_and_would_reach_nothing_after_the_last_step() -> None:
    rates = [rate_at(step, 100, 10) for step in range(101)]
    assert max(rates) == rates[9] == rates[10] == 1.0
    assert rates == sorted(rates[:10]) + sorted(rates[10:], reverse=True)
    assert rates[100] == 0
    # RTS 4.2.3: to a tenth, along a line. Without decay it stays, without warm-up it begins at its highest.
    tenth = [rate_at(step, 100, 0, decay=0.9) for step in range(101)]
    assert (tenth[0], tenth[50], tenth[100]) == pytest.approx((1.0, 0.55, 0.1))
    assert {rate_at(step, 100, 0, decay=0.0) for step in range(101)} == {1.0}


@pytest.mark.parametrize(
    ("options", "fourth"),
    [({"warmup": 0.5}, 0.1), ({"warmup_steps": 5}, 0.08), ({"warmup": 0.5, "warmup_steps": 0}, 0.0625)],
)
def test_warm_up_is_a_share_of_the_steps_or_a_number_of_them(options: dict[str, Any], fourth: float) -> None:
    """The highest rate is 0.1; the fourth of eight steps is the last of half of them, or the fourth of five."""
    assert TrainingPlan(learning_rate=0.1, **options).rate(3, steps=8) == pytest.approx(fourth)
