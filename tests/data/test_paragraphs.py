from __future__ import annotations

from dataclasses import replace

from tagwright.data.paragraphs import HEAD, headings_at, paragraphs
from tagwright.types import Document, Section

LONG = "One two three four five six seven eight nine ten."
PAPER = Document(
    "p",
    title="Bees",
    abstract="They fly.",
    sections=(
        Section("Introduction", 1, (LONG, "Too short.")),
        Section("Methods", 1),
        Section("Traps", 3, (f"{LONG} Traps.", "")),
        Section("Results", 1, ("中文文本也是一段有意义的话",)),
    ),
)


def test_short_paragraphs_are_left_out_and_characters_are_words() -> None:
    found = paragraphs(PAPER)
    assert [(part.text[:4], part.section) for part in found] == [
        ("Bees", HEAD),
        ("One ", 0),
        ("One ", 2),
        ("中文文本", 3),
    ]
    assert all(PAPER.text[part.start : part.start + len(part.text)] == part.text for part in found)
    assert len(paragraphs(PAPER, shortest=0)) == 5


def test_a_document_of_short_paragraphs_alone_keeps_them() -> None:
    short = Document("s", sections=(Section("", 1, ("Bees fly.", " ")),))
    assert [part.text for part in paragraphs(short)] == ["Bees fly."]
    assert paragraphs(Document("e", title=" ")) == []
    assert [part.text for part in paragraphs(replace(short, title="Bees"))] == ["Bees"]


def test_headings_over_a_place_in_the_text() -> None:
    assert headings_at(PAPER, 0) == ()
    assert headings_at(PAPER, PAPER.text.index("They")) == ()
    assert headings_at(PAPER, PAPER.text.index("Too short")) == ("Introduction",)
    assert headings_at(PAPER, PAPER.text.index("ten. Traps")) == ("Methods", "Traps")
    assert headings_at(PAPER, len(PAPER.text) - 1) == ("Results",)
    assert headings_at(Document("e"), 0) == ()
