"""The tagger: what the stages say together and why, another vocabulary, and a folder that never is half written."""

from __future__ import annotations

import copy
import json
import math
import pickle
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.fixed import Fixed
from tests.saved import rewrite
from tests.tiny import tiny_encoder

from tagwright import tagger as module
from tagwright.combining.pool import PoolOptions
from tagwright.combining.weighted_sum import AppendLabels, WeightedSum
from tagwright.core.saved import ARRAY, FOLDER
from tagwright.data.vocabulary import Vocabulary
from tagwright.encoders.bi_encoder import BiEncoder
from tagwright.errors import ConfigError, ModelError
from tagwright.stages.dense import Dense, DenseOptions
from tagwright.stages.lexical import Lexical, LexicalOptions
from tagwright.stages.names.exact_match import ExactMatch, ExactMatchOptions
from tagwright.tagger import Tagger
from tagwright.types import Document, Floats, Label, Retriever, Run

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


@pytest.fixture
def words() -> Tagger:
    """A tagger that needs no encoder."""
    retrievers: dict[str, Retriever] = {
        "exact_match": ExactMatch(LABELS, ExactMatchOptions()),
        "tfidf": Lexical(LABELS, LexicalOptions(weighting="tfidf")),
    }
    return Tagger(LABELS, retrievers)


@pytest.fixture
def tiny(tmp_path: Path, words: Tagger) -> Tagger:
    """The same with a dense stage over a tiny random encoder."""
    encoder = BiEncoder.load(str(tiny_encoder(tmp_path / "tiny")))
    return replace(words, retrievers={**words.retrievers, "dense": Dense(LABELS, encoder, DenseOptions(k=2))})


def as_lists(run: Run) -> tuple[list[int], list[int], list[float]]:
    return run.indptr.tolist(), run.labels.tolist(), run.scores.tolist()


def test_the_right_label_comes_first_and_an_empty_document_gets_none(tiny: Tagger) -> None:
    run = tiny.tag(DOCUMENTS)
    assert [LABELS.ids[run[row][0][0]] for row in range(3)] == ["bee", "bank", "rain"]
    assert len(run[3][0]) == 0


def test_k_cuts_every_document(words: Tagger) -> None:
    assert np.diff(words.tag(DOCUMENTS, k=1).indptr).tolist() == [1, 1, 1, 0]
    assert len(words.tag([])) == 0


def test_documents_are_tagged_in_batches(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module.batches, "__defaults__", (3,))
    stage = Fixed({0: 1.0})
    assert len(Tagger(LABELS, {"fixed": stage}).tag(iter(DOCUMENTS * 2))) == 8
    assert stage.asked == [3, 3, 2]


def test_a_single_stage_keeps_its_own_scores(words: Tagger) -> None:
    alone = replace(words, retrievers={"tfidf": words.retrievers["tfidf"]})
    assert as_lists(alone.tag(DOCUMENTS)) == as_lists(words.retrievers["tfidf"](DOCUMENTS))


def test_a_tagger_without_retrievers_is_refused() -> None:
    with pytest.raises(ConfigError, match="at least one"):
        Tagger(LABELS, {})


def test_evidence_has_rank_and_score_of_each_stage(tiny: Tagger) -> None:
    document = DOCUMENTS[2]
    evidence = tiny.evidence(document, [2])[0]
    assert [each.stage for each in evidence][:2] == ["exact_match", "tfidf"]
    for each in evidence:
        labels, scores = tiny.retrievers[each.stage]([document])[0]
        assert (labels[each.rank - 1], scores[each.rank - 1]) == (2, each.score)


def test_texts_are_encoded_as_the_dense_stage_reads_them(tiny: Tagger) -> None:
    vectors = tiny.encode(DOCUMENTS)
    dense = tiny.retrievers["dense"]
    assert isinstance(dense, Dense)
    assert vectors.shape == (len(DOCUMENTS), dense.encoder.dim)
    assert np.allclose(vectors, dense.read(DOCUMENTS).vectors, atol=1e-3)
    written = [row for row, document in enumerate(DOCUMENTS) if document.text]
    assert np.allclose(np.linalg.norm(vectors[written], axis=1), 1, atol=1e-3)
    assert np.allclose(tiny.encode("honey bees"), tiny.encode(["honey bees"])[0], atol=1e-3)
    assert tiny.encode([]).shape == (0, dense.encoder.dim)


def test_without_an_encoder_nothing_is_encoded(words: Tagger) -> None:
    with pytest.raises(ConfigError, match=r"this tagger has no encoder, only .*; add the stage dense"):
        words.encode(["honey bees"])


def test_evidence_quotes_the_text(tiny: Tagger) -> None:
    document = DOCUMENTS[0]
    spans = {each.stage: each.spans for each in tiny.evidence(document, [0])[0]}
    quoted = {name: {document.text[span.start : span.end] for span in found} for name, found in spans.items()}
    assert quoted["exact_match"] == {"bees", "bee"}
    assert quoted["tfidf"] == {"Honey", "bees"}
    assert quoted.get("dense", {"Honey of the bees"}) <= {"Honey of the bees", "A bee flies from flower to flower."}


def test_a_stage_that_does_not_suggest_a_label_gives_no_evidence_for_it(words: Tagger) -> None:
    assert words.evidence(DOCUMENTS[1], [0]) == [()]


def test_with_labels_encodes_only_what_changed(tiny: Tagger, monkeypatch: pytest.MonkeyPatch) -> None:
    encoded: list[str] = []
    encode = BiEncoder.encode

    def watched(self: BiEncoder, texts: Sequence[str], **options: Any) -> Floats:
        encoded.extend(texts)
        return encode(self, texts, **options)

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
    with pytest.raises(ConfigError, match='"beee" fits no label; did you mean bee'):
        words.restrict(["beee"])


def test_saved_and_loaded_it_gives_the_same(tiny: Tagger, tmp_path: Path) -> None:
    steps = (WeightedSum(by="ranks", weights={"exact_match": 0.5}), AppendLabels(by="tfidf", keep=2))
    pool = PoolOptions(limit=2, exclude=("tfidf",))
    tagger = Tagger(LABELS, tiny.retrievers, {"again": ExactMatch(LABELS)}, pool, steps)
    tagger.save(tmp_path / "saved")
    loaded = Tagger.load(tmp_path / "saved")
    assert (loaded.steps, loaded.pool) == (steps, pool)
    assert list(loaded.vocabulary) == list(LABELS)
    assert list(loaded.retrievers) == ["exact_match", "tfidf", "dense"]
    assert list(loaded.rerankers) == ["again"]
    assert as_lists(loaded.tag(DOCUMENTS)) == as_lists(tagger.tag(DOCUMENTS))


def test_it_is_sent_to_another_process_by_pickle_with_whatever_can_be_saved(tiny: Tagger) -> None:
    expected = as_lists(tiny.tag(DOCUMENTS))  # once tagged, tries, word lists and kernels are there
    other = pickle.loads(pickle.dumps(tiny))
    assert as_lists(other.tag(DOCUMENTS)) == expected
    assert [each.id for each in other.with_labels([*LABELS, "Honey"]).suggest("Honey", k=1)] == ["Honey"]
    assert copy.deepcopy(tiny) is copy.copy(tiny) is tiny


def test_a_saved_tagger_is_replaced_only_when_that_is_asked_for(words: Tagger, tmp_path: Path) -> None:
    words.save(tmp_path / "saved")
    fewer = words.restrict(["bee"])
    with pytest.raises(ConfigError, match=r"saved: holds a saved tagger; replace it with overwrite=True, or choose"):
        fewer.save(tmp_path / "saved")
    assert len(Tagger.load(tmp_path / "saved").vocabulary) == 3
    fewer.save(tmp_path / "saved", overwrite=True)
    assert len(Tagger.load(tmp_path / "saved").vocabulary) == 1


def test_logs_and_what_file_managers_leave_are_replaced_and_need_not_stay(words: Tagger, tmp_path: Path) -> None:
    folder = tmp_path / "saved"
    (folder / "tensorboard").mkdir(parents=True)
    for name in ("training.jsonl", "tensorboard/events"):
        (folder / name).write_text("loss")
    words.write(folder)
    (folder / "retrievers" / "tfidf" / ".DS_Store").touch()
    (folder / "training.jsonl").write_text("changed")
    (folder / "tensorboard" / "events").unlink()
    assert Tagger.load(folder, verify=True).suggest("Bees") == words.suggest("Bees")
    words.save(folder, overwrite=True)
    assert not (folder / "training.jsonl").exists()


def test_a_manifest_that_was_changed_is_a_model_error(words: Tagger, tmp_path: Path) -> None:
    words.save(tmp_path / "saved")
    path = tmp_path / "saved" / "manifest.json"
    path.write_text(path.read_text().replace('"limit": null', '"limit": 7'))
    with pytest.raises(ModelError, match=r"saved: is damaged \(its manifest was changed.*save the tagger again"):
        Tagger.load(tmp_path / "saved")


@pytest.mark.parametrize(
    "wrong",
    [
        {"retrievers": {"exact_match": {"class": "Pickle"}}},
        {"retrievers": {"exact_match": "ExactMatch"}},
        {"retrievers": {"exact_match": {"class": "TitleMatch", "options": {}}}},
        {"retrievers": {"exact_match": {"class": "ExactMatch", "options": {"stem": "klingon"}, "names": {}}}},
        {"retrievers": {"exact_match": {"class": "ExactMatch", "options": {}, "names": ARRAY}}},
        {"retrievers": {"exact_match": {"class": "ExactMatch", "options": {}, "names": FOLDER}}},
        {"retrievers": {}},
        {"retrievers": ["exact_match"]},
        {"retrievers": {"../retrievers/exact_match": {"class": "TitleMatch", "options": FOLDER}}},
        {"retrievers": {"/etc": {"class": "Lexical", "options": {}, "../weights": ARRAY}}},
        {"rerankers": None},
        {"steps": [{"class": "Pickle"}]},
        {"steps": [{"by": "scores"}]},
        {"steps": None},
        {"pool": {"limit": 0}},
        {"pool": {"limit": 10**30}},
        {"pool": {"limit": 2.5}},
        {"pool": {"exclude": ["exact_match", "tfidf"]}},
        {"pool": {"exclude": ["dense"]}},
        {"pool": None},
    ],
)
def test_a_manifest_that_says_something_impossible_is_a_model_error(
    words: Tagger, tmp_path: Path, wrong: dict[str, object]
) -> None:
    words.save(tmp_path / "saved")
    rewrite(tmp_path / "saved", lambda manifest: manifest.update(wrong))
    with pytest.raises(ModelError, match=r"is damaged \(.*\); save the tagger again$"):
        Tagger.load(tmp_path / "saved")


@pytest.mark.parametrize(
    "wrong",
    [
        {"by": "magic"},
        {"rank_constant": math.nan},
        {"weights": {"exact_match": "much"}},
        {"weights": {"exact_match": 0, "tfidf": 0}},
        {"language_trust": {"tfidf": "dense"}},
    ],
)
def test_a_step_with_impossible_options_is_a_model_error(
    words: Tagger, tmp_path: Path, wrong: dict[str, object]
) -> None:
    words.save(tmp_path / "saved")
    rewrite(tmp_path / "saved", lambda manifest: manifest["steps"][0].update(wrong))
    with pytest.raises(ModelError, match="is damaged"):
        Tagger.load(tmp_path / "saved")


def test_the_files_of_a_manifest_lie_in_its_folder(words: Tagger, tmp_path: Path) -> None:
    words.save(tmp_path / "tagger")
    (tmp_path / "secret").write_text("twelve bytes")
    for name in ("../secret", str(tmp_path / "secret")):
        outside = {name: [12, "0" * 32]}
        rewrite(tmp_path / "tagger", lambda manifest: manifest["files"].update(outside))  # noqa: B023
        with pytest.raises(ModelError, match="secret is missing"):  # it is not even looked at
            Tagger.load(tmp_path / "tagger")


def test_a_tagger_of_another_format_is_a_model_error_that_says_what_to_do(words: Tagger, tmp_path: Path) -> None:
    words.save(tmp_path / "saved")
    path = tmp_path / "saved" / "manifest.json"
    path.write_text(json.dumps({"tagwright": 2, "kind": "tagger", "stages": {"exact_match": "ExactMatch"}}))
    with pytest.raises(ModelError, match="format 2, this Tagwright reads 1; train or save it again"):
        Tagger.load(tmp_path / "saved")


def test_confidence_is_not_asked_of_a_tagger_that_estimates_none(words: Tagger) -> None:
    assert [each.confidence for each in words.suggest("Bees.")] == [None]
    with pytest.raises(ConfigError, match=r"does not estimate .*; train it again, or leave out the least"):
        words.suggest("Bees.", min_confidence=0.5)


def test_steps_see_all_that_is_known(words: Tagger) -> None:
    tagger = replace(words, rerankers={"again": Fixed({0: 2.0})})
    pool = tagger.candidates(DOCUMENTS)
    assert list(pool.stages) == ["exact_match", "tfidf", "again"]
    assert pool.documents == DOCUMENTS
    assert as_lists(pool.found["tfidf"]) == as_lists(words.retrievers["tfidf"](DOCUMENTS))
    assert pool.run.scores.tolist() == [2.0] * 3  # found by both retrievers
    assert pool.scores("again").tolist() == [2.0, 0.0, 0.0]
    assert pool.scores("again") is pool.scores("again")
    assert as_lists(pool.ranking("tfidf")) == as_lists(pool.found["tfidf"])
    assert as_lists(pool.ranking("again")) == ([0, 1, 1, 1, 1], [0], [2.0])
    assert pool.trust("again", 1.0) is None
