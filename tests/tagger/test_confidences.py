"""Confidences that a tagger is given after its training."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from tests.fixed import Fixed

from tagwright.combining.combiner import Combiner
from tagwright.combining.pool import PoolOptions
from tagwright.combining.weighted_sum import AppendLabels, AppendOptions, WeightedSum
from tagwright.data.vocabulary import Vocabulary
from tagwright.tagger import Tagger
from tagwright.tagger.confidences import with_confidences
from tagwright.types import Document, Run

LABELS = Vocabulary(["A", "B", "C"])
DOCUMENTS = [Document(str(number), "a text") for number in range(40)]
SUM = WeightedSum(by="ranks", rank_constant=0, weights={"first": 1.0, "after": 0.0})


def tagger(combiner: Combiner) -> Tagger:
    """It suggests A, then B, and, where labels follow the sum, C."""
    retrievers = {"first": Fixed({0: 3.0, 1: 1.0}), "after": Fixed({2: 1.0})}
    return Tagger(LABELS, retrievers, {}, PoolOptions(exclude=("after",)), combiner)


@pytest.mark.parametrize("combiner", [SUM, AppendLabels(SUM, AppendOptions(by="after"))], ids=["sum", "followed"])
def test_what_is_always_right_is_sure_and_what_never_is_is_not(combiner: Combiner) -> None:
    taught = with_confidences(tagger(combiner), DOCUMENTS, Run.from_rows([{0: 1.0}] * len(DOCUMENTS)))
    confidences = taught.tag(DOCUMENTS[:1]).confidences
    assert confidences is not None
    assert confidences[0] > 0.9
    assert (confidences[1:] < 0.1).all()
    assert len(confidences) == (2 if combiner is SUM else 3)


@pytest.mark.parametrize("combiner", [SUM, AppendLabels(SUM, AppendOptions(by="after"))], ids=["sum", "followed"])
def test_with_few_labelled_documents_confidences_are_those_without_labels(combiner: Combiner) -> None:
    untaught = with_confidences(tagger(combiner), DOCUMENTS[:5], Run.from_rows([{0: 1.0}] * 5))
    confidences = untaught.tag(DOCUMENTS[:1]).confidences
    assert confidences is not None
    assert (np.diff(confidences) < 0).all()
    many = replace(untaught, combiner=untaught.combiner.with_labels(LABELS, [*LABELS] * 50))
    assert many.tag(DOCUMENTS[:1]).confidences is not None
