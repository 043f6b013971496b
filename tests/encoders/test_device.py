"""The device that is asked for: where it is there, models are made on it, also when they are loaded later."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import torch
from tests.tiny import tiny_encoder

from tagwright.encoders import cross_encoder, device, sentence_transformer
from tagwright.encoders.bi_encoder import BiEncoder
from tagwright.encoders.cross_encoder import CrossEncoder, _score_by_library
from tagwright.encoders.device import CARD, best_device, model_settings, threads, uses_gpu
from tagwright.encoders.sentence_transformer import General
from tagwright.errors import ConfigError
from tagwright.types import Floats


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


def test_a_card_encodes_more_texts_in_a_call_and_gives_the_same_vectors_and_scores(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(cross_encoder, "best_dtype", lambda _: torch.float32)
    folder = str(tiny_encoder(tmp_path / "tiny"))
    texts = ["bee " * (i % 50) + "honey" for i in range(300)]
    rows = np.arange(300)
    model, cross = BiEncoder.load(folder).model, CrossEncoder.load(folder).model
    calls: list[int] = []
    for each in (model, cross):
        each.register_forward_pre_hook(lambda _, given: calls.append(len(given[0]["input_ids"])))
    encoder, pairs = General(model, "float32"), CrossEncoder.of(cross).pair_tokenizer(texts, texts, rows, rows)

    def computed() -> tuple[Floats, Floats, list[int]]:
        calls.clear()
        return encoder(texts, lambda _: None), _score_by_library(cross, pairs, lambda _: None), [*calls]

    vectors, scores, few = computed()
    assert (max(few), len(few)) == (64, 5 + 10)
    for module in (sentence_transformer, cross_encoder):
        monkeypatch.setattr(module, "feed", lambda _: CARD._replace(encoded=64 * 200))
    again, scores_again, many = computed()
    assert len(many) < len(few) / 1.5
    np.testing.assert_allclose(again, vectors, atol=1e-5)
    np.testing.assert_allclose(scores_again, scores, atol=1e-5)
    assert encoder([], lambda _: None).shape == (0, encoder.dim)
