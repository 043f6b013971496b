"""The zero-shot method: its configuration, and the tagger it makes."""

from __future__ import annotations

import logging
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from tests.tiny import tiny_encoder

from tagwright.combining.label_free import MANY_LABELS, LabelFree
from tagwright.combining.none_fits import NoneFits, estimate, leave_room
from tagwright.combining.reranked import Reranked
from tagwright.combining.steps import find_last
from tagwright.combining.weighted_sum import WeightedSum
from tagwright.data.vocabulary import Vocabulary
from tagwright.errors import ConfigError
from tagwright.llm.options import LlmOptions
from tagwright.stages.dense import Dense
from tagwright.stages.lexical import Lexical
from tagwright.stages.names.exact_match import ExactMatch, TitleMatch
from tagwright.tagger import Tagger, zero_shot
from tagwright.tagger.fuse import fuse
from tagwright.tagger.zero_shot import Config
from tagwright.types import Document, Label, shortest

LABELS = Vocabulary([Label("bee", ("Bees",), "Insects that make honey."), Label("bank", ("Banks",), "Money is there.")])
DOCUMENTS = [Document("1", "The bees"), Document("2", "Money in the bank")]


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"stages": ()}, "stages is .*, expected one or more values"),
        ({"stages": ("exact_match", "magic")}, "each one of exact_match, bm25, tfidf, dense"),
        ({"stages": ("exact_match", "exact_match")}, "without duplicates"),
        ({"stages": ("exact_match",), "weights": (1.0, 1.0)}, "2 weights for the stages exact_match"),
        ({"weights": (1.0,)}, "1 weights for the stages exact_match, tfidf, dense"),
        ({"candidates": 0}, "candidates is 0, expected at least 1"),
        ({"labels_per_document": 0.0}, "labels_per_document is 0.0, expected more than 0"),
    ],
)
def test_a_configuration_that_cannot_work_is_refused(wrong: dict[str, Any], message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        Config(**wrong)


FINNISH = Vocabulary([Label(str(row), (name,)) for row, name in enumerate(("kalastus", "kirjastot", "taidehistoria"))])


@pytest.mark.parametrize("language", ["auto", "fi", "finnish", "Finnish"])
def test_endings_and_compounds_follow_the_language(language: str) -> None:
    tagger = zero_shot.fit(FINNISH, Config(stages=("exact_match", "tfidf"), weights=(0.5, 1.0), language=language))
    assert tagger.retrievers["exact_match"]([Document("1", "Kirjastoissa")]).labels.tolist() == [1]
    assert tagger.retrievers["tfidf"]([Document("1", "Merikalastuslaki")]).labels.tolist() == [0]


def test_a_saved_tagger_keeps_the_language_that_was_recognised(tmp_path: Path) -> None:
    tagger = zero_shot.fit(FINNISH, Config(stages=("exact_match", "tfidf"), weights=(0.5, 1.0)))
    tagger.save(tmp_path / "saved")
    names, tfidf = Tagger.load(tmp_path / "saved").with_labels(LABELS).stages.values()
    assert isinstance(names, ExactMatch)
    assert isinstance(tfidf, Lexical)
    assert names.options.stem == tfidf.options.stem == "finnish"
    assert tfidf.options.ngrams == 0.5


def test_english_has_no_ngrams() -> None:
    (tfidf,) = zero_shot.fit(LABELS, Config(stages=("tfidf",), weights=(1.0,))).stages.values()
    assert isinstance(tfidf, Lexical)
    assert (tfidf.options.stem, tfidf.options.ngrams) == ("english", 0)


@pytest.mark.parametrize("wrong", [{"language": "klingon"}, {"text_field": "tail"}, {"weights": (-1.0, 1.0, 1.0)}])
def test_what_a_stage_refuses_is_refused(wrong: dict[str, Any], tiny: str) -> None:
    with pytest.raises(ConfigError):
        zero_shot.fit(LABELS, Config(encoder=tiny, **wrong))


def test_the_default_has_names_words_and_meaning(tiny: str) -> None:
    tagger = zero_shot.fit(LABELS, Config(encoder=tiny, weights=(1.0, 1.0, 0.0)))
    assert [type(stage) for stage in tagger.stages.values()] == [ExactMatch, Lexical, Dense, TitleMatch]
    run = tagger.tag(DOCUMENTS, k=1)
    assert [LABELS.ids[label] for label in run.labels] == ["bee", "bank"]


CONFIDENCE = LabelFree(few_labels=2), NoneFits(labels=2)


def test_stages_and_weights_go_together() -> None:
    tagger = zero_shot.fit(LABELS, Config(stages=("bm25", "exact_match"), weights=(2.0, 0.25)))
    assert list(tagger.stages) == ["bm25", "exact_match"]
    assert tagger.steps == (WeightedSum(weights={"bm25": 2.0, "exact_match": 0.25}), *CONFIDENCE)
    plain = zero_shot.fit(LABELS, Config(stages=("tfidf", "exact_match")))
    assert plain.steps == (WeightedSum(weights={"tfidf": 1.0, "exact_match": 0.5}), *CONFIDENCE)


def test_weights_may_be_given_for_some_stages_by_name() -> None:
    tagger = zero_shot.fit(LABELS, Config(stages=("bm25", "exact_match"), weights={"exact_match": 2}))
    assert tagger.steps == (WeightedSum(weights={"bm25": 1.0, "exact_match": 2}), *CONFIDENCE)
    with pytest.raises(ConfigError, match='weights has "dense"; the stages are bm25, exact_match'):
        Config(stages=("bm25", "exact_match"), weights={"dense": 2})


def test_every_stage_gives_as_many_candidates_as_asked_for(tiny: str) -> None:
    config = Config(stages=("exact_match", "bm25", "tfidf", "dense"), weights=(1, 1, 1, 1), candidates=1, encoder=tiny)
    both = Document("3", "Bees and money: a bank of honey")
    tagger = zero_shot.fit(LABELS, config)
    found = tagger.candidates([both]).found
    assert {name: len(run.labels) for name, run in found.items()} == dict.fromkeys(config.stages, 1)


def test_the_language_says_which_endings_are_cut_off(tiny: str) -> None:
    german = Vocabulary([Label("1", ("Häuser",))])
    document = [Document("1", "Ein Haus")]
    for language, found in (("german", 1), ("none", 0)):
        config = Config(stages=("exact_match",), weights=(1.0,), language=language)
        assert len(zero_shot.fit(german, config).tag(document).labels) == found


MANY = Vocabulary([*LABELS, *(Label(f"x{row}", (f"Stone {row}",)) for row in range(MANY_LABELS - 2))])


def test_suggestions_come_with_the_confidences_of_the_label_free_model(tiny: str, tmp_path: Path) -> None:
    tagger = zero_shot.fit(MANY, Config(encoder=tiny))
    pool = tagger.candidates(DOCUMENTS)
    run = tagger.rank(pool)
    assert run.confidences is not None
    assert run.none is not None
    by_formula = LabelFree().apply(pool, run)
    expected = leave_room(by_formula, estimate(pool, by_formula, len(MANY)))
    assert expected.confidences is not None
    assert run.confidences.tolist() == expected.confidences.tolist()
    tagger.save(tmp_path / "saved")
    again = Tagger.load(tmp_path / "saved").suggest(DOCUMENTS[0], k=10)
    assert [each.confidence for each in again] == shortest(run.confidences[:10])


def test_a_trained_tagger_asks_the_language_model_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TAGWRIGHT_LLM", "http://127.0.0.1:9/v1")
    config = Config(stages=("tfidf",), language="en", llm=LlmOptions(model="any"))
    for tagger in (zero_shot.train(DOCUMENTS, LABELS, config), zero_shot.fit(LABELS, config, by_language=True)):
        assert [type(step) for step in tagger.steps] == [WeightedSum, LabelFree, NoneFits, Reranked]


def test_confidences_follow_how_many_labels_a_document_has() -> None:
    words = Config(stages=("exact_match", "tfidf"), language="english")
    few, many = (zero_shot.fit(MANY, replace(words, labels_per_document=usual)) for usual in (2, 12.0))
    for least, most in zip(few.suggest("The bees"), many.suggest("The bees"), strict=True):
        assert least.confidence is not None
        assert most.confidence is not None
        assert least.confidence < most.confidence


def test_confidences_of_few_labels_are_high_where_one_stands_out(tiny: str, tmp_path: Path) -> None:
    """Of three labels none can be more than 1.42 standard deviations above the others."""
    words = Config(stages=("exact_match", "tfidf"), language="english")
    small = zero_shot.fit(MANY, Config(encoder=tiny)).restrict(["bee", "bank"])
    named = zero_shot.fit(Vocabulary(["Bees", "Orchards", "Tax law"]), words)
    best, *others = named.suggest("Bees! Bees fly to the bees of an orchard.")
    assert best.confidence is not None
    assert best.confidence > 0.7
    assert all(each.confidence < 0.5 for each in others if each.confidence is not None)
    for tagger in (small, named, zero_shot.fit(MANY, words)):
        tagger.save(tmp_path / "saved", overwrite=True)
        sure = [each.confidence for each in tagger.suggest("The bees")]
        assert None not in sure
        assert [each.confidence for each in Tagger.load(tmp_path / "saved").suggest("The bees")] == sure
        assert tagger.suggest("The bees", min_confidence=0.999) == []


def test_fused_by_hand_stages_have_no_confidences_that_were_made_for_others(tiny: str) -> None:
    whole, small = zero_shot.fit(MANY, Config(encoder=tiny)), zero_shot.fit(LABELS, Config(encoder=tiny))
    fused = fuse(whole, small.with_labels(MANY))
    assert [each.confidence for each in fused.suggest("The bees")][:1] == [None]


@pytest.fixture
def two(tmp_path: Path) -> str:
    return f"{tiny_encoder(tmp_path / 'first')}+{tiny_encoder(tmp_path / 'second', seed=1)}"


def test_two_encoders_are_two_dense_stages_of_which_each_finds_scores_and_shows_evidence(two: str) -> None:
    tagger = zero_shot.fit(LABELS, Config(encoder=two))
    assert list(tagger.retrievers) == ["exact_match", "tfidf", "dense", "dense-2"]
    described = "exact_match 0.5, tfidf 1, dense 2.5, dense-2 1, title_match 1; combined by evidence"
    assert tagger.description == described
    pool = tagger.candidates(DOCUMENTS)
    for name, folder in zip(("dense", "dense-2"), two.split("+"), strict=True):
        alone = zero_shot.fit(LABELS, Config(encoder=folder, stages=("dense",))).candidates(DOCUMENTS)
        assert pool.found[name].labels.tolist() == alone.found["dense"].labels.tolist()
        assert pool.scores(name) == pytest.approx(alone.found["dense"].scores_of(pool.run), abs=1e-6)
    best, *_ = tagger.explain("The bees make honey.")
    assert {why.stage for why in best.evidence} >= {"exact_match", "dense", "dense-2"}
    assert sum(each.added for each in best.contributions) == pytest.approx(best.score, abs=1e-5)


def test_a_tagger_of_two_encoders_is_saved_restricted_and_given_other_labels(two: str, tmp_path: Path) -> None:
    tagger = zero_shot.fit(MANY, Config(encoder=two))
    tagger.save(tmp_path / "saved")
    again, text = Tagger.load(tmp_path / "saved"), "The bees and the bank"
    assert again.suggest(text) == tagger.suggest(text)
    few = again.restrict(["bee", "bank"])
    assert few.suggest(text) == zero_shot.fit(MANY.restrict(["bee", "bank"]), Config(encoder=two)).suggest(text)
    assert {each.id for each in few.with_labels([*LABELS, Label("wasp", ("Wasps",))]).suggest(text)} >= {"wasp"}


def test_nobody_is_told_to_add_an_encoder_beside_which_there_is_another(
    two: str, caplog: pytest.LogCaptureFixture
) -> None:
    finnish = Document("1", "Hunajan hinta", "Kukasta kukkaan lentävät ahkerat mehiläiset yhä uudestaan.")
    zero_shot.fit(LABELS, Config(encoder=two)).suggest(finnish)
    assert "does not know the language" not in caplog.text
    zero_shot.fit(LABELS, Config(encoder=two.split("+")[0])).suggest(finnish)
    assert "does not know the language" in caplog.text


def test_weights_are_of_both_encoders(two: str) -> None:
    named = zero_shot.fit(LABELS, Config(encoder=two, weights={"dense-2": 0.25}))
    listed = zero_shot.fit(LABELS, Config(encoder=two, weights=(0.5, 1, 2.5, 0.25)))
    assert named.steps == listed.steps
    with pytest.raises(ConfigError, match=r'weights has "dense-2"; the stages are exact_match, tfidf, dense$'):
        Config(weights={"dense-2": 1})


@pytest.mark.parametrize("wrong", ["minilm+minilm", "minilm+", "minilm+static+multilingual"])
def test_two_encoders_at_most_which_differ(wrong: str) -> None:
    with pytest.raises(ConfigError, match='expected one, or two as in "minilm'):
        Config(encoder=wrong)


ANIMALS = ("bee", "wasp", "ant", "moth", "crane", "heron", "stork", "swan", "otter", "beaver", "badger", "lynx")
"Names that are words: what matches names and what compares words find the same labels."


def corpus(documents: int = 60) -> list[Document]:
    """Documents that name two animals among much else, which is what a tiny encoder reads in them."""
    picked = [(ANIMALS[row % 12], ANIMALS[(5 * row + 1) % 12]) for row in range(documents)]
    rest = "Honey, flower, river. " * 20
    return [Document(str(row), f"The {one}", f"The {other}. {rest}") for row, (one, other) in enumerate(picked)]


def test_weights_follow_what_the_stages_agree_on_and_a_line_says_why(
    tiny: str, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    labels, config = Vocabulary(ANIMALS), Config(encoder=tiny, language="english")
    with caplog.at_level(logging.INFO):
        tagger = zero_shot.train(corpus(), labels, config)
    fitted = find_last(tagger.steps, WeightedSum)
    assert fitted
    assert fitted.agreements.documents == 60
    assert 1.0 <= fitted.weights["dense"] < 2.0
    said = caplog.text
    assert "names agree with words here, meaning does not" in said
    assert "weights exact_match 0.5, tfidf 1, dense 1" in said
    assert "weights=fixed" in said
    tagger.save(tmp_path / "saved")
    assert Tagger.load(tmp_path / "saved").steps == tagger.steps
    assert "qualities estimated without labels: names" in tagger.description


def test_labels_of_documents_are_not_read_for_their_weights(tiny: str) -> None:
    labels, config = Vocabulary(ANIMALS), Config(encoder=tiny, language="english")
    labelled = [Document(each.id, each.title, each.abstract, labels=("bee",)) for each in corpus()]
    assert zero_shot.train(labelled, labels, config).steps == zero_shot.train(corpus(), labels, config).steps


@pytest.mark.parametrize(
    ("documents", "options"),
    [
        (49, {}),
        (60, {"weights": "fixed"}),
        (60, {"weights": {"dense": 2.5}}),
        (60, {"stages": ("exact_match", "tfidf")}),
    ],
)
def test_weights_stay_where_documents_are_few_or_the_options_say_so(
    tiny: str, documents: int, options: dict[str, Any]
) -> None:
    labels, config = Vocabulary(ANIMALS), Config(encoder=tiny, language="english", **options)
    tagger = zero_shot.train(corpus(documents), labels, config)
    assert tagger.steps == zero_shot.fit(labels, config).steps


def test_a_document_that_is_a_label_does_not_agree_with_itself(tiny: str) -> None:
    labels, config = Vocabulary(Label(name, (name,)) for name in ANIMALS), Config(encoder=tiny, language="english")
    alone = [Document(name, f"The {name}") for name in ANIMALS * 5]
    tagger = zero_shot.train(alone, labels, config)
    fitted = find_last(tagger.steps, WeightedSum)
    assert fitted
    assert fitted.agreements.names_words == 0.0


def test_two_encoders_give_a_text_the_same_answer_alone_and_beside_thirty_in_other_languages(two: str) -> None:
    tagger, text = zero_shot.fit(MANY, Config(encoder=two)), "The bees and the bank of the river"
    others = [Document(str(row), "Mehiläiset lentävät", f"Kukasta kukkaan {row} kertaa.") for row in range(30)]
    alone = tagger.suggest(Document("it", text))
    assert tagger.suggest([*others[:7], Document("it", text), *others[7:]])[7] == alone
    assert tagger.explain([Document("it", text), *others])[0][0].score == alone[0].score
