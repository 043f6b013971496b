"""Tag documents shard by shard into a folder; finished shards are skipped."""

import os
import re
import sys
import time
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

from tagwright.batch.local_processes import Tagged, in_processes
from tagwright.batch.output_folder import BatchOptions, OutputFolder, model_digest
from tagwright.batch.shard_tagging import load_tagger
from tagwright.batch.shards import Shard, cut_into_shards
from tagwright.core.atomic import delete, lies_in, read_whole, remove_leftovers, scratch_folder
from tagwright.core.extras import require
from tagwright.core.progress import bar
from tagwright.core.workers import usable_cores
from tagwright.errors import ConfigError, InputError
from tagwright.readers.documents.records import Located

MOST_PROCESSES = 8
"Processes by default, at most: each needs memory besides the tagger, which they share."


def shards_of(text: str) -> range:
    """The shards that `i/n`, i from 0, stands for: those with number % n == i. Raises ConfigError.

    >>> list(shards_of("1/4")[:3])
    [1, 5, 9]
    """
    match = re.fullmatch("([0-9]{1,15})/([0-9]{1,15})", text)
    if not match or not int(match[1]) < int(match[2]):
        raise ConfigError(f"--shard {text[:40]}: expected i/n, i from 0 to n - 1, such as 0/4, the first of four")
    return range(int(match[1]), sys.maxsize, int(match[2]))


@dataclass(frozen=True)
class Summary:
    """The result of a run. shards, documents: tagged now; errors: documents of these without suggestions."""

    shards: int
    skipped: int
    documents: int
    errors: int
    seconds: float

    @property
    def documents_per_second(self) -> float:
        """Documents with suggestions, over the whole time of the run."""
        return (self.documents - self.errors) / self.seconds if self.seconds else 0.0


def run(
    sources: Iterable[tuple[str, Iterator[Located]]],
    model: Path,
    output: Path,
    options: BatchOptions,
    share: range,
    *,
    unread: list[InputError],
    processes: int | None = None,
    ray: str | None = None,
) -> Summary:
    """Tag documents in shards; those whose files are whole already are skipped.

    sources: as `open_sources` gives them. share: the numbers of the shards to tag, see `shards_of`. unread: gets the
    errors of documents in the sources that cannot be read, as they come. ray: the address of a Ray cluster, or "local",
    in place of processes. Raises ConfigError and TagwrightError for settings that cannot be, an output that is no
    batch, one with other settings or one with more shards than the documents fill, and what cannot be written.
    """
    if options.format == "parquet":
        require("writing Parquet", "pyarrow")
    if ray is not None:
        require("--ray", "ray")
        if processes is not None:
            raise ConfigError("Ray decides how many processes there are: give --processes or --ray")
    folder = OutputFolder(output, options.format)
    digest = read_whole(model, lambda: model_digest(model))
    if not folder.is_claimed():  # before it is: options that the tagger cannot follow leave nothing behind
        load_tagger(model, options)
    folder.claim(options.settings(digest))
    remove_leftovers(output)
    start, finished = time.perf_counter(), list[int]()
    shards = documents = errors = 0
    with scratch_folder() as scratch, bar("tagging", None) as progress:
        cuts = cut_into_shards(sources, options.shard_size, share.__contains__, scratch, unread)
        unfinished = _find_unfinished(cuts, folder, share, options.shard_size, finished)
        for shard, suggestions, failed in _tagged(unfinished, model, digest, options, processes, ray):
            errors += folder.keep(shard, suggestions, failed)
            delete(suggestions)
            delete(shard.path)
            shards, documents = shards + 1, documents + shard.size
            progress(shard.size)
    folder.finish()
    return Summary(shards, len(finished), documents, errors, time.perf_counter() - start)


def check_apart(docs: Iterable[str], output: Path) -> None:
    """Raise ConfigError if the output is inside a folder of documents: its files would be read as documents."""
    for source in docs:
        folder = source != "-" and os.path.isdir(source)  # noqa: PTH112 - Path.is_dir raises on names that cannot be
        if folder and lies_in(output, Path(source)):
            raise ConfigError(f"{output}: is inside {source}, whose files are the documents; choose another output")


def _find_unfinished(
    shards: Iterator[Shard], folder: OutputFolder, share: range, size: int, finished: list[int]
) -> Iterator[Shard]:
    """The shards to tag; the numbers of those that are done are added to `finished`.

    size: documents in each shard but the last. Raises TagwrightError before the last shard is tagged, if the folder has
    shards beyond it.
    """
    seen = 0
    for shard in shards:
        seen += 1
        if shard.size < size:
            folder.check_last(seen)
        if shard.number not in share:
            continue
        if folder.is_whole(shard):
            finished.append(shard.number)
            delete(shard.path)
        else:
            folder.check_kept(shard)
            yield shard
    folder.check_last(seen)


def _tagged(
    shards: Iterator[Shard], model: Path, digest: str, options: BatchOptions, processes: int | None, ray: str | None
) -> Iterator[Tagged]:
    """Tag shards and yield them in any order; only a few are read ahead."""
    if ray is None:
        half = min(MOST_PROCESSES, max(1, usable_cores() // 2))
        return in_processes(shards, model, digest, options, processes or half)
    from tagwright.batch.ray_tasks import on_ray

    return on_ray(shards, model, digest, options, ray)
