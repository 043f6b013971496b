"""What README and docs/results show of the measured figures: the tables are those that the result files give."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
from benchmarks import figures, tables
from benchmarks.quality_tables import said

PAGES = tables.pages()
RESULTS = [page for page in PAGES if page.parent.name == "results"]

ANEW = "a table is not what the results give: python -m benchmarks tables writes it anew"

TABLE = re.compile(r"<!-- table .*?<!-- end -->", re.DOTALL)
DIFFERENCE = re.compile(r"(?<![\w.,-])[+-](\d+\.\d)(?![\d%])")


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_tables_are_what_the_results_give(page: Path) -> None:
    text = page.read_text(encoding="utf-8")
    assert tables.filled(text) == text, ANEW


def test_every_table_is_shown() -> None:
    shown = {name for page in PAGES for name in tables.named(page.read_text(encoding="utf-8"))}
    assert shown == {*tables.makers()}


@pytest.mark.parametrize("page", RESULTS, ids=lambda page: page.name)
def test_differences_that_the_text_states_are_in_a_table_of_the_page(page: Path) -> None:
    text = page.read_text(encoding="utf-8")
    measured = set(DIFFERENCE.findall(" ".join(TABLE.findall(text))))
    stated = {figure for figure in DIFFERENCE.findall(TABLE.sub("", text)) if figure not in measured}
    assert stated == set()


def test_a_damaged_table_is_found() -> None:
    page = "Text\n<!-- table supervised, mdn, static -->\n| RTS | 99.9 |\n<!-- end -->\nmore\n"
    filled = tables.filled(page)
    assert "99.9" not in filled
    svm = json.loads((figures.COMMITTED / "supervised.json").read_text(encoding="utf-8"))["mdn, static"]["SVM"]
    first, third, fifth, ranked = (f"{100 * svm[name]['value']:.1f}" for name in ("P@1", "P@3", "P@5", "nDCG@5"))
    assert f"| SVM | {first} / {third} / {fifth} | {ranked} |" in filled
    assert filled.startswith("Text\n<!--")
    assert filled.endswith("<!-- end -->\nmore\n")
    assert tables.filled(filled) == filled


@pytest.mark.parametrize("old", ["exact_match", "tfidf text", "dense both", "zeroshot", "RTS, no groups"])
def test_rows_have_the_words_of_today(old: str) -> None:
    assert said(old) != old


def test_the_readme_is_short_and_its_links_lead_somewhere() -> None:
    readme = (tables.ROOT / "README.md").read_text(encoding="utf-8")
    assert len(readme.splitlines()) < 120
    links = re.findall(r"\]\(([^)#]+)\)", readme)
    assert len(links) > 10
    assert [link for link in links if not (tables.ROOT / link).exists()] == []
