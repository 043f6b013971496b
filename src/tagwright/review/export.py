"""Export a review file: labelled documents, verdicts, Annif's TSV, CSV, and gold labels to train on."""

import json
import logging
import re
from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import Literal, NamedTuple, TypeAlias, cast

import numpy as np

from tagwright.core.atomic import full_disk_explained
from tagwright.core.checked import shown
from tagwright.core.display import many
from tagwright.core.progress import note
from tagwright.data.corpus import REVIEWED_BLIND, ids_of, taken, was_reviewed_blind
from tagwright.data.vocabulary import Vocabulary
from tagwright.errors import ConfigError, InputError, option
from tagwright.readers.documents.annotation_tools import AnnotationTool, Shown, tool_lines
from tagwright.readers.documents.columns import join_labels
from tagwright.readers.documents.records import to_record
from tagwright.readers.lines import escape_formula, table_lines
from tagwright.readers.workbooks import write_workbook
from tagwright.review.decisions import Decisions
from tagwright.review.documents import ReviewedDocuments
from tagwright.review.events import Decision, DocumentState
from tagwright.review.file import ReviewFile
from tagwright.types import Document, Label, Run

_log = logging.getLogger(__name__)

ExportFormat: TypeAlias = Literal["jsonl", "blind", "verdicts", "tsv", "annif", "uris", "csv"] | AnnotationTool
"The formats of text; `table` is a workbook's."


class Download(NamedTuple):
    """A format as the page offers it. title: for people. name: of the file. media: its type."""

    title: str
    name: str
    media: str


DOWNLOADS: Mapping[str, Download] = {
    "csv": Download("CSV, one row per document", "reviewed.csv", "text/csv"),
    "xlsx": Download("Excel", "reviewed.xlsx", "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet"),
    "uris": Download("URIs, one line per label", "reviewed-uris.tsv", "text/tab-separated-values"),
    "tsv": Download("Annif, TSV", "reviewed.tsv", "text/tab-separated-values"),
    "annif": Download("Annif, JSON lines", "reviewed-annif.jsonl", "application/x-ndjson"),
    "label_studio": Download("Label Studio", "reviewed-label-studio.json", "application/json"),
    "argilla": Download("Argilla", "reviewed-argilla.json", "application/json"),
    "jsonl": Download("JSON lines, to train on", "reviewed.jsonl", "application/x-ndjson"),
    "blind": Download("JSON lines, reviewed blind", "reviewed-blind.jsonl", "application/x-ndjson"),
    "verdicts": Download("All verdicts and notes", "verdicts.jsonl", "application/x-ndjson"),
}
"The formats of the page's exports, in its order."


def labelled_documents(file: ReviewFile) -> Iterator[Document]:
    """Yield the reviewed documents in order, with their labels; the metadata of those reviewed blind says so.

    Left out are unfinished documents without labels, and decisions on documents whose texts the file does not hold.
    """
    decisions = Decisions(file)
    return _with_labels(file, decisions.labels(), decisions.blind())


def _with_labels(file: ReviewFile, labels: Mapping[str, Sequence[str]], blind: Collection[str]) -> Iterator[Document]:
    documents = ReviewedDocuments(file)
    for entry in documents.entries():
        if entry.id in labels:
            document = documents[entry.number]
            marked = {**document.metadata, **(REVIEWED_BLIND if entry.id in blind else {})}
            yield replace(document, labels=tuple(labels[entry.id]), metadata=marked)


def _to_train_on(file: ReviewFile) -> Iterator[Document]:
    """The labelled documents without those that were reviewed blind, which measure a tagger; a line counts these."""
    left_out = 0
    for document in labelled_documents(file):
        if was_reviewed_blind(document):
            left_out += 1
        else:
            yield document
    if left_out:
        kept = option("format", "blind")
        note(f"left out: {many(left_out, 'document')} reviewed blind, to measure on; {kept} has them")


def _to_measure_on(file: ReviewFile) -> Iterator[Document]:
    """The documents that were reviewed blind, with the labels that were given without seeing suggestions."""
    given = {id_: labels for id_, labels in Decisions(file).blind().items() if labels}
    return _with_labels(file, given, given)


def export_lines(
    file: ReviewFile, output: ExportFormat, labels: Vocabulary | None = None, columns: Mapping[str, str] | None = None
) -> Iterator[str]:
    """Return the lines of an export, without line ends.

    jsonl: labelled documents, as `train` reads them. blind: those reviewed blind, with the labels that were given
    before any suggestion was seen, to evaluate on. verdicts: each current verdict with reviewer, time, rank,
    confidence, model, whether it was given blind and, for a candidate drawn at random, the number to draw from; and the
    notes. tsv: text and `<id>` of each label, annif: JSON lines, as Annif reads them. uris: document and label. csv:
    id, title, text, labels, and whether it was reviewed blind, with an apostrophe, which our reader removes, before
    cells that a spreadsheet would compute. label_studio, argilla: the labels as suggestions, see
    `readers.documents.annotation_tools`. The formats to train on (jsonl, tsv, annif) leave out documents that were
    reviewed blind, the others have them; where their metadata can be read again, "reviewed" is "blind".

    labels: a vocabulary whose names fill, of csv, a column label_names beside the ids, and stand in annif and the
    tools. columns: for csv, column -> the header to write for it. Raises InputError for a label that the format cannot
    hold, ConfigError for a column that the csv does not have.
    """
    if output == "csv":
        return _csv(file, labels, columns or {})
    if output == "annif":
        return _annif(file, labels)
    if output in ("label_studio", "argilla"):
        return tool_lines(output, _shown(file, labels))
    if output in ("jsonl", "blind"):
        documents = _to_measure_on(file) if output == "blind" else _to_train_on(file)
        return (_json(to_record(document)) for document in documents)
    return {"verdicts": _verdicts, "tsv": _tsv, "uris": _uris}[output](file)


def write_export(file: ReviewFile, output: str, labels: Vocabulary | None, target: Path) -> None:
    """Write an export in any format of `DOWNLOADS`, see `export_lines`."""
    with full_disk_explained(), target.open("wb") as stream:
        if output == "xlsx":
            write_workbook(table(file, labels, {}), stream, "documents")
            return
        for line in export_lines(file, cast("ExportFormat", output), labels):
            stream.write(f"{line}\n".encode(errors="replace"))


class Exporter:
    """Writes exports in a process of its own, see `core.workers`."""

    def write(self, file: Path, output: str, labels: Sequence[Label], target: Path) -> None:
        """Write an export as `write_export` does. labels: those on which there are decisions."""
        with closing(ReviewFile.open_existing(file)) as review:
            write_export(review, output, Vocabulary(labels), target)


def _annif(file: ReviewFile, labels: Vocabulary | None) -> Iterator[str]:
    names = {label.id: label.name for label in labels or ()}
    for document in _to_train_on(file):
        subjects = [{"uri": label, "label": names.get(label, "")} for label in document.labels]
        yield _json({"document_id": document.id, "text": document.text, "subjects": subjects})


def _uris(file: ReviewFile) -> Iterator[str]:
    for document in labelled_documents(file):
        for label in document.labels:
            yield f"{' '.join(document.id.split())}\t{' '.join(label.split())}"


def table(file: ReviewFile, labels: Vocabulary | None, columns: Mapping[str, str]) -> Iterator[list[str]]:
    """The labelled documents as rows below a header. labels, columns: as in `export_lines`. Raises ConfigError."""
    header = ["id", "title", "text", "labels", *(["label_names"] if labels else []), *REVIEWED_BLIND]
    if unknown := [field for field in columns if field not in header]:
        raise ConfigError(f"the table of a review has no column {shown(unknown[0])}; it has {', '.join(header)}")
    yield [columns.get(field, field) for field in header]
    for document in labelled_documents(file):
        row = [document.id, document.title, replace(document, title="").text, join_labels(document.labels)]
        if labels:
            row.append(join_labels([_name(id_, labels) for id_ in document.labels]))
        yield [*row, "blind" if was_reviewed_blind(document) else ""]


def _shown(file: ReviewFile, labels: Vocabulary | None) -> Iterator[tuple[Document, list[Shown]]]:
    for document in labelled_documents(file):
        yield document, [Shown(id_, _name(id_, labels), 1.0) for id_ in document.labels]


def _name(id_: str, labels: Vocabulary | None) -> str:
    """The name of a label; its id if it is not known."""
    return labels[labels.index[id_]].name if labels and id_ in labels.index else id_


def _verdicts(file: ReviewFile) -> Iterator[str]:
    fields = ("document", "label", "reviewer", "time", "rank", "confidence", "drawn_from", "model")
    decisions = Decisions(file)
    named = {(document, label) for document, given in decisions.blind().items() for label in given}
    for event in decisions.current():
        if event.label is not None:  # among current events, only verdicts have a label
            content = {field: getattr(event, field) for field in fields}
            yield _json({"verdict": event.action, **content, "blind": (event.document, event.label) in named})
        elif event.note:
            yield _json({field: getattr(event, field) for field in ("note", "document", "reviewer", "time")})


def _tsv(file: ReviewFile) -> Iterator[str]:
    for document in _to_train_on(file):
        for label in document.labels:
            if not re.fullmatch(r"[^<>\s]+", label):
                problem = f"label {shown(label)} has a blank or <>, which Annif's TSV cannot hold; export jsonl or csv"
                raise InputError(problem, file.path)
        yield f"{' '.join(document.text.split())}\t{' '.join(f'<{label}>' for label in document.labels)}"


def _csv(file: ReviewFile, labels: Vocabulary | None, columns: Mapping[str, str]) -> Iterator[str]:
    return table_lines((list(map(escape_formula, row)) for row in table(file, labels, columns)), "csv")


def _json(content: Mapping[str, object]) -> str:
    return json.dumps(content, ensure_ascii=False)


def apply_reviews(gold: Run, documents: Sequence[Document], labels: Vocabulary, file: Path) -> tuple[Run, Run]:
    """Apply the decisions in a file of `tagwright serve` to gold labels; return gold labels, and labels to learn from.

    gold: a row for each of the documents, as in both runs that are returned. Accepted labels are added; rejected
    labels, and labels that reviewers disagree about, are removed. The second run has the labels that are known to be
    right or wrong, see `Decisions.judged`; a row without any is learned from as if it had not been reviewed.

    Left out are decisions on other documents, on documents with nothing but labels added by search, on other texts of
    these documents, and on labels that the vocabulary lacks; the log counts the last two. Nothing is learned from
    documents that were reviewed blind: they measure a tagger. Raises InputError if no decision is left.
    """
    if not file.is_file():
        raise InputError("no such file", file)
    with closing(ReviewFile.open_existing(file)) as review:
        decisions = Decisions(review)
        verdicts, examples, blind = decisions.verdicts(), decisions.judged(), decisions.blind()
        decided = {**dict.fromkeys(examples, 0), **Counter(document for document, _ in verdicts)}
        rows = _rows_of_reviewed(documents, decided, ReviewedDocuments(review))
    right, judged = [set(positions.tolist()) for positions, _ in gold], [set[int]() for _ in documents]
    for document in blind.keys() & rows.keys():
        right[rows.pop(document)].clear()
    for document, row in rows.items():
        judged[row] |= {labels.index[id_] for id_ in examples.get(document, ()) if id_ in labels.index}
    has_any = False
    for (document, label), by_reviewer in verdicts.items():
        if document not in rows or label not in labels.index or document not in examples:
            continue
        has_any, row, position = True, rows[document], labels.index[label]
        if set(by_reviewer.values()) == {"accept"}:
            right[row].add(position)
        else:
            right[row].discard(position)
    decided_here = [label for document, label in verdicts if document in rows]
    if lacking := sum(label not in labels.index for label in decided_here):
        _log.warning("%d of %d decisions are left out: the vocabulary lacks the labels", lacking, len(decided_here))
    if not has_any and not any(judged):
        raise InputError("has no decision on any of these documents and labels", file)
    return Run.from_rows(right), Run.from_rows(judged)


class Outcome(NamedTuple):
    """The decisions on a document, for its record in a catalogue.

    accepted: label that more reviewers accept than reject -> whether it was shown, and when it was accepted last, as
    YYYYMMDD. settled: labels with a verdict, and those that a reviewer saw and left in a document that is finished.
    """

    accepted: dict[str, tuple[bool, str]]
    settled: set[str]


def outcomes(documents: Sequence[Document], file: Path) -> dict[int, Outcome]:
    """Return row -> outcome, for the documents that somebody has begun to review; they are found by id and text.

    Raises InputError if there is no such file, and if it has no decision on any of these documents.
    """
    if not file.is_file():
        raise InputError("no such file", file)
    with closing(ReviewFile.open_existing(file)) as review:
        decisions = Decisions(review)
        states, judged = decisions.states(), decisions.judged()
        decided = {document: state.judged_suggestions for document, state in states.items()}
        rows = _rows_of_reviewed(documents, decided, ReviewedDocuments(review))
        by_row = {
            row: _outcome(states[document], decisions.current(document), judged.get(document, set()))
            for document, row in rows.items()
            if document in states
        }
    if not by_row:
        raise InputError("has no decision on any of these documents", file)
    return by_row


def _outcome(state: DocumentState, events: Sequence[Decision], judged: set[str]) -> Outcome:
    accepted = dict[str, tuple[bool, str]]()
    for label in state.labels:
        accepts = [event for event in events if event.label == label and event.action == "accept"]
        date = max(event.time for event in accepts)[:10].replace("-", "")
        accepted[label] = any(event.rank is not None for event in accepts), date
    return Outcome(accepted, judged | {event.label for event in events if event.label is not None})


def _rows_of_reviewed(
    documents: Sequence[Document], decided: Mapping[str, int], reviewed: ReviewedDocuments
) -> dict[str, int]:
    """Return id in the review -> row in `documents`, for those that the review has with the same text.

    decided: id in the review -> number of labels decided on. Documents of which the review has no text are matched by
    their ids alone.
    """
    stored, ids = {entry.id for entry in reviewed.entries()}, ids_of(documents)
    # of a large corpus on disk, only documents that may have been reviewed are read
    candidates = np.array([row for row, id_ in enumerate(ids) if id_ in stored or id_ in decided], np.int64)
    rows, changed, unknown = dict[str, int](), list[str](), list[str]()
    for row, document in zip(candidates.tolist(), taken(documents, candidates), strict=True):
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
