"""The review page in a real browser. Needs Chromium and the package playwright; skipped, saying so, without them."""

from __future__ import annotations

import shutil
import socket
import threading
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
import uvicorn
from tests.server.conftest import word_tagger

from tagwright.server.application import application
from tagwright.server.refitting import Refitted, Refitter
from tagwright.server.review_file import ReviewFile
from tagwright.server.review_page import ReviewPages
from tagwright.server.reviewing import Review
from tagwright.server.served_model import ServedModel
from tagwright.types import Document

if TYPE_CHECKING:
    from playwright.sync_api import Page

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
EVIL = "<script>document.title = 'caught'</script><img src=x onerror=\"document.title = 'caught'\">"


@pytest.fixture
def review(tmp_path: Path) -> Iterator[Review]:
    file = ReviewFile(tmp_path / "reviews.sqlite")
    review = Review(ServedModel("bees", word_tagger(), "Bees"), file)
    review.documents.add(
        Document(f"d{i}", f"Honey bees {i} {EVIL}", f"Bees visit orchards. {EVIL}") for i in range(1, 6)
    )
    with closing(file):
        yield review


@pytest.fixture
def address(review: Review) -> Iterator[str]:
    pages = ReviewPages(review, refitter=Refitter(review, lambda tagger, _: Refitted(tagger)))
    listening = socket.create_server(("127.0.0.1", 0))
    server = uvicorn.Server(uvicorn.Config(application([review.model], pages=pages), log_level="warning"))
    thread = threading.Thread(target=server.run, kwargs={"sockets": [listening]})
    thread.start()
    yield f"http://127.0.0.1:{listening.getsockname()[1]}"
    server.should_exit = True
    thread.join()
    listening.close()


@contextmanager
def browsing(address: str, name: str, *, scripts: bool = True) -> Iterator[Page]:
    """A page of a new browser, after the reviewer has told the name."""
    playwright = pytest.importorskip("playwright.sync_api", reason="no browser test: pip install playwright")
    if CHROMIUM is None:
        pytest.skip("no browser test: Chromium is not installed")
    with playwright.sync_playwright() as started:
        browser = started.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        page: Page = browser.new_context(java_script_enabled=scripts, viewport={"width": 390, "height": 800}).new_page()
        problems: list[str] = []
        page.on("pageerror", lambda error: problems.append(str(error)))
        page.on("request", lambda request: problems.append(request.url) if address not in request.url else None)
        page.goto(f"{address}/review")
        page.fill("#name", name)
        page.click("text=Begin")
        page.wait_for_selector("#sheet")
        yield page
        assert problems == []
        assert page.title() != "caught"
        browser.close()


def test_five_documents_by_keyboard_alone(review: Review, address: str) -> None:
    with browsing(address, "Ann") as page:
        press = page.keyboard.press
        for number in range(1, 6):
            page.wait_for_selector(f"#sheet[data-number='{number}']")
            for key in ("1", "a", "r"):  # after a verdict the next suggestion has the focus
                press(key)
            press("/")
            page.keyboard.type("tax")
            page.wait_for_selector(".found button")
            press("ArrowDown")
            press("Enter")
            page.wait_for_selector("text=added by you")
            press("Escape")
            if number == 3:
                press("u")
                page.wait_for_selector("text=added by you", state="detached")
                page.reload()
            press("Enter")
        page.wait_for_selector("text=Every document has been reviewed")
        assert page.evaluate("document.documentElement.scrollWidth") == 390
    bee, tax = "http://x.org/bee", "http://x.org/tax"
    assert review.decisions.labels() == {f"d{i}": [bee] if i == 3 else [bee, tax] for i in range(1, 6)}
    rejected = {key for key, given in review.decisions.verdicts().items() if given == {"Ann": "reject"}}
    assert rejected == {(f"d{i}", "o") for i in range(1, 6)}


def test_keys_can_be_switched_off(review: Review, address: str) -> None:
    with browsing(address, "Ann") as page:
        page.keyboard.press("?")
        page.click("text=Use these keys")
        page.click("text=Close")
        page.focus("#row-1")
        page.keyboard.press("a")
        page.keyboard.press("s")
        page.click("#row-2 .no")
        page.wait_for_selector("#row-2.reject")
    assert [event.action for _, event in review.decisions.events()] == ["reject"]


def test_everything_works_by_mouse_without_scripts(review: Review, address: str) -> None:
    with browsing(address, "Ben", scripts=False) as page:
        for number in range(1, 6):
            page.wait_for_selector(f"#sheet[data-number='{number}']")
            page.click("#row-1 .yes")
            page.wait_for_selector("#row-1.accept")
            page.click("#row-2 .no")
            page.wait_for_selector("#row-2.reject")
            page.click("#undo")
            page.wait_for_selector("#row-2:not(.reject)")
            page.click("#done")
        page.wait_for_selector("text=Every document has been reviewed")
        page.click("text=Train the model")
        page.goto(f"{address}/review/overview")
    assert review.decisions.labels() == {f"d{i}": ["http://x.org/bee"] for i in range(1, 6)}
    assert [len(each) for each in review.decisions.verdicts().values()] == [1] * 5
