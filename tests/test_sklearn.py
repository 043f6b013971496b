"""The classifier where scikit-learn puts one: cloned, in a pipeline, searched, cross-validated, checked."""

from __future__ import annotations

import pickle
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy.sparse import csr_matrix, issparse
from sklearn.base import clone, is_classifier
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer, MultiLabelBinarizer
from sklearn.utils import estimator_checks
from tests.tiny import tiny_encoder
from tests.unsure import without_confidences

import tagwright as tw
from tagwright import sklearn
from tagwright.errors import InputError
from tagwright.readers.documents.in_memory import with_labels
from tagwright.sklearn import TaggerClassifier

NAMES = ["Bees", "Orchards", "Tax law"]
TEXTS = ["Honey bees visit apple orchards.", "A new tax law.", "Bees!", "Trees in orchards."] * 4
Y = [["Bees", "Orchards"], ["Tax law"], ["Bees"], ["Orchards"]] * 4
WORDS: dict[str, Any] = {"stages": ["exact_match"], "language": "english"}


def indicator() -> Any:
    return MultiLabelBinarizer(classes=NAMES).fit_transform(Y)


def test_zero_shot_predicts_what_the_tagger_suggests() -> None:
    classifier = TaggerClassifier(labels=NAMES, **WORDS).fit(TEXTS)
    tagger = classifier.tagger_ = without_confidences(classifier.tagger_)
    predicted, probable = classifier.predict(TEXTS), classifier.predict_proba(TEXTS)
    for row, suggested in enumerate(tagger.suggest(TEXTS, k=5)):
        assert [classifier.classes_[i] for i in np.flatnonzero(predicted[row])] == sorted(each.id for each in suggested)
        ranked = probable[row]
        assert all(ranked[NAMES.index(each.id)] == pytest.approx(_squashed(each.score)) for each in suggested)
    np.testing.assert_array_equal(predicted, indicator())


def _squashed(score: float) -> float:
    return (1 + score / (1 + abs(score))) / 2


def test_probabilities_are_confidences_where_they_are_estimated(tmp_path: Path) -> None:
    options: dict[str, Any] = {"encoder": str(tiny_encoder(tmp_path / "tiny")), "language": "english"}
    names = [*NAMES, *(f"Stone {number}" for number in range(100))]
    probable = TaggerClassifier(labels=names, depth=5, **options).fit(TEXTS).predict_proba(TEXTS)
    for row, suggested in enumerate(tw.zero_shot(names, **options).suggest(TEXTS, k=5)):
        found = {names[label]: probable[row][label] for label in np.flatnonzero(probable[row])}
        assert found == pytest.approx({each.name: each.confidence for each in suggested})


@pytest.mark.parametrize("form", [np.asarray, csr_matrix, lambda _: Y, lambda _: np.array(Y, object)])
def test_y_is_an_indicator_or_lists(form: Callable[[Any], Any]) -> None:
    classifier = TaggerClassifier("svm", labels=NAMES, max_labels=1).fit(TEXTS, form(indicator()))
    assert classifier.predict(["A law of tax"]).tolist() == [[0, 0, 1]]


def test_an_svm_predicts_the_labels_on_the_right_side_of_its_boundary() -> None:
    classifier = TaggerClassifier("svm", labels=NAMES).fit(TEXTS, indicator())
    np.testing.assert_array_equal(classifier.predict(TEXTS), indicator())  # and not each label for each document
    assert classifier.set_params(min_score=0).predict(["A law of tax"]).tolist() == [[1, 1, 1]]


@pytest.mark.parametrize("rule", [{"best_cut": True}, {"min_confidence": 0.0}, {"min_confidence": 1e-9}])
def test_a_cut_by_confidence_takes_the_place_of_the_boundary_of_the_svm(rule: dict[str, Any]) -> None:
    classifier = TaggerClassifier("svm", labels=NAMES).fit(TEXTS, indicator())
    text = ["Law of trees and bees"]  # nearest to none of them
    with pytest.warns(UserWarning, match="most documents get no label: .*boundary of the SVM.*best_cut=True"):
        assert classifier.predict(text).sum() == 0
    assert classifier.set_params(**rule).predict(text).sum() >= 1
    np.testing.assert_array_equal(classifier.decision_function(TEXTS) > 0, indicator() > 0)
    assert classifier.set_params(min_score=1e9).predict(text).sum() == 0  # which is what was asked for


def test_no_most_number_of_labels_gives_all_that_are_found() -> None:
    names = [f"Stone {letter}" for letter in "ABCDEFGH"]
    classifier = TaggerClassifier(labels=names, best_cut=False, **WORDS).fit([])
    text = [", ".join(names)]
    assert [classifier.set_params(max_labels=most).predict(text).sum() for most in (2, None)] == [2, 8]
    assert classifier.set_params(max_labels=np.int64(3)).predict(text).sum() == 3


def test_without_a_cut_the_confidences_say_how_many_labels_a_document_gets(tmp_path: Path) -> None:
    names = [*NAMES, *(f"Stone {number}" for number in range(100))]
    encoder = str(tiny_encoder(tmp_path / "tiny"))
    classifier = TaggerClassifier(labels=names, encoder=encoder, language="english").fit([])
    found = classifier.predict(TEXTS)
    suggested = classifier.tagger_.suggest(TEXTS, k=len(names), best_cut=True)
    assert [[names[place] for place in np.flatnonzero(row)] for row in found] == [
        sorted((each.name for each in row), key=names.index) for row in suggested
    ]
    np.testing.assert_array_equal(classifier.set_params(max_labels=5).predict(TEXTS).sum(axis=1), 5)  # as until 0.10


def test_a_score_takes_the_labels_that_fit_takes() -> None:
    classifier = TaggerClassifier(labels=NAMES, **WORDS).fit(TEXTS)
    assert classifier.score(TEXTS, indicator()) == classifier.score(TEXTS, Y) == 1
    assert classifier.score(TEXTS[:2], [["Bees"], ["Tax law"]]) == 0.5


def test_decisions_above_zero_are_what_is_predicted() -> None:
    svm = TaggerClassifier("svm", labels=NAMES).fit(TEXTS, indicator())
    np.testing.assert_array_equal(svm.decision_function(TEXTS) > 0, indicator() > 0)
    by_score = TaggerClassifier(labels=NAMES, min_score=0.5, **WORDS).fit(TEXTS)
    np.testing.assert_array_equal(by_score.decision_function(TEXTS) > 0, by_score.predict(TEXTS) > 0)


def test_decisions_are_scores_and_the_lowest_number_where_there_is_none() -> None:
    classifier = TaggerClassifier(labels=NAMES, **WORDS).fit(TEXTS)
    text = "Nothing of it but bees."
    (row,) = classifier.decision_function([text])
    (best,) = classifier.tagger_.suggest(text)
    assert row[NAMES.index("Bees")] == pytest.approx(best.score)
    assert {*row} - {row[NAMES.index("Bees")]} == {float(np.finfo(np.float32).min)}
    sparse: Any = classifier.set_params(sparse_output=True).decision_function([text])
    assert (sparse.nnz, sparse[0, NAMES.index("Bees")]) == (1, pytest.approx(best.score))


def test_labels_may_be_those_of_y() -> None:
    pandas = pytest.importorskip("pandas")
    assert TaggerClassifier(**WORDS).fit(TEXTS, Y).classes_.tolist() == NAMES
    assert TaggerClassifier(**WORDS).fit(TEXTS[:2], np.array([["Bees"], ["Tax law"]])).classes_.tolist() == [
        "Bees",
        "Tax law",
    ]
    frame = pandas.DataFrame(indicator(), columns=NAMES)
    assert TaggerClassifier(**WORDS).fit(pandas.Series(TEXTS), frame).classes_.tolist() == NAMES


@pytest.mark.parametrize(
    ("classifier", "x", "y", "message"),
    [
        (TaggerClassifier(), TEXTS, None, "which labels"),
        (TaggerClassifier(), TEXTS, indicator(), "no names of labels"),
        (TaggerClassifier(labels=["Bees"]), "one text", None, "X is one text"),
        (TaggerClassifier(labels=["Bees"]), np.zeros((2, 3)), None, r"X has the shape \(2, 3\)"),
        (TaggerClassifier("svm", labels=["Bees"]), TEXTS, None, "svm learns from labels"),
        (TaggerClassifier("svm", labels=["Bees"], max_labels=0), TEXTS, Y, "max_labels is 0, expected at least 1, or"),
        (TaggerClassifier("svm", labels=["Bees"], thresholds="recall"), TEXTS, Y, "expected f1, or a precision"),
        (
            TaggerClassifier(labels=["Bees"], thresholds=True),
            TEXTS,
            None,
            "zero_shot, with thresholds, learns from labels",
        ),
        (TaggerClassifier(labels=["Bees"], thresholds=True), [], [], "found on documents, and X has none"),
        (TaggerClassifier("svm", labels=["Bees"], C=1), TEXTS, Y, 'unknown option "C"; did you mean "cost"?'),
        (TaggerClassifier("svm", labels=["Bees"]), TEXTS, indicator(), "3 columns for 1 labels"),
        (TaggerClassifier("svm", labels=["Bees"]), TEXTS, [1] * 16, "expected the ids or names"),
        (TaggerClassifier(labels=["Bees"], magic=1), TEXTS, None, 'unknown option "magic"'),
    ],
)
def test_what_does_not_fit_is_refused(classifier: TaggerClassifier, x: Any, y: Any, message: str) -> None:
    with pytest.raises(tw.TagwrightError, match=message):
        classifier.fit(x, y)


def test_parameters_are_those_of_the_constructor_and_the_method() -> None:
    classifier = TaggerClassifier("rts", NAMES, max_labels=3, temperature=0.1)
    rules: dict[str, Any] = {
        "max_labels": 3,
        "min_score": None,
        "min_confidence": None,
        "best_cut": None,
        "thresholds": False,
        "sparse_output": False,
    }
    given = {"method": "rts", "labels": NAMES, **rules, "depth": 100, "temperature": 0.1}
    assert classifier.get_params() == given
    assert clone(classifier).get_params() == given
    assert clone(classifier).set_params(temperature=0.2, max_labels=1).get_params() == {
        **given,
        "max_labels": 1,
        "temperature": 0.2,
    }
    assert classifier.get_params() == given
    assert "temperature=0.1" in repr(classifier)
    assert is_classifier(classifier)


def test_it_is_the_end_of_a_pipeline_and_is_cross_validated() -> None:
    # every label is named in its documents, so every fold is predicted without an error
    lower = FunctionTransformer(lambda texts: [text.lower() for text in texts])
    pipeline = make_pipeline(lower, TaggerClassifier(labels=NAMES, **WORDS))
    assert cross_val_score(pipeline, TEXTS, indicator(), cv=2, scoring="f1_micro").tolist() == [1.0, 1.0]
    assert cross_val_score(pipeline, TEXTS, indicator(), cv=2).tolist() == [1.0, 1.0]


def test_it_is_pickled_fitted_and_not() -> None:
    classifier = TaggerClassifier(labels=NAMES, **WORDS)
    assert pickle.loads(pickle.dumps(classifier)).get_params() == classifier.get_params()
    other = pickle.loads(pickle.dumps(classifier.fit(TEXTS)))
    np.testing.assert_array_equal(other.predict(TEXTS), indicator())


def test_a_grid_finds_the_better_parameter() -> None:
    # no document has all three labels, which is what the SVM predicts where every score is enough
    search = GridSearchCV(TaggerClassifier("svm", labels=NAMES), {"min_score": [-1.0, 1.0]}, cv=2)
    search.fit(TEXTS, indicator())
    assert search.best_params_["min_score"] == 1
    named = GridSearchCV(
        TaggerClassifier(labels=NAMES, **WORDS), {"max_labels": [1, 2], "candidates": np.array([50])}, cv=2
    )
    assert named.fit(TEXTS, indicator()).best_params_ == {"max_labels": 2, "candidates": 50}


def test_sparse_matrices_hold_the_same() -> None:
    dense = TaggerClassifier(labels=NAMES, **WORDS).fit(TEXTS)
    sparse = clone(dense).set_params(sparse_output=True).fit(TEXTS)
    for method in ("predict", "predict_proba"):
        found = getattr(sparse, method)(TEXTS)
        assert issparse(found)
        np.testing.assert_array_equal(found.toarray(), getattr(dense, method)(TEXTS))


def test_thresholds_are_found_by_taggers_of_other_documents(monkeypatch: pytest.MonkeyPatch) -> None:
    trained = list[Any]()

    def train(method: str, documents: Any, labels: Any, y: Any, **options: Any) -> tw.Tagger:
        trained.append({document if isinstance(document, str) else document.text for document in documents})
        return tw.train(method, documents, labels, y=y, **options)

    monkeypatch.setattr(sklearn, "train", train)
    texts = [f"{text} {number}" for number, text in enumerate(TEXTS)]
    classifier = TaggerClassifier("svm", NAMES, thresholds=True).fit(texts, indicator())
    everything, *parts = trained
    assert everything == set(texts)
    assert sorted(text for part in parts for text in everything - part) == sorted(texts)  # each is left out once
    np.testing.assert_array_equal(classifier.predict(TEXTS), indicator())
    assert classifier.tagger_.suggest(TEXTS[0], thresholds=True)


def test_a_method_that_reads_no_labels_is_made_once_for_its_thresholds(monkeypatch: pytest.MonkeyPatch) -> None:
    made = list[Any]()

    def zero_shot(*given: Any, **options: Any) -> tw.Tagger:
        made.append(given)
        return tw.zero_shot(*given, **options)

    monkeypatch.setattr(sklearn, "zero_shot", zero_shot)
    classifier = TaggerClassifier(labels=NAMES, thresholds="precision=1.0", **WORDS).fit(TEXTS, Y)
    assert len(made) == 1
    np.testing.assert_array_equal(classifier.predict(TEXTS), indicator())  # each label is named where it is right


@pytest.mark.usefixtures("quick_auto")
@pytest.mark.parametrize("method", ["zero_shot", "svm", "auto"])
def test_a_search_over_confidences_with_three_labels(method: str) -> None:
    options: dict[str, Any] = {"minutes": 100.0, "stages": ["exact_match", "tfidf"]} if method == "auto" else {}
    options |= WORDS if method == "zero_shot" else {}
    classifier, grid = TaggerClassifier(method, NAMES, max_labels=3, **options), {"min_confidence": [0.0, 0.3, 1.0]}
    search = GridSearchCV(classifier, grid, cv=2, scoring="f1_micro", error_score="raise")
    search.fit([f"{text} {number}" for number, text in enumerate(TEXTS)], indicator())
    assert search.best_params_["min_confidence"] < 1  # nothing is as sure
    assert search.best_score_ > 0.6


@pytest.mark.parametrize(
    "check",
    [
        "estimator_cloneable", "estimator_repr", "no_attributes_set_in_init", "mixin_order", "estimators_unfitted",
        "do_not_raise_errors_in_init_or_set_params", "valid_tag_types", "get_params_invariance", "set_params",
        "parameters_default_constructible", "estimator_tags_renamed",
    ],
)  # fmt: skip
@pytest.mark.filterwarnings("ignore")
def test_the_checks_of_scikit_learn_that_fit_no_numbers_hold(check: str) -> None:
    getattr(estimator_checks, f"check_{check}")("TaggerClassifier", TaggerClassifier(labels=NAMES, **WORDS))


def test_what_the_others_would_check_holds_for_texts() -> None:
    classifier = TaggerClassifier("svm", labels=NAMES, max_labels=1)
    assert classifier.fit(TEXTS, indicator()) is classifier
    before, first = dict(vars(classifier)), classifier.predict_proba(TEXTS)
    assert vars(classifier) == before
    backwards = classifier.predict_proba(TEXTS[::-1])[::-1]
    np.testing.assert_allclose(backwards, first, rtol=1e-6)
    np.testing.assert_allclose(classifier.fit(TEXTS, indicator()).predict_proba(TEXTS), first, rtol=1e-6)


@pytest.mark.parametrize("kind", ["array", "table", "sparse"])
@pytest.mark.parametrize("other", [-1, 2, 0.5, np.nan])
def test_an_indicator_matrix_holds_zeros_and_ones(kind: str, other: float) -> None:
    """-1 may mean absent or unknown: it is refused, where scikit-learn refuses it and where it would take it."""
    texts, names = ["Bees make honey.", "The tax on income."] * 4, ["Bees", "Taxes"]
    right = np.array([[1, 0], [0, 1]] * 4, float)
    wrong = right.copy()
    wrong[5, 0] = other

    def of_kind(y: Any) -> Any:
        return {"array": np.asarray, "table": pytest.importorskip("pandas").DataFrame, "sparse": csr_matrix}[kind](y)

    for method, options in (("svm", {}), ("zero_shot", WORDS)):
        classifier = TaggerClassifier(method, labels=names, **options)
        with pytest.raises(ValueError, match=r"for document 6 and label 1, expected 0 and 1 only"):
            classifier.fit(texts, of_kind(wrong))
    with pytest.raises(InputError, match="for document 6 and label 1"):
        classifier.fit(texts, of_kind(right)).score(texts, of_kind(wrong))


@pytest.mark.parametrize(
    "form", [lambda y: y.tolist(), lambda y: y.astype(bool).tolist(), lambda y: y.astype(str), list]
)
def test_rows_of_zeros_and_ones_are_an_indicator_however_they_are_held(form: Callable[[Any], Any]) -> None:
    """As in scikit-learn, lists of lists too: they are not documents with the labels "0" and "1"."""
    classifier = TaggerClassifier("svm", labels=NAMES).fit(TEXTS, form(indicator()))
    np.testing.assert_array_equal(classifier.predict(TEXTS), indicator())
    assert classifier.score(TEXTS, form(indicator())) == 1
    with pytest.raises(Exception, match="indicator matrix, which has no names"):
        TaggerClassifier("svm").fit(TEXTS, form(indicator()))
    with pytest.raises(InputError, match="y is a matrix of numbers"):
        list(with_labels([], form(indicator())))


@pytest.mark.parametrize(
    "wrong", [[[1, -1], [-1, 1]], [[0.5, 0.2], [0.1, 0.9]], np.array([["yes", "no"], ["no", "yes"]], object)]
)
def test_other_marks_than_zero_and_one_are_refused_however_they_are_held(wrong: Any) -> None:
    rows = pytest.importorskip("pandas").DataFrame(wrong) if isinstance(wrong, np.ndarray) else wrong
    with pytest.raises(ValueError, match="expected 0 and 1 only"):
        TaggerClassifier("svm", labels=["Bees", "Taxes"]).fit(["Bees make honey.", "The tax on income."], rows)
