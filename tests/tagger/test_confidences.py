"""Confidences that a tagger is given after its training."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from tests.fixed import Fixed

from tagwright.combining.pool import PoolOptions
from tagwright.combining.steps import Step
from tagwright.combining.weighted_sum import AppendLabels, WeightedSum
from tagwright.data.vocabulary import Vocabulary
from tagwright.tagger import Tagger
from tagwright.tagger.confidences import with_confidences
from tagwright.types import Document, Run

LABELS = Vocabulary(["A", "B", "C"])
DOCUMENTS = [Document(str(number), "a text") for number in range(40)]
SUM = WeightedSum(by="ranks", rank_constant=0, weights={"first": 1.0, "after": 0.0})


FOLLOWED = AppendLabels(by="after")


def tagger(*steps: Step) -> Tagger:
    """It suggests A, then B, and, where labels follow the sum, C."""
    retrievers = {"first": Fixed({0: 3.0, 1: 1.0}), "after": Fixed({2: 1.0})}
    return Tagger(LABELS, retrievers, {}, PoolOptions(exclude=("after",)), steps)


@pytest.mark.parametrize("steps", [(SUM,), (SUM, FOLLOWED)], ids=["sum", "followed"])
def test_what_is_always_right_is_sure_and_what_never_is_is_not(steps: tuple[Step, ...]) -> None:
    taught = with_confidences(tagger(*steps), DOCUMENTS, Run.from_rows([{0: 1.0}] * len(DOCUMENTS)))
    confidences = taught.tag(DOCUMENTS[:1]).confidences
    assert confidences is not None
    assert confidences[0] > 0.9
    assert (confidences[1:] < 0.1).all()
    assert len(confidences) == (2 if steps == (SUM,) else 3)


@pytest.mark.parametrize("steps", [(SUM,), (SUM, FOLLOWED)], ids=["sum", "followed"])
def test_with_few_labelled_documents_confidences_are_those_without_labels(steps: tuple[Step, ...]) -> None:
    untaught = with_confidences(tagger(*steps), DOCUMENTS[:5], Run.from_rows([{0: 1.0}] * 5))
    confidences = untaught.tag(DOCUMENTS[:1]).confidences
    assert confidences is not None
    assert (np.diff(confidences) < 0).all()
    many = replace(untaught, steps=tuple(step.with_labels(LABELS, [*LABELS] * 50) for step in untaught.steps))
    assert many.tag(DOCUMENTS[:1]).confidences is not None
