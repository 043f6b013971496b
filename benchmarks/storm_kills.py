"""Disturbances of what writes: processes are killed, disks fill up, folders are read-only, two write at a time."""

from __future__ import annotations

import contextlib
import json
import multiprocessing
import os
import random
import resource
import signal
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from functools import cache
from multiprocessing.process import BaseProcess
from pathlib import Path
from typing import Any

import numpy as np
from benchmarks.storm_tally import Tried

from tagwright import zero_shot
from tagwright.encoders.cache import EmbeddingCache
from tagwright.errors import TagwrightError
from tagwright.scale.batch import Share, run
from tagwright.scale.batch_options import BatchOptions
from tagwright.server.decisions import Decisions
from tagwright.server.review_file import ReviewFile
from tagwright.server.standing_decisions import Decision
from tagwright.tagger import Tagger

NAMES = ["Bees", "Banks", "Rain", "Rivers", "Honey", "Flowers", "Stocks", "Money"]
NOBODY = 65534
REFUSED = 3
"The exit code of a process that was refused in one line."
LONGEST = 120.0
"Seconds after which a process hangs."


def save_killed(folder: Path, rng: random.Random) -> Tried:
    """A tagger that is saved again and again is whole whenever its writer is killed."""
    _tagger(2).save(folder / "model")
    kills = _kill(_save_repeatedly, (folder,), rng.uniform(0, 0.4))
    return Tried(_whole_tagger(folder), kills)


def two_save(folder: Path, rng: random.Random) -> Tried:
    """Two processes save to one folder, one of them is killed."""
    other = _start(_save_repeatedly, (folder, 8))
    kills = _kill(_save_repeatedly, (folder,), rng.uniform(0, 0.4))
    _finish(other)
    return Tried(_whole_tagger(folder), kills)


def disk_full(folder: Path, rng: random.Random) -> Tried:
    """A file cannot grow beyond some size, as on a full disk: what was there is whole, and the refusal is one line."""
    _tagger(2).save(folder / "model")
    code = _finish(_start(_save_on_small_disk, (folder, rng.randrange(0, 3000))))
    _whole_tagger(folder)
    return Tried({0: "fitted", REFUSED: "refused"}[code])


def read_only(folder: Path, _: random.Random) -> Tried:
    """A folder that must not be written to."""
    if os.geteuid():
        folder.chmod(0o555)
    else:  # root may write everywhere; its child becomes somebody else
        folder.chmod(0o755)
    code = _finish(_start(_save_as_nobody, (folder,)))
    folder.chmod(0o755)
    assert code == REFUSED, f"exit code {code}"
    assert not list(folder.iterdir()), "something was written"
    return Tried("refused")


def batch_killed(folder: Path, rng: random.Random) -> Tried:
    """A batch that is killed and continued writes the same files."""
    _prepare_batch(folder)
    kills = sum(_kill(_batch, (folder, "killed"), rng.uniform(0.2, 3)) for _ in range(rng.randint(1, 3)))
    return Tried(_same_files(folder, "killed", "continued"), kills)


def two_batches(folder: Path, rng: random.Random) -> Tried:
    """Two processes write the same batch, one of them is killed."""
    _prepare_batch(folder)
    other = _start(_batch, (folder, "both"))
    kills = _kill(_batch, (folder, "both"), rng.uniform(0.2, 3))
    assert _finish(other) == 0, "the other one failed"
    return Tried(_same_files(folder, "both", "written by two"), kills)


def decisions_killed(folder: Path, rng: random.Random) -> Tried:
    """Every decision that was acknowledged is in the store."""
    kills = _kill(_decide_repeatedly, (folder,), rng.uniform(0.05, 0.4))
    said = (folder / "acknowledged").read_text() if (folder / "acknowledged").exists() else ""
    file = ReviewFile(folder / "reviews.sqlite")
    there = {number for number, _ in Decisions(file).events()}
    file.close()
    missing = {int(number) for number in said.split("\n")[:-1]} - there
    assert not missing, f"{len(missing)} decisions are lost, the first {min(missing)}"
    return Tried("kept", kills)


def cache_killed(folder: Path, rng: random.Random) -> Tried:
    """The cache has right vectors or none."""
    kills = _kill(_cache_repeatedly, (folder,), rng.uniform(0.05, 0.4))
    texts = [str(i) for i in range(2000)]
    vectors, known = EmbeddingCache("storm", 4, folder).get(texts)
    right = np.repeat(np.arange(2000, dtype=np.float32)[:, None], 4, 1)
    assert (vectors[known] == right[known]).all(), "wrong vectors"
    return Tried("right", kills)


def svm_killed(folder: Path, rng: random.Random) -> Tried:
    """A training that is killed goes on, and its tagger is that of an undisturbed one."""
    return _training_killed(folder, rng, ["train", "svm"])


def rts_killed(folder: Path, rng: random.Random) -> Tried:
    """The same with checkpoints."""
    from tests.tiny import tiny_encoder

    settings = [f"encoder={tiny_encoder(folder / 'tiny')}", "epochs=3", "batch=4"]
    return _training_killed(folder, rng, ["train", "rts", *(part for each in settings for part in ("--set", each))])


TRIALS: Mapping[str, Callable[[Path, random.Random], Tried]] = {
    "save": save_killed,
    "two save": two_save,
    "disk full": disk_full,
    "read-only": read_only,
    "decisions": decisions_killed,
    "cache": cache_killed,
    "batch": batch_killed,
    "two batches": two_batches,
    "svm": svm_killed,
    "rts": rts_killed,
}


@cache
def _context() -> Any:
    """Processes are forked from one that has loaded everything and has no threads: so a kill takes milliseconds."""
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload(["benchmarks.storm_kills"])
    return context


def _start(victim: Callable[..., None], arguments: tuple[Any, ...]) -> BaseProcess:
    process: BaseProcess = _context().Process(target=_quietly, args=(victim, arguments))
    process.start()
    return process


def _quietly(victim: Callable[..., None], arguments: tuple[Any, ...]) -> None:
    """Exit code 3 for a refusal in one line; anything else that is raised is a traceback, exit code 1."""
    try:
        victim(*arguments)
    except TagwrightError as error:
        sys.exit(REFUSED if "\n" not in str(error) else 1)


def _kill(victim: Callable[..., None], arguments: tuple[Any, ...], after: float) -> int:
    """The number of processes killed: one, or none where it had ended before."""
    process = _start(victim, arguments)
    process.join(after)
    process.kill()
    process.join()
    assert process.exitcode in (0, -signal.SIGKILL), f"the process ended by itself with exit code {process.exitcode}"
    return int(process.exitcode == -signal.SIGKILL)


def _finish(process: BaseProcess) -> int:
    process.join(LONGEST)
    hangs = process.is_alive()
    process.kill()
    process.join()
    assert not hangs, "a process hangs"
    assert process.exitcode in (0, REFUSED), f"exit code {process.exitcode}"
    return process.exitcode


def _tagger(labels: int) -> Tagger:
    return zero_shot(NAMES[:labels], stages=["exact_match", "tfidf"], language="en")


def _save_repeatedly(folder: Path, times: int = 1000) -> None:
    taggers = [_tagger(labels) for labels in (2, 5)]
    for i in range(times):
        taggers[i % 2].save(folder / "model")


def _save_on_small_disk(folder: Path, size: int) -> None:
    signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, size))
    _tagger(5).save(folder / "model")


def _save_as_nobody(folder: Path) -> None:
    tagger = _tagger(2)
    if not os.geteuid():
        os.seteuid(NOBODY)
    tagger.save(folder / "model")


def _whole_tagger(folder: Path) -> str:
    found = Tagger.load(folder / "model") if (folder / "model").exists() else None
    size = len(found.vocabulary) if found else 0
    assert size in (0, 2, 5), f"a tagger with {size} labels"
    if found:
        assert [each.name for each in found.suggest("Bees, and more bees", k=1)] == ["Bees"]
    _tagger(2).save(folder / "model")
    left = sorted(each.name for each in folder.iterdir())
    assert left == ["model"], f"left behind: {left}"
    return "whole"


def _prepare_batch(folder: Path) -> None:
    _tagger(8).save(folder / "model")
    _write_documents(folder, 400)
    _batch(folder, "whole")


def _write_documents(folder: Path, count: int) -> None:
    rng = random.Random(0)
    with (folder / "documents.jsonl").open("w", encoding="utf-8") as file:
        for i in range(count):
            words = rng.choices(NAMES, k=4)  # so that no word is in most documents
            record = {"id": str(i), "title": " ".join(words[:2]), "abstract": " ".join(words), "labels": words[:1]}
            file.write(json.dumps(record) + "\n")


def _batch(folder: Path, output: str) -> None:
    from tagwright.readers.files import open_sources

    sources = open_sources(folder / "documents.jsonl")
    options = BatchOptions(shard_size=25)
    run(sources, folder / "model", folder / output, options, Share(), processes=1)


def _same_files(folder: Path, output: str, done: str) -> str:
    _batch(folder, output)
    one, other = ({each.name: each.read_bytes() for each in (folder / name).iterdir()} for name in ("whole", output))
    different = [name for name in sorted({*one, *other}) if one.get(name) != other.get(name)]
    assert not different, f"differ: {different}"
    return done


def _decide_repeatedly(folder: Path) -> None:
    decisions = Decisions(ReviewFile(folder / "reviews.sqlite"))
    handle = os.open(folder / "acknowledged", os.O_CREAT | os.O_WRONLY | os.O_APPEND)
    for i in range(100_000):
        number = decisions.add(Decision(document=str(i), reviewer="ann", action="accept", label="bee"))
        os.write(handle, f"{number}\n".encode())


def _cache_repeatedly(folder: Path) -> None:
    entries = EmbeddingCache("storm", 4, folder)
    for start in range(0, 2000, 50):
        numbers = np.arange(start, start + 50)
        entries.put([str(i) for i in numbers], np.repeat(numbers[:, None], 4, 1).astype(np.float32))


def _training_killed(folder: Path, rng: random.Random, command: Sequence[str]) -> Tried:
    _write_documents(folder, 40)
    (folder / "labels.txt").write_text("\n".join(NAMES) + "\n", encoding="utf-8")
    given = [*command, str(folder / "documents.jsonl"), "--labels", str(folder / "labels.txt"), "--no-check"]
    start = time.monotonic()
    assert _finish(_start(_command, ([*given, "--output", str(folder / "whole")],))) == 0
    usual = time.monotonic() - start
    again = [*given, "--output", str(folder / "killed"), "--resume", "--overwrite"]
    kills = sum(_kill(_command, (again,), rng.uniform(0, usual)) for _ in range(rng.randint(1, 4)))
    assert _finish(_start(_command, (again,))) == 0
    whole, killed = (Tagger.load(folder / name) for name in ("whole", "killed"))
    texts = [" ".join(NAMES[i:]) for i in range(4)]
    a, b = whole.tag(texts), killed.tag(texts)
    assert a.labels.tolist() == b.labels.tolist(), "it suggests other labels"
    return Tried("the same" if a.scores.tolist() == b.scores.tolist() else "the same but for digits", kills)


def _command(arguments: Sequence[str]) -> None:
    from tagwright.app import cli

    with (
        Path(os.devnull).open("w") as nowhere,
        contextlib.redirect_stdout(nowhere),
        contextlib.redirect_stderr(nowhere),
    ):
        sys.argv = ["tagwright", *arguments, "--quiet"]
        cli.main()
