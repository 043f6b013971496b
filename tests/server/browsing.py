"""A review served to a real browser: Chromium, driven by the package playwright. Tests skip where one is missing."""

from __future__ import annotations

import shutil
import socket
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import pytest
import uvicorn

from tagwright.server.application import application
from tagwright.server.follower import Follower
from tagwright.server.review.page import ReviewPages
from tagwright.server.review.refit import Refit, Refitter
from tagwright.server.review.review import Review

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")

NARROW, PHONE, DESK = 360, 390, 1280
"Widths in pixels."

Scheme = Literal["light", "dark"]
VIEWS: Sequence[tuple[int, Scheme]] = ((PHONE, "light"), (PHONE, "dark"), (DESK, "light"), (DESK, "dark"))


@contextmanager
def chromium() -> Iterator[Browser]:
    """A browser; the test that asks for it is skipped, saying why, where there is none."""
    playwright = pytest.importorskip("playwright.sync_api", reason="no browser test: the package playwright is missing")
    if CHROMIUM is None:
        pytest.skip("no browser test: Chromium is not installed")
    with playwright.sync_playwright() as started:
        browser = started.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        yield browser
        browser.close()


@contextmanager
def served(review: Review, refit: Refit) -> Iterator[str]:
    """The address of a server with the pages of a review."""
    refitter, follower = Refitter(review, refit, review.file.path.parent / "versions"), Follower([review.model])
    pages = ReviewPages(review, refitter=refitter, follower=follower)
    with socket.create_server(("127.0.0.1", 0)) as listening:
        app = application([review.model], pages=pages)
        server = uvicorn.Server(uvicorn.Config(app, log_config=None, log_level="warning", access_log=False))
        thread = threading.Thread(target=server.run, kwargs={"sockets": [listening]})
        thread.start()
        yield f"http://127.0.0.1:{listening.getsockname()[1]}"
        server.should_exit = True
        thread.join()


@contextmanager
def visiting(browser: Browser, address: str, name: str, *, width: int = PHONE, scripts: bool = True) -> Iterator[Page]:
    """A page of a reviewer who has told the name. Nothing may fail in it, nor be asked of another address."""
    context = browser.new_context(java_script_enabled=scripts, viewport={"width": width, "height": 800})
    page: Page = context.new_page()
    problems: list[str] = []
    page.on("pageerror", lambda error: problems.append(str(error)))
    page.on("request", lambda request: problems.append(request.url) if address not in request.url else None)
    page.on("dialog", lambda dialog: problems.append(dialog.message))
    page.goto(f"{address}/review")
    page.fill("#name", name)
    page.click("text=Begin")
    page.wait_for_selector("#sheet, h1:has-text('Overview')")
    page.wait_for_load_state("load")  # before its scripts have run, a key does nothing
    yield page
    assert problems == []
    context.close()


def look(page: Page, width: int, scheme: Scheme) -> None:
    """Show the page in a width and in light or dark colours."""
    page.set_viewport_size({"width": width, "height": 800})
    page.emulate_media(color_scheme=scheme)


def violations(page: Page) -> list[str]:
    """What axe finds in the page as it is, at both widths, light and dark, but for what it calls minor."""
    found = []
    for width, scheme in VIEWS:
        look(page, width, scheme)
        page.evaluate(_axe())
        results: dict[str, Any] = page.evaluate("axe.run(document, {resultTypes: ['violations']})")
        found += [
            f"{each['id']} at {width} pixels, {scheme}: {node['html'][:200]} ({node['failureSummary']})"
            for each in results["violations"]
            if each["impact"] != "minor"
            for node in each["nodes"]
        ]
    return found


def _axe() -> str:
    """The source of axe-core, from the package that carries it."""
    spec = find_spec("axe_playwright_python")
    if spec is None or spec.origin is None:
        pytest.skip("no test of accessibility: the package axe-playwright-python is missing")
    return (Path(spec.origin).parent / "axe.min.js").read_text(encoding="utf-8")
