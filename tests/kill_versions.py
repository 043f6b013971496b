"""Kill a process while it adds, promotes, rolls back and prunes versions; the one in use must always be whole.

python -m tests.kill_versions FOLDER --steps kills it once before each of its file operations;
python -m tests.kill_versions FOLDER 1000 kills it 1,000 times, each time at a moment drawn at random, and needs minutes
since its versions are taggers, which are loaded and checked byte by byte after each kill.
"""

from __future__ import annotations

import json
import os
import random
import shutil
import signal
import sys
import time
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path

from tagwright.core.atomic import remove_leftovers
from tagwright.core.versions import Versions, in_use

OPERATIONS = {"open", "os.rename", "os.remove", "os.rmdir", "os.mkdir", "os.chmod", "os.truncate"}
"Audit events of Python that touch files; os.rename is also that of os.replace."


def write(folder: Path, _: str, size: int = 3) -> None:
    """Write a version that says itself whether it is whole."""
    for name in map(str, range(size)):
        (folder / name).write_text(name)
    (folder / "manifest.json").write_text(json.dumps({"tagwright": 1, "kind": "box", "parts": size}))


def is_whole(folder: Path) -> bool:
    parts = json.loads((folder / "manifest.json").read_text())["parts"]
    return all((folder / str(part)).read_text() == str(part) for part in range(parts))


def changes(versions: Versions, make: Callable[[Path, str], None], kind: str) -> Iterator[Callable[[], object]]:
    """Every kind of change, in a round after which as many versions are there as before."""
    yield partial(versions.add, make, kind)
    yield lambda: versions.promote(versions.names[-1])
    yield versions.rollback
    yield lambda: versions.promote(versions.names[-1])
    yield partial(versions.prune, 2)


UNMOVING = (0, 4)
"The places among the changes of those that leave the version in use as it is."


def killed_before(step: int, change: Callable[[], object]) -> bool:
    """Make a change in another process, killed before this file operation; False if it has no so many."""
    child = os.fork()
    if child == 0:
        left = step

        def die(event: str, _: object) -> None:
            nonlocal left
            if event in OPERATIONS:
                left -= 1
                if left < 0:
                    os.kill(os.getpid(), signal.SIGKILL)

        sys.addaudithook(die)
        change()
        os._exit(0)
    return os.waitpid(child, 0)[1] == signal.SIGKILL


def killed_within(seconds: float, change: Callable[[], object]) -> bool:
    """Make changes in another process until it is killed; False if it ended itself."""
    child = os.fork()
    if child == 0:
        while True:
            change()
    time.sleep(seconds)
    os.kill(child, signal.SIGKILL)
    return os.waitpid(child, 0)[1] == signal.SIGKILL


def every_step(folder: Path) -> dict[str, object]:
    """Kill each change before each of its operations, always from the same state."""
    killed, damaged = 0, list[str]()
    os.fsync = lambda fd: None  # noqa: ARG005  a killed process loses nothing that the system has, and disks are slow
    start, place = folder / "start", folder / "models"
    versions = Versions(start)
    for _ in range(3):
        versions.add(write, "box")
    versions.promote(3)
    versions.promote(2)
    for number, change in enumerate(changes(Versions(place), write, "box")):
        step = 0
        while True:
            shutil.rmtree(place, ignore_errors=True)
            shutil.copytree(start, place)
            before = in_use(place).name
            went = killed_before(step, change)
            found = Versions(place)
            right = (before,) if number in UNMOVING else (before, "0003")
            if in_use(place).name not in right or not all(is_whole(found[name]) for name in found.names):
                damaged.append(f"change {number}, step {step}")
            found.add(write, "box")
            if any(path.name.startswith(".") for path in (place / "versions").iterdir()):
                damaged.append(f"change {number}, step {step}: leftovers")
            if not went:
                break
            killed, step = killed + 1, step + 1
    return {"killed": killed, "damaged": damaged}


def at_random(folder: Path, kills: int) -> dict[str, object]:
    """Kill changes of real taggers at random moments."""
    from tests.server.conftest import word_tagger

    from tagwright.tagger import KIND, Tagger

    rng, place, tagger = random.Random(0), folder / "models", word_tagger()
    versions = Versions(place)

    def make(target: Path, _: str) -> None:
        tagger.write(target)

    for _ in range(3):
        versions.add(make, KIND)
    versions.promote(2)
    expected = [each.id for each in tagger.suggest("Honey bees visit apple orchards.")]

    def change() -> None:
        for each in changes(versions, make, KIND):
            each()

    killed, damaged, served = 0, list[str](), set[str]()
    for number in range(kills):
        killed += killed_within(rng.uniform(0.005, 0.15), change)
        try:
            found = Tagger.load(place, verify=True)
            assert [each.id for each in found.suggest("Honey bees visit apple orchards.")] == expected
            assert all(Tagger.load(versions[name]) for name in versions.names)
            if len(versions.used) < 2:
                versions.promote(versions.names[0])
        except Exception as error:
            damaged.append(f"kill {number}: {error}")
        served.add(in_use(place).name)
    remove_leftovers(place)
    versions.prune(2)
    left = [path.name for path in place.rglob(".*")]
    return {"killed": killed, "versions served": len(served), "damaged": damaged, "left over": left}


if __name__ == "__main__":
    work = Path(sys.argv[1])
    outcome = every_step(work) if sys.argv[2] == "--steps" else at_random(work, int(sys.argv[2]))
    sys.stdout.write(json.dumps(outcome) + "\n")
