"""The number format: what is chosen is what the processor has, and never measured by the clock."""

from __future__ import annotations

import logging
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.saved import saved

from tagwright.encoders import precision
from tagwright.encoders.bi_encoder import BiEncoder
from tagwright.encoders.compiled import Computed, compile_graph
from tagwright.encoders.device import best_device, best_dtype
from tagwright.encoders.graphs import factors
from tagwright.errors import ConfigError
from tagwright.papers.full_text import FullText
from tagwright.stages.dense import Dense
from tagwright.types import Document, Floats, Label

TEXTS = ["a bee", "a wasp and honey, a flower", "", "money " * 100]
LABELS = [Label("1", ("bee",)), Label("2", ("wasp",))]
FORMATS = precision.formats  # itself: tests are given a stand-in


@pytest.mark.usefixtures("with_int8")
def test_int8_is_near_float32_and_a_text_has_the_same_vector_in_any_company(tiny: str) -> None:
    exact = BiEncoder.load(tiny, precision="float32", cached=False).encode(TEXTS)
    encoder = BiEncoder.load(tiny, precision="int8", cached=False)
    assert (encoder.encode(TEXTS) * exact).sum(1).min() > 0.99
    alone = np.concatenate([encoder.encode([text]) for text in TEXTS])
    assert (encoder.encode(TEXTS) * alone).sum(1).min() > 0.9999
    encoders = [BiEncoder.load(tiny, precision=each) for each in ("float32", "bfloat16", "int8")]
    assert len({encoder.fingerprint for encoder in encoders}) == 3  # vectors of different precision never mix


@pytest.mark.parametrize(
    ("formats", "expected", "otherwise"),
    [
        ({"bfloat16": True, "int8": True}, "int8", "bfloat16"),
        ({"bfloat16": True, "int8": False}, "bfloat16", "bfloat16"),
        ({"bfloat16": False, "int8": True}, "int8", "float32"),
        ({"bfloat16": False, "int8": False}, "float32", "float32"),
        ({}, "float32", "float32"),
    ],
)
def test_auto_is_what_the_processor_has(
    monkeypatch: pytest.MonkeyPatch, formats: Mapping[Computed, bool], expected: str, otherwise: str
) -> None:
    monkeypatch.setattr(precision, "formats", lambda: formats)
    assert precision.resolve("auto") == expected
    assert precision.resolve("auto", quantisable=False) == otherwise
    assert [precision.resolve(name) for name in formats] == list(formats)  # what is imitated can be asked for


@pytest.mark.parametrize(("said", "held", "expected"), [
    (["BF16", "WINOGRAD", "FP32", "INT8"], "", {"int8": True, "bfloat16": True}),
    (["BF16", "FP32", "INT8"], "", {"int8": True, "bfloat16": False}),
    (["WINOGRAD", "FP32", "INT8"], "", {"int8": True, "bfloat16": False}),
    (["BF16", "WINOGRAD", "FP32", "INT8"], "AVX512_CORE_VNNI", {"int8": True}),
])  # fmt: skip
def test_openvino_says_whether_the_processor_has_bfloat16_and_a_product_kept_in_the_cache_has_int8(
    monkeypatch: pytest.MonkeyPatch, said: list[str], held: str, expected: Mapping[Computed, bool]
) -> None:
    class Core:
        def get_property(self, device: str, name: str) -> list[str]:
            assert (device, name) == ("CPU", "OPTIMIZATION_CAPABILITIES")
            return said

    monkeypatch.setattr(precision, "openvino", lambda: precision_of(Core))
    monkeypatch.setattr(precision, "_processor", lambda: f"a machine of this test {said} {held}".encode())
    monkeypatch.delenv("DNNL_MAX_CPU_ISA", raising=False)
    monkeypatch.setenv("ONEDNN_MAX_CPU_ISA", held)
    for tried in (True, None):  # the second time it is not tried
        monkeypatch.setattr(precision, "try_int8", lambda tried=tried: tried)
        assert FORMATS() == expected


def precision_of(core: type) -> Any:
    """A stand-in for OpenVINO."""
    return type("OpenVINO", (), {"Core": core})


def test_int8_that_is_imitated_in_float32_or_wrong_or_refused_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    """By its time, what is imitated would win now and then, where other programs run."""

    def wrong(weight: Floats, *, int8: bool) -> Any:
        return factors(-weight, int8=int8)

    def refused(model: Any, name: Computed) -> Any:
        raise RuntimeError("no such primitive")

    monkeypatch.setattr(precision, "compile_graph", lambda model, _: compile_graph(model, "float32"))
    assert precision.try_int8() is False
    with monkeypatch.context() as patch:
        patch.setattr(precision, "factors", wrong)
        assert precision.try_int8() is None
    monkeypatch.setattr(precision, "compile_graph", refused)
    assert precision.try_int8() is None


def test_int8_that_rounds_what_it_multiplies_is_the_processors_own(monkeypatch: pytest.MonkeyPatch) -> None:
    def rounding(model: Any, name: Computed) -> Any:
        """Products of activations that are rounded to 8 bits, but in float32."""
        run = compile_graph(model, "float32")
        return run if name == "float32" else lambda parts, inputs: run([np.round(x * 32) / 32 for x in parts], inputs)

    monkeypatch.setattr(precision, "compile_graph", rounding)
    assert precision.try_int8() is True


def test_without_openvino_nothing_is_fast(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(precision, "is_installed", lambda: False)
    monkeypatch.setattr(precision, "formats", FORMATS)
    assert FORMATS() == {"bfloat16": False}
    assert precision.resolve("auto") == "float32"
    assert precision.resolve("bfloat16") == "bfloat16"  # by torch
    with pytest.raises(ConfigError, match=r'in OpenVINO: pip install "tagwright\[minilm'):
        precision.resolve("int8")


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


def test_what_cannot_be_had_is_refused_in_a_sentence(tiny: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(precision, "formats", lambda: {"bfloat16": False})  # whatever this processor has
    with pytest.raises(ConfigError, match="'int8', expected one of auto, float32, bfloat16 for this encoder"):
        BiEncoder.load(tiny, precision="int8")
    with pytest.raises(ConfigError, match="precision is 'half', expected one of auto, float32, bfloat16"):
        BiEncoder.load(tiny, precision="half")  # type: ignore[arg-type]


def test_apples_gpu_is_not_used_even_where_the_library_would(tiny: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """A stand-in for a Mac: sentence-transformers takes MPS by itself unless told the device."""
    import sentence_transformers.base.model as model
    from torch.backends import mps

    monkeypatch.setattr(mps, "is_available", lambda: True)
    monkeypatch.setattr(model, "get_device_name", lambda: "mps", raising=False)
    encoder = BiEncoder.load(tiny, cached=False)
    assert encoder.model.device == best_device()
    assert best_device().type != "mps"


def test_a_saved_stage_and_the_log_say_what_vectors_were_computed_in(
    tiny: str, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO)
    dense = Dense(LABELS, BiEncoder.load(tiny, precision="float32", cached=False))
    assert [message for message in caplog.messages if "computes in float32 (precision float32)" in message]
    state = saved(dense, tmp_path / "dense")
    assert state["record"].items() >= {"asked": "float32", "computed": "float32"}.items()
    loaded = Dense.from_state(state, LABELS)
    assert isinstance(loaded.encoder, BiEncoder)
    assert loaded.encoder.precision == "float32"


def test_full_texts_keep_the_precision_of_their_dense_part(tiny: str, tmp_path: Path) -> None:
    full = FullText(Dense(LABELS, BiEncoder.load(tiny, precision="float32")))
    encoder = FullText.from_state(saved(full, tmp_path / "saved"), LABELS).dense.encoder
    assert isinstance(encoder, BiEncoder)
    assert (encoder.asked, encoder.precision) == ("float32", "float32")


def test_documents_stay_out_of_the_cache_when_asked_to(tiny: str, monkeypatch: pytest.MonkeyPatch) -> None:
    encoder = BiEncoder.load(tiny)
    dense = Dense(LABELS, encoder)
    assert encoder.cache is not None
    for said, kept in (("no", [True, False]), ("yes", [True, True])):
        monkeypatch.setenv("TAGWRIGHT_CACHE_DOCUMENTS", said)
        dense.read([Document("d", title="honey")])
        assert encoder.cache.get(["bee", "honey"])[1].tolist() == kept
