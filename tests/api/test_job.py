from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest
from typer.testing import CliRunner

import tagwright as tw
from tagwright.api.job import Job
from tagwright.api.options import configuration
from tagwright.app.cli import app
from tagwright.core.atomic import OccupiedError
from tagwright.data.corpus import ids_of
from tagwright.errors import ConfigError
from tagwright.types import Document

TEXTS = ["Bees make honey.", "Bees visit orchards.", "The tax on income.", "Tax courts."]
GOLD = [["Bees"], ["Bees"], ["Taxes"], ["Taxes"]]
LABELS = ["Bees", "Taxes"]
DOCUMENTS = [Document(str(n), text, labels=tuple(gold)) for n, (text, gold) in enumerate(zip(TEXTS, GOLD, strict=True))]


@pytest.fixture
def files(tmp_path: Path) -> list[str]:
    rows = [{"id": each.id, "title": each.title, "labels": list(each.labels)} for each in DOCUMENTS]
    (tmp_path / "docs.jsonl").write_text("\n".join(map(json.dumps, rows)))
    (tmp_path / "labels.txt").write_text("\n".join(LABELS))
    return [str(tmp_path / "docs.jsonl"), "--labels", str(tmp_path / "labels.txt")]


def by_command_line(files: list[str], folder: Path) -> None:
    result = CliRunner().invoke(app, ["train", "svm", *files, "--no-check", "--output", str(folder)])
    assert not result.exception, result.output


def test_python_and_the_command_line_train_the_same_tagger(files: list[str], tmp_path: Path) -> None:
    by_command_line(files, tmp_path / "model")
    ours = tw.train("svm", TEXTS, LABELS, y=GOLD, progress=False).tag(["Tax on honey."])
    theirs = tw.load(tmp_path / "model").tag(["Tax on honey."])
    assert (ours.labels.tolist(), ours.scores.tolist()) == (theirs.labels.tolist(), theirs.scores.tolist())


def test_python_saves_resumes_and_overwrites(tmp_path: Path) -> None:
    tw.train("svm", TEXTS, LABELS, y=GOLD, output=tmp_path / "model", progress=False)
    assert tw.load(tmp_path / "model").training["method"] == "svm"
    assert {each.name for each in tmp_path.iterdir()} == {"model"}
    with pytest.raises(ConfigError, match=r"holds a saved tagger.*overwrite=True"):
        tw.train("svm", TEXTS, LABELS, y=GOLD, output=tmp_path / "model", progress=False)
    tw.train("svm", TEXTS, LABELS, y=GOLD, output=tmp_path / "model", overwrite=True, resume=True, progress=False)


def test_what_is_put_into_the_folder_during_a_training_stays_and_the_training_is_finished_when_it_is_gone(
    tmp_path: Path,
) -> None:
    def read() -> list[Document]:
        (tmp_path / "model").mkdir()
        (tmp_path / "model" / "notes.md").write_text("mine")
        return DOCUMENTS

    job = Job(method="svm", config=configuration("svm", {}), documents=read, labels=LABELS, output=tmp_path / "model")
    with pytest.raises(OccupiedError, match="is not a saved tagger"):
        job.run()
    assert (tmp_path / "model" / "notes.md").read_text() == "mine"
    (tmp_path / "model").rename(tmp_path / "mine")
    replace(job, documents=DOCUMENTS, resume=True).run()
    assert tw.load(tmp_path / "model").training["method"] == "svm"


def test_resuming_needs_a_folder() -> None:
    with pytest.raises(ConfigError, match="continues a training that is saved; give output"):
        tw.train("svm", TEXTS, LABELS, y=GOLD, resume=True)


def test_python_checks_a_training_on_documents_left_out(caplog: pytest.LogCaptureFixture) -> None:
    tw.train("svm", TEXTS * 3, LABELS, y=GOLD * 3, check=True, progress=False)
    assert "12 labelled documents are too few to leave some out for a check" in caplog.text


def test_a_job_refuses_what_the_method_does_not_accept_before_documents_are_read() -> None:
    def read() -> list[Document]:
        raise AssertionError("read too early")

    with pytest.raises(ConfigError, match="is accepted by depl"):
        Job(method="svm", config=configuration("svm", {}), documents=read, labels=LABELS, keywords={"1": ["a"]})


def test_ids_are_known_without_decoding_a_document(monkeypatch: pytest.MonkeyPatch) -> None:
    corpus = tw.Corpus.of(DOCUMENTS)

    def decode(_: tw.Corpus) -> None:
        raise AssertionError("a document was decoded")

    monkeypatch.setattr(tw.Corpus, "__iter__", decode)
    assert ids_of(corpus) == ["0", "1", "2", "3"] == ids_of(DOCUMENTS)
