"""Label trees in the process that holds them."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import numpy as np
import pytest
from scipy.sparse import csr_matrix

from tagwright.errors import ModelError, TagwrightError
from tagwright.papers.label_trees import LabelTrees, fit_trees
from tagwright.types import Run

WORDS = csr_matrix(np.tile(np.eye(20, dtype=np.float32), (10, 1)))
GOLD = Run.from_rows([[document % 20] for document in range(200)])
"Document i has word i % 20 alone, and the label of that number."


@pytest.fixture(scope="module")
def trees() -> LabelTrees:
    return fit_trees(WORDS, GOLD, 20, leaf=4, workers=1)


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
        file.write_bytes(file.read_bytes()[:20])
    with pytest.raises(ModelError, match="the trees cannot be read"):
        LabelTrees.load(tmp_path)


def test_trees_that_cannot_be_written_are_an_error(trees: LabelTrees, tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(TagwrightError, match="the label trees cannot be written"):
        trees.save(tmp_path / "file" / "trees")
