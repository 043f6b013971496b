"""What documents hold in; out, the recommended method, the stages that pay, and what more labels would bring.

The tables here are the one place that says from which measurement on a method or a stage is worth it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import log1p
from typing import NamedTuple

FEW_LABELLED = 20
"Labelled documents from which a learned combiner was better than the fixed sum on most corpora: see `METHODS`."

MANY_LABELLED = 2_000
"Labelled documents from which the SVM alone is worth a trial: see `METHODS`."

MANY = 1_000
"The fewest documents on which methods that learn from texts or metadata were measured."

CURVE = "benchmarks/results/curve.json"
"Where `GAINS` come from."

PAPER = 2_000
"The fewest words of a full paper, a document with sections."


@dataclass(frozen=True, slots=True, kw_only=True)
class Counts:
    """How many documents there are, and how many have what a method needs.

    labelled: labels. papers: sections and `PAPER` words or more; on web pages with sections FuTex is far below
    zero-shot. metadata: references or keywords; MICoL was level or worse where only authors join the documents. texts:
    a title and a text.
    """

    documents: int
    labelled: int = 0
    papers: int = 0
    metadata: int = 0
    texts: int = 0


@dataclass(frozen=True, slots=True)
class MethodRow:
    """When a method is worth taking: with `least` documents or more that have what it needs.

    needs: a field of `Counts`. measured: the figures that this rests on.
    """

    method: str
    command: str
    needs: str
    least: int
    measured: str

    def has(self, counts: Counts) -> int:
        """How many documents have what the method needs."""
        return int(getattr(counts, self.needs))


@dataclass(frozen=True, slots=True)
class StageRow:
    """When `train auto` tries a stage: from `labelled` documents on. measured, source: the figures and their file."""

    stage: str
    labelled: int
    measured: str
    source: str


@dataclass(frozen=True, slots=True)
class Advice:
    """One method: whether it is recommended, whether the data allow it, the command, the condition and the reasons."""

    method: str
    take: bool
    fits: bool
    command: str
    where: str
    why: str


METHODS = (
    MethodRow(
        "auto",
        "train auto DOCS... --labels FILE --output DIR",
        "labelled",
        FEW_LABELLED,
        "with 50 labelled documents nDCG@5 65.6 on full papers, zero-shot 56.6; 57.0 and 49.9 on abstracts, 40.6 and "
        "37.9 on web pages, 39.5 and 39.3 on titles; with all labels 70.9 on web pages and 54.9 on titles; SVM and "
        "nearest labelled documents are added where they help",
    ),
    MethodRow(
        "zero-shot",
        "suggest DOCS... --labels FILE",
        "documents",
        1,
        "nothing is trained; nDCG@5 37.9 on web pages, 40.0 on titles, 56.4 on full papers, 50.5 on abstracts",
    ),
    MethodRow(
        "svm",
        "train svm DOCS... --labels FILE --output DIR",
        "labelled",
        MANY_LABELLED,
        "web pages, 6,421 labelled: nDCG@5 59.0, zero-shot 37.9; titles, 41,333: 46.2 and 40.0",
    ),
    MethodRow(
        "futex",
        "train futex DOCS... --labels FILE --output DIR",
        "papers",
        MANY,
        "3,297 full papers with MeSH: P@1 78.7 and P@5 49.4, zero-shot 75.6 and 50.4",
    ),
    MethodRow(
        "micol",
        "train micol DOCS... --labels FILE --output DIR",
        "metadata",
        MANY,
        "papers with references and keywords: P@1 68.9 and P@5 46.3, zero-shot 75.6 and 50.4; web pages: P@1 38.4, "
        "zero-shot 37.2",
    ),
    MethodRow(
        "rts",
        "train rts DOCS... --labels FILE --output DIR --fuse",
        "texts",
        MANY,
        "finds more among 100: R@100 84.3 on web pages and 64.3 on titles, zero-shot 82.1 and 63.4; the first five are "
        "as good",
    ),
)
"Best first where the data allow it. Each figure is from docs/results, on documents that nothing was learnt from."

STAGES = (
    StageRow(
        "zero_shot",
        0,
        "no single untrained stage has a higher nDCG@5 on any of five corpora",
        "benchmarks/results/zeroshot.json",
    ),
    StageRow(
        "combiner",
        2,
        "cross-validation decides; on epmc 50 labelled papers raise nDCG@5 from 56.6 to 65.6",
        "benchmarks/results/curve.json",
    ),
    StageRow(
        "svm",
        30,
        "cross-validation decides; nDCG@5 59.0 against 37.9 with 6,421 labelled web pages",
        "docs/results/supervised.md, benchmarks/results/auto.json",
    ),
    StageRow(
        "knn",
        30,
        "costs next to nothing; beside the SVM it lifts nDCG@5 on mdn: fixed sum 59.7 to 63.2, combiner 70.6 to 71.0",
        "docs/methods/auto.md",
    ),
)
"The stages that `train auto` tries, in the order in which they are trained."

_HAVING = {
    "labelled": "with labels",
    "papers": f"with sections and {PAPER:,} words or more",
    "metadata": "with references or keywords",
    "texts": "with a title and a text",
    "documents": "of any kind",
}

GAINS: Mapping[str, Mapping[int, float]] = {
    "mdn": {10: 0.4, 20: 0.7, 50: 2.7, 100: 5.0, 300: 9.1},
    "tib": {10: 0.0, 20: 0.2, 50: 0.2, 100: 0.0, 300: 1.0},
    "epmc": {10: 3.9, 20: 5.8, 50: 9.0, 100: 11.3},
    "arxiv": {10: 1.7, 20: 4.0, 50: 7.1, 100: 9.9, 300: 13.1},
    "kirja": {10: 1.0, 20: 1.7, 50: 3.3, 100: 5.1, 300: 7.3},
}
"Corpus -> labelled documents -> points of nDCG@5 that the learned combiner then gains over the zero-shot method."

WORTH_LABELLING = (50, 300)
"Numbers of labelled documents that are worth advising."


class Gain(NamedTuple):
    """What some more labelled documents bring in points of nDCG@5: on average, at least and most, on how many corpora.

    more: labelled documents.
    """

    more: int
    mean: float
    low: float
    high: float
    corpora: int


def expected_gain(labelled: int, more: int) -> Gain | None:
    """What `more` labelled documents bring where `labelled` ones are there; None where it was not measured.

    Between the measured numbers n of documents, the gain is linear in log(1 + n).

    >>> expected_gain(0, 50)
    Gain(more=50, mean=4.46, low=0.2, high=9.0, corpora=5)
    >>> expected_gain(400, 50)
    """
    found = [
        _gain(labelled + more, curve) - _gain(labelled, curve)
        for curve in GAINS.values()
        if labelled + more <= max(curve)
    ]
    if not found:
        return None
    return Gain(more, round(sum(found) / len(found), 2), round(min(found), 2), round(max(found), 2), len(found))


def next_step(labelled: int) -> str:
    """The sentence that says what labelling more documents would bring; empty where it was not measured.

    >>> next_step(0)
    'label 50 documents: about +4 points of nDCG@5 (mean of 5 corpora, benchmarks/results/curve.json)'
    >>> next_step(400)
    ''
    """
    wanted = next((number for number in WORTH_LABELLING if number >= max(1, 2 * labelled)), labelled)
    gain = expected_gain(labelled, wanted - labelled)
    if gain is None or gain.mean < 1:
        return ""
    documents = f"{gain.more:,} {'more ' * bool(labelled)}documents"
    corpora = "1 corpus" if gain.corpora == 1 else f"{gain.corpora} corpora"
    return f"label {documents}: about {gain.mean:+.0f} points of nDCG@5 (mean of {corpora}, {CURVE})"


def _gain(labelled: int, curve: Mapping[int, float]) -> float:
    """The gain with this many labelled documents: 0 with none."""
    points = {0: 0.0, **curve}
    below = max(n for n in points if n <= labelled)
    above = min(n for n in points if n >= labelled)
    if below == above:
        return points[below]
    share = (log1p(labelled) - log1p(below)) / (log1p(above) - log1p(below))
    return points[below] + share * (points[above] - points[below])


def advise(counts: Counts, table: Sequence[MethodRow] = METHODS) -> list[Advice]:
    """Every method of the table; the first that the data allow is recommended.

    >>> [(each.method, each.where) for each in advise(Counts(documents=300, labelled=300)) if each.take]
    [('auto', 'from 20 documents with labels (here 300)')]
    """
    fitting = [row.method for row in table if row.has(counts) >= row.least]
    return [
        Advice(
            row.method,
            take=row.method in fitting[:1],
            fits=row.method in fitting,
            command=row.command,
            where=_where(row, counts),
            why=row.measured,
        )
        for row in table
    ]


def _where(row: MethodRow, counts: Counts) -> str:
    noun = "document" if row.least == 1 else "documents"
    return f"from {row.least:,} {noun} {_HAVING[row.needs]} (here {row.has(counts):,})"
