from __future__ import annotations

import json
import logging
import platform
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from tests.tiny import tiny_encoder

from tagwright.encoders import int8, kernels, precision
from tagwright.encoders.bi_encoder import BiEncoder
from tagwright.errors import ConfigError
from tagwright.stages.dense import Dense
from tagwright.stages.full_text import FullText
from tagwright.types import Label

TEXTS = ["a bee", "a wasp and honey, a flower", "", "money " * 100]
LEVELS = int8.levels  # itself: tests are given a stand-in


@pytest.fixture
def tiny(tmp_path: Path) -> str:
    return str(tiny_encoder(tmp_path / "tiny"))


@pytest.fixture
def forget() -> Any:
    """What was found out about this torch is found out again, before and after."""
    found = [kernels.packing_works, LEVELS]
    for each in found:
        each.cache_clear()
    yield
    for each in found:
        each.cache_clear()


@pytest.mark.usefixtures("with_int8")
def test_int8_is_near_float32_and_a_text_has_the_same_vector_in_any_company(tiny: str) -> None:
    exact = BiEncoder.load(tiny, precision="float32", cached=False).encode(TEXTS)
    encoder = BiEncoder.load(tiny, precision="int8", cached=False)
    assert (encoder.encode(TEXTS) * exact).sum(1).min() > 0.99
    alone = np.concatenate([encoder.encode([text]) for text in TEXTS])
    assert (encoder.encode(TEXTS) * alone).sum(1).min() > 0.9999


@pytest.mark.usefixtures("with_int8")
def test_a_map_in_int8_is_exact_where_numbers_are_steps() -> None:
    """Weights of 127 and -127 steps, activations of 0 to 1: nothing is rounded, so the sums are exact."""
    import torch

    weight = torch.tensor([[1.0, 1.0], [-1.0, 1.0]])
    got = int8.linear(weight, torch.tensor([0.5, 0.0]))(torch.tensor([[[0.0, 1.0]], [[1.0, 0.0]]]))
    assert torch.allclose(got, torch.tensor([[[1.5, 1.0]], [[1.5, -1.0]]]), atol=1e-5)


@pytest.mark.parametrize(
    ("bfloat16", "levels", "expected"),
    [(True, 255, "bfloat16"), (False, 255, "int8"), (False, 127, "int8"), (False, 0, "float32")],
)
def test_auto_is_the_fastest_that_was_measured(
    monkeypatch: pytest.MonkeyPatch, bfloat16: bool, levels: int, expected: str
) -> None:
    import torch

    monkeypatch.setattr(kernels, "best_device", lambda: torch.device("cpu"))
    monkeypatch.setattr(kernels, "best_dtype", lambda _: torch.bfloat16 if bfloat16 else torch.float32)
    monkeypatch.setattr(int8, "levels", lambda: levels)
    assert precision.resolve("auto") == expected
    assert precision.resolve("auto", quantisable=False) != "int8"


@pytest.mark.parametrize(("variable", "value"), [("ONEDNN_MAX_CPU_ISA", "AVX2"), ("ATEN_CPU_CAPABILITY", "avx2")])
def test_a_processor_kept_from_bfloat16_does_not_get_it(
    monkeypatch: pytest.MonkeyPatch, variable: str, value: str
) -> None:
    import torch

    for each in ("ONEDNN_MAX_CPU_ISA", "DNNL_MAX_CPU_ISA", "ATEN_CPU_CAPABILITY"):
        monkeypatch.delenv(each, raising=False)
    monkeypatch.setattr(torch.cpu, "get_capabilities", lambda: {"avx512_bf16": True}, raising=False)
    assert kernels.best_dtype(torch.device("cpu")) == torch.bfloat16
    monkeypatch.setenv(variable, value)
    assert kernels.best_dtype(torch.device("cpu")) == torch.float32


def test_what_cannot_be_had_is_refused_in_a_sentence(tiny: str) -> None:
    with pytest.raises(ConfigError, match="no right 8-bit product on this cpu"):
        BiEncoder.load(tiny, precision="int8")
    with pytest.raises(ConfigError, match="precision is 'half', expected one of auto, float32, bfloat16, int8"):
        BiEncoder.load(tiny, precision="half")  # type: ignore[arg-type]


@pytest.mark.usefixtures("with_int8")
def test_vectors_of_different_precision_never_mix(tiny: str) -> None:
    encoders = [BiEncoder.load(tiny, precision=each) for each in ("float32", "bfloat16", "int8")]
    assert len({encoder.fingerprint for encoder in encoders}) == 3


def gone(*_: Any) -> Any:
    raise AttributeError("no attribute of this name")


def wrong(x: Any, *_: Any) -> Any:
    import torch

    return torch.zeros(*x.shape[:-1], 48)


@pytest.mark.usefixtures("forget")
@pytest.mark.parametrize("product", [gone, wrong])
def test_packed_weights_that_are_gone_or_wrong_are_not_used(
    tiny: str, monkeypatch: pytest.MonkeyPatch, product: Callable[..., Any]
) -> None:
    import torch

    monkeypatch.setattr(platform, "machine", lambda: "x86_64")
    ops = SimpleNamespace(_linear_pointwise=product, _reorder_linear_weight=lambda weight: weight)
    monkeypatch.setattr(torch.ops, "mkldnn", ops)
    encoder = BiEncoder.load(tiny, precision="float32", cached=False)
    expected = encoder.model.encode(TEXTS, normalize_embeddings=True)
    assert np.abs(encoder.encode(TEXTS) - expected).max() < 2**-11
    assert not kernels.packing_works(torch.float32)


@pytest.mark.usefixtures("forget", "with_int8")
@pytest.mark.parametrize("product", [gone, wrong])
def test_an_8_bit_product_that_is_gone_or_wrong_is_not_used(
    monkeypatch: pytest.MonkeyPatch, product: Callable[..., Any]
) -> None:
    import torch

    def zeros(codes: Any, *_: Any) -> Any:
        return product(codes) if product is gone else torch.zeros(*codes.shape[:-1], 96)

    int8.levels.cache_clear()
    ops = SimpleNamespace(qlinear_prepack=lambda weight, _: weight, qlinear_pointwise=zeros)
    monkeypatch.setattr(torch.ops, "onednn", ops)
    assert int8.levels() == 0


@pytest.mark.usefixtures("forget", "with_int8")
def test_where_sums_overflow_16_bits_activations_get_7_bits(monkeypatch: pytest.MonkeyPatch) -> None:
    """A stand-in for AVX2 without VNNI: two products are added in 16 bits, and no more than 32,767 is kept."""
    import torch

    def pointwise(codes: Any, _: float, zero: int, weight: Any, scales: Any, *__: Any) -> Any:
        pairs = (codes.int()[:, None] * weight.int()).unflatten(-1, (-1, 2)).sum(-1)
        return pairs.clamp(-32_768, 32_767).sum(-1) * scales

    int8.levels.cache_clear()
    ops = SimpleNamespace(qlinear_prepack=lambda weight, _: weight, qlinear_pointwise=pointwise)
    monkeypatch.setattr(torch.ops, "onednn", ops)
    assert int8.levels() == 127


def test_apples_gpu_is_not_used_even_where_the_library_would(tiny: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """A stand-in for a Mac: sentence-transformers takes MPS by itself unless told the device."""
    import sentence_transformers.base.model as model
    from torch.backends import mps

    monkeypatch.setattr(mps, "is_available", lambda: True)
    monkeypatch.setattr(model, "get_device_name", lambda: "mps", raising=False)
    encoder = BiEncoder.load(tiny, cached=False)
    assert encoder.model.device == kernels.best_device()
    assert kernels.best_device().type != "mps"


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
