"""What people read: one line for each stage's evidence, no wider than a screen."""

from __future__ import annotations

from tagwright.app import render
from tagwright.tagger import Evidence
from tagwright.types import Document, EvidenceSpan

SENTENCE = "Honey bees visit apple orchards early."  # 38 characters


def line(count: int) -> str:
    document = Document("d", abstract=" ".join([SENTENCE] * 3))
    spans = tuple(EvidenceSpan(39 * number, 39 * number + 38, 1.0) for number in range(count))
    return render.evidence_line(Evidence("dense", 1, 0.5, spans), document)


def test_a_line_of_evidence_has_the_pieces_that_fit() -> None:
    first = f'dense #1 (0.5): "{SENTENCE}" 0-38'
    assert line(0) == "dense #1 (0.5)"
    assert line(1) == first
    assert line(2) == first  # 61 characters, an indent of 10, and a second piece of 48 would be 119


def test_short_pieces_stand_beside_each_other() -> None:
    document = Document("d", abstract="bees bees bees bees")
    spans = tuple(EvidenceSpan(5 * number, 5 * number + 4, 1.0) for number in range(4))
    found = render.evidence_line(Evidence("tfidf", 2, 0.25, spans), document)
    assert found == 'tfidf #2 (0.25): "bees" 0-4, "bees" 5-9, "bees" 10-14'


def test_the_first_piece_is_shown_even_where_it_does_not_fit() -> None:
    document = Document("d", abstract="x" * 99)
    found = render.evidence_line(Evidence("s" * 60, 1, 1.0, (EvidenceSpan(0, 99, 1.0),)), document)
    assert found.endswith(f'"{"x" * 59}…" 0-99')
