from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from tests.server.conftest import word_tagger

from tagwright.combining.weighted_sum import WeightedSum
from tagwright.errors import ConfigError
from tagwright.review import Order
from tagwright.review.events import Decision
from tagwright.review.file import ReviewFile
from tagwright.review.sampling import sample
from tagwright.server.review import queue
from tagwright.server.review.review import Review
from tagwright.server.served_model import ServedModel
from tagwright.tagger.acceptance import SuggestOptions
from tagwright.types import Document

DOCUMENTS = [Document(str(number), "x" * (number + 1)) for number in range(12)]


def new_review(folder: Path, order: Order) -> Review:
    review = Review(ServedModel("bees", word_tagger(), "Bees"), ReviewFile(folder / "reviews.sqlite"), order=order)
    review.documents.add(DOCUMENTS)
    return review


def finish_all(review: Review) -> list[str]:
    """The documents in the order in which a reviewer gets them."""
    ids = list[str]()
    while entry := review.next("ann"):
        ids.append(entry.id)
        review.decide(entry.number, Decision(document="", reviewer="ann", action="done"))
    return ids


def wait_for(condition: Callable[[], bool]) -> None:
    for _ in range(12_000):
        if condition():
            return
        time.sleep(0.05)
    raise AssertionError("it did not come about within 600 s")


def test_documents_come_as_they_were_given(tmp_path: Path) -> None:
    assert finish_all(new_review(tmp_path, "given")) == [document.id for document in DOCUMENTS]


def test_the_random_order_is_that_of_the_command_sample(tmp_path: Path) -> None:
    expected = [DOCUMENTS[place].id for place in sample(DOCUMENTS, len(DOCUMENTS))]
    assert finish_all(new_review(tmp_path, "random")) == expected


def test_documents_of_all_lengths_come_first(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(queue, "BATCH_SIZE", 3)
    review = new_review(tmp_path, "length")

    def lengths() -> set[int]:
        """Which third each of the first three belongs to: lengths 1 to 4, 5 to 8, 9 to 12."""
        places = review._queue.places(review.documents.entries())
        first = sorted(places, key=lambda number: places[number])[:3]
        return {(number - 1) // 4 for number in first}

    wait_for(lambda: lengths() == {0, 1, 2})


@pytest.mark.parametrize(("settings", "first"), [({"without": ["o"]}, "a"), ({"only": ["o"]}, "b")])
def test_only_labels_that_may_be_suggested_make_a_document_uncertain(
    tmp_path: Path, settings: dict[str, Any], first: str
) -> None:
    tagger = replace(word_tagger(), combiner=WeightedSum(confidence="fitted", curve=(1.0, 0.0)))
    model = ServedModel("bees", tagger, "Bees", settings=SuggestOptions(**settings))
    review = Review(model, ReviewFile(tmp_path / "reviews.sqlite"), order="uncertainty")
    review.documents.add([Document("a", "Bees and tax law"), Document("b", "Orchards")])

    def next_one() -> str:
        entry = review.next("ann")
        return entry.id if entry else ""

    wait_for(lambda: next_one() == first)


def test_a_tagger_that_is_never_unsure_is_refused_at_once(tmp_path: Path) -> None:
    model = ServedModel("bees", word_tagger(), "Bees")
    model.tagger = replace(model.tagger, combiner=WeightedSum())
    with pytest.raises(ConfigError, match="does not estimate confidences"):
        Review(model, ReviewFile(tmp_path / "reviews.sqlite"), order="uncertainty")
