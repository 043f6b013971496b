"""Tell the languages of names apart, where a vocabulary does not say them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from tagwright.text.language import Language, detect
from tagwright.text.words import fold
from tagwright.types import Doubles, Label, Longs

SAMPLE = 4000
"Labels from whose names the languages are learned."

ROUNDS = 5
"Rounds of EM; more change little."


def recognised(labels: Sequence[Label], languages: Sequence[Language]) -> list[tuple[tuple[str, str], ...]]:
    """For each label the code and the name of each of its names: the likeliest of these languages.

    One name alone is short: a recogniser of single texts often errs. What it says of many names is the start; then the
    letters of each language, three at a time, and the place of its names among those of a label are learned from all
    of them together, by EM with naive Bayes (Nigam et al. 2000, section 4).
    """
    step = -(-len(labels) // SAMPLE)
    texts = [(name, place, len(label.names)) for label in labels for place, name in enumerate(label.names)]
    sample = np.repeat(np.arange(len(labels)) % step == 0, [len(label.names) for label in labels])
    numbers = dict[str, int]()
    grams = _Grams.of([[numbers.setdefault(part, len(numbers)) for part in _parts(*text)] for text in texts])
    codes = [language.code for language in languages]
    drawn = grams.of_rows(np.flatnonzero(sample))
    shares = np.array([_said(texts[row][0], codes) for row in np.flatnonzero(sample).tolist()])
    for _ in range(ROUNDS):
        likelihood, prior = _learned(drawn, shares, len(numbers))
        shares = _posterior(drawn, likelihood, prior)
    best = iter(_posterior(grams, likelihood, prior).argmax(axis=1).tolist())
    return [tuple((codes[next(best)], name) for name in label.names) for label in labels]


class _Grams(NamedTuple):
    """The parts of each text as numbers: row i holds those at `row == i`."""

    row: Longs
    part: Longs
    size: int

    @classmethod
    def of(cls, rows: Sequence[Sequence[int]]) -> _Grams:
        counts = np.fromiter(map(len, rows), np.int64, len(rows))
        parts = np.fromiter((part for row in rows for part in row), np.int64, counts.sum())
        return cls(np.repeat(np.arange(len(rows)), counts), parts, len(rows))

    def of_rows(self, rows: Longs) -> _Grams:
        """Those of some rows, in order."""
        place = np.full(self.size, -1)
        place[rows] = np.arange(len(rows))
        kept = place[self.row] >= 0
        return _Grams(place[self.row[kept]], self.part[kept], len(rows))


def _parts(name: str, place: int, among: int) -> list[str]:
    """Letters of a name, three at a time, and where it stands among the names of its label."""
    text = f" {fold(name)} "
    where = "only" if among == 1 else f"first of {among}" if not place else "other"
    return [where, where, where, *(text[i : i + 3] for i in range(len(text) - 2))]


def _said(name: str, codes: Sequence[str]) -> list[float]:
    """(languages,) the probabilities of a recogniser of single texts; equal ones where it knows none of them."""
    found = detect(name)
    values = [found.get(code, 0.0) for code in codes]
    total = sum(values)
    return [value / total for value in values] if total else [1 / len(codes)] * len(codes)


def _learned(grams: _Grams, shares: Doubles, parts: int) -> tuple[Doubles, Doubles]:
    """(parts, languages) logarithms of the probability of each part, and (languages,) of each language."""
    counts = np.stack([np.bincount(grams.part, column[grams.row], parts) for column in shares.T], axis=1) + 0.1
    return np.log(counts / counts.sum(axis=0)), np.log(shares.mean(axis=0) + 1e-9)


def _posterior(grams: _Grams, likelihood: Doubles, prior: Doubles) -> Doubles:
    """(texts, languages) the probability of each language."""
    found = [np.bincount(grams.row, column[grams.part], grams.size) for column in likelihood.T]
    scores = np.stack(found, axis=1) / 3 + prior
    shares = np.exp(scores - scores.max(axis=1, keepdims=True))
    return np.asarray(shares / shares.sum(axis=1, keepdims=True))
