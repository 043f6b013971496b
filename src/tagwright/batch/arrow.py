"""Tag Arrow batches where they are: a callable for Ray Data, Daft, Spark and whatever else passes on Arrow."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar, Unpack

from tagwright.batch.output_folder import BatchOptions, model_digest
from tagwright.batch.shards import Unread
from tagwright.core.atomic import read_whole
from tagwright.core.checked import show
from tagwright.core.extras import require
from tagwright.core.progress import silence
from tagwright.core.versions import in_use
from tagwright.defaults import MAX_LABELS
from tagwright.encoders.cache import passing_documents
from tagwright.errors import ConfigError, InputError
from tagwright.readers.documents.records import SHAPES, to_document
from tagwright.readers.lines import Place
from tagwright.tagger.acceptance import SuggestArguments
from tagwright.types import Document, Run, list_or_nones

if TYPE_CHECKING:
    import pyarrow as pa

Batch = TypeVar("Batch", "pa.RecordBatch", "pa.Table")

_FIELDS = ("id", "title", "abstract", "text", "sections", "metadata")


class ArrowTagger:
    """Tags batches of documents: Arrow in, Arrow out, a row for each row, in the same order.

    model: a saved tagger, at the same path on every machine; a process loads it once, with its first batch. columns:
    field -> column, if the columns of a document (id, and title, abstract, text, sections or metadata) have other
    names; other columns are not read. k, rules: as for `Tagger.suggest`. Raises ConfigError for rules that contradict
    each other, ModelError if there is no tagger.

    A result has the columns of `schema`: id; labels, scores and confidences (null if the tagger estimates none), best
    first; none, the probability that no label fits; and error, why a document cannot be read or tagged, otherwise null,
    also for one without text. Numbers are those of `tagwright batch`, up to the last digit, which varies with the size
    of batches.
    """

    def __init__(
        self,
        model: Path | str,
        columns: Mapping[str, str] | None = None,
        k: int = MAX_LABELS,
        **rules: Unpack[SuggestArguments],
    ) -> None:
        require("Arrow batches", "pyarrow")
        self.model = in_use(model).resolve()
        self.columns, self.options = dict(columns or {}), BatchOptions(k=k, **rules)
        if unknown := [field for field in self.columns if field not in _FIELDS]:
            raise ConfigError(f"columns name {show(unknown[0])}, expected of {', '.join(_FIELDS)}")
        self.digest = read_whole(self.model, lambda: model_digest(self.model))

    @property
    def schema(self) -> pa.Schema:
        """The columns of a result."""
        import pyarrow as pa

        numbers = pa.list_(pa.float32())
        lists = [("labels", pa.list_(pa.string())), ("scores", numbers), ("confidences", numbers)]
        return pa.schema([("id", pa.string()), *lists, ("none", pa.float32()), ("error", pa.string())])

    def __call__(self, batch: Batch) -> Batch:
        """Tag a RecordBatch or a Table. Raises ConfigError for one without id or text, ModelError for another tagger.

        Raises what the tagger raises where it can tag none of several documents.
        """
        from tagwright.batch.shard_tagging import tag_batches, tagger_of_process

        rows, documents = self._read(batch)
        tagger, failed = tagger_of_process(self.model, self.options, self.digest), list[Unread]()
        of_document = {id(document): row for document, row in documents}
        with silence(), passing_documents():
            for tagged, run in tag_batches(tagger, self.options, (document for document, _ in documents), failed):
                for document, suggested in zip(tagged, _lists(run, tagger.vocabulary.ids), strict=True):
                    of_document.pop(id(document)).update(suggested)
        for row, problem in zip(of_document.values(), failed, strict=True):
            row["error"] = problem.reason
        return type(batch).from_pylist(rows, schema=self.schema)

    def _read(self, batch: Batch) -> tuple[list[dict[str, Any]], list[tuple[Document, dict[str, Any]]]]:
        """A row of the result for each row, with its id or what is wrong with it; and each document with its row."""
        named = {field: self.columns.get(field, field) for field in _FIELDS}
        there: dict[str, str] = {field: column for field, column in named.items() if column in batch.schema.names}
        lacking = [column for field, column in self.columns.items() if field not in there]
        if lacking or "id" not in there or len(there) == 1:
            wanted = show(lacking[0]) if lacking else "an id" if "id" not in there else "a text"
            raise ConfigError(
                f"the batch has no column for {wanted}; it has {', '.join(batch.schema.names)}; name them, as in "
                'ArrowTagger(model, columns={"id": "key", "text": "body"})'
            )
        rows, documents = list[dict[str, Any]](), list[tuple[Document, dict[str, Any]]]()
        records = batch.select([*there.values()]).rename_columns([*there]).to_pylist()
        for number, record in enumerate(records):
            row: dict[str, Any] = {"id": None if record["id"] is None else str(record["id"])}
            rows.append(row)
            try:
                documents.append((to_document(record, SHAPES["jsonl"], Place("batch", number)), row))
            except InputError as error:
                row["error"] = error.problem
        return rows, documents


def _lists(run: Run, ids: Sequence[str]) -> Iterator[dict[str, Any]]:
    """The suggestions of each document by column of the result. ids: of the labels."""
    labels, scores = [ids[place] for place in run.labels.tolist()], run.scores.tolist()
    confidences = None if run.confidences is None else run.confidences.tolist()
    nones = list_or_nones(run.none, len(run))
    for (start, end), none in zip(pairwise(run.indptr.tolist()), nones, strict=True):
        sure = None if confidences is None else confidences[start:end]
        yield {"labels": labels[start:end], "scores": scores[start:end], "confidences": sure, "none": none}
