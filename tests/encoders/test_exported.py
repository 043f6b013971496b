"""Transformers other than BERT, whose graph was exported, without torch."""

from __future__ import annotations

import json
import logging
import shutil
import subprocess
import sys
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any, Literal, TypeAlias

import numpy as np
import pytest
from safetensors.numpy import save_file
from tests.tiny import DIM, HEADS, INNER, LAYERS, POSITIONS, VOCABULARY, tiny_encoder

from tagwright.encoders import bi_encoder
from tagwright.encoders.bi_encoder import BiEncoder
from tagwright.encoders.compiled import openvino
from tagwright.encoders.cross_encoder import CrossEncoder
from tagwright.encoders.graphs import read_graph, write_graph
from tagwright.encoders.model_folder import graph_files
from tagwright.encoders.transformer import Transformer
from tagwright.errors import ConfigError, ModelError

pytest.importorskip("openvino")

TEXTS = ["a bee", "a wasp and honey, a flower", "", "money " * 100, "rain in the river"]
HALF_STEP = 2**-11
"Half a step of float16 below 1, to which vectors are rounded."


def model_of(kind: str) -> Any:
    """A random transformer of this architecture, ready to be run."""
    import torch
    from transformers import AutoConfig, AutoModel

    torch.manual_seed(0)
    sizes: dict[str, Any] = {"num_attention_heads": HEADS, "num_hidden_layers": LAYERS, "intermediate_size": INNER}
    if kind == "distilbert":
        sizes = {"n_heads": HEADS, "n_layers": LAYERS, "hidden_dim": INNER, "dim": DIM}
    sizes |= {"vocab_size": len(VOCABULARY), "hidden_size": DIM, "max_position_embeddings": POSITIONS}
    return AutoModel.from_config(AutoConfig.for_model(kind, **sizes)).eval()  # type: ignore[no-untyped-call]


Exported: TypeAlias = Callable[..., str]
"Given a new folder and an architecture, writes the encoder."


@pytest.fixture(scope="module")
def encoder_of(tmp_path_factory: pytest.TempPathFactory) -> Exported:
    """Write a folder with a random transformer of another architecture, and its graph, exported once for all tests."""

    @cache
    def exported(kind: str) -> Path:
        folder, model = tmp_path_factory.mktemp(kind), model_of(kind)
        model.save_pretrained(folder)
        write_graph(model, folder / "openvino" / "openvino_model.xml")
        return folder

    def write(folder: Path, kind: str, pooling: Literal["cls", "mean"], output: str = "last_hidden_state") -> str:
        shutil.copytree(exported(kind), tiny_encoder(folder, pooling=pooling), dirs_exist_ok=True)
        file = folder / "openvino" / "openvino_model.xml"
        file.write_text(file.read_text().replace("last_hidden_state", output))
        return str(folder)

    return write


@pytest.fixture(scope="module")
def mpnet(encoder_of: Exported, tmp_path_factory: pytest.TempPathFactory) -> str:
    return encoder_of(tmp_path_factory.mktemp("encoder") / "mpnet", "mpnet", "mean")


@pytest.mark.parametrize("kind", ["mpnet", "distilbert", "xlm-roberta"])
@pytest.mark.parametrize("pooling", ["cls", "mean"])
@pytest.mark.parametrize("layers", [False, True])
def test_vectors_are_those_of_sentence_transformers(
    encoder_of: Exported, tmp_path: Path, kind: str, pooling: Literal["cls", "mean"], layers: bool
) -> None:
    folder = encoder_of(tmp_path / kind, kind, pooling, "token_embeddings" if layers else "last_hidden_state")
    if layers:
        add_layers(Path(folder))
    encoder = BiEncoder.load(folder, cached=False)
    expected = encoder.model.encode(TEXTS, normalize_embeddings=True)
    assert isinstance(encoder._forward, Transformer)
    assert expected.std() > 0.1
    assert expected.shape[1] == encoder.dim == (5 if layers else DIM)
    assert np.abs(encoder.encode(TEXTS) - expected).max() <= HALF_STEP + 1e-6


def add_layers(folder: Path) -> None:
    """A linear layer to five numbers, and a norm."""
    modules = json.loads((folder / "modules.json").read_text())
    for number, kind in enumerate(("Dense", "Normalize"), 2):
        (folder / f"{number}_{kind}").mkdir()
        modules.append({"idx": number, "name": str(number), "path": f"{number}_{kind}",
                        "type": f"sentence_transformers.models.{kind}"})  # fmt: skip
    dense: dict[str, Any] = {"in_features": DIM, "out_features": 5, "bias": False}
    dense["activation_function"] = "torch.nn.modules.activation.Tanh"
    (folder / "2_Dense" / "config.json").write_text(json.dumps(dense))
    weights = np.random.default_rng(0).normal(0, 0.3, (5, DIM)).astype(np.float32)
    save_file({"linear.weight": weights}, folder / "2_Dense" / "model.safetensors")
    (folder / "modules.json").write_text(json.dumps(modules))


def test_encoding_and_saving_need_no_torch_no_connection_and_no_telemetry(
    mpnet: str, tiny: str, tmp_path: Path
) -> None:
    CrossEncoder.load(tiny).save(tmp_path / "cross")
    code = (
        "import sys; asked = []; sys.modules['torch'] = None\n"
        "sys.addaudithook(lambda event, _: asked.append(event) if event.startswith('socket.') else None)\n"
        "import numpy as np\n"
        "from tagwright.encoders.bi_encoder import BiEncoder\n"
        "from tagwright.encoders.cross_encoder import CrossEncoder\n"
        "bert, mpnet, cross, target = sys.argv[1:]\n"
        "for folder in (bert, mpnet):\n"
        "    first = BiEncoder.load(folder, cached=False)\n"
        "    first.save(target + folder[-4:])\n"
        "    again = BiEncoder.load(target + folder[-4:], cached=False)\n"
        "    assert again.encode(['bee']).tolist() == first.encode(['bee']).tolist()\n"
        "CrossEncoder.load(cross).save(target)\n"
        "one = np.zeros(1, int)\n"
        "scores = [CrossEncoder.load(each).score(['bee'], ['wasp'], one, one).tolist() for each in (cross, target)]\n"
        "assert scores[0] == scores[1]\n"
        "assert not asked, asked\n"
        "assert not [name for name in sys.modules if 'telemetry' in name and sys.modules[name]]\n"
        "assert not {'transformers', 'sentence_transformers'} & set(sys.modules)\n"
        "import openvino.tools.ovc"
    )
    folders = [tiny, mpnet, str(tmp_path / "cross"), str(tmp_path / "saved")]
    done = subprocess.run([sys.executable, "-c", code, *folders], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


def test_a_model_that_was_trained_is_saved_with_its_graph(mpnet: str, tmp_path: Path) -> None:
    model = BiEncoder.load(mpnet).model
    weights: Any = dict(model.named_parameters())
    next(weight for name, weight in weights.items() if name.endswith("word_embeddings.weight")).data.neg_()
    trained = BiEncoder.of(model)
    trained.save(tmp_path / "saved")
    saved = BiEncoder.load(str(tmp_path / "saved"), cached=False)
    assert isinstance(saved._forward, Transformer)
    expected = trained.encode(TEXTS)
    assert np.abs(saved.encode(TEXTS) - expected).max() <= 2 * HALF_STEP
    assert np.abs(BiEncoder.load(mpnet).encode(TEXTS) - expected).max() > 0.01


@pytest.mark.slow
def test_a_graph_is_written_without_telemetry(mpnet: str, tmp_path: Path) -> None:
    file = tmp_path / "openvino" / "openvino_model.xml"
    code = (
        "import sys; from pathlib import Path; asked = []\n"
        "from transformers import AutoModel\n"
        "from tagwright.encoders.graphs import write_graph\n"
        f"model = AutoModel.from_pretrained({mpnet!r}).eval()\n"
        "sys.addaudithook(lambda event, _: asked.append(event) if event.startswith('socket.') else None)\n"
        f"write_graph(model, Path({str(file)!r}))\n"
        "assert not asked, asked\n"
        "assert not [name for name in sys.modules if 'telemetry' in name and sys.modules[name]]"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert file.is_file()


@pytest.mark.parametrize("problem", ["cannot be traced", "gives other vectors"])
def test_a_model_whose_graph_is_not_right_is_saved_without(
    mpnet: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture, problem: str
) -> None:
    def write(transformer: Any, file: Path) -> None:
        if problem == "cannot be traced":
            raise RuntimeError(problem)
        graph_of(file, lambda ops, ids: looked_up(ops, ids, dim=DIM))

    monkeypatch.setattr(bi_encoder, "write_graph", write)
    encoder = BiEncoder.of(BiEncoder.load(mpnet).model)
    encoder.save(tmp_path / "saved")
    assert not (tmp_path / "saved" / "openvino").exists()
    assert "the model is computed by sentence-transformers" in caplog.text
    saved = BiEncoder.load(str(tmp_path / "saved"), cached=False)
    assert np.abs(saved.encode(TEXTS) - encoder.encode(TEXTS)).max() <= 2 * HALF_STEP


def test_without_openvino_and_on_a_gpu_sentence_transformers_encodes(
    mpnet: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    expected = BiEncoder.load(mpnet, cached=False).encode(TEXTS)
    for name, value in (("is_installed", False), ("uses_gpu", True)):
        with monkeypatch.context() as patched:
            patched.setattr(bi_encoder, name, lambda value=value: value)
            encoder = BiEncoder.load(mpnet, cached=False)
            assert np.abs(encoder.encode(TEXTS) - expected).max() <= 2 * HALF_STEP
            assert not isinstance(encoder._forward, Transformer)


def test_vectors_of_another_graph_are_not_taken_from_the_cache(encoder_of: Exported, tmp_path: Path) -> None:
    folder = encoder_of(tmp_path / "mpnet", "mpnet", "mean")
    both = BiEncoder.load(folder).fingerprint
    weights = Path(folder, "openvino", "openvino_model.bin")
    weights.write_bytes(weights.read_bytes()[:-4] + bytes(4))
    changed = BiEncoder.load(folder).fingerprint
    weights.with_suffix(".xml").unlink()
    assert len({both, changed, BiEncoder.load(folder).fingerprint}) == 3


def test_only_bert_is_computed_in_int8(mpnet: str, with_int8: None) -> None:
    with pytest.raises(ConfigError, match=r"expected one of auto, float32, bfloat16 for .*int8 is for BERT"):
        BiEncoder.load(mpnet, precision="int8")
    assert BiEncoder.load(mpnet).precision != "int8"


def test_the_graph_of_a_bert_is_neither_read_nor_copied(tmp_path: Path) -> None:
    folder = tiny_encoder(tmp_path / "tiny")
    before = BiEncoder.load(str(folder)).fingerprint
    (folder / "onnx").mkdir()
    (folder / "onnx" / "model.onnx").write_bytes(b"not read")
    encoder = BiEncoder.load(str(folder), cached=False)
    encoder.save(tmp_path / "saved")
    assert encoder.fingerprint == before
    assert not (tmp_path / "saved" / "onnx").exists()


def graph_of(file: Path, build: Callable[[Any, Any], Any], *, name: str = "input_ids", sizes: Any = (-1, -1)) -> Path:
    """Write a graph with one input of token ids. build: its output from OpenVINO's operations and the ids."""
    ov = openvino()
    ids = ov.opset13.parameter(list(sizes), ov.Type.i32, name=name)
    ids.output(0).set_names({name})
    output = build(ov.opset13, ids)
    file.parent.mkdir(exist_ok=True)
    ov.save_model(ov.Model([output], [ids], "graph"), file, compress_to_fp16=False)
    return file


def looked_up(ops: Any, ids: Any, name: str = "last_hidden_state", dim: int = 2) -> Any:
    """The vector of a token is its id, its square, and so on."""
    table = np.array([[float(i) ** power for power in range(1, dim + 1)] for i in range(len(VOCABULARY))], np.float32)
    found = ops.gather(ops.constant(table), ids, ops.constant(0))
    found.output(0).set_names({name})
    return found


@pytest.fixture
def other(tmp_path: Path) -> Path:
    """A folder of another architecture, without weights, and with a long name: what is logged names it in full."""
    folder = tiny_encoder(tmp_path / ("other" * 40))
    config = folder / "config.json"
    config.write_text(json.dumps(json.loads(config.read_text()) | {"model_type": "other"}))
    (folder / "model.safetensors").unlink()
    return folder


def test_a_folder_needs_no_other_weights_than_the_graph(other: Path) -> None:
    """[CLS] bee [SEP] are the tokens 2, 5 and 3."""
    graph_of(other / "openvino" / "openvino_model.xml", looked_up)
    encoder = BiEncoder.load(str(other), cached=False)
    np.testing.assert_allclose(encoder.encode_raw(["bee"]), [[10 / 3, (4 + 25 + 9) / 3]], rtol=1e-6)
    assert BiEncoder.load(str(other), pooling="cls").encode_raw(["bee"]).tolist() == [[2, 4]]
    assert BiEncoder.load(str(other)).dim == 2


def refused(folder: Path) -> None:
    """The graph is not used; sentence-transformers finds no weights."""
    with pytest.raises(ModelError, match="cannot be loaded as a sentence-transformers model"):
        BiEncoder.load(str(folder), cached=False).encode(["bee"])


@pytest.mark.parametrize(
    ("said", "options"),
    [
        ("position_ids", {"build": looked_up, "name": "position_ids"}),
        ("[2,3] type: i32>, expected input_ids", {"build": looked_up, "sizes": (2, 3)}),
        ("logits", {"build": lambda ops, ids: looked_up(ops, ids, "logits")}),
        ("expected last_hidden_state", {"build": lambda ops, ids: looked_up(ops, ops.squeeze(ids, ops.constant([0])))}),
    ],
)  # fmt: skip
def test_a_graph_that_does_not_fit_is_left_to_the_library_and_the_log_says_why(
    other: Path, caplog: pytest.LogCaptureFixture, said: str, options: dict[str, Any]
) -> None:
    graph_of(other / "openvino" / "openvino_model.xml", **options)
    refused(other)
    [line] = [record for record in caplog.records if record.levelno == logging.WARNING]
    assert said in line.getMessage()
    assert str(other) in line.getMessage()


@pytest.mark.parametrize("content", [b"", b"<net>", b"\x00" * 1000])
@pytest.mark.parametrize("name", ["openvino/openvino_model.xml", "onnx/model.onnx"])
def test_a_damaged_graph_is_left_to_the_library(other: Path, name: str, content: bytes) -> None:
    (other / name).parent.mkdir()
    (other / name).write_bytes(content)
    refused(other)


def test_missing_weights_of_a_graph_are_no_crash(other: Path) -> None:
    file = graph_of(other / "openvino" / "openvino_model.xml", looked_up)
    for content in (file.with_suffix(".bin").read_bytes()[:100], b""):
        file.with_suffix(".bin").write_bytes(content)
        refused(other)
    file.with_suffix(".bin").unlink()
    refused(other)


def message(**fields: bytes | int | str) -> bytes:
    """A message of Protocol Buffers, which ONNX files are. fields: as in `_7=...`, which is number 7."""
    found = b""
    for name, value in fields.items():
        number, content = int(name.strip("_")), value.encode() if isinstance(value, str) else value
        if isinstance(content, int):
            found += _varint(number << 3) + _varint(content)
        else:
            found += _varint(number << 3 | 2) + _varint(len(content)) + content
    return found


def _varint(value: int) -> bytes:
    return bytes([value]) if value < 128 else bytes([value & 127 | 128]) + _varint(value >> 7)


def onnx(file: Path, weights: str = "") -> Path:
    """A file of ONNX that looks up the vectors 1 and 2, 3 and 4, and so on. weights: the file that holds them."""
    table = np.arange(1, 2 * len(VOCABULARY) + 1, dtype=np.float32)
    content: dict[str, Any] = {"_9": table.tobytes()}
    if weights:
        content = {"_13": message(_1="location", _2=weights), "_14": 1}
    shape = message(_1=message(_2="texts"), __1=message(_2="tokens"))
    ids, vectors = (
        message(_1=name, _2=message(_1=message(_1=kind, _2=sizes)))
        for name, kind, sizes in (
            ("input_ids", 7, shape),
            ("last_hidden_state", 1, shape + message(_1=message(_1=2))),
        )
    )
    graph = message(
        _1=message(_1="table", __1="input_ids", _2="last_hidden_state", _4="Gather"),
        _2="graph",
        _5=message(_1=len(VOCABULARY), __1=2, _2=1, _8="table", **content),
        _11=ids,
        _12=vectors,
    )
    file.parent.mkdir(exist_ok=True)
    file.write_bytes(message(_1=8, _7=graph, _8=message(_2=17)))
    return file


def test_onnx_is_read(other: Path) -> None:
    """[CLS] bee [SEP] are the tokens 2, 5 and 3, whose vectors begin with 5, 11 and 7."""
    onnx(other / "onnx" / "model.onnx")
    np.testing.assert_allclose(BiEncoder.load(str(other)).encode_raw(["bee"]), [[23 / 3, 26 / 3]], rtol=1e-6)


def test_weights_of_onnx_may_be_in_a_file_beside_it(other: Path, tmp_path: Path) -> None:
    file = onnx(other / "onnx" / "model.onnx", "model.onnx_data")
    table = np.arange(1, 2 * len(VOCABULARY) + 1, dtype=np.float32)
    (file.parent / "model.onnx_data").write_bytes(table.tobytes())
    encoder = BiEncoder.load(str(other), cached=False)
    assert encoder.encode_raw(["bee"])[0, 0] == pytest.approx(23 / 3)
    encoder.save(tmp_path / "saved")
    assert BiEncoder.load(str(tmp_path / "saved")).encode_raw(["bee"])[0, 0] == pytest.approx(23 / 3)


@pytest.mark.parametrize("how", ["{name}", "../../{name}", "{folder}/{name}"])
def test_a_file_elsewhere_is_never_read(other: Path, tmp_path: Path, how: str) -> None:
    secret = tmp_path / "secret"
    secret.write_bytes(bytes(8 * len(VOCABULARY)))
    file = onnx(other / "onnx" / "model.onnx", how.format(name="secret", folder=tmp_path))
    if how == "{name}":
        (file.parent / "secret").symlink_to(secret)
    with pytest.raises(RuntimeError, match="outside the base directory"):
        read_graph(file, "mean")
    refused(other)


def test_openvino_comes_before_onnx(other: Path) -> None:
    onnx(other / "onnx" / "model.onnx")
    file = graph_of(other / "openvino" / "openvino_model.xml", looked_up)
    assert graph_files(other) == [file, file.with_suffix(".bin")]
