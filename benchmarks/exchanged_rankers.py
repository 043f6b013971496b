"""Rankers for `python -m benchmarks rankers`: they take the place of `training.combiner.train_ranker`.

All see the same features and, as far as a library allows it, have the options of `BoostingOptions`: 120 trees with 4
splits on the way to a leaf, a quarter of the features, a learning rate of 0.1. The trees of the libraries become
`BoostedTrees`, so that all predict in the same way.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
from sklearn.ensemble import HistGradientBoostingClassifier

from tagwright.combining.candidate_ranker import CandidateRanker, fit_logistic
from tagwright.combining.ranking_trees import BoostedTrees
from tagwright.training.combiner import CombinerOptions, Examples, Trainer, train_ranker
from tagwright.types import Doubles, Longs

DEPTH = 10
"Candidates of a document that lambdarank cares about, as in `lambda_gradients`."


class Nodes(NamedTuple):
    """A tree of a library: node 0 is the root, leaves have no left child (-1)."""

    left: Longs
    right: Longs
    feature: Longs
    threshold: Doubles
    value: Doubles


def logistic(examples: Examples, options: CombinerOptions) -> CandidateRanker:
    """Logistic regression alone: what the trees of `train_ranker` start from."""
    linear = fit_logistic(examples.features.values, examples.right, examples.base, options.penalty)
    return CandidateRanker(examples.features.names, linear)


def hist_gradient_boosting(examples: Examples, options: CombinerOptions) -> CandidateRanker:
    """scikit-learn's histogram trees, pointwise, alone: they cannot start from other scores."""
    alone = logistic(examples, options)
    if not examples.right.any():
        return alone
    trees = options.trees
    model = HistGradientBoostingClassifier(
        max_iter=trees.trees,
        max_depth=trees.depth,
        max_leaf_nodes=1 << trees.depth,
        learning_rate=trees.rate,
        l2_regularization=trees.smoothing,
        min_samples_leaf=trees.smallest,
        max_features=trees.features,
        max_bins=min(trees.bins, 255),
        early_stopping=False,
        random_state=options.seed,
    ).fit(examples.features.values, examples.right, weights(examples))
    found = [_of_histogram(each[0].nodes) for each in model._predictors]
    bias = float(np.ravel(model._baseline_prediction)[0])
    linear = replace(alone.linear, weight=np.zeros_like(alone.linear.weight), bias=bias)
    return CandidateRanker(alone.names, linear, perfect(found, trees.depth))


def lightgbm(examples: Examples, options: CombinerOptions) -> CandidateRanker:
    """LightGBM's lambdarank on top of logistic regression: the same method as ours."""
    import lightgbm as library

    alone = logistic(examples, options)
    if not examples.right.any():
        return alone
    trees, values = options.trees, examples.features.values
    settings = {
        "objective": "lambdarank",
        "lambdarank_truncation_level": DEPTH,
        "label_gain": [0, 1],
        "max_depth": trees.depth,
        "num_leaves": 1 << trees.depth,
        "learning_rate": trees.rate,
        "lambda_l2": trees.smoothing,
        "min_data_in_leaf": trees.smallest,
        "min_sum_hessian_in_leaf": 0.0,
        "feature_fraction": trees.features,
        "max_bin": trees.bins,
        "seed": options.seed,
        "num_threads": 1,
        "deterministic": True,
        "force_col_wise": True,
        "verbose": -1,
    }
    data = library.Dataset(
        values,
        examples.right.astype(np.int32),
        group=np.diff(examples.run.indptr),
        init_score=alone.linear.predict(values),
        params=settings,
    )
    model = library.train(settings, data, trees.trees)
    found = [_of_lightgbm(each["tree_structure"]) for each in model.dump_model()["tree_info"]]
    return CandidateRanker(alone.names, alone.linear, perfect(found, trees.depth))


OURS = "LambdaMART in numpy"

RANKERS: Mapping[str, Trainer] = {
    OURS: train_ranker,
    "logistic regression": logistic,
    "HistGradientBoosting": hist_gradient_boosting,
    "LightGBM": lightgbm,
}


def weights(examples: Examples) -> Doubles:
    """(suggestions,) for a pointwise loss: the first candidates of the fixed sum count most, as in nDCG."""
    return np.asarray(1 / np.log2(1.0 + examples.run.ranks), np.float64)


def perfect(trees: Sequence[Nodes], depth: int) -> BoostedTrees:
    """The trees of a library as perfect ones: below a leaf, rows go left and find its value again."""
    inner = (1 << depth) - 1
    feature = np.zeros((len(trees), inner), np.int32)
    threshold = np.full(feature.shape, np.finfo(np.float32).max)
    value = np.zeros((len(trees), 2 * inner + 1))
    for row, tree in enumerate(trees):
        left_to_copy = [(0, 0)]
        while left_to_copy:
            node, place = left_to_copy.pop()
            value[row, place] = tree.value[node]
            if place >= inner:
                continue
            if tree.left[node] < 0:
                left_to_copy.append((node, 2 * place + 1))
                continue
            feature[row, place], threshold[row, place] = tree.feature[node], _rounded_down(tree.threshold[node])
            left_to_copy += [(tree.left[node], 2 * place + 1), (tree.right[node], 2 * place + 2)]
    return BoostedTrees(feature, threshold.astype(np.float32), value)


def _rounded_down(threshold: float) -> np.float32:
    """The greatest float32 that is not above: features that are float32 go the same way."""
    rounded = np.float32(threshold)
    return rounded if rounded <= threshold else np.nextafter(rounded, np.float32(-np.inf))


def _of_histogram(nodes: Any) -> Nodes:
    left = np.where(nodes["is_leaf"], -1, nodes["left"].astype(np.int64))
    return Nodes(left, nodes["right"].astype(np.int64), nodes["feature_idx"], nodes["num_threshold"], nodes["value"])


def _of_lightgbm(root: Mapping[str, Any]) -> Nodes:
    """The nodes of a tree in the order in which they are found."""
    found: list[tuple[int, int, int, float, float]] = []

    def add(node: Mapping[str, Any]) -> int:
        place = len(found)
        if "split_feature" not in node:
            found.append((-1, -1, 0, 0.0, node["leaf_value"]))
            return place
        found.append((-1, -1, node["split_feature"], node["threshold"], node["internal_value"]))
        left, right = add(node["left_child"]), add(node["right_child"])
        found[place] = (left, right, *found[place][2:])
        return place

    add(root)
    return Nodes(*(np.array(column) for column in zip(*found, strict=True)))
