"""The device that is asked for: where it is there, models are made on it, also when they are loaded later."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch
from tests.tiny import tiny_encoder

from tagwright.encoders import device
from tagwright.encoders.bi_encoder import BiEncoder
from tagwright.encoders.device import best_device, model_settings, threads, uses_gpu
from tagwright.errors import ConfigError


def test_the_processor_is_taken_where_it_is_asked_for(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(device, "has_driver", lambda: True)
    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
    with model_settings(device="cpu"), model_settings():
        assert best_device().type == "cpu"
    assert best_device().type == "cuda"


def test_a_device_that_is_not_there_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    with pytest.raises(ConfigError, match="torch finds no such device"), model_settings(device="cuda"):
        pass
    assert best_device().type == "cpu"


def test_an_encoder_remembers_the_device_it_was_made_for(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with model_settings(device="cpu"):
        encoder = BiEncoder.load(str(tiny_encoder(tmp_path / "tiny")), cached=False)
    monkeypatch.setattr(device, "has_driver", lambda: True)
    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
    assert encoder.encode(["bees"]).shape == (1, encoder.dim)
    assert encoder.model.device.type == "cpu"


def test_torch_is_not_asked_where_there_is_no_driver(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(device, "has_driver", lambda: False)
    monkeypatch.setattr(torch.cuda, "is_available", lambda: pytest.fail("was asked"))
    assert not uses_gpu()


@pytest.mark.parametrize(("said", "expected"), [("1", 1), ("", None), ("0", 1), ("1000000", None), ("two", None)])
def test_encoding_uses_no_more_cores_than_wanted(
    monkeypatch: pytest.MonkeyPatch, said: str, expected: int | None
) -> None:
    monkeypatch.delenv("OMP_NUM_THREADS", raising=False)
    usable = threads()
    monkeypatch.setenv("OMP_NUM_THREADS", said)
    assert threads() == (expected or usable)
