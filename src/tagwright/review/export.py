"""Export a review file: labelled documents, verdicts, Annif's TSV, CSV, and gold labels to train on."""

import json
import logging
import re
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Literal, TypeAlias

import numpy as np

from tagwright.core.checked import shown
from tagwright.core.display import many
from tagwright.data.corpus import ids_of, taken
from tagwright.data.vocabulary import Vocabulary
from tagwright.errors import InputError
from tagwright.readers.documents.columns import join_labels
from tagwright.readers.documents.records import to_record
from tagwright.readers.lines import escape_formula, table_lines
from tagwright.review.decisions import Decisions
from tagwright.review.documents import ReviewedDocuments
from tagwright.review.file import ReviewFile
from tagwright.types import Document, Run

_log = logging.getLogger(__name__)

ExportFormat: TypeAlias = Literal["jsonl", "verdicts", "tsv", "csv"]
"The formats of text; `table` is a workbook's."

_URI = re.compile(r"[^<>\s]+")


def labelled_documents(file: ReviewFile) -> Iterator[Document]:
    """Yield the reviewed documents in order, with their labels.

    Documents without a text in the file are left out; so are unfinished documents without labels.
    """
    labels, documents = Decisions(file).labels(), ReviewedDocuments(file)
    for entry in documents.entries():
        if entry.id in labels:
            yield replace(documents[entry.number], labels=tuple(labels[entry.id]))


def exported(file: ReviewFile, wanted: ExportFormat) -> Iterator[str]:
    """The lines of an export, without line ends. Raises InputError for a label that the format cannot hold.

    jsonl: labelled documents, as `train` and `evaluate` read them. verdicts: each current verdict with reviewer,
    time, rank, confidence, model and, for a candidate drawn at random, the number to draw from; and the notes. tsv:
    text and `<id>` of each label, as Annif reads it. csv: id, title, text, labels, with an apostrophe, which our reader
    removes, before cells that a spreadsheet would compute.
    """
    return _FORMATS[wanted](file)


def table(file: ReviewFile) -> Iterator[tuple[str, str, str, str]]:
    """The labelled documents as rows below a header: id, title, text, labels."""
    yield "id", "title", "text", "labels"
    for document in labelled_documents(file):
        yield document.id, document.title, replace(document, title="").text, join_labels(document.labels)


def _verdicts(file: ReviewFile) -> Iterator[str]:
    fields = ("document", "label", "reviewer", "time", "rank", "confidence", "drawn_from", "model")
    for event in Decisions(file).current():
        if event.label is not None:  # among current events, only verdicts have a label
            yield _json({"verdict": event.action, **{field: getattr(event, field) for field in fields}})
        elif event.note:
            yield _json({field: getattr(event, field) for field in ("note", "document", "reviewer", "time")})


def _tsv(file: ReviewFile) -> Iterator[str]:
    for document in labelled_documents(file):
        for label in document.labels:
            if not _URI.fullmatch(label):
                problem = f"label {shown(label)} has a blank or <>, which Annif's TSV cannot hold; export jsonl or csv"
                raise InputError(problem, file.path)
        yield f"{' '.join(document.text.split())}\t{' '.join(f'<{label}>' for label in document.labels)}"


def _csv(file: ReviewFile) -> Iterator[str]:
    return table_lines((list(map(escape_formula, row)) for row in table(file)), "csv")


def _json(content: Mapping[str, object]) -> str:
    return json.dumps(content, ensure_ascii=False)


_FORMATS: Mapping[ExportFormat, Callable[[ReviewFile], Iterator[str]]] = {
    "jsonl": lambda file: (_json(to_record(document)) for document in labelled_documents(file)),
    "verdicts": _verdicts,
    "tsv": _tsv,
    "csv": _csv,
}


@dataclass(frozen=True, slots=True)
class Reviewed:
    """Labels after a review, a row for each document. gold: its labels.

    judged: its labels known to be right or wrong, see `Decisions.judged`; empty if all are known.
    """

    gold: Run
    judged: Run


def with_reviews(gold: Run, documents: Sequence[Document], labels: Vocabulary, file: Path) -> Reviewed:
    """Apply the decisions in a file of `tagwright serve` to gold labels.

    gold: a row for each of the documents. Accepted labels are added; rejected labels, and labels that reviewers
    disagree about, are removed. A label never shown to a reviewer is unknown. Decisions on other documents are ignored;
    the log counts those on other texts of these documents and on labels that the vocabulary lacks, which are left out
    too. Raises InputError if no decision is left.
    """
    if not file.is_file():
        raise InputError("no such file", file)
    with closing(ReviewFile.to_read(file)) as opened:
        decisions = Decisions(opened)
        verdicts, examples = decisions.verdicts(), decisions.judged()
        decided = Counter({**dict.fromkeys(examples, 0), **Counter(document for document, _ in verdicts)})
        rows = _rows_of_reviewed(documents, decided, ReviewedDocuments(opened))
    known, judged = [set(row_labels.tolist()) for row_labels, _ in gold], [set[int]() for _ in documents]
    for document, reviewed in rows.items():
        judged[reviewed] |= {labels.index[id_] for id_ in examples.get(document, ()) if id_ in labels.index}
    has_any = False
    for (document, label), verdicts_on_it in verdicts.items():
        row, place = rows.get(document), labels.index.get(label)
        if row is None or place is None or document not in examples:
            continue
        has_any = True
        if set(verdicts_on_it.values()) == {"accept"}:
            known[row].add(place)
        else:
            known[row].discard(place)
    mine = [label for document, label in verdicts if document in rows]
    if lacking := sum(label not in labels.index for label in mine):
        _log.warning("%d of %d decisions are left out: the vocabulary lacks the labels", lacking, len(mine))
    if not has_any and not any(judged):
        raise InputError("has no decision on any of these documents and labels", file)
    return Reviewed(Run.from_rows(known), Run.from_rows(judged))


def _rows_of_reviewed(
    documents: Sequence[Document], decided: Mapping[str, int], reviewed: ReviewedDocuments
) -> dict[str, int]:
    """Return document of a review -> row of the document with the same id and text.

    decided: document of the review -> number of decided labels. Documents of which the review has no text are found by
    their ids alone.
    """
    stored, ids = {entry.id for entry in reviewed.entries()}, ids_of(documents)
    places = np.array([row for row, id_ in enumerate(ids) if id_ in stored or id_ in decided], np.int64)
    rows, changed, unknown = dict[str, int](), list[str](), list[str]()
    for row, document in zip(places.tolist(), taken(documents, places), strict=True):
        if document.id not in stored:
            unknown.append(document.id)
            rows[document.id] = row
            continue
        if (stored_id := reviewed.find(document)) is not None:
            rows[stored_id] = row
        if stored_id != document.id and document.id in decided:
            changed.append(document.id)
    if changed:
        _log.warning(
            "decisions on %s are left out (%s): their texts are others than those that were reviewed (first: %s)",
            many(len(changed), "document"), many(sum(decided[id_] for id_ in changed), "label"), shown(changed[0]),
        )  # fmt: skip
    if unknown:
        _log.warning(
            "the review holds no texts of %s, so their decisions are matched by id (first: %s)",
            many(len(unknown), "document"), shown(unknown[0]),
        )  # fmt: skip
    return rows
