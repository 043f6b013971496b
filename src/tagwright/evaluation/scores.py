"""Score a run: every measure with its interval, over all documents and over slices of documents and labels."""

import csv
import logging
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache, partial
from pathlib import Path
from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from tagwright.core.display import escape_formula, html_table, plural
from tagwright.core.outputs import write_output
from tagwright.errors import ConfigError, InputError, option
from tagwright.evaluation import metrics
from tagwright.evaluation.calibration import Calibration, Judged, assess
from tagwright.evaluation.metrics import (
    PROPENSITIES,
    Gains,
    Hits,
    Propensity,
    label_counts,
    mark_labelled,
)
from tagwright.evaluation.resampling import MacroF1, Measures, Ratios, Score, estimates, to_json
from tagwright.evaluation.tables import Rows, as_text, percent, score_rows
from tagwright.types import Doubles, Label, Longs, Mask, Run

_log = logging.getLogger(__name__)

STANDARD = (
    "P@1", "P@3", "P@5", "F1@5", "nDCG@3", "nDCG@5", "nDCG@10", "R@10", "R@20", "R@100", "macro-F1@5", "answered",
)  # fmt: skip
"The measures of an evaluation that names none."

WITH_TRAIN = ("PSP@1", "PSP@3", "PSP@5", "PSnDCG@3", "PSnDCG@5", "macro-F1-tail@5")
"Added to them where the labels of the training documents are known."

WITH_HIERARCHY = ("hP@5", "hR@5", "hF@5")
"Added to them where the vocabulary has a hierarchy."

TAIL = range(1, 10)
"Numbers of training documents of a tail label (DEPL 5.1)."


@dataclass(frozen=True, slots=True, repr=False)
class Scores(Mapping[str, Score]):
    """The result of an evaluation: a mapping from the name of a measure to its `Score`, a number with an interval.

    documents: the number that was scored. measures: name -> score over all documents, from 0 to 1. slices: name -> the
    scores of a part of the documents or labels, itself without slices. calibration: of the confidences; None where the
    run has none. Its measures are in the mapping too.

    >>> scores = Scores(2, {"P@1": Score(0.5, 0.0, 1.0)})
    >>> dict(scores), scores["P@1"].high, scores.rows()
    ({'P@1': Score(0.5, 0.0, 1.0)}, 1.0, [{'measure': 'P@1', 'value': 0.5, 'low': 0.0, 'high': 1.0}])
    >>> print(scores)
    2 documents
    %    value  95% interval
    P@1   50.0  0.0 to 100.0
    """

    documents: int
    measures: Mapping[str, Score]
    slices: "Mapping[str, Scores]" = field(default_factory=dict)
    calibration: Calibration | None = None

    def __getitem__(self, measure: str) -> Score:
        """Return one measure over all documents. Raises ConfigError for one that was not computed."""
        if measure not in self:
            raise ConfigError(f'no measure "{measure}" was computed; the measures are {", ".join(self)}')
        return self._all[measure]

    def __iter__(self) -> Iterator[str]:
        return iter(self._all)

    def __len__(self) -> int:
        return len(self._all)

    def __contains__(self, measure: object) -> bool:  # Mapping would wait for a KeyError, here and in `get`
        return measure in self._all

    def get(self, measure: str, default: Any = None) -> Any:
        """Return one measure, or the default for one that was not computed."""
        return self._all.get(measure, default)

    @property
    def _all(self) -> Mapping[str, Score]:
        return {**self.measures, **(self.calibration.measures if self.calibration else {})}

    def rows(self) -> list[dict[str, Any]]:
        """Return a record for each measure, for a table: `pandas.DataFrame(scores.rows())`."""
        return [{"measure": name, **score.to_json()} for name, score in self._all.items()]

    def __repr__(self) -> str:
        first = ", ".join(f"{name} {100 * score:.1f}" for name, score in list(self._all.items())[:3])
        return f"Scores of {plural(self.documents, 'document')}: {first} (%), {plural(len(self), 'measure')}"

    def __str__(self) -> str:
        return f"{plural(self.documents, 'document')}\n{as_text(score_rows(self))}"

    def _repr_html_(self) -> str:
        return html_table(score_rows(self), plural(self.documents, "document"))

    def to_json(self) -> dict[str, Any]:
        """Return the JSON form: documents, measures, the measures of each slice, calibration if there is any."""
        return {
            "documents": self.documents,
            "measures": to_json(self.measures),
            "slices": {name: to_json(part.measures) for name, part in self.slices.items()},
            **(self.calibration.to_json() if self.calibration else {}),
        }


def evaluate(
    run: Run,
    gold: Run,
    *,
    train: Run | None = None,
    labels: int | None = None,
    above: Any = None,
    propensity: Propensity = PROPENSITIES["usual"],
    lengths: NDArray[np.integer] | None = None,
    measures: Sequence[str] | None = None,
    samples: int = 1000,
    seed: int = 0,
) -> Scores:
    """Score a run against the gold labels of the same documents, every measure with a 95% bootstrap interval.

    run: a row for each document; where it has confidences, their calibration is measured.
    gold: the gold labels, a row for each document.
    train: the gold labels of the training documents, a row for each; gives `WITH_TRAIN` and the slices by label.
    labels: size of the vocabulary; gives coverage@10.
    above: sparse (labels, labels), see `metrics.ancestors`; gives `WITH_HIERARCHY`.
    propensity: A and B of PSP.
    lengths: (documents,) number of words; gives the slices short, medium and long.
    measures: names such as P@7, instead of the standard ones.
    samples: of the bootstrap.

    Slices have no macro-F1, which averages over labels of the whole ranking, and no hierarchical measures, whose labels
    are outside the slice too. Logs a warning for fewer than ten documents, whose intervals say little. Raises
    InputError when there is no document, or one without gold labels; ConfigError for a measure that cannot be
    computed; ValueError for a run of other documents.
    """
    check_runs(gold, run)
    inputs = MeasureInputs.of([run, gold], measures, train, above, propensity)
    whole = _estimates(inputs, run, gold, samples, seed)
    if labels:
        share = metrics.label_coverage(run, labels, 10)
        whole["coverage@10"] = Score(share, share, share)  # a count of this run, not an estimate
    by_document = replace(inputs, names=tuple(name for name in inputs.names if split_measure(name)[0] in _SLICED))
    parts = {
        name: Scores(len(part_gold), _estimates(by_document, part, part_gold, samples, seed))
        for name, part, part_gold in _slices(run, gold, inputs.counts, lengths)
    }
    if run.confidences is None:
        return Scores(len(gold), whole, parts)
    judged = Judged.of(run, run.confidences, gold)
    return Scores(len(gold), whole, parts, assess(judged, samples=samples, seed=seed))


def slice_rows(scores: Scores) -> Rows:
    """Return a column for each slice: its documents, and in percent the measures that all slices have.

    Without slices there are no rows.

    >>> half = {"P@1": Score(0.5, 0.25, 0.75)}
    >>> slice_rows(Scores(9, half, {"tail": Scores(4, half)}))
    [['%', 'tail'], ['documents', '4'], ['P@1', '50.0']]
    """
    parts = scores.slices.values()
    if not parts:
        return []
    return [
        ["%", *scores.slices],
        ["documents", *(f"{part.documents:,}" for part in parts)],
        *(
            [name, *(percent(part.measures[name].value) for part in parts)]
            for name in scores.measures
            if all(name in part.measures for part in parts)
        ),
    ]


def check_runs(gold: Run, *runs: Run) -> None:
    """Raise InputError unless there are documents and all have gold labels, ValueError if a run has other documents.

    Logs a warning for fewer than ten documents, whose intervals say little.
    """
    if not len(gold):
        raise InputError("no documents to score; name documents with gold labels")
    if not mark_labelled(gold).all():
        first = int(np.argmin(mark_labelled(gold)))
        raise InputError(f"document {first} (from 0) has no gold labels and cannot be scored; leave it out")
    for run in runs:
        if len(run) != len(gold):
            raise ValueError(f"a run over {len(run)} documents, with gold labels for {len(gold)}")
    if len(gold) < 10:
        _log.warning("%s: too few for the intervals to say much; score 10 or more", plural(len(gold), "document"))


@dataclass(frozen=True, slots=True, kw_only=True)
class MeasureInputs:
    """Names of measures, and what these need besides a run and its gold labels."""

    names: tuple[str, ...]
    counts: Longs | None = None
    "(labels,) the number of training documents of each label."
    reward: Doubles | None = None
    "(labels,) the inverse propensity of each label."
    above: Any = None
    "Sparse (labels, labels), see `metrics.ancestors`."

    @classmethod
    def of(
        cls,
        runs: Sequence[Run],
        names: Sequence[str] | None,
        train: Run | None,
        above: Any,
        propensity: Propensity = PROPENSITIES["usual"],
    ) -> Self:
        """Check the names and count the training labels. Raises ConfigError for a measure that cannot be computed.

        runs: they and train hold every label that is counted. names: None for the standard measures.
        """
        if names is None:
            hierarchical, trained = WITH_HIERARCHY if above is not None else (), WITH_TRAIN if train is not None else ()
            names = (*STANDARD, *hierarchical, *trained)
        check_measures(names)
        for name in names:
            kind, _ = split_measure(name)
            if kind in _NEED_TRAIN and train is None:
                remedy = f"give the documents to train on: {option('train')}"
                raise ConfigError(f"{name} needs to know how frequent labels are; {remedy}")
            if kind in _ON_OVERLAP and above is None:
                remedy = f"give one: {option('labels')}"
                raise ConfigError(f"{name} needs a vocabulary whose labels have broader ones; {remedy}")
        if train is None:
            return cls(names=tuple(names), above=above)
        counts = label_counts(train, metrics.known_labels(*runs, train))
        reward = metrics.inverse_propensity(counts, len(train), *propensity)
        return cls(names=tuple(names), counts=counts, reward=reward, above=above)


def resampled_measures(inputs: MeasureInputs, run: Run, gold: Run) -> list[Measures]:
    """Return the measures of a run so that they can be computed on samples of the documents; macro-F1 comes last."""
    measures: list[Measures] = []
    ratios = tuple(name for name in inputs.names if split_measure(name)[0] not in _MACRO)
    if ratios:
        parts, wholes = (np.column_stack(side) for side in zip(*_fractions(inputs, ratios, run, gold), strict=True))
        measures.append(Ratios(ratios, parts, wholes))
    tail = None if inputs.counts is None else np.isin(inputs.counts, TAIL)
    for name in inputs.names:
        kind, k = split_measure(name)
        if kind in _MACRO:
            measures.append(MacroF1.of(name, run, gold, k, tail if kind == "macro-F1-tail" else None))
    return measures


def split_measure(name: str) -> tuple[str, int]:
    """Split the name of a measure into its kind and k, which is 0 where it has none.

    >>> split_measure("nDCG@10"), split_measure("answered")
    (('nDCG', 10), ('answered', 0))
    """
    kind, _, k = name.partition("@")
    return kind, int(k or 0)


def label_groups(counts: Longs) -> dict[str, Mask]:
    """Group labels by the number of their training documents: group -> (labels,), true for its labels.

    unseen: no training documents. seen: some. tail: 1 to 9 (DEPL 5.1). head: the most frequent labels that together
    make up half of all occurrences of labels, and any as frequent as the last of them, but no tail labels. torso:
    between head and tail. counts: (labels,) the number of training documents of each label.

    Of 110 occurrences the two most frequent labels have more than half.

    >>> for name, mask in label_groups(np.array([40, 30, 20, 10, 9, 1, 0])).items():
    ...     print(name, np.flatnonzero(mask).tolist())
    head [0, 1]
    torso [2, 3]
    tail [4, 5]
    seen [0, 1, 2, 3, 4, 5]
    unseen [6]
    """
    falling = np.sort(counts)[::-1]
    least = falling[np.searchsorted(np.cumsum(falling), counts.sum() / 2)] if len(counts) else 0
    tail, head = np.isin(counts, TAIL), (counts >= least) & (counts >= TAIL.stop)
    return {
        "head": head,
        "torso": (counts > 0) & ~head & ~tail,
        "tail": tail,
        "seen": counts > 0,
        "unseen": counts == 0,
    }


def length_groups(lengths: NDArray[np.integer]) -> dict[str, Mask]:
    """Split documents at the terciles of their lengths: short, medium, long -> (documents,), true for its documents.

    lengths: (documents,) number of words.

    >>> {name: np.flatnonzero(mask).tolist() for name, mask in length_groups(np.array([5, 900, 10, 20])).items()}
    {'short': [0, 2], 'medium': [3], 'long': [1]}
    """
    first, second = np.quantile(lengths, [1 / 3, 2 / 3])
    return {"short": lengths <= first, "medium": (lengths > first) & (lengths <= second), "long": lengths > second}


class LabelScore(NamedTuple):
    """The contingency table of one label (DEPL Table 2), with precision, recall and F1 from 0 to 1.

    label: its position in the vocabulary. train: the number of its training documents; None where it is not known. tp,
    fp, fn: documents for which it is suggested and gold, suggested only, gold only.
    """

    label: int
    train: int | None
    tp: int
    fp: int
    fn: int
    precision: float
    recall: float
    f1: float


def label_scores(run: Run, gold: Run, *, train: Run | None = None, k: int = 5) -> list[LabelScore]:
    """Score every label that is gold or among the first k suggestions of a document, in the order of the vocabulary.

    train: the gold labels of the training documents.

    >>> label_scores(Run.from_rows([[0], [0]]), Run.from_rows([[0], [2]]), k=1)[0]
    LabelScore(label=0, train=None, tp=1, fp=1, fn=0, precision=0.5, recall=1.0, f1=0.6666666666666666)
    """
    size = metrics.known_labels(run, gold, *([] if train is None else [train]))
    top = run.top(k)
    tp = np.bincount(top.labels[top.held_by(gold)], minlength=size)
    fp, fn = label_counts(top, size) - tp, label_counts(gold, size) - tp
    precision_and_recall = (np.divide(tp, whole, out=np.zeros(size), where=whole > 0) for whole in (tp + fp, tp + fn))
    columns = [tp, fp, fn, *precision_and_recall, metrics.f1(tp, fp, fn)]
    rows = zip(*(column.tolist() for column in columns), strict=True)
    counts = [None] * size if train is None else label_counts(train, size).tolist()
    return [LabelScore(label, counts[label], *row) for label, row in enumerate(rows) if sum(row[:3])]


def write_label_scores(scores: Iterable[LabelScore], labels: Sequence[Label], path: Path | str) -> None:
    """Write one line per label as TSV, under a line that names the columns.

    labels: the vocabulary. Cells that a spreadsheet would take for formulas have an apostrophe before them. Raises
    TagwrightError when the file cannot be written.
    """
    with write_output(path) as temporary, temporary.open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file, delimiter="\t", lineterminator="\n")
        writer.writerow(["label", "name", "train", "tp", "fp", "fn", "precision", "recall", "f1", "notation"])
        for row in scores:
            shares = (f"{share:.4f}" for share in (row.precision, row.recall, row.f1))
            label = labels[row.label]
            label_id, name, notation = map(escape_formula, (label.id, label.name, label.notation))
            writer.writerow([label_id, name, row.train, row.tp, row.fp, row.fn, *shares, notation])


SENTENCES = {
    "P": "Precision: of the first k suggestions, the share that is right.",
    "R": "Recall: of a document's right labels, the share that is among the first k suggestions.",
    "F1": "The harmonic mean of precision and recall of the first k suggestions of each document, averaged over the "
    "documents; the main measure of Annif.",
    "nDCG": "Like precision, but a right label counts more the higher it ranks; 100 is the best possible order.",
    "success": "The share of documents with at least one right label among the first k suggestions.",
    "micro-F1": "F1 over all documents together: of their first k suggestions and their right labels, each summed.",
    "micro-P": "The share of right ones among the suggestions made for all documents, at most k for each.",
    "macro-F1": "F1 of each label by itself, averaged over the labels: rare labels count as much as common ones.",
    "macro-F1-tail": "macro-F1 over labels with 1 to 9 training documents.",
    "hP": "Precision over the first k suggestions and the right labels, each with all labels above them: a suggestion "
    "near a right label counts in part (Kiritchenko et al. 2006).",
    "hR": "Recall in the same way: of the right labels and those above them, the share that is suggested.",
    "hF": "The harmonic mean of hP@k and hR@k.",
    "PSP": "Precision in which rare labels count more than common ones: each by its inverse propensity (A 0.55, B 1.5 "
    "if no others are given; Jain et al. 2016). Earned and possible rewards are summed over documents, not averaged.",
    "PSnDCG": "nDCG in which rare labels count more than common ones, in the same way.",
    "coverage": "The share of the vocabulary that is suggested for any document among the first k.",
    "answered": "The share of documents with any suggestion at all.",
    "ECE": "Calibration error: how far confidence is from the share of right labels, on average over ten groups of "
    "similarly sure suggestions among the first k; 0 is best.",
    "Brier": "The mean squared distance of the confidence of the first k suggestions from 100 where they are right and "
    "from 0 where they are wrong; 0 is best.",
    "AURC": "The share of wrong labels among the accepted ones if the surest are accepted first, averaged over the "
    "numbers accepted of the first ten suggestions; low is good.",
    "AUGRC": "The share of suggestions that are both accepted and wrong, averaged in the same way: the few surest do "
    "not decide it; low is good.",
}
"""Kind of measure -> its meaning, with k for the number. A new kind is a function of `metrics`, a sentence here, and a
place in the next table that fits what it is computed from; in `STANDARD`, where it is printed unasked."""

# Kinds of measures by what they are computed from; "F1" and "answered" also need the number of suggestions.
_ON_HITS = {"P": metrics.precision, "R": metrics.recall, "nDCG": metrics.ndcg, "success": metrics.success}
_ON_GAINS = {"PSP": metrics.psp, "PSnDCG": metrics.psndcg}
_ON_OVERLAP = ("hP", "hR", "hF")
_MICRO = ("micro-F1", "micro-P")
_MACRO = ("macro-F1", "macro-F1-tail")
_SLICED = (*_ON_HITS, "F1", "answered", *_ON_GAINS)
_NEED_TRAIN = {*_ON_GAINS, "macro-F1-tail"}
_KINDS = (*_ON_HITS, "F1", *_ON_GAINS, *_MICRO, *_MACRO, *_ON_OVERLAP)


def check_measures(names: Sequence[str]) -> None:
    """Raise ConfigError for a measure that does not exist, with those that do.

    >>> check_measures(["P@7", "answered"])
    """
    for name in names:
        kind, _, k = name.partition("@")
        if name != "answered" and not (kind in _KINDS and k.isdecimal() and int(k) > 0):
            kinds = ", ".join(f"{known}@k" for known in _KINDS)
            raise ConfigError(f'no measure "{name}"; there are {kinds}, with a number for k, and answered')


def _fractions(inputs: MeasureInputs, names: Sequence[str], run: Run, gold: Run) -> list[tuple[Doubles, Doubles]]:
    """Return (documents,) numerators and denominators of each measure, which is the ratio of their sums."""
    on_gains = [name for name in names if split_measure(name)[0] in _ON_GAINS]
    hits = Hits.of(run, gold, greatest_k(names))
    gains = None if inputs.reward is None else Gains.of(run, gold, inputs.reward, greatest_k(on_gains))
    overlap = cache(partial(metrics.hierarchical, run, gold, inputs.above))  # once for each k

    def fraction(name: str) -> tuple[Doubles, Doubles]:
        kind, k = split_measure(name)
        if kind in _ON_OVERLAP:
            return overlap(k)[kind]
        if gains is not None and kind in _ON_GAINS:
            return _ON_GAINS[kind](gains, k)
        if kind in _MICRO:
            right, made = hits.top(k).sum(axis=1), np.minimum(np.diff(run.indptr), k)
            return (right, made) if kind == "micro-P" else (2 * right, made + hits.gold_counts)
        if kind == "F1":
            values = metrics.sample_f1(hits, np.diff(run.indptr), k)
        else:
            values = _ON_HITS[kind](hits, k) if kind in _ON_HITS else metrics.mark_answered(run)
        return values, np.ones(len(values))

    return [fraction(name) for name in names]


def greatest_k(names: Sequence[str]) -> int:
    """Return the number of suggestions that the measures use; 0 where they use none.

    >>> greatest_k(["P@1", "nDCG@10"])
    10
    """
    return max((split_measure(name)[1] for name in names), default=0)


def _estimates(inputs: MeasureInputs, run: Run, gold: Run, samples: int, seed: int) -> dict[str, Score]:
    """Return the measures with their intervals, in the order of their names in the inputs."""
    estimated = estimates(resampled_measures(inputs, run, gold), len(gold), samples, seed)
    return {name: estimated[name] for name in inputs.names}


def _slices(
    run: Run, gold: Run, counts: Longs | None, lengths: NDArray[np.integer] | None
) -> Iterator[tuple[str, Run, Run]]:
    """Yield the name, run and gold labels of each slice that has documents.

    A slice by label keeps only its labels, suggested and gold, and the documents with any of them as gold labels.
    """
    for name, mask in ({} if counts is None else label_groups(counts)).items():
        kept_gold = gold.keep(mask[gold.labels])
        documents = np.flatnonzero(mark_labelled(kept_gold))
        if len(documents):
            yield name, run.keep(mask[run.labels]).take(documents), kept_gold.take(documents)
    for name, mask in ({} if lengths is None else length_groups(lengths)).items():
        if mask.any():
            yield name, run.take(np.flatnonzero(mask)), gold.take(np.flatnonzero(mask))
