"""`train auto` learns of rare labels from documents that a language model wrote, and measures nothing on them."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pytest
from tests.llm.stub import serving

from tagwright import auto
from tagwright.auto.combiner import ndcg_at_5
from tagwright.data.vocabulary import Vocabulary
from tagwright.errors import ConfigError
from tagwright.llm.generation import synthetic_documents
from tagwright.llm.options import LlmOptions
from tagwright.tagger import Tagger
from tagwright.types import Document, Label

pytestmark = pytest.mark.usefixtures("quick_auto")

FREQUENT, RARE = ("alpha", "beta", "gamma"), ("delta", "epsilon", "zeta", "eta", "theta")
LABELS = Vocabulary([Label(name, (name,)) for name in (*FREQUENT, *RARE)])
CONFIG = auto.Config(stages=("exact_match", "tfidf"), language="english")


def words(label: str) -> list[str]:
    """The forty words that documents of a label are made of; its name is not among them."""
    return [f"{label[0:2]}{number}x" for number in range(40)]


def document(label: str, number: int) -> Document:
    rng = np.random.default_rng((LABELS.index[label], number))
    return Document(f"{label}-{number}", abstract=" ".join(rng.choice(words(label), 6)), labels=(label,))


TRAINING = [
    *(document(label, each) for label in FREQUENT for each in range(15)),
    *(document(label, 0) for label in RARE),
]
TAIL = [document(label, number) for label in RARE for number in range(100, 108)]


def knows(message: dict[str, Any]) -> str:
    """Documents by someone who knows what the labels stand for."""
    text = words(message["label"]["name"])
    parts = [text[start :: message["number"]] for start in range(message["number"])]
    return json.dumps({"documents": [{"title": "", "abstract": " ".join(part)} for part in parts]})


def on_the_tail(tagger: Tagger) -> float:
    return float(ndcg_at_5(tagger.tag(TAIL), LABELS.gold(TAIL)).mean())


def test_rare_labels_gain(monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level("INFO", "tagwright")
    with serving(knows) as stub:
        monkeypatch.setenv("TAGWRIGHT_LLM", stub.address)
        written = list(synthetic_documents(LABELS, TRAINING, LlmOptions(model=stub.model), "english", each=4))
    assert {each.labels[0] for each in written} == set(RARE)
    plain = on_the_tail(auto.fit(TRAINING, LABELS, CONFIG))
    caplog.clear()
    gained = on_the_tail(auto.fit([*TRAINING, *written], LABELS, CONFIG))
    assert plain < 0.8
    assert gained > plain + 0.2
    assert f"on {len(TRAINING)} labelled documents" in caplog.text  # and on no others
    with pytest.raises(ConfigError, match="synthetic documents need at least 2 others with labels, got 1"):
        auto.fit([*TRAINING[:1], *written], LABELS, CONFIG)
