"""The demo: installed packages as documents, the Trove classifiers as labels."""

from __future__ import annotations

import sys
from dataclasses import replace
from email.message import Message
from importlib import metadata
from types import SimpleNamespace

import pytest

from tagwright.app import demo
from tagwright.data.vocabulary import Vocabulary
from tagwright.errors import TagwrightError
from tagwright.methods import zeroshot
from tagwright.tagger import Tagger

DESCRIPTION = """# Hive
[![Build](https://ci.example/badge.svg)](https://ci.example) <br/>
Counts **bees**.

## Install
See https://hive.example/install
"""


def package(name: str | None, description: str = "", **fields: list[str]) -> SimpleNamespace:
    content = Message()
    if name:
        content["Name"] = name
    for field, values in fields.items():
        for value in values:
            content[field.replace("_", "-")] = value
    content.set_payload(description)
    return SimpleNamespace(metadata=content)


@pytest.fixture
def installed(monkeypatch: pytest.MonkeyPatch) -> list[SimpleNamespace]:
    found = [
        package(
            "Hive",
            DESCRIPTION,
            Summary=["bee counter"],
            Author=["Ann"],
            Requires_Dist=["numpy (>=1.2)", "Typer>=0.20; python_version > '3'", "numpy[extra]"],
            Classifier=["Topic :: Text Processing", "License :: OSI Approved", "Topic :: No Such Thing"],
        ),
        package("silent"),
        package(None, "half removed"),
        package("ant", "# ant\nWalks.", Classifier=["Topic :: Games/Entertainment", "Topic :: Text Processing"]),
    ]
    monkeypatch.setattr(metadata, "distributions", lambda: iter(found))
    return found


@pytest.fixture
def words_only(monkeypatch: pytest.MonkeyPatch) -> None:
    fit = zeroshot.fit

    def without_encoder(labels: Vocabulary) -> Tagger:
        return fit(labels, replace(zeroshot.Config(), stages=("exact_match", "tfidf"), weights=(0.5, 1.0)))

    monkeypatch.setattr(zeroshot, "fit", without_encoder)


def test_the_classifiers_say_what_a_package_is_about() -> None:
    labels = demo.classifiers()
    label = labels[labels.index["Topic :: Scientific/Engineering :: Artificial Intelligence"]]
    assert (label.name, label.description) == ("Artificial Intelligence", "Scientific/Engineering")
    assert label.broader == ("Topic :: Scientific/Engineering",)
    assert not any(each.startswith(("License", "Operating System", "Programming Language")) for each in labels.ids)
    assert labels.cycle() == ()


def test_a_package_becomes_a_document(installed: list[SimpleNamespace]) -> None:
    ant, hive = demo.packages(demo.classifiers())
    assert (ant.id, hive.id, hive.title) == ("ant", "hive", "Hive: bee counter")
    assert "Counts" in hive.text
    assert "http" not in hive.text
    assert "<br" not in hive.text
    assert [section.heading for section in hive.sections] == ["Install"]
    assert hive.metadata == {"author": ("Ann",), "reference": ("numpy", "typer")}
    assert hive.labels == ("Topic :: Text Processing",)


def test_the_demo_shows_evidence_and_scores(
    installed: list[SimpleNamespace], words_only: None, capsys: pytest.CaptureFixture[str]
) -> None:
    demo.run()
    out = capsys.readouterr().out
    assert "the 2 Python packages installed here" in out
    assert "declared by its authors: Topic :: Games/Entertainment, Topic :: Text Processing" in out
    rows = [line.split()[0] for line in out[out.index("Against the classifiers") :].splitlines() if line.strip()]
    assert [row for row in rows if row in {"exact_match", "tfidf", "fused"}] == ["exact_match", "tfidf", "fused"]


def test_without_the_classifiers_the_demo_says_how_to_get_them(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "trove_classifiers", None)
    with pytest.raises(TagwrightError, match=r'pip install "tagwright\[demo\]"'):
        demo.classifiers()
