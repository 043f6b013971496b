from __future__ import annotations

from pathlib import Path

import torch

from tagwright.training.checkpoints import NAME, Checkpoint


def test_what_a_killed_save_left_behind_is_removed_by_the_next(tmp_path: Path) -> None:
    for name in (".tmpt19LhT", ".tmp-of-somebody", "log.jsonl"):
        (tmp_path / name).write_text("half")
    Checkpoint({"step": 3}, {"seed": 1}, {"weight": torch.ones(2)}).save(tmp_path)
    assert {file.name for file in tmp_path.iterdir()} == {NAME, ".tmp-of-somebody", "log.jsonl"}
    loaded = Checkpoint.load(tmp_path, {"seed": 1})
    assert loaded is not None
    assert (loaded.progress, loaded.tensors["weight"].tolist()) == ({"step": 3}, [1.0, 1.0])
