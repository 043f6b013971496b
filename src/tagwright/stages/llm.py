"""Stages that ask a language model: for keywords of a document, which find labels, and for scores of its candidates.

Without an address, within no budget, and for documents without a valid answer, a stage says nothing.
"""

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from functools import cached_property
from math import log
from pathlib import Path
from typing import Any, Self, TypeAlias

import numpy as np

from tagwright.core.saved import is_folder_name, read_manifest, read_options, write_manifest
from tagwright.data.bags import BagOfWords, BagOptions
from tagwright.data.sparse_arrays import Matrix
from tagwright.errors import ModelError
from tagwright.llm.client import Request, ask_if_possible
from tagwright.llm.options import LlmOptions, instructions
from tagwright.llm.texts import TEXT, array, describe, in_line, read_answer, schema, usable
from tagwright.stages.evidence import FindsAtOnce
from tagwright.stages.lexical import Lexical
from tagwright.stages.names.exact_match import ExactMatch
from tagwright.text.words import ANALYSIS, words
from tagwright.types import Distribution, Document, Floats, Label, Run, Stage

KEYWORDS, LONGEST = 10, 100
"Keywords of a document that count, and the characters of one."

EXAMPLES, BEGINNING = 3, 500
"Labelled documents that are sent as examples, and the characters of each."

BEST = 10
"The highest score that the model may give to a candidate."

KINDS: Mapping[str, type[ExactMatch] | type[Lexical]] = {"ExactMatch": ExactMatch, "Lexical": Lexical}
"The stages that can look keywords up."


Example: TypeAlias = tuple[str, tuple[str, ...]]
"The beginning of a labelled document, and the names of its labels."


class LlmKeywords(FindsAtOnce):
    """Candidates by the keywords of a language model. The score of a label is the sum of 1 / rank over the stages.

    by: the stages that look the keywords up, as if they were a document. examples: labelled documents; the nearest
    ones by their words are sent with a document, but never the document itself.
    """

    distribution: Distribution = "sparse"
    meaning = "keywords of a language model"
    k = 100

    def __init__(
        self,
        labels: Sequence[Label],
        by: Mapping[str, ExactMatch | Lexical],
        options: LlmOptions,
        examples: Sequence[Example] = (),
        prompt: str = "",
    ) -> None:
        self.labels, self.by, self.options = labels, by, options
        self.examples = tuple(example for example in examples if words(example[0], ANALYSIS))
        self.prompt = prompt or instructions("keywords", options)

    def read(self, documents: Sequence[Document]) -> Run:
        """All labels that the keywords of each document find."""
        asked = [row for row, document in enumerate(documents) if document.text.strip()]
        texts = [documents[row].text for row in asked]
        requests = [
            Request(
                self.prompt,
                {
                    "examples": [{"document": other, "keywords": names} for other, names in near],
                    "document": text[: self.options.characters],
                },
                schema(keywords=array(TEXT)),
            )
            for text, near in zip(texts, self._nearest(texts), strict=True)
        ]
        answers = ask_if_possible(
            self.options, requests, lambda text, _: valid_keywords(text), "are tagged without its keywords"
        )
        keywords = dict(zip(asked, answers, strict=True))
        described = [Document(str(row), title="; ".join(keywords.get(row) or ())) for row in range(len(documents))]
        runs = [stage(described) for stage in self.by.values()]
        reciprocal = [Run(run.indptr, run.labels, (1.0 / run.ranks).astype(np.float32)) for run in runs]
        joined = Run.union(runs)
        return joined.rescored(np.sum([run.scores_of(joined) for run in reciprocal], axis=0))

    def with_labels(self, labels: Sequence[Label]) -> "LlmKeywords":
        """Return a copy for other labels; the examples keep the names that they have."""
        by = {name: stage.with_labels(labels) for name, stage in self.by.items()}
        return LlmKeywords(labels, by, self.options, self.examples, self.prompt)

    def save(self, folder: Path) -> None:
        """Write the options, the instructions, the examples, and the stages into folders of their own."""
        by = {name: type(stage).__name__ for name, stage in self.by.items()}
        write_manifest(folder, "llm_keywords", {**_saved(self), "examples": self.examples, "by": by})
        for name, stage in self.by.items():
            (folder / name).mkdir()
            stage.save(folder / name)

    @classmethod
    def load(cls, folder: Path, labels: Sequence[Label]) -> Self:
        """Read what `save` wrote, for the same labels. Raises ModelError when it is missing or damaged."""
        manifest, options, prompt = _read(folder, "llm_keywords")
        try:
            examples = [(str(text), tuple(map(str, names))) for text, names in manifest["examples"]]
            kinds = {name: KINDS[kind] for name, kind in dict(manifest["by"]).items() if is_folder_name(name)}
        except (LookupError, TypeError, ValueError):
            raise ModelError(f"{folder}: is damaged (examples or stages are missing); save the tagger again") from None
        stages = {name: kind.load(folder / name, labels) for name, kind in kinds.items()}
        return cls(labels, stages, options, examples, prompt)

    @cached_property
    def _words(self) -> tuple[BagOfWords, Matrix]:
        texts = [text for text, _ in self.examples]
        analysis = min((stage.options.analysis for stage in self.by.values()), default=ANALYSIS)
        options = BagOptions(min_documents=1, max_share=1.0, analysis=analysis)  # there may be few of them
        bag = BagOfWords.of(iter(texts), options)
        return bag, bag.transform(iter(texts)).T.tocsr()

    def _nearest(self, texts: Sequence[str]) -> list[list[Example]]:
        """The examples that share the most words with each text, without the text itself."""
        if not self.examples or not texts:
            return [[] for _ in texts]
        bag, known = self._words
        nearest = []
        for text, row in zip(texts, (bag.transform(iter(texts)) @ known).tocsr(), strict=True):
            order = row.indices[np.argsort(-row.data, kind="stable")].tolist()
            others = [self.examples[place] for place in order if not text.startswith(self.examples[place][0])]
            nearest.append(others[:EXAMPLES])
        return nearest


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

    def save(self, folder: Path) -> None:
        """Write the options and the instructions; the address of the server is not saved."""
        write_manifest(folder, "llm_ranking", _saved(self))

    @classmethod
    def load(cls, folder: Path, labels: Sequence[Label]) -> Self:
        """Read what `save` wrote. Raises ModelError when it is missing or damaged."""
        _, options, prompt = _read(folder, "llm_ranking")
        return cls(labels, options, prompt)

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
        return Request(self.prompt, {"labels": shown, "document": text}, form, 20 + 14 * len(labels))


def valid_keywords(text: str) -> list[str] | None:
    """The keywords of an answer; None where it has none.

    >>> valid_keywords('{"keywords": ["Bees", 7, "", "Honey"]}'), valid_keywords("Bees")
    (['Bees', 'Honey'], None)
    """
    listed = read_answer(text, "keywords")
    read = [usable(entry, LONGEST) for entry in listed] if isinstance(listed, list) else []
    return [keyword for keyword in read if keyword][:KEYWORDS] or None


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


def _saved(stage: LlmKeywords | LlmRanking) -> dict[str, Any]:
    """The options and the instructions: of the file of instructions only what it says is kept."""
    return {"options": {**asdict(stage.options), "prompts": ""}, "prompt": stage.prompt}


def _read(folder: Path, kind: str) -> tuple[Mapping[str, Any], LlmOptions, str]:
    """The manifest, the options and the instructions of a saved stage."""
    manifest = read_manifest(folder, kind)
    prompt = manifest.get("prompt")
    if not isinstance(prompt, str) or not prompt:
        raise ModelError(f"{folder}: is damaged (it has no instructions); save the tagger again")
    return manifest, read_options(folder, LlmOptions, manifest.get("options")), prompt
