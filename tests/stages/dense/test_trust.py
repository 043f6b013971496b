"""Trust in an encoder by document: tests/tiny.py knows "honey" and "flower" and spells every Finnish word."""

from __future__ import annotations

import logging
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tagwright.data.vocabulary import Vocabulary
from tagwright.encoders.bi_encoder import BiEncoder
from tagwright.stages.dense import Dense
from tagwright.stages.dense import retriever as module
from tagwright.stages.dense.retriever import report, trust
from tagwright.tagger import Tagger, zero_shot
from tagwright.tagger.zero_shot import Config
from tagwright.types import Document, Label

LABELS = Vocabulary([Label("bee", ("Bees",), "Honey and flower."), Label("bank", ("Banks",), "Money is there.")])
ENGLISH = Document("1", title="Honey and flower", abstract="A flower in the river; a market.")
FINNISH = Document("2", title="Hunajan hinta", abstract="Kukasta kukkaan lentävät ahkerat mehiläiset, bank.")
TITLE_ONLY = Document("3", title="Bee")


@given(st.lists(st.floats(0, 20), min_size=2, max_size=9))
def test_trust_rises_with_fluency_and_is_a_share(fertility: list[float]) -> None:
    trusted = trust(sorted(fertility))
    assert ((trusted > 0) & (trusted <= 1)).all()
    assert (np.diff(trusted) >= 0).all()


def test_an_encoder_is_trusted_with_the_documents_whose_words_it_knows(tiny: str) -> None:
    """Honey, flower, flower, river, market: 28 letters in 5 tokens. Of the Finnish words every letter is a token."""
    stage = Dense(LABELS, BiEncoder.load(tiny, cached=False))
    trusted = stage.trust(stage.read([ENGLISH, FINNISH, TITLE_ONLY]), weight=1.0)
    assert trusted is not None
    assert trusted.tolist() == pytest.approx([1.0, 0.01, 1.0])


def test_the_weight_of_dense_falls_document_by_document(tiny: str) -> None:
    weighed = zero_shot.fit(LABELS, Config(encoder=tiny)).tag([ENGLISH, FINNISH])
    for row, share in ((0, 1.0), (1, 0.01)):
        by_hand = Config(encoder=tiny, trust=False, weights=(0.5, 1.0, 2.5 * share), title_match=share)
        expected = zero_shot.fit(LABELS, by_hand).tag([ENGLISH, FINNISH]).take([row])
        assert weighed.take([row]).labels.tolist() == expected.labels.tolist()
        assert weighed.take([row]).scores.tolist() == pytest.approx(expected.scores.tolist(), abs=1e-5)


FISHING = "Turskan kalastus Itämerellä on vähentynyt voimakkaasti viime vuosina, ja viranomaiset harkitsevat."


@pytest.mark.parametrize(
    ("encoder", "text", "problem"),
    [
        ("minilm", FISHING, "reads English; these texts are Finnish"),
        (
            "minilm",
            "We study the growth of the trees in the old town.",
            "reads English; these texts have words that it hardly knows, as of another language",
        ),
        ("minilm", "Torsk", "reads English; these texts are in another language"),
        ("folder", FISHING, "does not know the language of these texts (Finnish)"),
        ("folder", "Torsk", "does not know the language of these texts"),
    ],
)
def test_an_unknown_language_is_said_once(
    caplog: pytest.LogCaptureFixture, encoder: str, text: str, problem: str
) -> None:
    """A weight of 0 stays 0. Later batches differ in their weight and in the languages that are recognised."""
    module._warned.clear()
    with caplog.at_level(logging.WARNING):
        for trusted, weight in ((0.9, 2.5), (0.2, 0.0), (0.2, 2.5), (0.25, 2.5)):
            report(encoder, [text], np.array([trusted], np.float32), weight)
    remedy = "encoder=multilingual would read them" if encoder == "minilm" else "encoder=FOLDER names another"
    assert caplog.messages == [f"the encoder {encoder} {problem}: its weight is 0.5, not 2.5; {remedy}"]


def test_a_saved_tagger_does_not_advise_another_encoder(
    tiny: str, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """Its encoder cannot be changed. With other labels it is the same encoder."""
    module._warned.clear()
    tagger = zero_shot.fit(LABELS, Config(encoder=tiny))
    tagger.save(tmp_path / "saved")
    loaded = Tagger.load(tmp_path / "saved")
    loaded.tag([FINNISH])
    loaded.with_labels(Vocabulary([*LABELS, Label("bear", ("Bears",))])).tag([FINNISH])
    assert caplog.messages == []
    tagger.tag([FINNISH])
    assert "does not know the language of these texts" in caplog.messages[0]
