"""Re-rank the first candidates of a document by a language model, which reads the document and all of them at once."""

import json
import logging
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from functools import cache
from pathlib import Path
from typing import Any, Self

import numpy as np

from tagwright.core.saved import read_manifest, read_options, write_manifest
from tagwright.data.vocabulary import Vocabulary
from tagwright.errors import ConfigError, ModelError
from tagwright.llm.client import Request, client
from tagwright.llm.options import LlmOptions, instructions
from tagwright.types import Distribution, Document, Floats, Label, Run, Stage

BEST = 10
"The highest score that the model may give."

DESCRIPTION = 200
"Characters of a label's description that are sent."


_log = logging.getLogger(__name__)


@cache
def _warn_once(problem: str) -> None:
    _log.warning("%s; labels keep the order without it", problem)


class LlmRanking(Stage):
    """Scores the first candidates of each document by a language model. A re-ranker: all labels are too many.

    A score is 1 more than the model's, which is from 0 to 10; 0 is of a candidate that it did not name. Without an
    address, within no budget, and for documents without a valid answer, nothing is scored.
    """

    distribution: Distribution = "sparse"
    meaning = "a language model's judgement"

    def __init__(self, labels: Sequence[Label], options: LlmOptions, prompt: str = "") -> None:
        self.labels, self.options = labels, options
        self.prompt = prompt or instructions("ranking", options)

    def read(self, documents: Sequence[Document]) -> list[str]:
        """The beginning of each document."""
        return [document.text[: self.options.characters] for document in documents]

    def score(self, reading: list[str], candidates: Run) -> Floats:
        """(suggestions,) from 1 to 11 for the first candidates of each document; 0 for what the model did not name."""
        scores = np.zeros(len(candidates.labels), np.float32)
        sizes = np.minimum(np.diff(candidates.indptr), self.options.candidates).tolist()
        asked = [row for row, size in enumerate(sizes) if size and reading[row].strip()]
        starts = candidates.indptr.tolist()
        requests = [self._request(reading[row], candidates[row][0][: sizes[row]].tolist()) for row in asked]
        try:
            answers = client(self.options).ask(
                requests, lambda text, place: valid_scores(text, sizes[asked[place]]), "keep the order without it"
            )
        except ConfigError as error:  # a saved tagger must work where there is no address
            _warn_once(str(error))
            return scores
        for row, answer in zip(asked, answers, strict=True):
            for number, score in (answer or {}).items():
                scores[starts[row] + number - 1] = 1 + score
        return scores

    def with_labels(self, labels: Sequence[Label]) -> "LlmRanking":
        """Return a copy for other labels; nothing is computed."""
        return LlmRanking(labels, self.options, self.prompt)

    def save(self, folder: Path) -> None:
        """Write the options and the instructions; the address of the server is not saved."""
        options = {**asdict(self.options), "prompts": ""}
        write_manifest(folder, "llm_ranking", {"options": options, "prompt": self.prompt})

    @classmethod
    def load(cls, folder: Path, labels: Sequence[Label]) -> Self:
        """Read what `save` wrote. Raises ModelError when it is missing or damaged."""
        manifest = read_manifest(folder, "llm_ranking")
        prompt = manifest.get("prompt")
        if not isinstance(prompt, str) or not prompt:
            raise ModelError(f"{folder}: is damaged (it has no instructions); save the tagger again")
        return cls(labels, read_options(folder, LlmOptions, manifest.get("options")), prompt)

    def _request(self, text: str, labels: Sequence[int]) -> Request:
        shown = [{"number": number, **describe(self.labels, label)} for number, label in enumerate(labels, 1)]
        return Request(self.prompt, {"labels": shown, "document": text}, _schema(len(labels)), 20 + 14 * len(labels))


def describe(labels: Sequence[Label], place: int) -> dict[str, str]:
    """What a model is told of a label: its name, the path to it, and its description, cut."""
    label = labels[place]
    path = labels.path(place) if isinstance(labels, Vocabulary) else (label.name,)
    parts = {"path": " > ".join(path[:-1]), "description": label.description[:DESCRIPTION]}
    return {"name": label.name, **{name: text for name, text in parts.items() if text}}


def valid_scores(text: str, size: int) -> dict[int, float] | None:
    """Number of a candidate -> score, of an answer: only numbers that were offered, and scores from 0 to 10.

    The first score of a candidate counts. None where the answer has no valid score.

    >>> valid_scores('{"scores": [{"label": 2, "score": 7}, {"label": 3, "score": 7}, {"label": 1, "score": 99}]}', 2)
    {2: 7.0}
    >>> valid_scores("I cannot help with that.", 2)
    """
    try:
        listed = json.loads(text)["scores"]
    except (ValueError, LookupError, TypeError, RecursionError):
        return None
    found: dict[int, float] = {}
    for each in listed if isinstance(listed, list) else ():
        entry: dict[str, Any] = each if isinstance(each, dict) else {}
        number, score = entry.get("label"), entry.get("score")
        if isinstance(number, int) and _is_within(number, 1, size) and _is_within(score, 0, BEST):
            found.setdefault(number, float(score or 0))
    return found or None


def _is_within(value: Any, least: int, most: int) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and least <= value <= most


def _schema(size: int) -> Mapping[str, Any]:
    """The form of an answer. Enumerations, as not every server limits numbers."""
    numbers = {"label": (1, size), "score": (0, BEST)}
    score = {
        "type": "object",
        "properties": {
            name: {"type": "integer", "enum": list(range(least, most + 1))} for name, (least, most) in numbers.items()
        },
        "required": list(numbers),
        "additionalProperties": False,
    }
    return {
        "type": "object",
        "properties": {"scores": {"type": "array", "items": score}},
        "required": ["scores"],
        "additionalProperties": False,
    }
