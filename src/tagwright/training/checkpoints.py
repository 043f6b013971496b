"""The state of a training run in, one file out, and back: safetensors with JSON, replaced in one step, no pickle."""

from __future__ import annotations

import contextlib
import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tagwright.errors import ConfigError, ModelError
from tagwright.store import remove_leftovers, replace_file

if TYPE_CHECKING:
    import torch

NAME = "checkpoint.safetensors"


@dataclass(frozen=True, eq=False)
class Checkpoint:
    """progress: plain JSON, where the run stands. config: plain JSON, what it must be resumed with. tensors: by name.

    Chance needs no state here: it is seeded by the run's seed and the step, epoch or batch that it serves.
    """

    progress: Mapping[str, Any]
    config: Mapping[str, Any]
    tensors: Mapping[str, torch.Tensor]

    def save(self, folder: Path) -> None:
        """Take the place of the folder's checkpoint. A process that dies meanwhile leaves the old one whole."""
        from safetensors.torch import save_file

        with replace_file(folder / NAME) as path:
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
        for name in sorted({*saved.config, *config}):
            if saved.config.get(name) != config.get(name):
                raise ConfigError(
                    f"{path}: the run was started with {name} {saved.config.get(name)}, not {config.get(name)}; "
                    "resume it with the same options, or train without resuming"
                )
        return saved

    def part(self, prefix: str) -> dict[str, torch.Tensor]:
        """The tensors whose name is `prefix`/NAME, by NAME."""
        return {
            name[len(prefix) + 1 :]: tensor for name, tensor in self.tensors.items() if name.startswith(prefix + "/")
        }


def discard(folder: Path) -> None:
    """Remove the checkpoint of a run whose model is stored elsewhere."""
    remove_leftovers(folder / NAME)
    (folder / NAME).unlink(missing_ok=True)


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
