"""A stage for tests that gives every document the same scores, whatever it says."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from tagwright.types import Distribution, Document, Floats, Label, Retriever, Run


class Fixed(Retriever):
    """A stage that gives every document the same scores, whatever it says."""

    distribution: Distribution = "information_content"
    matches_names = True

    def __init__(self, scores: dict[int, float]) -> None:
        self.scores = scores
        self.asked: list[int] = []

    def read(self, documents: Sequence[Document]) -> int:
        self.asked.append(len(documents))
        return len(documents)

    def find(self, reading: int) -> Run:
        return Run.from_rows([self.scores] * reading)

    def score(self, reading: int, candidates: Run) -> Floats:  # noqa: ARG002
        return np.array([self.scores.get(label, 0.0) for label in candidates.labels.tolist()], np.float32)

    def with_labels(self, labels: Sequence[Label]) -> Fixed:  # noqa: ARG002
        return self

    def state(self) -> Mapping[str, Any]:
        raise AssertionError("a stage that no package registers is not saved")

    @classmethod
    def from_state(cls, state: Mapping[str, Any], labels: Sequence[Label]) -> Fixed:  # noqa: ARG003
        raise AssertionError("a stage that no package registers is not saved")
