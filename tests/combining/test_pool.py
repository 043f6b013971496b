"""What the stages say of pooled candidates."""

from __future__ import annotations

import numpy as np

from tagwright.data.vocabulary import Vocabulary
from tagwright.papers import svm
from tagwright.stages.names.exact_match import ExactMatch
from tagwright.tagger import Tagger
from tagwright.types import Document, Label

LABELS = Vocabulary([Label("bees", ("Beekeeping",)), Label("ice", ("Glaciers",))])


def test_a_classifier_that_knows_no_word_of_a_text_says_nothing_of_labels_that_others_find() -> None:
    """Three of four documents have the first label: by its constant alone the score is above 1, the boundary."""
    texts = [("ice snow", "ice")] * 10 + [("hive honey", "bees"), ("queen comb", "bees"), ("wax brood", "bees")] * 10
    documents = [Document(str(place), title=text, labels=(label,)) for place, (text, label) in enumerate(texts)]
    classifier = svm.fit(documents, LABELS, svm.Config(workers=1)).retrievers
    pool = Tagger(LABELS, {**classifier, "exact_match": ExactMatch(LABELS)}).candidates(
        [Document("known", title="Beekeeping hive"), Document("unknown", title="Beekeeping beekeeping")]
    )
    stage = classifier["svm"]
    alone = stage.score(pool.readings["svm"], pool.run)
    known = pool.run.rows == 0
    assert (alone[~known] > 1).all()
    assert (pool.scores("svm")[~known] == 0).all()
    assert np.array_equal(pool.scores("svm")[known], alone[known])
    assert np.array_equal(pool.scores_of("svm", pool.run), pool.scores("svm"))
