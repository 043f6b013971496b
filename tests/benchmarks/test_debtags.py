"""The corpus of packages is made of Debian's lists."""

from __future__ import annotations

import lzma
from pathlib import Path

import pytest
from benchmarks import debtags

from tagwright.data.corpus import Corpus
from tagwright.data.vocabulary import Vocabulary

VOCABULARY = """Facet: use
Status: needing-review
Description: Purpose

Tag: use::editing
Description: Editing
 Changing texts: letters,
 and programs.
 .
 Not pictures.

Tag: use::gaming
Description: Gaming
"""

PACKAGES = """Package: a-data
Source: game (1.2)
Description-md5: 0
Tag: role::data

Package: a-game
Source: game
Description-md5: 1
Tag: role::program, use::gaming,
 use::editing

Package: b-game
Source: game
Description-md5: 2
Tag: use::gaming

Package: bare
Description-md5: 2

Package: editor
Description-md5: 2
Tag: use::editing

Package: short
Description-md5: 3
Tag: use::editing
"""

DESCRIPTIONS = """Package: a-game
Description-md5: 1
Description-en: A game
 Of balls
 .
 and bats: both.

Package: editor
Description-md5: 2
Description-en: An editor
 It changes letters.

Package: short
Description-md5: 3
Description-en: No more than this
"""


def test_the_corpus_of_packages(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(debtags, "DEV", 1)
    (tmp_path / "vocabulary").write_text(VOCABULARY, encoding="utf-8")
    (tmp_path / "Packages.xz").write_bytes(lzma.compress(PACKAGES.encode()))
    (tmp_path / "Translation-en").write_text(DESCRIPTIONS, encoding="utf-8")
    paths = [tmp_path / name for name in ("Packages.xz", "Translation-en", "vocabulary", "made")]
    debtags.main([str(path) for path in paths])

    labels = Vocabulary.read(paths[-1] / "labels.jsonl.gz")
    assert [(each.id, each.names, each.description) for each in labels] == [
        ("use::editing", ("Editing",), "Changing texts: letters, and programs. Not pictures."),
        ("use::gaming", ("Gaming",), ""),
    ]
    documents = {each.id: each for each in Corpus.read(paths[-1] / "train.jsonl.gz", paths[-1] / "dev.jsonl.gz")}
    assert {name: (each.title, each.abstract, each.labels) for name, each in documents.items()} == {
        "a-game": ("A game", "Of balls and bats: both.", ("use::gaming", "use::editing")),
        "editor": ("An editor", "It changes letters.", ("use::editing",)),
    }
    assert len(Corpus.read(paths[-1] / "dev.jsonl.gz")) == 1
