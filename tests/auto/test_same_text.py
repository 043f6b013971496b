"""The same text under two ids is one document wherever documents are split, and evidence only once."""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence
from dataclasses import replace

import numpy as np
import pytest

from tagwright import auto
from tagwright.api.job import NO_ROWS, Job
from tagwright.auto import combination
from tagwright.auto.out_of_fold import Folds
from tagwright.auto.recipe import Data
from tagwright.combining.confidence import Curve
from tagwright.combining.label_free import LabelFree
from tagwright.combining.none_fits import NoneFits
from tagwright.combining.steps import Step
from tagwright.combining.weighted_sum import WeightedSum
from tagwright.core.steps import Steps
from tagwright.data.bags import BagOfWords
from tagwright.data.corpus import text_groups
from tagwright.data.vocabulary import Vocabulary
from tagwright.evaluation.description import Survey
from tagwright.evaluation.holdout import validation_rows
from tagwright.papers import rts, svm
from tagwright.stages.linear.svm import SvmOptions, out_of_fold, train_linear
from tagwright.stages.names.exact_match import ExactMatch
from tagwright.tagger import Tagger
from tagwright.types import Document, Label

pytestmark = pytest.mark.usefixtures("quick_auto")

WORDS = [f"{start}{end}" for start in ("ba", "de", "fi", "go", "ku", "la") for end in ("rin", "tol", "ven", "sar")]
NAMES = [f"label{number}" for number in range(40)]
LABELS = Vocabulary([Label(name, (name,)) for name in NAMES])
CONFIG = auto.Config(stages=("exact_match", "tfidf"), language="english")


def random_document(number: int) -> Document:
    """A text that tells nothing of its label, which stands in no text."""
    rng = np.random.default_rng(number)
    words = " ".join(rng.choice(WORDS, 12))
    return Document(f"d{number}", title=words, labels=(NAMES[int(rng.integers(len(NAMES)))],))


def copy(document: Document) -> Document:
    """The text in other case and white space, under another id."""
    return replace(document, id=f"{document.id}-2", title="", abstract=f" {document.title.upper()}".replace(" ", "\n "))


TEXTS = [random_document(number) for number in range(60)]
TWICE = [*TEXTS, *map(copy, TEXTS)]
NEW = [random_document(number) for number in range(1000, 1040)]


def by_auto(documents: Sequence[Document]) -> tuple[Tagger, float]:
    tagger = auto.fit(documents, LABELS, CONFIG)
    return tagger, max(tagger.training["auto"]["nDCG@5"].values())


def by_svm(documents: Sequence[Document]) -> tuple[Tagger, float]:
    return svm.fit(documents, LABELS), 0.0


@pytest.mark.parametrize("fit", [by_auto, by_svm])
def test_of_random_labels_nothing_is_learned_from_copies(fit: Callable[..., tuple[Tagger, float]]) -> None:
    """Each of 40 labels is right once in 40: by chance nDCG@5 is 2.95 / 40, .07; sure would be wrong."""
    tagger, measured = fit(TWICE)
    assert measured < 0.2
    run = tagger.tag(NEW, k=1)
    assert run.confidences is not None
    assert run.confidences.mean() < 0.3


def test_a_combiner_over_a_tagger_learns_from_each_text_once() -> None:
    _, fitted = combination.fit(TWICE, Tagger(LABELS, {"svm": train_linear(TWICE, LABELS, LABELS.gold(TWICE))}))
    assert fitted
    assert len(fitted.measured) == 60


def test_how_many_copies_there_are_is_said_in_one_line(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO, "tagwright")
    by_auto(TWICE)
    said = [record.getMessage() for record in caplog.records if "text of another" in record.getMessage()]
    assert said == [
        '60 labelled documents with the text of another (first: "d0" and "d0-2"): measured on each text once'
    ]
    by_auto(TEXTS)
    assert caplog.text.count("text of another") == 1


def test_forty_documents_with_one_text_are_one_labelled_document(caplog: pytest.LogCaptureFixture) -> None:
    same = [replace(TEXTS[0], id=f"e{number}") for number in range(40)]
    tagger = auto.fit(same, LABELS, CONFIG)
    assert tagger.training["auto"]["kept"] == "zero_shot"
    assert "none of the 40 labelled documents was used, without the combiner: from 2 labelled" in caplog.text


def test_a_stage_that_scores_a_document_has_not_learned_from_its_copy() -> None:
    folds = Folds(TWICE, LABELS, LABELS.gold(TWICE), np.arange(60))
    for part, held in enumerate(folds.parts):
        left = folds._others(part)
        assert not {*held.tolist(), *(held + 60).tolist()} & {*left.tolist()}
        assert len(left) == 120 - 2 * len(held)


def test_texts_that_rts_reads_are_none_that_the_combiner_learns_from() -> None:
    unlabelled = [replace(copy(each), labels=()) for each in TEXTS] + [replace(each, labels=()) for each in NEW]
    documents = [*TEXTS, *unlabelled]
    data = Data.of(documents, LABELS, LABELS.gold(documents), None, auto.Config(), Steps())
    assert [each.id for each in data.unread] == [each.id for each in NEW]


def test_an_svm_is_scored_on_each_text_once_without_its_copy() -> None:
    bag = BagOfWords.of(each.text for each in TWICE)
    gold, texts = LABELS.gold(TWICE), text_groups(TWICE)
    stage = train_linear(TWICE, LABELS, gold)
    run, rows = out_of_fold(bag.transform(each.text for each in TWICE), gold, texts, stage, SvmOptions(workers=1))
    assert sorted(texts[rows].tolist()) == list(range(60))
    right = gold.take(rows).scores_of(run.top(1)) > 0
    assert right.mean() < 0.2


@pytest.mark.parametrize(("documents", "count"), [(TWICE, 60), (TEXTS, 60), ([*TEXTS, *TEXTS[:1] * 9], 60)])
def test_a_validation_draws_no_text_twice(documents: list[Document], count: int) -> None:
    documents = [replace(each, id=str(place)) for place, each in enumerate(documents)]
    gold = LABELS.gold(documents)
    rows = validation_rows(gold, documents, supervised=False)
    assert len(rows) == len({documents[row].text.casefold().strip() for row in rows.tolist()}) == count


@pytest.mark.parametrize(("documents", "learned"), [([*TWICE[:19], *TWICE[60:79]], LabelFree), (TEXTS[:20], Curve)])
def test_confidences_are_learned_from_twenty_texts_not_from_copies(
    documents: list[Document], learned: type[Step]
) -> None:
    labels = Vocabulary([Label(word, (word,)) for word in WORDS])
    named = [replace(each, labels=(each.text.split()[0].lower(),)) for each in documents]
    job, gold = Job(method="rts", config=rts.Config(), documents=named, labels=labels), labels.gold(named)
    tagger = job._confident(Tagger(labels, {"exact_match": ExactMatch(labels)}), named, {}, gold, NO_ROWS)
    assert [type(step) for step in tagger.steps] == [WeightedSum, learned, NoneFits]


def test_copies_are_found_whatever_their_case_and_documents_without_text_are_no_copies() -> None:
    assert text_groups([*TWICE[58:62], Document("e"), Document("f")]).tolist() == [0, 1, 2, 3, 4, 5]
    assert text_groups([TEXTS[3], copy(TEXTS[3]), Document("e", labels=("label1",))]).tolist() == [0, 0, 2]
    survey = Survey()
    for each in (TEXTS[3], copy(TEXTS[3])):
        survey.add(each)
    assert survey.duplicates == [("d3", "d3-2")]
