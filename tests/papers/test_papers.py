"""The methods as their papers have them: `train METHOD --paper`, with another encoder and in seconds."""

from __future__ import annotations

import json
from dataclasses import replace
from functools import partial
from importlib.util import find_spec
from pathlib import Path

import pytest
from tests.papers.topics import DOCUMENTS, LABELS, NAMES, UNSEEN
from tests.tiny import tiny_encoder
from typer.testing import CliRunner

import tagwright as tw
from tagwright.api.options import configuration
from tagwright.app.cli import app
from tagwright.errors import ConfigError
from tagwright.papers import maclr, rts
from tagwright.registry import METHODS
from tagwright.tagger import Tagger
from tagwright.training.config import TrainingConfig

ONE_STEP = ["training.steps=1", "training.batch=4"]

QUICK = {
    "rts": ["min_words=4", "max_words=8"],
    "maclr": [],
    "micol": ["count=40"],
    "futex": ["count=16", "shortest=1"],
    "depl": ["sampled_labels=12"],
}
"What makes the training of the paper's size one of seconds, apart from `ONE_STEP`."


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> list[str]:
    """Documents with sections that cite what others of their topic cite."""
    folder = tmp_path_factory.mktemp("data")
    rows = (
        {
            "id": document.id,
            "title": document.title,
            "abstract": document.abstract,
            "reference": [f"{topic} handbook"],
            "sections": [{"heading": "Results", "level": 1, "paragraphs": [document.abstract] * 2}],
            "labels": list(document.labels),
        }
        for document, topic in zip(DOCUMENTS, NAMES, strict=True)
    )
    (folder / "docs.jsonl").write_text("\n".join(map(json.dumps, rows)))
    LABELS.write(folder / "labels.jsonl")
    return [str(folder / "docs.jsonl"), "--labels", str(folder / "labels.jsonl")]


def train(method: str, data: list[str], output: Path, settings: list[str], of: str = "--paper") -> Tagger:
    """The tagger that the command line trains with the settings of the paper and these."""
    options = [part for setting in settings for part in ("--set", setting)]
    result = CliRunner().invoke(app, ["train", method, *data, "--output", str(output), of, "--no-check", *options])
    if result.exception and not isinstance(result.exception, SystemExit):
        raise result.exception
    assert result.exit_code == 0, result.output
    return Tagger.load(output)


slow = partial(pytest.param, marks=pytest.mark.slow)


@pytest.fixture(scope="module")
def long(tmp_path_factory: pytest.TempPathFactory) -> str:
    """An encoder that has as many positions as those of the papers."""
    return str(tiny_encoder(tmp_path_factory.mktemp("long") / "tiny", max_length=512, positions=512))


@pytest.mark.parametrize(
    ("method", "name"),
    [*((method, "long") for method in QUICK), ("maclr", "transformer"), slow("rts", "minilm")],
)
def test_the_paper_s_method_is_trained_with_another_encoder(
    method: str, name: str, data: list[str], encoder: dict[str, str], long: str, tmp_path: Path
) -> None:
    if method == "futex" and find_spec("omikuji") is None:  # imported here, it would print into this process
        pytest.skip("omikuji is not installed")
    other = {**encoder, "long": long}.get(name, name)
    short = ["max_length=64"] if name == "transformer" else []  # it has fewer positions than the papers' encoders
    settings = [f"encoder={other}", *short, *ONE_STEP, *QUICK[method]]
    tagger = train(method, data, tmp_path / "M", settings)
    assert len(tagger.tag(UNSEEN[:2], 5)) == 2
    options, paper = tagger.training["options"], METHODS[method].paper
    assert paper is not None
    assert options["encoder"].startswith(other)
    assert options["training"]["learning_rate"] == paper().training.learning_rate
    assert options["training"]["dropout"] == "all"


@pytest.mark.parametrize("method", ["rts", "maclr", "micol", "futex"])
def test_the_published_code_s_method_is_trained_with_another_encoder(
    method: str, data: list[str], long: str, tmp_path: Path
) -> None:
    if method == "futex" and find_spec("omikuji") is None:
        pytest.skip("omikuji is not installed")
    settings = [*ONE_STEP, *QUICK[method], f"encoder={long}"]
    tagger = train(method, data, tmp_path / "model", settings, "--published-code")
    code = METHODS[method].published_code
    assert code is not None
    assert tagger.training["options"]["training"]["learning_rate"] == code().training.learning_rate
    assert tagger.training["options"]["label_text"] == code().label_text


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


@pytest.mark.parametrize("method", ["rts", "maclr"])
def test_a_static_encoder_is_trained_as_the_method_trains_one(
    method: str, data: list[str], encoder: dict[str, str], tmp_path: Path
) -> None:
    settings = [f"encoder={encoder['static']}", *ONE_STEP, *QUICK.get(method, [])]
    tagger = train(method, data, tmp_path / "M", settings)
    [run] = [each for name, each in tagger.training["runs"].items() if name != "stage-2"]
    assert (run["learning_rate"], run["weight_decay"]) == (1e-2, 0.0)
    assert tagger.training["options"]["label_text"] == "text"


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


def test_a_method_that_is_of_no_paper_says_which_are(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"--paper is accepted by rts, .*depl, not by zero_shot"):
        train("zero_shot", ["--labels", "labels.jsonl"], tmp_path / "M", [])
    with pytest.raises(ConfigError, match=r"paper=True is accepted by rts, .*depl, not by auto"):
        tw.train("auto", ["a"], ["b"], paper=True)
