"""The folder of an unfinished training, after processes that were killed at some step."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import pytest

from tagwright.core.saved import remove_folder
from tagwright.core.steps import Start, resumable
from tagwright.errors import ConfigError

START = Start("rts", {"candidates": 500}, {"documents": "1f"})


class Killed(BaseException):
    """Stands for the end of the process."""


def waiting(output: Path) -> Path:
    """A training with a checkpoint."""
    with resumable(output, START, resume=False) as folder:
        assert folder
        (folder / "checkpoint.safetensors").write_bytes(b"weights")
    return folder


def write_half(path: Path, text: str, **_: Any) -> None:
    with path.open("w", encoding="utf-8") as file:
        file.write(text[: len(text) // 2])
    raise Killed


def test_a_kill_while_a_resumed_training_records_itself_costs_no_checkpoint(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    waiting(tmp_path / "M")
    with monkeypatch.context() as patch, pytest.raises(Killed):
        patch.setattr(Path, "write_text", write_half)
        with resumable(tmp_path / "M", START, resume=True):
            pass
    with resumable(tmp_path / "M", START, resume=True) as folder:
        assert folder
        assert (folder / "checkpoint.safetensors").read_bytes() == b"weights"


def test_a_kill_while_a_training_records_itself_first_blocks_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as patch, pytest.raises(Killed):
        patch.setattr(Path, "write_text", write_half)
        with resumable(tmp_path / "M", START, resume=False):
            pass
    waiting(tmp_path / "M")


def test_a_kill_while_a_finished_training_is_removed_blocks_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = waiting(tmp_path / "M")

    def remove_first(path: Path, **_: Any) -> None:
        if path.is_dir():
            (path / "manifest.json").unlink()
            raise Killed

    with monkeypatch.context() as patch, pytest.raises(Killed):
        patch.setattr(shutil, "rmtree", remove_first)
        remove_folder(folder)
    waiting(tmp_path / "M")
    assert [each.name for each in tmp_path.iterdir() if "M" in each.name] == ["M.training"]


def test_what_a_killed_process_was_writing_is_nothing_to_resume(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with resumable(tmp_path / "M", START, resume=False) as folder:
        assert folder
        (folder / ".checkpoint.safetensors.tmp01234567").write_bytes(b"wei")
        (folder / ".checkpoint.safetensors.lock").touch()
    with resumable(tmp_path / "M", START, resume=False):
        pass
    with resumable(tmp_path / "M", START, resume=True):
        pass
    assert "no training to resume; starting anew" in capsys.readouterr().err


def test_another_training_is_not_resumed(tmp_path: Path) -> None:
    waiting(tmp_path / "M")
    other = Start("rts", {"candidates": 10}, START.data)
    with (
        pytest.raises(ConfigError, match="was started with candidates 500, not 10"),
        resumable(tmp_path / "M", other, resume=True),
    ):
        pass
