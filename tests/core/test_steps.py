"""The folder of an unfinished training, after processes that were killed at some step."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tagwright.core.steps import LOG, NAME, State, Steps, open_steps
from tagwright.errors import ConfigError, InputError, ModelError, TagwrightError

STATE = State(
    {
        "weights": np.arange(6, dtype=np.float32).reshape(2, 3).T,
        "step": np.array(7, np.float32),
        "none": np.zeros((0, 4), np.int64),
        "half": np.array([0.5, -1], np.float16),
    },
    {"epoch": 2, "best": None, "weights": {"svm": 0.1}},
)
"Arrays of several kinds: transposed, a number, empty."

START = {"method": "rts", "options": {"candidates": 500}, "data": {"documents": "1f"}}


class Killed(BaseException):
    """Stands for the end of the process."""


def same(found: State | None, expected: State) -> bool:
    return (
        found is not None
        and found.values == expected.values
        and found.arrays.keys() == expected.arrays.keys()
        and all(found.arrays[name].dtype == array.dtype for name, array in expected.arrays.items())
        and all(np.array_equal(found.arrays[name], array) for name, array in expected.arrays.items())
    )


def never() -> State:
    raise AssertionError("a finished step is not repeated")


def waiting(output: Path) -> Path:
    """A training with a checkpoint."""
    with open_steps(output, START, resume=False) as steps:
        steps.keep(STATE, {})
    return output.with_name(f"{output.name}.training")


@pytest.mark.parametrize(
    ("stop", "resume", "waits"),
    [
        (InputError("no word is in two documents"), False, False),
        (InputError("no word is in two documents"), True, False),
        (ConfigError("a batch is more pairs than there are"), False, False),
        (ConfigError("needs torch, which is not installed"), True, True),  # elsewhere it may succeed
        (TagwrightError("no space is left"), False, True),
        (KeyboardInterrupt(), False, True),
    ],
)
def test_what_would_be_refused_again_is_not_kept_to_be_resumed(
    tmp_path: Path, stop: BaseException, resume: bool, waits: bool
) -> None:
    folder = waiting(tmp_path / "M") if resume else tmp_path / "M.training"
    with pytest.raises(type(stop)), open_steps(tmp_path / "M", START, resume=resume) as steps:
        steps.within("corpus").keep(STATE, {})
        raise stop
    assert folder.exists() == waits


def test_two_trainings_do_not_run_in_one_folder(tmp_path: Path) -> None:
    other = {**START, "data": {"documents": "2a"}}
    with open_steps(tmp_path / "M", START, resume=False) as steps:
        for resume in (False, True):
            with (
                pytest.raises(TagwrightError, match=r"M\.training: another process is writing there"),
                open_steps(tmp_path / "M", other, resume=resume),
            ):
                raise AssertionError("it is refused before it begins")
        steps.keep(STATE, {})
    with open_steps(tmp_path / "M", START, resume=True) as steps:
        assert same(steps.latest({}), STATE)
    assert [path.name for path in tmp_path.iterdir()] == ["M.training"]


def test_a_finished_step_is_read_when_it_is_resumed_and_made_anew_otherwise(tmp_path: Path) -> None:
    config = {"seed": 1}
    assert Steps(tmp_path).once("svm", lambda: STATE, config) is STATE
    resumed = Steps(tmp_path, resume=True)
    assert resumed.has("svm")
    assert same(resumed.once("svm", never, config), STATE)
    anew = State({}, {"epoch": 3})
    assert not Steps(tmp_path).has("svm")
    assert Steps(tmp_path).once("svm", lambda: anew, {"seed": 2}) is anew
    assert same(resumed.once("svm", never, {"seed": 2}), anew)
    assert not resumed.within("svm").has("0")
    assert resumed.within("svm").once("0", lambda: STATE) is STATE
    assert same(resumed.once("svm", never, {"seed": 2}), anew)


def test_without_a_folder_every_step_is_made() -> None:
    nowhere = Steps(resume=True).within("svm")
    nowhere.keep(STATE, {})
    assert (nowhere.latest({}), nowhere.has("0"), nowhere.configs()) == (None, False, {})
    assert nowhere.once("0", lambda: STATE) is STATE


def test_a_step_that_was_started_with_another_config_is_refused(tmp_path: Path) -> None:
    started = {"options": {"cost": 1, "loss": "hinge"}, "data": {"documents": "1f"}}
    Steps(tmp_path).once("svm", lambda: STATE, started)
    resumed = Steps(tmp_path, resume=True)
    for changed, message in (
        ({"options": {"cost": 2, "loss": "hinge"}}, f"{tmp_path / 'svm' / NAME}: was started with cost 1, not 2"),
        ({"data": {"documents": "2a"}}, "was started with other documents; resume it with the same options and data"),
    ):
        with pytest.raises(ConfigError, match=re.escape(message)):
            resumed.once("svm", never, {**started, **changed})


def test_the_first_process_writes_and_all_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    resumed = Steps(tmp_path, resume=True)
    monkeypatch.setenv("RANK", "1")
    assert resumed.once("svm", lambda: STATE) is STATE
    assert not any(tmp_path.iterdir())
    monkeypatch.setenv("RANK", "0")
    resumed.once("svm", lambda: STATE)
    monkeypatch.setenv("RANK", "1")
    assert same(resumed.once("svm", never), STATE)


@pytest.mark.parametrize("content", [b"", b"PK", b"\x08\0\0\0\0\0\0\0{}      "])
def test_a_damaged_step_is_an_error(tmp_path: Path, content: bytes) -> None:
    steps = Steps(tmp_path, resume=True)
    steps.keep(STATE, {"seed": 1})
    (tmp_path / NAME).write_bytes(content)
    with pytest.raises(ModelError, match=rf"{NAME}: damaged \(.*; train without resuming"):
        steps.latest({"seed": 1})


def test_a_kill_while_a_state_is_replaced_leaves_the_old_one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    steps = Steps(tmp_path, resume=True)
    steps.keep(STATE, {})

    def half(_: Any, path: Path, *__: Any) -> None:
        path.write_bytes(b"half")
        raise Killed

    with monkeypatch.context() as patch, pytest.raises(Killed):
        patch.setattr("safetensors.numpy.save_file", half)
        steps.keep(State({}), {})
    assert same(steps.latest({}), STATE)


def test_the_configs_of_the_steps_with_a_log_are_known(tmp_path: Path) -> None:
    steps = Steps(tmp_path)
    for name in ("stage-1", "stage-2", "damaged"):
        steps.within(name).keep(STATE, {"name": name})
        (tmp_path / name / LOG).touch()
    (tmp_path / "damaged" / NAME).write_bytes(b"PK")
    steps.within("svm").keep(STATE, {"cost": 1})
    assert steps.configs() == {"stage-1": {"name": "stage-1"}, "stage-2": {"name": "stage-2"}}
