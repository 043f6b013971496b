from __future__ import annotations

import json
import pickle
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from safetensors.numpy import load_file
from tests.tiny import DIM, tiny_encoder
from typer.testing import CliRunner

from tagwright.app.cli import app
from tagwright.core.atomic import OccupiedError
from tagwright.encoders.bi_encoder import BiEncoder
from tagwright.encoders.model_folder import find
from tagwright.encoders.pickled import convert
from tagwright.errors import ModelError

TEXTS = ["bees and honey", "stock market money", "rain"]


class Code:
    """What a pickle runs as it is read."""

    def __init__(self, place: Path) -> None:
        self.place = place

    def __reduce__(self) -> Any:
        return Path.touch, (self.place,)


def pickled(folder: Path, content: object = None) -> Path:
    """A folder of a tiny encoder whose weights, or other content, are pickled by PyTorch."""
    folder = tiny_encoder(folder)
    weights = {name: torch.tensor(value) for name, value in load_file(folder / "model.safetensors").items()}
    (folder / "model.safetensors").unlink()
    torch.save(weights if content is None else content, folder / "pytorch_model.bin")
    return folder


def test_converted_weights_give_the_vectors_of_transformers(tmp_path: Path) -> None:
    """A masked language model of transformers, whose output layer shares the weights of the words."""
    transformers = pytest.importorskip("transformers")
    folder = pickled(tmp_path / "in")
    config = json.loads((folder / "config.json").read_text())
    torch.manual_seed(0)
    model = transformers.BertForMaskedLM(transformers.BertConfig(**config)).eval()
    torch.save(model.state_dict(), folder / "pytorch_model.bin")
    result = CliRunner().invoke(app, ["convert", str(folder), str(tmp_path / "out")])
    assert (result.exit_code, result.output) == (0, f"saved {tmp_path / 'out'}\n")
    assert not list((tmp_path / "out").rglob("*.bin"))
    tokenizer = transformers.PreTrainedTokenizerFast(tokenizer_file=str(folder / "tokenizer.json"))
    with torch.no_grad():
        every = [model.bert(torch.tensor([tokenizer.encode(text)])).last_hidden_state[0] for text in TEXTS]
    expected = np.stack([states.mean(0).numpy() for states in every])
    found = BiEncoder.load(str(tmp_path / "out"), precision="float32").encode_raw(TEXTS)
    np.testing.assert_allclose(found, expected, rtol=0, atol=1e-5)


def test_tensors_that_share_memory_are_written_apart(tmp_path: Path) -> None:
    table = torch.arange(6.0).reshape(2, 3)
    convert(pickled(tmp_path / "in", {"a": table, "b": table, "c": table.T, "d": table[1]}), tmp_path / "out")
    found = load_file(tmp_path / "out" / "model.safetensors")
    rows = [[0.0, 1.0, 2.0], [3.0, 4.0, 5.0]]
    assert {name: tensor.tolist() for name, tensor in found.items()} == {
        "a": rows, "b": rows, "c": [[0.0, 3.0], [1.0, 4.0], [2.0, 5.0]], "d": rows[1],
    }  # fmt: skip


def test_weights_in_several_files_and_parts_are_converted(tmp_path: Path) -> None:
    folder = pickled(tmp_path / "in", {"a": torch.ones(1)})
    (folder / "pytorch_model.bin").rename(folder / "pytorch_model-00001-of-00002.bin")
    torch.save({"b": torch.zeros(1)}, folder / "pytorch_model-00002-of-00002.bin")
    modules = json.loads((folder / "modules.json").read_text())
    dense = {"idx": 2, "name": "2", "path": "2_Dense", "type": "sentence_transformers.models.Dense"}
    (folder / "modules.json").write_text(json.dumps([*modules, dense]))
    (folder / "2_Dense").mkdir()
    (folder / "2_Dense" / "config.json").write_text("{}")
    torch.save({"linear.weight": torch.eye(2)}, folder / "2_Dense" / "pytorch_model.bin")
    convert(folder, tmp_path / "out")
    assert set(load_file(tmp_path / "out" / "model.safetensors")) == {"a", "b"}
    assert load_file(tmp_path / "out" / "2_Dense" / "model.safetensors")["linear.weight"].tolist() == [[1, 0], [0, 1]]


@pytest.mark.parametrize("of_torch", [True, False])
def test_a_pickle_that_carries_code_is_refused_and_nothing_of_it_runs(of_torch: bool, tmp_path: Path) -> None:
    touched = tmp_path / "touched"
    folder = pickled(tmp_path / "in", {"a": torch.ones(1), "b": Code(touched)})
    if not of_torch:
        (folder / "pytorch_model.bin").write_bytes(pickle.dumps(Code(touched)))
    with pytest.raises(ModelError, match=r"pytorch_model\.bin: holds more than tensors, or is damaged .*was not read"):
        convert(folder, tmp_path / "out")
    assert [path.name for path in tmp_path.iterdir()] == ["in"]


@pytest.mark.parametrize(
    ("content", "said"),
    [
        ({"state_dict": {"a": torch.ones(1)}}, r'holds "dict" as "state_dict", expected dense tensors by name'),
        ({"a": 3}, r'holds "int" as "a"'),
        ({"a": torch.eye(2).to_sparse()}, r'holds "Tensor" as "a", expected dense tensors by name'),
        ({"a": torch.ones(1, device="meta")}, r'holds "Tensor" as "a", expected dense tensors by name'),
        ([torch.ones(1)], r'holds "list" as "", expected dense tensors by name'),
        ({}, r'holds "dict" as ""'),
    ],
)
def test_what_is_no_tensor_is_refused_and_nothing_is_left(content: object, said: str, tmp_path: Path) -> None:
    folder = pickled(tmp_path / "in", content)
    with pytest.raises(ModelError, match=said):
        convert(folder, tmp_path / "out")
    assert [path.name for path in tmp_path.iterdir()] == ["in"]


def test_a_model_of_which_a_file_is_missing_is_not_converted(tmp_path: Path) -> None:
    folder = pickled(tmp_path / "in", {"a": torch.ones(1)})
    (folder / "pytorch_model.bin").rename(folder / "pytorch_model-00001-of-00002.bin")
    second = "pytorch_model-00002-of-00002.bin"
    (folder / "pytorch_model.bin.index.json").write_text(json.dumps({"weight_map": {"b": second}}))
    with pytest.raises(ModelError, match=rf'index\.json: names "{second}", which is not beside it'):
        convert(folder, tmp_path / "out")
    for name in ("config.json", "modules.json"):
        (folder / name).unlink()
    with pytest.raises(ModelError, match="in: no encoder here"):
        convert(folder, tmp_path / "out")
    assert [path.name for path in tmp_path.iterdir()] == ["in"]


def test_a_conversion_replaces_nothing(tmp_path: Path) -> None:
    folder = pickled(tmp_path / "in")
    (tmp_path / "out").mkdir()
    (tmp_path / "out" / "notes.txt").write_text("mine")
    with pytest.raises(OccupiedError, match="is not a saved encoder; choose another place"):
        convert(folder, tmp_path / "out")
    assert [path.name for path in (tmp_path / "out").iterdir()] == ["notes.txt"]


def test_where_nothing_is_to_be_converted_it_is_said(tmp_path: Path) -> None:
    with pytest.raises(ModelError, match=r"tiny: holds no pytorch_model\.bin without safetensors beside it"):
        convert(tiny_encoder(tmp_path / "tiny"), tmp_path / "out")
    with pytest.raises(ModelError, match="nowhere: no encoder here"):
        convert(tmp_path / "nowhere", tmp_path / "out")


def test_the_error_that_refuses_pickled_weights_names_the_command_that_converts_them(tmp_path: Path) -> None:
    folder = pickled(tmp_path / "in")
    with pytest.raises(ModelError) as refused:
        find(str(folder))
    assert f"tagwright convert {folder} OUT" in str(refused.value)
    convert(folder, tmp_path / "out")
    assert BiEncoder.load(str(tmp_path / "out")).encode(["bees"]).shape == (1, DIM)
