"""`TaggerClassifier`: any method as a scikit-learn classifier."""

from __future__ import annotations

import sys
import warnings
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from scipy.sparse import csr_matrix, issparse
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils.validation import check_is_fitted

from tagwright.api import train, zero_shot
from tagwright.api.options import ZERO_SHOT, find_method, method_name
from tagwright.auto.ranker import assign_folds
from tagwright.combining.confidence import squash_score
from tagwright.combining.thresholds import FOLDS, Thresholds, parse_aim, without_thresholds
from tagwright.core.checked import AtLeastOne, UnknownOptionError, say_expected, show
from tagwright.data.corpus import take_documents, text_groups
from tagwright.data.texts import Texts, to_documents
from tagwright.data.vocabulary import Labels, Vocabulary
from tagwright.errors import ConfigError, InputError
from tagwright.readers.documents.in_memory import is_indicator, with_labels
from tagwright.readers.labels.files import to_vocabulary
from tagwright.stages.linear.stage import BOUNDARY
from tagwright.tagger import Tagger, batches
from tagwright.tagger.acceptance import SuggestOptions
from tagwright.types import Document, Run

if TYPE_CHECKING:
    from numpy.typing import NDArray
    from sklearn.utils import Tags


FEW_LABELS = (
    "most documents get no label: their scores are below the boundary of the SVM; best_cut=True, min_confidence=... or "
    "min_score=... cuts otherwise"
)

FIRST = 5
"Number of labels that `predict` gives a document if neither a parameter nor confidences limit it."


class TaggerClassifier(ClassifierMixin, BaseEstimator):  # type: ignore[misc]
    """Any method of Tagwright for pipelines, grid search and cross-validation.

    method, options: as in `tagwright.train`. labels: names, Labels, a Vocabulary, a table or a file; None: the labels
    of y, by name.

    max_labels: the most labels that `predict` gives a document; None: any number. min_score, min_confidence, best_cut:
    other limits, as in `Tagger.suggest`. thresholds: whether `fit` tunes a minimum confidence for each label: True, for
    the best F1 of each; "precision=0.8", for at least this precision. Like `TunedThresholdClassifierCV` it trains five
    more taggers, each on four fifths of the documents. Without any of these five, `predict` gives the best cut by
    confidence, or five labels if the tagger estimates no confidences. The SVM gives the labels on the right side of its
    boundary, as in scikit-learn (min_score 1), unless min_confidence, best_cut or thresholds is set. depth: the most
    labels of a document that get a probability above 0. sparse_output: whether `predict` and `predict_proba` give
    sparse matrices, for very many labels.

    X: texts, Documents, or a column of them. y: an indicator matrix (documents, labels), dense or sparse, as in
    scikit-learn, with the columns in the order of `classes_`; or the ids or names of each document's labels.
    `cross_val_score` and `GridSearchCV` compare with an indicator matrix: make one with `MultiLabelBinarizer`.

    classes_: the id of each label. tagger_: the tagger, which suggests labels with names and evidence. It can be saved,
    or pickled with the classifier.

    >>> texts = ["Honey bees visit orchards.", "A new tax law."]
    >>> labels = ["Bees", "Orchards", "Tax law"]
    >>> classifier = TaggerClassifier(labels=labels, max_labels=2, stages=["exact_match"], language="en")
    >>> classifier.fit(texts).predict(texts).tolist()
    [[1, 1, 0], [0, 0, 1]]
    """

    def __init__(
        self,
        method: str = ZERO_SHOT,
        labels: Labels | None = None,
        *,
        max_labels: int | None = None,
        min_score: float | None = None,
        min_confidence: float | None = None,
        best_cut: bool | None = None,
        thresholds: bool | str = False,
        depth: int = 100,
        sparse_output: bool = False,
        **options: Any,
    ) -> None:
        self.method, self.labels, self.max_labels, self.depth = method, labels, max_labels, depth
        self.min_score, self.min_confidence, self.best_cut = min_score, min_confidence, best_cut
        self.thresholds = thresholds
        self.sparse_output = sparse_output
        self._options = options

    def fit(self, X: Texts, y: Any = None) -> Self:  # noqa: N803
        """Train the method; methods that need no gold labels ignore a missing y. Raises TagwrightError.

        ConfigError also for a min_confidence or a best_cut if the tagger estimates no confidences.

        >>> TaggerClassifier(stages=["exact_match"]).fit(["Bees fly."], [["Bees", "Insects"]]).classes_.tolist()
        ['Bees', 'Insects']
        """
        self._suggest_options()  # a wrong one is an error before the training
        texts = _checked_texts(X)
        if y is not None and is_indicator(y):
            _zeros_and_ones(y)
        vocabulary = self._vocabulary(y)
        learns = find_method(self.method).learns
        reads = learns != "nothing" or self.thresholds
        gold = None if y is None or not reads else list(_ids_or_names(y, vocabulary))
        if gold is None and (learns == "labels" or self.thresholds):
            method = f"{self.method}{', with thresholds,' * bool(self.thresholds)}"
            raise ConfigError(f"{method} learns from labels: fit(X, y) needs y, which is None")
        tagger = self._train(texts, vocabulary, None if learns == "nothing" else gold)
        if gold is not None and self.thresholds:
            tagger = self._tune(tagger, list(to_documents(texts, vocabulary.has)), gold)
        tagger.check(self._suggest_options(tagger.estimates_confidence))
        self.tagger_: Tagger = tagger
        self.classes_: NDArray[np.str_] = np.array(vocabulary.ids)
        return self

    def predict(self, X: Texts) -> NDArray[np.int64] | csr_matrix:  # noqa: N803
        """(documents, labels) an indicator matrix: 1 for the labels that the tagger suggests.

        Warns if the boundary of the SVM leaves most documents without a label. Raises ConfigError for a
        min_confidence or a best_cut if the tagger estimates no confidences.

        >>> classifier = TaggerClassifier(labels=["Bees"], stages=["exact_match"]).fit([])
        >>> classifier.predict(["Bees!", "Ants!"]).tolist()
        [[1], [0]]
        """
        check_is_fitted(self, "tagger_")
        options = self._suggest_options(self.tagger_.estimates_confidence)
        run, cuts_at_boundary = self._run(X, options), options.min_score != self.min_score
        if cuts_at_boundary and 2 * np.count_nonzero(np.diff(run.indptr)) < len(run):
            warnings.warn(FEW_LABELS, stacklevel=2)
        return self._indicator(run)

    def predict_proba(self, X: Texts) -> NDArray[np.float64] | csr_matrix:  # noqa: N803
        """(documents, labels) from 0 to 1: the confidences of the first `depth` labels; 0 for all others.

        If the tagger estimates none, scores are squashed: s becomes (1 + s / (1 + |s|)) / 2. These keep their order
        within and across documents, which is enough for measures of ranking, but they are no probabilities.

        >>> classifier = TaggerClassifier(labels=["Bees", "Taxes"], stages=["exact_match"], language="en").fit([])
        >>> (classifier.predict_proba(["Bees fly."]) > 0).tolist()
        [[True, False]]
        """
        run = self._run(X, SuggestOptions(k=self.depth))
        if run.confidences is not None:
            return self._matrix(run, run.confidences.astype(np.float64))
        return self._matrix(run, squash_score(run.scores.astype(np.float64)))

    def decision_function(self, X: Texts) -> NDArray[np.float64] | csr_matrix:  # noqa: N803
        """(documents, labels) the scores of the first `depth` labels minus min_score: above 0 for labels that pass it.

        For the SVM that is the signed distance, as in scikit-learn. The scores of other labels are unknown: a dense
        matrix has the lowest number of float32 there, below all others, and a sparse matrix stores nothing.

        >>> classifier = TaggerClassifier(labels=["Bees", "Taxes"], stages=["exact_match"], language="en").fit([])
        >>> (classifier.decision_function(["Bees fly."]) > 0).tolist()
        [[True, False]]
        """
        run = self._run(X, SuggestOptions(k=self.depth))
        scores = run.scores.astype(np.float64) - (self._min_score_or_boundary or 0.0)
        if self.sparse_output:
            return self._matrix(run, scores)
        matrix = np.full((len(run), len(self.classes_)), float(np.finfo(np.float32).min))
        matrix[run.rows, run.labels] = scores
        return matrix

    def score(self, X: Texts, y: Any, sample_weight: Any = None) -> float:  # noqa: N803
        """The share of documents that get exactly their labels, as in scikit-learn. y: as for `fit`.

        >>> classifier = TaggerClassifier(labels=["Bees", "Taxes"], stages=["exact_match"], language="en").fit([])
        >>> classifier.score(["Bees fly.", "Income"], [["Bees"], ["Taxes"]])
        0.5
        """
        check_is_fitted(self, "tagger_")
        if is_indicator(y):
            y = _zeros_and_ones(y)
        else:
            vocabulary = self.tagger_.vocabulary
            documents = to_documents(_checked_texts(X), vocabulary.has)
            y = self._indicator(vocabulary.gold(with_labels(documents, _ids_or_names(y, vocabulary))))
        return float(super().score(X, y, sample_weight))

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """The arguments of the constructor, the method's options among them.

        >>> TaggerClassifier("rts", temperature=0.1).get_params()["temperature"]
        0.1
        """
        return {**super().get_params(deep), **self._options}

    def set_params(self, **params: Any) -> Self:
        """Change arguments; any other name is an option of the method, checked by `fit`.

        >>> TaggerClassifier("rts").set_params(max_labels=3, temperature=0.1).get_params()["temperature"]
        0.1
        """
        named = {name: value for name, value in params.items() if name in self._get_param_names()}
        super().set_params(**named)
        self._options = {**self._options, **{name: value for name, value in params.items() if name not in named}}
        return self

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.input_tags.two_d_array, tags.input_tags.one_d_array, tags.input_tags.string = False, True, True
        tags.classifier_tags.multi_label = True
        tags.classifier_tags.multi_class = False
        tags.target_tags.required = find_method(self.method).learns == "labels"
        tags.target_tags.multi_output = True
        tags.target_tags.single_output = False
        tags.no_validation = True
        return tags

    def _vocabulary(self, y: Any) -> Vocabulary:
        if self.labels is not None:
            return to_vocabulary(self.labels)
        if y is None:
            raise ConfigError("which labels? give labels=..., or y with their names")
        if hasattr(y, "columns"):  # a table, as of pandas
            return Vocabulary(list(map(str, y.columns)))
        if is_indicator(y):
            raise ConfigError("y is an indicator matrix, which has no names of labels; give labels=[...], one a column")
        return Vocabulary(sorted({name for row in y for name in _names(row)}))

    def _suggest_options(self, estimates_confidence: bool = True) -> SuggestOptions:
        """Return which labels `predict` gives, see the class. estimates_confidence: whether the tagger does."""
        if self.thresholds:
            parse_aim(self.thresholds)
        cuts_by_confidence = self.best_cut or self.thresholds or self.min_confidence is not None
        min_score = self.min_score if cuts_by_confidence else self._min_score_or_boundary
        limits = min_score, self.min_confidence, self.max_labels, self.best_cut, self.thresholds or None
        is_limited = any(limit is not None for limit in limits)
        return SuggestOptions(
            k=self._most_labels if is_limited or estimates_confidence else FIRST,
            min_score=min_score,
            best_cut=not is_limited and estimates_confidence if self.best_cut is None else self.best_cut,
            thresholds=bool(self.thresholds),
            min_confidence=self.min_confidence,
        )

    @property
    def _min_score_or_boundary(self) -> float | None:
        """min_score; if there is none, the boundary for the SVM."""
        return BOUNDARY if self.min_score is None and method_name(self.method) == "svm" else self.min_score

    @property
    def _most_labels(self) -> int:
        """max_labels as an int of Python, without limit for None. Raises ConfigError for other values."""
        most = self.max_labels.item() if isinstance(self.max_labels, np.generic) else self.max_labels
        if most is None:
            return sys.maxsize
        if expected := say_expected(most, AtLeastOne):
            raise ConfigError(f"max_labels is {show(most)}, expected {expected}, or None for any number")
        return int(most)

    def _tune(self, tagger: Tagger, documents: Sequence[Document], gold: list[list[str]]) -> Tagger:
        """Add thresholds, found on each fifth of the documents by a tagger of the others. Equal texts stay together."""
        if not documents:
            raise InputError("thresholds are found on documents, and X has none")
        labels, learns = tagger.vocabulary, find_method(self.method).learns != "nothing"
        folds = assign_folds(len(documents), FOLDS if learns else 1)[text_groups(documents)]
        known, parts = labels.gold(with_labels(documents, gold), unknown="ignore"), list[tuple[Run, Run]]()
        for fold in np.unique(folds):
            part, others = np.flatnonzero(folds == fold), np.flatnonzero(folds != fold)
            taught = [gold[place] for place in others.tolist()]
            other = self._train(take_documents(documents, others), labels, taught) if learns else tagger
            parts.append((other.tag(take_documents(documents, part), self.depth), known.take(part)))
        run, right = (Run.concat(runs) for runs in zip(*parts, strict=True))
        found = Thresholds.fit(run, right, len(labels), parse_aim(self.thresholds))
        return replace(tagger, steps=(*without_thresholds(tagger.steps), found))

    def _train(self, texts: Texts, vocabulary: Vocabulary, gold: list[list[str]] | None) -> Tagger:
        options = {"progress": False, **self._options}
        try:
            if find_method(self.method).learns == "nothing":
                return zero_shot(vocabulary, documents=texts, **options)
            return train(self.method, texts, vocabulary, y=gold, **options)
        except UnknownOptionError as error:
            raise error.among(self._get_param_names()) from None

    def _run(self, X: Texts, options: SuggestOptions) -> Run:  # noqa: N803
        check_is_fitted(self, "tagger_")
        self.tagger_.check(options)
        documents = to_documents(_checked_texts(X), self.tagger_.vocabulary.has)
        return Run.concat([self.tagger_.best(batch, options) for batch in batches(documents)])

    def _indicator(self, run: Run) -> Any:
        return self._matrix(run, np.ones(len(run.labels), np.int64))

    def _matrix(self, run: Run, values: NDArray[Any]) -> Any:
        matrix = csr_matrix((values, run.labels, run.indptr), (len(run), len(self.classes_)))
        matrix.sort_indices()
        return matrix if self.sparse_output else matrix.toarray()


def _checked_texts(X: Any) -> Texts:  # noqa: N803
    """Return X as it is. Raises InputError for a single text, and for rows of numbers."""
    if isinstance(X, str):
        raise InputError("X is one text, expected a list of texts: [text]")
    if getattr(X, "ndim", 1) != 1 and not hasattr(X, "columns"):
        raise InputError(f"X has the shape {X.shape}, expected one column of texts")
    return X  # type: ignore[no-any-return]


def _ids_or_names(y: Any, vocabulary: Vocabulary) -> Iterable[list[str]]:
    """Return the labels of each document. Raises InputError for a matrix with more or fewer columns than labels."""
    if not is_indicator(y):
        return map(_names, y)
    indicator = _zeros_and_ones(y)
    columns, labels = indicator.shape[1], len(vocabulary)
    if columns != labels:
        raise InputError(f"y has {columns} columns for {labels} labels; give one column for each label")
    return [[vocabulary.ids[label] for label in indicator[row].indices] for row in range(indicator.shape[0])]


class IndicatorError(InputError, ValueError):
    """A matrix of labels holds other numbers than 0 and 1; scikit-learn expects a ValueError of its estimators."""


def _zeros_and_ones(y: Any) -> csr_matrix:
    """Return an indicator matrix as sparse, without stored zeros. Raises IndicatorError unless all are 0 and 1."""
    try:
        indicator = csr_matrix(y if issparse(y) else np.asarray(y, dtype=np.float64))
    except ValueError as error:
        raise IndicatorError(f"y is no matrix of numbers ({error}), expected 0 and 1 only") from None
    indicator.eliminate_zeros()
    if (is_other := indicator.data != 1).any():
        place = int(np.argmax(is_other))
        document = int(np.searchsorted(indicator.indptr, place, side="right")) - 1
        raise IndicatorError(
            f"y holds {indicator.data[place]:g} for document {document + 1} and label {indicator.indices[place] + 1}, "
            "expected 0 and 1 only; say what other numbers mean, as in y == 1"
        )
    return indicator


def _names(row: Any) -> list[str]:
    """Return the ids or names of one document's labels; a text alone is one of them."""
    if isinstance(row, Mapping) or not isinstance(row, Iterable):
        raise InputError(f"y has the row {show(row)}, expected the ids or names of a document's labels")
    return [row] if isinstance(row, str) else list(map(str, row))
