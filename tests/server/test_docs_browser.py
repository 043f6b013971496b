"""A page of the documentation and a report in a real browser: what axe finds, widths, colours, what keys reach."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from tests.evaluation.report.test_page import CONFIDENT, NOTES
from tests.evaluation.test_tables import SCORES
from tests.server.browsing import DESK, NARROW, chromium, look, violations

from tagwright.evaluation.report.page import scores_page

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

DOCS = Path(__file__).parents[2] / "docs"

PAGE = f"""# A page

{"Words in a long line of a page that is read from its beginning to its end. " * 6}

```sh
tagwright suggest {"documents.jsonl " * 20}
```

| one | two |
| --- | --- |
| `{"first" * 30}` | `{"second" * 30}` |

![Seconds](seconds.svg)
"""


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    with chromium() as browser:
        yield browser


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    pytest.importorskip("furo", reason="no page of the documentation: the group docs is not installed")
    folder = tmp_path_factory.mktemp("docs")
    (folder / "index.md").write_text(PAGE, encoding="utf-8")
    (folder / "seconds.svg").write_bytes((DOCS / "results" / "seconds.svg").read_bytes())
    command = [sys.executable, "-m", "sphinx", "-q", "-c", str(DOCS), str(folder), str(folder / "built")]
    subprocess.run(command, check=True)
    return folder / "built" / "index.html"


@pytest.fixture
def page(browser: Browser, built: Path) -> Iterator[Page]:
    context = browser.new_context()
    page = context.new_page()
    page.goto(built.as_uri())
    yield page
    context.close()


def test_axe_finds_nothing_on_a_page_of_the_documentation(page: Page) -> None:
    assert violations(page) == []


def test_axe_finds_nothing_on_a_report(page: Page, tmp_path: Path) -> None:
    report = scores_page(replace(SCORES, calibration=CONFIDENT), NOTES)
    (tmp_path / "report.html").write_text(report, encoding="utf-8")
    page.goto((tmp_path / "report.html").as_uri())
    assert violations(page) == []


def test_a_page_is_as_wide_as_the_window_and_keys_reach_what_scrolls_in_it(page: Page) -> None:
    look(page, NARROW, "light")
    page.reload()
    assert page.evaluate("document.documentElement.scrollWidth") == NARROW
    scrolls = "[...document.querySelectorAll('article :is(pre, .table-wrapper)')].map(each => each.tabIndex)"
    assert page.evaluate(scrolls) == [0, 0]


def test_lines_of_text_have_up_to_eighty_letters(page: Page) -> None:
    look(page, DESK, "light")
    lines = """() => {
      const range = document.createRange(), text = document.querySelector("article p").firstChild;
      const tops = [...text.data].map((_, place) => {
        range.setStart(text, place); range.setEnd(text, place + 1);
        return Math.round(range.getBoundingClientRect().top);
      });
      const counts = {};
      for (const top of tops) counts[top] = (counts[top] || 0) + 1;
      return Math.max(...Object.values(counts));
    }"""
    assert 60 <= page.evaluate(lines) <= 85


@pytest.mark.parametrize(("system", "chosen"), [("light", "dark"), ("dark", "light")])
def test_pictures_follow_the_colours_that_a_reader_chooses(page: Page, system: str, chosen: str) -> None:
    page.emulate_media(color_scheme=system)
    page.evaluate("theme => { document.body.dataset.theme = theme; }", chosen)
    assert page.evaluate("getComputedStyle(document.querySelector('article img')).colorScheme") == chosen
