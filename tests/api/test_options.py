"""Options of methods by name, and the settings of the papers."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, Literal

import pytest

from tagwright import auto
from tagwright.api.options import configuration, options_of
from tagwright.errors import ConfigError
from tagwright.papers import depl, futex, maclr, micol, rts, svm
from tagwright.tagger import zero_shot
from tagwright.training.config import TrainingConfig


@pytest.mark.parametrize(
    "options",
    [
        {"epochs": 2, "seed": 3},
        {"training": {"epochs": 2, "seed": 3}},
        {"training": TrainingConfig(epochs=2, seed=3)},
        {"training": {"epochs": 2}, "seed": 3},
        {"training": TrainingConfig(epochs=2), "seed": 3},
        {"seed": 3, "training": TrainingConfig(epochs=2)},
        {"epochs": 2, "training": {"epochs": 2, "seed": 3}},
    ],
)
def test_options_of_the_training_may_stand_beside_the_others(
    options: dict[str, Any], caplog: pytest.LogCaptureFixture
) -> None:
    found = configuration("rts", {**options, "min_words": 20})
    assert found == rts.Config(min_words=20, training=TrainingConfig(epochs=2, seed=3))
    assert not caplog.messages


@pytest.mark.parametrize(
    "options",
    [
        {"epochs": 2, "training": {"epochs": 3}},
        {"training": {"epochs": 3}, "epochs": 2},
        {"epochs": 2, "training": TrainingConfig(epochs=3)},
    ],
)
def test_an_option_of_the_training_has_one_value(options: dict[str, Any]) -> None:
    with pytest.raises(ConfigError, match=r"^epochs is 2, but training\.epochs is 3; give one$"):
        configuration("rts", options)


def test_a_training_beside_an_option_of_it_leaves_the_rest_to_the_paper() -> None:
    ours = configuration("rts", {"training": TrainingConfig(batch=8), "seed": 3}, paper=True).training
    assert ours == replace(configuration("rts", {}, paper=True).training, batch=8, seed=3)


def test_stages_and_other_choices_may_be_spelled_with_hyphens() -> None:
    assert configuration("zero_shot", {"stages": ["exact-match", "tfidf"]}).stages == ("exact_match", "tfidf")
    assert zero_shot.Config(stages=("exact-match",)) == zero_shot.Config(stages=("exact_match",))
    assert auto.Config(stages=("exact-match",)).zero_shot.stages == ("exact_match",)
    assert configuration("futex", {"retrievers": ["exact-match"]}).retrievers == ("exact_match",)
    assert configuration("zero_shot", {"text_field": "title-and-abstract"}).text_field == "title_and_abstract"


@pytest.mark.parametrize(
    ("changes", "stages"),
    [
        (["+bm25"], ("exact_match", "tfidf", "dense", "bm25")),
        (("-dense",), ("exact_match", "tfidf")),
        (["-exact-match", "+bm25"], ("tfidf", "dense", "bm25")),
        ("+bm25, -tfidf", ("exact_match", "dense", "bm25")),
    ],
)
def test_stages_are_added_to_the_default_and_left_out_of_it(changes: Any, stages: tuple[str, ...]) -> None:
    assert configuration("zero_shot", {"stages": changes}).stages == stages
    assert configuration("auto", {"stages": changes}).zero_shot.stages == stages
    assert zero_shot.Config(stages=changes).all_stages == stages
    assert options_of(zero_shot.Config(stages=changes))["stages"] == list(stages)


@pytest.mark.parametrize("changes", [["tfidf", "+bm25"], ["+tfidf"], ["-bm25"], "-dense,tfidf", ["+bm25", "-bm25"]])
def test_changes_of_stages_that_make_no_sense_are_refused(changes: Any) -> None:
    with pytest.raises(ConfigError, match="only names, or only changes of exact_match, tfidf, dense: "):
        configuration("zero_shot", {"stages": changes})


def test_a_stage_that_is_added_must_exist_and_one_must_be_left() -> None:
    with pytest.raises(ConfigError, match='"bm52"], expected a list, each one of exact_match, bm25, tfidf, dense'):
        configuration("zero_shot", {"stages": ["+bm52"]})
    with pytest.raises(ConfigError, match=r"stages is \[\], expected one or more values"):
        configuration("zero_shot", {"stages": ["-exact_match", "-tfidf", "-dense"]})


def test_a_stage_in_two_spellings_is_named_twice() -> None:
    with pytest.raises(ConfigError, match=r"stages is .* expected one or more values without duplicates"):
        zero_shot.Config(stages=("exact_match", "exact-match"))


def test_what_is_recorded_of_a_training_is_what_a_resumed_one_may_not_change() -> None:
    options = options_of(rts.Config(encoder="static", training=TrainingConfig(checkpoint_seconds=0)))
    assert options["encoder"] == "static"
    assert options["training"]["seed"] == 0
    assert "checkpoint_seconds" not in options["training"]


def test_rts_table_3_and_4_2_3() -> None:
    """LF-Amazon-131K; the learning rate falls to a tenth along a line; the CLS token of MPNet; AdamW."""
    config = rts.paper()
    assert (config.min_words, config.max_words) == (40, 80)
    assert (config.title_pairs, config.segment_pairs, config.label_pairs) == (True, True, True)
    assert (config.temperature, config.pooling, config.groups, config.full_shuffle) == (0.05, "cls", False, True)
    training = config.training
    assert (training.learning_rate, training.epochs, training.batch) == (5e-5, 10, 384)
    assert (training.warmup, training.decay, training.dropout, training.clip) == (0.0, 0.9, "all", 0.0)


def test_maclr_appendix_a() -> None:
    """Eight GPUs with 32 pairs each; Adam; warm-up of a tenth; 512 dimensions from the CLS token; 288 tokens."""
    config = maclr.paper()
    assert (config.pooling, config.projection, config.max_length, config.pseudo_labels) == ("cls", 512, 288, 3)
    assert (config.clusters, config.language, config.exclude_self) == (2048, "none", False)
    assert (config.groups, config.full_shuffle, config.training.clip) == (False, True, 0.0)
    training = config.training
    assert (training.batch, training.steps, training.learning_rate) == (8 * 32, 100_000, 1e-5)
    assert (training.warmup, training.weight_decay) == (0.1, 0.0)
    tuning = maclr.few_shot_paper()
    few = tuning.training
    assert (tuning.groups, tuning.full_shuffle, few.clip) == (False, True, 0.0)
    assert (few.learning_rate, few.steps) == (5e-6, 2_000)


def test_micol_3_2_and_a_3_2() -> None:
    """50,000 pairs and 5,000 for validation; batches of 8 and 4; 256 and 2 * 256 tokens; 3 epochs; tau 0.05; Adam."""
    for architecture, batch, tokens in (("bi", 8, 256), ("cross", 4, 2 * 256)):
        config = micol.paper(architecture)  # type: ignore[arg-type]
        assert config.count == 55_000
        assert config.training.validation == pytest.approx(5_000 / 55_000)
        assert (config.training.batch, config.max_length, config.training.epochs) == (batch, tokens, 3)
        assert (config.temperature, config.training.weight_decay) == (0.05, 0.0)
        assert (config.label_text, config.text_field, config.rank) == ("described", "title_and_abstract", "encoder")
    assert micol.paper("bi").pooling == "cls"


def test_futex_4_1() -> None:
    """MAG-CS. The first 100 steps are warm-up, then the rate falls along a line to nothing."""
    config = futex.paper()
    assert (config.meta_path, config.count, config.abstract_chance) == ("P->P<-P", 45_000, 0.0)
    assert config.pseudo_labels == 5
    assert (config.min_papers, config.text_field, config.max_length) == (5, "title_and_abstract", 2 * 256)
    assert (config.rankings, config.retrievers) == (("abstract", "fulltext"), ("exact_match",))
    assert config.full_text.unit_paragraphs is False
    assert (config.network, config.training.clip) == ("shared", 0.0)
    training = config.training
    assert (training.batch, training.learning_rate, training.weight_decay) == (8, 5e-5, 0.01)
    assert (training.warmup_steps, training.over(futex.CROSS).decay, training.epochs) == (100, 1.0, 20)


def test_what_the_published_code_of_rts_has_instead() -> None:
    """train.py: --model all-mpnet-base-v1; tokenizer_max_len is twice --max-len 80; (t, t) and (l, l) of titles."""
    paper, code = rts.paper(), rts.published_code()
    assert paper.encoder == "microsoft/mpnet-base"
    assert code.encoder == "sentence-transformers/all-mpnet-base-v1"
    assert (code.max_length, code.self_pairs, code.label_text) == (160, True, "name")
    assert replace(code, encoder=paper.encoder, max_length=None, self_pairs=False, label_text="text") == paper


@pytest.mark.parametrize("architecture", ["bi", "cross"])
def test_what_the_published_code_of_micol_has_instead(architecture: Literal["bi", "cross"]) -> None:
    """main.py: --learning_rate 5e-5, --weight_decay 0.01, --warmup_steps 100, --max_grad_norm 1; mag_prp/prepare.py."""
    paper, code = micol.paper(architecture), micol.published_code(architecture)
    training = code.training
    assert (training.learning_rate, training.weight_decay, training.warmup_steps, training.clip) == (5e-5, 0.01, 100, 1)
    assert (paper.by_value, code.by_value) == (False, True)  # prepare.py: a reference, then one of its documents
    assert replace(code, by_value=False, training=paper.training) == paper


def test_what_the_published_code_of_maclr_has_instead() -> None:
    """examples/MACLR of PECOS. run.sh and accelerate_config.yaml: 16 pairs on each of 8 processes.

    main.py: 4 labels of a process for the regularisation, a norm of at most 1, titles as labels. dataset.py: a title is
    taken from a sentence unless random() is at most 0.1, and the first pseudo label of each kind is taken; that of the
    encoder if its score is more than 36. model.py: vectors are 512 values of tanh, so of length 512 ** .5 at most.
    """
    paper, code = maclr.paper(), maclr.published_code()
    assert (code.training.batch, code.training.clip, code.sampled_labels) == (128, 1.0, 32)
    assert (code.without_title, code.pseudo_labels, code.label_text) == (0.9, 1, "name")
    assert code.min_cosine == pytest.approx(36 / (512**0.5 * 512**0.5))
    same: dict[str, Any] = {"sampled_labels": None, "without_title": 0.0, "pseudo_labels": 3, "label_text": "text"}
    assert replace(code, **same, min_cosine=-1.0, training=paper.training) == paper


def test_what_the_published_code_of_futex_has_instead() -> None:
    """contrastive/prepare_train.py: the first paragraph when random() < 0.5, a reference and then one of its papers.

    contrastive/main.py: --max_grad_norm 1. prepare_test.py and get_label_emb.py read the text of a label with its
    description, as the paper says (3.1).
    """
    paper, code = futex.paper(), futex.published_code()
    assert (code.abstract_chance, code.by_value, code.order, code.training.clip) == (0.5, True, "append", 1.0)
    assert paper.label_text == code.label_text == "described"
    assert replace(code, abstract_chance=0.0, by_value=False, order="example", training=paper.training) == paper


def test_depl_a_1_3() -> None:
    """EURLex-4K and AmazonCat-13K: 300 labels of a batch, 10 hard negatives, 20 keywords, 16 tokens, three rates."""
    config = depl.paper()
    assert (config.sampled_labels, config.hard_negatives, config.keywords, config.tokens) == (300, 10, 20, 16)
    assert (config.trained_start, config.label_pooling, config.unit_vectors) == (True, "mean", False)
    assert config.training.clip == 0.0
    assert (config.svm.loss, config.svm.prune) == ("hinge", 0.0)  # 3.2
    batch = config.training.batch
    assert batch is not None
    assert batch * (config.hard_negatives + 5.3) < 300  # 5.3 labels a document in EURLex-4K: the others are random
    classifier, classifier_rates, dual, dual_rates, _ = depl.TRANSFORMER
    first, then = (config.training.over(plan).learning_rate for plan in (classifier, dual))
    assert (
        first,
        first * classifier_rates[0],
        first * classifier_rates[1],
    ) == pytest.approx((5e-5, 1e-4, 2e-3))
    assert (then, then * dual_rates[0]) == pytest.approx((1e-5, 1e-4))
    assert config.apart is False
    assert replace(config, variant="de_ret").options.names_only


def test_the_svm_of_depl_3_2() -> None:
    assert (svm.paper().loss, svm.paper().prune) == ("hinge", 0.0)
