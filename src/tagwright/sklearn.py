"""`TaggerClassifier`: any method as a scikit-learn classifier."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any, Self, Unpack

import numpy as np
from scipy.sparse import csr_matrix
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils.validation import check_is_fitted

from tagwright.api import train, zero_shot
from tagwright.combining.acceptance import SuggestArguments
from tagwright.combining.confidence import squashed
from tagwright.data.in_memory import Labels, Texts, is_indicator, to_vocabulary
from tagwright.data.vocabulary import Vocabulary
from tagwright.errors import ConfigError, InputError
from tagwright.methods.table import ZERO_SHOT, method_name, named
from tagwright.tagger import Tagger
from tagwright.types import Run

if TYPE_CHECKING:
    from numpy.typing import NDArray
    from sklearn.utils import Tags


class TaggerClassifier(ClassifierMixin, BaseEstimator):  # type: ignore[misc]
    """Any method of Tagwright for pipelines, grid search and cross-validation.

    method: as in `tagwright.train`. labels: names, Labels, a Vocabulary or a file; None: the labels of y, by name. k:
    the most labels that `predict` gives a document; min_score, min_confidence, best_cut: which of them, as for
    `Tagger.suggest`. depth: the most labels of a document that get a probability above 0. options: those of the method.

    X: texts, Documents, or a column of them. y: an indicator matrix (documents, labels), dense or sparse, as in
    scikit-learn, with the columns in the order of `classes_`; or the ids or names of each document's labels.
    `cross_val_score` and `GridSearchCV` compare with an indicator matrix: make one with `MultiLabelBinarizer`.

    classes_: the id of each label. tagger_: the tagger, for suggestions with names and evidence, and to be saved, or
    pickled with the classifier. There is no decision_function: a sparse matrix has no place for scores of 0 or less.

    >>> texts = ["Honey bees visit orchards.", "A new tax law."]
    >>> labels = ["Bees", "Orchards", "Tax law"]
    >>> classifier = TaggerClassifier(labels=labels, k=2, stages=["exact_match"], language="en")
    >>> classifier.fit(texts).predict(texts).toarray().tolist()
    [[1, 1, 0], [0, 0, 1]]
    """

    def __init__(
        self,
        method: str = ZERO_SHOT,
        labels: Labels | None = None,
        *,
        k: int = 5,
        min_score: float | None = None,
        min_confidence: float | None = None,
        best_cut: bool = False,
        depth: int = 100,
        **options: Any,
    ) -> None:
        self.method, self.labels, self.k, self.depth = method, labels, k, depth
        self.min_score, self.min_confidence, self.best_cut = min_score, min_confidence, best_cut
        self._options = options

    def fit(self, X: Texts, y: Any = None) -> Self:  # noqa: N803
        """Train the method; methods that need no gold labels ignore a missing y. Raises TagwrightError.

        >>> TaggerClassifier(stages=["exact_match"]).fit(["Bees fly."], [["Bees", "Insects"]]).classes_.tolist()
        ['Bees', 'Insects']
        """
        texts = _texts(X)
        vocabulary, options = self._vocabulary(y), {"progress": False, **self._options}
        if method_name(self.method) == ZERO_SHOT:
            tagger = zero_shot(vocabulary, documents=texts, **options)
        else:
            gold = None if y is None else _ids(y, vocabulary)
            if gold is None and named(self.method).learns == "labels":
                raise ConfigError(f"{self.method} learns from labels: fit(X, y) needs y, which is None")
            tagger = train(self.method, texts, vocabulary, y=gold, **options)
        self.tagger_: Tagger = tagger
        self.classes_: NDArray[np.str_] = np.array(vocabulary.ids)
        return self

    def predict(self, X: Texts) -> csr_matrix:  # noqa: N803
        """(documents, labels) a sparse indicator matrix: 1 for the labels that `Tagger.suggest` suggests.

        Raises ConfigError for a min_confidence or a best_cut where the tagger estimates no confidences.

        >>> classifier = TaggerClassifier(labels=["Bees"], stages=["exact_match"]).fit([])
        >>> classifier.predict(["Bees!", "Ants!"]).toarray().tolist()
        [[1], [0]]
        """
        rules = SuggestArguments(min_score=self.min_score, min_confidence=self.min_confidence, best_cut=self.best_cut)
        run = self._run(X, self.k, **rules)
        return self._matrix(run, np.ones(len(run.labels), np.int64))

    def predict_proba(self, X: Texts) -> csr_matrix:  # noqa: N803
        """(documents, labels) sparse, from 0 to 1: the confidences of the first `depth` labels; 0 for all others.

        The zero-shot method estimates them with 100 labels or more, and `auto` does with labelled documents. Of a
        tagger that estimates none the scores are squashed: s becomes (1 + s / (1 + |s|)) / 2. That keeps their order
        within and across documents, for measures of ranking, but they are no probabilities.

        >>> classifier = TaggerClassifier(labels=["Bees", "Taxes"], stages=["exact_match"], language="en").fit([])
        >>> classifier.predict_proba(["Bees fly."]).nnz
        1
        """
        run = self._run(X, self.depth)
        if run.confidences is not None:
            return self._matrix(run, run.confidences.astype(np.float64))
        return self._matrix(run, squashed(run.scores.astype(np.float64)))

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """The arguments of the constructor, the method's options among them.

        >>> TaggerClassifier("rts", temperature=0.1).get_params()["temperature"]
        0.1
        """
        return {**super().get_params(deep), **self._options}

    def set_params(self, **params: Any) -> Self:
        """Change arguments; any other name is an option of the method, checked by `fit`.

        >>> TaggerClassifier("rts").set_params(k=3, temperature=0.1).get_params()["temperature"]
        0.1
        """
        own = {name: value for name, value in params.items() if name in self._get_param_names()}
        super().set_params(**own)
        self._options = {**self._options, **{name: value for name, value in params.items() if name not in own}}
        return self

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.input_tags.two_d_array, tags.input_tags.one_d_array, tags.input_tags.string = False, True, True
        tags.classifier_tags.multi_label = True
        tags.classifier_tags.multi_class = False
        tags.target_tags.required = named(self.method).learns == "labels"
        tags.target_tags.multi_output = True
        tags.target_tags.single_output = False
        tags.no_validation = True
        return tags

    def _vocabulary(self, y: Any) -> Vocabulary:
        if self.labels is not None:
            return to_vocabulary(self.labels)
        if y is None:
            raise ConfigError("which labels? give labels=..., or y with their names")
        if hasattr(y, "columns"):
            return Vocabulary(list(map(str, y.columns)))
        if is_indicator(y):
            raise ConfigError("y is an indicator matrix, which has no names of labels; give labels=[...], one a column")
        return Vocabulary(sorted({name for row in y for name in _names(row)}))

    def _run(self, X: Texts, k: int, **rules: Unpack[SuggestArguments]) -> Run:  # noqa: N803
        check_is_fitted(self, "tagger_")
        return self.tagger_.tag(_texts(X), k, **rules)

    def _matrix(self, run: Run, values: NDArray[Any]) -> csr_matrix:
        matrix = csr_matrix((values, run.labels, run.indptr), (len(run), len(self.classes_)))
        matrix.sort_indices()
        return matrix


def _texts(X: Any) -> Texts:  # noqa: N803
    """The documents passed by a pipeline. Raises InputError for one text, or rows of numbers."""
    if isinstance(X, str):
        raise InputError("X is one text, expected a list of texts: [text]")
    if getattr(X, "ndim", 1) != 1 and not hasattr(X, "columns"):
        raise InputError(f"X has the shape {X.shape}, expected one column of texts")
    return X  # type: ignore[no-any-return]


def _ids(y: Any, vocabulary: Vocabulary) -> Iterable[Iterable[str]]:
    """The labels of each document by id or name. Raises InputError for a matrix with other columns than labels."""
    if not is_indicator(y):
        return map(_names, y)
    if y.shape[1] != len(vocabulary):
        raise InputError(f"y has {y.shape[1]} columns for {len(vocabulary)} labels; give one column for each label")
    rows = csr_matrix(y)
    rows.eliminate_zeros()
    return [[vocabulary.ids[label] for label in rows[row].indices] for row in range(rows.shape[0])]


def _names(row: Any) -> list[str]:
    if isinstance(row, Mapping) or not isinstance(row, Iterable):
        raise InputError(f"y has the row {row!r:.60}, expected the ids or names of a document's labels")
    return [row] if isinstance(row, str) else list(map(str, row))
