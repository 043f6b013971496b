"""Measure rankings against gold labels: each measure is one formula, most of them one float64 per document.

What the measures share is computed once: `Hits` for measures that count right ranks, `Gains` for those in which a rare
label counts more, the overlap in `hierarchical` for those that count ancestors.

A measure at k uses the first k ranks and divides by the most that k ranks could earn, so fewer suggestions are no
advantage; only F1@k and the hierarchical measures count just the suggestions that are made. A document without gold
labels scores 0.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Self, TypeAlias, TypeVar, cast

import numpy as np
from numpy.typing import NDArray

from tagwright.core.checked import show
from tagwright.errors import ConfigError, InputError
from tagwright.types import Doubles, Longs, Mask, Run

_Values = TypeVar("_Values", bound="NDArray[Any]")


@dataclass(frozen=True, slots=True, eq=False)
class Hits:
    """Which of the first ranks hold a gold label.

    right: (documents, depth), false beyond the last suggestion. gold_counts: (documents,) gold labels of each document.
    """

    right: Mask
    gold_counts: Longs

    @classmethod
    def of(cls, run: Run, gold: Run, depth: int) -> Self:
        """Look the first `depth` suggestions up among the gold labels.

        >>> Hits.of(Run.from_rows([{4: 0.9, 1: 0.8, 2: 0.7}, {3: 0.5}]), Run.from_rows([[2, 4], [1]]), 3).right.tolist()
        [[True, False, True], [False, False, False]]
        """
        top = run.top(depth)
        return cls(_by_rank(top, top.held_by(gold), depth), np.diff(gold.indptr))

    def top(self, k: int) -> Mask:
        """(documents, k) whether each of the first k ranks is right. Raises ValueError for a k beyond the depth."""
        return _columns(self.right, k)


@dataclass(frozen=True, slots=True, eq=False)
class Gains:
    """The rewards of the right labels in the first ranks, and the largest possible ones.

    earned: (documents, depth) the reward of a right label, 0 for a wrong or missing one.
    best: (documents, depth) the rewards of the gold labels, greatest first, then 0.
    """

    earned: Doubles
    best: Doubles

    @classmethod
    def of(cls, run: Run, gold: Run, reward: Doubles, depth: int) -> Self:
        """Look up the rewards of the first `depth` suggestions, and of the gold labels.

        reward: (labels,), positive, for every label that is suggested or gold.

        >>> gains = Gains.of(Run.from_rows([{1: 0.9, 0: 0.8}]), Run.from_rows([[0, 2]]), np.array([5.0, 1.0, 8.0]), 2)
        >>> gains.earned.tolist(), gains.best.tolist()
        ([[0.0, 5.0]], [[8.0, 5.0]])
        """
        top, ideal = run.top(depth), gold.rescored(reward[gold.labels]).top(depth)
        earned = np.where(top.held_by(gold), reward[top.labels], 0.0)
        return cls(_by_rank(top, earned, depth), _by_rank(ideal, reward[ideal.labels], depth))

    def top(self, k: int) -> tuple[Doubles, Doubles]:
        """(documents, k) twice: earned and best at the first k ranks. Raises ValueError for a k beyond the depth."""
        return _columns(self.earned, k), _columns(self.best, k)


def precision(hits: Hits, k: int) -> Doubles:
    """P@k: the share of the first k ranks that is right (MACLR Eq. 5, FuTex Eq. 12).

    Right, wrong, and no third suggestion: one of two, one of three.

    >>> hits = Hits(np.array([[True, False, False]]), np.array([4]))
    >>> precision(hits, 2).tolist(), precision(hits, 3).round(4).tolist()
    ([0.5], [0.3333])
    """
    return np.asarray(hits.top(k).mean(axis=1), np.float64)


def recall(hits: Hits, k: int) -> Doubles:
    """R@k: the share of the gold labels in the first k ranks (MACLR Eq. 5).

    >>> recall(Hits(np.array([[True, False, True]]), np.array([4])), 3).tolist()
    [0.5]
    """
    return _ratio(hits.top(k).sum(axis=1), hits.gold_counts)


def sample_f1(hits: Hits, suggested: Longs, k: int) -> Doubles:
    """F1@k: F1 of the first k suggestions of each document against its gold labels (sample-averaged, as in Annif).

    suggested: (documents,) the number of suggestions of each. Only those that are made count as predictions, as in
    scikit-learn's f1_score(average="samples"): a document with fewer than k has the higher precision.

    Two of three suggestions are right, of four gold labels: P = 2/3, R = 1/2, 2 P R / (P + R) = 4/7. With one
    suggestion, right: P = 1, R = 1/4, so 2/5.

    >>> hits = Hits(np.array([[True, False, True], [True, False, False]]), np.array([4, 4]))
    >>> sample_f1(hits, np.array([9, 1]), 3).round(4).tolist()
    [0.5714, 0.4]
    """
    return _ratio(2 * hits.top(k).sum(axis=1), np.minimum(suggested, k) + hits.gold_counts)


def success(hits: Hits, k: int) -> Doubles:
    """success@k: 1 when any of the first k ranks is right; success@1 is P@1.

    >>> success(Hits(np.array([[False, True], [False, False]]), np.array([1, 1])), 2).tolist()
    [1.0, 0.0]
    """
    return np.asarray(hits.top(k).any(axis=1), np.float64)


def ndcg(hits: Hits, k: int) -> Doubles:
    """nDCG@k: a right label at rank i counts 1 / log2(i + 1), over the best order of the gold labels (FuTex Eq. 12).

    Two gold labels at ranks 1 and 3: (1 + 1/2) / (1 + 1/log2(3)) = 1.5 / 1.63093.

    >>> ndcg(Hits(np.array([[True, False, True]]), np.array([2])), 3).round(4).tolist()
    [0.9197]
    """
    best = np.concatenate([[0.0], np.cumsum(_discount(k))])[np.minimum(hits.gold_counts, k)]
    return _ratio(hits.top(k) @ _discount(k), best)


Propensity: TypeAlias = tuple[float, float]
"A and B of `inverse_propensity`."

PROPENSITIES: Mapping[str, Propensity] = {"usual": (0.55, 1.5), "wikipedia": (0.5, 0.4), "amazon": (0.6, 2.6)}
"Jain et al. 2016, section 3: fitted to Wikipedia and Amazon, and for all other data sets."


def propensity_of(text: str) -> Propensity:
    """Return A and B by the name of a kind of data set, or as two numbers. Raises ConfigError for anything else.

    >>> propensity_of("amazon"), propensity_of("0.5,0.4")
    ((0.6, 2.6), (0.5, 0.4))
    """
    if str(text) in PROPENSITIES:
        return PROPENSITIES[text]
    try:
        a, b = map(float, str(text).split(","))
    except ValueError:
        a = b = -1.0
    if not (a > 0 and b > 0 and a + b < np.inf):
        expected = f"{', '.join(PROPENSITIES)}, or A and B as in 0.55,1.5"
        raise ConfigError(f"propensity is {show(text)}, expected {expected}")
    return a, b


def inverse_propensity(counts: Longs, documents: int, a: float = 0.55, b: float = 1.5) -> Doubles:
    """(labels,) the reward 1/p of each label: 1 + C (count + B)^-A with C = (ln N - 1)(B + 1)^A.

    Jain et al. 2016; FuTex Eq. 13. counts: (labels,) training documents of each label. documents: N, the number of
    training documents. a, b: A and B, by default their values for most corpora. Raises InputError for fewer than 3
    training documents, where a common label would earn more than a rare one.

    With one training document the two powers cancel and the reward is ln N: ln 1000 = 6.9078.

    >>> inverse_propensity(np.array([1]), 1000).round(4).tolist()
    [6.9078]
    """
    if documents < 3:
        raise InputError(f"{documents} training documents, expected at least 3 to estimate how rare a label is")
    rarity = (np.log(documents) - 1) * (b + 1) ** a
    return np.asarray(1 + rarity * (counts + b) ** -a, np.float64)


def psp(gains: Gains, k: int) -> tuple[Doubles, Doubles]:
    """PSP@k, micro: (documents,) the earned rewards and the most possible; PSP@k is the ratio of their totals.

    It is no mean over documents. The reward of a label is its `inverse_propensity`, with A 0.55 and B 1.5. Jain et al.
    2016, FuTex Eq. 13, divided by the greatest possible value as all the papers do.

    A label worth 1 is found, one worth 3 missed: at most 3 with one rank, 4 with two.

    >>> gains = Gains(np.array([[1.0, 0.0]]), np.array([[3.0, 1.0]]))
    >>> psp(gains, 1), psp(gains, 2)
    ((array([1.]), array([3.])), (array([1.]), array([4.])))
    """
    earned, best = gains.top(k)
    return earned.sum(axis=1), best.sum(axis=1)


def psndcg(gains: Gains, k: int) -> tuple[Doubles, Doubles]:
    """PSnDCG@k, micro: as `psp`, but a label at rank i earns its reward / log2(i + 1) (FuTex Eq. 13).

    Found at rank 3, where it counts half, a label worth 4 earns 2 of 4.

    >>> psndcg(Gains(np.array([[0.0, 0.0, 4.0]]), np.array([[4.0, 0.0, 0.0]])), 3)
    (array([2.]), array([4.]))
    """
    earned, best = gains.top(k)
    return earned @ _discount(k), best @ _discount(k)


def ancestors(broader: Run) -> Any:
    """Sparse (labels, labels): 1 where the column is the row's label itself or above it by any number of steps.

    broader: a row for each label, with the labels directly above it. Labels of a cycle are above each other.

    Robins below birds below animals:

    >>> ancestors(Run.from_rows([[], [0], [1]])).toarray().tolist()
    [[1, 0, 0], [1, 1, 0], [1, 1, 1]]
    """
    from scipy.sparse import csr_array, eye_array

    size = len(broader)
    links = csr_array((np.ones(len(broader.labels), np.int32), broader.labels, broader.indptr), (size, size))
    above = links + eye_array(size, dtype=np.int32, format="csr")
    reached = 0
    while above.nnz > reached:  # each product doubles the length of the paths
        reached = above.nnz
        above = above @ above
        above.data[:] = 1
    above.sort_indices()
    return above


def hierarchical(run: Run, gold: Run, above: Any, k: int) -> dict[str, tuple[Doubles, Doubles]]:
    """hP@k, hR@k and hF@k, micro: (documents,) numerators and denominators (Kiritchenko et al. 2006).

    With the set P^ of the first k suggestions and all their ancestors, and that of gold labels, G^, these are
    |P^ and G^| over |P^|, |P^ and G^| over |G^|, and 2 |P^ and G^| over |P^| + |G^|. Each measure is the ratio of the
    totals over all documents; hF is 2 hP hR / (hP + hR). above: (labels, labels), see `ancestors`.

    A suggestion beside the right label earns the ancestors that both share. Micro-averaged as in the paper: a mean over
    documents would let those with few labels high up count as much as those with many deep ones. Labels at the top
    count too, as a thesaurus has no root that all labels share; where one has, the measures are higher.

    Animals 0, birds 1 and robins 2 below them, fish 3 below animals. Robins are suggested, fish are right: of
    {2, 1, 0} and {3, 0} only animals are in both.

    >>> above = ancestors(Run.from_rows([[], [0], [1], [0]]))
    >>> hierarchical(Run.from_rows([[2]]), Run.from_rows([[3]]), above, 1)
    {'hP': (array([1.]), array([3.])), 'hR': (array([1.]), array([2.])), 'hF': (array([2.]), array([5.]))}

    If animals are suggested for a second document, and right, the sets are of 3 and 1 labels that share one, and of 1
    and 1 that share one: hP = (1 + 1) / (3 + 1), hR = (1 + 1) / (2 + 1), and hF = 2 hP hR / (hP + hR) = 4 / 7.

    >>> for part, whole in hierarchical(Run.from_rows([[2], [0]]), Run.from_rows([[3], [0]]), above, 1).values():
    ...     print(round(float(part.sum() / whole.sum()), 4))
    0.5
    0.6667
    0.5714
    """
    suggested, right = (_extend_upwards(part, above) for part in (run.top(k), gold))
    counted = (suggested, right, suggested.multiply(right))
    made, wanted, shared = (np.asarray(labels.sum(axis=1), np.float64).ravel() for labels in counted)
    return {"hP": (shared, made), "hR": (shared, wanted), "hF": (2 * shared, made + wanted)}


def f1(tp: NDArray[Any], fp: NDArray[Any], fn: NDArray[Any]) -> Doubles:
    """F1 = 2 P R / (P + R) = 2 tp / (2 tp + fp + fn), element by element; 0 where all three are 0.

    tp, fp, fn: counts of the same shape, such as (labels,).

    P = 1/2 and R = 1/3: 2 (1/6) / (5/6).

    >>> f1(np.array([1, 0]), np.array([1, 0]), np.array([2, 0])).tolist()
    [0.4, 0.0]
    """
    return _ratio(2 * tp, 2 * tp + fp + fn)


def label_coverage(run: Run, labels: int, k: int) -> float:
    """coverage@k: the share of the vocabulary that is among the first k suggestions of at least one document.

    labels: size of the vocabulary.

    >>> label_coverage(Run.from_rows([{0: 0.9, 1: 0.8}, {0: 0.7}]), labels=4, k=1)
    0.25
    """
    return len(np.unique(run.top(k).labels)) / labels


def mark_answered(run: Run) -> Doubles:
    """answered: (documents,) 1 for a document with at least one suggestion, else 0.

    >>> mark_answered(Run.from_rows([[3], []])).tolist()
    [1.0, 0.0]
    """
    return (np.diff(run.indptr) > 0).astype(np.float64)


def mark_labelled(gold: Run) -> Mask:
    """(documents,) true where there is a gold label; the other documents cannot be scored.

    >>> mark_labelled(Run.from_rows([[3], []])).tolist()
    [True, False]
    """
    return np.diff(gold.indptr) > 0


def label_counts(run: Run, labels: int) -> Longs:
    """(labels,) the number of documents of each label. labels: size of the vocabulary.

    >>> label_counts(Run.from_rows([[0, 2], [2]]), 4).tolist()
    [1, 0, 2, 0]
    """
    return np.bincount(run.labels, minlength=labels)


def known_labels(*runs: Run) -> int:
    """Return the size of the smallest vocabulary that holds the labels of all runs.

    >>> known_labels(Run.from_rows([[3]]), Run.from_rows([[]]))
    4
    """
    return 1 + max(int(run.labels.max(initial=-1)) for run in runs)


CEILING_DEPTHS = (10, 50, 100, 500)
"Numbers of candidates at which the recall ceiling is measured."


def ceiling(candidates: Run, gold: Run, depths: Sequence[int] = CEILING_DEPTHS) -> dict[str, float]:
    """The recall ceiling of one stage: the recall of a re-ranker that puts all right candidates first.

    Returns mean_size, the mean number of candidates of a document; for each of the depths R@k, the share of all gold
    labels among the first k candidates; and R, the share among all candidates. gold: with at least one label.

    Of three gold labels, one is the first candidate of its document and another the second:

    >>> ceiling(Run.from_rows([{4: 0.9, 2: 0.8}, {1: 0.5}]), Run.from_rows([[2, 4], [3]]), depths=[1])
    {'mean_size': 1.5, 'R@1': 0.3333333333333333, 'R': 0.6666666666666666}
    """
    hits, ranks = candidates.held_by(gold), candidates.ranks
    recall = {f"R@{k}": float(hits[ranks <= k].sum() / len(gold.labels)) for k in depths}
    mean_size = len(candidates.labels) / len(candidates)
    return {"mean_size": mean_size, **recall, "R": float(hits.sum() / len(gold.labels))}


def count_unreached(union: Run, gold: Run, labels: int) -> dict[int, int]:
    """Label -> the number of documents for which it is gold and no candidate, largest first.

    union: the candidates of all stages. labels: size of the vocabulary.

    >>> count_unreached(Run.from_rows([[0], [2]]), Run.from_rows([[0, 1], [1]]), 3)
    {1: 2}
    """
    missed = label_counts(gold.keep(~gold.held_by(union)), labels)
    order = np.argsort(-missed, kind="stable")[: int((missed > 0).sum())]
    return {int(label): int(missed[label]) for label in order}


def _extend_upwards(run: Run, above: Any) -> Any:
    """Sparse (documents, labels): 1 for each label of a document and for all above it."""
    from scipy.sparse import csr_array

    shape = len(run), above.shape[0]
    extended = csr_array((np.ones(len(run.labels), np.int32), run.labels, run.indptr), shape) @ above
    extended.data[:] = 1
    return extended


def _by_rank(run: Run, values: _Values, depth: int) -> _Values:
    """Lay the values of suggestions (suggestions,) out by rank: (documents, depth), 0 after the last of a document."""
    table = np.zeros((len(run), depth), values.dtype)
    table[run.rows, run.ranks - 1] = values
    return cast("_Values", table)


def _columns(table: _Values, k: int) -> _Values:
    """(documents, k) the first k of (documents, depth)."""
    if not 1 <= k <= table.shape[1]:
        raise ValueError(f"k is {k}, with {table.shape[1]} ranks looked up")
    return cast("_Values", table[:, :k])


def _discount(k: int) -> Doubles:
    """(k,) the discount of rank i, 1 / log2(i + 1)."""
    discount: Doubles = 1 / np.log2(np.arange(2, k + 2))
    return discount


def _ratio(part: NDArray[Any], whole: NDArray[Any]) -> Doubles:
    """Part / whole, 0 where the whole is 0."""
    ratio: Doubles = np.divide(part, whole, out=np.zeros(whole.shape), where=whole > 0)
    return ratio
