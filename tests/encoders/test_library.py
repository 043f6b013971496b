"""What happens where the library's inner parts are not what they were: the plain way is taken, and said."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.tiny import tiny_encoder

from tagwright.encoders import library
from tagwright.encoders.architecture import architecture_of
from tagwright.encoders.bi_encoder import BiEncoder
from tagwright.encoders.cross_encoder import CrossEncoder
from tagwright.encoders.pair_scoring import BertScores, GeneralScores
from tagwright.encoders.sentence_transformer import General, transformer_of
from tagwright.encoders.transformer import Transformer
from tagwright.errors import ModelError

LOGGED = "the model is computed by sentence-transformers"
ONE = np.array([0])


@pytest.fixture
def tiny(tmp_path: Path) -> str:
    return str(tiny_encoder(tmp_path / "tiny"))


def bi(folder: str) -> Any:
    """A sentence-transformers model in memory."""
    return BiEncoder.load(folder, cached=False).model


def test_our_forward_pass_is_taken_where_it_agrees(tiny: str, caplog: pytest.LogCaptureFixture) -> None:
    model = bi(tiny)
    model.train()
    assert isinstance(BiEncoder.of(model)._forward, Transformer)
    assert isinstance(CrossEncoder.load(tiny)._forward, BertScores)
    assert caplog.messages == []
    assert all(module.training for module in model.modules())  # as it was


def test_a_model_is_compared_once(tiny: str, monkeypatch: pytest.MonkeyPatch) -> None:
    model, calls = bi(tiny), list[object]()
    encode: Callable[..., Any] = model.encode

    def watched(*args: Any, **options: Any) -> Any:
        calls.append(args)
        return encode(*args, **options)

    monkeypatch.setattr(model, "encode", watched)
    for _ in range(3):
        BiEncoder.of(model).encode(["bee"])
    assert len(calls) == 1


def test_vectors_that_differ_are_the_librarys(
    tiny: str, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    model, encode = bi(tiny), Transformer.encode
    monkeypatch.setattr(Transformer, "encode", lambda *args, **options: -encode(*args, **options))
    encoder = BiEncoder.of(model)
    theirs = np.asarray(model.encode(["bee"]))
    assert float(encoder.encode(["bee"])[0] @ theirs[0] / np.linalg.norm(theirs)) > 0.99
    assert isinstance(encoder._forward, General)
    assert isinstance(BiEncoder.of(model)._forward, General)
    assert [LOGGED in message for message in caplog.messages] == [True]  # said once


def test_weights_under_other_names_are_left_to_the_library(
    tiny: str, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    model = bi(tiny)
    state = {f"{name}.new": weights for name, weights in model.transformers_model.state_dict().items()}
    monkeypatch.setattr(model.transformers_model, "state_dict", lambda: state)
    assert isinstance(BiEncoder.of(model)._forward, General)
    assert [LOGGED in message for message in caplog.messages] == [True]


def test_a_comparison_that_fails_is_no_agreement(
    tiny: str, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def encode(*_: Any) -> Any:
        raise TypeError("encode() got an unexpected keyword argument 'show_progress_bar'")

    model = bi(tiny)
    monkeypatch.setattr(model, "encode", encode)
    assert transformer_of(model, architecture_of(model), "float32") is None
    assert "show_progress_bar" in caplog.text


def test_scores_that_differ_are_the_librarys(
    tiny: str, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    plain, encoder, encode = CrossEncoder.load(tiny), CrossEncoder.load(tiny), Transformer.encode
    expected = GeneralScores(plain.model)(plain.pair_tokenizer(["bee"], ["wasp"], ONE, ONE), lambda _: None)
    monkeypatch.setattr(Transformer, "encode", lambda *args, **options: -encode(*args, **options))
    with_head = encoder.model[2]
    next(with_head.parameters()).data.mul_(50)
    found = encoder.score(["bee"], ["wasp"], ONE, ONE)
    assert isinstance(encoder._forward, GeneralScores)
    assert found == pytest.approx(50 * expected, rel=0.05)
    assert [LOGGED in message for message in caplog.messages] == [True]


def test_a_cross_encoder_of_other_parts_is_left_to_the_library(
    tiny: str, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    model: Any = CrossEncoder.load(tiny).model
    del model[0].model.embeddings
    assert BertScores.of(model) is None
    assert LOGGED in caplog.text


def test_modules_are_found_where_older_versions_keep_them(monkeypatch: pytest.MonkeyPatch) -> None:
    found = library.module_class("Dense")
    monkeypatch.setattr(library, "PLACES", ("sentence_transformers.gone", "sentence_transformers.base.modules"))
    assert library.module_class("Dense") is found
    with pytest.raises(ModelError, match=r"has no module Pooling; install sentence-transformers 6"):
        library.module_class("Pooling")
