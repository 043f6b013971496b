from __future__ import annotations

import json
import shutil
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from sentence_transformers import CrossEncoder as Theirs
from tests.tiny import POSITIONS, tiny_encoder

from tagwright.encoders import pair_tokenizer, precision, transformer
from tagwright.encoders.cross_encoder import CrossEncoder
from tagwright.encoders.pair_tokenizer import longest_first
from tagwright.encoders.static import distil
from tagwright.errors import ConfigError, ModelError
from tagwright.types import Floats

DOCUMENTS = ["bee", "a wasp and honey, a flower", "", "The stock market: " + "money " * 300, "[SEP] river"]
LABELS = ["bees", "river water and stone", "", "bank " * 60]
ROWS, COLUMNS = (part.ravel() for part in np.indices((len(DOCUMENTS), len(LABELS))))
PAIRS = [(DOCUMENTS[row], LABELS[column]) for row, column in zip(ROWS.tolist(), COLUMNS.tolist(), strict=True)]


def classic(folder: str, target: Path, *, labels: int = 1) -> Path:
    """The format of older cross-encoders: one transformer whose own head classifies."""
    bare = target.with_name("bare")
    shutil.copytree(folder, bare, ignore=shutil.ignore_patterns("modules.json", "1_Pooling", "sentence*"))
    torch.manual_seed(1)
    Theirs(str(bare), num_labels=labels, device="cpu", local_files_only=True).save(str(target), create_model_card=False)
    return target


def theirs(folder: Path) -> Floats:
    model = Theirs(str(folder), device="cpu", local_files_only=True)
    return np.asarray(model.predict(PAIRS, activation_fn=torch.nn.Identity()))


def scored(encoder: CrossEncoder) -> Floats:
    return encoder.score(DOCUMENTS, LABELS, ROWS, COLUMNS)


@pytest.mark.parametrize("max_length", [17, 25, POSITIONS - 1])
def test_scores_are_those_of_sentence_transformers(tiny: str, tmp_path: Path, max_length: int) -> None:
    encoder = CrossEncoder.load(tiny, max_length=max_length, seed=3)
    encoder.save(tmp_path / "saved")
    got = scored(encoder)
    assert got.std() > 0.01
    assert np.abs(got - theirs(tmp_path / "saved")).max() < 1e-5
    loaded = CrossEncoder.load(str(tmp_path / "saved"))
    assert scored(loaded).tolist() == got.tolist()
    assert loaded.model.max_seq_length == max_length


def test_a_cross_encoder_of_the_older_format_scores_with_its_own_head(tiny: str, tmp_path: Path) -> None:
    folder = classic(tiny, tmp_path / "classic")
    (folder / "modules.json").unlink()
    (folder / "config_sentence_transformers.json").unlink()
    got = scored(CrossEncoder.load(str(folder)))
    assert np.abs(got - theirs(folder)).max() < 1e-5
    CrossEncoder.load(str(folder)).save(tmp_path / "again")
    assert scored(CrossEncoder.load(str(tmp_path / "again"))).tolist() == got.tolist()


def test_any_other_transformer_is_run_by_its_own_library(
    tiny: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tagwright.encoders.cross_encoder.best_dtype", lambda _: torch.float32)
    config = Path(tiny, "config.json")
    config.write_text(json.dumps(json.loads(config.read_text()) | {"hidden_act": "relu"}))
    encoder = CrossEncoder.load(tiny, max_length=31)
    encoder.save(tmp_path / "saved")
    assert np.abs(scored(encoder) - theirs(tmp_path / "saved")).max() < 1e-5


def test_half_precision_is_near(tiny: str, monkeypatch: pytest.MonkeyPatch) -> None:
    encoder = CrossEncoder.load(tiny)
    with torch.no_grad():  # scores that are as far apart as those of a trained model
        next(encoder.model[2].parameters()).mul_(50)
    if "bfloat16" not in precision.formats():
        pytest.skip("no product in bfloat16 here")
    full = scored(CrossEncoder.of(encoder.model))
    monkeypatch.setattr(precision, "formats", lambda: {"bfloat16": True})
    half = scored(CrossEncoder.of(encoder.model))
    assert np.abs(half - full).max() < 0.1 * full.std()
    assert np.corrcoef(half, full)[0, 1] > 0.999


def test_every_text_is_tokenised_once_and_only_if_it_is_used(tiny: str, monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[str] = []
    tokenize = transformer.tokenize

    def watched(tokenizer: Any, texts: Sequence[str], *args: Any, **options: Any) -> list[list[int]]:
        seen.extend(texts)
        return tokenize(tokenizer, texts, *args, **options)

    monkeypatch.setattr(pair_tokenizer, "tokenize", watched)
    encoder = CrossEncoder.load(tiny)
    encoder.score(["bee"], ["bee"], np.array([0]), np.array([0]))  # the first time, agreement is tested too
    seen.clear()
    encoder.score(["bee", "wasp", "river"], ["money", "bank"], np.array([0, 2, 0]), np.array([1, 1, 1]))
    assert sorted(seen) == ["bank", "bee", "river"]


def test_a_pair_scores_the_same_in_any_company(tiny: str) -> None:
    encoder = CrossEncoder.load(tiny)
    alone = [encoder.score([first], [second], np.array([0]), np.array([0]))[0] for first, second in PAIRS]
    assert np.abs(scored(encoder) - alone).max() < 1e-3
    assert encoder.score(DOCUMENTS, LABELS, np.zeros(0, np.int64), np.zeros(0, np.int64)).shape == (0,)


def test_no_more_tokens_of_the_first_text_are_read_than_wanted(tiny: str) -> None:
    encoder, zero = CrossEncoder.load(tiny), np.array([0])
    cut = encoder.score(["bee honey wasp wing"], ["river"], zero, zero, first_tokens=2)
    assert cut == encoder.score(["bee honey"], ["river"], zero, zero)
    assert cut != encoder.score(["bee honey wasp wing"], ["river"], zero, zero)


def test_a_new_head_is_drawn_from_its_seed(tiny: str) -> None:
    first, same, other = (scored(CrossEncoder.load(tiny, seed=seed)) for seed in (1, 1, 2))
    assert first.tolist() == same.tolist() != other.tolist()


def test_training_is_seen_by_a_cross_encoder_made_of_the_model_afterwards(tiny: str) -> None:
    encoder = CrossEncoder.load(tiny)
    before = scored(encoder)
    with torch.no_grad():
        next(encoder.model[2].parameters()).mul_(2)
    assert np.allclose(scored(CrossEncoder.of(encoder.model)), 2 * before)


def test_the_same_files_are_saved_whatever_was_scored_before(tiny: str, tmp_path: Path) -> None:
    encoder, files = CrossEncoder.load(tiny), list[bytes]()
    for pairs in (PAIRS[:1], PAIRS):
        encoder.model.predict(pairs, show_progress_bar=False)
        encoder.save(tmp_path / "saved")
        files.append((tmp_path / "saved" / "tokenizer.json").read_bytes())
    assert files[0] == files[1]
    assert json.loads(files[0])["padding"] is None


def test_a_static_encoder_is_refused(tiny: str, tmp_path: Path) -> None:
    distil(tmp_path / "static", tiny)
    with pytest.raises(ModelError, match="static encoder, which cannot read two texts together"):
        CrossEncoder.load(str(tmp_path / "static"))


def test_more_than_one_score_is_refused(tiny: str, tmp_path: Path) -> None:
    encoder = CrossEncoder.load(str(classic(tiny, tmp_path / "three", labels=3)))
    with pytest.raises(ModelError, match="gives 3 scores for a pair"):
        encoder.score(["bee"], ["wasp"], np.array([0]), np.array([0]))


@pytest.mark.parametrize("length", [7, POSITIONS + 1])
def test_a_length_the_model_does_not_have_is_refused(tiny: str, length: int) -> None:
    with pytest.raises(ConfigError, match=f"max_length is {length}.* 8 to {POSITIONS}"):
        CrossEncoder.load(tiny, max_length=length)


@given(first=st.integers(0, 40), second=st.integers(0, 40), room=st.integers(2, 40))
def test_both_texts_are_kept_whole_or_fill_the_room_and_neither_is_cut_below_half(
    first: int, second: int, room: int
) -> None:
    lengths = np.array([first]), np.array([second])
    kept = tuple(int(n[0]) for n in longest_first(*lengths, room))
    assert sum(kept) == min(first + second, room)
    assert all(min(whole, room // 2) <= n <= whole for n, whole in zip(kept, (first, second), strict=True))


TEXTS, LABEL = ["bees and honey", "the stock market"], "money"


def classifier(folder: Path, classes: int) -> str:
    torch.manual_seed(1)
    model = Theirs(str(tiny_encoder(folder / "tiny")), num_labels=classes, device="cpu", local_files_only=True)
    model.save(str(folder / "classifier"), create_model_card=False)
    return str(folder / "classifier")


def score(encoder: CrossEncoder) -> list[float]:
    scores: list[float] = encoder.score(TEXTS, [LABEL], np.array([0, 1]), np.array([0, 0])).tolist()
    return scores


def test_the_score_is_the_only_logit(tmp_path: Path) -> None:
    name = classifier(tmp_path, 1)
    pairs = [(text, LABEL) for text in TEXTS]
    logits = Theirs(name, device="cpu", local_files_only=True).predict(pairs, activation_fn=torch.nn.Identity())
    encoder = CrossEncoder.load(name)
    assert score(encoder) == pytest.approx(logits.tolist(), abs=1e-5)
    encoder.save(tmp_path / "saved")
    assert score(CrossEncoder.load(str(tmp_path / "saved"))) == pytest.approx(score(encoder), abs=1e-6)
    assert score(CrossEncoder.of(encoder.model)) == pytest.approx(score(encoder), abs=1e-5)
    weights = tmp_path / "saved" / "model.safetensors"
    weights.write_bytes(weights.read_bytes()[:1000])
    with pytest.raises(ModelError, match="cannot be loaded as a cross-encoder"):
        _ = CrossEncoder.load(str(tmp_path / "saved")).model
    with pytest.raises(ModelError, match="gives 3 scores for a pair"):
        score(CrossEncoder.load(classifier(tmp_path / "other", 3)))
