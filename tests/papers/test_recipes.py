"""The commands of the page "The papers' data sets": on files of the same shape, with a tiny encoder, in a few steps."""

from __future__ import annotations

import csv
import gzip
import json
import re
import shlex
from collections.abc import Iterable
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy.sparse import csr_matrix, save_npz
from tests.papers.topics import DOCUMENTS, LABELS, NAMES
from tests.tiny import tiny_encoder
from typer.testing import CliRunner

from tagwright.app.cli import app
from tagwright.registry import METHODS
from tagwright.tagger import Tagger

PAGE = (Path(__file__).parents[2] / "docs" / "results" / "papers" / "data-sets.md").read_text(encoding="utf-8")
BLOCKS = re.findall(r"```sh\n(.*?)```", PAGE, re.DOTALL)
COMMANDS = [line.removeprefix("tagwright ") for block in BLOCKS for line in block.splitlines()]
OUTPUTS = [shlex.split(line)[-1] for line in COMMANDS if line.startswith("train")]

SMALLER = {
    "rts": ["min_words=4", "max_words=8"],
    "micol": ["count=40"],
    "futex": ["count=16", "shortest=1"],
    "depl": ["sampled_labels=12"],
}
"Settings for texts and corpora that are so small."

NUMBER = {name: str(place) for place, name in enumerate(LABELS.ids)}


def written(path: Path, rows: Iterable[dict[str, Any]], *, packed: bool = False) -> None:
    path.parent.mkdir(exist_ok=True)
    content = "".join(json.dumps(row) + "\n" for row in rows).encode()
    path.write_bytes(gzip.compress(content) if packed else content)


def lines(path: Path, texts: Iterable[str]) -> None:
    path.parent.mkdir(exist_ok=True)
    path.write_text("".join(f"{' '.join(text.split())}\n" for text in texts))


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Each data set under the names of its files."""
    made = tmp_path_factory.mktemp("recipes")
    tiny_encoder(made / "tiny", max_length=512, positions=512)
    topics = [*zip(DOCUMENTS, NAMES, strict=True)]
    for name in ("LF-Amazon-131K", "LF-WikiSeeAlso-320K", "LF-Wikipedia-500K", "LF-Amazon-1M"):
        rows = [
            {"uid": d.id, "title": d.title, "content": d.abstract, "target_ind": [int(NUMBER[t])], "target_rel": [1.0]}
            for d, t in topics
        ]
        rows[0]["uid"] = LABELS.ids[-1]  # a product is a label, too
        for part in ("trn", "tst"):
            written(made / name / f"{part}.json.gz", rows, packed=True)
        written(
            made / name / "lbl.json.gz", ({"uid": x.id, "title": x.name, "content": ""} for x in LABELS), packed=True
        )
    for name, prefix, full in (("MAG", "MAG", False), ("PubMed", "PubMed", False), ("MAGCS", "MAGCS", True)):
        labels = ({"label": NUMBER[x.id], "name": [x.name], "definition": "", "combined_text": x.name} for x in LABELS)
        written(made / name / f"{prefix}_label.json", labels)
        for part in ("train", "test"):
            written(made / name / f"{prefix}_{part}.json", map(micol_record, topics))
        if full or name == "PubMed":
            written(made / name / f"{prefix}_paper.json", map(futex_record, topics))
    for name in ("Wiki10-31K", "AmazonCat-13K"):
        for part in ("train", "test"):
            lines(made / name / f"{part}_raw_texts.txt", (f"{d.title}/SEP/{d.abstract}" for d, _ in topics))
            lines(made / name / f"{part}_labels.txt", (topic for _, topic in topics))
    for name in ("LF-Wikipedia-500K", "LF-Amazon-1.3M"):
        lines(made / name / "output-items.txt", LABELS.ids)
        for part in ("trn", "tst"):
            lines(made / name / f"X.{part}.txt", (f"{d.title}. {d.abstract}" for d, _ in topics))
            columns = [int(NUMBER[topic]) for _, topic in topics]
            matrix = csr_matrix((np.ones(len(columns)), (range(len(columns)), columns)), (len(columns), len(LABELS)))
            save_npz(made / name / f"Y.{part}.npz", matrix)
    (made / "EURLex-4K").mkdir()
    (made / "EURLex-4K" / "labels.txt").write_text("\n".join(LABELS.ids) + "\n")
    for part in ("train", "dev"):
        with (made / "EURLex-4K" / f"{part}.csv").open("w", newline="") as file:
            pairs = ([i, d.abstract, f"{topic},{LABELS.ids[0]}"] for i, (d, topic) in enumerate(topics))
            csv.writer(file).writerows([["", "text", "label"], *pairs])
    return made


def micol_record(topic: Any) -> dict[str, Any]:
    document, name = topic
    text = {"paper": document.id, "text": f"{document.title}. {document.abstract}", "label": [NUMBER[name]]}
    before, after = (f"d{int(document.id[1:]) + by}" for by in (-3, 3))  # of the same topic
    cited = [f"{name} handbook", f"{name} guide", before]
    linked = {"reference": cited, "citation": [f"{name} review", f"{name} sequel", after]}
    return {**text, "venue": f"{name} meeting", "author": [name, f"{name} 2"], **linked}


def futex_record(topic: Any) -> dict[str, Any]:
    document, name = topic
    paragraphs = [{"section": "results (0)", "text": document.abstract}] * 2
    text = {"paper": document.id, "title": document.title, "abstract": document.abstract, "paragraphs": paragraphs}
    return {**text, "label": [NUMBER[name]], "reference": [f"{name} handbook"]}


def run(line: str) -> str:
    """What the command prints, with settings for a tiny encoder and a few steps."""
    words = shlex.split(line)
    if words[0] == "train":
        method, smaller = words[1], ["training.steps=2", "training.batch=4", "encoder=tiny"]
        if method in ("svm", "finetune"):
            smaller = [] if method == "svm" else smaller[:2]
        given = [*smaller, *SMALLER.get(method, [])]
        words += ["--no-check", *(word for setting in given for word in ("--set", setting))]
    result = CliRunner().invoke(app, words)
    if result.exception and not isinstance(result.exception, SystemExit):
        raise result.exception
    assert result.exit_code == 0, result.output
    return result.output


@pytest.mark.parametrize("output", ["rts-amazon", "maclr-amazon", "micol-mag", "futex-mag"])
def test_the_settings_of_the_published_code_train_too(
    output: str, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    if output.startswith("futex") and find_spec("omikuji") is None:
        pytest.skip("omikuji is not installed")
    monkeypatch.chdir(folder)
    [line] = [line for line in COMMANDS if line.endswith(f"--output {output}")]
    run(line.replace("--paper", "--published-code") + "-code")
    options = Tagger.load(f"{output}-code").training["options"]
    code = METHODS[output.partition("-")[0]].published_code
    assert code is not None
    assert options["training"]["learning_rate"] == code().training.learning_rate
    assert options["label_text"] == code().label_text


@pytest.mark.parametrize("output", OUTPUTS)
def test_a_recipe_trains_and_evaluates(output: str, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    if output.startswith("futex") and find_spec("omikuji") is None:
        pytest.skip("omikuji is not installed")
    monkeypatch.chdir(folder)
    commands = [line for line in COMMANDS if re.search(rf"^train .* {output}$|^evaluate .*--model {output}\b", line)]
    if output == "few-amazon" and not Path("maclr-amazon").is_dir():
        commands.insert(0, next(line for line in COMMANDS if shlex.split(line)[-1] == "maclr-amazon"))
    printed = [run(line.replace("--share-of-labels 0.01", "--share-of-labels 0.9")) for line in commands]
    assert all(re.search(r"P@1 +\d", text) for line, text in zip(commands, printed, strict=True) if "evaluate" in line)
    assert commands[-1].startswith("evaluate")
    assert ("PSP@1" in printed[-1]) == ("--train" in commands[-1])
