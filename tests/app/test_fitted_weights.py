"""Weights that suit the documents, on the command line: who fits them, and who keeps them as they are."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from tests.app.conftest import Command
from tests.tiny import tiny_encoder

from tagwright.data.corpus import Corpus
from tagwright.tagger import Tagger
from tagwright.tagger.confidences import with_confidences
from tagwright.tagger.zero_shot import with_fitted_weights

NAMES = ("bee", "wasp", "ant", "moth", "crane", "heron", "stork", "swan", "otter", "beaver", "badger", "lynx")
REST = ". Honey, flower, river." * 20
"What a tiny encoder reads in a document, whatever it names."

ON = ("docs.jsonl", "--labels", "labels.txt")


@pytest.fixture
def options(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> tuple[str, ...]:
    """The options of a tiny encoder, in a folder with 60 documents that name what they are about."""
    monkeypatch.chdir(tmp_path)
    rows = [
        {"id": str(row), "title": NAMES[row % 12], "abstract": NAMES[(5 * row + 1) % 12] + REST} for row in range(60)
    ]
    texts = [json.dumps({**row, "labels": [row["title"]]}) for row in rows]
    Path("docs.jsonl").write_text("\n".join(texts) + "\n", encoding="utf-8")
    Path("labels.txt").write_text("\n".join(NAMES) + "\n", encoding="utf-8")
    encoder = tiny_encoder(tmp_path / "tiny")
    return "--language", "en", "--set", f"encoder={encoder}"


def test_evaluate_fits_weights_to_its_documents_and_says_so(run: Command, options: tuple[str, ...]) -> None:
    assert "names agree with words here, meaning does not" in run("evaluate", *ON, *options).err
    assert "weights" not in run("evaluate", *ON, *options, "--set", "weights=fixed").err


def test_describe_shows_the_estimated_qualities(run: Command, options: tuple[str, ...]) -> None:
    assert "fitted: names agree with words here" in run("describe", "--candidates", *ON, *options).out


def test_suggest_keeps_its_weights(run: Command, options: tuple[str, ...]) -> None:
    many = run("suggest", *ON, *options, "--format", "jsonl")
    first = Path("docs.jsonl").read_text(encoding="utf-8").splitlines()[0]
    Path("one.jsonl").write_text(first + "\n", encoding="utf-8")
    one = run("suggest", "one.jsonl", *ON[1:], *options, "--format", "jsonl")
    assert one.out == many.out.splitlines(keepends=True)[0]


def test_weights_for_which_confidences_were_learned_stay(run: Command, options: tuple[str, ...]) -> None:
    run("train", "zero_shot", *ON[1:], *options, "--output", "plain")
    plain, documents = Tagger.load("plain"), list(Corpus.read("docs.jsonl"))
    taught = with_confidences(plain, documents, plain.vocabulary.gold(documents), anew=True)
    assert with_fitted_weights(plain, documents) is not plain
    assert with_fitted_weights(taught, documents) is taught
