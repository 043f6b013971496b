"""Labels named in the title of a document, by the information content of their names: strong evidence."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, replace
from functools import cached_property
from pathlib import Path
from typing import Self

import numpy as np

from tagwright.core.saved import read_manifest, read_options, write_manifest
from tagwright.stages.names.exact_match import ExactMatch, ExactMatchOptions
from tagwright.types import Distribution, Document, EvidenceSpan, Floats, Label, Run, Stage

EVERYDAY = 10.0
"""Bits up to which a name in a title is no stronger evidence than elsewhere: at least one label in a thousand has the
words of such a name. Chosen on training documents of three corpora."""


_DEFAULTS = ExactMatchOptions()


class TitleMatch(Stage):
    """The labels that a title names, scored by the information content of the name beyond `EVERYDAY`. A re-ranker.

    A name inside a longer one does not count: "breast" in "breast cancer". names: the stage that searches names
    everywhere, over the same labels with the same stemming; its trie is reused.
    """

    distribution: Distribution = "information_content"
    meaning = "its name in the title"

    def __init__(
        self, labels: Sequence[Label], options: ExactMatchOptions = _DEFAULTS, names: ExactMatch | None = None
    ) -> None:
        self.labels, self.options, self._shared = labels, replace(options, longest=True, k=None), names

    @cached_property
    def _names(self) -> ExactMatch:
        return self._shared.alike(self.options) if self._shared else ExactMatch(self.labels, self.options)

    def read(self, documents: Sequence[Document]) -> Run:
        """The labels that each title names with more than everyday words, best first."""
        found = self._names.information(list(map(_title, documents)))
        kept = found.keep(found.scores > EVERYDAY)
        return Run(kept.indptr, kept.labels, kept.scores - np.float32(EVERYDAY))

    def score(self, reading: Run, candidates: Run) -> Floats:
        """(suggestions,) the bits of each candidate, 0 where the title does not name it."""
        return reading.scores_of(candidates)

    def spans(self, document: Document, labels: Sequence[int]) -> list[tuple[EvidenceSpan, ...]]:
        """For each label the up to 100 occurrences of its names in the title; their weights add up to its score."""
        found, scores = self.read([document])[0]
        named = dict(zip(found.tolist(), scores.tolist(), strict=True))
        spans = dict(zip(named, self._names.spans(_title(document), list(named)), strict=True))
        return [_adding_up(spans.get(label, ()), named.get(label, 0.0)) for label in labels]

    def with_labels(self, labels: Sequence[Label]) -> Self:
        """Return a copy for another vocabulary."""
        return type(self)(labels, self.options)

    def save(self, folder: Path) -> None:
        """Write the options; the rest comes from the labels."""
        write_manifest(folder, "title_match", {"options": asdict(self.options)})

    @classmethod
    def load(cls, folder: Path, labels: Sequence[Label]) -> Self:
        """Build again with the saved options. Raises ModelError when they are missing or invalid."""
        manifest = read_manifest(folder, "title_match")
        return cls(labels, read_options(folder, ExactMatchOptions, manifest.get("options"), analysis=1))


def share(rerankers: Mapping[str, Stage], retrievers: Mapping[str, Stage]) -> dict[str, Stage]:
    """The re-rankers; a title match shares the trie of a retriever over the same labels."""
    names = [stage for stage in retrievers.values() if isinstance(stage, ExactMatch)]

    def shared(stage: Stage) -> Stage:
        if not isinstance(stage, TitleMatch):
            return stage
        found = next((each for each in names if each.fits(stage.options)), None)
        return TitleMatch(stage.labels, stage.options, found)

    return {name: shared(stage) for name, stage in rerankers.items()}


def _title(document: Document) -> Document:
    return Document(document.id, title=document.title)


def _adding_up(spans: Sequence[EvidenceSpan], score: float) -> tuple[EvidenceSpan, ...]:
    """Scale the weights of the spans to add up to the score."""
    total = sum(span.weight for span in spans)
    return tuple(replace(span, weight=score * span.weight / total) for span in spans)
