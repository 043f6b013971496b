"""Whatever stages a trained tagger has, the learned combiner has a group of features for each."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from importlib.util import find_spec
from pathlib import Path

import numpy as np
import pytest
from tests.papers.topics import LABELS, TOPICS, encoders

from tagwright.auto import combination
from tagwright.auto.ranker import CombinerOptions
from tagwright.combining.candidate_features import GROUPS
from tagwright.combining.learned_combiner import LearnedCombiner
from tagwright.combining.ranking_trees import BoostingOptions
from tagwright.combining.steps import find_last
from tagwright.papers import futex, svm
from tagwright.tagger import Tagger, zero_shot
from tagwright.tagger.fuse import fuse
from tagwright.training.config import TrainingConfig
from tagwright.types import Document, Section

NAMES = list(TOPICS)
TRAINING = TrainingConfig(batch=8, steps=2, validation=0.0, checkpoint_seconds=0)
ZERO_SHOT = zero_shot.Config(stages=("exact_match", "tfidf"), language="english")
OPTIONS = CombinerOptions(trees=BoostingOptions(trees=10, smallest=5), folds=2, half=10.0)
"half: of 30 documents 3/4 is learned; 1/2 is clearly worse than the sum on some processors, and then nothing is."


def document(number: int) -> Document:
    """One whose title names a topic, and whose text is about another, which is right and named after it."""
    named, right = NAMES[number % 3], NAMES[(number + 1) % 3]
    words = np.random.default_rng(number).choice(TOPICS[right], 12).tolist()
    sections = (Section("Body", 1, (" ".join(words[:6]), f"{' '.join(words[6:])} {right}")),)
    return Document(
        f"d{number}", f"about {named}", f"the {words[0]} of a {right}", sections, {"author": (right,)}, (right,)
    )


DOCUMENTS = [document(number) for number in range(30)]
MISLED = [replace(each, labels=(each.title.removeprefix("about "),)) for each in DOCUMENTS]
"Stages that learn from labels learn what the title names: what they say is wrong."


def of_futex(encoder: str) -> Tagger:
    config = futex.Config(
        encoder=encoder, network="none", meta_path="P-A-P", count=24, min_papers=1, shortest=2, training=TRAINING
    )
    return futex.fit(DOCUMENTS, LABELS, config)


def of_svm(encoder: str) -> Tagger:
    return fuse(zero_shot.fit(LABELS, ZERO_SHOT), svm.fit(MISLED, LABELS))


MAKERS: dict[str, tuple[Callable[[str], Tagger], str]] = {
    "futex": (of_futex, "classifier"),
    "svm": (of_svm, "svm"),
}


@pytest.fixture(scope="module")
def encoder(tmp_path_factory: pytest.TempPathFactory) -> str:
    return encoders(tmp_path_factory.mktemp("encoders"))["static"]


@pytest.mark.parametrize("method", MAKERS)
def test_every_stage_of_a_trained_tagger_is_a_group_of_features(method: str, encoder: str, tmp_path: Path) -> None:
    make, stage = MAKERS[method]
    if method == "futex" and find_spec("omikuji") is None:  # imported here, it would print into this process
        pytest.skip("omikuji is not installed")
    tagger = make(encoder)
    assert stage in tagger.stages
    tagger = combination.fit(DOCUMENTS, tagger, OPTIONS)[0]
    learned = find_last(tagger.steps, LearnedCombiner)
    assert learned, "what is named after the title is right: the sum does not know"
    groups = {name.partition(": ")[0] for name in learned.ranker.names}
    assert groups | {"neighbours"} == {*tagger.stages, *GROUPS}  # neighbours: where a stage has vectors of documents
    tagger.save(tmp_path / "tagger")
    before, after = tagger.tag(DOCUMENTS, k=1), Tagger.load(tmp_path / "tagger").tag(DOCUMENTS, k=1)
    assert (before.labels == after.labels).mean() > 0.9
