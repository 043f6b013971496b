"""What is advised, and where the figures behind it are."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tagwright.auto import out_of_fold
from tagwright.auto.out_of_fold import lacking
from tagwright.evaluation.advice import advise, next_step

PAGES = Path(__file__).parents[2] / "docs"


def test_to_label_more_is_advised_where_that_doubles_what_is_labelled() -> None:
    assert [next_step(number).partition(" (")[0] for number in (0, 25, 26, 150, 151, 300)] == [
        "label 50 documents",
        "label 25 more documents",
        "label 274 more documents",
        "label 150 more documents",
        "",
        "",
    ]


def test_the_pages_that_are_named_are_there() -> None:
    titles = {path.read_text(encoding="utf-8").partition("\n")[0] for path in PAGES.rglob("*.md")}
    for text in (next_step(0), advise(0)["why"], advise(99)["why"]):
        (title,) = re.findall(r'page "(.*)"', text)
        assert f"# {title}" in titles


def test_a_stage_is_not_tried_without_the_packages_that_train_it(monkeypatch: pytest.MonkeyPatch) -> None:
    held = dict.fromkeys(("labelled", "unread", "encoders"), 10_000)
    monkeypatch.setattr(out_of_fold, "find_spec", lambda package: None if package == "torch" else package)
    assert lacking("rts", held) == "training it needs torch, not installed here"
    monkeypatch.setattr(
        out_of_fold, "find_spec", lambda package: None if package == "sentence_transformers" else package
    )
    assert lacking("rts", held) == ""
    assert lacking("depl_cls", held) == "training it needs sentence_transformers, not installed here"
    monkeypatch.setattr(out_of_fold, "find_spec", lambda package: package)
    assert lacking("rts", held) == ""
    assert "(here 3)" in lacking("rts", {**held, "labelled": 3})
