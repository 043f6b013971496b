from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from tagwright.encoders.cross_encoder import CrossEncoder
from tagwright.stages.reranker import CrossEncoderReranker, PairedText, RerankerOptions
from tagwright.types import Document, Floats, Label, Run, Section, Stage

LABELS = [Label("1", ("bee", "honey bee"), "An insect."), Label("2", ("bank",)), Label("3", ("river", "stream"))]
DOCUMENTS = [
    Document("a", "Bees", "They fly.", (Section("Wings", 1, ("Four.",)),)),
    Document("b", "Money", "", (Section("", 1, ("In a bank.",)),)),
    Document("c"),
]
CANDIDATES = Run.from_rows([{0: 0.9, 2: 0.5}, {2: 0.3, 1: 0.2}, []])


def _no_model() -> Any:
    raise AssertionError("no model is needed")


class ByLength(CrossEncoder):
    """Scores pairs by the number of letters of the second text; remembers what it was asked."""

    def __init__(self) -> None:
        super().__init__("by length", _no_model)
        self.asked: list[tuple[str, str]] = []
        self.first_tokens: int | None = None

    def score(
        self,
        firsts: Sequence[str],
        seconds: Sequence[str],
        rows: NDArray[np.integer],
        columns: NDArray[np.integer],
        *,
        first_tokens: int | None = None,
        progress: str = "",  # noqa: ARG002
    ) -> Floats:
        self.asked = [(firsts[i], seconds[j]) for i, j in zip(rows.tolist(), columns.tolist(), strict=True)]
        self.first_tokens = first_tokens
        return np.array([len(second) for _, second in self.asked], np.float32)

    def save(self, folder: Path | str) -> None:
        Path(folder).mkdir()


def test_each_document_is_read_with_its_own_candidates() -> None:
    scorer = ByLength()
    stage: Stage = CrossEncoderReranker(LABELS, scorer)
    scores = stage.score(stage.read(DOCUMENTS), CANDIDATES)
    assert scorer.asked == [
        ("Bees\nThey fly.", "bee; honey bee. An insect."),
        ("Bees\nThey fly.", "river; stream"),
        ("Money\nIn a bank.", "river; stream"),  # without an abstract the body is read
        ("Money\nIn a bank.", "bank"),
    ]
    assert scores.tolist() == [26, 13, 13, 4]
    assert CANDIDATES.rescored(scores).labels.tolist() == [0, 2, 2, 1]
    assert scorer.first_tokens == 256


@pytest.mark.parametrize(
    ("view", "text"), [("name", "bee"), ("names", "bee; honey bee"), ("text", "bee; honey bee. An insect.")]
)
def test_what_of_a_label_is_read_can_be_chosen(view: PairedText, text: str) -> None:
    scorer = ByLength()
    stage = CrossEncoderReranker(LABELS, scorer, RerankerOptions(label_text=view, document_tokens=None))
    stage.score(stage.read(DOCUMENTS[:1]), CANDIDATES.take([0]))
    assert scorer.asked[0][1] == text
    assert scorer.first_tokens is None
