"""The stage that asks a language model for scores of the candidates of a document.

Without an address, within no budget, and for documents without a valid answer, a stage says nothing.
"""

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from math import log
from typing import Any, Self

import numpy as np

from tagwright.llm.client import Request, ask_if_possible
from tagwright.llm.options import LlmOptions, instructions
from tagwright.llm.texts import array, describe, in_line, read_answer, schema
from tagwright.types import Distribution, Document, Floats, Label, Run, Stage

BEST = 10
"The highest score that the model may give to a candidate."


class LlmRanking(Stage):
    """Scores the first candidates of each document by a language model. A re-ranker: all labels are too many.

    A score is 1 more than the model's, which is from 0 to 10; 0 is of a candidate that it did not name. A decision
    model (`llm.response`) gives the probability p that a candidate is a main subject: its score is 6 + ln(p / (1 - p)),
    from 1 to 11, so that p = 0.5 stands in the middle as well.
    """

    distribution: Distribution = "sparse"
    meaning = "a language model's judgement"

    def __init__(self, labels: Sequence[Label], options: LlmOptions, prompt: str = "") -> None:
        self.labels, self.options = labels, options
        self._decides = options.response == "systemone"
        self.prompt = prompt or instructions("decision" if self._decides else "ranking", options)

    def read(self, documents: Sequence[Document]) -> list[str]:
        """The beginning of each document."""
        return [document.text[: self.options.characters] for document in documents]

    def score(self, reading: list[str], candidates: Run) -> Floats:
        """(suggestions,) from 1 to 11 for the first candidates of each document; 0 for what the model did not name."""
        scores = np.zeros(len(candidates.labels), np.float32)
        sizes = np.minimum(np.diff(candidates.indptr), self.options.candidates).tolist()
        asked = [row for row, size in enumerate(sizes) if size and reading[row].strip()]
        starts, read_scores = candidates.indptr.tolist(), valid_decisions if self._decides else valid_scores
        requests = [self._request(reading[row], candidates[row][0][: sizes[row]].tolist()) for row in asked]
        answers = ask_if_possible(
            self.options,
            requests,
            lambda text, place: read_scores(text, sizes[asked[place]]),
            "keep the order without it",
        )
        for row, answer in zip(asked, answers, strict=True):
            for number, score in (answer or {}).items():
                scores[starts[row] + number - 1] = 1 + score
        return scores

    def with_labels(self, labels: Sequence[Label]) -> "LlmRanking":
        """Return a copy for other labels; nothing is computed."""
        return LlmRanking(labels, self.options, self.prompt)

    def state(self) -> dict[str, Any]:
        """Return the options and the instructions, not their file; the address of the server is not saved."""
        return {"options": {**asdict(self.options), "prompts": ""}, "prompt": self.prompt}

    @classmethod
    def from_state(cls, state: Mapping[str, Any], labels: Sequence[Label]) -> Self:
        """Make the stage of a saved state."""
        return cls(labels, LlmOptions(**state["options"]), state["prompt"])

    def _request(self, text: str, labels: Sequence[int]) -> Request:
        if self._decides:
            questions = (self.prompt.replace("{label}", in_line(self.labels, label)) for label in labels)
            numbered = {str(number): question for number, question in enumerate(questions, 1)}
            return Request("", {"document": text}, {}, questions=numbered)
        shown = [{"number": number, **describe(self.labels, label)} for number, label in enumerate(labels, 1)]
        # enumerations, as not every server limits numbers
        ends = (1, len(labels) + 1), (0, BEST + 1)
        label, score = ({"type": "integer", "enum": list(range(*bounds))} for bounds in ends)
        form = schema(scores=array(schema(label=label, score=score)))
        return Request(self.prompt, {"labels": shown, "document": text}, form)


def valid_scores(text: str, size: int) -> dict[int, float] | None:
    """Number of a candidate -> score, of an answer: only numbers that were offered, and scores from 0 to 10.

    The first score of a candidate counts. None where the answer has no valid score.

    >>> valid_scores('{"scores": [{"label": 2, "score": 7}, {"label": 3, "score": 7}, {"label": 1, "score": 99}]}', 2)
    {2: 7.0}
    >>> valid_scores("I cannot help with that.", 2)
    """
    listed = read_answer(text, "scores")
    scores: dict[int, float] = {}
    for scored in listed if isinstance(listed, list) else ():
        entry: dict[str, Any] = scored if isinstance(scored, dict) else {}
        number, score = entry.get("label"), entry.get("score")
        if isinstance(number, int) and _is_within(number, 1, size) and _is_within(score, 0, BEST):
            scores.setdefault(number, float(score or 0))
    return scores or None


def valid_decisions(text: str, size: int) -> dict[int, float] | None:
    """Number of a candidate -> score from 0 to 10, of the answers of a decision model, see `LlmRanking`.

    Only candidates that were offered and probabilities from 0 to 1 count. None where no answer is valid.

    >>> valid_decisions('{"1": {"noul": 0.5}, "2": {"noul": 0}, "3": {"noul": 0.5}, "4": {"noul": 7}}', 2)
    {1: 5.0, 2: 0.0}
    """
    scores: dict[int, float] = {}
    for number in range(1, size + 1):
        answer = read_answer(text, str(number))
        p = answer.get("noul") if isinstance(answer, dict) else None
        if _is_within(p, 0, 1):
            odds = log(p / (1 - p)) if p and p < 1 else (-BEST, BEST)[bool(p)]
            scores[number] = min(max(BEST / 2 + odds, 0.0), float(BEST))
    return scores or None


def _is_within(value: Any, least: int, most: int) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and least <= value <= most
