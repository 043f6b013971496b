from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any, Literal

import numpy as np
import pytest
import torch
from tests.fixed import Fixed
from tests.papers.topics import LABELS, TOPICS, first_labels

from tagwright.combining.fusion import reciprocal_ranks
from tagwright.combining.weighted_sum import WeightedSum
from tagwright.data.vocabulary import Vocabulary
from tagwright.errors import ConfigError, TagwrightError
from tagwright.papers import futex
from tagwright.stages.names.exact_match import ExactMatch, ExactMatchOptions
from tagwright.stages.reranker import CrossEncoderReranker
from tagwright.tagger import Tagger
from tagwright.training.config import TrainingConfig
from tagwright.types import Distribution, Document, Label, Run, Section

QUICK = futex.Config(
    network="cross",
    rankings=("abstract", "fulltext"),
    count=24,
    min_papers=2,
    shortest=2,
    training=TrainingConfig(batch=4, steps=6, validation=0.0, checkpoint_seconds=0),
)
"The paper's rankings."


def paper(i: int, name: str) -> Document:
    """The title names the topic, the rest is made of its words; papers of a topic cite the same work."""
    words = np.random.default_rng(i).choice(TOPICS[name], 12).tolist()
    sections = (Section("Body", 1, (" ".join(words[:6]), " ".join(words[6:]))),)
    return Document(f"d{i}", f"about {name}", f"the {words[0]}", sections, {"reference": (name,)}, (name,))


NAMES = [list(TOPICS)[i % 3] for i in range(24)]
PAPERS = [paper(i, name) for i, name in enumerate(NAMES)]
UNSEEN = [replace(paper(100 + i, name), id=f"u{i}", title="", metadata={}) for i, name in enumerate(NAMES)]
"Nothing names their topic; only their words are of it."

TOPIC = [LABELS.index[name] for name in NAMES]


def test_the_fine_tuned_transformer_reads_paragraphs_too_as_in_eq_5(encoder: dict[str, str]) -> None:
    config = replace(QUICK, encoder=encoder["transformer"], max_length=32)
    _, plain = futex.fine_tune(PAPERS, config)
    cross, shared = futex.fine_tune(PAPERS, replace(config, network="shared"))
    assert cross is not None
    before, learnt, mine = (model[0].state_dict() for model in (plain.model, cross.model, shared.model))
    assert all(torch.equal(mine[name], weight) for name, weight in learnt.items())
    assert any(not torch.equal(mine[name], weight) for name, weight in before.items())
    static = replace(config, encoder=encoder["static"], max_length=None, network="shared")
    assert isinstance(futex._share_transformer(cross, static), type(shared))  # it has no transformer to share


class Says(Fixed):
    distribution: Distribution = "normal"


@pytest.mark.parametrize(("order", "expected"), [("example", "ABEDC"), ("append", "ABCED")])
def test_example_3_1(order: Any, expected: str, monkeypatch: pytest.MonkeyPatch) -> None:
    labels = Vocabulary([Label(name, (name,)) for name in "ABCDE"])
    found, both = Says({0: 1.0, 1: 1.0, 2: 1.0}), Says({0: 3.0, 1: 2.0, 2: 1.0})
    steps = (WeightedSum(by="ranks", rank_constant=0, weights={"exact_match": 0.0}),)
    ensemble = Tagger(labels, {"exact_match": found}, {"abstract": both, "fulltext": both}, steps=steps)
    assert ensemble.tag([PAPERS[0]]).scores.tolist() == pytest.approx([2.0, 1.0, 0.67], abs=0.005)
    # Parabel's order in the example is E, B, A, D, C
    probable = Says(dict(zip([4, 1, 0, 3, 2], [0.9, 0.8, 0.7, 0.6, 0.5], strict=True)))
    monkeypatch.setattr(futex, "classifier", lambda *_: probable)
    pseudo = futex.pseudo_labels(ensemble, PAPERS[:1], replace(QUICK, pseudo_labels=2))
    assert pseudo.labels.tolist() == [0, 1]
    tagger = futex.self_train(ensemble, PAPERS[:1], pseudo, replace(QUICK, pseudo_labels=2, order=order, min_papers=1))
    assert "".join(labels[label].name for label in tagger.tag(PAPERS[:1], 5).labels.tolist()) == expected


def test_a_candidate_that_the_classifier_does_not_reach_comes_last(monkeypatch: pytest.MonkeyPatch) -> None:
    """Example 3.1 with a classifier that knows E and B alone."""
    labels = Vocabulary([Label(name, (name,)) for name in "ABCDE"])
    found = Says({0: 3.0, 1: 2.0, 2: 1.0})
    ensemble = Tagger(labels, {"exact_match": found})
    monkeypatch.setattr(futex, "classifier", lambda *_: Says({4: 0.9, 1: 0.8}))
    config = replace(QUICK, pseudo_labels=1, order="example", min_papers=1)
    tagger = futex.self_train(ensemble, PAPERS[:1], Run.from_rows([[0]]), config)
    assert "".join(labels[label].name for label in tagger.tag(PAPERS[:1], 5).labels.tolist()) == "AEBC"


def test_the_full_text_tells_what_no_name_does(encoder: dict[str, str], tmp_path: Path) -> None:
    tagger = futex.fit(PAPERS, LABELS, replace(QUICK, encoder=encoder["transformer"]))
    assert {name: type(stage).__name__ for name, stage in tagger.stages.items()} == {
        "exact_match": "ExactMatch", "abstract": "CrossEncoderReranker", "fulltext": "FullText", "classifier": "Trees",
    }  # fmt: skip
    for papers in (PAPERS, UNSEEN):
        assert sum(a == b for a, b in zip(first_labels(tagger.tag(papers)), TOPIC, strict=True)) >= 22
    without = futex.fit(PAPERS, LABELS, replace(QUICK, encoder=encoder["transformer"], self_training=False))
    assert len(without.tag(UNSEEN).labels) == 0
    tagger.save(tmp_path / "tagger")
    loaded = Tagger.load(tmp_path / "tagger")
    assert loaded.tag(UNSEEN).labels.tolist() == tagger.tag(UNSEEN).labels.tolist()


KINDS = {"dense": "FullText", "fulltext": "FullText", "classifier": "Trees"}
"Of the stages that read no names, but for the abstract's."


@pytest.mark.parametrize(
    ("options", "names", "abstract"),
    [
        ({"network": "none"}, "exact_match abstract fulltext classifier", "FullText"),
        ({"rankings": futex.Config().rankings}, "exact_match all_mentions abstract classifier", "CrossEncoderReranker"),
        (
            {"rankings": ("mentions", "all_mentions"), "network": "none", "self_training": False},
            "exact_match all_mentions",
            "",
        ),
        (
            {"network": "none", "retrievers": ("exact_match", "dense"), "self_training": False},
            "exact_match dense abstract fulltext",
            "FullText",
        ),
    ],
)
def test_each_part_can_be_switched_off(
    options: dict[str, Any], names: str, abstract: str, encoder: dict[str, str]
) -> None:
    papers = PAPERS[:12]
    tagger = futex.fit(papers, LABELS, replace(QUICK, encoder=encoder["transformer"], **options))
    kinds = {**KINDS, "abstract": abstract}
    expected = {name: kinds.get(name, "ExactMatch") for name in names.split()}
    assert {name: type(stage).__name__ for name, stage in tagger.stages.items()} == expected
    assert len(tagger.tag(papers)) == len(papers)


@pytest.mark.parametrize(("label_text", "read"), [("both", "text"), ("described", "described"), ("name", "name")])
def test_the_cross_encoder_reads_the_chosen_text_of_a_label(
    label_text: Literal["both", "described", "name"], read: str, encoder: dict[str, str]
) -> None:
    config = replace(QUICK, encoder=encoder["transformer"], label_text=label_text, self_training=False)
    stage = futex.fit(PAPERS, LABELS, config).stages["abstract"]
    assert isinstance(stage, CrossEncoderReranker)
    assert stage.options.label_text == read


@pytest.mark.parametrize("text_field", ["title_and_abstract", "text"])
def test_mentions_rank_alike_whether_they_find_the_candidates_or_not(
    text_field: Literal["title_and_abstract", "text"], encoder: dict[str, str]
) -> None:
    documents = [Document("m", "wasp and bank", "near the stone, a wasp"), *PAPERS]
    options: dict[str, Any] = {
        "network": "none",
        "text_field": text_field,
        "self_training": False,
        "rankings": futex.Config().rankings,
    }
    tagger = futex.fit(PAPERS, LABELS, replace(QUICK, encoder=encoder["transformer"], **options))
    pool = tagger.retrievers["exact_match"](documents)
    heads, everywhere = (
        ExactMatch(LABELS, ExactMatchOptions(text_field=field)) for field in ("title_and_abstract", "text")
    )
    abstract = tagger.stages["abstract"]
    opinions = [pool.rescored(stage.score(stage.read(documents), pool)) for stage in (heads, everywhere, abstract)]
    expected = reciprocal_ranks(opinions, k=0, candidates=pool)
    assert tagger.tag(documents).scores.tolist() == pytest.approx(expected.top(10).scores.tolist())


@pytest.mark.parametrize(("device", "learning"), [("cuda", "cross"), ("cpu", "none")])
def test_without_a_gpu_nothing_learns_from_the_network_unless_asked(
    device: str, learning: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(futex, "uses_gpu", lambda: device == "cuda")
    assert futex.Config().learning == learning
    assert futex.Config(network="shared").learning == "shared"
    assert futex.Config(rankings=("mentions",)).learning == "none"


@pytest.mark.parametrize(("shortest", "expected"), [(2, {"bees fly", "wasps sting now"}), (3, {"wasps sting now"})])
def test_the_fine_tuning_reads_no_shorter_paragraphs_than_the_ranking(shortest: int, expected: set[str]) -> None:
    document = Document("d", sections=(Section("Body", 1, ("bees fly", "wasps sting now")),))
    view = futex.Config(shortest=shortest, abstract_chance=0.0).view
    assert {view(document, (0, epoch)) for epoch in range(40)} == expected


def test_what_cannot_be_learnt_from_is_said_before_anything_is_loaded() -> None:
    pytest.importorskip("torch")
    alone = [replace(document, metadata={"reference": (document.id,)}) for document in PAPERS]
    with pytest.raises(TagwrightError, match='meta-path "P->P<-P" joins no two of the 24 documents'):
        futex.fit(alone, LABELS, replace(QUICK, encoder="nowhere/no-such"))
    with pytest.raises(ConfigError, match="no reference or citation field"):
        futex.fit([replace(document, metadata={}) for document in PAPERS], LABELS, QUICK)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"network": "cross", "rankings": ("mentions",)}, 'which only the ranking "abstract" reads'),
        ({"language": "klingon"}, "klingon"),
    ],
)
def test_options_that_cannot_work_are_refused(options: dict[str, Any], message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        futex.Config(**options)
