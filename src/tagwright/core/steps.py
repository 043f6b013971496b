"""Store the finished steps of a training in a folder beside its output, so that a killed training can be resumed."""

import contextlib
import hashlib
import json
import logging
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from tagwright.core.atomic import (
    OccupiedError,
    check_replaceable,
    delete,
    hold_lock,
    replace_file,
    replace_folder,
    report_write_errors,
)
from tagwright.core.checked import show
from tagwright.core.display import escape_controls
from tagwright.core.saved import is_first, read_manifest, write_manifest, write_manifest_file
from tagwright.errors import ConfigError, InputError, ModelError, TagwrightError, option

KIND = "unfinished training"

NAME = "checkpoint.safetensors"
"The file of a step."

LOG = "log.jsonl"
"The log of a step, beside it."

_log = logging.getLogger(__name__)


@dataclass(frozen=True, eq=False)
class State:
    """The result of a step. arrays: by name. values: plain JSON."""

    arrays: Mapping[str, NDArray[Any]]
    values: Mapping[str, Any] = field(default_factory=dict)

    def part(self, prefix: str) -> dict[str, NDArray[Any]]:
        """Return the arrays with the name `prefix`/NAME, by NAME."""
        return {name[len(prefix) + 1 :]: array for name, array in self.arrays.items() if name.startswith(prefix + "/")}


@dataclass(frozen=True)
class Steps:
    """Store the steps of a training: each has a folder with its latest or final state.

    folder: None stores nothing. resume: read stored steps instead of computing them again. All processes of `accelerate
    launch` read; only the first one writes.
    """

    folder: Path | None = None
    resume: bool = False

    @property
    def writes(self) -> bool:
        """Whether this process stores anything."""
        return self.folder is not None and is_first()

    def within(self, name: str) -> Self:
        """Return the store of one step, which may have steps of its own."""
        return replace(self, folder=self.folder and self.folder / name)

    def once(self, name: str, make: Callable[[], State], config: Mapping[str, Any] | None = None) -> State:
        """Return the state of a step: the stored one, or a new one, which is then stored. config: see `latest`."""
        step, config = self.within(name), config or {}
        state = step.latest(config)
        if state is None:
            state = make()
            step.keep(state, config)
        return state

    def has(self, name: str) -> bool:
        """Whether the step is stored, so that `once` reads it."""
        return self.within(name)._is_kept

    def latest(self, config: Mapping[str, Any]) -> State | None:
        """Return the last stored state; None if there is none, or the training is not resumed.

        config: plain JSON, all that determines the step. Raises ConfigError when it was started with another config,
        ModelError when the file is damaged.
        """
        from safetensors import SafetensorError, safe_open

        if not self.folder or not self._is_kept:
            return None
        path = self.folder / NAME
        try:
            with safe_open(path, "np") as file:
                metadata, arrays = file.metadata(), {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118
            step = json.loads(metadata["step"])
            before, state = step["config"], State(arrays, step["values"])
        except (SafetensorError, OSError, ValueError, KeyError, TypeError) as error:
            raise ModelError(f"{path}: damaged ({error}); train without resuming") from None
        _check_resumed(path, before, config)
        return state

    def keep(self, state: State, config: Mapping[str, Any]) -> None:
        """Store the state in place of the old one, which stays intact if the process dies meanwhile.

        Random generators need no state: they are seeded by the seed of the training and the step, epoch or batch.
        """
        from safetensors.numpy import save_file

        if not self.folder or not self.writes:
            return
        arrays = {name: np.asarray(array, order="C") for name, array in state.arrays.items()}
        step = json.dumps({"values": dict(state.values), "config": dict(config)})
        with replace_file(self.folder / NAME) as path:
            save_file(arrays, path, {"step": step})

    def configs(self) -> dict[str, Any]:
        """Return the configs of the steps with a log, by folder; "." is this step."""
        from safetensors import SafetensorError, safe_open

        configs, folder = {}, self.folder
        for log in sorted(folder.rglob(LOG)) if folder else ():
            with (
                contextlib.suppress(SafetensorError, OSError, KeyError, TypeError, ValueError),
                safe_open(log.with_name(NAME), "np") as file,
            ):
                configs[log.parent.relative_to(folder or "").as_posix()] = json.loads(file.metadata()["step"])["config"]
        return configs

    @property
    def _is_kept(self) -> bool:
        return self.resume and self.folder is not None and (self.folder / NAME).is_file()


@contextlib.contextmanager
def open_steps(output: Path | None, start: Mapping[str, Any], *, resume: bool) -> Iterator[Steps]:
    """Yield the store of a training's steps, in the folder OUTPUT.training; the caller removes it after saving.

    start: plain JSON, all that must not change when it is resumed: its method, options, and `digest`s of its data.
    Without an output nothing is stored. An interrupted training leaves the folder; where there is nothing to resume, or
    its data or options are refused, as they would be again, it is not left. The folder is locked until the caller is
    done. Raises ConfigError if the folder holds a training with other options or data, or one and resume is False;
    TagwrightError if the folder is something else, or another training runs there.
    """
    if output is None:
        yield Steps()
        return
    folder = training_folder(output)
    with contextlib.ExitStack() as stack:
        if is_first():
            with report_write_errors(folder):
                folder.parent.mkdir(parents=True, exist_ok=True)
                stack.enter_context(hold_lock(folder.with_name(f"{folder.name}.running"), 0, place=folder))
            _prepare(folder, start, resume=resume)
        folder.mkdir(parents=True, exist_ok=True)
        try:
            yield Steps(folder, resume)
        except (TagwrightError, KeyboardInterrupt) as stop:
            stopped = isinstance(stop, KeyboardInterrupt | OccupiedError)  # the output is in the way of others
            refused = isinstance(stop, InputError) or (isinstance(stop, ConfigError) and not resume and not stopped)
            if refused or not _waits(folder):
                remove(folder)
            elif stopped:
                _say(f"{folder}: interrupted; continue with {option('resume', python='resume=True')}")
            raise


def remove(folder: Path) -> None:
    """Remove the folder of a training that is saved or refused; with files of others in it, it is kept."""
    try:
        delete(folder, parts=(NAME, LOG))
    except (OSError, TagwrightError) as error:
        _log.warning("%s: is kept (%s)", folder, error)


def training_folder(output: Path) -> Path:
    """Return the folder for the training of a tagger, beside the folder of the tagger."""
    return output.with_name(f"{output.name}.training")


def digest(items: Iterable[object]) -> str:
    """Return a hash of the items, by their repr."""
    checksum = hashlib.sha256()
    for item in items:
        checksum.update(repr(item).encode("utf-8", "surrogatepass"))
    return checksum.hexdigest()


def _check_resumed(place: Path, before: Mapping[str, Any], now: Mapping[str, Any], within: str = "") -> None:
    """Raise ConfigError unless a resumed run has the same options and data as at the start.

    Both are plain JSON; tables are compared entry by entry. Digests of data are not shown.
    """
    for name in dict.fromkeys([*now, *before]):
        old, new = before.get(name), now.get(name)
        if isinstance(old, Mapping) and isinstance(new, Mapping):
            _check_resumed(place, old, new, f"{within}{name}.")
        elif old != new:
            raise ConfigError(
                f"{place}: was started with {_difference(f'{within}{name}', old, new)}; "
                "resume it with the same options and data, or remove it"
            )


def _difference(name: str, old: object, new: object) -> str:
    if name.startswith("data."):
        return f"other {name.removeprefix('data.')}"
    return f"{name.removeprefix('options.')} {show(old)}, not {show(new)}"


def _say(text: str) -> None:
    sys.stderr.write(escape_controls(f"tagwright: {text}\n"))


def _prepare(folder: Path, start: Mapping[str, Any], *, resume: bool) -> None:
    check_replaceable(folder, KIND, parts=(NAME, LOG))
    if _waits(folder):
        if not resume:
            problem = f"a training is not finished; continue it with {option('resume', python='resume=True')}"
            raise ConfigError(f"{folder}: {problem}, or remove this folder")
        before, now = read_manifest(folder, KIND), json.loads(json.dumps(start))
        _check_resumed(folder, {name: before.get(name) for name in now}, now)
    elif resume:
        _say(f"{folder}: no training to resume; starting anew")
    manifest = folder / "manifest.json"
    if manifest.is_file():
        with replace_file(manifest) as file:
            write_manifest_file(file, KIND, start)
    else:
        with replace_folder(folder, KIND) as new:
            write_manifest(new, KIND, start)


def _waits(folder: Path) -> bool:
    """Whether there is anything to resume from."""
    return any(folder.rglob(NAME))
