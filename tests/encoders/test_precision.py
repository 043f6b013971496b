from __future__ import annotations

import json
import logging
from itertools import cycle
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from tests.tiny import tiny_encoder

from tagwright.encoders import precision
from tagwright.encoders.bert import factors
from tagwright.encoders.bi_encoder import BiEncoder
from tagwright.encoders.compiled import compiled
from tagwright.encoders.device import best_device, best_dtype
from tagwright.errors import ConfigError
from tagwright.papers.full_text import FullText
from tagwright.stages.dense import Dense
from tagwright.types import Floats, Label

TEXTS = ["a bee", "a wasp and honey, a flower", "", "money " * 100]


@pytest.fixture
def tiny(tmp_path: Path) -> str:
    return str(tiny_encoder(tmp_path / "tiny"))


@pytest.mark.usefixtures("with_int8")
def test_int8_is_near_float32_and_a_text_has_the_same_vector_in_any_company(tiny: str) -> None:
    exact = BiEncoder.load(tiny, precision="float32", cached=False).encode(TEXTS)
    encoder = BiEncoder.load(tiny, precision="int8", cached=False)
    assert (encoder.encode(TEXTS) * exact).sum(1).min() > 0.99
    alone = np.concatenate([encoder.encode([text]) for text in TEXTS])
    assert (encoder.encode(TEXTS) * alone).sum(1).min() > 0.9999


@pytest.mark.parametrize(
    ("speeds", "expected"),
    [
        ({"bfloat16": 1.8, "int8": 2.5}, "int8"),
        ({"bfloat16": 3.0, "int8": 2.0}, "int8"),
        ({"bfloat16": 1.8}, "bfloat16"),
        ({"bfloat16": 1.8, "int8": 1.1}, "bfloat16"),
        ({"bfloat16": 0.03, "int8": 0.9}, "float32"),
        ({}, "float32"),
    ],
)
def test_auto_is_what_this_machine_computes_clearly_faster(
    monkeypatch: pytest.MonkeyPatch, speeds: dict[str, float], expected: str
) -> None:
    monkeypatch.setattr(precision, "speeds", lambda: speeds)
    assert precision.resolve("auto") == expected
    assert precision.resolve("auto", quantisable=False) == (
        "bfloat16" if speeds.get("bfloat16", 0) > 1.2 else "float32"
    )


SPEEDS = precision.speeds  # itself: tests are given a stand-in


def test_what_the_trial_found_is_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(precision, "_machine", lambda: b"a machine of this test")
    monkeypatch.setattr(precision, "_tried", lambda: {"int8": 2.0})
    assert SPEEDS() == {"int8": 2.0}
    monkeypatch.setattr(precision, "_tried", lambda: {"int8": 0.5})
    assert SPEEDS() == {"int8": 2.0}


def test_a_format_with_wrong_products_is_not_used(monkeypatch: pytest.MonkeyPatch) -> None:
    def wrong(weight: Floats, *, int8: bool) -> Any:
        return factors(-weight if int8 else weight, int8=False)

    monkeypatch.setattr(precision, "factors", wrong)
    assert "int8" not in precision._tried()


def test_a_format_that_is_imitated_in_float32_is_never_faster(monkeypatch: pytest.MonkeyPatch) -> None:
    """By its time it would win now and then, where other programs run."""
    monkeypatch.setattr(precision, "compiled", lambda model, _, streams: compiled(model, "float32", streams))
    assert precision._tried() == {"bfloat16": 1.0, "int8": 1.0}


def test_a_format_that_rounds_what_it_multiplies_is_timed(monkeypatch: pytest.MonkeyPatch) -> None:
    class Rounding:
        """Products of a format with 8 bits of mantissa, as bfloat16 has them."""

        def __init__(self, request: Any) -> None:
            self.infer = lambda inputs: request.infer([_rounded(each) for each in inputs])

    def rounding(model: Any, name: Any, streams: int) -> Any:
        found = compiled(model, "float32", streams)
        if name == "float32":
            return found
        return SimpleNamespace(create_infer_request=lambda: Rounding(found.create_infer_request()))

    monkeypatch.setattr(precision, "compiled", rounding)
    clock = cycle([0.0, 4.0, 4.0, 6.0])  # when float32 starts and ends, then the other
    monkeypatch.setattr(precision, "perf_counter", lambda: next(clock))
    assert precision._tried() == {"bfloat16": 2.0, "int8": 2.0}


def _rounded(values: Floats) -> Floats:
    mantissa, exponent = np.frexp(values)
    return np.ldexp(np.round(mantissa * 256) / 256, exponent).astype(np.float32)


def test_a_format_that_openvino_refuses_is_not_used(monkeypatch: pytest.MonkeyPatch) -> None:
    def refused(model: Any, name: Any, streams: int) -> Any:
        if name == "bfloat16":
            raise RuntimeError("no such primitive")
        return compiled(model, name, streams)

    monkeypatch.setattr(precision, "compiled", refused)
    assert "bfloat16" not in precision._tried()


def test_without_openvino_there_is_float32_only(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(precision, "is_installed", lambda: False)
    assert SPEEDS() == {}


@pytest.mark.parametrize(("variable", "value"), [("ONEDNN_MAX_CPU_ISA", "AVX2"), ("ATEN_CPU_CAPABILITY", "avx2")])
def test_torch_on_a_processor_kept_from_bfloat16_does_not_get_it(
    monkeypatch: pytest.MonkeyPatch, variable: str, value: str
) -> None:
    import torch

    for each in ("ONEDNN_MAX_CPU_ISA", "DNNL_MAX_CPU_ISA", "ATEN_CPU_CAPABILITY"):
        monkeypatch.delenv(each, raising=False)
    monkeypatch.setattr(torch.cpu, "get_capabilities", lambda: {"avx512_bf16": True}, raising=False)
    assert best_dtype(torch.device("cpu")) == torch.bfloat16
    monkeypatch.setenv(variable, value)
    assert best_dtype(torch.device("cpu")) == torch.float32


def test_what_cannot_be_had_is_refused_in_a_sentence(tiny: str) -> None:
    with pytest.raises(ConfigError, match="this machine has no right product in it"):
        BiEncoder.load(tiny, precision="int8")
    with pytest.raises(ConfigError, match="precision is 'half', expected one of auto, float32, bfloat16, int8"):
        BiEncoder.load(tiny, precision="half")  # type: ignore[arg-type]


@pytest.mark.usefixtures("with_int8")
def test_vectors_of_different_precision_never_mix(tiny: str) -> None:
    encoders = [BiEncoder.load(tiny, precision=each) for each in ("float32", "bfloat16", "int8")]
    assert len({encoder.fingerprint for encoder in encoders}) == 3


def test_apples_gpu_is_not_used_even_where_the_library_would(tiny: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """A stand-in for a Mac: sentence-transformers takes MPS by itself unless told the device."""
    import sentence_transformers.base.model as model
    from torch.backends import mps

    monkeypatch.setattr(mps, "is_available", lambda: True)
    monkeypatch.setattr(model, "get_device_name", lambda: "mps", raising=False)
    encoder = BiEncoder.load(tiny, cached=False)
    assert encoder.model.device == best_device()
    assert best_device().type != "mps"


def test_a_saved_stage_says_what_its_labels_were_computed_in(
    tiny: str, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    labels = [Label("1", ("bee",)), Label("2", ("wasp",))]
    (tmp_path / "dense").mkdir()
    Dense(labels, BiEncoder.load(tiny, precision="float32")).save(tmp_path / "dense")
    manifest = tmp_path / "dense" / "manifest.json"
    content = json.loads(manifest.read_text())
    assert content["encoder"].items() >= {"asked": "float32", "computed": "float32"}.items()
    loaded = Dense.load(tmp_path / "dense", labels)
    assert isinstance(loaded.encoder, BiEncoder)
    assert loaded.encoder.precision == "float32"
    manifest.write_text(json.dumps({**content, "encoder": {"asked": "float32", "computed": "int8"}}))
    with caplog.at_level(logging.INFO):
        Dense.load(tmp_path / "dense", labels)
    assert "labels were encoded in int8, documents are in float32" in caplog.text


def test_full_texts_keep_the_precision_of_their_dense_part(tiny: str, tmp_path: Path) -> None:
    labels = [Label("1", ("bee",)), Label("2", ("wasp",))]
    FullText(Dense(labels, BiEncoder.load(tiny, precision="float32"))).save(tmp_path)
    encoder = FullText.load(tmp_path, labels).dense.encoder
    assert isinstance(encoder, BiEncoder)
    assert (encoder.asked, encoder.precision) == ("float32", "float32")


def test_the_log_says_what_an_encoder_computes_in(tiny: str, caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.INFO):
        BiEncoder.load(tiny, precision="float32", cached=False).encode(["bee"])
    assert [message for message in caplog.messages if "computes in float32 (precision float32)" in message]


def test_documents_stay_out_of_the_cache_when_asked_to(tiny: str, monkeypatch: pytest.MonkeyPatch) -> None:
    from tagwright.types import Document

    encoder = BiEncoder.load(tiny)
    dense = Dense([Label("1", ("bee",)), Label("2", ("wasp",))], encoder)
    assert encoder.cache is not None
    monkeypatch.setenv("TAGWRIGHT_CACHE_DOCUMENTS", "no")
    dense.read([Document("d", title="honey")])
    assert encoder.cache.get(["bee", "honey"])[1].tolist() == [True, False]
    monkeypatch.delenv("TAGWRIGHT_CACHE_DOCUMENTS")
    dense.read([Document("d", title="honey")])
    assert encoder.cache.get(["bee", "honey"])[1].tolist() == [True, True]
