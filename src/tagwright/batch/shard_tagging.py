"""Tag one shard of documents into its file: the function that every process and node runs."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from typing import Any, Literal

from tagwright.batch.output_folder import BatchOptions, model_digest
from tagwright.batch.shards import Unread
from tagwright.core.atomic import read_whole
from tagwright.data.document_file import DocumentFile
from tagwright.data.vocabulary import Vocabulary
from tagwright.errors import ModelError, TagwrightError, one_line_of
from tagwright.readers.run_files import COLUMNS, RunFormat, csv_lines, run_digest, run_lines, run_records, table_row
from tagwright.tagger import Tagger, batches
from tagwright.types import Document, Run, list_or_nones, shortest


@dataclass(frozen=True)
class ShardTagger:
    """A tagger with the options of a batch."""

    tagger: Tagger
    options: BatchOptions

    @classmethod
    def load(cls, model: Path, options: BatchOptions, digest: str = "") -> ShardTagger:
        """Load a saved tagger, memory-mapped. Raises ModelError, and ConfigError as `Tagger.check` does.

        digest: the `model_digest` that it must have.
        """
        tagger, loaded_digest = read_whole(model, lambda: (Tagger.load(model), model_digest(model)))
        if digest and loaded_digest != digest:
            raise ModelError(f"{model}: was replaced since the batch began; tag into another folder with the new one")
        tagger.check(options)
        return cls(tagger, options)

    def write(self, documents: Path, path: Path) -> list[Unread]:
        """Tag the documents in a file and write their suggestions; returns those that could not be tagged.

        Raises what the tagger raises where it can tag none of a batch: then it is not the documents.
        """
        failed: list[Unread] = []
        file = DocumentFile(documents)
        try:
            tagged = self.tagged(file.documents(0, len(file)), failed)
            if self.options.format == "parquet":
                _write_parquet(tagged, self.tagger, path)
            else:
                _write_lines(tagged, self.tagger, path, self.options.format)
        finally:
            file.close()
        return failed

    def tagged(self, documents: Iterator[Document], failed: list[Unread]) -> Iterator[tuple[Sequence[Document], Run]]:
        """Yield documents and suggestions, batch by batch; add those that could not be tagged to `failed`.

        Raises as `write` does.
        """
        for batch in batches(documents):
            parts, problems = self._as_far_as_possible(batch)
            if not parts and len(problems) > 1:
                raise problems[0][1]
            failed += [Unread(f"cannot be tagged ({one_line_of(error)})", id=id_) for id_, error in problems]
            yield from parts

    def _as_far_as_possible(
        self, batch: Sequence[Document]
    ) -> tuple[list[tuple[Sequence[Document], Run]], list[tuple[str, Exception]]]:
        """Halved until the documents that make the tagger fail are alone."""
        try:
            run = self.tagger.best(batch, self.options)
        except (TagwrightError, MemoryError):
            raise
        except Exception as error:
            if len(batch) == 1:
                return [], [(batch[0].id, error)]
            halves = [self._as_far_as_possible(half) for half in (batch[: len(batch) // 2], batch[len(batch) // 2 :])]
            return [each for parts, _ in halves for each in parts], [each for _, some in halves for each in some]
        return [(batch, run)], []


class ShardWorker:
    """Tags shards in a process of its own, which loads the tagger with the first of them."""

    def __init__(self) -> None:
        self._tagger: ShardTagger | None = None

    def tag(self, model: Path, digest: str, options: BatchOptions, documents: Path, suggestions: Path) -> list[Unread]:
        """Run `ShardTagger.write`. Raises TagwrightError for any error."""
        try:
            self._tagger = self._tagger or ShardTagger.load(model, options, digest)
            return self._tagger.write(documents, suggestions)
        except Exception as error:
            raise failure(error) from error


def failure(error: Exception) -> TagwrightError:
    """An error of another process, in one line."""
    if isinstance(error, TagwrightError):
        return TagwrightError(str(error))
    return TagwrightError(f"tagging failed ({type(error).__name__}: {one_line_of(error, 300)})")


def _write_lines(
    tagged: Iterator[tuple[Sequence[Document], Run]],
    tagger: Tagger,
    path: Path,
    format: RunFormat | Literal["csv"],  # noqa: A002
) -> None:
    labels = tagger.vocabulary
    if format == "csv":
        lines = csv_lines(chain([COLUMNS], _rows(tagged, labels)))
    else:
        lines = run_lines((record for batch in tagged for record in _records(*batch, labels)), format)
    with path.open("w", encoding="utf-8", newline="\n") as file:
        file.writelines(line + "\n" for line in lines)


def _records(documents: Sequence[Document], run: Run, labels: Vocabulary) -> Iterator[dict[str, Any]]:
    ids, titles = [document.id for document in documents], [document.title for document in documents]
    return run_records(run, ids, labels.ids, titles=titles, digests=list(map(run_digest, documents)), labels=labels)


def _rows(tagged: Iterator[tuple[Sequence[Document], Run]], labels: Vocabulary) -> Iterator[Sequence[str]]:
    """The rows of a table of suggestions."""
    for documents, run in tagged:
        sure, nones = list_or_nones(run.confidences, len(run.labels)), list_or_nones(run.none, len(run))
        labelled = zip(run.rows.tolist(), run.ranks.tolist(), run.labels.tolist(), strict=True)
        for (row, rank, place), score, confidence in zip(labelled, shortest(run.scores), sure, strict=True):
            label, name = labels[place], labels.shown_name(place)
            yield table_row(documents[row].id, rank, label, name, score, confidence, nones[row])


def _write_parquet(tagged: Iterator[tuple[Sequence[Document], Run]], tagger: Tagger, path: Path) -> None:
    """One row a document: id, its suggestions with label, name, score and confidence, and that no label fits."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    fields = [("label", pa.string()), ("name", pa.string()), ("score", pa.float32()), ("confidence", pa.float32())]
    schema = pa.schema([("id", pa.string()), ("suggestions", pa.list_(pa.struct(fields))), ("none", pa.float32())])
    with pq.ParquetWriter(path, schema, compression="zstd") as writer:
        for documents, run in tagged:
            rows = list(_records(documents, run, tagger.vocabulary))
            writer.write_batch(pa.RecordBatch.from_pylist(rows, schema=schema))
