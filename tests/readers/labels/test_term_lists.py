"""Lists of names are read; thesauri in tagged text and other formats are not read as lists of names."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.readers.reading import labels_refusal, written

from tagwright.data.vocabulary import Vocabulary

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


WRITTEN_OUT = "BEES\n  Used for: Apis\n  Broader terms: Insects\n  Related Term : Honey\nApis\n  Use: Bees\nHoney\n"


@pytest.mark.parametrize("content", [INDENTED, FLAT, SPANISH, WRITTEN_OUT], ids=["indented", "flat", "spanish", "long"])
def test_a_thesaurus_in_tagged_text_is_refused(tmp_path: Path, content: str) -> None:
    """As TemaTres, MultiTes and others write it: with or without indent, colons, and reciprocal references."""
    assert labels_refusal(written(tmp_path, content, "zoo.txt")) == (
        "zoo.txt:1: looks like a thesaurus in tagged text (UF, BT, NT, RT, SN, USE); export it as SKOS; "
        "expected labels: a name or a path a line"
    )


@pytest.mark.parametrize(
    "content", ["BT Group\nBanks\nSony\n", "Banks\nUSE of land\nNT\n", "Animals\n  Birds\n    Owls\n"]
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
