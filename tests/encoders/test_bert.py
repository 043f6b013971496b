from __future__ import annotations

import json
from pathlib import Path
from typing import Literal

import numpy as np
import pytest
import torch
from safetensors.numpy import load_file, save_file
from safetensors.torch import save_file as save_torch
from tests.tiny import tiny_encoder
from transformers import BertModel

from tagwright.encoders.bi_encoder import BiEncoder
from tagwright.encoders.compiled import compile_graph
from tagwright.encoders.graphs import bert_graph, factors
from tagwright.encoders.layers import read_tensors
from tagwright.types import Floats, Longs

TEXTS = ["a bee", "a wasp and honey, a flower", "", "money " * 100]


def computed(folder: Path, ids: Longs, types: Longs, pooling: Literal["cls", "mean"]) -> Floats:
    config = json.loads((folder / "config.json").read_text())
    run = compile_graph(bert_graph(config, read_tensors(folder / "model.safetensors"), pooling), "float32")
    [(_, vectors)] = run([ids], lambda ids: {"ids": ids, "types": types})
    return vectors


@pytest.mark.parametrize("pooling", ["cls", "mean"])
def test_the_graph_computes_what_the_library_computes(tmp_path: Path, pooling: Literal["cls", "mean"]) -> None:
    folder = tiny_encoder(tmp_path / "tiny")
    model = BertModel.from_pretrained(folder)
    model.eval()  # type: ignore[no-untyped-call]
    random = np.random.default_rng(0)
    ids, types = random.integers(0, 60, (3, 9)), random.integers(0, 2, (3, 9))
    with torch.no_grad():
        states = model(torch.from_numpy(ids), token_type_ids=torch.from_numpy(types)).last_hidden_state.numpy()
    expected = states[:, 0] if pooling == "cls" else states.mean(1)
    assert expected.std() > 0.1
    assert np.abs(computed(folder, ids, types, pooling) - expected).max() < 1e-5


@pytest.mark.parametrize("prefix", ["bert.", "model.encoder."])
def test_weights_may_have_a_prefix_and_the_old_names_of_their_norms(tmp_path: Path, prefix: str) -> None:
    folder = tiny_encoder(tmp_path / "tiny")
    expected = BiEncoder.load(str(folder), cached=False).encode(TEXTS)
    file = folder / "model.safetensors"
    old = {"LayerNorm.weight": "LayerNorm.gamma", "LayerNorm.bias": "LayerNorm.beta"}

    def renamed(name: str) -> str:
        return prefix + next((name.replace(new, before) for new, before in old.items() if name.endswith(new)), name)

    save_file({renamed(name): tensor for name, tensor in load_file(file).items()}, file)
    assert BiEncoder.load(str(folder), cached=False).encode(TEXTS).tolist() == expected.tolist()


def test_bfloat16_is_read_exactly(tmp_path: Path) -> None:
    save_torch({"x": torch.tensor([[1.0, -2.5], [0.15625, 3e38]]).to(torch.bfloat16)}, tmp_path / "x.safetensors")
    expected = torch.tensor([[1.0, -2.5], [0.15625, 3e38]]).to(torch.bfloat16).float().tolist()
    assert read_tensors(tmp_path / "x.safetensors")["x"].tolist() == expected


def test_weights_in_8_bits_are_exact_where_they_are_steps() -> None:
    """Weights of 127, -127 and 64 steps of 1 / 127 and of 1: nothing is rounded."""
    from openvino import Model, Type
    from openvino import opset13 as ops

    weight = np.array([[1, -1, 64 / 127], [127, 3, -64]], np.float32)
    x = ops.parameter([-1, 3], Type.f32, name="x")
    model = Model([ops.matmul(x, factors(weight, int8=True), False, True)], [x], "product")
    [(_, got)] = compile_graph(model, "float32")([np.eye(3, dtype=np.float32)], lambda x: {"x": x})
    np.testing.assert_allclose(got, weight.T, rtol=1e-6)
