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


def words_and_numbers(text: str) -> tuple[list[str], list[str]]:
    """The words that a reader of Markdown sees, and the numbers in them that no code block has."""
    text = re.sub(r"<!--.*?-->|\]\([^)]*\)", "", text, flags=re.DOTALL)
    prose = re.sub(r"^```.*?^```$", "", text, flags=re.DOTALL | re.MULTILINE)
    return [word for word in text.split() if re.search(r"[^\W_]", word)], re.findall(r"\d[\d.,]*", prose)


def test_what_a_reader_sees_is_counted() -> None:
    text = "# One\n<!-- 2 -->\n```sh\nthree 4\n```\n| five |\n| --- |\n[six 7.5](8.md), 9,000.\n"
    words = ["One", "```sh", "three", "4", "five", "[six", "7.5,", "9,000."]
    assert words_and_numbers(text) == (words, ["7.5,", "9,000."])


def test_the_readme_is_short() -> None:
    words, numbers = words_and_numbers((tables.ROOT / "README.md").read_text(encoding="utf-8"))
    assert len(words) <= 650
    assert len(numbers) <= 40


def test_figures_of_the_readme_stand_in_a_table_of_a_results_page() -> None:
    _, numbers = words_and_numbers((tables.ROOT / "README.md").read_text(encoding="utf-8"))
    measured = set(re.findall(r"\d+\.\d", " ".join(TABLE.findall("".join(p.read_text("utf-8") for p in RESULTS)))))
    versions = {"3.11", "3.14", "2.0", "3.0"}  # of Python and of licences
    assert {each.rstrip(",") for each in numbers if "." in each} - measured - versions == set()


def test_the_links_of_the_readme_lead_somewhere() -> None:
    readme = (tables.ROOT / "README.md").read_text(encoding="utf-8")
    links = re.findall(r"\]\(([^)#]+)\)", readme)
    assert len(links) > 10
    assert [link for link in links if not (tables.ROOT / link).exists()] == []
