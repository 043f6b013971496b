"""Boosted regression trees that rank right candidates first (LambdaMART).

LambdaMART (Burges 2010): every tree follows the gradient of nDCG on top of the scores so far, which may be those of a
linear model. Logistic regression alone is significantly worse: within `train auto` by 1.8 to 3.4 points of nDCG@5 on
mdn and by 1.1 to 2.2 on arxiv. Scikit-learn's boosting knows neither ranking nor a score to begin with, and LightGBM
brings an OpenMP library of its own beside torch's (page "Few labelled documents").
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Annotated, TypeAlias

import numpy as np
from numpy.typing import NDArray

from tagwright.core.checked import AtLeastOne, Checked, NotNegative, Range
from tagwright.types import Doubles, Floats, Ints, Longs, Mask

Gradients: TypeAlias = Callable[[Doubles], tuple[Doubles, Doubles]]
"From scores: for each, the direction that lowers the loss, and the curvature of the loss; (suggestions,) each."

BLOCK = 1 << 13
"Rows that are predicted together."


@dataclass(frozen=True, slots=True, kw_only=True)
class BoostingOptions(Checked):
    """How many trees are grown, and how. Raises ConfigError for a value that cannot work."""

    trees: AtLeastOne = 120
    "Trees, each fitted to what the others leave."

    depth: AtLeastOne = 4
    "Splits on the way to a leaf."

    rate: Annotated[float, Range(above=0, most=1)] = 0.1
    "The learning rate: the share of a tree's values that is added."

    smoothing: NotNegative = 5.0
    "Added to the curvature of a leaf, so that the value of a leaf with little evidence is small."

    smallest: AtLeastOne = 20
    "The fewest candidates of a leaf."

    features: Annotated[float, Range(above=0, most=1)] = 0.25
    "The share of the features that a tree may split on, drawn for each tree."

    bins: Annotated[int, Range(least=2, most=256)] = 64
    "Bins into which the values of a feature fall, at most 256."


@dataclass(frozen=True, slots=True, eq=False)
class BoostedTrees:
    """Perfect binary trees of one depth in flat arrays; their values add up. Node i has the children 2i+1 and 2i+2.

    feature, threshold: (trees, 2^depth - 1) int32 and float32: where the feature is at most the threshold, the way goes
    left; a node without a split has the greatest threshold. value: (trees, 2^(depth + 1) - 1) float64, of each node; an
    inner node has the value that it would have as a leaf.
    """

    feature: Ints
    threshold: Floats
    value: Doubles

    def predict(self, features: Floats) -> Doubles:
        """(rows,) the sum over the trees, for features (rows, features)."""
        sums = np.zeros(len(features))
        for rows, paths in self._paths(features):
            *_, leaves = paths
            sums[rows] = self.value[np.arange(len(self.value)), leaves].sum(axis=1)
        return sums

    def contributions(self, features: Floats) -> Doubles:
        """(rows, features) what each feature added.

        A split adds the difference between the values after and before it to its feature (Saabas 2014): all
        contributions of a row and the sum of the values of the roots make the prediction.
        """
        added, trees = np.zeros(features.shape), np.arange(len(self.value))
        for rows, paths in self._paths(features):
            places = np.arange(rows.start, rows.stop)[:, None]
            for before, after in pairwise(paths):
                steps = self.value[trees, after] - self.value[trees, before]
                np.add.at(added, (places, self.feature[trees, before]), steps)
        return added

    def _paths(self, features: Floats) -> Iterator[tuple[slice, list[Longs]]]:
        """Block by block the rows, and (rows, trees) the node at which each is, level by level from the roots."""
        trees, depth = np.arange(len(self.value)), self.feature.shape[1].bit_length()
        for start in range(0, len(features), BLOCK):
            block = features[start : start + BLOCK]
            rows, paths = np.arange(len(block))[:, None], [np.zeros((len(block), len(trees)), np.int64)]
            for _ in range(depth):
                node = paths[-1]
                goes_right = block[rows, self.feature[trees, node]] > self.threshold[trees, node]
                paths.append(2 * node + 1 + goes_right)
            yield slice(start, start + len(block)), paths


def grow(
    features: Floats, scores: Doubles, gradients: Gradients, options: BoostingOptions, seed: int = 0
) -> BoostedTrees:
    """Trees over features (rows, features) that move the scores (rows,) along the gradients.

    Every tree is grown level by level; the value of a node is rate * sum of gradients / (sum of curvatures +
    smoothing), a part of the Newton step. The same seed gives the same trees.
    """
    rng, scores = np.random.default_rng(seed), scores.astype(np.float64)
    cuts = [_cuts(column, options.bins) for column in features.T]
    binned = np.empty(features.T.shape, np.uint8)
    for place, (cut, column) in enumerate(zip(cuts, features.T, strict=True)):
        binned[place] = np.searchsorted(cut, column)
    telling = np.flatnonzero([len(cut) > 0 for cut in cuts])
    telling = telling if len(telling) else np.zeros(1, np.int64)
    grown: list[tuple[Ints, Floats, Doubles]] = []
    for _ in range(options.trees):
        asked = np.sort(rng.permutation(telling)[: int(np.ceil(options.features * len(telling)))])
        tree, leaves = _tree(binned, asked, cuts, *gradients(scores), options)
        scores += tree[2][leaves]
        grown.append(tree)
    return BoostedTrees(*(np.stack(arrays) for arrays in zip(*grown, strict=True)))


def lambda_gradients(right: Mask, indptr: Longs, depth: int = 10) -> Gradients:
    """LambdaRank's gradients of nDCG (Burges 2010) for candidates of documents: row i is indptr[i]:indptr[i + 1].

    right: (suggestions,) which candidates are right. Every pair of a right and a wrong candidate of which one is among
    the first `depth` pulls the two apart by sigmoid(wrong - right), times what nDCG changes by if they swap ranks. A
    document's gradients are scaled by log2(1 + sum) / sum of their absolute values, as in LightGBM.

    Of two candidates with equal scores the second is right: swapping them changes nDCG by 1 - 1/log2(3) = 0.3691; the
    sigmoid is 1/2, so the pull is 0.1845; each of the two counts in the sum of 0.3691, and log2(1.3691) / 0.3691 is
    1.2279: 0.2266.

    >>> pull, _ = lambda_gradients(np.array([False, True]), np.array([0, 2]))(np.zeros(2))
    >>> pull.round(4).tolist()
    [-0.2266, 0.2266]
    """
    sizes = np.diff(indptr)
    rows, width = np.repeat(np.arange(len(sizes)), sizes), int(sizes.max(initial=0))
    columns = np.arange(len(rows)) - np.repeat(indptr[:-1], sizes)
    hits = np.zeros((len(sizes), width), np.bool_)
    hits[rows, columns] = right
    document, place = np.nonzero(hits)
    discounts = 1 / np.log2(np.arange(2, width + 2))
    best = np.concatenate([[1.0], np.cumsum(discounts)])[np.minimum(hits.sum(axis=1), depth)]
    wrong = ~hits
    wrong[np.arange(width) >= sizes[:, None]] = False
    opposed = wrong[document] / best[document][:, None]
    taught, starts = np.unique(document, return_index=True)

    def gathered(pairs: Doubles, sign: int) -> Doubles:
        """(documents, width) the pairs (right candidates, width) summed for the right ones, and with a sign for others.

        Pairs of one document follow one another.
        """
        sums = np.zeros(hits.shape)
        if len(taught):
            sums[taught] = sign * np.add.reduceat(pairs, starts, axis=0)
        sums[hits] += pairs.sum(axis=1)
        return sums

    def gradients(scores: Doubles) -> tuple[Doubles, Doubles]:
        table = np.full((len(sizes), width), -np.inf)
        table[rows, columns] = scores
        ranks = np.empty(table.shape, np.int64)
        np.put_along_axis(ranks, np.argsort(-table, axis=1, kind="stable"), np.arange(width)[None, :], axis=1)
        discount, first = discounts[ranks], ranks < depth
        swap = np.abs(discount[document, place][:, None] - discount[document]) * opposed
        swap[~(first[document, place][:, None] | first[document])] = 0.0
        with np.errstate(over="ignore"):  # candidates beyond a document's last are infinitely far; they count 0
            miss = 1 / (1 + np.exp(table[document, place][:, None] - table[document]))
        pull = swap * miss
        total = 2 * np.bincount(document, pull.sum(axis=1), len(sizes))
        scale = np.divide(np.log2(1 + total), total, out=np.ones(len(sizes)), where=total > 0)[:, None]
        gradient, curvature = gathered(pull, -1) * scale, gathered(pull * (1 - miss), 1) * scale
        return gradient[rows, columns], curvature[rows, columns]

    return gradients


def _tree(
    binned: NDArray[np.uint8],
    asked: Longs,
    cuts: Sequence[Floats],
    gradient: Doubles,
    curvature: Doubles,
    options: BoostingOptions,
) -> tuple[tuple[Ints, Floats, Doubles], Longs]:
    """One tree (feature, threshold, value), and the node at which each row ends.

    The sums over a node are those over one child and those over the other. So the rows are read of the smaller child
    only, which has few of them, as few candidates are right.
    """
    inner = (1 << options.depth) - 1
    feature, threshold = np.zeros(inner, np.int32), np.full(inner, np.finfo(np.float32).max)
    sums_of, nodes = _make_summer(binned[asked], gradient, curvature, options.bins), [np.arange(len(gradient))]
    sums = sums_of(nodes)
    for level in range(options.depth):
        column, cut = _best_splits(sums, options, len(gradient))
        children: list[Longs] = []
        for node, rows in enumerate(nodes):
            right = np.zeros(len(rows), np.bool_)
            if cut[node] >= 0:
                chosen, place = int(asked[column[node]]), (1 << level) - 1 + node
                feature[place], threshold[place] = chosen, cuts[chosen][cut[node]]
                right = binned[chosen].take(rows) > cut[node]
            children += [rows[~right], rows[right]]
        if level + 1 < options.depth:
            sums = _of_children(sums, children, sums_of)
        nodes = children
    leaves = np.empty(len(gradient), np.int64)
    for number, rows in enumerate(nodes):
        leaves[rows] = inner + number
    return (feature, threshold, _values(leaves, gradient, curvature, options)), leaves


def _make_summer(
    binned: NDArray[np.uint8], gradient: Doubles, curvature: Doubles, bins: int
) -> Callable[[Sequence[Longs]], Doubles]:
    """Return a function that sums gradients, curvatures and rows over the bins of each feature, for nodes of rows.

    binned: (features, rows) the bin of each. The function takes the rows of each node, and returns (nodes, features,
    bins, 3).
    """
    from scipy.sparse import csc_matrix

    columns, ones = len(binned), np.ones(binned.size)
    cells = np.empty(binned.shape[::-1], np.int32)  # the bins, numbered through all features
    np.add(binned.T, np.arange(0, bins * columns, bins, dtype=np.int32), out=cells)
    numbers = np.stack([gradient, curvature, np.ones(len(gradient))], axis=1)

    def sums_of(nodes: Sequence[Longs]) -> Doubles:
        rows, width = np.concatenate(nodes), columns * bins
        first = np.repeat(np.arange(0, width * len(nodes), width, dtype=np.int32), list(map(len, nodes)))
        places = cells[rows] + first[:, None]
        starts = np.arange(0, places.size + 1, columns, dtype=np.int32)
        # A product with a sparse matrix adds all numbers in one pass, which bincount would for each of them.
        table = csc_matrix((ones[: places.size], places.ravel(), starts), shape=(len(nodes) * width, len(rows)))
        sums: Doubles = table @ numbers[rows]
        return sums.reshape(len(nodes), columns, bins, 3)

    return sums_of


def _of_children(sums: Doubles, children: Sequence[Longs], sums_of: Callable[[Sequence[Longs]], Doubles]) -> Doubles:
    """(2 * nodes, features, bins, 3) the sums of the children, from those of the nodes (nodes, features, bins, 3)."""
    smaller = [2 * node + (len(children[2 * node + 1]) < len(children[2 * node])) for node in range(len(sums))]
    below = np.empty((len(children), *sums.shape[1:]))
    below[smaller] = sums_of([children[child] for child in smaller])
    rest = sums - below[smaller]
    rest[rest[..., 2] == 0] = 0.0  # without what rounding leaves where there are no rows
    below[[child ^ 1 for child in smaller]] = rest
    return below


def _values(leaves: Longs, gradient: Doubles, curvature: Doubles, options: BoostingOptions) -> Doubles:
    """(nodes,) the value of each node, from the rows below it; 0 where there are none."""
    nodes = (1 << (options.depth + 1)) - 1
    sums, curves = np.bincount(leaves, gradient, nodes), np.bincount(leaves, curvature, nodes)
    for node in range(nodes // 2 - 1, -1, -1):
        sums[node], curves[node] = sums[2 * node + 1 : 2 * node + 3].sum(), curves[2 * node + 1 : 2 * node + 3].sum()
    steps: Doubles = np.divide(
        sums, curves + options.smoothing, out=np.zeros(nodes), where=curves + options.smoothing > 0
    )
    return options.rate * steps


def _best_splits(sums: Doubles, options: BoostingOptions, rows: int) -> tuple[Longs, Longs]:
    """(nodes,) for each node the column to split on, and the last bin that goes left; -1 for no split.

    sums: (nodes, features, bins, 3) of gradients, curvatures and rows. The gain of a split is the sum over both sides
    of gradients^2 / (curvatures + smoothing), less that of the node.
    """

    def strength(gradients: Doubles, curvatures: Doubles) -> Doubles:
        floor = curvatures + options.smoothing
        return np.divide(gradients**2, floor, out=np.zeros(floor.shape), where=floor > 0)

    left, curves, sizes = np.moveaxis(np.cumsum(sums, axis=2), -1, 0)
    total, all_curves, members = left[..., -1:], curves[..., -1:], sizes[..., -1:]
    gain = strength(left, curves) + strength(total - left, all_curves - curves) - strength(total, all_curves)
    gain[np.minimum(sizes, members - sizes) < min(options.smallest, rows)] = 0.0
    table = gain.reshape(len(gain), -1)
    column, cut = np.divmod(table.argmax(axis=1), options.bins)
    # up to 1e-12 a gain is rounding: sums of the same numbers in another order differ as much
    return column, np.where(table.max(axis=1) > 1e-12, cut, -1)


def _cuts(column: Floats, bins: int) -> Floats:
    """Up to bins - 1 thresholds between the values of a feature: between all of them, or else between quantiles."""
    values = np.unique(column)
    if len(values) > bins:
        values = np.unique(np.quantile(column, np.linspace(0, 1, bins), method="lower"))
    return ((values[1:].astype(np.float64) + values[:-1]) / 2).astype(np.float32)
