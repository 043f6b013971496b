"""A whole review in a real browser, over a vocabulary of 30,764 labels: two reviewers, a training, an export."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from tests.server.browsing import DESK, chromium, served, visiting

from tagwright.data.vocabulary import Vocabulary
from tagwright.review.export import exported
from tagwright.review.file import ReviewFile
from tagwright.server.review.refit import refit_combiner
from tagwright.server.review.session import Review
from tagwright.server.served_model import ServedModel
from tagwright.tagger import Tagger, zero_shot
from tagwright.types import Document, Label

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

SIZE = 30_764
MESH = Path(__file__).resolve().parents[2] / "../shared/data/epmc/labels.jsonl.gz"
SYLLABLES = [first + second for first in "bdfgklmnprst" for second in "aeiou"]
ADDED = 20_000
"Position of the label that is found by search."


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    with chromium() as browser:
        yield browser


@pytest.fixture(scope="module")
def tagger(browser: Browser) -> Tagger:
    """The subject headings of PubMed where they are, else as many names that nobody else has."""
    labels = Vocabulary.read(MESH) if MESH.is_file() else Vocabulary([Label(f"L{i}", (_name(i),)) for i in range(SIZE)])
    assert len(labels) == SIZE
    return zero_shot.fit(labels, zero_shot.Config(stages=("exact_match", "tfidf"), language="english"))


@pytest.fixture
def review(tagger: Tagger, tmp_path: Path) -> Iterator[Review]:
    names = [label.name for label in tagger.vocabulary[100:10_100:500]]
    with closing(ReviewFile(tmp_path / "reviews.sqlite")) as file:
        review = Review(ServedModel("model", tagger, "Model"), file)
        review.documents.add(
            Document(f"d{i}", f"On {names[i]}", f"Something about {names[i]}, and {names[i + 10]}.") for i in range(10)
        )
        yield review


def test_a_review_from_the_first_document_to_the_export(browser: Browser, review: Review) -> None:
    added = review.model.tagger.vocabulary[ADDED]
    with served(review, refit_combiner) as address:
        with visiting(browser, address, "Ann", width=DESK) as page:
            accepted = dict(_by_mouse(page, added) for _ in range(5))
            accepted |= dict(_by_keyboard(page, added) for _ in range(5))
            page.wait_for_selector("text=Every document has been reviewed")
        with visiting(browser, address, "Ben", width=DESK) as page:  # comes to a document that Ann has reviewed
            page.wait_for_selector("text=Ann reviewed it before")
            disputed, (doubtful, *_) = _document(page), [_label(page, 1)]
            page.click("#row-1 .no")
            page.wait_for_selector("#row-1.reject")
            page.click("text=Differences")
            page.wait_for_selector("text=accepted by Ann; rejected by Ben")
            page.click("text=Overview")
            page.click("text=Train the model")
            while "It is being trained" in page.inner_text("main"):
                page.wait_for_timeout(500)
                page.reload()
            said = page.inner_text("form[action='/review/refit']")
            assert "Trained on 10 documents" in said
            assert "cross-validated" in said
    accepted[disputed].remove(doubtful)  # as many accept it as reject it
    found = {record["id"]: record["labels"] for record in map(json.loads, exported(review.file, "jsonl"))}
    assert {id_: sorted(labels) for id_, labels in found.items()} == _by_id(accepted)
    assert all(added.id in labels for labels in found.values())


def _by_mouse(page: Page, added: Label) -> tuple[int, list[str]]:
    """Accept the first suggestion, reject the second, add a label, take it back, reload, add it again, go on."""
    number, first = _document(page), _label(page, 1)
    page.click("#row-1 .yes")
    page.wait_for_selector("#row-1.accept")
    page.click("#row-2 .no")
    page.wait_for_selector("#row-2.reject")
    for turn in range(2):
        page.fill("#search", added.name)
        page.click(_button(added))
        page.wait_for_selector("text=added by you")
        if turn == 0:
            page.click("#undo")
            page.wait_for_selector("text=added by you", state="detached")
            page.reload()
            page.wait_for_selector("#row-1.accept")
            assert page.locator("#row-2.reject").count() == 1
    page.click("#done")
    _left(page, number)
    return number, [first, added.id]


def _by_keyboard(page: Page, added: Label) -> tuple[int, list[str]]:
    """The same without the mouse."""
    number, first = _document(page), _label(page, 1)
    press = page.keyboard.press
    for key in ("1", "a", "r"):  # after a verdict the next suggestion has the focus
        press(key)
    page.wait_for_selector("#row-2.reject")
    for turn in range(2):
        press("/")
        page.keyboard.type(added.name)
        page.wait_for_selector(_button(added))
        press("ArrowDown")
        press("Enter")
        page.wait_for_selector("text=added by you")
        press("Escape")
        if turn == 0:
            press("u")
            page.wait_for_selector("text=added by you", state="detached")
            page.reload()
            page.wait_for_selector("#row-1.accept")
    press("Enter")
    _left(page, number)
    return number, [first, added.id]


def _document(page: Page) -> int:
    return int(page.get_attribute("#sheet", "data-number") or 0)


def _label(page: Page, place: int) -> str:
    return page.get_attribute(f"#row-{place} input[name=label]", "value") or ""


def _button(label: Label) -> str:
    return f".found button:text-is('Add {label.name}')"


def _left(page: Page, number: int) -> None:
    page.wait_for_selector(f"#sheet[data-number='{number}']", state="detached")


def _by_id(labels: Mapping[int, list[str]]) -> dict[str, list[str]]:
    """Documents are numbered from 1 in the order in which they were added."""
    return {f"d{number - 1}": sorted(each) for number, each in labels.items()}


def _name(number: int) -> str:
    """A word that no other number has."""
    word = ""
    for _ in range(3):
        number, place = divmod(number, len(SYLLABLES))
        word += SYLLABLES[place]
    return word
