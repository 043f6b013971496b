from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Literal

import numpy as np
import pytest
from sentence_transformers import SentenceTransformer
from tests.saved import saved
from tests.tiny import tiny_encoder

from tagwright.encoders.bi_encoder import BiEncoder
from tagwright.encoders.prompts import Prompts, Role
from tagwright.encoders.sentence_transformer import General
from tagwright.encoders.transformer import Transformer
from tagwright.errors import ConfigError, ModelError
from tagwright.papers import rts
from tagwright.stages.dense import Dense
from tagwright.tagger import zero_shot
from tagwright.types import Document, Floats, Label

TEXTS = ["bee", "honey bee near the river, and rain", "", "stock market money", "bee " * 90]
OWN = {"query": "find the water: ", "document": "stone: "}


def prompted(
    folder: Path,
    prompts: Mapping[str, Any] = OWN,
    default: str | None = None,
    *,
    pooled: bool = True,
    pooling: Literal["cls", "mean"] = "mean",
) -> str:
    """A tiny encoder with prompts in its configuration."""
    tiny_encoder(folder, pooling=pooling)
    settings = {"prompts": dict(prompts), "default_prompt_name": default}
    (folder / "config_sentence_transformers.json").write_text(json.dumps(settings))
    file = folder / "1_Pooling" / "config.json"
    file.write_text(json.dumps({**json.loads(file.read_text()), "include_prompt": pooled}))
    return str(folder)


def unit(vectors: Any) -> Floats:
    found: Floats = np.asarray(vectors) / np.maximum(np.linalg.norm(vectors, axis=1, keepdims=True), 1e-9)
    return found


def load(folder: str, **options: Any) -> BiEncoder:
    return BiEncoder.load(folder, precision="float32", cached=False, **options)


@pytest.mark.parametrize("pooling", ["cls", "mean"])
@pytest.mark.parametrize("pooled", [True, False])
@pytest.mark.parametrize("role", ["query", "document"])
def test_prompted_vectors_are_those_of_sentence_transformers(
    tmp_path: Path, pooling: Literal["cls", "mean"], pooled: bool, role: Role
) -> None:
    long = {**OWN, "document": "bee " * 80}  # it leaves no room for the text
    folder = prompted(tmp_path / "tiny", long, pooled=pooled, pooling=pooling)
    encoder, model = load(folder), SentenceTransformer(folder, device="cpu")
    ours = encoder.encode(TEXTS, role=role)
    assert isinstance(encoder._forward, Transformer if pooled else General)
    assert np.allclose(ours, unit(model.encode(TEXTS, prompt_name=role)), atol=2e-3)
    encode = model.encode_query if role == "query" else model.encode_document
    assert np.allclose(ours, unit(encode(TEXTS)), atol=2e-3)
    assert np.abs(ours - encoder.encode(TEXTS)).max() > 0.01
    assert np.allclose(encoder.encode(TEXTS), unit(model.encode(TEXTS)), atol=2e-3)


@pytest.mark.parametrize("pooled", [True, False])
def test_another_transformer_reads_prompts_too(tmp_path: Path, pooled: bool) -> None:
    folder = prompted(tmp_path / "tiny", pooled=pooled)
    config = tmp_path / "tiny" / "config.json"
    config.write_text(json.dumps({**json.loads(config.read_text()), "hidden_act": "relu"}))
    encoder = load(folder)
    ours = encoder.encode(TEXTS, role="query")
    assert isinstance(encoder._forward, General)
    theirs = SentenceTransformer(folder, device="cpu").encode(TEXTS, prompt_name="query")
    assert np.allclose(ours, unit(theirs), atol=2e-3)


def test_chosen_prompts_stand_in_place_of_the_models_own(tmp_path: Path) -> None:
    plain, folder = str(tiny_encoder(tmp_path / "plain")), prompted(tmp_path / "tiny")
    own, chosen = load(folder), load(folder, prompts={"query": "rain "})
    assert (chosen.encode(["bee"], role="query") == load(plain).encode(["rain bee"])).all()
    assert (chosen.encode(["bee"], role="document") == own.encode(["bee"], role="document")).all()
    without = load(folder, prompts={"query": "", "document": ""})
    for role in ROLES:
        for encoder in (without, load(plain)):
            assert (encoder.encode(TEXTS, role=role) == load(plain).encode(TEXTS)).all()
    with pytest.raises(ConfigError, match='not for "passage"'):
        load(folder, prompts={"passage": "passage: "})


@pytest.mark.parametrize(
    ("prompts", "default", "expected"),
    [
        ({}, None, ("", "", "")),
        ({"query": "q: ", "document": ""}, None, ("q: ", "", "")),
        ({"query": "q: ", "document": "", "passage": "p: "}, None, ("q: ", "p: ", "")),
        ({"query": None, "document": "d: ", "passage": "p: "}, None, ("", "d: ", "")),
        ({"corpus": "c: "}, None, ("", "c: ", "")),
        ({"query": "q: "}, "query", ("q: ", "", "q: ")),
        ({"sts": "s: ", "query": "", "document": ""}, "sts", ("s: ", "s: ", "s: ")),  # as before there were roles
    ],
)
def test_the_prompts_of_a_model(prompts: Any, default: str | None, expected: tuple[str, str, str]) -> None:
    found = Prompts.of_model(prompts, default, pooled=True)
    assert (found.query, found.document, found.default) == expected


@pytest.mark.parametrize("prompts", [["query: "], {"query": 5}, "query: "])
def test_prompts_that_are_no_texts_are_a_model_error(tmp_path: Path, prompts: Any) -> None:
    folder = tiny_encoder(tmp_path / "tiny")
    (folder / "config_sentence_transformers.json").write_text(json.dumps({"prompts": prompts}))
    with pytest.raises(ModelError, match=r"config_sentence_transformers.json: damaged \(the prompts"):
        load(str(folder))


def test_kept_vectors_of_one_prompt_are_never_those_of_another(tmp_path: Path) -> None:
    folder = prompted(tmp_path / "tiny")
    alike = {"query": "rain ", "document": "rain b"}
    for prompts in (OWN, alike):
        first = BiEncoder.load(folder, prompts=prompts, precision="float32")
        expected = {role: load(folder, prompts=prompts).encode(TEXTS, role=role) for role in ROLES}
        for role in ROLES:
            assert (first.encode(TEXTS, role=role) == expected[role]).all()
        again = BiEncoder.load(folder, prompts=prompts, precision="float32")
        for role in ROLES:
            assert again._look_up(TEXTS, role)[1].all()
            assert (again.encode(TEXTS, role=role) == expected[role]).all()
    assert not BiEncoder.load(folder, precision="float32")._look_up(["rain bee"], None)[1].any()


ROLES: tuple[Role, ...] = ("query", "document")


def test_a_saved_encoder_has_its_prompts_for_everybody(tmp_path: Path) -> None:
    folder = str(tiny_encoder(tmp_path / "tiny"))
    encoder = load(folder, prompts={"query": "rain ", "document": "stone "})
    encoder.save(tmp_path / "saved")
    for role in ROLES:
        ours = load(str(tmp_path / "saved")).encode(TEXTS, role=role)
        assert np.allclose(ours, encoder.encode(TEXTS, role=role), atol=1e-3)
        theirs = SentenceTransformer(str(tmp_path / "saved"), device="cpu").encode(TEXTS, prompt_name=role)
        assert np.allclose(ours, unit(theirs), atol=2e-3)


LABELS = [Label("1", ("bee",)), Label("2", ("river",)), Label("3", ("stock",))]
DOCUMENTS = [Document("d", "honey"), Document("e", "money bank")]


def test_a_saved_stage_keeps_the_prompts_it_was_given(tmp_path: Path) -> None:
    folder = prompted(tmp_path / "tiny")
    for chosen in ({"query": "rain "}, {"query": "", "document": ""}):
        dense = Dense(LABELS, load(folder, prompts=chosen))
        state = saved(dense, tmp_path / f"saved {len(chosen)}")
        assert state["record"]["prompts"] == {**OWN, **chosen}
        loaded = Dense.from_state(state, LABELS)
        assert np.allclose(loaded.read(DOCUMENTS).vectors, dense.read(DOCUMENTS).vectors, atol=2e-3)
        assert np.allclose(loaded.vectors[:], dense.vectors[:], atol=2e-3)


@pytest.mark.parametrize("prompts", [["query"], {"title": "a"}])
def test_a_damaged_record_of_prompts_is_a_model_error(tmp_path: Path, prompts: Any) -> None:
    state = saved(Dense(LABELS, load(str(tiny_encoder(tmp_path / "tiny")))), tmp_path / "saved")
    with pytest.raises(ModelError, match="cannot be loaded"):
        Dense.from_state({**state, "record": {"prompts": prompts}}, LABELS)
    for method in (zero_shot, rts):
        with pytest.raises(ConfigError, match='not for "label"'):
            method.Config(prompts={"label": "passage: "}, encoder="minilm")


def test_rough_vectors_do_without_prompts(tmp_path: Path) -> None:
    plain, own = load(str(tiny_encoder(tmp_path / "plain"))).sketch(), load(prompted(tmp_path / "tiny")).sketch()
    assert plain
    assert own
    assert (plain(TEXTS) == own(TEXTS)).all()
