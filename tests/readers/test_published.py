"""Files of published data sets: candidates, and labels that do not count."""

from __future__ import annotations

from pathlib import Path

import pytest

from tagwright.errors import InputError
from tagwright.readers.published import read_candidates, read_label_filter

LABELS = {"7": 0, "8": 1, "9": 2}


@pytest.mark.parametrize("key", ["candidates", "predicted_label", "matched_label"])
def test_candidates_are_those_of_each_document_in_their_order(tmp_path: Path, key: str) -> None:
    """Numbers are ids too; a label named twice counts once; documents that were not asked for are passed over."""
    lines = (
        f'{{"paper": "b", "{key}": ["9", "7", "9"]}}\n{{"paper": "x", "{key}": []}}\n{{"paper": "a", "{key}": [8]}}\n'
    )
    (tmp_path / "c.json").write_text(lines, encoding="utf-8")
    run = read_candidates(tmp_path / "c.json", ["a", "b"], LABELS)
    assert [row.tolist() for row, _ in run] == [[1], [2, 0]]


@pytest.mark.parametrize(
    ("lines", "problem"),
    [
        ('{"paper": "a", "labels": ["7"]}', "c.json:1: names no candidates, expected candidates, predicted_label or"),
        ('{"paper": "a", "candidates": ["6"]}', 'c.json:1: no label has the id "6"'),
        ('{"paper": "a", "candidates": []}\n' * 2, 'c.json:2: document "a" has two lines'),
        ('{"paper": "b", "candidates": []}', 'no line for document "a", 1 of 1 have none; give the file'),
    ],
)
def test_what_is_wrong_with_candidates_is_named(tmp_path: Path, lines: str, problem: str) -> None:
    (tmp_path / "c.json").write_text(lines, encoding="utf-8")
    with pytest.raises(InputError, match=problem):
        read_candidates(tmp_path / "c.json", ["a"], LABELS)


def test_a_label_filter_names_positions(tmp_path: Path) -> None:
    (tmp_path / "f.txt").write_text("0 2\n\n1 0\n1 1\n", encoding="utf-8")
    run = read_label_filter(tmp_path / "f.txt", 3, 3)
    assert [sorted(row.tolist()) for row, _ in run] == [[2], [0, 1], []]


@pytest.mark.parametrize(
    ("line", "problem"),
    [
        ("0", 'f.txt:1: is "0", expected the positions of a document and a label, from 0 to 2 and to 2'),
        ("0 -1", "expected the positions"),
        ("3 0", 'is "3 0", expected'),
        ("0 9", 'is "0 9", expected'),
    ],
)
def test_what_is_wrong_with_a_label_filter_is_named(tmp_path: Path, line: str, problem: str) -> None:
    (tmp_path / "f.txt").write_text(line, encoding="utf-8")
    with pytest.raises(InputError, match=problem):
        read_label_filter(tmp_path / "f.txt", 3, 3)
