"""Read each document by a stage for its own language, so that its answer does not depend on the others of a batch."""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tagwright.data.vocabulary import Vocabulary
from tagwright.registry import load_part, saved_part
from tagwright.text.batch import Batch
from tagwright.types import Background, Document, EvidenceSpan, Floats, Label, Longs, Mask, Retriever, Run, Stage

ALL = "all"
"How a saved state calls the stage for names in all languages."


class Parts(dict[str, tuple[Longs, Any]]):
    """For each language the places in the batch of the documents in it, (documents,), and what its stage has read."""

    @property
    def places(self) -> Longs:
        """(documents,) the places of the documents of all parts, one part after the other."""
        return np.concatenate([np.zeros(0, np.int64), *(rows for rows, _ in self.values())])

    @property
    def vectors(self) -> Floats:
        """(documents, dim) of a stage with an encoder."""
        return self.in_order([part.vectors for _, part in self.values()])

    @property
    def written(self) -> Mask:
        """(documents,) whether there is any text, of a stage with an encoder."""
        return self.in_order([part.written for _, part in self.values()])

    def in_order(self, parts: Sequence[NDArray[Any]]) -> NDArray[Any]:
        """(documents, ...) what is known of each, from that of each part."""
        return np.concatenate(parts)[np.argsort(self.places)]


class ByLanguage(Retriever):
    """A stage for each language of texts, over the same labels with other names. A types.Retriever if they are.

    labels: with their names in all languages. stages: by language, as `Vocabulary.text_languages` tells it, at least
    one. make: makes that for another one when the first text in it comes; by default from the first. saved: languages
    whose stages it has only to load. Threads may share it.
    """

    def __init__(
        self,
        labels: Vocabulary,
        stages: Mapping[str, Stage],
        make: Callable[[str], Stage] | None = None,
        saved: Sequence[str] = (),
    ) -> None:
        self.labels, self.languages = labels, labels.text_languages
        self._stages, self._lock = dict(stages), threading.RLock()
        self._make, self._saved = make or self._derived, saved
        self.first = next(iter(stages.values()))
        self.distribution, self.meaning = self.first.distribution, self.first.meaning
        self.matches_names = self.first.matches_names

    @property
    def known(self) -> list[str]:
        """The languages whose stages are made or saved."""
        return list(dict.fromkeys([*self._stages, *self._saved]))

    def of(self, code: str) -> Any:
        """The stage for a language."""
        with self._lock:
            if code not in self._stages:
                self._stages[code] = self._make(code)
            return self._stages[code]

    def read(self, documents: Sequence[Document]) -> Parts:
        """Each document is read by the stage for its language."""
        parts = Batch.of(documents).divided(self.languages.of) or {
            next(iter(self._stages)): (np.zeros(0, np.int64), Batch())
        }
        return Parts({code: (rows, self.of(code).read(part)) for code, (rows, part) in parts.items()})

    def find(self, reading: Parts) -> Run:
        """The candidates of each document."""
        runs = [self.of(code).find(part) for code, (_, part) in reading.items()]
        return Run.concat(runs).take(np.argsort(reading.places))

    def score(self, reading: Parts, candidates: Run) -> Floats:
        """(suggestions,) the score of each candidate."""
        scores = np.zeros(len(candidates.labels), np.float32)
        for code, (rows, part) in reading.items():
            scores[np.isin(candidates.rows, rows)] = self.of(code).score(part, candidates.take(rows))
        return scores

    def trust(self, reading: Parts, weight: float) -> Floats | None:
        """(documents,) how well the stage knows the language of each document; None if it cannot tell."""
        shares = [self.of(code).trust(part, weight) for code, (_, part) in reading.items()]
        known = [share for share in shares if share is not None]
        return reading.in_order(known) if len(known) == len(shares) else None

    def background(self, reading: Parts, texts: Sequence[str]) -> Background | None:
        """How near the documents are to texts in general; None where the stage has no encoder."""
        parts = [self.of(code).background(part, texts) for code, (_, part) in reading.items()]
        if any(part is None for part in parts):
            return None
        mean, known = ([part.mean for part in parts], [part.names_known for part in parts])
        return Background(reading.in_order(mean), parts[0].deviation, reading.in_order(known))

    def spans(self, document: Document, labels: Sequence[int]) -> list[tuple[EvidenceSpan, ...]]:
        """The evidence that the stage for the document's language gives."""
        spans: list[tuple[EvidenceSpan, ...]] = self.of(self.languages.of(document)).spans(document, labels)
        return spans

    def with_labels(self, labels: Sequence[Label]) -> ByLanguage:
        """Return a copy for other labels, with names in all languages as well."""
        vocabulary = labels if isinstance(labels, Vocabulary) else Vocabulary(labels)
        searched = vocabulary.text_languages.searched
        return ByLanguage(vocabulary, {code: stage.with_labels(searched(code)) for code, stage in self._stages.items()})

    def sharing(self, stages: Mapping[str, Stage]) -> ByLanguage:
        """Return a copy that shares for each language what a stage shares with others, as tries of names."""

        def share(code: str, stage: Any) -> Stage:
            others = {name: each.of(code) for name, each in stages.items() if isinstance(each, ByLanguage)}
            shared: Stage = stage.sharing(others)
            return shared

        if not hasattr(self.first, "sharing"):
            return self
        made = {code: share(code, stage) for code, stage in self._stages.items()}
        return ByLanguage(self.labels, made, lambda code: share(code, self._make(code)), self._saved)

    def complete(self) -> None:
        """Make the stage for each language. Labels are encoded only with names in the languages that texts came in."""
        for stage in list(self._stages.values()):
            stage.complete()
        for code in [*self.known, *self.languages.codes, *[""] * bool(self.languages.codes)]:
            self.of(code)

    def state(self) -> dict[str, Any]:
        """Return what a saved stage is made of: the state for each language, in which an encoder stands once."""
        states = {code or ALL: saved_part(self.of(code), "stages") for code in self.known}
        for state in list(states.values())[1:]:
            state.pop("encoder", None)
        return {"languages": states}

    @classmethod
    def from_state(cls, state: Mapping[str, Any], labels: Sequence[Label]) -> ByLanguage:
        """Make the stage of a saved state, for the same labels: that of a language when the first text in it comes."""
        states = {"" if name == ALL else name: saved for name, saved in state["languages"].items()}
        vocabulary = labels if isinstance(labels, Vocabulary) else Vocabulary(labels)
        searched = vocabulary.text_languages.searched
        code, saved = next(iter(states.items()))
        first = load_part("stages", saved, searched(code))

        def make(code: str) -> Stage:
            if code not in states:
                return stage._derived(code)
            if hasattr(first, "encoder"):  # saved once
                loaded: Stage = type(first).from_state(states[code], searched(code), first.encoder)
                return loaded
            other: Stage = load_part("stages", states[code], searched(code))
            return other

        stage = cls(vocabulary, {code: first}, make, list(states))
        return stage

    def _derived(self, code: str) -> Stage:
        return self.first.in_language(self.languages.spoken(code), self.languages.searched(code))


def change_stage(stage: Stage, labels: Sequence[Label], change: Callable[[Any, Sequence[Label]], Stage]) -> Stage:
    """The changed stage; of one by language, each is changed. change: gets a stage and its labels."""
    if not isinstance(stage, ByLanguage):
        return change(stage, labels)
    searched = stage.languages.searched
    return ByLanguage(stage.labels, {code: change(stage.of(code), searched(code)) for code in stage.known})


def unwrap_stage(stage: Stage) -> Stage:
    """The stage, or, of one by language, that for one of the languages: of the same kind, with the same encoder."""
    return stage.first if isinstance(stage, ByLanguage) else stage
