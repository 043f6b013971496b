"""The device that is asked for: where it is there, models are made on it, also when they are loaded later."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch
from tests.tiny import tiny_encoder

from tagwright.encoders import kernels
from tagwright.encoders.bi_encoder import BiEncoder
from tagwright.encoders.kernels import best_device, on_device
from tagwright.errors import ConfigError


def test_the_processor_is_taken_where_it_is_asked_for(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
    with on_device("cpu"), on_device("auto"):
        assert best_device().type == "cpu"
    assert best_device().type == "cuda"


def test_a_device_that_is_not_there_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    with pytest.raises(ConfigError, match="torch finds no such device"), on_device("cuda"):
        pass
    assert best_device().type == "cpu"


def test_an_encoder_remembers_the_device_it_was_made_for(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with on_device("cpu"):
        encoder = BiEncoder.load(str(tiny_encoder(tmp_path / "tiny")), cached=False)
    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
    monkeypatch.setattr(kernels, "best_dtype", lambda _: torch.float32)
    assert encoder.encode(["bees"]).shape == (1, encoder.dim)
    assert encoder.model.device.type == "cpu"
