"""The tagger: what the stages say together and why, another vocabulary, and a folder that never is half written."""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from tests.tiny import tiny_encoder

from tagwright import tagger as module
from tagwright.data.vocabulary import Vocabulary
from tagwright.encoders.bi_encoder import BiEncoder
from tagwright.errors import ConfigError, InputError, ModelError, TagwrightError
from tagwright.stages.dense import Dense, DenseOptions
from tagwright.stages.exact_match import ExactMatch, ExactMatchOptions
from tagwright.stages.lexical import Lexical, LexicalOptions
from tagwright.tagger import Fusion, Tagger
from tagwright.types import Distribution, Document, EvidenceSpan, Floats, Label, Run, Stage

LABELS = Vocabulary(
    [
        Label("bee", ("Bees", "Apoidea"), "Insects that make honey."),
        Label("bank", ("Banks",), "Where money is kept."),
        Label("rain", ("Rain",), "Water that falls on rivers and stones."),
    ]
)
DOCUMENTS = [
    Document("1", title="Honey of the bees", abstract="A bee flies from flower to flower."),
    Document("2", title="Money in the bank"),
    Document("3", title="Rain", abstract="Rain fills the river."),
    Document("4"),
]


class Fixed(Stage):
    """A stage that gives every document the same scores, whatever it says."""

    distribution: Distribution = "information_content"

    def __init__(self, scores: dict[int, float]) -> None:
        self.scores = scores
        self.asked: list[int] = []

    def read(self, documents: Sequence[Document]) -> int:
        self.asked.append(len(documents))
        return len(documents)

    def find(self, reading: int) -> Run:
        return Run.from_rows([self.scores] * reading)

    def score(self, reading: int, candidates: Run) -> Floats:  # noqa: ARG002
        return np.array([self.scores.get(label, 0.0) for label in candidates.labels.tolist()], np.float32)

    def spans(self, document: Document, label: int) -> tuple[EvidenceSpan, ...]:  # noqa: ARG002
        return ()

    def with_labels(self, labels: Sequence[Label]) -> Fixed:  # noqa: ARG002
        return self

    def save(self, folder: Path) -> None:  # noqa: ARG002
        raise OSError(28, "No space left on device")


@pytest.fixture
def words() -> Tagger:
    """A tagger that needs no encoder."""
    stages: dict[str, Stage] = {
        "exact_match": ExactMatch(LABELS, ExactMatchOptions()),
        "tfidf": Lexical(LABELS, LexicalOptions(weighting="tfidf")),
    }
    return Tagger(LABELS, stages)


@pytest.fixture
def tiny(tmp_path: Path, words: Tagger) -> Tagger:
    """The same with a dense stage over a tiny random encoder."""
    encoder = BiEncoder.load(str(tiny_encoder(tmp_path / "tiny")))
    return replace(words, stages={**words.stages, "dense": Dense(LABELS, encoder, DenseOptions(k=2))})


def as_lists(run: Run) -> tuple[list[int], list[int], list[float]]:
    return run.indptr.tolist(), run.labels.tolist(), run.scores.tolist()


def test_the_right_label_comes_first_and_an_empty_document_gets_none(tiny: Tagger) -> None:
    run = tiny.tag(DOCUMENTS)
    assert [LABELS.ids[run[row][0][0]] for row in range(3)] == ["bee", "bank", "rain"]
    assert len(run[3][0]) == 0


def test_no_documents_give_an_empty_run(tiny: Tagger) -> None:
    assert len(tiny.tag([])) == 0


def test_k_cuts_every_document(words: Tagger) -> None:
    assert np.diff(words.tag(DOCUMENTS, k=1).indptr).tolist() == [1, 1, 1, 0]


def test_documents_are_tagged_in_batches(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module.batches, "__defaults__", (3,))
    stage = Fixed({0: 1.0})
    assert len(Tagger(LABELS, {"fixed": stage}).tag(iter(DOCUMENTS * 2))) == 8
    assert stage.asked == [3, 3, 2]


def test_a_single_stage_keeps_its_own_scores(words: Tagger) -> None:
    alone = replace(words, stages={"tfidf": words.stages["tfidf"]})
    assert as_lists(alone.tag(DOCUMENTS)) == as_lists(words.stages["tfidf"](DOCUMENTS))


def test_evidence_of_the_stages_is_added_with_their_weights() -> None:
    """log2(1 + 3) = 2 and log2(1 + 1) = 1: twice the first and once the second make 4 for label 0, 1 for label 1."""
    stages: dict[str, Stage] = {"a": Fixed({0: 3.0}), "b": Fixed({1: 1.0})}
    run = Tagger(LABELS, stages, Fusion(weights={"a": 2.0})).tag(DOCUMENTS[:1])
    assert as_lists(run) == ([0, 2], [0, 1], [4.0, 1.0])


def test_fusion_by_scores_adds_standard_scores() -> None:
    """Two candidates: each stage's standard scores are 1 and -1, so three times the second outweighs the first."""
    stages: dict[str, Stage] = {"a": Fixed({0: 3.0}), "b": Fixed({1: 1.0})}
    run = Tagger(LABELS, stages, Fusion(by="scores", weights={"b": 3.0})).tag(DOCUMENTS[:1])
    assert as_lists(run) == ([0, 2], [1, 0], [2.0, -2.0])


def test_fusion_by_ranks_adds_reciprocal_ranks() -> None:
    """With the constant 0, label 1 gets 1/2 + 1/1 and label 0 gets 1/1."""
    stages: dict[str, Stage] = {"a": Fixed({0: 3.0, 1: 2.0}), "b": Fixed({1: 1.0})}
    run = Tagger(LABELS, stages, Fusion(by="ranks", rank_constant=0.0)).tag(DOCUMENTS[:1])
    assert as_lists(run) == ([0, 2], [1, 0], [1.5, 1.0])


def test_a_ranker_with_nothing_to_say_of_a_label_gives_it_no_rank() -> None:
    """The finder ranks labels 0, 1, 2; the ranker knows label 1 alone: 1/1, 1/2 + 1/1, 1/3."""
    stages: dict[str, Stage] = {"finder": Fixed({0: 3.0, 1: 2.0, 2: 1.0}), "ranker": Fixed({1: 5.0})}
    fusion = Fusion(by="ranks", rank_constant=0.0, rankers=("ranker",), weights={"finder": 1.0})
    tagger = Tagger(LABELS, stages, fusion)
    run = tagger.tag(DOCUMENTS[:1])
    assert run.labels.tolist() == [1, 0, 2]
    assert run.scores.tolist() == pytest.approx([1.5, 1.0, 1 / 3])
    assert [[each.stage for each in found] for found in tagger.evidence(DOCUMENTS[0], [1, 0])] == [
        ["finder", "ranker"],
        ["finder"],
    ]


def test_a_tagger_without_stages_is_refused() -> None:
    with pytest.raises(ConfigError, match="at least one"):
        Tagger(LABELS, {})


@pytest.mark.parametrize(
    "wrong", [{"by": "magic"}, {"rank_constant": -1.0}, {"weights": {"a": -1.0}}, {"weights": {"a": math.nan}}]
)
def test_a_fusion_that_cannot_work_is_refused(wrong: dict[str, object]) -> None:
    with pytest.raises(ConfigError):
        Fusion(**wrong)  # type: ignore[arg-type]


def test_evidence_has_rank_and_score_of_each_stage(tiny: Tagger) -> None:
    document = DOCUMENTS[2]
    evidence = tiny.evidence(document, [2])[0]
    assert [each.stage for each in evidence][:2] == ["exact_match", "tfidf"]
    for each in evidence:
        labels, scores = tiny.stages[each.stage]([document])[0]
        assert (labels[each.rank - 1], scores[each.rank - 1]) == (2, each.score)


def test_evidence_quotes_the_text(words: Tagger) -> None:
    document = DOCUMENTS[0]
    names, tfidf = words.evidence(document, [0])[0]
    assert [document.text[quote.start : quote.end] for quote in names.spans] == ["bees", "bee"]
    assert {document.text[quote.start : quote.end] for quote in tfidf.spans} == {"Honey", "bees"}


def test_dense_evidence_quotes_sentences(tiny: Tagger) -> None:
    document = DOCUMENTS[0]
    dense = tiny.evidence(document, tiny.stages["dense"]([document])[0][0].tolist())[0][-1]
    quoted = {document.text[quote.start : quote.end] for quote in dense.spans}
    assert quoted == {"Honey of the bees", "A bee flies from flower to flower."}


def test_a_stage_that_does_not_suggest_a_label_gives_no_evidence_for_it(words: Tagger) -> None:
    assert words.evidence(DOCUMENTS[1], [0]) == [()]


def test_with_labels_encodes_only_what_changed(tiny: Tagger, monkeypatch: pytest.MonkeyPatch) -> None:
    encoded: list[str] = []
    encode = BiEncoder.encode

    def watched(self: BiEncoder, texts: Sequence[str], *, progress: str = "", keep: bool = True) -> Floats:
        encoded.extend(texts)
        return encode(self, texts, progress=progress, keep=keep)

    monkeypatch.setattr(BiEncoder, "encode", watched)
    changed = Vocabulary([LABELS[2], LABELS[0], Label("bank", ("Banks",), "The edge of a river.")])
    over = tiny.with_labels(changed)
    assert encoded == ["Banks", "Banks. The edge of a river."]
    assert [changed.ids[over.tag([document])[0][0][0]] for document in DOCUMENTS[:3]] == ["bee", "bank", "rain"]


def test_restrict_leaves_a_tagger_of_that_part_alone(tiny: Tagger) -> None:
    part = tiny.restrict(["rain"])
    dense = part.stages["dense"]
    assert part.vocabulary.ids == ("rain",)
    assert isinstance(dense, Dense)
    assert dense.vectors.codes.shape[0] == 1
    assert dense.vectors.codes.base is None, "a view would keep the vectors of all labels in memory"
    assert set(part.tag(DOCUMENTS).labels.tolist()) == {0}


def test_restrict_names_a_label_that_is_not_there(words: Tagger) -> None:
    with pytest.raises(InputError, match='no label "beee"; did you mean "bee"'):
        words.restrict(["beee"])


def test_saved_and_loaded_it_gives_the_same(tiny: Tagger, tmp_path: Path) -> None:
    tagger = replace(tiny, fusion=Fusion(by="scores", weights={"exact_match": 0.5}))
    tagger.save(tmp_path / "saved")
    loaded = Tagger.load(tmp_path / "saved")
    assert loaded.fusion == tagger.fusion
    assert list(loaded.vocabulary) == list(LABELS)
    assert list(loaded.stages) == list(tagger.stages)
    assert as_lists(loaded.tag(DOCUMENTS)) == as_lists(tagger.tag(DOCUMENTS))


def test_a_save_on_a_full_disk_leaves_the_old_tagger(words: Tagger, tmp_path: Path) -> None:
    words.save(tmp_path / "saved")
    full = Tagger(LABELS[:2], {"exact_match": ExactMatch(LABELS[:2]), "fixed": Fixed({})})
    with pytest.raises(TagwrightError, match=r"saved: cannot be written \(No space left on device\)"):
        full.save(tmp_path / "saved")
    assert as_lists(Tagger.load(tmp_path / "saved").tag(DOCUMENTS)) == as_lists(words.tag(DOCUMENTS))
    assert [path.name for path in tmp_path.iterdir()] == ["saved"]


def test_a_save_that_is_interrupted_leaves_the_old_tagger(
    words: Tagger, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    words.save(tmp_path / "saved")

    def interrupted(self: ExactMatch, folder: Path) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patch, pytest.raises(KeyboardInterrupt):
        patch.setattr(ExactMatch, "save", interrupted)
        words.restrict(["bee"]).save(tmp_path / "saved")
    assert len(Tagger.load(tmp_path / "saved").vocabulary) == 3
    assert [path.name for path in tmp_path.iterdir()] == ["saved"]


def test_a_folder_of_something_else_is_not_replaced(words: Tagger, tmp_path: Path) -> None:
    (tmp_path / "thesis.txt").write_text("three years of work")
    with pytest.raises(TagwrightError, match="not a folder saved by Tagwright"):
        words.save(tmp_path)
    assert (tmp_path / "thesis.txt").read_text() == "three years of work"


@pytest.mark.parametrize("file", ["manifest.json", "labels.jsonl", "exact_match/manifest.json", "tfidf/manifest.json"])
@pytest.mark.parametrize("content", [None, b"", b"{}", b"[1, 2]", b"\xff\x00"])
def test_a_damaged_folder_is_a_model_error(words: Tagger, tmp_path: Path, file: str, content: bytes | None) -> None:
    words.save(tmp_path / "saved")
    path = tmp_path / "saved" / file
    path.unlink() if content is None else path.write_bytes(content)
    with pytest.raises(ModelError, match="saved"):
        Tagger.load(tmp_path / "saved")


@pytest.mark.parametrize(
    "wrong",
    [
        {"stages": {"exact_match": "Pickle"}},
        {"stages": {"exact_match": ["ExactMatch"]}},
        {"stages": {}},
        {"stages": ["exact_match"]},
        {"stages": {"../names": "ExactMatch"}},
        {"fusion": {"by": "magic"}},
        {"fusion": {"rank_constant": math.nan}},
        {"fusion": {"by": "ranks", "power": 2}},
        {"fusion": {"weights": {"exact_match": "much"}}},
        {"fusion": None},
    ],
)
def test_a_manifest_that_says_something_impossible_is_a_model_error(
    words: Tagger, tmp_path: Path, wrong: dict[str, object]
) -> None:
    words.save(tmp_path / "saved")
    path = tmp_path / "saved" / "manifest.json"
    path.write_text(json.dumps({**json.loads(path.read_text()), **wrong}))
    with pytest.raises(ModelError):
        Tagger.load(tmp_path / "saved")


def test_a_ranker_orders_what_the_others_find_and_finds_nothing_itself() -> None:
    stages: dict[str, Stage] = {"finder": Fixed({0: 3.0, 1: 2.0}), "ranker": Fixed({0: 1.0, 1: 5.0, 2: 9.0})}
    tagger = Tagger(LABELS, stages, Fusion(weights={"finder": 0.0}, rankers=("ranker",)))
    labels, scores = tagger.tag(DOCUMENTS[:1])[0]
    assert (labels.tolist(), scores.tolist()) == ([1, 0], [5.0, 1.0])
    assert [[(e.stage, e.rank) for e in each] for each in tagger.evidence(DOCUMENTS[0], [1])] == [
        [("finder", 2), ("ranker", 1)]
    ]


def test_a_budget_leaves_the_ranker_the_best_candidates_of_the_finders() -> None:
    stages: dict[str, Stage] = {"finder": Fixed({0: 3.0, 1: 2.0, 2: 1.0}), "ranker": Fixed({0: 1.0, 1: 5.0, 2: 9.0})}
    fusion = Fusion(weights={"finder": 0.0}, rankers=("ranker",), budget=2)
    assert Tagger(LABELS, stages, fusion).tag(DOCUMENTS[:1]).labels.tolist() == [1, 0]


def test_reciprocal_ranks_of_two_rankers_are_those_of_futex() -> None:
    # 1/1 + 1/3, 1/2 + 1/1 and 1/3 + 1/2: Eq. 9
    stages: dict[str, Stage] = {
        "finder": Fixed({0: 1.0, 1: 1.0, 2: 1.0}),
        "a": Fixed({0: 3.0, 1: 2.0, 2: 1.0}),
        "b": Fixed({1: 3.0, 2: 2.0, 0: 1.0}),
    }
    fusion = Fusion(by="ranks", rank_constant=0, weights={"finder": 0.0}, rankers=("a", "b"))
    labels, scores = Tagger(LABELS, stages, fusion).tag(DOCUMENTS[:1])[0]
    assert labels.tolist() == [1, 0, 2]
    np.testing.assert_allclose(scores, [3 / 2, 4 / 3, 5 / 6], rtol=1e-6)


@pytest.mark.parametrize(("keep", "expected"), [(1, [2, 0, 1]), (None, [2, 1, 0])])
def test_the_labels_of_the_tail_follow_in_their_own_order(keep: int | None, expected: list[int]) -> None:
    stages: dict[str, Stage] = {"first": Fixed({2: 2.0, 1: 1.0}), "tail": Fixed({0: 3.0, 1: 2.0, 2: 1.0})}
    run = Tagger(LABELS, stages, Fusion(tail="tail", keep=keep)).tag(DOCUMENTS[:1])
    assert run.labels.tolist() == expected
    np.testing.assert_allclose(run.scores, [1, 1 / 2, 1 / 3], rtol=1e-6)


@pytest.mark.parametrize(
    ("fusion", "problem"),
    [
        (Fusion(rankers=("c",)), "names the stages c, there are a, b"),
        (Fusion(rankers=("a", "b")), "no stage finds candidates"),
        (Fusion(weights={"a": 0.0, "b": 0.0}), "every stage has weight 0"),
    ],
)
def test_a_fusion_that_does_not_fit_the_stages_is_refused(fusion: Fusion, problem: str) -> None:
    with pytest.raises(ConfigError, match=problem):
        Tagger(LABELS, {"a": Fixed({0: 1.0}), "b": Fixed({1: 1.0})}, fusion)
