"""The log of a training run: JSON lines on disk and, if asked for, TensorBoard."""

import json
from collections.abc import Mapping
from importlib.util import find_spec
from pathlib import Path
from typing import Any, TypeAlias

from tagwright.core.saved import replace_file, writing
from tagwright.core.steps import LOG
from tagwright.errors import ConfigError

Row: TypeAlias = Mapping[str, float]
"step (how many are done), epoch, seconds, and either loss, learning_rate and gradient_norm, or validation_loss."


class TrainingLog:
    """Keeps the rows; with a folder, also writes each to log.jsonl there immediately.

    Raises ConfigError when TensorBoard is asked for and not installed.
    """

    def __init__(self, folder: Path | None, *, tensorboard: bool = False) -> None:
        self.rows: list[Row] = []
        self.file = folder / LOG if folder else None
        self._board = _board(folder) if tensorboard and folder else None

    def add(self, row: Row) -> None:
        """Append a row."""
        self.rows.append(row)
        if self.file:
            with writing(self.file), self.file.open("a", encoding="utf-8") as file:
                file.write(json.dumps(row) + "\n")
        if self._board:
            for name in row.keys() - {"step"}:
                self._board.add_scalar(name, row[name], row["step"])
            self._board.flush()

    def go_back(self, step: int) -> None:
        """Continue the log on disk after this step; later rows of the interrupted run will be written again."""
        if self.file and self.file.is_file():
            lines = self.file.read_text(encoding="utf-8").splitlines(keepends=True)
            # Only the last line can be unfinished, and it is always beyond the checkpoint.
            rows = [json.loads(line) for line in lines if line.endswith("\n")]
            self.rows = [row for row in rows if row["step"] <= step]
        self._rewrite()

    def clear(self) -> None:
        """Begin a new log."""
        self.rows = []
        self._rewrite()

    def _rewrite(self) -> None:
        if self.file:
            with replace_file(self.file) as path:
                path.write_text("".join(json.dumps(row) + "\n" for row in self.rows), encoding="utf-8")


def _board(folder: Path) -> Any:
    if not find_spec("tensorboard"):
        raise ConfigError("tensorboard is on, but not installed; pip install tensorboard")
    from torch.utils.tensorboard import SummaryWriter

    return SummaryWriter(str(folder))
