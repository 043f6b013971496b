"""What `check_stage` says of stages that are wrong in one way each; our own have no problems."""
# ruff: noqa: ARG002, ARG005

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.tiny import tiny_encoder

from tagwright.data.bags import BagOfWords, BagOptions
from tagwright.data.vocabulary import Vocabulary
from tagwright.encoders.bi_encoder import BiEncoder
from tagwright.encoders.cross_encoder import CrossEncoder
from tagwright.papers.descriptions import DescriptionRetriever
from tagwright.papers.full_text import FullText, FullTextOptions
from tagwright.papers.label_trees import Trees, fit_trees
from tagwright.registry import STAGES
from tagwright.stages.by_language import ByLanguage
from tagwright.stages.dense import Dense, DenseOptions
from tagwright.stages.lexical import Lexical, LexicalOptions
from tagwright.stages.linear.stage import Linear
from tagwright.stages.linear.svm import SvmOptions, fit_svm
from tagwright.stages.names.exact_match import ExactMatch, TitleMatch
from tagwright.stages.nearest_labelled import NearestLabelled
from tagwright.stages.reranker import CrossEncoderReranker
from tagwright.testing import check_stage
from tagwright.types import Distribution, Document, EvidenceSpan, Floats, Label, Retriever, Run, Section, Stage

LABELS = Vocabulary(["bees", "rain", "tax"])
DOCUMENTS = [Document("1", "bees and rain"), Document("2", "tax", "the tax on bees"), Document("3")]


class Contains(Retriever):
    """Labels whose names the title contains. The only problem: no package registers it."""

    distribution: Distribution = "sparse"

    def __init__(self, labels: Sequence[Label]) -> None:
        self.labels = labels

    def read(self, documents: Sequence[Document]) -> list[str]:
        return [document.title for document in documents]

    def find(self, reading: list[str]) -> Run:
        return Run.from_rows([[i for i, label in enumerate(self.labels) if label.name in text] for text in reading])

    def score(self, reading: list[str], candidates: Run) -> Floats:
        pairs = zip(candidates.rows.tolist(), candidates.labels.tolist(), strict=True)
        return np.array([self.labels[label].name in reading[row] for row, label in pairs], np.float32)

    def spans(self, document: Document, labels: Sequence[int]) -> list[tuple[EvidenceSpan, ...]]:
        names = [self.labels[label].name for label in labels]
        places = [(document.title.find(name), len(name)) for name in names]
        return [() if start < 0 else (EvidenceSpan(start, start + size, 1.0),) for start, size in places]

    def with_labels(self, labels: Sequence[Label]) -> Contains:
        return type(self)(labels)

    def state(self) -> dict[str, Any]:
        return {"names": [label.name for label in self.labels]}

    @classmethod
    def from_state(cls, state: Mapping[str, Any], labels: Sequence[Label]) -> Contains:
        assert state["names"] == [label.name for label in labels]
        return cls(labels)


def problems(stage: Stage, documents: Sequence[Document] = DOCUMENTS) -> list[str]:
    """What is said of a stage, apart from the entry point that it has not."""
    with pytest.raises(AssertionError) as caught:
        check_stage(stage, LABELS, documents)
    first, *listed, last = str(caught.value).splitlines()
    assert first == f"{type(stage).__name__} cannot be used as a stage yet:"
    assert "no installed package registers it" in last
    return [line.removeprefix("- ") for line in listed]


def test_a_right_stage_lacks_only_its_entry_point() -> None:
    assert problems(Contains(LABELS)) == []


def test_missing_methods_are_all_listed() -> None:
    class Empty:
        distribution = "gauss"

        def read(self) -> None: ...

    stage: Any = Empty()
    first, *others = problems(stage)
    assert first == "distribution is 'gauss', expected one of normal, sparse, information_content"
    assert others[0] == "has no method score; inherit from tagwright.Stage or tagwright.Retriever, and write it"
    assert len(others) == 8


def changed(**methods: Any) -> Contains:
    kind: type[Contains] = type("Changed", (Contains,), methods)
    return kind(LABELS)


def of_batch(self: Contains, reading: list[str], candidates: Run) -> Floats:
    return Contains.score(self, reading, candidates) * np.float32(len(reading))


def emptied(self: Contains, labels: Sequence[Label]) -> Contains:
    self.labels = labels
    return self


class Counting:
    """A score that grows whenever it is asked for."""

    def __init__(self) -> None:
        self.asked = 0.0

    def __call__(self, reading: list[str], candidates: Run) -> Floats:
        self.asked += 1
        return np.full(len(candidates.labels), self.asked, np.float32)


@pytest.mark.parametrize(
    ("methods", "problem"),
    [
        ({"find": lambda self, reading: [[0]]}, "find gives a list, expected a Run"),
        ({"find": lambda self, reading: Run.from_rows([[0]])}, "find gives 1 rows for 3 documents"),
        (
            {"find": lambda self, reading: Run.from_rows([[7]] * len(reading))},
            "labels 7 to 7, expected positions below 3",
        ),
        ({"find": lambda self, reading: Run.from_rows([[]] * len(reading))}, "find finds no label; give documents"),
        (
            {"find": lambda self, reading: (run := Contains.find(self, reading)).rescored(run.scores * 2)},
            "find and score give the same candidates different scores",
        ),
        (
            {"score": lambda self, reading, candidates: [0.0] * len(candidates.labels)},
            "score gives list for 9 candidates, expected an array (9,) float32",
        ),
        (
            {"score": lambda self, reading, candidates: np.full(len(candidates.labels), np.nan, np.float32)},
            "score gives scores that are not finite",
        ),
        ({"score": Counting()}, "score gives other scores when it is asked again"),
        ({"score": of_batch}, "score gives a document other scores when other documents are in the batch"),
        (
            {"spans": lambda self, document, labels: [(EvidenceSpan(0, 99, 1.0),)] * len(labels)},
            "an evidence span is 0-99, expected one in the 13 characters of document.text (document 1)",
        ),
        (
            {"spans": lambda self, document, labels: [(EvidenceSpan(0, 0, 1.0),)] * len(labels)},
            "an evidence span is 0-0, expected one in the 13 characters",
        ),
        (
            {"spans": lambda self, document, labels: [(EvidenceSpan(0, len(labels), 1.0),)] * len(labels)},
            "spans gives a label other evidence when it is asked for several",
        ),
        (
            {"spans": lambda self, document, labels: []},
            "spans gives 0 tuples for 3 labels, expected one each, if only an empty one",
        ),
        ({"trust": lambda self, reading, weight: np.full(3, 2.0)}, "trust gives no number from 0 to 1"),
        ({"with_labels": emptied}, "with_labels changes the stage itself"),
        ({"with_labels": lambda self, labels: self}, "a label has another score after the labels are put in another"),
        ({"state": lambda self: {"names": np.array(["bees", None], object)}}, "saved: ValueError: Object arrays"),
        ({"state": lambda self: {}}, "saved: KeyError: 'names'"),
        ({"from_state": lambda self, state, labels: self}, "saved: TypeError: "),
        (
            {"from_state": classmethod(lambda cls, state, labels: cls(list(labels)[::-1]))},
            "score gives other scores after save and load",
        ),
        (
            {"read": lambda self, documents: 1 / 0},
            "answers: ZeroDivisionError: division by zero (test_testing.py, line",
        ),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_a_problem_is_said_in_words(methods: dict[str, Callable[..., Any]], problem: str) -> None:
    found = problems(changed(**methods))
    assert any(problem in line for line in found), found


def test_a_stage_under_a_name_of_ours_would_never_be_used_by_name(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(
        "tagwright.testing.saved_kind", lambda stage, kind: {"entry_point": "tfidf", "package": "theirs"}
    )
    with pytest.raises(AssertionError, match="called tfidf, which always is Tagwright's own stage; choose another"):
        check_stage(Contains(LABELS), LABELS, DOCUMENTS)


STONES = "amber basalt coral diamond emerald flint"
"A name of so many bits that a title is evidence for it."

TOPICS = Vocabulary([Label(name, (name,)) for name in ("bee", "money", "river", STONES)])
TRAIN = [
    Document("1", "bee honey", labels=("bee",)),
    Document("2", "honey market", labels=("bee", "money")),
    Document("3", "river bank", labels=("river",)),
]
BAG = BagOfWords.of((document.text for document in TRAIN), BagOptions(min_documents=1))
FEATURES = BAG.transform(document.text for document in TRAIN)
QUERIES = [
    Document("q", "honey bee", "The river bank.", (Section("Money", 1, ("The market.", "Honey for a bee.")),)),
    Document("r", "a river"),
    Document("t", STONES),
    Document("s"),
]


def own(name: str, folder: Path) -> Stage:
    """One of our stages, with a tiny encoder or trained on a few words where it needs that."""
    gold, size = TOPICS.gold(TRAIN), len(TOPICS)
    if name == "Linear":
        return Linear(TOPICS, BAG, *fit_svm(FEATURES, gold, size, SvmOptions(workers=1)))
    if name == "Trees":
        if find_spec("omikuji") is None:  # imported here, it would print into this process
            pytest.skip("omikuji is not installed")
        return Trees(TOPICS, BAG, fit_trees(FEATURES, gold, size, leaf=2, workers=1))
    if name == "NearestLabelled":
        return NearestLabelled(TOPICS, BAG, FEATURES, gold)
    if name in ("ExactMatch", "TitleMatch"):
        return (ExactMatch if name == "ExactMatch" else TitleMatch)(TOPICS)
    if name == "Lexical":
        return Lexical(TOPICS, LexicalOptions(weighting="tfidf", stem="english"))
    if name == "ByLanguage":
        return ByLanguage(TOPICS, {"en": ExactMatch(TOPICS)})
    if name == "CrossEncoderReranker":
        return CrossEncoderReranker(TOPICS, CrossEncoder.load(str(tiny_encoder(folder / "tiny"))))
    encoder = BiEncoder.load(str(tiny_encoder(folder / "tiny")))
    if name == "DescriptionRetriever":
        return DescriptionRetriever(TOPICS, encoder, encoder)
    dense = Dense(TOPICS, encoder, DenseOptions(label_text="name", storage="float32"))
    return {"Dense": dense, "FullText": FullText(dense, FullTextOptions(shortest=0))}[name]


WITH_ANOTHER = {"NearestByMeaning", "LlmRanking"}
"Stages that read with another one, or ask a language model: tests/stages checks them."


@pytest.mark.parametrize("name", [name for name in STAGES if name not in WITH_ANOTHER])
def test_our_own_stages_have_no_problems(name: str, tmp_path: Path) -> None:
    pytest.importorskip("torch")
    check_stage(own(name, tmp_path), TOPICS, QUERIES)


@pytest.mark.parametrize("name", [name for name in STAGES if name not in WITH_ANOTHER | {"CrossEncoderReranker"}])
def test_what_a_stage_says_of_a_document_is_the_same_to_the_digit_beside_others(name: str, tmp_path: Path) -> None:
    """But for a cross-encoder, which computes pairs of one length together: `check_stage` allows its last digits."""
    pytest.importorskip("torch")
    stage = own(name, tmp_path)
    every = Run.from_rows([dict.fromkeys(range(len(TOPICS)), 1.0)] * len(QUERIES))
    together, scores = stage.read(QUERIES), list[float]()
    found = stage.find(together) if hasattr(stage, "find") else every
    for row, document in enumerate(QUERIES):
        alone = stage.read([document])
        scores += stage.score(alone, every.take([row])).tolist()
        if hasattr(stage, "find"):
            (labels, values), (others, same) = stage.find(alone)[0], found[row]
            assert (labels.tolist(), values.tolist()) == (others.tolist(), same.tolist())
    assert scores == stage.score(together, every).tolist()
