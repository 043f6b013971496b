from __future__ import annotations

import logging
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any
from unittest.mock import Mock

import numpy as np
import pytest
import torch
from tests.papers.topics import DOCUMENTS, GOLD, LABELS, UNSEEN, right, trained

from tagwright.api.options import configuration
from tagwright.core.steps import NAME, Steps
from tagwright.errors import ConfigError
from tagwright.papers import depl
from tagwright.papers import svm as linear
from tagwright.papers.descriptions import DescriptionRetriever
from tagwright.papers.label_objectives import DualEncoder
from tagwright.stages.linear.svm import SvmOptions, train_linear
from tagwright.tagger import Tagger, zero_shot
from tagwright.training.batching import is_validation
from tagwright.training.config import TrainingConfig
from tagwright.types import Document, Pair, Run

pytestmark = pytest.mark.usefixtures("one_thread")

TRAIN = [replace(document, title="") for document in DOCUMENTS]
"Their text has the name of the topic too; that of UNSEEN has not."

TRAINING = TrainingConfig(batch=15, epochs=30, learning_rate=0.02)
QUICK = depl.Config(training=TRAINING)


SUPERVISED = ("svm", "classifier", "de_ret", "depl", "depl_cls")


def fitted(method: str, documents: Sequence[Document], encoder: str) -> Tagger:
    """The tagger of a supervised method."""
    if method == "svm":
        return linear.fit(documents, LABELS)
    config = depl.Config(encoder=encoder, training=TRAINING, variant=method)  # type: ignore[arg-type]
    return depl.fit(documents, LABELS, config)


@pytest.fixture(scope="module")
def svm() -> Tagger:
    return linear.fit(TRAIN, LABELS)


def dual(tagger: Tagger) -> DescriptionRetriever:
    (stage,) = tagger.stages.values()
    assert isinstance(stage, DescriptionRetriever)
    return stage


@pytest.mark.parametrize("method", SUPERVISED)
def test_each_method_learns_what_the_labels_are_about(method: str, encoder: dict[str, str]) -> None:
    assert right(fitted(method, TRAIN, encoder["static"])) >= 27


@pytest.mark.slow
def test_a_transformer_learns_it_too(encoder: dict[str, str], svm: Tagger) -> None:
    config = trained(replace(QUICK, encoder=encoder["transformer"]), learning_rate=0.005)
    assert right(depl.fit(TRAIN, LABELS, config, svm=svm)) >= 27
    by_cls = depl.fit(TRAIN, LABELS, trained(replace(config, label_pooling="cls"), steps=1), svm=svm)
    by_mean = depl.fit(TRAIN, LABELS, trained(config, steps=1), svm=svm)
    assert np.abs(dual(by_cls).search.vectors.codes - dual(by_mean).search.vectors.codes).max() > 1e-2  # type: ignore[union-attr]


@pytest.mark.slow
def test_vectors_of_any_length_teach_it_too(encoder: dict[str, str], svm: Tagger, tmp_path: Path) -> None:
    # at 0.005 and more it depends on rounding whether drawn poolers settle; at 0.002, 60 epochs are too few
    config = trained(
        replace(QUICK, encoder=encoder["transformer"], unit_vectors=False), learning_rate=0.002, epochs=120
    )
    tagger = depl.fit(TRAIN, LABELS, config, svm=svm)
    assert right(tagger) >= 27
    tagger.save(tmp_path / "tagger")
    assert right(Tagger.load(tmp_path / "tagger")) == right(tagger)


def test_the_svm_that_writes_keywords_and_finds_hard_negatives_has_the_loss_of_its_options(
    encoder: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    recorded = Mock(wraps=train_linear)
    monkeypatch.setattr(depl, "train_linear", recorded)
    hinge = SvmOptions(loss="hinge", prune=0.0)
    depl.fit(TRAIN, LABELS, trained(replace(QUICK, encoder=encoder["static"], svm=hinge), steps=1))
    assert recorded.call_args.kwargs["options"] == hinge
    assert configuration("depl", {"svm": {"loss": "hinge"}}).svm == SvmOptions(loss="hinge")


def test_keywords_are_the_words_of_the_topic(svm: Tagger) -> None:
    words = depl.keywords_of(svm, 3)
    assert {"market", "stock", "money", "bank"} >= set(words["bank"]) > set()
    assert {"river", "water", "rain", "stone"} >= set(words["stone"]) > set()
    assert words["10"] == ()
    with pytest.raises(ConfigError, match="expected one called svm"):
        depl.keywords_of(zero_shot.fit(LABELS, zero_shot.Config(stages=("exact_match",), weights=(1.0,))), 3)


def test_what_stands_in_edited_keywords_is_what_is_learnt_from(encoder: dict[str, str], svm: Tagger) -> None:
    swapped = {"wasp": ["river", "rain"], "bank": ["bee", "honey"], "stone": ["market", "money"]}
    config = trained(replace(QUICK, encoder=encoder["static"], hard_negatives=0), steps=1)
    tagger = depl.fit(TRAIN, LABELS, config, keywords=swapped)
    assert dual(tagger).label_texts(LABELS[:3]) == ["wasp. river rain", "bank. bee honey", "stone. market money"]


class Stop(Exception):  # noqa: N818
    pass


def test_a_run_that_was_killed_in_either_stage_and_resumed_ends_with_the_same_vectors(
    encoder: dict[str, str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    config = trained(
        depl.Config(variant="depl_cls", training=TRAINING, encoder=encoder["static"]),
        epochs=None,
        steps=8,
        checkpoint_seconds=0,
    )
    (tmp_path / "whole").mkdir()
    (tmp_path / "stopped").mkdir()
    whole = dual(depl.fit(TRAIN, LABELS, config, Steps(tmp_path / "whole")))
    assert {path.name for path in (tmp_path / "whole").iterdir()} >= {"classifier", "dual"}
    original, steps = DualEncoder.loss, 0

    def stopping(objective: DualEncoder, views: Sequence[torch.Tensor], groups: torch.Tensor) -> torch.Tensor:
        nonlocal steps
        steps += 1
        if steps in (4, 14):  # in the fourth step of the classifier, then in the sixth of the dual encoder
            raise Stop
        return original(objective, views, groups)

    monkeypatch.setattr(DualEncoder, "loss", stopping)
    for _ in range(2):
        with pytest.raises(Stop):
            depl.fit(TRAIN, LABELS, config, Steps(tmp_path / "stopped", resume=True))
    assert (tmp_path / "stopped" / "dual" / NAME).is_file()
    resumed = dual(depl.fit(TRAIN, LABELS, config, Steps(tmp_path / "stopped", resume=True)))
    assert whole.search
    assert resumed.search
    assert whole.weights
    assert resumed.weights
    assert (whole.search.vectors.codes == resumed.search.vectors.codes).all()
    assert (whole.weights.vectors.codes == resumed.weights.vectors.codes).all()


def test_a_trained_classifier_can_be_given_and_is_what_is_gone_on_from(encoder: dict[str, str], svm: Tagger) -> None:
    classifier = fitted("classifier", TRAIN, encoder["static"])
    # Nothing is trained, but for one step at a rate of next to nothing.
    config = trained(
        depl.Config(variant="depl_cls", training=TRAINING, encoder=encoder["static"]), steps=1, learning_rate=1e-9
    )
    given, alone = dual(depl.fit(TRAIN, LABELS, config, svm=svm, classifier=classifier)), dual(classifier)
    documents = [document.text for document in UNSEEN]
    np.testing.assert_allclose(given.documents.encode_raw(documents), alone.documents.encode_raw(documents), atol=1e-5)
    everything = Run.from_rows([range(3)] * 30)
    assert given.weights is not None
    assert alone.weights is not None
    assert given.weights.labels.tolist() == alone.weights.labels.tolist() == [0, 1, 2]
    np.testing.assert_allclose(given.weights.vectors.codes, alone.weights.vectors.codes, atol=1e-3)
    by_text = depl.Config(encoder=encoder["static"], training=config.training, trained_start=False)
    fresh = depl.fit(TRAIN, LABELS, by_text, svm=svm)
    untrained = dual(fresh)
    assert not np.allclose(
        untrained.score(untrained.read(UNSEEN), everything), given.score(given.read(UNSEEN), everything), atol=0.1
    )
    with pytest.raises(ConfigError, match="expected one called classifier"):
        depl.fit(TRAIN, LABELS, config, svm=svm, classifier=svm)


def test_documents_without_labels_and_labels_without_documents_are_said_and_done_without(
    encoder: dict[str, str], caplog: pytest.LogCaptureFixture
) -> None:
    some = [replace(document, labels=()) if i % 5 == 0 else document for i, document in enumerate(TRAIN)]
    with caplog.at_level(logging.WARNING):
        tagger = depl.fit(some, LABELS, replace(QUICK, encoder=encoder["static"]))
    assert "6 of 30 documents have no label" in caplog.text
    assert "27 of 30 labels never occur" in caplog.text
    assert right(tagger) >= 27


def test_held_out_documents_teach_nothing(encoder: dict[str, str], monkeypatch: pytest.MonkeyPatch) -> None:
    config = trained(replace(QUICK, encoder=encoder["static"]), validation=0.3, steps=4)
    hidden = {i for i in range(len(TRAIN)) if is_validation(i, 0.3, config.training.seed)}
    assert 0 < len(hidden) < len(TRAIN)
    seen, views, learn = set[int](), DualEncoder.views, Mock(wraps=train_linear)

    def look(self: DualEncoder, batch: Sequence[Pair], step: int) -> Any:
        seen.update(pair.group for pair in batch)
        return views(self, batch, step)

    monkeypatch.setattr(depl, "train_linear", learn)
    monkeypatch.setattr(DualEncoder, "views", look)
    depl.fit(TRAIN, LABELS, config)
    assert set(learn.call_args.args[2].rows.tolist()) == seen == set(range(len(TRAIN))) - hidden


def test_a_label_whose_documents_have_no_text_is_unseen(encoder: dict[str, str]) -> None:
    blank = [replace(document, title="", abstract="") if i < 10 else document for i, document in enumerate(TRAIN)]
    config = depl.Config(variant="classifier", encoder=encoder["static"], training=replace(TRAINING, steps=2))
    tagger = depl.fit(blank, LABELS, config)
    free = dual(tagger).weights
    assert free is not None
    assert set(free.labels.tolist()) == set(GOLD.labels[10:].tolist())


def test_without_any_label_there_is_nothing_to_learn() -> None:
    with pytest.raises(ConfigError, match="none of 30 documents has a label of the vocabulary"):
        depl.fit(UNSEEN, LABELS, QUICK)
