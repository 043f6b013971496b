"""`tagwright train auto` from the command line: reviews, minutes, resuming."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from tests.papers.topics import DOCUMENTS, LABELS
from tests.reviewed import reviewed
from typer.testing import CliRunner, Result

from tagwright import zero_shot
from tagwright.app.cli import app
from tagwright.errors import TagwrightError
from tagwright.review.events import Verdict
from tagwright.tagger import Tagger

QUICK = ["--set", 'stages=["exact_match", "tfidf"]', "--language", "english"]


pytestmark = pytest.mark.usefixtures("quick_auto")


@pytest.fixture(scope="module", name="data")
def files(tmp_path_factory: pytest.TempPathFactory) -> list[str]:
    folder = tmp_path_factory.mktemp("data")
    rows = ({"id": d.id, "title": d.title, "abstract": d.abstract, "labels": list(d.labels)} for d in DOCUMENTS[:12])
    (folder / "docs.jsonl").write_text("\n".join(map(json.dumps, rows)))
    LABELS.write(folder / "labels.jsonl")
    return [str(folder / "docs.jsonl"), "--labels", str(folder / "labels.jsonl")]


@pytest.fixture(scope="module")
def trained(quick_auto: None, data: list[str], tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, str]:
    """The folder of a tagger that was trained in at most five minutes, and what was said."""
    folder = tmp_path_factory.mktemp("trained") / "out"
    return folder, run(
        "train", "auto", *data, "--output", str(folder), "--set", "minutes=5", "--verbose", *QUICK
    ).stderr


def run(*arguments: str) -> Result:
    result = CliRunner().invoke(app, list(arguments))
    if result.exception and not isinstance(result.exception, SystemExit):
        raise result.exception
    return result


def test_what_was_tried_is_printed_and_the_tagger_saved(trained: tuple[Path, str]) -> None:
    folder, said = trained
    assert "the data: 12 documents, 12 with labels; 30 labels; language english" in said
    assert "without svm: from 30 labelled documents on (here 12)" in said
    assert "again, whatever the time: --set 'trained=[\"combiner\"]'" in said
    assert "nDCG@5 in cross-validation on 12 labelled documents: zero_shot 100.0" in said
    record = Tagger.load(folder).training
    assert (record["method"], record["options"]["minutes"]) == ("auto", 5.0)
    assert record["auto"]["kept"] == "zero_shot"
    assert not folder.with_name("out.training").exists()


def test_a_refused_training_leaves_nothing_to_resume(tmp_path: Path) -> None:
    """No word is in two of the documents, which is found after the corpus was read; the next try says the same."""
    rows = [{"id": str(n), "title": f"one{n} two{n}", "labels": [LABELS.ids[n % 2]]} for n in range(40)]
    (tmp_path / "docs.jsonl").write_text("\n".join(map(json.dumps, rows)))
    LABELS.write(tmp_path / "labels.jsonl")
    docs, labels, out = (str(tmp_path / name) for name in ("docs.jsonl", "labels.jsonl", "out"))
    for _ in range(2):
        with pytest.raises(TagwrightError, match="none stands in at least 2 documents"):
            run("train", "auto", docs, "--labels", labels, "--output", out, *QUICK)
        assert not list(tmp_path.glob("out*"))


@pytest.mark.parametrize(
    "command", ["suggest --explain", "evaluate --skip-unlabelled", "describe --candidates --skip-unlabelled"]
)
def test_other_commands_take_the_tagger(data: list[str], trained: tuple[Path, str], command: str) -> None:
    assert run(*command.split(), data[0], "--model", str(trained[0])).exit_code == 0


def test_a_training_that_keeps_the_stages_of_a_tagger_names_no_encoder(data: list[str], tmp_path: Path) -> None:
    zero_shot(data[data.index("--labels") + 1], stages=["exact_match"], language="en").save(tmp_path / "M")
    result = run("train", "auto", data[0], "--model", str(tmp_path / "M"), "--output", str(tmp_path / "out"))
    assert result.exit_code == 0
    assert "encoder" not in result.output


def test_reviews_are_learned_from(data: list[str], tmp_path: Path) -> None:
    given: list[tuple[str, str, str, Verdict]] = [(f"d{row}", "wasp", "ann", "reject") for row in range(0, 12, 3)]
    given += [(f"d{row}", "10", "ann", "accept") for row in range(0, 12, 3)]
    file = reviewed(tmp_path / "reviews.sqlite", *given)
    result = run("train", "auto", *data, "--output", str(tmp_path / "out"), "--reviews", str(file), "--verbose", *QUICK)
    # of 12 documents 4 have another label now, which no stage finds: the sum is right about the other 8
    assert "12 with labels" in result.stderr
    assert "zero_shot 66.7" in result.stderr
