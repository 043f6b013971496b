"""Thesauri in tagged text are read as what they say; other formats are not read as lists of names."""

from __future__ import annotations

import logging
from pathlib import Path

import pytest
from tests.readers.reading import labels_refusal, written

from tagwright.data.vocabulary import Vocabulary
from tagwright.types import Label

BEES = Label(
    "Bees",
    ("Bees", "Apis", "Honey bees"),
    "Insects that make honey, and live in hives.",
    ("Insects",),
    related=("Hives",),
)
ZOO = [
    BEES,
    Label("Hives", ("Hives",), related=("Bees",)),
    Label("Insects", ("Insects",)),
    Label("Drones", ("Drones",), "", ("Bees",)),
]

INDENTED = """Apis
  USE Bees

Bees
  SN Insects that make honey,
     and live in hives.
  UF Apis
     Honey bees
  BT Insects
  NT1 Drones
  NT2 Lazy drones
  RT Hives

Hives
  RT Bees

Insects
  NT Bees

Drones
"""
FLAT = """Bees
SN: Insects that make honey, and live in hives.
UF: Apis
UF: Honey bees
BTG: insects
RT: Hives
Hives
RT: Bees
Insects
Drones
BT: Bees
Apis
USE: Bees
"""
SPANISH = """Bees
\tNA = Insects that make honey, and live in hives.
\tUP = Apis
\tUP = Honey bees
\tTG = Insects
\tTR = Hives
Hives
\tTR = Bees
Insects
\tTE = Bees
Drones
\tTG = Bees
"""


@pytest.mark.parametrize("content", [INDENTED, FLAT, SPANISH], ids=["indented", "flat", "spanish"])
def test_a_thesaurus_in_tagged_text_is_read(tmp_path: Path, caplog: pytest.LogCaptureFixture, content: str) -> None:
    """As TemaTres, MultiTes and others write it: with or without indent, colons, and reciprocal references."""
    caplog.set_level(logging.INFO)
    path = written(tmp_path, content, "zoo.txt")
    assert sorted(Vocabulary.read(path), key=lambda label: label.id) == sorted(ZOO, key=lambda label: label.id)
    assert caplog.messages == [f"{path}: read as a thesaurus in tagged text (UF, BT, NT, RT, SN, USE)"]


def test_what_a_thesaurus_says_of_terms_that_it_lacks_is_counted(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    content = "Bees\n  BT Animals\n  CODE: 7\n  RT Hives\n\nHives\n  RT Bees\n\nBeekeeping\n  USE Bees + Hives\n"
    labels = list(Vocabulary.read(written(tmp_path, content, "zoo.txt")))
    assert labels == [Label("Bees", ("Bees",), related=("Hives",)), Label("Hives", ("Hives",), related=("Bees",))]
    assert [message.partition("zoo.txt: ")[2] for message in caplog.messages] == [
        "1 of 3 references are to no term of the file: Animals",
        "1 term that stand for several, left out: Beekeeping",
    ]


@pytest.mark.parametrize(
    "content", ["BT Group\nBanks\nRT France\n", "Banks\nUSE of land\nNT\n", "Animals\n  Birds\n    Owls\n"]
)
def test_names_with_capitals_are_no_tags(tmp_path: Path, content: str) -> None:
    assert len(Vocabulary.read(written(tmp_path, content, "a.txt"))) == 3


@pytest.mark.parametrize(
    ("content", "what"),
    [
        ('<?xml version="1.0"?>\n<Zthes/>\n', "XML"),
        ("@prefix skos: <http://www.w3.org/2004/02/skos/core#> .\n<http://e/1> a skos:Concept .\n", "RDF"),
        ('<http://e/1> <http://e/2> "x" .\n', "RDF"),
        ('{"id": "1", "name": "Bees"}\n', "JSON"),
        ('[\n {"id": "1"}\n]\n', "JSON"),
        ("format-version: 1.2\n\n[Term]\nid: GO:1\nname: bees\n", "OBO or MeSH"),
        ("*NEWRECORD\nRECTYPE = D\nMH = Bees\n", "OBO or MeSH"),
        ("=LDR  00000nz\n=150  \\\\$aBees\n", "MARC or PICA"),
        ("0 1:0.5 2:0.5\n1 3:1.0 4:1.0\n", "training data"),
        ("- Animals\n  - Birds\n", "a list in Markdown"),
        ("# Animals\n## Birds\n## Fish\n", "a list in Markdown"),
        ("1. Animals\n2. Birds\n3) Fish\n", "a list with numbers"),
        ("id,name\n1,Bees\n", "a table"),
    ],
)
def test_other_formats_are_no_lists_of_names(tmp_path: Path, content: str, what: str) -> None:
    message = labels_refusal(written(tmp_path, content, "a.txt"))
    assert message.startswith(("a.txt:1: looks like ", "a.txt:2: looks like "))
    assert f"looks like {what}" in message
    assert message.endswith("expected labels: a name or a path a line")


def test_a_term_that_stands_for_several_is_above_nothing(tmp_path: Path) -> None:
    content = "Bees\n  BT Stock\n  RT Apis\n\nHives\n\nStock\n  USE Bees\n  USE Hives\n\nApis\n  USE Hives\n"
    labels = list(Vocabulary.read(written(tmp_path, content, "zoo.txt")))
    assert labels == [Label("Bees", ("Bees",), related=("Hives",)), Label("Hives", ("Hives", "Apis"))]


def test_tags_may_be_written_out(tmp_path: Path) -> None:
    content = """BEES
  Used for: Apis
  Broader terms: Insects
  Related Term : Honey
  Scope note: They make honey.
Apis
  Use: Bees
Honey
Insects
Use of force
"""
    found = Vocabulary.read(written(tmp_path, content, "a.txt"))
    bees = Label("BEES", ("BEES", "Apis"), "They make honey.", ("Insects",), related=("Honey",))
    assert [*found] == [bees, *(Label(name, (name,)) for name in ("Honey", "Insects", "Use of force"))]
