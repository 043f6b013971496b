"""Without pyarrow, which is in the extra `parquet`, everything works that reads and writes no Parquet."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

BLOCKED = """
import importlib.machinery, sys
class Finder(importlib.machinery.PathFinder):
    @classmethod
    def find_spec(cls, name, path=None, target=None):
        return None if name == "pyarrow" else super().find_spec(name, path, target)
sys.meta_path = [Finder if each is importlib.machinery.PathFinder else each for each in sys.meta_path]
"""
"scikit-learn takes None in sys.modules for the package, so that it must not be found."

PROGRAM = """
import json, sys
from tagwright.app import cli
for arguments in json.loads(sys.argv[1]):
    sys.argv = ["tagwright", *arguments]
    try:
        cli.main()
    except SystemExit as end:
        assert not end.code, arguments
"""
WORDS = {"bee": "honey hive", "bank": "money loan", "rain": "river cloud", "tax": "law state", "cow": "milk grass"}
STAGES = ("--set", 'stages=["exact_match", "tfidf"]', "--language", "en")
SUGGEST = ("suggest", "docs.jsonl", "--labels", "labels.jsonl", *STAGES)
TRAIN = ("train", "svm", "docs.jsonl", "--labels", "labels.jsonl", "--language", "en", "--output", "M")
EVALUATE = ("evaluate", "docs.jsonl", "--model", "M")
BATCH = ("batch", "docs.jsonl", "--model", "M", "--output", "tagged", "--shard-size", "20", "--processes", "1")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Fifty documents of five labels, and a module that hides pyarrow from every process started with it."""
    (tmp_path / "blocked").mkdir()
    (tmp_path / "blocked" / "sitecustomize.py").write_text(BLOCKED)
    documents = [
        {"id": f"{label}{i}", "title": f"{words} {i}", "labels": [label]}
        for label, words in WORDS.items()
        for i in range(10)
    ]
    labels = [{"id": label, "names": [label.title()]} for label in WORDS]
    for name, records in {"docs": documents, "labels": labels}.items():
        (tmp_path / f"{name}.jsonl").write_text("".join(json.dumps(record) + "\n" for record in records))
    return tmp_path


def without_pyarrow(folder: Path, *commands: tuple[str, ...]) -> subprocess.CompletedProcess[str]:
    path = os.pathsep.join([str(folder / "blocked"), *filter(None, [os.environ.get("PYTHONPATH")])])
    return subprocess.run(
        [sys.executable, "-c", PROGRAM, json.dumps(commands)],
        cwd=folder,
        env={**os.environ, "PYTHONPATH": path},
        capture_output=True,
        text=True,
        check=False,
    )


def test_documents_are_tagged_trained_on_scored_and_tagged_in_shards(folder: Path) -> None:
    done = without_pyarrow(folder, SUGGEST, TRAIN, EVALUATE, BATCH)
    assert done.returncode == 0, done.stderr
    assert "50 documents in 3 shards" in done.stdout
    first = json.loads((folder / "tagged" / "shard-000000.jsonl").read_text().splitlines()[0])
    assert (first["id"], first["suggestions"][0]["label"]) == ("bee0", "bee")


def test_a_batch_of_parquet_is_refused_before_any_work(folder: Path) -> None:
    done = without_pyarrow(folder, (*BATCH, "--format", "parquet"))
    assert done.stderr.splitlines()[0] == (
        'tagwright: writing Parquet needs pyarrow, which is not installed; pip install "tagwright[parquet]"'
    )
    assert not (folder / "tagged").exists()
