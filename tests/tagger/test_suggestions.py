"""Suggestions for many documents: batch by batch, with their evidence."""

from __future__ import annotations

import pytest
from tests.fixed import Fixed

from tagwright import zero_shot
from tagwright.data.corpus import Corpus
from tagwright.tagger import Tagger, batches, pipeline
from tagwright.tagger.acceptance import SuggestOptions
from tagwright.types import Document

TAGGER = zero_shot(["Bees", "Rain"], stages=["exact_match"], language="en")
CORPUS = Corpus.of(
    [
        Document("a", "Bees in the rain"),
        Document("b", "Rain"),
        Document("Bees", "All about bees"),
    ]
)


def named(*, exclude_self: bool = False) -> list[tuple[str, set[str]]]:
    found = TAGGER.suggestions(CORPUS, SuggestOptions(exclude_self=exclude_self))
    return [(document.id, {each.name for each in labels}) for document, labels in found]


def test_each_document_comes_with_its_labels() -> None:
    assert named() == [("a", {"Bees", "Rain"}), ("b", {"Rain"}), ("Bees", {"Bees"})]


def test_a_document_that_is_a_label_is_not_tagged_with_itself() -> None:
    assert named(exclude_self=True) == [("a", {"Bees", "Rain"}), ("b", {"Rain"}), ("Bees", set())]


def test_batches_change_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    whole = named()
    monkeypatch.setattr(pipeline, "batches", lambda documents: batches(documents, 2))
    assert named() == whole


def test_a_document_is_read_once_for_its_labels_and_their_evidence() -> None:
    stage = Fixed({0: 1.0})
    tagger = Tagger(TAGGER.vocabulary, {"fixed": stage})
    found = [labels for _, labels in tagger.suggestions(CORPUS, SuggestOptions(), explain=True)]
    assert stage.asked == [3]
    assert tagger.explain(CORPUS) == found
    assert [len(each.evidence) for labels in found for each in labels] == [1, 1, 1]
