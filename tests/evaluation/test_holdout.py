"""Whether a trained tagger is better than the zero-shot method, on documents left out of training."""

from __future__ import annotations

import numpy as np

from tagwright import zero_shot
from tagwright.data.vocabulary import Vocabulary
from tagwright.evaluation.holdout import compare_with_untrained, validation_rows, without_rows
from tagwright.tagger import Tagger
from tagwright.types import Document, Run


def by_name(labels: Vocabulary) -> Tagger:
    return zero_shot(labels, stages=["exact_match"], language="en")


def test_a_tagger_is_compared_with_the_untrained_one_over_its_labels() -> None:
    """Both find the label of the first document, and neither that of the second: nDCG@5 is 1 and 0."""
    trained = by_name(Vocabulary(["Bees", "Rain"]))
    documents = [Document("1", "Bees"), Document("2", "Showers")]
    gold = Run.from_rows([[0], [1]])
    assert compare_with_untrained(trained, by_name, documents, gold) == (
        False,
        "nDCG@5 on 2 labelled documents that were not learnt from: 50.0, untrained (zero_shot) 50.0, p = 1",
    )
    _, sentence = compare_with_untrained(trained, by_name, documents, gold, supervised=False)
    assert sentence.startswith("nDCG@5 on 2 labelled documents whose labels were not read: 50.0")


def test_a_worse_tagger_is_reported_with_a_remedy() -> None:
    labels = Vocabulary(["Bees", "Rain"])
    documents = [Document("1", "Bees"), Document("2", "Rain")]
    without_rain = by_name(Vocabulary(["Bees"]))
    worse, sentence = compare_with_untrained(
        without_rain, lambda _: by_name(labels), documents, Run.from_rows([[0], [1]])
    )
    assert worse
    assert sentence.endswith("the untrained method is better here: train zero_shot, or add fuse=True")


def test_the_documents_of_a_check_are_left_out_of_training() -> None:
    gold = Run.from_rows([[0]] * 200 + [[]] * 5)
    rows = validation_rows(gold, supervised=True)
    assert len(rows) == 20
    kept = without_rows(gold, rows)
    assert (len(kept), len(kept.labels)) == (205, 180)
    assert not np.isin(kept.rows, rows).any()
