"""Save and load the state of a training run: safetensors with JSON, replaced in one step, no pickle."""

from __future__ import annotations

import contextlib
import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tagwright.core.saved import replace_file
from tagwright.core.steps import check_resumed
from tagwright.errors import ModelError

if TYPE_CHECKING:
    import torch

NAME = "checkpoint.safetensors"


@dataclass(frozen=True, eq=False)
class Checkpoint:
    """progress: plain JSON, the position of the run.

    config: plain JSON, which must be the same on resuming. tensors: by name. Random generators need no state: they are
    seeded by the run's seed and the step, epoch or batch.
    """

    progress: Mapping[str, Any]
    config: Mapping[str, Any]
    tensors: Mapping[str, torch.Tensor]

    def save(self, folder: Path) -> None:
        """Replace the checkpoint of the folder. A process that dies meanwhile leaves the old one intact."""
        from safetensors.torch import save_file

        with replace_file(folder / NAME) as path:
            _remove_leftovers(folder)  # nobody else saves here now: the file is locked
            tensors = {name: tensor.detach().contiguous() for name, tensor in self.tensors.items()}
            save_file(tensors, path, {"progress": json.dumps(self.progress), "config": json.dumps(self.config)})

    @classmethod
    def load(cls, folder: Path, config: Mapping[str, Any]) -> Checkpoint | None:
        """The folder's checkpoint, or None where there is none.

        Raises ModelError when it is damaged, ConfigError when its run was started with another config.
        """
        from safetensors import SafetensorError, safe_open

        path = folder / NAME
        if not path.is_file():
            return None
        try:
            with safe_open(path, "pt") as file:
                metadata = file.metadata()
                tensors = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118 - not a mapping
            saved = cls(json.loads(metadata["progress"]), json.loads(metadata["config"]), tensors)
        except (SafetensorError, OSError, ValueError, KeyError, TypeError) as error:
            raise ModelError(f"{path}: damaged ({error}); train without resuming") from None
        check_resumed(path, saved.config, config)
        return saved

    def part(self, prefix: str) -> dict[str, torch.Tensor]:
        """The tensors whose name is `prefix`/NAME, by NAME."""
        return {
            name[len(prefix) + 1 :]: tensor for name, tensor in self.tensors.items() if name.startswith(prefix + "/")
        }


def _remove_leftovers(folder: Path) -> None:
    """Remove what safetensors was writing when a process was killed: it writes beside the file, under such names."""
    for file in folder.glob(".tmp??????"):
        file.unlink(missing_ok=True)


def configs(folder: Path) -> dict[str, Any]:
    """The configs of all runs whose checkpoints lie below a folder, by the folder of each; ours is "."."""
    from safetensors import SafetensorError, safe_open

    found = {}
    for file in sorted(folder.rglob(NAME)):
        with (
            contextlib.suppress(SafetensorError, OSError, KeyError, TypeError, ValueError),
            safe_open(file, "pt") as saved,
        ):
            found[file.parent.relative_to(folder).as_posix()] = json.loads(saved.metadata()["config"])
    return found
