"""Rough vectors: means of input embeddings, by hand and on damaged files."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from safetensors.numpy import load_file, save_file
from tests.tiny import VOCABULARY, tiny_encoder

from tagwright.encoders.static import rarity, read_sketch


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return tiny_encoder(tmp_path / "tiny")


def test_a_text_is_the_mean_of_its_tokens_weighted_by_rarity(folder: Path) -> None:
    sketch = read_sketch(folder)
    assert sketch is not None
    table = load_file(folder / "model.safetensors")["embeddings.word_embeddings.weight"]
    ordinary = (table[5:] - table[5:].mean(axis=0)) * rarity(len(VOCABULARY) - 5)[:, None]  # 5 special ones come first
    bee, honey = (ordinary[VOCABULARY.index(word) - 5] for word in ("bee", "honey"))
    expected = (2 * bee + honey) / np.linalg.norm(2 * bee + honey)
    np.testing.assert_allclose(sketch(["bee honey bee"])[0], expected, atol=1e-5)


def test_as_much_of_a_text_is_read_as_the_transformer_reads(folder: Path) -> None:
    """Of five tokens, [CLS] and [SEP] are two."""
    sketch = read_sketch(folder, max_length=5)
    assert sketch is not None
    beginning, same, more = sketch(["bee honey bee", "bee honey bee wasp wasp", "bee honey wasp"])
    np.testing.assert_allclose(same, beginning, atol=1e-6)
    assert not np.allclose(more, beginning, atol=1e-3)


def test_texts_without_a_known_token_are_zero_and_no_text_is_cut(folder: Path) -> None:
    sketch = read_sketch(folder)
    assert sketch is not None
    assert not sketch(["", "\u4e00"]).any()
    assert sketch([]).shape == (0, 16)
    long = sketch(["bee " * 500 + "honey " * 500, "bee honey"])
    np.testing.assert_allclose(long[0], long[1], atol=1e-5)


def test_there_is_none_without_a_table_of_embeddings(folder: Path) -> None:
    weights = load_file(folder / "model.safetensors")
    table = weights.pop("embeddings.word_embeddings.weight")
    save_file({**weights, "tokens": table}, folder / "model.safetensors")
    assert read_sketch(folder) is None
    save_file({**weights, "embeddings.word_embeddings.weight": table[:9]}, folder / "model.safetensors")
    assert read_sketch(folder) is None
    (folder / "model.safetensors").write_bytes(b"damaged")
    assert read_sketch(folder) is None
    (folder / "tokenizer.json").unlink()
    assert read_sketch(folder) is None
