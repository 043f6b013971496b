"""Tell the languages of names apart, where a vocabulary does not say them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from tagwright.text.language import Language, detect
from tagwright.text.words import ANALYSIS, fold
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
    names = [name for label in labels for name in label.names]
    counts = np.array([len(label.names) for label in labels], np.int64)
    grams, parts = _Grams.of([fold(name, ANALYSIS) for name in names], counts)
    sample = np.flatnonzero(np.repeat(np.arange(len(labels)) % step == 0, counts))
    codes = [language.code for language in languages]
    drawn = grams.of_rows(sample)
    shares = np.array([_said(names[row], codes) for row in sample.tolist()])
    for _ in range(ROUNDS):
        likelihood, prior = _learned(drawn, shares, parts)
        shares = _posterior(drawn, likelihood, prior)
    best = iter(_posterior(grams, likelihood, prior).argmax(axis=1).tolist())
    return [tuple((codes[next(best)], name) for name in label.names) for label in labels]


class _Grams(NamedTuple):
    """The parts of each text as numbers: row i holds those at `row == i`."""

    row: Longs
    part: Longs
    size: int

    @classmethod
    def of(cls, names: Sequence[str], counts: Longs) -> tuple[_Grams, int]:
        """The parts of folded names, and how many different ones there are. counts: (labels,) names of each label.

        Parts are the letters of a name, three at a time with a space before and behind, and three times where it stands
        among the names of its label: the only one, the first of so many, or another.
        """
        letters = np.frombuffer("".join(f" {name} " for name in names).encode("utf-32-le"), np.uint32).astype(np.int64)
        ends = np.cumsum(np.fromiter(map(len, names), np.int64, len(names)) + 2)
        last = np.zeros(len(letters) + 2, np.bool_)  # no part goes from one name into the next
        last[ends - 1] = last[ends - 2] = True
        start = np.flatnonzero(~last[: len(letters)])
        _, gram = np.unique(
            (letters[start] << 42) + (letters[start + 1] << 21) + letters[start + 2], return_inverse=True
        )
        first = np.zeros(len(names), np.bool_)
        first[np.cumsum(counts) - counts] = True
        place = np.where(first, np.repeat(counts, counts), 0)
        _, where = np.unique(place, return_inverse=True)
        grams, places = int(gram.max(initial=-1)) + 1, int(where.max(initial=-1)) + 1
        rows = np.concatenate([np.searchsorted(ends, start, side="right"), np.repeat(np.arange(len(names)), 3)])
        return cls(rows, np.concatenate([gram, grams + np.repeat(where, 3)]), len(names)), grams + places

    def of_rows(self, rows: Longs) -> _Grams:
        """Those of some rows, in order."""
        place = np.full(self.size, -1)
        place[rows] = np.arange(len(rows))
        kept = place[self.row] >= 0
        return _Grams(place[self.row[kept]], self.part[kept], len(rows))


def _said(name: str, codes: Sequence[str]) -> list[float]:
    """(languages,) the probabilities of a recogniser of single texts; equal ones where it knows none of them."""
    probabilities = detect(name)
    values = [probabilities.get(code, 0.0) for code in codes]
    total = sum(values)
    return [value / total for value in values] if total else [1 / len(codes)] * len(codes)


def _learned(grams: _Grams, shares: Doubles, parts: int) -> tuple[Doubles, Doubles]:
    """(parts, languages) logarithms of the probability of each part, and (languages,) of each language."""
    counts = np.stack([np.bincount(grams.part, column[grams.row], parts) for column in shares.T], axis=1) + 0.1
    return np.log(counts / counts.sum(axis=0)), np.log(shares.mean(axis=0) + 1e-9)


def _posterior(grams: _Grams, likelihood: Doubles, prior: Doubles) -> Doubles:
    """(texts, languages) the probability of each language."""
    sums = [np.bincount(grams.row, column[grams.part], grams.size) for column in likelihood.T]
    scores = np.stack(sums, axis=1) / 3 + prior
    shares = np.exp(scores - scores.max(axis=1, keepdims=True))
    return np.asarray(shares / shares.sum(axis=1, keepdims=True))
