"""Published data sets on the command line: items that are labels too, filters, candidates, constants of PSP."""

from __future__ import annotations

import json
from pathlib import Path
from typing import cast

import pytest
from tests.app.conftest import Command, write

from tagwright.errors import ConfigError
from tagwright.evaluation.metrics import propensity_of

ITEMS = [("10", "Bee hive"), ("11", "Honey jar"), ("12", "Wax candle"), ("13", "Bee smoker")]
RANKED = {"10": ["10", "11"], "12": ["12", "13"], "99": ["11", "12"]}


@pytest.fixture
def shop(desk: Path) -> tuple[str, ...]:
    """Items that go with others, as in LF-Amazon: two documents are labels, whose positions are not their ids."""
    write("lbl.json", [{"uid": uid, "title": title} for uid, title in ITEMS])
    texts = [("10", "Bee hive and honey jar", [1]), ("12", "Wax candle, bee smoker", [3]), ("99", "Honey jar", [1, 2])]
    write("tst.json", [{"uid": uid, "title": text, "content": "", "target_ind": gold} for uid, text, gold in texts])
    lines = [
        {"id": id_, "suggestions": [{"label": label, "score": -rank} for rank, label in enumerate(labels)]}
        for id_, labels in RANKED.items()
    ]
    write("run.jsonl", lines)
    (desk / "filter_labels_test.txt").write_text("0 0\n1 2\n", encoding="utf-8")
    return "tst.json", "--labels", "lbl.json", "--quiet", "--json"


def p_at_1(run: Command, *arguments: str) -> float:
    found = run("evaluate", *arguments)
    assert found.code == 0, found.err
    value: float = json.loads(found.out)["measures"]["P@1"]["value"]
    return value


def test_the_document_itself_counts_unless_it_is_left_out_or_filtered(run: Command, shop: tuple[str, ...]) -> None:
    """Two of three documents have themselves first, then what is right; the third has what is right first."""
    scored = *shop, "--run", "run.jsonl"
    assert p_at_1(run, *scored) == pytest.approx(1 / 3)
    assert p_at_1(run, *scored, "--exclude-self") == 1.0
    assert p_at_1(run, *scored, "--label-filter", "filter_labels_test.txt") == 1.0


def test_given_candidates_are_ranked_and_no_others(run: Command, shop: tuple[str, ...]) -> None:
    words = *shop, "--set", 'stages=["exact_match"]', "--language", "en"
    lines = [{"paper": "10", "predicted_label": ["11"]}, {"paper": "12", "predicted_label": ["12", "13"]}]
    write("candidates.json", [*lines, {"paper": "99", "predicted_label": ["12"]}])
    assert p_at_1(run, *words, "--candidates", "candidates.json") == pytest.approx(2 / 3)
    refused = run("evaluate", *shop, "--run", "run.jsonl", "--candidates", "candidates.json")
    assert refused.code == 2
    assert "leave out one of them" in refused.err


def test_constants_are_names_or_numbers(run: Command, shop: tuple[str, ...]) -> None:
    scored = *shop, "--run", "run.jsonl", "--train", "tst.json", "--measures", "PSP@1"
    answers = [
        json.loads(run("evaluate", *scored, "--propensity", given).out)["measures"]["PSP@1"]["value"]
        for given in ("usual", "amazon", "0.6,2.6")
    ]
    assert answers[1] == answers[2] != answers[0]
    refused = run("evaluate", *shop, "--run", "run.jsonl", "--propensity", "amazon")
    assert refused.code == 2
    assert "by how frequent they are in training; add --train" in refused.err
    for wrong in ("books", "0.5", "-1,2", "1,inf", (0.5, 1.5), [0.5, 1.5], None):
        with pytest.raises(ConfigError, match="expected usual, wikipedia, amazon, or A and B"):
            propensity_of(cast("str", wrong))
