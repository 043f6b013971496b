"""`train auto`: documents with labels or without in, the best tagger that they allow out."""

from __future__ import annotations

import json
import logging
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.tiny import tiny_encoder

from tagwright import auto
from tagwright.auto import combination, examples, out_of_fold, ranker, recipe
from tagwright.auto.combination import judged_only
from tagwright.auto.ranker import Examples
from tagwright.auto.recipe import TrainedStage
from tagwright.combining.candidate_features import Features
from tagwright.combining.learned_combiner import CandidateRanker, LearnedCombiner, Logistic
from tagwright.combining.steps import find_last
from tagwright.combining.weighted_sum import WeightedSum
from tagwright.core.steps import Steps
from tagwright.data.vocabulary import Vocabulary
from tagwright.errors import ConfigError
from tagwright.papers import depl, rts
from tagwright.stages.dense import Dense
from tagwright.stages.linear.stage import Linear
from tagwright.stages.linear.svm import fit_svm
from tagwright.stages.names.exact_match import ExactMatch
from tagwright.stages.nearest_labelled import NearestByMeaning, NearestLabelled
from tagwright.tagger import Tagger, zero_shot
from tagwright.tagger.fuse import fuse
from tagwright.types import Document, Floats, Label, Run

pytestmark = pytest.mark.usefixtures("quick_auto")

TOPICS = {"alpha": "honey flower wing", "beta": "market stock money", "gamma": "river water stone"}
"What the documents of a label are about; the names of the labels are in none of them."

NOISE = [Label(f"noise{number}", (word,)) for number, word in enumerate(("rain", "wasp", "bank", "bee"))]
LABELS = Vocabulary([*(Label(name, (name,)) for name in TOPICS), *NOISE])
CONFIG = auto.Config(stages=("exact_match", "tfidf"), language="english")


def document(number: int, *, labelled: bool = True) -> Document:
    """One that names only labels that are wrong for it."""
    rng = np.random.default_rng(number)
    topic = list(TOPICS)[number % len(TOPICS)]
    words = [*rng.choice(TOPICS[topic].split(), 6), rng.choice(["rain", "wasp", "bank", "bee"])]
    return Document(f"d{number}", title=f"Notes {number}", abstract=" ".join(words), labels=(topic,) * labelled)


LABELLED = [document(number) for number in range(60)]
UNLABELLED = [document(number, labelled=False) for number in range(60, 90)]
OTHERS = [document(number) for number in range(100, 130)]


def first(tagger: Tagger) -> list[str]:
    return [LABELS.ids[labels[0]] if len(labels) else "" for labels, _ in tagger.tag(OTHERS, k=1)]


def same(one: Tagger, other: Tagger) -> bool:
    a, b = one.tag(OTHERS, k=100), other.tag(OTHERS, k=100)
    return np.array_equal(a.labels, b.labels) and np.allclose(a.scores, b.scores)


@pytest.fixture(scope="module", name="learned")
def trained_on_some_labelled_documents() -> Tagger:
    return auto.fit([*LABELLED, *UNLABELLED], LABELS, CONFIG)


def test_without_labels_it_is_the_zero_shot_method(tmp_path: Path) -> None:
    config = replace(CONFIG, stages=("exact_match", "dense"), encoder=str(tiny_encoder(tmp_path / "tiny")))
    tagger = auto.fit(UNLABELLED, LABELS, config)
    assert same(tagger, zero_shot.fit(LABELS, config.zero_shot, UNLABELLED))
    assert tagger.training["auto"]["kept"] == "zero_shot"


def test_what_only_labelled_documents_tell_is_learned_by_the_svm(learned: Tagger) -> None:
    right = [each.labels[0] for each in OTHERS]
    assert isinstance(learned.retrievers["svm"], Linear)
    assert first(learned) == right
    assert first(zero_shot.fit(LABELS, CONFIG.zero_shot)) != right
    record = learned.training["auto"]
    assert record["kept"] == "combiner with svm and knn"
    assert record["nDCG@5"] == {"zero_shot": 0.0, "combiner with svm and knn": 1.0}
    certain = {"value": 1.0, "low": 1.0, "high": 1.0}  # each document gains all
    assert record["gain"] == {**certain, "unlike": 0.0, "others": 0, "trust": 1.0}


def test_a_label_that_only_trained_stages_find_is_learned_however_few_candidates_the_sum_has() -> None:
    """All documents have a label that stands in none, and the first candidate of the sum is one that a text names."""
    everywhere = Vocabulary([*LABELS, Label("humans", ("Humans",))])
    documents = [replace(each, labels=("humans", *each.labels)) for each in LABELLED]
    config, humans = replace(CONFIG, candidates=1), everywhere.index["humans"]
    found = auto.fit(documents, everywhere, config).tag(OTHERS, k=1)
    assert {int(labels[0]) for labels, _ in found} == {humans}
    cut = auto.fit(documents, everywhere, replace(config, candidates_each=0)).tag(OTHERS, k=1)
    assert humans not in {int(labels[0]) for labels, _ in cut}


def test_a_stage_that_is_clearly_better_alone_is_kept_and_a_line_says_so(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture, tmp_path: Path
) -> None:
    caplog.set_level(logging.INFO, "tagwright")

    def train_nothing(known: Examples, _: object) -> CandidateRanker:
        names = known.features.names
        return CandidateRanker(names, Logistic(np.zeros(len(names)), np.ones(len(names)), np.zeros(len(names)), 0.0))

    monkeypatch.setattr(ranker, "train_ranker", train_nothing)
    config = replace(CONFIG, stages=("exact_match", "dense"), encoder=str(tiny_encoder(tmp_path / "tiny")))
    stages: tuple[TrainedStage, ...] = ("svm", "knn_dense")
    for trained in stages:
        kept = f"{trained} alone"
        tagger = auto.fit(LABELLED, LABELS, replace(config, trained=(trained,)))
        record = tagger.training["auto"]
        assert record["kept"] == kept
        assert record["nDCG@5"][kept] > max(each for name, each in record["nDCG@5"].items() if name != kept)
        assert f"and {trained} alone is clearly better: it is kept" in caplog.text
        assert first(tagger) == [each.labels[0] for each in OTHERS]
        confidences = tagger.tag(OTHERS, k=1).confidences
        assert confidences is not None
        assert confidences.mean() > 0.8


def test_labels_of_the_scored_documents_are_hidden_from_their_svm() -> None:
    # a label that one document alone has: no SVM that has not seen this document can suggest it
    odd = replace(LABELLED[7], labels=("noise0",))
    documents = [*LABELLED[:7], odd, *LABELLED[8:]]
    tagger = combination.with_more_stages(zero_shot.fit(LABELS, CONFIG.zero_shot))
    described = combination.describe_corpus(tagger, documents, ranker.CombinerOptions())
    folds = out_of_fold.Folds(documents, LABELS, LABELS.gold(documents), np.arange(60))
    found, weights = examples.with_trained(tagger, described, documents, folds, ["svm", "knn"])
    assert weights == pytest.approx(dict.fromkeys(("svm", "knn"), 60 / 210))
    noise0 = LABELS.index["noise0"]
    for stage in ("svm", "knn"):
        scores = found.features.values[:, found.features.names.index(f"{stage}: score")]
        assert not scores[(found.run.rows == 7) & (found.run.labels == noise0)].any()
        assert scores[(found.run.rows != 7) & (found.run.labels == noise0)].any()
    assert [len(labels) for labels, _ in found.gold] == [1] * 60
    assert found.gold[7][0].tolist() == [noise0]


@pytest.mark.parametrize(("scored", "trained"), [(4, 1), (10, 2)])
def test_the_svm_is_not_trained_again_where_it_has_seen_all_but_one_in_twenty(
    monkeypatch: pytest.MonkeyPatch, scored: int, trained: int
) -> None:
    documents, seen = [document(number) for number in range(100)], list[int]()

    def counted(features: Any, *arguments: Any, **options: Any) -> Any:
        seen.append(features.shape[0])
        return fit_svm(features, *arguments, **options)

    monkeypatch.setattr(out_of_fold, "fit_svm", counted)
    folds = out_of_fold.Folds(documents, LABELS, LABELS.gold(documents), np.arange(scored))
    assert len(folds.parts) == 1
    outside, last = folds.outside("svm", 0), folds.last(["svm", "knn"])
    assert seen == [100 - scored, 100][:trained]
    knn = last["knn"]
    assert isinstance(knn, NearestLabelled)
    assert len(knn.gold) == 100
    assert (last["svm"] is outside) == (trained == 1)


def test_where_labels_teach_nothing_the_fixed_sum_stays() -> None:
    # every document has the label that it names, which the zero-shot method finds, or one that no other document has
    labels = Vocabulary([*LABELS, *(Label(f"other{number}", (f"word{number}",)) for number in range(200))])
    named = {label.name: label.id for label in NOISE}
    found = [named[each.abstract.split()[-1]] for each in LABELLED]
    given = [right if number % 4 else f"other{number}" for number, right in enumerate(found)]
    noisy = [replace(each, labels=(label,)) for each, label in zip(LABELLED, given, strict=True)]
    tagger = auto.fit(noisy, labels, CONFIG)
    assert tagger.training["auto"]["kept"] == "zero_shot"
    assert same(tagger, zero_shot.fit(labels, CONFIG.zero_shot, noisy))
    # each document has one suggestion, right three times in four: targets 46/47 and 1/17 have the mean 0.749
    assert tagger.tag(OTHERS).confidences == pytest.approx(0.749, abs=0.001)


def test_documents_without_labels_are_not_negative(learned: Tagger) -> None:
    more = auto.fit([*LABELLED, *UNLABELLED], LABELS, CONFIG, gold=LABELS.gold([*LABELLED, *UNLABELLED]))
    assert same(more, learned)
    svm = learned.retrievers["svm"]
    alone = auto.fit(LABELLED, LABELS, CONFIG).retrievers["svm"]
    assert isinstance(svm, Linear)
    assert isinstance(alone, Linear)
    assert np.allclose(svm.weights.toarray(), alone.weights.toarray())


def test_rts_reads_other_texts_and_the_dual_encoder_learns_with_the_svm_of_its_documents(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    pytest.importorskip("torch")
    read, trained = list[str](), list[tuple[int, int]]()

    def rts_fit(documents: Any, labels: Vocabulary, config: Any, steps: Steps) -> Tagger:
        assert config.is_static
        assert not config.label_pairs
        assert steps.folder is None
        read.extend(each.id for each in documents)
        return Tagger(labels, {"dense": ExactMatch(labels)})

    def depl_fit(documents: Any, labels: Vocabulary, config: Any, steps: Steps, *, gold: Run, svm: Tagger) -> Tagger:
        assert config.is_static
        assert steps.folder is None
        assert isinstance(svm.retrievers["svm"], Linear)
        trained.append((len(documents), len(gold)))
        return Tagger(labels, {"dual": ExactMatch(labels)})

    monkeypatch.setattr(rts, "fit", rts_fit)
    monkeypatch.setattr(depl, "fit", depl_fit)
    assert [out_of_fold.lacking(name, {"labelled": 6000, "unread": 1000}) for name in ("depl_cls", "rts")] == ["", ""]
    monkeypatch.setattr(out_of_fold, "STAGES", dict.fromkeys(out_of_fold.STAGES, ({"unread": 30}, ())))
    tagger = auto.fit([*LABELLED, *UNLABELLED], LABELS, replace(CONFIG, trained=("svm", "depl_cls", "rts")))
    assert read == [each.id for each in UNLABELLED]  # the combiner does not learn from these
    assert trained == [*[(48, 48)] * 5, (60, 60)]
    assert tagger.training["auto"]["stages"] == ["zero_shot", "combiner", "svm", "depl_cls", "rts"]
    assert isinstance(tagger.retrievers["rts"], ExactMatch)


def test_static_encoders_are_trained_only_where_minilm_is_to_be_had(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(out_of_fold, "has_packaged", lambda: False)
    held = {"labelled": 6000, "unread": 1000, "encoders": 1}
    said = {name: out_of_fold.lacking(name, held) for name in out_of_fold.STAGES}
    assert [name for name, why in said.items() if why] == ["depl_cls", "rts"]
    assert said["rts"].endswith("minilm, not installed here")


def test_the_nearest_documents_by_meaning_share_what_the_encoder_reads(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    config = replace(CONFIG, stages=("exact_match", "dense"), encoder=str(tiny_encoder(tmp_path / "tiny")))
    tagger = auto.fit([*LABELLED, *UNLABELLED], LABELS, config)
    assert tagger.training["auto"]["gain"]["others"] == len(UNLABELLED)
    near = tagger.retrievers["knn_dense"]
    assert isinstance(near, NearestByMeaning)
    assert near.vectors.shape == (60, 16)
    dense, asked = tagger.retrievers["dense"], list[int]()
    assert isinstance(dense, Dense)
    encode = dense.encoder.encode

    def counted(texts: Any, **options: Any) -> Floats:
        asked.append(len(texts))
        return encode(texts, **options)

    tagger.tag(OTHERS[:1])  # reads the general topics
    monkeypatch.setattr(dense.encoder, "encode", counted)
    found = tagger.tag(OTHERS, k=3)
    assert asked == [len(OTHERS)]
    tagger.save(tmp_path / "tagger")
    assert np.array_equal(Tagger.load(tmp_path / "tagger").tag(OTHERS, k=3).labels, found.labels)
    fused = fuse(zero_shot.fit(LABELS, config.zero_shot), replace(tagger, steps=(WeightedSum(by="evidence"),)))
    assert fused.retrievers["knn_dense"].shares == "trained-2"  # exact_match is "trained"
    assert len(fused.tag(OTHERS, k=3)) == len(OTHERS)


MISLED = ("honey", "wasp", "flower", "market", "money", "river")


def misled(number: int) -> Document:
    """One whose title names two labels, and whose text the one that is right."""
    names = np.random.default_rng(number).permutation(MISLED)
    return Document(f"m{number}", title=f"{names[0]} {names[1]}", abstract=f"About {names[2]} only", labels=(names[2],))


def test_a_combiner_is_kept_that_is_better_than_the_sum(tmp_path: Path) -> None:
    labels = Vocabulary([Label(name, (name,)) for name in MISLED])
    tagger = auto.fit([misled(number) for number in range(60)], labels, CONFIG)
    assert find_last(tagger.steps, LearnedCombiner)
    found = [misled(number) for number in range(100, 120)]
    right = [each.labels[0] for each in found]
    assert [each[0].id for each in tagger.suggest(found)] == right
    tagger.save(tmp_path / "tagger")
    assert [each[0].id for each in Tagger.load(tmp_path / "tagger").suggest(found)] == right


def test_a_killed_training_goes_on_after_the_last_finished_stage(
    learned: Tagger, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    documents, count = [*LABELLED, *UNLABELLED], 0

    def killed(*arguments: Any, **options: Any) -> Any:
        nonlocal count
        count += 1
        if count == 3:
            raise KeyboardInterrupt
        return fit_svm(*arguments, **options)

    def never(*_: object) -> None:
        raise AssertionError("a finished stage is not repeated")

    monkeypatch.setattr(out_of_fold, "fit_svm", killed)
    with pytest.raises(KeyboardInterrupt):
        auto.fit(documents, LABELS, CONFIG, Steps(tmp_path))
    monkeypatch.setattr(combination, "describe_corpus", never)
    resumed = auto.fit(documents, LABELS, CONFIG, Steps(tmp_path, resume=True))
    assert count == 3 + 5 + 1  # the five folds, of which two are read from the folder, and all
    assert same(resumed, learned)


def test_unjudged_candidates_of_a_reviewed_document_are_unknown() -> None:
    run = Run.from_rows([{0: 3.0, 1: 2.0, 2: 1.0}, {0: 2.0, 1: 1.0}])
    features = Features(("a",), np.arange(5, dtype=np.float32)[:, None])
    found = judged_only(Examples(run, features, Run.from_rows([[0], [1]]), 3), Run.from_rows([[0, 2], []]))
    assert [labels.tolist() for labels, _ in found.run] == [[0, 2], [0, 1]]
    assert found.features.values[:, 0].tolist() == [0, 2, 3, 4]


class Clock:
    """A clock that stands still, but for the minutes that a step takes."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.minutes, self.patch = 0.0, monkeypatch
        monkeypatch.setattr(recipe, "monotonic", lambda: 60 * self.minutes)

    def takes(self, owner: Any, name: str, minutes: float) -> None:
        """Make a function take so long."""
        function = getattr(owner, name)

        def timed(*arguments: Any, **options: Any) -> Any:
            self.minutes += minutes
            return function(*arguments, **options)

        self.patch.setattr(owner, name, timed)


@pytest.mark.parametrize(
    ("minutes", "stages"), [(4.9, ["svm"]), (2.0, ["svm", "knn"]), (0.9, ["svm", "knn"]), (5.0, []), (9.0, [])]
)
def test_stages_begin_in_the_first_half_and_what_has_begun_is_finished(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture, minutes: float, stages: list[str]
) -> None:
    caplog.set_level(logging.DEBUG, "tagwright")
    clock = Clock(monkeypatch)
    clock.takes(combination, "examples", minutes)
    clock.takes(out_of_fold, "fit_svm", 0.1)
    record = auto.fit(LABELLED, LABELS, CONFIG).training["auto"]
    assert record["stages"] == ["zero_shot", "combiner", *stages]
    late = ", ".join(name for name in ("svm", "knn") if name not in stages)
    said = caplog.text
    gained = "gain on new documents: +100.0 to +100.0 points (95% interval), if these are like the labelled ones"
    assert (gained in said) == bool(stages)
    assert (f"without {late}: half of 10 minutes was over" in said) == bool(late)
    assert f"again, whatever the time: trained={json.dumps(['combiner', *stages])}" in said
    assert record["kept"] == ("combiner with " + " and ".join(stages) if stages else "zero_shot")


def test_named_stages_are_trained_however_long_they_take(learned: Tagger, monkeypatch: pytest.MonkeyPatch) -> None:
    clock = Clock(monkeypatch)
    clock.takes(combination, "describe_corpus", 60.0)
    documents, stages = [*LABELLED, *UNLABELLED], learned.training["auto"]["stages"]
    assert stages == ["zero_shot", "combiner", "svm", "knn"]
    assert same(auto.fit(documents, LABELS, replace(CONFIG, trained=tuple(stages[1:]))), learned)
    alone = auto.fit(documents, LABELS, replace(CONFIG, trained=("knn",))).training["auto"]
    assert alone["stages"] == ["zero_shot", "combiner", "knn"]
    with pytest.raises(ConfigError, match=r"trained has knn_dense, which cannot be: no stage has an encoder; leave it"):
        auto.fit(documents, LABELS, replace(CONFIG, trained=("svm", "knn_dense")))


def test_where_the_packaged_encoder_leaves_no_time_for_labels_a_lighter_one_is_taken(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    slow, quick = (str(tiny_encoder(tmp_path / name)) for name in ("slow", "quick"))
    monkeypatch.setattr(zero_shot, "PACKAGED", slow)
    monkeypatch.setattr(recipe, "STATIC", quick)
    for module in (zero_shot, recipe):
        monkeypatch.setattr(module, "has_packaged", lambda: True)
    monkeypatch.setattr(combination, "BATCH", 32)  # the time is looked at before each batch
    clock, candidates = Clock(monkeypatch), Tagger.candidates

    def timed(tagger: Tagger, documents: Any) -> Any:
        clock.minutes += 5.0 * (encoder_of(tagger) == slow)
        return candidates(tagger, documents)

    monkeypatch.setattr(Tagger, "candidates", timed)
    config = replace(CONFIG, stages=("exact_match", "dense"))
    found = auto.fit(LABELLED, LABELS, config, Steps(tmp_path / "steps"))
    assert "svm" in found.training["auto"]["stages"]
    assert encoder_of(found) == found.training["auto"]["encoder"] == quick
    clock.minutes = 0.0  # the resumed training reads nothing with the slow one
    assert same(auto.fit(LABELLED, LABELS, config, Steps(tmp_path / "steps", resume=True)), found)
    assert clock.minutes == 0.0
    named = auto.fit(LABELLED, LABELS, replace(config, encoder=slow))
    assert encoder_of(named) == slow  # what the user named stays
    assert named.training["auto"]["stages"] == ["zero_shot"]
    assert "none of the 60 labelled documents was used, without the combiner: half of 10 minutes" in caplog.text


def encoder_of(tagger: Tagger) -> str:
    dense = tagger.retrievers.get("dense")
    return str(getattr(dense.encoder, "name", "")) if isinstance(dense, Dense) else ""


def test_the_stages_of_a_tagger_are_combined_in_place_of_those_of_the_zero_shot_method() -> None:
    start = replace(zero_shot.fit(LABELS, CONFIG.zero_shot), training={"method": "zero_shot"})
    documents = [misled(number) for number in range(40)]
    labels = Vocabulary([Label(name, (name,)) for name in MISLED])
    start = start.with_labels(labels)
    found = auto.fit(documents, labels, CONFIG, model=start)
    assert same(found, combination.fit(documents, start)[0])
    assert found.training["before"] == {"method": "zero_shot"}
    assert found.training["combined"]["nDCG@5"]["after"] > found.training["combined"]["nDCG@5"]["before"]
    with pytest.raises(ConfigError, match="2 documents with labels of the vocabulary are needed"):
        auto.fit(documents[:1], labels, CONFIG, model=start)
