"""Keep the finished steps of a training in a folder beside its output, so that a killed training can be resumed."""

from __future__ import annotations

import hashlib
import json
import sys
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from tagwright.core.checked import shown
from tagwright.core.saved import (
    check_replaceable,
    is_first,
    read_manifest,
    remove_folder,
    replace_file,
    replace_folder,
    write_manifest,
    write_manifest_file,
)
from tagwright.core.terminal import escaped
from tagwright.errors import ConfigError, TagwrightError

KIND = "unfinished training"

NOT_NEEDED = ("manifest.json", "log.jsonl", "events.out.tfevents.*", ".*")
"Files that resuming does not need; hidden ones are what a killed process was writing."


@dataclass(frozen=True)
class Start:
    """The identity of a training. options: plain values. data: `digest`s of the training data by name.

    machine: what else affects the last digits of the weights; it may change.
    """

    method: str
    options: Mapping[str, Any]
    data: Mapping[str, str]
    machine: Mapping[str, str] = field(default_factory=dict)

    def check(self, folder: Path, before: Mapping[str, Any]) -> None:
        """Raise ConfigError when the manifest `before` of a folder is of another start."""
        now = json.loads(json.dumps({"method": self.method, "options": dict(self.options), "data": dict(self.data)}))
        check_resumed(folder, {name: before.get(name) for name in now}, now)

    def differences(self, before: Mapping[str, Any]) -> list[str]:
        """Differences of the machine from the manifest `before`: "torch 2.13, now 2.14"."""
        machine = before.get("machine", {})
        return [
            f"{name} {machine[name]}, now {now}" for name, now in self.machine.items() if machine.get(name, now) != now
        ]


@contextmanager
def resumable(output: Path | None, start: Start, *, resume: bool) -> Iterator[Path | None]:
    """Yield the folder OUTPUT.training, for checkpoints and logs; whoever saves the tagger removes it.

    None without an output.

    It stays when the training stops for whatever reason, unless there is nothing to resume. Raises ConfigError when an
    interrupted training with other options or data is there, or one that is not to be resumed; TagwrightError when the
    folder is something else.
    """
    if output is None:
        yield None
        return
    folder = beside(output)
    if is_first():
        _prepare(folder, start, resume=resume)
    folder.mkdir(parents=True, exist_ok=True)
    try:
        yield folder
    except (TagwrightError, KeyboardInterrupt) as stop:
        if not _waits(folder):
            remove_folder(folder)
        elif isinstance(stop, KeyboardInterrupt):
            _say(f"{folder}: --resume continues from here")
        raise


def beside(output: Path) -> Path:
    """The folder of the training of a tagger."""
    return output.with_name(f"{output.name}.training")


def digest(items: Iterable[object]) -> str:
    """A hash of the items, by their repr."""
    found = hashlib.sha256()
    for item in items:
        found.update(repr(item).encode("utf-8", "surrogatepass"))
    return found.hexdigest()


def check_resumed(place: Path, before: Mapping[str, Any], now: Mapping[str, Any], within: str = "") -> None:
    """Raise ConfigError unless a resumed run has the options and data it was started with.

    Both are plain JSON; tables are compared entry by entry. Digests of data are not shown.
    """
    for name in dict.fromkeys([*now, *before]):
        old, new = before.get(name), now.get(name)
        if isinstance(old, Mapping) and isinstance(new, Mapping):
            check_resumed(place, old, new, f"{within}{name}.")
        elif old != new:
            raise ConfigError(
                f"{place}: was started with {_difference(f'{within}{name}', old, new)}; "
                "resume it as it was started, or remove it"
            )


def _difference(name: str, old: object, new: object) -> str:
    if name.startswith("data."):
        return f"other {name.removeprefix('data.')}"
    return f"{name.removeprefix('options.')} {shown(old)}, not {shown(new)}"


def _say(text: str) -> None:
    sys.stderr.write(escaped(f"tagwright: {text}\n"))


def _prepare(folder: Path, start: Start, *, resume: bool) -> None:
    check_replaceable(folder, KIND)
    if _waits(folder):
        if not resume:
            raise ConfigError(f"{folder}: a training is not finished; continue it with --resume, or remove this folder")
        before = read_manifest(folder, KIND)
        start.check(folder, before)
        if differences := "; ".join(start.differences(before)):
            said = f"{folder}: resumed with {differences}; the last digits of the weights will differ"
            _say(said)
    elif resume:
        _say(f"{folder}: no training to resume; starting anew")
    manifest = folder / "manifest.json"
    if manifest.is_file():
        with replace_file(manifest) as file:
            write_manifest_file(file, KIND, asdict(start))
    else:
        with replace_folder(folder, KIND) as new:
            write_manifest(new, KIND, asdict(start))


def _waits(folder: Path) -> bool:
    """Whether there is anything to resume from."""
    files = (file for file in folder.rglob("*") if file.is_file())
    return any(not any(map(file.match, NOT_NEEDED)) for file in files)
