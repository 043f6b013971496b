"""Agreement with the reference implementations' values."""

import json
from pathlib import Path
from typing import Any

import pytest

from tagwright.evaluation.scores import evaluate
from tagwright.types import Run

GOLDEN = Path(__file__).resolve().parents[2] / "../shared/golden/metrics.json"


@pytest.fixture(scope="module")
def golden() -> dict[str, Any]:
    if not GOLDEN.exists():
        pytest.skip(f"no golden values: {GOLDEN} is missing")
    content: dict[str, Any] = json.loads(GOLDEN.read_text())
    return content


def test_every_measure_agrees_to_a_millionth(golden: dict[str, Any]) -> None:
    rows = [*golden["gold"], *golden["train"], *golden["ranking"]]
    index = {label: position for position, label in enumerate(sorted({label for row in rows for label in row}))}
    gold = Run.from_rows([index[label] for label in row] for row in golden["gold"])
    train = Run.from_rows([index[label] for label in row] for row in golden["train"])
    run = Run.from_rows({index[label]: -float(rank) for rank, label in enumerate(row)} for row in golden["ranking"])

    scores = evaluate(run, gold, train=train, samples=2)

    expected = golden["expected"]
    assert len(expected) == 10
    assert {name: scores.measures[name].value for name in expected} == pytest.approx(expected, abs=1e-6)
