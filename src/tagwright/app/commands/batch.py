"""The command `batch`: suggestions for any number of documents, in a file for each shard of them."""

import json
from pathlib import Path
from typing import Annotated, Literal

import typer

from tagwright.app.arguments import MODEL, Chosen, Cut, Docs, Json, Offline, Quiet, Reading
from tagwright.core.display import SOME_FAILED
from tagwright.errors import InputError


def batch(
    docs: Docs,
    reading: Reading,
    model: Annotated[Path, MODEL],
    output: Annotated[Path, typer.Option("--output", help="The folder of the batch: a new one, or one to continue.")],
    cut: Cut,
    file_format: Annotated[
        Literal["jsonl", "trec", "csv", "parquet"],
        typer.Option(
            "--format",
            help="Output format: run files (jsonl, trec), a table as in `suggest --format csv`, or Parquet (extra "
            '"parquet").',
        ),
    ] = "jsonl",
    shard_size: Annotated[int, typer.Option(min=1, help="Documents per file.")] = 2_000,
    shard: Annotated[
        str, typer.Option(metavar="i/n", help="Tag only shards i, i + n, i + 2n, ...: job i of n, counted from 0.")
    ] = "0/1",
    processes: Annotated[
        int | None, typer.Option(min=1, help="Processes on this machine; by default half of the processors, at most 8.")
    ] = None,
    ray: Annotated[
        str | None, typer.Option(metavar="ADDRESS", help='A Ray cluster, or "local". Needs the extra "ray".')
    ] = None,
    _offline: Offline = False,
    as_json: Json = False,
    _quiet: Quiet = False,
) -> None:
    """Tag any number of documents into a folder, shard by shard; the same command resumes an interrupted batch.

    Documents that cannot be read or tagged are listed in errors.jsonl, with the reason; the exit code is then 3.
    """
    from tagwright.app import inputs
    from tagwright.batch import batch as work
    from tagwright.batch.output_folder import BatchOptions

    options = BatchOptions(**vars(cut), shard_size=shard_size, format=file_format)
    share = work.shards_of(shard)
    work.check_apart(docs, output)
    unread = list[InputError]()
    sources = inputs.sources(docs, reading, Chosen(model=model), unread.append)
    done = work.run(sources, model, output, options, share, unread=unread, processes=processes, ray=ray)
    if as_json:
        print(json.dumps({**vars(done), "documents_per_second": round(done.documents_per_second, 1)}))
    else:
        rate = f"{done.documents_per_second:,.0f} a second"
        print(f"{done.documents:,} documents in {done.shards:,} shards ({rate}), {done.skipped:,} shards skipped")
    if done.errors:
        if not as_json:
            have = "document has" if done.errors == 1 else "documents have"
            print(f"{done.errors:,} {have} no suggestions: see {output / 'errors.jsonl'}")
        raise typer.Exit(SOME_FAILED)
