"""Export a review file: labelled documents, verdicts, Annif's TSV, CSV, and gold labels to train on."""

import json
import logging
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Literal, TypeAlias, cast

from tagwright.core.atomic import full_disk_explained
from tagwright.core.checked import show
from tagwright.core.display import escape_formula, plural
from tagwright.core.progress import note
from tagwright.data.corpus import REVIEWED_BLIND, was_reviewed_blind
from tagwright.data.records import to_record
from tagwright.data.subjects import read_reference, relabel_document, with_sources
from tagwright.data.vocabulary import Vocabulary
from tagwright.errors import ConfigError, InputError, option
from tagwright.readers.documents.annotation_tools import AnnotationTool, tool_lines
from tagwright.readers.documents.columns import join_labels
from tagwright.readers.lines import table_lines
from tagwright.readers.workbooks import write_workbook
from tagwright.review.applied import Gone, gone_labels, in_vocabulary
from tagwright.review.decisions import Decisions
from tagwright.review.documents import ReviewedDocuments
from tagwright.review.file import ReviewFile
from tagwright.types import Document

_log = logging.getLogger(__name__)

ExportFormat: TypeAlias = Literal["jsonl", "blind", "decisions", "tsv", "annif", "uris", "csv"] | AnnotationTool
"The formats of text; `review_table` is a workbook's."


DOWNLOADS: Mapping[str, tuple[str, str, str]] = {
    "csv": ("CSV, one row per document", "reviewed.csv", "text/csv"),
    "xlsx": ("Excel", "reviewed.xlsx", "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet"),
    "uris": ("URIs, one line per label", "reviewed-uris.tsv", "text/tab-separated-values"),
    "tsv": ("Annif, TSV", "reviewed.tsv", "text/tab-separated-values"),
    "annif": ("Annif, JSON lines", "reviewed-annif.jsonl", "application/x-ndjson"),
    "label_studio": ("Label Studio", "reviewed-label-studio.json", "application/json"),
    "argilla": ("Argilla", "reviewed-argilla.json", "application/json"),
    "jsonl": ("JSON lines, to train on", "reviewed.jsonl", "application/x-ndjson"),
    "blind": ("JSON lines, reviewed blind", "reviewed-blind.jsonl", "application/x-ndjson"),
    "decisions": ("All verdicts and notes", "decisions.jsonl", "application/x-ndjson"),
}
"The formats of the page's exports, in its order: their titles for people, the names of the files, and their types."


def labelled_documents(
    file: ReviewFile, vocabulary: Vocabulary | None = None, labels: Mapping[str, Sequence[str]] | None = None
) -> Iterator[Document]:
    """Yield the reviewed documents in order, with their labels; the metadata of those reviewed blind says so.

    What a document came with besides is its metadata "subject". vocabulary: tells what is one of its labels. labels:
    id -> others than those that were decided on, of these documents alone. Left out are unfinished documents without
    labels, and decisions on documents whose texts the file does not hold.
    """
    documents, decisions = ReviewedDocuments(file), Decisions(file)
    wanted, blind = decisions.labels() if labels is None else labels, decisions.blind()
    for entry in documents.entries():
        if entry.id in wanted:
            document = documents[entry.number]
            kept = {event.note for event in decisions.current(entry.id) if event.label is not None}
            others = _of_others(document, {*wanted[entry.id], *kept}, vocabulary)
            subjects = tuple(dict.fromkeys((*document.metadata.get("subject", ()), *others)))
            document = relabel_document(document, wanted[entry.id])
            marked = {**document.metadata, **({"subject": subjects} if subjects else {})}
            yield replace(document, metadata={**marked, **(REVIEWED_BLIND if entry.id in blind else {})})


def _of_others(document: Document, known: set[str], vocabulary: Vocabulary | None) -> Iterator[str]:
    """The names of the labels that a document came with and that are none of the vocabulary, or else not known."""
    for text, code, chosen in with_sources(document):
        ids, name = read_reference(text)
        is_own = not known.isdisjoint({text, *ids})
        if not is_own and (vocabulary is None or vocabulary.subject(text, code, chosen)[0] is None):
            yield name or text


def _to_train_on(file: ReviewFile, vocabulary: Vocabulary | None = None) -> Iterator[Document]:
    """The labelled documents without those that were reviewed blind, which measure a tagger; a line counts these."""
    left_out = 0
    for document in labelled_documents(file, vocabulary):
        if was_reviewed_blind(document):
            left_out += 1
        else:
            yield document
    if left_out:
        kept = option("format", "blind")
        note(f"left out: {plural(left_out, 'document')} reviewed blind, to measure on; {kept} has them")


def export_lines(
    file: ReviewFile, output: ExportFormat, labels: Vocabulary | None = None, columns: Mapping[str, str] | None = None,
    *, replace_gone: bool = False,
) -> Iterator[str]:  # fmt: skip
    """Return the lines of an export, without line ends.

    jsonl: labelled documents, as `train` reads them. blind: those reviewed blind, with the labels that were given
    before any suggestion was seen, to evaluate on. decisions: each current decision, also notes, who finished, skipped
    or reviewed blind which document, and what was shown to whom, for `merging.merge`. tsv: text and `<id>` of each
    label, annif: JSON lines, as Annif reads them. uris: document and label. csv: id, title, text, labels, whether it
    was reviewed blind, and the metadata. In tsv, uris and csv an apostrophe, which our reader removes, is before cells
    that a spreadsheet would compute. label_studio, argilla: the labels as suggestions, see
    `readers.documents.annotation_tools`. The formats to train on (jsonl, tsv, annif) leave out documents that were
    reviewed blind, the others have them; where their metadata can be read again, "reviewed" is "blind".

    labels: a vocabulary whose names fill, of csv, a column label_names beside the ids, and stand in annif and the
    tools. Labels that it lacks are left out of these, see `gone_labels`; csv has them in a column gone, and what
    replaces them in a column replaced_by. replace_gone: see `in_vocabulary`. columns: for csv, column -> the header to
    write for it. Raises InputError for a label that the format cannot hold, ConfigError for a column that the csv does
    not have.
    """
    if output == "csv":
        rows = review_table(file, labels, columns or {}, replace_gone=replace_gone)
        return table_lines((list(map(escape_formula, row)) for row in rows), "csv")
    if output == "annif":
        return _annif(file, labels, replace_gone=replace_gone)
    if output in ("label_studio", "argilla"):
        every = _in_vocabulary(file, labels, labelled_documents(file), replace_gone=replace_gone)
        named = ((each, [(id_, labels[id_].name if labels else id_, 1.0) for id_ in each.labels]) for each, _ in every)
        return tool_lines(output, named)
    if output in ("jsonl", "blind"):
        blind = {id_: named for id_, named in Decisions(file).blind().items() if named}
        documents = _to_train_on(file, labels) if output == "jsonl" else labelled_documents(file, labels, blind)
        return (_json(to_record(document)) for document in documents)
    return {"decisions": _decisions, "tsv": _tsv, "uris": _uris}[output](file)


def write_export(file: ReviewFile, output: str, labels: Vocabulary | None, target: Path) -> None:
    """Write an export in any format of `DOWNLOADS`, see `export_lines`."""
    with full_disk_explained(), target.open("wb") as stream:
        if output == "xlsx":
            write_workbook(review_table(file, labels, {}), stream, "documents")
            return
        for line in export_lines(file, cast("ExportFormat", output), labels):
            stream.write(f"{line}\n".encode(errors="replace"))


def _annif(file: ReviewFile, labels: Vocabulary | None, *, replace_gone: bool) -> Iterator[str]:
    names = {label.id: label.name for label in labels or ()}
    for document, _ in _in_vocabulary(file, labels, _to_train_on(file), replace_gone=replace_gone):
        subjects = [{"uri": label, "label": names.get(label, "")} for label in document.labels]
        yield _json({"document_id": document.id, "text": document.text, "subjects": subjects})


def _uris(file: ReviewFile) -> Iterator[str]:
    for document in labelled_documents(file):
        for label in document.labels:
            yield "\t".join(escape_formula(" ".join(id_.split())) for id_ in (document.id, label))


def _in_vocabulary(
    file: ReviewFile, labels: Vocabulary | None, documents: Iterable[Document], *, replace_gone: bool
) -> Iterator[tuple[Document, Mapping[str, Sequence[str]]]]:
    """The documents with labels of the vocabulary alone, and those that are gone from it with what replaces them."""
    every: Gone = gone_labels(Decisions(file), labels) if labels else {}
    for document in documents:
        gone = every.get(document.id, {})
        if labels:
            written = in_vocabulary(document.labels, labels, gone, replace_gone=replace_gone)
            document = replace(document, labels=tuple(written.values()))
            gone = {old: new for old, new in gone.items() if old not in written and not set(new) & {*written.values()}}
        yield document, gone


def review_table(
    file: ReviewFile, labels: Vocabulary | None, columns: Mapping[str, str], *, replace_gone: bool = False
) -> Iterator[list[str]]:
    """The labelled documents as rows below a header, their metadata in the last columns; see `export_lines`."""
    documents = list(_in_vocabulary(file, labels, labelled_documents(file, labels), replace_gone=replace_gone))
    of_gone = ["gone", "replaced_by"] if any(gone for _, gone in documents) else []
    header = ["id", "title", "text", "labels", *(["label_names"] if labels else []), *of_gone, *REVIEWED_BLIND]
    fields = dict.fromkeys(field for each, _ in documents for field in each.metadata)
    others = [field for field in fields if field not in header]
    header += others
    if unknown := [field for field in columns if field not in header]:
        raise ConfigError(f"the table of a review has no column {show(unknown[0])}; it has {', '.join(header)}")
    yield [columns.get(field, field) for field in header]
    for document, gone in documents:
        row = [document.id, document.title, replace(document, title="").text, join_labels(document.labels)]
        if labels:
            row.append(join_labels([labels[id_].name for id_ in document.labels]))
        if of_gone:
            row += [join_labels(list(gone)), join_labels([" ".join(new) for new in gone.values()])]
        row.append("blind" if was_reviewed_blind(document) else "")
        yield [*row, *(join_labels(document.metadata.get(field, ())) for field in others)]


def _decisions(file: ReviewFile) -> Iterator[str]:
    decisions = Decisions(file)
    for event in (*decisions.current(), *decisions.events_shown()):
        yield _json({name: value for name, value in vars(event).items() if value not in (None, "")})


def _tsv(file: ReviewFile) -> Iterator[str]:
    for document in _to_train_on(file):
        for label in document.labels:
            if not re.fullmatch(r"[^<>\s]+", label):
                problem = f"label {show(label)} has a blank or <>, which Annif's TSV cannot hold; export jsonl or csv"
                raise InputError(problem, file.path)
        text = escape_formula(" ".join(document.text.split()))
        yield f"{text}\t{' '.join(f'<{label}>' for label in document.labels)}"


def _json(content: Mapping[str, object]) -> str:
    return json.dumps(content, ensure_ascii=False)
