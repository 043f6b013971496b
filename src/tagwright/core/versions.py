"""A folder of immutable versions of one saved object, and a small file that says which of them is in use.

The versions are FOLDER/versions/0001, 0002, ...; FOLDER/current.json names those that were in use, the present one
last. It is a file since not every system has symbolic links, and is replaced atomically: after a kill at any moment,
the version in use is the one before the change or the one after it, and whole.
"""

import contextlib
import json
import re
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from itertools import groupby
from pathlib import Path

from tagwright.core import atomic
from tagwright.core.checked import show
from tagwright.errors import ConfigError, ModelError, TagwrightError

FILE = "current.json"
KIND = "versions"

_NAME = re.compile(r"\d{4,}")


def in_use(folder: Path | str) -> Path:
    """The version in use of a folder of versions; any other folder itself. Raises ModelError if it is damaged."""
    return versions.current if (versions := Versions(folder)).exist else Path(folder)


def saved_at(folder: Path) -> datetime:
    """When the object in a folder was saved."""
    return datetime.fromtimestamp((folder / "manifest.json").stat().st_mtime, UTC)


class Versions:
    """The versions in a folder, by their numbers as text: "0001"."""

    def __init__(self, folder: Path | str) -> None:
        self.folder = Path(folder)

    def __getitem__(self, version: str | int) -> Path:
        """The folder of a version, given as 2, "2" or "0002". Raises ConfigError for one that is not there."""
        name = f"{version:0>4}"
        if name not in (names := self.names):
            there = ", ".join(names) or "none"
            raise ConfigError(f"{self.folder}: no version {show(str(version), 100)}; there are {there}")
        return self.folder / KIND / name

    @property
    def exist(self) -> bool:
        """Whether this is a folder of versions, one of which is in use."""
        return (self.folder / FILE).is_file()

    @property
    def names(self) -> list[str]:
        """The versions, oldest first."""
        folders = (path.parent.name for path in self.folder.glob(f"{KIND}/*/manifest.json"))
        return sorted(filter(_NAME.fullmatch, folders), key=int)

    @property
    def current(self) -> Path:
        """The folder of the version in use. Raises ModelError if there is none."""
        if not (used := self.used):
            raise ModelError(f"{self.folder}: no versions of a model here ({FILE} is missing)")
        if not (folder := self.folder / KIND / used[-1]).is_dir():
            raise ModelError(f"{folder}: is in use and missing; promote another version")
        return folder

    @property
    def used(self) -> list[str]:
        """The versions that were in use, the present one last; without those that were removed since."""
        if not self.exist:
            return []
        try:
            content = json.loads((self.folder / FILE).read_text(encoding="utf-8"))
            used = [name for name in content["used"] if _NAME.fullmatch(name)]
            if content["kind"] != KIND or not used:
                raise ValueError("names no version")
        except (OSError, ValueError, TypeError, KeyError, RecursionError) as error:
            raise ModelError(f"{self.folder / FILE}: damaged ({error}); remove it, and promote a version") from None
        there = {*self.names, used[-1]}
        return [name for name, _ in groupby(name for name in used if name in there)]

    def add(self, write: Callable[[Path, str], None], kind: str, after: str = "") -> Path:
        """Let `write` fill a folder that becomes a new version; the first one is in use at once.

        write: is called with the folder and the number of the version. kind: what its manifest says is saved there.
        after: the version that the new one takes the place of. Raises TagwrightError for a folder that holds anything
        else, ChangedError where another version than `after` is in use.
        """
        others = [path.name for path in self.folder.glob("[!.]*") if path.name not in (FILE, KIND)]
        if others:
            raise TagwrightError(f"{self.folder}: holds {others[0]}, expected versions of a model; choose a new folder")
        with self.changing() as used:
            if after and used[-1:] != [after]:
                raise atomic.ChangedError(f"{self.folder}: another version than {after} was promoted meanwhile")
            newest = max([0, *map(int, self.names), *map(int, used)])
            added = self.folder / KIND / f"{newest + 1:04}"
            with atomic.replace_folder(added, kind, overwrite=False) as target:
                write(target, added.name)
            if after or not used:
                used.append(added.name)
        return added

    def promote(self, version: str | int) -> Path:
        """Put a version in use. Raises ConfigError for one that is not there."""
        folder = self[version]
        with self.changing() as used:
            used.append(self[folder.name].name)  # unless it was removed meanwhile
        return folder

    def rollback(self) -> Path:
        """Put the previous version back in use. Raises ConfigError if there was none."""
        self.current  # noqa: B018  nothing is made where nothing is in use
        with self.changing() as used:
            if len(used) < 2:
                raise ConfigError(f"{self.folder}: no version was in use before {used[-1]}; promote another one")
            used.pop()
            return self[used[-1]]

    def prune(self, keep: int) -> list[str]:
        """Remove all but the newest versions, the one in use and the one before it; return the removed ones.

        Raises OccupiedError, and removes none, where one holds a file that is no part of it.
        """
        if keep < 1:
            raise ConfigError(f"keep is {keep}, expected 1 or more versions")
        self.current  # noqa: B018  nothing is removed where nothing is in use
        with self.changing() as used:
            doomed = [name for name in self.names[:-keep] if name not in used[-2:]]
            atomic.delete(*(self.folder / KIND / name for name in doomed))
        return doomed

    @contextlib.contextmanager
    def changing(self) -> Iterator[list[str]]:
        """Yield `used`, to be changed by one process at a time; on leaving, it is written, and the change is made."""
        file = self.folder / FILE
        with atomic.report_write_errors(file):
            self.folder.mkdir(parents=True, exist_ok=True)
            with atomic.hold_lock(file):
                atomic.remove_leftovers(self.folder / KIND)
                used, before = self.used, self.used
                yield used
                if used != before:
                    with atomic.replace_locked(file) as temporary:
                        content = {"tagwright": 1, "kind": KIND, "used": used[-100:]}  # which can be rolled back
                        temporary.write_text(json.dumps(content) + "\n", encoding="utf-8")
