"""Static encoders without torch: by hand, beside sentence-transformers, and on damaged files."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from safetensors.numpy import save_file
from sentence_transformers import SentenceTransformer
from sentence_transformers.sentence_transformer.modules import Normalize, StaticEmbedding
from tokenizers import Tokenizer, models, pre_tokenizers

from tagwright.encoders.architecture import read_architecture
from tagwright.encoders.bi_encoder import BiEncoder
from tagwright.encoders.token_table import TokenTable
from tagwright.errors import ModelError

VECTORS = np.array([[3, 0], [0, 1], [0, 0]], np.float32)
TEXTS = ["bee", "bee bee wasp", "", "hornet", "wasp bee bee bee wasp hornet"]
WEIGHTS = "model.safetensors"


def static(folder: Path, *, normalize: bool = False, prompts: dict[str, str] | None = None) -> Path:
    """A saved encoder of two words, bee and wasp; others are zero."""
    tokenizer = Tokenizer(models.WordLevel({"bee": 0, "wasp": 1, "[UNK]": 2}, unk_token="[UNK]"))
    tokenizer.pre_tokenizer = pre_tokenizers.Whitespace()
    modules: list[Any] = [StaticEmbedding(tokenizer, embedding_weights=VECTORS), *[Normalize()] * normalize]
    SentenceTransformer(modules=modules, device="cpu", prompts=prompts).save(str(folder), create_model_card=False)
    return folder


def read(folder: Path) -> TokenTable | None:
    return TokenTable.read(folder, read_architecture(folder))


def test_a_text_is_the_mean_of_its_tokens_and_zero_without_any(tmp_path: Path) -> None:
    table, counts = read(static(tmp_path / "static")), list[int]()
    assert table is not None
    found = table(TEXTS, counts.append)
    expected = np.array([[3, 0], [2, 1 / 3], [0, 0], [0, 0], [1.5, 1 / 3]], np.float32)
    np.testing.assert_allclose(found, expected, atol=1e-6)
    assert table.dim == 2
    assert counts == [5]
    assert table([]).shape == (0, 2)


@pytest.mark.parametrize("normalize", [False, True])
@pytest.mark.parametrize("role", [None, "query", "document"])
def test_vectors_are_those_of_the_library(tmp_path: Path, normalize: bool, role: str | None) -> None:
    folder = static(tmp_path / "static", normalize=normalize, prompts={"query": "wasp ", "document": "bee "})
    library = SentenceTransformer(str(folder), device="cpu")
    encode = {"query": library.encode_query, "document": library.encode_document}.get(role or "", library.encode)
    np.testing.assert_allclose(BiEncoder.load(str(folder)).encode_raw(TEXTS, role=role), encode(TEXTS), atol=1e-6)  # type: ignore[arg-type]


def test_it_is_encoded_and_saved_without_torch(tmp_path: Path) -> None:
    code = (
        "import sys; from tagwright.encoders.bi_encoder import BiEncoder; "
        "encoder = BiEncoder.load(sys.argv[1], cached=False); encoder.save(sys.argv[2]); "
        "print(encoder.encode(['bee']).tolist(), 'torch' in sys.modules)"
    )
    command = [sys.executable, "-c", code, str(static(tmp_path / "static")), str(tmp_path / "saved")]
    assert subprocess.run(command, check=True, capture_output=True, text=True).stdout == "[[1.0, 0.0]] False\n"
    assert SentenceTransformer(str(tmp_path / "saved"), device="cpu").encode(["bee"]).tolist() == [[3, 0]]


def test_it_is_saved_with_the_prompts_it_was_given_and_over_its_own_folder(tmp_path: Path) -> None:
    folder = str(static(tmp_path / "static"))
    prompted = BiEncoder.load(folder, prompts={"query": "wasp "})
    for target in (tmp_path / "saved", Path(folder)):
        prompted.save(target)
        saved = BiEncoder.load(str(target))
        assert saved.encode_raw(["bee"], role="query").tolist() == [[1.5, 0.5]]
    saved.save(folder)
    assert BiEncoder.load(folder).encode_raw(["bee"], role="query").tolist() == [[1.5, 0.5]]


def test_other_tensors_and_formats_are_left_to_the_library(tmp_path: Path) -> None:
    folder = static(tmp_path / "static")
    save_file({"embedding.weight": VECTORS, "more": VECTORS}, folder / WEIGHTS)
    assert read(folder) is None
    (folder / WEIGHTS).unlink()
    assert read(folder) is None


def test_a_token_without_a_vector_is_an_error(tmp_path: Path) -> None:
    folder = static(tmp_path / "static")
    tokenizer = json.loads((folder / "tokenizer.json").read_text(encoding="utf-8"))
    tokenizer["model"]["vocab"]["wasp"] = 1 << 30
    (folder / "tokenizer.json").write_text(json.dumps(tokenizer), encoding="utf-8")
    encoder = BiEncoder.load(str(folder))
    assert encoder.encode(["bee"]).tolist() == [[1, 0]]
    with pytest.raises(ModelError, match="tokens without a vector"):
        encoder.encode(["wasp"])


def test_damaged_files_are_errors(tmp_path: Path) -> None:
    folder = static(tmp_path / "static")
    (folder / WEIGHTS).write_bytes(b"damaged")
    with pytest.raises(ModelError, match=r"model\.safetensors: damaged"):
        read(folder)
    static(folder)
    (folder / "tokenizer.json").write_text("{}")
    with pytest.raises(ModelError, match=r"tokenizer\.json: damaged"):
        BiEncoder.load(str(folder)).encode(["bee"])
