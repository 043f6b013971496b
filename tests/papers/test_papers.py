"""The settings of the papers and of the published code; tests/papers/test_recipes.py trains by them."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from typer.testing import CliRunner

import tagwright as tw
from tagwright.api.options import configuration
from tagwright.app.cli import app
from tagwright.errors import ConfigError
from tagwright.papers import maclr, rts
from tagwright.training.config import TrainingConfig


def test_the_options_of_the_published_code_are_printed() -> None:
    printed = CliRunner().invoke(app, ["train", "micol", "--options", "--published-code"]).output
    assert "by_value = false; published code: true" in printed
    assert "training.learning_rate = none (not set); published code: 5e-05" in printed
    code = configuration("rts", {"training": {"epochs": 2}}, published_code=True)
    assert code == replace(rts.published_code(), training=replace(rts.published_code().training, epochs=2))


def test_a_method_without_published_code_says_which_have_it() -> None:
    with pytest.raises(ConfigError, match="published_code=True is accepted by rts, maclr, micol, futex, not by depl"):
        tw.train("depl", ["a"], ["b"], published_code=True)
    with pytest.raises(ConfigError, match="not by finetune"):
        configuration("finetune", {}, published_code=True)


def test_settings_come_after_those_of_the_paper() -> None:
    config = configuration("rts", {"encoder": "minilm", "training": {"epochs": 2}}, paper=True)
    assert (config.encoder, config.training.epochs) == ("minilm", 2)
    assert (config.pooling, config.groups, config.training.decay) == ("cls", False, 0.9)
    assert configuration("rts", {}, paper=True) == rts.paper()
    assert configuration("rts", {"pooling": "none"}, paper=True) == replace(rts.paper(), pooling=None)
    assert configuration("rts", {"training": TrainingConfig(batch=8)}, paper=True).training == replace(
        rts.paper().training, batch=8
    )


def test_what_a_static_encoder_has_of_a_paper(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level("INFO", "tagwright")
    config = configuration("rts", {"encoder": "static", "training": {"learning_rate": 0.1}}, paper=True)
    training = TrainingConfig(learning_rate=0.1, warmup=0.0, decay=0.9, clip=0.0, validation=0.0)
    assert config == replace(rts.paper(), encoder="static", pooling=None, training=training)
    assert "for which pooling, batch, epochs, learning_rate, dropout are the method's own" in caplog.text
    config = configuration("maclr", {"encoder": Path("static")}, paper=True)
    assert (config.clusters, config.projection, config.max_length) == (2048, None, None)
    assert config.training.over(maclr.STATIC) == replace(maclr.STATIC, clip=0.0, validation=0.0)
    with pytest.raises(ConfigError, match="pooling, max_length, projection and prompts are of transformers"):
        configuration("rts", {"encoder": "static", "pooling": "cls"}, paper=True)


def test_epochs_that_are_named_come_before_the_steps_of_the_paper() -> None:
    training = configuration("maclr", {"training": {"epochs": 2}}, paper=True).training
    assert (training.epochs, training.steps, training.batch) == (2, None, 256)
    training = configuration("futex", {"training": {"warmup": 0.2}}, paper=True).training
    assert (training.warmup, training.warmup_steps) == (0.2, None)


def test_a_method_that_is_of_no_paper_says_which_are() -> None:
    asked = ["train", "zero_shot", "--labels", "labels.jsonl", "--output", "M", "--paper"]
    with pytest.raises(ConfigError, match=r"--paper is accepted by rts, .*depl, not by zero_shot"):
        CliRunner().invoke(app, asked, catch_exceptions=False)
    with pytest.raises(ConfigError, match=r"paper=True is accepted by rts, .*depl, not by auto"):
        tw.train("auto", ["a"], ["b"], paper=True)
