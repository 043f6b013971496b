"""Compute every measure of a run with its interval, for all documents and for slices of them."""

import difflib
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from tagwright.errors import ConfigError, InputError, option
from tagwright.evaluation.calibration import Calibration, Judged, assess
from tagwright.evaluation.metrics import (
    Contingency,
    Gains,
    Hits,
    answered,
    f1,
    inverse_propensity,
    label_counts,
    label_coverage,
    labelled,
    ndcg,
    precision,
    psndcg,
    psp,
    recall,
    sample_f1,
    success,
)
from tagwright.evaluation.resampling import MacroF1, Measures, Ratios, Score, estimates
from tagwright.types import Doubles, Longs, Mask, Run

STANDARD = (
    *("P@1", "P@3", "P@5", "F1@5", "nDCG@3", "nDCG@5", "nDCG@10"),
    *("R@10", "R@20", "R@100", "macro-F1@5", "answered"),
)
"The measures of every evaluation."

WITH_TRAIN = ("PSP@1", "PSP@3", "PSP@5", "PSnDCG@3", "PSnDCG@5", "macro-F1-tail@5")
"The measures that need the training documents' labels, added when those are known."

TAIL = range(1, 10)
"A tail label has 1 to 9 training documents (DEPL 5.1)."


@dataclass(frozen=True, slots=True)
class Scores:
    """The result of an evaluation: the measures over all documents, and over slices of them.

    measures: name -> value with interval, in [0, 1]. slices: name -> Scores without slices.
    calibration: of the confidences, where the run has any.
    """

    documents: int
    measures: Mapping[str, Score]
    slices: "Mapping[str, Scores]" = field(default_factory=dict)
    calibration: Calibration | None = None

    def __getitem__(self, measure: str) -> Score:
        """One measure over all documents, of confidences too. Raises ConfigError for one that was not computed.

        >>> Scores(2, {"P@1": Score(0.5, 0.0, 1.0)})["P@1"].value
        0.5
        """
        found = {**self.measures, **(self.calibration.measures if self.calibration else {})}
        if measure not in found:
            raise ConfigError(f'no measure "{measure}" was computed; the measures are {", ".join(found)}')
        return found[measure]

    def to_json(self) -> dict[str, Any]:
        """The JSON form: documents, measures, the measures of each slice, and of the confidences if there are any."""
        return {
            "documents": self.documents,
            "measures": _plain(self.measures),
            "slices": {name: _plain(part.measures) for name, part in self.slices.items()},
            **({} if self.calibration is None else _confident(self.calibration)),
        }


def evaluate(
    run: Run,
    gold: Run,
    *,
    train: Run | None = None,
    labels: int | None = None,
    lengths: NDArray[np.integer] | None = None,
    measures: Sequence[str] | None = None,
    propensity: tuple[float, float] = (0.55, 1.5),
    samples: int = 1000,
    seed: int = 0,
) -> Scores:
    """Score a run against the gold labels of the same documents, every measure with a 95% bootstrap interval.

    train: the gold labels of the training documents, a row for each; gives the measures `WITH_TRAIN` and the slices by
    label. labels: size of the vocabulary; gives coverage@10. lengths: (documents,) words of each document; gives the
    slices short, medium, long. measures: names such as P@7 instead of the standard ones. propensity: A and B. samples:
    bootstrap samples. Slices have no macro-F1, which averages over labels of the whole ranking. A run with confidences
    gives the measures of calibration too.

    Raises InputError when there is no document, or one without gold labels; ConfigError for an unknown measure.
    """
    check(gold, run)
    setting = Setting.of([run, gold], measures, train, propensity)
    if lengths is not None and len(lengths) != len(gold):
        raise ValueError(f"{len(lengths)} lengths for {len(gold)} documents")
    found = _estimates(setting, run, gold, samples, seed)
    if labels:
        share = label_coverage(run, labels, 10)
        found["coverage@10"] = Score(share, share, share)  # a count of this run, not an estimate
    by_document = replace(setting, names=setting.ratios)
    parts = {
        name: Scores(len(part_gold), _estimates(by_document, part, part_gold, samples, seed))
        for name, part, part_gold in _slices(run, gold, setting.counts, lengths)
    }
    sure = run.confidences
    calibration = None if sure is None else assess(Judged.of(run, sure, gold), samples=samples, seed=seed)
    return Scores(len(gold), found, parts, calibration)


def check(gold: Run, *runs: Run) -> None:
    """Raise InputError unless there are documents and all have gold labels, ValueError if a run has other documents."""
    if not len(gold):
        raise InputError("no documents to score; name documents with gold labels")
    if not labelled(gold).all():
        first = int(np.argmin(labelled(gold)))
        raise InputError(f"document {first} (from 0) has no gold labels and cannot be scored; leave it out")
    for run in runs:
        if len(run) != len(gold):
            raise ValueError(f"a run over {len(run)} documents, with gold labels for {len(gold)}")


@dataclass(frozen=True, slots=True, kw_only=True)
class Setting:
    """The measures, and what they need besides the run and the gold labels."""

    names: tuple[str, ...]
    counts: Longs | None = None
    "(labels,) training documents of each label."
    reward: Doubles | None = None
    "(labels,) inverse propensity of each label."

    @classmethod
    def of(
        cls, runs: Sequence[Run], names: Sequence[str] | None, train: Run | None, propensity: tuple[float, float]
    ) -> Self:
        """Check the names and count the training labels. Raises ConfigError for a measure that cannot be computed."""
        if names is None:
            names = STANDARD if train is None else (*STANDARD, *WITH_TRAIN)
        for name in names:
            _check_name(name, trained=train is not None)
        if train is None:
            return cls(names=tuple(names))
        counts = label_counts(train, _size(*runs, train))
        reward = inverse_propensity(counts, len(train), *propensity)
        return cls(names=tuple(names), counts=counts, reward=reward)

    @property
    def macro_f1(self) -> dict[str, Mask | None]:
        """Return the requested macro-F1 measures, and the labels to average over if not all."""
        tail = None if self.counts is None else np.isin(self.counts, TAIL)
        among = {"macro-F1": None, "macro-F1-tail": tail}
        return {name: among[split(name)[0]] for name in self.names if split(name)[0] in among}

    @property
    def ratios(self) -> tuple[str, ...]:
        """The other measures, which are means and ratios of sums over documents."""
        return tuple(name for name in self.names if name not in self.macro_f1)


def panel(setting: Setting, run: Run, gold: Run) -> list[Measures]:
    """The measures of a run in a form that can be sampled."""
    found: list[Measures] = []
    if setting.ratios:
        columns = _columns(setting.ratios, run, gold, setting.reward)
        parts, wholes = (np.column_stack(side) for side in zip(*columns, strict=True))
        found.append(Ratios(setting.ratios, parts, wholes))
    return found + [MacroF1.of(name, run, gold, split(name)[1], among) for name, among in setting.macro_f1.items()]


def split(name: str) -> tuple[str, int]:
    """A measure's kind and k, which is 0 where it has none.

    >>> split("nDCG@10"), split("answered")
    (('nDCG', 10), ('answered', 0))
    """
    kind, _, k = name.partition("@")
    return kind, int(k or 0)


def label_groups(counts: Longs) -> dict[str, Mask]:
    """Head, torso, tail, seen and unseen labels by their training documents: name -> (labels,).

    unseen: none. seen: any. tail: 1 to 9 (DEPL 5.1). head: the most frequent labels that together hold half of all
    training labels, with those just as frequent as the last of them. torso: between head and tail.

    Half of 110 is passed by the second label.

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
    """Short, medium and long documents, split at the terciles of their lengths: name -> (documents,).

    >>> {name: np.flatnonzero(mask).tolist() for name, mask in length_groups(np.array([5, 900, 10, 20])).items()}
    {'short': [0, 2], 'medium': [3], 'long': [1]}
    """
    first, second = np.quantile(lengths, [1 / 3, 2 / 3])
    return {"short": lengths <= first, "medium": (lengths > first) & (lengths <= second), "long": lengths > second}


class LabelScore(NamedTuple):
    """One label's row of the contingency table at k, what follows from it, and its training documents if known."""

    label: int
    train: int | None
    tp: int
    fp: int
    fn: int
    precision: float
    recall: float
    f1: float


def per_label(run: Run, gold: Run, *, train: Run | None = None, k: int = 5) -> list[LabelScore]:
    """Every label that is gold, or among the first k suggestions of a document, in vocabulary order.

    >>> per_label(Run.from_rows([[0], [0]]), Run.from_rows([[0], [2]]), k=1)[0]
    LabelScore(label=0, train=None, tp=1, fp=1, fn=0, precision=0.5, recall=1.0, f1=0.6666666666666666)
    """
    size = _size(run, gold, *([] if train is None else [train]))
    table = Contingency.of(run, gold, size, k)
    tp, fp, fn = table.tp, table.fp, table.fn
    shares = (np.divide(tp, whole, out=np.zeros(size), where=whole > 0) for whole in (tp + fp, tp + fn))
    columns = [tp, fp, fn, *shares, f1(tp, fp, fn)]
    rows = zip(*(column.tolist() for column in columns), strict=True)
    counts = [None] * size if train is None else label_counts(train, size).tolist()
    return [LabelScore(label, counts[label], *row) for label, row in enumerate(rows) if sum(row[:3])]


_ON_HITS: dict[str, Callable[[Hits, int], Doubles]] = {
    "P": precision,
    "R": recall,
    "nDCG": ndcg,
    "success": success,
}
_ON_GAINS: dict[str, Callable[[Gains, int], tuple[Doubles, Doubles]]] = {"PSP": psp, "PSnDCG": psndcg}
_NEED_TRAIN = {*_ON_GAINS, "macro-F1-tail"}
_KINDS = (*_ON_HITS, "F1", *_ON_GAINS, "macro-F1", "macro-F1-tail")


def _check_name(name: str, trained: bool) -> None:
    kind, _, k = name.partition("@")
    cut = k.isdecimal() and int(k) > 0
    if name != "answered" and not (cut and kind in _KINDS):
        known = [*(f"{known}@{k if cut else 5}" for known in _KINDS), "answered"]
        near = difflib.get_close_matches(name, known, 1, cutoff=0.0)
        raise ConfigError(f'no measure "{name}"; the nearest is "{near[0]}"')
    if kind in _NEED_TRAIN and not trained:
        remedy = f"give the documents to train on: {option('train')}"
        raise ConfigError(f"{name} needs to know how frequent labels are; {remedy}")


def _columns(names: Sequence[str], run: Run, gold: Run, reward: Doubles | None) -> list[tuple[Doubles, Doubles]]:
    """For each measure (documents,) what is summed above and below the line."""
    on_gains = [name for name in names if split(name)[0] in _NEED_TRAIN]
    hits = Hits.of(run, gold, depth(names))
    gains = None if reward is None else Gains.of(run, gold, reward, depth(on_gains))

    def column(name: str) -> tuple[Doubles, Doubles]:
        kind, k = split(name)
        if gains is not None and kind in _ON_GAINS:
            return _ON_GAINS[kind](gains, k)
        if kind == "F1":
            values = sample_f1(hits, np.diff(run.indptr), k)
        else:
            values = _ON_HITS[kind](hits, k) if kind in _ON_HITS else answered(run)
        return values, np.ones(len(values))

    return [column(name) for name in names]


def _size(*runs: Run) -> int:
    """The size of the vocabulary, as far as it is known."""
    return 1 + max(int(run.labels.max(initial=-1)) for run in runs)


def depth(names: Sequence[str]) -> int:
    """The number of suggestions that the measures use.

    >>> depth(["P@1", "nDCG@10"])
    10
    """
    return max((split(name)[1] for name in names), default=0)


def _estimates(setting: Setting, run: Run, gold: Run, samples: int, seed: int) -> dict[str, Score]:
    found = estimates(panel(setting, run, gold), len(gold), samples, seed)
    return {name: found[name] for name in setting.names}


def _slices(
    run: Run, gold: Run, counts: Longs | None, lengths: NDArray[np.integer] | None
) -> Iterator[tuple[str, Run, Run]]:
    """Each slice that has documents.

    A slice of labels keeps only these, suggested and gold, and the documents that have any.
    """
    for name, mask in ({} if counts is None else label_groups(counts)).items():
        kept_gold = gold.keep(mask[gold.labels])
        documents = np.flatnonzero(labelled(kept_gold))
        if len(documents):
            yield name, run.keep(mask[run.labels]).take(documents), kept_gold.take(documents)
    for name, mask in ({} if lengths is None else length_groups(lengths)).items():
        if mask.any():
            yield name, run.take(np.flatnonzero(mask)), gold.take(np.flatnonzero(mask))


def _confident(found: Calibration) -> dict[str, Any]:
    return {"calibration": _plain(found.measures), "thresholds": [asdict(each) for each in found.thresholds]}


def _plain(measures: Mapping[str, Score]) -> dict[str, dict[str, float]]:
    return {name: {"value": m.value, "low": m.low, "high": m.high} for name, m in measures.items()}
