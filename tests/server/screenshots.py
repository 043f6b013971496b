"""The pictures of the pages in docs: `python -m tests.server.screenshots docs/samples`. To be looked at.

A palette of 64 colours makes them a third as large: the project has no tool for that.
"""

from __future__ import annotations

import sys
import tempfile
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from tests.server.browsing import DESK, VIEWS, chromium, look, served, visiting

import tagwright
from tagwright.data.vocabulary import Vocabulary
from tagwright.review.file import ReviewFile
from tagwright.server.review.review import Review
from tagwright.server.served_model import ServedModel
from tagwright.tagger import Tagger
from tagwright.types import Document, Label, Section

if TYPE_CHECKING:
    from playwright.sync_api import Page

LABELS = Vocabulary([
    Label("animals", ("Animals",)),
    Label("insects", ("Insects",), broader=("animals",)),
    Label("bees", ("Bees", "Apoidea"), "Flying insects that feed their young with pollen.", ("insects",)),
    Label("solitary", ("Solitary bees", "Mason bees"), "Bees that build a nest each.", ("bees",)),
    Label("honey", ("Honey bees", "Apis mellifera"), "Bees that live in hives.", ("bees",)),
    Label("agriculture", ("Agriculture",)),
    Label("orchards", ("Orchards", "Fruit trees"), "Land where fruit trees grow.", ("agriculture",)),
    Label("pollination", ("Pollination",), "The way of pollen to a flower.", ("agriculture",)),
    Label("insecticides", ("Insecticides",), "Substances that kill insects.", ("agriculture",)),
    Label("yield", ("Crop yield", "Yield"), "", ("agriculture",)),
    Label("frost", ("Frost damage", "Frost"), "", ("agriculture",)),
])  # fmt: skip
DOCUMENT = Document(
    "d1",
    "Honey bees and mason bees in apple orchards",
    "Growers pay for hives when the trees are in bloom. We counted visits of honey bees and of mason bees in twelve "
    "orchards over three springs, and weighed the fruit in autumn.",
    (
        Section("Why it matters", 1, (
            "Pollination decides the yield of apples. Honey bees stay in the hive when it is cold; mason bees fly at "
            "eight degrees. In a spring with late frost that difference can be worth a harvest.",
        )),
        Section("What we found", 1, (
            "Orchards with nesting aids for solitary bees had 14% more fruit per tree. Sprayed plots had fewer visits "
            "of either kind: the effect of insecticides lasted for nine days.",
            "In the mild spring there was no difference between the orchards.",
        )),
    ),
)  # fmt: skip


def trained() -> Tagger:
    """A tagger that estimates confidences: trained on made-up documents, a part of whose labels are wrong."""
    chosen = np.random.default_rng(0)
    documents = []
    for number in range(80):
        first, second, third = chosen.choice(len(LABELS), 3, replace=False).tolist()
        names = [LABELS[position].name.lower() for position in (first, second, third)]
        labels = (LABELS.ids[first], LABELS.ids[second if chosen.random() < 0.6 else third])
        text = f"A study of {names[0]} and {names[1]}, beside {names[2]}."
        documents.append(Document(f"t{number}", f"On {names[0]}", text, labels=labels))
    return tagwright.train("auto", documents, LABELS, stages=["exact_match", "tfidf"])


def main(folder: Path) -> None:
    """A document with an accepted and a rejected suggestion, the third one in focus, in every view; other pages."""
    tagger = trained()
    others = [Document(f"d{i}", f"Orchards {i}", "Bees in orchards.") for i in range(2, 13)]
    with tempfile.TemporaryDirectory() as name, closing(ReviewFile(Path(name) / "reviews.sqlite")) as file:
        review = Review(ServedModel("bees", tagger, "Farm subjects"), file, show=10)  # as `serve` does
        review.documents.add([DOCUMENT, *others])
        with (
            chromium() as browser,
            served(review, lambda tagger, *_: tagger) as address,
            visiting(browser, address, "Ann") as page,
        ):
            page.goto(f"{address}/review/documents/1")
            page.click("#row-1 .yes")
            page.wait_for_selector("#row-1.accept")
            page.click("#row-2 .yes")
            page.wait_for_selector("#row-2.accept")
            page.click(".row:has(h2:text-is('Bees')) .no")
            page.wait_for_selector(".row.reject")
            page.mouse.move(1, 1)  # evidence is shown of what is under the mouse
            page.focus("#row-3")
            for width, scheme in VIEWS:
                look(page, width, scheme)
                page.evaluate("window.scrollTo(0, 0)")
                _take(page, folder / f"review-{width}-{scheme}.png")
            look(page, DESK, "light")
            for number, button in ((2, "done"), (3, "done"), (4, "skip")):
                page.goto(f"{address}/review/documents/{number}")
                page.click("#row-1 .yes")
                page.wait_for_selector("#row-1.accept")
                page.click(f"#{button}")
                page.wait_for_function("number => !location.pathname.endsWith(`/${number}`)", arg=number)
            page.goto(f"{address}/review/overview")
            _take(page, folder / "overview-1280-light.png")
            page.goto(address)
            page.fill("#text", f"{DOCUMENT.title}\n\n{DOCUMENT.abstract}")
            page.click("#ask button.primary")
            page.click("#row-2 summary")
            _take(page, folder / "suggest-1280-light.png")


def _take(page: Page, path: Path) -> None:
    """A picture of the window, without what is empty below the page."""
    end = page.eval_on_selector("footer", "each => each.getBoundingClientRect().bottom")
    width, height = page.evaluate("[innerWidth, innerHeight]")
    page.screenshot(path=path, clip={"x": 0, "y": 0, "width": width, "height": min(height, end)})


if __name__ == "__main__":
    main(Path(sys.argv[1]))
