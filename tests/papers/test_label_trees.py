"""Label trees in the process that holds them."""

from __future__ import annotations

import gc
import os
import pickle
import signal
import subprocess
import sys
import tempfile
import threading
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy.sparse import csr_matrix

from tagwright.core.atomic import remove_abandoned
from tagwright.core.saved import digests, write_manifest
from tagwright.errors import ModelError, TagwrightError
from tagwright.papers.label_trees import LabelTreeOptions, LabelTrees, fit_trees
from tagwright.types import Run

WORDS = csr_matrix(np.tile(np.eye(20, dtype=np.float32), (10, 1)))
GOLD = Run.from_rows([[document % 20] for document in range(200)])
"Document i has word i % 20 alone, and the label of that number."


@pytest.fixture(scope="module")
def trees() -> LabelTrees:
    return fit_trees(WORDS, GOLD, 20, LabelTreeOptions(leaf=4, workers=1))


def test_a_batch_gets_what_each_of_its_documents_gets(trees: LabelTrees) -> None:
    whole = trees.predict(WORDS[:20], 3)
    parts = Run.concat([trees.predict(WORDS[i], 3) for i in range(20)])
    assert whole.labels.tolist() == parts.labels.tolist()
    assert whole.scores.tolist() == parts.scores.tolist()
    assert [labels[0] for labels, _ in whole] == list(range(20))


def test_nothing_that_omikuji_prints_reaches_this_process(
    trees: LabelTrees, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    before = os.fstat(1), os.fstat(2)
    trees.save(tmp_path)
    LabelTrees.load(tmp_path).predict(WORDS[:1], 1)
    assert (os.fstat(1), os.fstat(2)) == before
    assert capfd.readouterr() == ("", "")
    assert "omikuji" not in sys.modules


def test_threads_of_a_server_get_their_own_answers(trees: LabelTrees) -> None:
    found: dict[int, list[int]] = {}

    def ask(word: int) -> None:
        found[word] = [int(trees.predict(WORDS[word], 1).labels[0]) for _ in range(20)]

    threads = [threading.Thread(target=ask, args=(word,)) for word in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert found == {word: [word] * 20 for word in range(8)}


def test_without_omikuji_the_error_names_the_extra(
    trees: LabelTrees, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    trees.save(tmp_path)
    monkeypatch.setitem(sys.modules, "omikuji", None)
    with pytest.raises(TagwrightError, match=r'pip install "tagwright\[trees\]"'):
        fit_trees(WORDS, GOLD, 20)
    with pytest.raises(TagwrightError, match=r'pip install "tagwright\[trees\]"'):
        LabelTrees.load(tmp_path)


def test_a_damaged_file_is_an_error_whatever_omikuji_makes_of_it(trees: LabelTrees, tmp_path: Path) -> None:
    trees.save(tmp_path)
    for file in tmp_path.iterdir():
        if file.name != "manifest.json":
            file.write_bytes(file.read_bytes()[:20])
    with pytest.raises(ModelError, match="its size differs"):
        LabelTrees.load(tmp_path)
    write_manifest(tmp_path, "label trees", {"beam": 10, "files": digests(tmp_path)})
    with pytest.raises(ModelError, match="the trees cannot be read"):
        LabelTrees.load(tmp_path)


def test_trees_that_cannot_be_written_are_an_error(trees: LabelTrees, tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(TagwrightError, match="the label trees cannot be written"):
        trees.save(tmp_path / "file" / "trees")


def test_a_process_that_was_killed_is_an_error_and_the_next_question_too() -> None:
    trees = fit_trees(WORDS, GOLD, 20, LabelTreeOptions(leaf=4, workers=1))
    trees.forest._process.kill()
    trees.forest._process.wait()
    with pytest.raises(TagwrightError, match=r"killed by signal 9|exit status"):
        trees.predict(WORDS, 1)
    with pytest.raises(TagwrightError, match="the process of Forest has ended; load the tagger again"):
        trees.predict(WORDS, 1)


def test_a_question_that_was_interrupted_leaves_no_answer_for_the_next_one(monkeypatch: pytest.MonkeyPatch) -> None:
    trees = fit_trees(WORDS, GOLD, 20, LabelTreeOptions(leaf=4, workers=1))

    def interrupt(stream: Any) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patch, pytest.raises(KeyboardInterrupt):
        patch.setattr(pickle, "load", interrupt)
        trees.predict(WORDS, 1)
    with pytest.raises(TagwrightError, match="the process of Forest has ended"):
        trees.predict(WORDS, 1)


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
def test_a_forked_process_is_told_to_load_its_own(trees: LabelTrees, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "getpid", lambda: -1)
    with pytest.raises(TagwrightError, match="load the tagger in each process"):
        trees.predict(WORDS, 1)
    monkeypatch.undo()
    assert trees.predict(WORDS[3], 1).labels.tolist() == [3]


def test_trees_that_are_no_longer_used_leave_no_process() -> None:
    trees = fit_trees(WORDS, GOLD, 20, LabelTreeOptions(leaf=4, workers=1))
    process = trees.forest._process
    del trees
    gc.collect()
    assert process.returncode is not None


KILLED = """
import os, pickle, sys, tempfile
tempfile.tempdir = sys.argv[1]
import numpy as np
from scipy.sparse import csr_matrix
from tagwright.papers.label_trees import fit_trees
from tagwright.types import Run
def die(stream):
    print("growing", flush=True)
    while True:
        pass
pickle.load = die  # the process waits for the trees for ever
fit_trees(csr_matrix(np.eye(2, dtype=np.float32)), Run.from_rows([[0], [1]]), 2)
"""


@pytest.mark.skipif(os.name != "posix", reason="needs signals")
def test_what_a_killed_training_leaves_is_removed_by_the_next_process(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    with subprocess.Popen([sys.executable, "-c", KILLED, str(tmp_path)], stdout=subprocess.PIPE) as training:
        assert training.stdout
        assert training.stdout.readline() == b"growing\n"
        assert len(list(tmp_path.glob("tagwright-*.folder"))) == 1
        training.send_signal(signal.SIGKILL)
    for _ in range(600):  # the process of the trees sees the end of its input, and may still be writing
        remove_abandoned()
        if not list(tmp_path.iterdir()):
            break
        threading.Event().wait(0.1)
    assert not list(tmp_path.iterdir())
