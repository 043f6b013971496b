"""Agreement with the reference implementations' values."""

from typing import Any

import pytest
from tests.golden import golden

from tagwright.evaluation.scores import evaluate
from tagwright.types import Run


@pytest.fixture(scope="module", name="golden")
def golden_values() -> dict[str, Any]:
    return golden("metrics.json")


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
