"""The callback of the page "Precision, cache, interruptions", with stand-ins for wandb and TensorBoard's writer."""

from __future__ import annotations

import re
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import tagwright as tw
from tagwright.training.callbacks import watch

PAGE = (Path(__file__).parents[2] / "docs" / "running.md").read_text(encoding="utf-8")


def test_the_page_s_board_gets_each_logged_row(tmp_path: Path) -> None:
    from tests.papers.topics import DOCUMENTS, encoders

    (source,) = re.findall(r"```python\n(class Board.*?)```", PAGE, re.DOTALL)
    rows, scalars, ends = list[dict[str, float]](), list[tuple[str, float, int]](), list[int]()
    names: dict[str, Any] = {
        "wandb": SimpleNamespace(log=rows.append),
        "writer": SimpleNamespace(
            add_scalar=lambda name, value, step: scalars.append((name, value, step)), flush=lambda: ends.append(1)
        ),
    }
    exec(source, names)
    with watch(names["Board"]()):
        options: dict[str, Any] = {"min_words": 4, "steps": 10, "batch": 4, "validation": 0.0, "progress": False}
        tw.train("rts", DOCUMENTS, ["bank"], encoder=encoders(tmp_path)["static"], **options)
    assert [row["step"] for row in rows] == [10]  # every tenth is logged
    assert {"loss", "learning_rate", "gradient_norm", "epoch", "seconds", "step"} == {*rows[0]}
    assert scalars == [(name, value, 10) for name, value in rows[0].items()]
    assert ends == [1]
