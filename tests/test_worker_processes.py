"""Whatever computes in another process, or in several, asks core/workers.py."""

from __future__ import annotations

import ast
from collections.abc import Mapping
from pathlib import Path

import numpy as np
import pytest
from scipy.sparse import csr_matrix

import tagwright
from tagwright import zero_shot
from tagwright.batch import batch
from tagwright.batch.output_folder import BatchOptions
from tagwright.core.workers import Worker, usable_cores
from tagwright.papers.label_trees import fit_trees
from tagwright.readers.documents.files import open_sources
from tagwright.types import Document, Run

FOLDER = Path(tagwright.__file__).parent


def imported(path: Path) -> set[str]:
    names = set[str]()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            names |= {each.name.partition(".")[0] for each in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module:
            names.add(node.module.partition(".")[0])
    return names


def test_no_other_module_starts_processes() -> None:
    starting = {"multiprocessing", "subprocess"}
    found = {path.relative_to(FOLDER).as_posix() for path in FOLDER.rglob("*.py") if starting & imported(path)}
    assert found == {"core/workers.py"}


def test_nobody_else_counts_processors() -> None:
    """`os.cpu_count` counts those of the machine, also where a container or an affinity gives this process fewer."""
    counts = {"cpu_count", "process_cpu_count", "sched_getaffinity"}
    found = {
        path.relative_to(FOLDER).as_posix()
        for path in FOLDER.rglob("*.py")
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if (isinstance(node, ast.Attribute) and node.attr in counts)
        or (isinstance(node, ast.ImportFrom) and counts & {each.name for each in node.names})
    }
    assert found == {"core/workers.py"}


def test_a_restricted_process_counts_the_processors_that_it_may_use(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LOKY_MAX_CPU_COUNT", "1")
    assert usable_cores() == 1


@pytest.fixture
def started(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The classes of the workers that are started during a test."""
    found, start = list[str](), Worker.__init__

    def counted(self: Worker, kind: type, *environment: Mapping[str, str]) -> None:
        found.append(kind.__name__)
        start(self, kind, *environment)

    monkeypatch.setattr(Worker, "__init__", counted)
    return found


def test_shards_are_tagged_by_workers(started: list[str], tmp_path: Path) -> None:
    zero_shot(["Bees", "Rain"], stages=["tfidf"], language="en").save(tmp_path / "model")
    documents = tmp_path / "documents.jsonl"
    documents.write_text('{"id": "1", "text": "bees"}\n{"id": "2", "text": "rain"}\n', encoding="utf-8")
    options = BatchOptions(shard_size=1)
    batch.run(open_sources(documents), tmp_path / "model", tmp_path / "out", options, batch.Share(), processes=1)
    assert started == ["ShardWorker"]


def test_label_trees_are_held_by_a_worker(started: list[str], tmp_path: Path) -> None:
    trees = fit_trees(csr_matrix(np.eye(2, dtype=np.float32)), Run.from_rows([[0], [1]]), 2)
    trees.save(tmp_path)
    type(trees).load(tmp_path)
    assert started == ["Forest", "Forest"]


def test_a_server_with_workers_answers_by_a_worker(started: list[str]) -> None:
    answering = pytest.importorskip("tagwright.server.predictor")
    workers = answering.Workers(2)
    answer = workers.use(zero_shot(["Bees", "Rain"], stages=["tfidf"], language="en"))
    (row,) = answer([answering.SuggestRequest(Document("d", "Bees"))])
    workers.close()
    assert [each.name for each in row] == ["Bees"]
    assert started == ["Predictions"]
