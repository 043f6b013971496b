"""Train linear classifiers: an SVM one against the rest."""

import hashlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any, TypeAlias

import numpy as np

from tagwright.core.checked import AtLeastZero, Checked, NotNegative, Positive
from tagwright.core.progress import bar
from tagwright.core.steps import State, Steps
from tagwright.core.workers import usable_cores
from tagwright.data.bags import BagOfWords
from tagwright.data.sparse_arrays import Matrix
from tagwright.errors import ConfigError
from tagwright.stages.linear.hinge import TOGETHER, Loss, Postings, postings_of, solve
from tagwright.stages.linear.stage import Linear
from tagwright.types import Document, Floats, Ints, Label, Longs, Run

Block: TypeAlias = tuple[Matrix, Floats]
"(labels, words) weights and (labels,) biases."

SCORED, MANY, LEARNED = 300, 4, 100_000
"""Out of fold: the most documents that are scored, without folds where there are so many times more to train on; and
the most that are kept in memory."""

FEW = 1000
"Up to this number of labels, one process is faster than several."

BLOCK, PARTS = 1024, 16
"""The most labels that are trained and stored together: what an interrupted run loses per process. Fewer if there are
few labels, so that every process has some."""


@dataclass(frozen=True, kw_only=True)
class SvmOptions(Checked):
    """The linear SVM. Raises ConfigError for a value that cannot work."""

    loss: Loss = "squared_hinge"
    "squared_hinge is minimised by scikit-learn's LinearSVC and DiSMEC, hinge by DEPL (3.2)."

    cost: Positive = 0.3
    """C: the weight of the losses relative to the norm of the weights; 1 in scikit-learn. The default was chosen on
    validation documents."""

    prune: NotNegative = 0.01
    """Weights closer to 0 are dropped at the end, as in DiSMEC; 0 keeps all. Most weights are, with hardly any effect
    on P@k."""

    workers: AtLeastZero = 0
    "Processes; 0 is one for each core."

    seed: AtLeastZero = 0
    "The documents that every label is first compared with, drawn at random."


def train_linear(
    documents: Sequence[Document],
    labels: Sequence[Label],
    gold: Run,
    options: SvmOptions = SvmOptions(),
    candidates: int = 100,
    steps: Steps = Steps(),
) -> Linear:
    """The linear SVM over tf-idf of the documents' text (DEPL A.1.3), as a stage; other arguments: see `fit_svm`."""
    bag, features = text_features(documents)
    return Linear(labels, bag, *fit_svm(features, gold, len(labels), options, steps), candidates)


def text_features(documents: Sequence[Document]) -> tuple[BagOfWords, Matrix]:
    """Return the words of the documents and their tf-idf vectors, (documents, words)."""
    bag = BagOfWords.of(document.text for document in documents)
    return bag, bag.transform(document.text for document in documents)


def out_of_fold(features: Matrix, gold: Run, texts: Longs, stage: Linear, options: SvmOptions) -> tuple[Run, Longs]:
    """Return what SVMs suggest for up to `SCORED` labelled documents without which they were trained, and these rows.

    features, gold: see `fit_svm`. texts: (documents,) equal for equal texts, which are scored once and together left
    out. stage: trained on all. In five folds; at once where the others are many.
    """
    rng, labelled = np.random.default_rng(options.seed), np.flatnonzero(np.diff(gold.indptr) > 0)
    order = rng.permutation(labelled)[:LEARNED]
    scored = order[:SCORED][np.sort(np.unique(texts[order[:SCORED]], return_index=True)[1])]
    folds = np.array_split(scored, 1 if len(order) > (MANY + 1) * SCORED else min(5, len(scored)))
    options = replace(options, workers=1 if len(np.unique(gold.labels)) <= FEW else options.workers)
    runs = list[Run]()
    for fold in folds:
        inside = np.sort(order[~np.isin(texts[order], texts[fold])])
        model = fit_svm(features[inside], gold.take(inside), len(stage.labels), options)
        runs.append(Linear(stage.labels, stage.bag, *model, stage.k).find(features[fold]))
    return Run.concat(runs), scored


def fit_svm(
    features: Matrix, gold: Run, labels: int, options: SvmOptions = SvmOptions(), steps: Steps = Steps()
) -> Block:
    """One SVM against the rest for each label that a document has (DEPL 3.2), as described in stages/linear/hinge.py.

    Returns weights and biases as `Linear` has them. features: (documents, words) CSR. gold: a row for each document.
    labels: their number; those without documents get no weights. steps: the store of finished blocks of labels. Raises
    ConfigError when no document has a label, or the stored blocks belong to other documents or options.
    """
    from scipy.sparse import csr_matrix, vstack

    positives = _positives(gold)
    if not positives:
        raise ConfigError("none of the documents has a label of the vocabulary; an SVM learns from these")
    order = sorted(positives, key=lambda label: (-len(positives[label]), label))  # alike in size; the slowest first
    size = min(BLOCK, max(4 * TOGETHER, len(order) // PARTS))
    blocks = [order[start : start + size] for start in range(0, len(order), size)]
    steps = steps.within("svm") if steps.writes else Steps()  # the others would read while it writes
    config = {
        "data": {"documents or labels": _digest(features, gold)} if steps.folder else {},
        "options": {**asdict(options), "workers": None},
    }
    bias, parts = np.full(labels, -np.inf, np.float32), []
    with bar("SVM", len(order)) as advance:
        documents = [[positives[label] for label in block] for block in blocks]
        solved = _solve_blocks(features, postings_of(features), documents, options, config, steps)
        for block, (weights, intercepts) in zip(blocks, solved, strict=True):
            parts.append(weights)
            bias[block] = intercepts
            advance(len(block))
    position = np.full(labels, len(order))
    position[order] = np.arange(len(order))
    nothing = csr_matrix((1, features.shape[1]), dtype=np.float32)
    return vstack([*parts, nothing], format="csr")[position], bias


def _positives(gold: Run) -> dict[int, Ints]:
    """The documents of each label that any of them has."""
    order = np.argsort(gold.labels, kind="stable")
    labels, starts = np.unique(gold.labels[order], return_index=True)
    rows = np.split(gold.rows[order].astype(np.int32), starts[1:]) if len(labels) else []
    return dict(zip(labels.tolist(), rows, strict=True))


def _solve_blocks(
    features: Matrix,
    postings: Postings,
    blocks: Sequence[Sequence[Ints]],
    options: SvmOptions,
    config: Mapping[str, Any],
    steps: Steps,
) -> Iterator[Block]:
    """Weights and biases of each block in turn, trained now or read from the store."""
    from joblib import Parallel, delayed
    from joblib.externals.loky import get_reusable_executor
    from scipy.sparse import csr_matrix

    missing = [block for number, block in enumerate(blocks) if not steps.has(str(number))]
    workers = min(options.workers or usable_cores(), max(1, len(missing)))
    settings = {name: getattr(options, name) for name in ("loss", "cost", "prune", "seed")}
    calls = (delayed(solve)(features, postings, block, **settings) for block in missing)
    learnt = Parallel(n_jobs=workers, return_as="generator", mmap_mode="c")(calls)  # what libraries can write to

    def learn() -> State:
        weights, bias = next(learnt)
        return State({"data": weights.data, "indices": weights.indices, "indptr": weights.indptr, "bias": bias})

    for number in range(len(blocks)):
        arrays = steps.once(str(number), learn, config).arrays
        weights = tuple(arrays[name] for name in ("data", "indices", "indptr"))
        yield csr_matrix(weights, shape=(len(arrays["bias"]), features.shape[1])), arrays["bias"]
    if workers > 1:
        get_reusable_executor().shutdown()  # they would keep their memory for minutes


def _digest(features: Matrix, gold: Run) -> str:
    digest = hashlib.sha256()
    for array in (features.indptr, features.indices, features.data, gold.indptr, gold.labels):
        digest.update(np.ascontiguousarray(array).data)
    return digest.hexdigest()
