from __future__ import annotations

import shutil
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from safetensors.numpy import load_file, save_file
from sentence_transformers import SentenceTransformer
from sentence_transformers.sentence_transformer.modules import Normalize
from tests.tiny import DIM, VOCABULARY, tiny_encoder

from tagwright import zero_shot
from tagwright.combining.steps import find_last
from tagwright.combining.weighted_sum import WeightedSum
from tagwright.core.cache import Cache
from tagwright.encoders import static
from tagwright.encoders.bi_encoder import BiEncoder
from tagwright.encoders.static import distil, main_directions, rarity, read_sketch
from tagwright.tagger import Tagger
from tagwright.tagger import zero_shot as zeroshot
from tagwright.types import Floats


def test_the_same_encoder_gives_the_same_static_one(tmp_path: Path) -> None:
    folder = str(tiny_encoder(tmp_path / "tiny"))
    one, other = (_table(distil(tmp_path / name, folder)) for name in ("one", "other"))
    assert one.shape == (len(VOCABULARY), DIM)
    np.testing.assert_array_equal(one, other)
    assert (np.abs(one).max(1) == 0).nonzero()[0].tolist() == [VOCABULARY.index(token) for token in VOCABULARY[:5]]


def test_a_token_is_where_the_encoder_has_it_turned_and_scaled(tmp_path: Path) -> None:
    """Centring and turning keep all differences; the weights grow from frequent to rare tokens."""
    folder = str(tiny_encoder(tmp_path / "tiny"))
    words = ["bee", "wasp", "money"]
    found = SentenceTransformer(str(distil(tmp_path / "static", folder)), device="cpu").encode(words)
    tokens = [token for token in VOCABULARY[5:] if not token.startswith("##")]
    one_by_one = SentenceTransformer(folder, device="cpu")
    assert one_by_one.tokenize([words[0]])["input_ids"].shape == (1, 3)
    original = one_by_one.encode(words)
    weights = np.array([1e-4 / (1e-4 + 1 / (2 + i) / _harmonic(len(VOCABULARY) - 5)) for i in map(tokens.index, words)])
    unweighted = found / weights[:, None]
    np.testing.assert_allclose(_distances(unweighted), _distances(original), rtol=0.03)


def test_vectors_are_taken_at_their_own_length(tmp_path: Path) -> None:
    folder = str(tiny_encoder(tmp_path / "tiny"))
    model = SentenceTransformer(folder, device="cpu")
    SentenceTransformer(modules=[*model, Normalize()], device="cpu").save(str(tmp_path / "unit"))
    plain, unit = (
        _table(distil(tmp_path / name, each)) for name, each in (("a", folder), ("b", str(tmp_path / "unit")))
    )
    np.testing.assert_allclose(unit, plain, atol=1e-6)


def test_the_static_encoder_is_distilled_once_and_kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TAGWRIGHT_CACHE", str(tmp_path / "cache"))
    tiny, made = str(tiny_encoder(tmp_path / "tiny")), list[str]()

    def of_tiny(folder: Path) -> Path:
        made.append(tiny)
        return distil(folder, tiny)

    monkeypatch.setattr(static, "distil", of_tiny)
    first, second = (zero_shot(["bee", "stock market"], encoder="static", language="english") for _ in range(2))
    assert made == [tiny]
    expected = SentenceTransformer(str(distil(tmp_path / "static", tiny)), device="cpu").encode(["bee wasp"])
    np.testing.assert_allclose(BiEncoder.load("static").encode_raw(["bee wasp"]), expected, atol=1e-6)
    assert first.suggest("honey bee", k=1)[0].name == second.suggest("honey bee", k=1)[0].name == "bee"
    combined = find_last(first.steps, WeightedSum)
    assert combined
    assert combined.weights["dense"] == zeroshot.STATIC_WEIGHT < zeroshot.WEIGHTS["dense"]
    heavy = zero_shot(["bee", "market"], encoder="static", stages=["dense"], weights=[2.0], language="english")
    given = find_last(heavy.steps, WeightedSum)
    assert given
    assert given.weights["dense"] == 2.0
    first.save(tmp_path / "model")
    shutil.rmtree(tmp_path / "cache")  # as somebody may: this process has a copy of its own
    second.save(tmp_path / "second")
    monkeypatch.setenv("TAGWRIGHT_CACHE", str(tmp_path / "other"))  # the saved tagger has the encoder
    assert Tagger.load(tmp_path / "model").suggest("honey bee", k=1)[0].name == "bee"


def test_the_next_process_unpacks_what_was_distilled(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    tiny, cache = str(tiny_encoder(tmp_path / "tiny")), tmp_path / "cache"
    with monkeypatch.context() as patch:
        patch.setattr(static, "distil", lambda folder: distil(folder, tiny))
        first = static.distil_once(Cache(cache))

    def refused(folder: Path) -> Path:
        raise AssertionError("it is distilled again")

    monkeypatch.setattr(static, "distil", refused)
    second = static.distil_once(Cache(cache))
    assert first != second
    assert contents(first) == contents(second)
    assert {"model.safetensors", "tokenizer.json", "modules.json"} <= contents(second).keys()


def test_where_nothing_can_be_kept_it_is_distilled_all_the_same(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    tiny = str(tiny_encoder(tmp_path / "tiny"))
    monkeypatch.setattr(static, "distil", lambda folder: distil(folder, tiny))
    (tmp_path / "file").write_text("in the way")
    assert "modules.json" in contents(static.distil_once(Cache(tmp_path / "file")))


def contents(folder: Path) -> dict[str, bytes]:
    """The files of a folder."""
    files = (path for path in folder.rglob("*") if path.is_file())
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in files}


@given(st.integers(0, 99))
def test_in_main_directions_vectors_are_uncorrelated_and_keep_their_distances(seed: int) -> None:
    vectors = np.random.default_rng(seed).normal(size=(20, 4)).astype(np.float32)
    found = main_directions(vectors, 4)
    np.testing.assert_allclose(_distances(found), _distances(vectors), rtol=1e-3)
    covariance = found.T @ found
    np.testing.assert_allclose(covariance, np.diag(np.diag(covariance)), atol=1e-3)
    assert (np.diff(np.diag(covariance)) <= 1e-4).all()


def _table(folder: Path) -> Floats:
    table: Floats = load_file(folder / "model.safetensors")["embedding.weight"]
    return table


def _harmonic(count: int) -> float:
    return sum(1 / rank for rank in range(2, count + 2))


def _distances(vectors: Floats) -> Floats:
    distances: Floats = np.linalg.norm(vectors[:, None] - vectors[None], axis=2)[np.triu_indices(len(vectors), 1)]
    return distances


def test_a_text_is_the_mean_of_its_tokens_weighted_by_rarity(tiny: str) -> None:
    sketch = read_sketch(Path(tiny), 64)
    assert sketch is not None
    table = load_file(Path(tiny, "model.safetensors"))["embeddings.word_embeddings.weight"]
    ordinary = (table[5:] - table[5:].mean(axis=0)) * rarity(len(VOCABULARY) - 5)[:, None]  # 5 special ones come first
    bee, honey = (ordinary[VOCABULARY.index(word) - 5] for word in ("bee", "honey"))
    expected = (2 * bee + honey) / np.linalg.norm(2 * bee + honey)
    np.testing.assert_allclose(sketch(["bee honey bee"])[0], expected, atol=1e-5)


def test_as_much_of_a_text_is_read_as_the_transformer_reads(tiny: str) -> None:
    """Of five tokens, [CLS] and [SEP] are two."""
    sketch = read_sketch(Path(tiny), max_length=5)
    assert sketch is not None
    beginning, same, more = sketch(["bee honey bee", "bee honey bee wasp wasp", "bee honey wasp"])
    np.testing.assert_allclose(same, beginning, atol=1e-6)
    assert not np.allclose(more, beginning, atol=1e-3)


def test_texts_without_a_known_token_are_zero(tiny: str) -> None:
    sketch = read_sketch(Path(tiny), 64)
    assert sketch is not None
    assert not sketch(["", "\u4e00"]).any()
    assert sketch([]).shape == (0, 16)


def test_there_is_none_without_a_table_of_embeddings(tiny: str) -> None:
    folder = Path(tiny)
    weights = load_file(folder / "model.safetensors")
    table = weights.pop("embeddings.word_embeddings.weight")
    save_file({**weights, "tokens": table}, Path(tiny, "model.safetensors"))
    assert read_sketch(folder, 64) is None
    save_file({**weights, "embeddings.word_embeddings.weight": table[:9]}, Path(tiny, "model.safetensors"))
    assert read_sketch(folder, 64) is None
    (folder / "tokenizer.json").unlink()
    assert read_sketch(folder, 64) is None
