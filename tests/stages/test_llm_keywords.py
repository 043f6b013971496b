"""A language model gives keywords, which names and words of labels look up."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from tests.llm.stub import serving

from tagwright.core.saved import read_manifest, write_manifest
from tagwright.data.vocabulary import Vocabulary
from tagwright.errors import ModelError
from tagwright.llm.options import LlmOptions
from tagwright.stages.lexical import Lexical, LexicalOptions
from tagwright.stages.llm import Example, LlmKeywords, valid_keywords
from tagwright.stages.names.exact_match import ExactMatch
from tagwright.testing import check_stage
from tagwright.types import Document, Label

LABELS = Vocabulary([Label("bees", ("Bees",)), Label("wild", ("Wild bees",)), Label("taxes", ("Taxes",))])
TEXT = "Small insects that visit flowers."
EXAMPLES = [
    ("Insects of the meadow", ("Bees",)),
    ("Flowers and insects of the wood", ("Wild bees",)),
    *((f"Duties of the state, part {number}", ("Taxes",)) for number in range(9)),
    (TEXT, ("Taxes",)),
]


def stage(model: str, examples: Sequence[Example] = EXAMPLES) -> LlmKeywords:
    words = Lexical(LABELS, LexicalOptions(weighting="tfidf"))
    by: dict[str, ExactMatch | Lexical] = {"exact_match": ExactMatch(LABELS), "tfidf": words}
    return LlmKeywords(LABELS, by, LlmOptions(model=model), examples)


def answer(message: dict[str, Any]) -> str:
    return json.dumps({"keywords": ["Wild bees", "Meadows"] if "insects" in message["document"] else ["Taxes"]})


def test_keywords_are_looked_up_by_every_stage(monkeypatch: pytest.MonkeyPatch) -> None:
    with serving(answer) as stub:
        monkeypatch.setenv("TAGWRIGHT_LLM", stub.address)
        run = stage(stub.model)([Document("1", TEXT), Document("2")])
        assert len(stub.bodies) == 1  # there is nothing to say of an empty text
    labels, scores = run[0]
    assert labels.tolist() == [1, 0]  # "Wild bees" is the first of both stages, "Bees" the second
    assert scores.tolist() == [2, 1]
    assert not len(run[1][0])


def test_the_nearest_labelled_documents_are_examples_but_never_the_document_itself(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    with serving(answer) as stub:
        monkeypatch.setenv("TAGWRIGHT_LLM", stub.address)
        stage(stub.model).read([Document("1", TEXT)])
        (message,) = stub.asked
    assert message["examples"] == [
        {"document": "Flowers and insects of the wood", "keywords": ["Wild bees"]},
        {"document": "Insects of the meadow", "keywords": ["Bees"]},
    ]


def test_it_is_a_stage(monkeypatch: pytest.MonkeyPatch) -> None:
    with serving(answer) as stub:
        monkeypatch.setenv("TAGWRIGHT_LLM", stub.address)
        check_stage(stage(stub.model), LABELS, [TEXT, "Duties"])


@pytest.mark.parametrize(
    ("text", "valid"),
    [
        (json.dumps({"keywords": [f"word {number}" for number in range(12)]}), [f"word {each}" for each in range(10)]),
        (json.dumps({"keywords": ["x" * 101, " a\nb ", {"c": 1}]}), ["a b"]),
        ('{"keywords": "Bees"}', None),
        ("Bees", None),
    ],
)
def test_only_short_texts_are_keywords(text: str, valid: list[str] | None) -> None:
    assert valid_keywords(text) == valid


def test_a_damaged_folder_is_a_model_error(tmp_path: Path) -> None:
    stage("any").save(tmp_path)
    loaded = LlmKeywords.load(tmp_path, LABELS)
    assert (loaded.examples, loaded.options) == (tuple(EXAMPLES), LlmOptions(model="any"))
    assert list(loaded.by) == ["exact_match", "tfidf"]
    write_manifest(tmp_path, "llm_keywords", {**read_manifest(tmp_path, "llm_keywords"), "by": {"tfidf": "Dense"}})
    with pytest.raises(ModelError, match="examples or stages are missing"):
        LlmKeywords.load(tmp_path, LABELS)
