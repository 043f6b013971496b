from __future__ import annotations

from pathlib import Path

from tests.server.conftest import word_tagger

from tagwright.review import Order
from tagwright.review.events import Decision
from tagwright.review.file import ReviewFile
from tagwright.review.sampling import sample
from tagwright.server.review.review import Review
from tagwright.server.served_model import ServedModel
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


def test_documents_come_as_they_were_given(tmp_path: Path) -> None:
    assert finish_all(new_review(tmp_path, "given")) == [document.id for document in DOCUMENTS]


def test_the_random_order_is_that_of_the_command_sample(tmp_path: Path) -> None:
    expected = [DOCUMENTS[place].id for place in sample(len(DOCUMENTS), len(DOCUMENTS))]
    assert finish_all(new_review(tmp_path, "random")) == expected
