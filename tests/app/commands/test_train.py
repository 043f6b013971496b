from __future__ import annotations

import json
import re
import sys
from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.papers.topics import DOCUMENTS, GOLD, LABELS, UNSEEN, encoders, first_labels
from typer.testing import CliRunner, Result

from tagwright.app.cli import app
from tagwright.combining.pool import PoolOptions
from tagwright.core.steps import NAME, Steps
from tagwright.data.vocabulary import Vocabulary
from tagwright.errors import ConfigError, InputError, TagwrightError
from tagwright.evaluation.metrics import mark_labelled
from tagwright.papers.descriptions import DescriptionRetriever
from tagwright.stages.names.exact_match import ExactMatch
from tagwright.tagger import Tagger, zero_shot
from tagwright.training import loop
from tagwright.types import Label, Run

QUICK = [
    "min_words=4",
    "max_words=8",
    "training.batch=16",
    "training.epochs=12",
    "training.learning_rate=0.01",
    "training.validation=0",
]


@pytest.fixture(scope="module")
def static(tmp_path_factory: pytest.TempPathFactory) -> str:
    return encoders(tmp_path_factory.mktemp("encoders"))["static"]


@pytest.fixture
def data(tmp_path: Path) -> list[str]:
    rows = ({"id": d.id, "title": d.title, "abstract": d.abstract, "labels": list(d.labels)} for d in DOCUMENTS)
    (tmp_path / "docs.jsonl").write_text("\n".join(map(json.dumps, rows)))
    LABELS.write(tmp_path / "labels.jsonl")
    return [str(tmp_path / "docs.jsonl"), "--labels", str(tmp_path / "labels.jsonl")]


def run(*arguments: str, settings: list[str] | None = None, check: bool = False) -> Result:
    """Run a command. A training is not compared with the zero-shot method, which has the packaged encoder."""
    options = [part for setting in settings or [] for part in ("--set", setting)]
    options += ["--no-check"] if arguments[0] == "train" and not check else []
    result = CliRunner().invoke(app, [*arguments, *options])
    if result.exception and not isinstance(result.exception, SystemExit):
        raise result.exception
    return result


def one_step(data: list[str], static: str, output: Path, *more: str) -> Result:
    """Train a tagger for others to go on from."""
    return run(
        "train", "rts", *data, "--output", str(output), *more,
        settings=["training.steps=1", *QUICK, f"encoder={static}"],
    )  # fmt: skip


def test_a_static_encoder_is_trained_without_sentence_transformers_and_others_ask_for_it(
    data: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    own = encoders(tmp_path)
    monkeypatch.setitem(sys.modules, "sentence_transformers", None)
    train = ["train", "rts", *data, "--output", str(tmp_path / "M")]
    run(*train, settings=[*QUICK, f"encoder={own['static']}", "training.epochs=1"])
    assert Tagger.load(tmp_path / "M").tag(UNSEEN[:1]).labels.size
    with pytest.raises(ConfigError, match="needs sentence_transformers, which is not installed"):
        run(*train, "--overwrite", settings=[*QUICK, f"encoder={own['transformer']}"])
    with pytest.raises(ConfigError, match="training by depl needs sentence_transformers"):
        run("train", "depl", *train[2:], "--overwrite", settings=["variant=depl_cls", f"encoder={own['static']}"])


def test_rts_is_trained_saved_and_leaves_nothing_beside_the_tagger(
    data: list[str], static: str, tmp_path: Path
) -> None:
    before = set(tmp_path.iterdir())
    run("train", "rts", *data, "--output", str(tmp_path / "M"), settings=[*QUICK, f"encoder={static}"])
    found = zip(first_labels(Tagger.load(tmp_path / "M").tag(UNSEEN)), GOLD.labels.tolist(), strict=True)
    assert sum(label == topic for label, topic in found) >= 27
    assert set(tmp_path.iterdir()) - before == {tmp_path / "M"}
    assert "loss" in json.loads((tmp_path / "M" / "training.jsonl").read_text().splitlines()[-2])
    record = Tagger.load(tmp_path / "M").training
    assert record["method"] == "rts"
    assert (record["options"]["encoder"], record["options"]["max_words"]) == (static, 8)
    assert record["runs"]["."]["batch"] == 16  # and what the method chose for this encoder
    assert record["runs"]["."]["weight_decay"] == 0.0
    assert {"device", "precision", "threads", "torch"} <= record["machine"].keys()


def test_what_auto_stands_for_is_stored(
    data: list[str],
    static: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("tagwright.training.encoder.PACKAGED", static)
    monkeypatch.setattr("tagwright.training.encoder.uses_gpu", lambda: True)
    options, arguments = QUICK[2:], ["rts", *data, "--output", str(tmp_path / "M")]
    killed(*arguments, settings=options, monkeypatch=monkeypatch)
    with monkeypatch.context() as patch, pytest.raises(ConfigError, match=r'started with encoder ".*, not "static"'):
        patch.setattr("tagwright.training.encoder.uses_gpu", lambda: False)
        run("train", *arguments, "--resume", settings=options)
    said = run("train", *arguments, "--resume", settings=options).stderr
    assert f"encoder: {static}, chosen automatically" in said
    assert Tagger.load(tmp_path / "M").training["options"]["encoder"] == static


def test_a_full_disk_while_saving_keeps_the_old_tagger_and_the_checkpoint(
    data: list[str], static: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from safetensors import SafetensorError

    def full(*_: object, **__: object) -> None:
        raise SafetensorError("Error while serializing: I/O error: No space left on device (os error 28)")

    arguments = ["rts", *data, "--output", str(tmp_path / "M"), "--overwrite"]
    settings = ["training.steps=1", *QUICK, f"encoder={static}"]
    run("train", *arguments, settings=settings)
    before = Tagger.load(tmp_path / "M").tag(UNSEEN).scores.tolist()
    with monkeypatch.context() as patch, pytest.raises(TagwrightError, match=r"cannot be written \(No space left"):
        patch.setattr("tagwright.encoders.bi_encoder.BiEncoder.save", full)
        run("train", *arguments, settings=settings)
    assert Tagger.load(tmp_path / "M").tag(UNSEEN).scores.tolist() == before
    assert (tmp_path / "M.training" / NAME).is_file()
    run("train", *arguments, "--resume", settings=settings)
    with monkeypatch.context() as patch, pytest.raises(TagwrightError, match=r"cannot be written \(No space left"):
        patch.setattr("safetensors.numpy.save_file", full)
        run("train", *arguments, settings=settings)
    assert {path.name for path in tmp_path.iterdir()} >= {"M"}
    assert not (tmp_path / "M.training").exists()


def test_a_run_that_died_is_resumed_from_beside_the_output(
    data: list[str], static: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    settings = [*QUICK, f"encoder={static}", "training.checkpoint_seconds=0", "training.batch=4", "training.epochs=2"]

    def train(name: str, *more: str) -> Result:
        return run("train", "rts", *data, "--output", str(tmp_path / name), *more, settings=settings[2:])

    train("whole")
    original = loop._Run._evaluate
    with monkeypatch.context() as patch, pytest.raises(RuntimeError, match="died"):
        patch.setattr(loop._Run, "_evaluate", lambda run: _die(run) if run.step > 2 else original(run))
        train("died")
    assert not (tmp_path / "died").exists()
    assert (tmp_path / "died.training" / NAME).is_file()
    train("died", "--resume")
    assert not (tmp_path / "died.training").exists()
    ours, theirs = (Tagger.load(tmp_path / name).tag(UNSEEN) for name in ("died", "whole"))
    assert (ours.scores == theirs.scores).all()


def _die(run: object) -> None:
    raise RuntimeError("died")


def test_a_saved_tagger_is_fine_tuned_with_the_share_that_is_asked_for(
    data: list[str], static: str, tmp_path: Path
) -> None:
    one_step(data, static, tmp_path / "M")
    found = [Tagger.load(tmp_path / "M").tag(UNSEEN).scores.tolist()]
    for number, share in enumerate(([], ["--share-of-labels", "0.5"], ["--share-of-pairs", "0.5"])):
        output = tmp_path / f"F{number}"
        few = [data[0], "--model", str(tmp_path / "M"), "--output", str(output), *share]
        run("train", "finetune", *few, settings=["training.validation=0", "training.seed=5"])
        found.append(Tagger.load(output).tag(UNSEEN).scores.tolist())
    assert all(one != other for one, other in combinations(found, 2))
    tuned = Tagger.load(output)
    assert (tuned.training["method"], tuned.training["before"]["method"]) == ("finetune", "rts")
    tuned.restrict(LABELS.ids[:2]).save(tmp_path / "again")
    assert Tagger.load(tmp_path / "again").training == tuned.training


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["rts"], "which labels"),
        (["finetune"], "finetune continues from a saved tagger: give --model DIR"),
        (["rts", "--model", "M"], "--model is accepted by auto, finetune, not by rts"),
        (["maclr", "--share-of-pairs", "0.1"], "--share-of-pairs is accepted by finetune"),
        (
            ["finetune", "--model", "M", "--share-of-labels", "0.1", "--share-of-pairs", "0.1"],
            "got --share-of-labels and --share-of-pairs",
        ),
        (["rts", "--set", "min_word=3"], 'unknown option "min_word"; did you mean "min_words"'),
        (["rts", "--set", "training.epochs=many"], "training.epochs is"),
        (["rts", "--set", "training=4"], "training is 4, expected a table"),
        (["rts", "--set", "training.epoch=4"], 'unknown option "training.epoch"; did you mean "training.epochs"'),
        (["rts", "--set", "epoch=4"], 'unknown option "epoch"; did you mean "training.epochs"'),
        (["micol", "--fuse"], r"--fuse is accepted by rts, maclr, finetune, svm, depl, not by micol"),
        (["futex", "--fuse-with", "M"], "--fuse-with is accepted by rts, maclr, .*, not by futex"),
        (["zero_shot", "--fuse"], "--fuse is accepted by rts, maclr, .*, not by zero_shot"),
        (["finetune", "--model", "M", "--keywords", "K"], r"--keywords is accepted by depl, not by finetune"),
        (["svm", "--set", "encoder=minilm"], 'unknown option "encoder"; known are loss, cost'),
        (["rts", "--set", "training.seed=-1"], "training.seed is -1, expected at least 0"),
        (["rts", "--output", "."], r"--output \.: expected the name of a folder"),
    ],
)
def test_options_that_do_not_fit_are_refused(arguments: list[str], message: str, tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=message):
        run("train", arguments[0], "nowhere.jsonl", "--output", str(tmp_path / "M"), *arguments[1:])


def test_an_output_that_is_something_else_is_refused_before_training(data: list[str], tmp_path: Path) -> None:
    with pytest.raises(TagwrightError, match="exists and is not a saved tagger"):
        run("train", "rts", *data, "--output", str(tmp_path))


def killed(*arguments: str, settings: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    """A training that stops in its second step, with a checkpoint."""
    original = loop._Run._evaluate
    with monkeypatch.context() as patch, pytest.raises(RuntimeError, match="died"):
        patch.setattr(loop._Run, "_evaluate", lambda run: _die(run) if run.step > 1 else original(run))
        run("train", *arguments, settings=[*settings, "training.checkpoint_seconds=0"])


@pytest.mark.parametrize(
    ("method", "settings", "message"),
    [
        ("maclr", [], 'was started with method "rts", not "maclr"'),
        ("rts", ["temperature=0.5"], "was started with temperature 0.05, not 0.5"),
        ("rts", ["documents"], "was started with other documents"),
        ("rts", ["labels"], "was started with other labels"),
    ],
)
def test_a_training_is_resumed_as_it_was_started(
    method: str,
    settings: list[str],
    message: str,
    data: list[str],
    static: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    output, options = ["--output", str(tmp_path / "M")], [*QUICK[2:], f"encoder={static}"]
    killed("rts", *data, *output, settings=options, monkeypatch=monkeypatch)
    if settings == ["documents"]:
        Path(data[0]).write_text("\n".join(Path(data[0]).read_text().splitlines()[1:]))
    elif settings == ["labels"]:
        Vocabulary(reversed(LABELS)).write(data[2])
    more = [setting for setting in settings if "=" in setting]
    with pytest.raises(ConfigError, match=message):
        run("train", method, *data, *output, "--resume", settings=[*options, *more])
    assert (tmp_path / "M.training" / NAME).is_file()


def test_a_fine_tuning_is_resumed_with_the_tagger_it_was_started_with(
    data: list[str], static: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, seed in (("M", 0), ("N", 1)):
        settings = ["training.steps=1", f"training.seed={seed}", *QUICK, f"encoder={static}"]
        run("train", "rts", *data, "--output", str(tmp_path / name), settings=settings)
    few = ["finetune", data[0], "--output", str(tmp_path / "F"), "--model"]
    killed(*few, str(tmp_path / "M"), settings=["training.validation=0", "training.batch=4"], monkeypatch=monkeypatch)
    with pytest.raises(ConfigError, match="was started with other model"):
        run("train", *few, str(tmp_path / "N"), "--resume", settings=["training.validation=0", "training.batch=4"])
    run("train", *few, str(tmp_path / "M"), "--resume", settings=["training.validation=0", "training.batch=4"])


def test_ctrl_c_says_how_to_go_on(
    data: list[str], static: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    original = loop._Run._evaluate

    def interrupt(run: Any) -> None:
        if run.step > 1:
            raise KeyboardInterrupt
        original(run)

    monkeypatch.setattr(loop._Run, "_evaluate", interrupt)
    settings = [*QUICK[2:], f"encoder={static}", "training.checkpoint_seconds=0"]
    result = run("train", "rts", *data, "--output", str(tmp_path / "M"), settings=settings)
    assert result.exit_code == 130
    assert "M.training: interrupted; continue with --resume" in result.stderr


def test_resuming_nothing_is_said(data: list[str], static: str, tmp_path: Path) -> None:
    result = one_step(data, static, tmp_path / "M", "--resume")
    assert "M.training: no training to resume; starting anew" in result.stderr


TINY_ZERO_SHOT = zero_shot.Config(stages=("exact_match", "tfidf"), weights=(1.0, 1.0))
_fit_zero_shot = zero_shot.fit


def tiny_zero_shot(labels: Vocabulary, *_: object) -> Tagger:
    """Without an encoder, whatever is asked for."""
    return _fit_zero_shot(labels, TINY_ZERO_SHOT)


def test_the_svm_joins_the_stages_of_the_zero_shot_method_and_is_explained(
    data: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tagwright.tagger.zero_shot.fit", tiny_zero_shot)
    run("train", "svm", *data, "--output", str(tmp_path / "M"), "--fuse")
    fused = Tagger.load(tmp_path / "M")
    assert list(fused.stages) == ["exact_match", "tfidf", "svm"]
    assert first_labels(fused.tag(UNSEEN)) == GOLD.labels.tolist()  # their words are known to the SVM alone
    unseen = tmp_path / "unseen.jsonl"
    unseen.write_text(json.dumps({"id": "u", "title": UNSEEN[0].abstract}))
    explained = run("suggest", str(unseen), "--model", str(tmp_path / "M"), "-k", "1", "--explain").stdout
    assert re.search(r"wasp.*\n +\+\d+\.\d\d  svm #1", explained)


def test_two_trained_taggers_are_fused(data: list[str], static: str, tmp_path: Path) -> None:
    run("train", "svm", *data, "--output", str(tmp_path / "S"))
    cls = [*data, "--output", str(tmp_path / "C"), "--fuse-with", str(tmp_path / "S")]
    run(
        "train",
        "depl",
        *cls,
        settings=["variant=depl_cls", f"encoder={static}", "training.epochs=2", "training.batch=8"],
    )
    assert list(Tagger.load(tmp_path / "C").stages) == ["svm", "dual"]


def test_a_saved_zero_shot_tagger_is_fine_tuned_and_joined(
    data: list[str], static: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    run("train", "zero_shot", *data[1:], "--output", str(tmp_path / "Z"), settings=[f"encoder={static}"])
    assert list(Tagger.load(tmp_path / "Z").stages) == ["exact_match", "tfidf", "dense", "title_match"]
    few = [data[0], "--model", str(tmp_path / "Z")]
    run("train", "finetune", *few, "--output", str(tmp_path / "F"), settings=["training.validation=0"])
    before, after = (Tagger.load(tmp_path / name) for name in "ZF")
    assert list(after.stages) == ["exact_match", "tfidf", "dense", "title_match"]
    assert before.tag(UNSEEN).scores.tolist() != after.tag(UNSEEN).scores.tolist()
    monkeypatch.setattr("tagwright.tagger.zero_shot.fit", tiny_zero_shot)
    run("train", "finetune", *few, "--output", str(tmp_path / "G"), "--fuse", settings=["training.validation=0"])
    assert list(Tagger.load(tmp_path / "G").stages) == ["exact_match", "tfidf", "dense"]  # no plain encoder in this one


def test_a_tagger_that_ranks_a_part_of_the_candidates_is_not_fused(data: list[str], tmp_path: Path) -> None:
    names, others = ExactMatch(LABELS), ExactMatch(LABELS)
    Tagger(LABELS, {"exact_match": names}, {"rank": others}, PoolOptions(limit=5)).save(tmp_path / "R")
    with pytest.raises(ConfigError, match="the stages exact_match, rank is no weighted sum over all candidates"):
        run("train", "svm", *data, "--output", str(tmp_path / "M"), "--fuse-with", str(tmp_path / "R"))


def many(tmp_path: Path) -> list[str]:
    """Two hundred labelled documents whose names say what they are about, which their other words do not."""
    words = np.random.default_rng(0).choice([f"w{i}" for i in range(500)], (200, 6))
    documents = zip((7 * DOCUMENTS)[:200], words, strict=True)
    rows = ({"title": " ".join([d.title, *some]), "text": "", "labels": d.labels} for d, some in documents)
    (tmp_path / "many.jsonl").write_text("\n".join(json.dumps({"id": f"m{i}", **row}) for i, row in enumerate(rows)))
    LABELS.write(tmp_path / "labels.jsonl")
    return [str(tmp_path / "many.jsonl"), "--labels", str(tmp_path / "labels.jsonl")]


def test_a_training_is_compared_with_the_untrained_method(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """Of 200 labelled documents 20 are kept. The names in their titles are right (100), exchanged names never (0)."""
    exchanged = Vocabulary([Label("wasp", ("bank",)), Label("bank", ("stone",)), Label("stone", ("wasp",))])
    seen: list[int] = []

    def fit(documents: object, labels: Vocabulary, config: object, steps: Steps, *, gold: Run, **_: object) -> Tagger:
        seen.append(int(mark_labelled(gold).sum()))
        return Tagger(labels, {"exact_match": ExactMatch(exchanged)})

    data = many(tmp_path)
    monkeypatch.setattr("tagwright.tagger.zero_shot.fit", tiny_zero_shot)
    good = run("train", "svm", *data, "--output", str(tmp_path / "M"), check=True)
    expected = "nDCG@5 on 20 labelled documents that were not learnt from: 100.0, untrained (zero_shot) 100.0, p = 1"
    assert expected in good.stderr
    monkeypatch.setattr("tagwright.papers.svm.fit", fit)
    run("train", "svm", *data, "--output", str(tmp_path / "N"), check=True)
    assert "0.0, untrained (zero_shot) 100.0, p = 0.0001; the untrained method is better here" in caplog.messages[-1]
    run("train", "svm", *data, "--output", str(tmp_path / "O"))
    assert seen == [180, 200, 134]  # the last leaves a third out, for confidences


def test_the_check_of_a_method_that_reads_no_labels_says_so_or_why_there_is_none(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fit(documents: object, labels: Vocabulary, config: object, steps: Steps) -> Tagger:
        return Tagger(labels, {"exact_match": ExactMatch(labels)})

    monkeypatch.setattr("tagwright.papers.rts.fit", fit)
    monkeypatch.setattr("tagwright.tagger.zero_shot.fit", tiny_zero_shot)
    data = many(tmp_path)
    found = run("train", "rts", *data, "--output", str(tmp_path / "M"), check=True)
    assert "nDCG@5 on 200 labelled documents whose labels were not read: 100.0, " in found.stderr
    (tmp_path / "bare.csv").write_text("id,text\n1,Wasps sting.\n", encoding="utf-8")
    bare = run("train", "rts", str(tmp_path / "bare.csv"), *data[1:], "--output", str(tmp_path / "N"), check=True)
    assert "not compared with the untrained method, for which 20 documents with labels are needed" in bare.stderr


def test_a_document_of_the_check_is_not_learnt_from_under_another_id(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen: list[list[bool]] = []

    def fit(documents: object, labels: Vocabulary, config: object, steps: Steps, *, gold: Run, **_: object) -> Tagger:
        seen.append(mark_labelled(gold).tolist())
        return Tagger(labels, {"exact_match": ExactMatch(labels)})

    docs, *labels = many(tmp_path)
    lines = Path(docs).read_text().splitlines()
    Path(docs).write_text("\n".join([*lines, *(line.replace('"id": "m', '"id": "again') for line in lines)]))
    monkeypatch.setattr("tagwright.tagger.zero_shot.fit", tiny_zero_shot)
    monkeypatch.setattr("tagwright.papers.svm.fit", fit)
    run("train", "svm", docs, *labels, "--output", str(tmp_path / "M"), check=True)
    (learnt,) = seen
    assert not all(learnt)
    assert learnt[:200] == learnt[200:]


def test_depl_takes_edited_keywords_of_the_svm(data: list[str], static: str, tmp_path: Path) -> None:
    run("train", "svm", *data, "--output", str(tmp_path / "S"))
    printed = run("labels", "--model", str(tmp_path / "S"), "--keywords", "3").stdout
    records = [json.loads(line) for line in printed.splitlines()]
    assert all(len(record["keywords"]) <= 3 for record in records)
    assert {record["id"] for record in records} <= set(LABELS.index)
    edited = {record["id"]: tuple(record["keywords"]) for record in records} | {records[0]["id"]: ("zebra",)}
    path = tmp_path / "edited.jsonl"
    path.write_text("\n".join(json.dumps({"id": label, "keywords": words}) for label, words in edited.items()))
    options = ["--output", str(tmp_path / "D"), "--keywords", str(path)]
    run("train", "depl", *data, *options, settings=[f"encoder={static}", "training.epochs=2", "training.batch=8"])
    stage = Tagger.load(tmp_path / "D").stages["dual"]
    assert isinstance(stage, DescriptionRetriever)
    assert {label: tuple(words) for label, words in stage.keywords.items() if words} == edited
    path.write_text('{"id": "nobody", "keywords": ["zebra"]}\n')
    with pytest.raises(InputError, match=r"edited.jsonl:1: no label has the id \"?nobody"):
        run("train", "depl", *data, *options, "--overwrite")
