"""The benchmark of labelled documents: what its rows say, and that it takes any corpus of the shared shape."""

from __future__ import annotations

import gzip
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from benchmarks import corpora, curve

from tagwright.data.vocabulary import Vocabulary
from tagwright.tagger import Tagger
from tagwright.tagger import zero_shot as zeroshot
from tagwright.types import Run

NAMES = ("honey", "wasp", "flower", "market", "money", "river", "water", "stone")
GOLD = Run.from_rows([[0]] * 40)


def draw(zero_shot: float, auto: float, p: float) -> dict[str, Any]:
    values = {"zero_shot": np.full(4, zero_shot), "auto": np.full(4, auto)}
    return {**values, "p": p, "learned": 0.5, "seconds": 1.0, "processor seconds": 1.0}


def test_significant_differences_are_counted_in_both_directions() -> None:
    row = curve.summary([draw(0.4, 0.5, 0.01), draw(0.4, 0.5, 0.2), draw(0.4, 0.3, 0.04), draw(0.4, 0.6, 0.0)])
    assert (row["above"], row["below"], row["draws"]) == (2, 1, 4)
    assert row["auto"]["nDCG@5"] == pytest.approx(0.475)  # (0.5 + 0.5 + 0.3 + 0.6) / 4
    assert json.loads(json.dumps(row)) == row


def test_a_difference_on_every_document_is_significant_and_none_is_not() -> None:
    right, wrong = Run.from_rows([[0]] * 40), Run.from_rows([[1]] * 40)
    assert curve.significance(right, wrong, GOLD) < 0.001
    assert curve.significance(right, right, GOLD) == 1.0


def write(file: Path, rows: list[dict[str, Any]]) -> None:
    with gzip.open(file, "wt", encoding="utf-8") as lines:
        lines.writelines(f"{json.dumps(row)}\n" for row in rows)


@pytest.mark.usefixtures("quick_auto")
@pytest.mark.parametrize("labelled", [True, False], ids=["train has labels", "train has none"])
def test_any_folder_of_the_shared_shape_is_measured(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, *, labelled: bool
) -> None:
    def plain(labels: Vocabulary, documents: object) -> Tagger:
        return fit(labels, zeroshot.Config(stages=("exact_match", "tfidf"), language="english"))

    def document(number: int, *, known: bool) -> dict[str, Any]:
        first, right = (NAMES[place] for place in np.random.default_rng(number).permutation(len(NAMES))[:2])
        return {"id": f"d{number}", "title": first, "abstract": f"About {right}", "labels": [right] * known}

    fit = zeroshot.fit
    monkeypatch.setattr(zeroshot, "fit", plain)
    folder, output = tmp_path, tmp_path / "curve.json"
    monkeypatch.setattr(corpora, "FOLDER", folder)
    write(folder / "labels.jsonl.gz", [{"id": name, "names": [name]} for name in NAMES])
    write(folder / "train.jsonl.gz", [document(number, known=labelled) for number in range(30)])
    write(folder / "dev.jsonl.gz", [document(number, known=True) for number in range(100, 130)])
    curve.main(["--corpora", "mdn", "--sizes", "10", "--draws", "2", "--output", str(output)])
    row = json.loads(output.read_text(encoding="utf-8"))["mdn"]["10"]
    assert row["draws"] == 2
    assert row["auto"]["nDCG@5"] >= row["zero_shot"]["nDCG@5"] - 0.2
