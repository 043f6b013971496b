"""A run over a vocabulary in, suggestions with names out, and what supports them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from tagwright.data.vocabulary import Vocabulary
from tagwright.types import EvidenceSpan, Run


@dataclass(frozen=True, slots=True)
class Evidence:
    """Why one stage suggests a label: its rank (from 1) and score there, and what in the text supports it."""

    stage: str
    rank: int
    score: float
    spans: tuple[EvidenceSpan, ...]


@dataclass(frozen=True, slots=True)
class Suggestion:
    """One suggested label of a document: its id, preferred name and score, best first in a list of them.

    score: of the tagger's own scale, to be compared within a tagger. confidence: the probability that the label is
    right, from 0 to 1; None where the tagger does not estimate it. evidence: why, where it was asked for, stage by
    stage.
    """

    id: str
    name: str
    score: float
    confidence: float | None = None
    evidence: tuple[Evidence, ...] = ()


def suggestions(run: Run, vocabulary: Vocabulary) -> Iterator[list[Suggestion]]:
    """The suggestions of each document of the run in turn, best first.

    >>> import numpy as np
    >>> from tagwright.types import Label
    >>> run = Run.of(np.array([0, 1]), np.array([0]), np.array([2.5]), np.array([0.75]))
    >>> list(suggestions(run, Vocabulary([Label("q1", ("Bees",))])))
    [[Suggestion(id='q1', name='Bees', score=2.5, confidence=0.75, evidence=())]]
    """
    terms = map(vocabulary.__getitem__, run.labels.tolist())
    confidences = [None] * len(run.labels) if run.confidences is None else run.confidences.tolist()
    parts = zip(terms, run.scores.tolist(), confidences, strict=True)
    found = [Suggestion(term.id, term.name, score, confidence) for term, score, confidence in parts]
    for start, end in zip(run.indptr[:-1].tolist(), run.indptr[1:].tolist(), strict=True):
        yield found[start:end]
