"""Tag one shard of documents into its file: the function that every process and node runs."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import closing
from functools import cache
from itertools import chain
from pathlib import Path
from typing import Any

from tagwright.batch.output_folder import BatchOptions, model_digest
from tagwright.batch.shards import Unread
from tagwright.core.atomic import read_whole
from tagwright.data.document_file import DocumentFile
from tagwright.data.vocabulary import Vocabulary
from tagwright.errors import ModelError, TagwrightError, one_line_of
from tagwright.readers.lines import write_lines
from tagwright.readers.run_files import COLUMNS, csv_lines, run_digest, run_lines, run_records, table_row
from tagwright.tagger import Tagger, batches
from tagwright.types import Document, Run


def load_tagger(model: Path, options: BatchOptions, digest: str = "") -> Tagger:
    """Load a saved tagger, memory-mapped. Raises ModelError, and ConfigError as `Tagger.check` does.

    digest: the `model_digest` that it must have.
    """
    tagger, loaded_digest = read_whole(model, lambda: (Tagger.load(model), model_digest(model)))
    if digest and loaded_digest != digest:
        raise ModelError(f"{model}: was replaced since the batch began; tag into another folder with the new one")
    tagger.check(options)
    return tagger


tagger_of_process = cache(load_tagger)
"The same, loaded once in a process."


def tag_shard(model: Path, digest: str, options: BatchOptions, documents: Path, suggestions: Path) -> list[Unread]:
    """Tag the documents in a file and write their suggestions; returns those that could not be tagged.

    Raises what the tagger raises where it can tag none of a batch: then it is not the documents.
    """
    failed: list[Unread] = []
    tagger = tagger_of_process(model, options, digest)
    with closing(DocumentFile(documents)) as file:
        tagged = tag_batches(tagger, options, file.documents(0, len(file)), failed)
        records = ([*_records(*batch, tagger.vocabulary)] for batch in tagged)
        if options.format == "parquet":
            _write_parquet(records, suggestions)
        elif options.format == "csv":
            rows = _rows(chain.from_iterable(records), tagger.vocabulary)
            write_lines(csv_lines(chain([COLUMNS], rows)), suggestions)
        else:
            write_lines(run_lines(chain.from_iterable(records), options.format), suggestions)
    return failed


class ShardWorker:
    """Tags shards in a process of its own, which calls `tag` by its name."""

    tag = staticmethod(tag_shard)


def tag_batches(
    tagger: Tagger, options: BatchOptions, documents: Iterable[Document], failed: list[Unread]
) -> Iterator[tuple[Sequence[Document], Run]]:
    """Yield documents and suggestions, batch by batch; add those that could not be tagged to `failed`.

    Raises what the tagger raises where it can tag none of several documents.
    """
    for batch in batches(documents):
        parts, problems = _as_far_as_possible(tagger, options, batch)
        if not parts and len(problems) > 1:
            raise problems[0][1]
        failed += [Unread(f"cannot be tagged ({one_line_of(error)})", id=id_) for id_, error in problems]
        yield from parts


def _as_far_as_possible(
    tagger: Tagger, options: BatchOptions, batch: Sequence[Document]
) -> tuple[list[tuple[Sequence[Document], Run]], list[tuple[str, Exception]]]:
    """Halved until the documents that make the tagger fail are alone."""
    try:
        return [(batch, tagger.best(batch, options))], []
    except (TagwrightError, MemoryError):
        raise
    except Exception as error:
        if len(batch) == 1:
            return [], [(batch[0].id, error)]
    parts, problems = _as_far_as_possible(tagger, options, batch[: len(batch) // 2])
    others, more = _as_far_as_possible(tagger, options, batch[len(batch) // 2 :])
    return parts + others, problems + more


def _records(documents: Sequence[Document], run: Run, labels: Vocabulary) -> Iterator[dict[str, Any]]:
    ids, titles = [document.id for document in documents], [document.title for document in documents]
    return run_records(run, ids, labels.ids, titles=titles, digests=list(map(run_digest, documents)), labels=labels)


def _rows(records: Iterable[Mapping[str, Any]], labels: Vocabulary) -> Iterator[Sequence[str]]:
    """The rows of a table of suggestions."""
    for record in records:
        for rank, each in enumerate(record["suggestions"], 1):
            place = labels.index[each["label"]]
            numbers = each["score"], each.get("confidence"), record.get("none")
            yield table_row(record["id"], rank, labels[place], labels.shown_name(place), *numbers)


def _write_parquet(batches_of_records: Iterable[list[dict[str, Any]]], path: Path) -> None:
    """One row a document: id, its suggestions with label, name, score and confidence, and that no label fits."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    fields = [("label", pa.string()), ("name", pa.string()), ("score", pa.float32()), ("confidence", pa.float32())]
    schema = pa.schema([("id", pa.string()), ("suggestions", pa.list_(pa.struct(fields))), ("none", pa.float32())])
    with pq.ParquetWriter(path, schema, compression="zstd") as writer:
        for rows in batches_of_records:
            writer.write_batch(pa.RecordBatch.from_pylist(rows, schema=schema))
