from __future__ import annotations

import json
import logging
import re
import shutil
import threading
import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, Literal

import numpy as np
import pytest
from numpy.typing import NDArray
from safetensors.numpy import load_file, save_file
from tests.tiny import DIM, POSITIONS, tiny_encoder

from tagwright.encoders.bi_encoder import BiEncoder
from tagwright.encoders.cross_encoder import CrossEncoder
from tagwright.encoders.sentence_transformer import cached_once
from tagwright.errors import ConfigError, ModelError
from tagwright.types import Floats

TEXTS = ["a bee", "a wasp and honey, a flower", "", "The stock market: " + "money " * 300, "river water", "a bee"]


@pytest.fixture(autouse=True)
def _own_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TAGWRIGHT_CACHE", str(tmp_path / "cache"))


@pytest.fixture
def read(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The texts that reach a model."""
    from tagwright.encoders.transformer import Transformer

    seen: list[str] = []
    tokenize = Transformer.tokenize

    def watched(self: Transformer, texts: Sequence[str]) -> list[list[int]]:
        seen.extend(texts)
        return tokenize(self, texts)

    monkeypatch.setattr(Transformer, "tokenize", watched)
    return seen


def cosines(a: Floats, b: Floats) -> Floats:
    return (a * b).sum(axis=1) / np.linalg.norm(a, axis=1) / np.linalg.norm(b, axis=1)  # type: ignore[no-any-return]


@pytest.mark.parametrize("pooling", ["cls", "mean"])
@pytest.mark.parametrize("max_length", [None, 8, POSITIONS])
def test_vectors_are_those_of_sentence_transformers(
    tmp_path: Path, pooling: Literal["cls", "mean"], max_length: int | None
) -> None:
    from sentence_transformers import SentenceTransformer

    folder = str(tiny_encoder(tmp_path / "tiny", pooling=pooling))
    model = SentenceTransformer(folder, device="cpu", local_files_only=True)
    if max_length:
        model.max_seq_length = max_length
    got = BiEncoder.load(folder, max_length=max_length).encode(TEXTS)
    assert got.shape == (len(TEXTS), DIM)
    assert got.dtype == np.float32
    assert cosines(got, model.encode(TEXTS)).min() > 0.999
    assert cosines(BiEncoder.of(model).encode(TEXTS), model.encode(TEXTS)).min() > 0.999
    other = str(tiny_encoder(tmp_path / "other", pooling="mean" if pooling == "cls" else "cls"))
    chosen = BiEncoder.load(other, pooling=pooling, max_length=max_length)
    assert chosen.encode(TEXTS).tolist() == got.tolist()
    assert cosines(got, chosen.model.encode(TEXTS)).min() > 0.999


def test_logits_too_large_for_an_exponential_are_no_problem(tiny: str) -> None:
    weights = load_file(Path(tiny, "model.safetensors"))
    for part in ("query", "key"):
        weights[f"encoder.layer.0.attention.self.{part}.weight"] *= 20
    save_file(weights, Path(tiny, "model.safetensors"), metadata={"format": "pt"})
    encoder = BiEncoder.load(tiny)
    assert cosines(encoder.encode(TEXTS), encoder.model.encode(TEXTS)).min() > 0.99


def test_a_text_has_the_same_vector_in_any_company(tiny: str) -> None:
    encoder = BiEncoder.load(tiny, cached=False)
    assert encoder.encode([]).shape == (0, DIM)
    alone = np.concatenate([encoder.encode([text]) for text in TEXTS])
    assert cosines(alone, encoder.encode(TEXTS)).min() > 0.9999
    assert np.abs(np.linalg.norm(alone, axis=1) - 1).max() < 1e-6


@pytest.mark.parametrize("text", ["bee " * 5000, "b" * 50_000, " " * 50_000 + "bee", "bee" + "!" * 50_000])
def test_of_a_long_text_as_much_is_read_as_the_model_takes(tiny: str, text: str) -> None:
    encoder = BiEncoder.load(tiny)
    assert cosines(encoder.encode([text]), encoder.model.encode([text])).min() > 0.999


def test_a_second_run_reads_only_what_is_new_and_gives_the_same(tiny: str, tmp_path: Path, read: list[str]) -> None:
    BiEncoder.load(tiny, cached=False).encode(TEXTS)
    assert not (tmp_path / "cache").exists()
    read.clear()
    first = BiEncoder.load(tiny).encode(TEXTS)
    assert sorted(read) == sorted(set(TEXTS))
    read.clear()
    assert BiEncoder.load(tiny).encode(TEXTS).tolist() == first.tolist()
    assert read == []
    BiEncoder.load(tiny).encode([*TEXTS, "hornet"])
    assert read == ["hornet"]


def test_a_cache_that_cannot_be_written_changes_nothing(
    tiny: str, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    (tmp_path / "cache").write_text("a file where the folder should be")
    expected = BiEncoder.load(tiny, cached=False).encode(TEXTS)
    assert BiEncoder.load(tiny).encode(TEXTS).tolist() == expected.tolist()
    assert [record.levelno for record in caplog.records] == [logging.WARNING]


def test_fingerprint_tells_weights_pooling_and_length_apart_and_nothing_else(tmp_path: Path) -> None:
    one, same, other = (str(tiny_encoder(tmp_path / name, seed=seed)) for name, seed in (("a", 0), ("b", 0), ("c", 1)))
    assert BiEncoder.load(one).fingerprint == BiEncoder.load(same).fingerprint
    variants = [
        BiEncoder.load(one),
        BiEncoder.load(other),
        BiEncoder.load(one, pooling="cls"),
        BiEncoder.load(one, max_length=8),
    ]
    assert len({encoder.fingerprint for encoder in variants}) == 4


def test_a_saved_encoder_is_the_same_for_us_and_for_sentence_transformers(tiny: str, tmp_path: Path) -> None:
    from sentence_transformers import SentenceTransformer

    encoder = BiEncoder.load(tiny, max_length=16, pooling="cls")
    encoder.save(tmp_path / "saved")
    loaded = BiEncoder.load(str(tmp_path / "saved"))
    assert loaded.max_length == 16
    assert loaded.encode(TEXTS).tolist() == encoder.encode(TEXTS).tolist()
    theirs = SentenceTransformer(str(tmp_path / "saved"), device="cpu", local_files_only=True).encode(TEXTS)
    assert cosines(theirs, encoder.encode(TEXTS)).min() > 0.999


@pytest.mark.parametrize("use", ["encode", "model", "fingerprint"])
def test_an_encoder_that_is_replaced_before_its_first_text_is_an_error(tiny: str, tmp_path: Path, use: str) -> None:
    used, lazy = BiEncoder.load(tiny, cached=False), BiEncoder.load(tiny, cached=False)
    before = used.encode(["bee"])
    shutil.rmtree(tiny)
    tiny_encoder(Path(tiny), seed=1)
    with pytest.raises(ModelError, match="was replaced after it was loaded"):
        lazy.encode(["bee"]) if use == "encode" else getattr(lazy, use)
    np.testing.assert_array_equal(used.encode(["bee"]), before)
    assert BiEncoder.load(tiny, cached=False).encode(["bee"]).tolist() != before.tolist()


def test_an_encoder_can_be_saved_over_the_folder_it_was_loaded_from(tiny: str, tmp_path: Path) -> None:
    encoder = BiEncoder.load(tiny)
    encoder.save(tmp_path / "new")
    shutil.rmtree(tiny)
    (tmp_path / "new").rename(tiny)
    assert cosines(encoder.encode(["bee"]), BiEncoder.load(tiny).encode(["bee"])) == pytest.approx(1, abs=1e-3)


def test_training_is_seen_by_an_encoder_made_of_the_model_afterwards_and_saved(tiny: str, tmp_path: Path) -> None:
    import torch

    encoder = BiEncoder.load(tiny)
    before = encoder.encode(["bee"])
    with torch.no_grad():
        for weights in encoder.model.parameters():
            weights.mul_(1.5)
    encoder.save(tmp_path / "saved")
    for trained in (BiEncoder.of(encoder.model), BiEncoder.load(str(tmp_path / "saved"))):
        after = trained.encode(["bee"])
        assert cosines(after, before).max() < 0.999
        assert cosines(after, encoder.model.encode(["bee"])).min() > 0.999


@pytest.mark.parametrize("length", [2, POSITIONS + 1])
def test_a_length_the_model_does_not_have_is_refused(tiny: str, length: int) -> None:
    with pytest.raises(ConfigError, match=f"max_length is {length}.* 3 to {POSITIONS}"):
        BiEncoder.load(tiny, max_length=length)


TENSOR = "encoder.layer.1.attention.output.dense.weight"


@pytest.mark.parametrize(
    ("name", "changed", "said"),
    [
        ("embeddings.LayerNorm.bias", np.zeros((1, 16), np.float32), "LayerNorm.bias is float32 (1, 16)"),
        ("embeddings.LayerNorm.bias", np.zeros(16, np.int32), "LayerNorm.bias is int32 (16,), expected float32"),
        (TENSOR, np.zeros((64, 16), np.float32), f"{TENSOR} is float32 (64, 16)"),
        (TENSOR, np.full((16, 16), np.nan, np.float32), "gives vectors that are not finite"),
        (TENSOR, None, f"there is no '{TENSOR}'"),
    ],
)
def test_weights_of_other_kinds_are_a_model_error(
    tiny: str, name: str, changed: NDArray[Any] | None, said: str
) -> None:
    weights = {**load_file(file := Path(tiny, "model.safetensors")), name: changed}
    save_file({name: values for name, values in weights.items() if values is not None}, file, {"format": "pt"})
    with pytest.raises(ModelError, match=re.escape(said)):
        BiEncoder.load(tiny, cached=False).encode(["bee"])


@pytest.mark.parametrize("file", ["config.json", "model.safetensors"])
def test_damaged_files_are_a_model_error(tiny: str, file: str) -> None:
    Path(tiny, file).write_bytes(Path(tiny, file).read_bytes()[:50])
    with pytest.raises(ModelError, match=re.escape(f"{file}: damaged")):
        BiEncoder.load(tiny).encode(["bee"])


@pytest.mark.parametrize(
    "part",
    [
        {"normalizer": {"type": "Replace", "pattern": {"Regex": "(a+)+$"}, "content": ""}},  # tries 2^40 ways
        {"model": {"type": "WordLevel", "vocab": {"bee": 10**6, "[UNK]": 1}, "unk_token": "[UNK]"}},
    ],
)  # fmt: skip
def test_a_tokenizer_that_gives_what_the_weights_lack_is_a_model_error(tiny: str, part: dict[str, Any]) -> None:
    file = Path(tiny, "tokenizer.json")
    file.write_text(json.dumps(json.loads(file.read_text()) | part))
    with pytest.raises(ModelError, match="tokenizer is damaged"):
        BiEncoder.load(tiny, cached=False).encode(["bee", 40 * "a" + "b"])


@pytest.mark.parametrize("kind", ["weights of other names", "cross-encoder"])
def test_a_model_in_memory_of_other_parts_is_left_to_the_library(
    tiny: str, kind: str, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    model: Any = CrossEncoder.load(tiny).model if kind == "cross-encoder" else BiEncoder.load(tiny).model
    save = type(model).save

    def renamed(self: Any, folder: str, **options: Any) -> None:
        save(self, folder, **options)
        weights = load_file(file := Path(folder, "model.safetensors"))
        save_file({f"{name}.new": tensor for name, tensor in weights.items()}, file, {"format": "pt"})

    monkeypatch.setattr(type(model), "save", renamed)
    if kind == "cross-encoder":
        one = np.array([0])
        assert CrossEncoder.of(model).score(["bee"], ["wasp"], one, one).shape == (1,)
    else:
        assert cosines(BiEncoder.of(model).encode(["bee"]), model.encode(["bee"])).min() > 0.999
    assert ["the model is computed by sentence-transformers" in message for message in caplog.messages] == [True]


def test_threads_that_ask_at_the_same_time_load_a_model_once() -> None:
    class Model:
        loaded, started = 0, threading.Barrier(8)

        @cached_once
        def weights(self) -> list[int]:
            """Takes a while, so that all threads ask before it is there."""
            time.sleep(0.05)
            self.loaded += 1
            return [self.loaded]

    model = Model()

    def ask(_: int) -> list[int]:
        model.started.wait(timeout=60)
        return model.weights

    with ThreadPoolExecutor(8) as threads:
        found = list(threads.map(ask, range(8)))
    assert model.loaded == 1
    assert all(each is found[0] for each in found)
