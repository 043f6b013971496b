"""Read and write run files: JSON lines, one document a line, or a run of TREC, see `readers.trec`.

One line per document, `{"id": document id, "suggestions": [{"label": id, "score": number}, ...]}`, best first. Each
suggestion can have a `"confidence"` as well, from 0 to 1; a run has confidences where all of its suggestions have one.
A `"digest"` tells the text that was tagged: two records may share a number.
"""

import json
import logging
import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import chain
from pathlib import Path
from typing import Any, Literal, TypeAlias

import numpy as np

from tagwright.core.checked import show
from tagwright.core.display import escape_formula, plural
from tagwright.data.corpus import ids_of, text_key
from tagwright.errors import InputError, note_left_out
from tagwright.readers import trec
from tagwright.readers.documents.sections import one_line
from tagwright.readers.lines import Place, finite_score, id_field, json_records, open_lines, table_lines, write_lines
from tagwright.types import Document, Label, Run, list_or_nones, shortest

_log = logging.getLogger(__name__)

RunFormat: TypeAlias = Literal["jsonl", "trec"]

COLUMNS = ("document", "rank", "id", "notation", "name", "score", "confidence", "none")
"The header of a table of suggestions; none is the probability that no label fits the document."

NUMBERS = frozenset(map(COLUMNS.index, ("rank", "score", "confidence", "none")))
"Places of the columns that hold numbers."


def write_run(
    run: Run,
    document_ids: Sequence[str],
    label_ids: Sequence[str],
    path: Path | str,
    format: RunFormat = "jsonl",  # noqa: A002
) -> None:
    """Write a run file in one step, gzip if the name ends in `.gz`. Raises TagwrightError if it cannot be written."""
    write_lines(run_lines(run_records(run, document_ids, label_ids), format), path)


def run_lines(records: Iterable[Mapping[str, Any]], format: RunFormat) -> Iterator[str]:  # noqa: A002
    """The lines of a run file with these documents, as `run_records` gives them."""
    for record in records:
        if format == "trec":
            yield from trec.run_lines(record["id"], ((each["label"], each["score"]) for each in record["suggestions"]))
        else:
            yield json.dumps(record, ensure_ascii=False, allow_nan=False)


def run_records(
    run: Run,
    document_ids: Sequence[str],
    label_ids: Sequence[str],
    *,
    titles: Sequence[str] = (),
    digests: Sequence[str] = (),
    labels: Sequence[Label] = (),
) -> Iterator[dict[str, Any]]:
    """The documents of a run file, suggestions best first, numbers with just the digits that distinguish them.

    titles, digests, labels: of the documents and the whole vocabulary, for titles, digests of texts, names and
    notations.

    >>> next(run_records(Run.from_rows([{1: 0.9, 0: 0.5}]), ["d"], ["bees", "wasps"]))
    {'id': 'd', 'suggestions': [{'label': 'wasps', 'score': 0.9}, {'label': 'bees', 'score': 0.5}]}
    """
    confidences, nones = list_or_nones(run.confidences, len(run.labels)), list_or_nones(run.none, len(run))
    scores, label_of = shortest(run.scores), run.labels.tolist()
    for row, document_id in zip(range(len(run)), document_ids, strict=True):
        places = range(int(run.indptr[row]), int(run.indptr[row + 1]))
        suggestions = [
            suggestion_record(
                label_ids[label_of[i]],
                scores[i],
                name=labels[label_of[i]].name if labels else "",
                notation=labels[label_of[i]].notation if labels else "",
                confidence=confidences[i],
            )
            for i in places
        ]
        title, digest = titles[row] if titles else "", digests[row] if digests else ""
        yield document_record(document_id, title, suggestions, digest, nones[row])


def table_row(
    document_id: str, rank: int, label: Label, name: str, score: float, confidence: float | None, none: float | None
) -> tuple[str, ...]:
    """A suggestion as a row under `COLUMNS`. name: of the label, as it is shown.

    >>> table_row("d", 1, Label("2", ("Bees",), notation="59"), "Bees", 1.5, None, None)
    ('d', '1', '2', '59', 'Bees', '1.5', '', '')
    """
    probabilities = ("" if each is None else f"{each:.3f}" for each in (confidence, none))
    return document_id, str(rank), label.id, label.notation, one_line(name), f"{score:.6g}", *probabilities


def csv_lines(table: Iterable[Sequence[str]]) -> Iterator[str]:
    """The header and rows of a table of suggestions as CSV; no cell is a formula to a spreadsheet.

    >>> print(*csv_lines([("d", "1", "=x", "", "Bees, wasps", "-1.5", "", "")]))
    d,1,'=x,,"Bees, wasps",-1.5,,
    """
    rows = ([cell if place in NUMBERS else escape_formula(cell) for place, cell in enumerate(row)] for row in table)
    return table_lines(rows, "csv")


def document_record(
    document_id: str,
    title: str,
    suggestions: Sequence[Mapping[str, Any]],
    digest: str = "",
    none: float | None = None,
) -> dict[str, Any]:
    """A document of a run file, with its title where it has one. none: the probability that no label fits."""
    told: dict[str, Any] = {name: text for name, text in (("title", title), ("digest", digest)) if text}
    told |= {} if none is None else {"none": none}
    return {"id": document_id, **told, "suggestions": suggestions}


def run_digest(document: Document) -> str:
    """Return the digest by which a run tells which text was tagged, whatever its white space."""
    return text_key(document).hex()[:16]


def keep_matching(run: Run, documents: Sequence[Document], digests: Mapping[str, str], path: Path | str) -> Run:
    """The suggestions of a run, without those for documents that are not surely what was tagged; a line names them all.

    These have another text than the run's digest tells, or share their id with others, in a run without digests.
    digests: id -> what `read_run` has found.
    """
    ids = ids_of(documents)
    shared = {id_.rpartition("#")[0] for id_ in ids} & {*ids}
    doubted = [
        row
        for row, (id_, document) in enumerate(zip(ids, documents, strict=True))
        if (digests[id_] != run_digest(document) if id_ in digests else {id_, id_.rpartition("#")[0]} & shared)
    ]
    if not doubted:
        return run
    left_out = f"the suggestions for {plural(len(doubted), 'document')} are left out"
    problem = f"{left_out}, as others may have been tagged under these ids: {', '.join(ids[row] for row in doubted)}"
    _log.warning("%s", InputError(problem, path))
    note_left_out([InputError(problem, path)])
    return run.keep(~np.isin(run.rows, doubted))


def suggestion_record(
    label: str, score: float, *, name: str = "", notation: str = "", confidence: float | None = None
) -> dict[str, Any]:
    """A suggestion of a run file: id of the label, score, and what else is known."""
    record = {"label": label, "name": name, "score": score, "notation": notation, "confidence": confidence}
    return {key: value for key, value in record.items() if value not in ("", None) or key == "label"}


def read_run(
    path: Path | str,
    document_ids: Sequence[str],
    labels: Mapping[str, int],
    digests: dict[str, str] | None = None,
) -> Run:
    """Read a run file into a row for each of the documents, in their order.

    labels: id -> index in the vocabulary. digests: receives digests of the tagged texts by id, if the file has them.
    Suggestions with equal scores stay in the order of the file. A TREC run is recognised by its first line and read by
    `trec.read_run_lines`, which breaks ties in its own way. Raises InputError, with the line if there is one: an
    unknown document or label, a document or label twice, a document without a line, a score that is not finite or is
    higher than the one before it, a confidence or `none` that is not a number from 0 to 1.
    """
    lines: Iterator[tuple[int, str]] = (numbered for numbered in open_lines(path) if numbered[1].strip())
    if first := next(lines, None):
        lines = chain([first], lines)
        if trec.is_run_line(first[1]):
            return trec.read_run_lines(lines, path, document_ids, labels)
    rows: dict[int, Run] = {}
    remedy = 'one without suggestions is written with "suggestions": []'
    for row, record, place in rows_of(json_records(lines, path), path, document_ids, remedy):
        rows[row] = _suggestions(record, labels, place)
        if digests is not None and isinstance(digest := record.get("digest"), str):
            digests[document_ids[row]] = digest
    return Run.concat([rows[row] for row in range(len(document_ids))])


def rows_of(
    records: Iterable[tuple[int, dict[str, Any]]],
    path: Path | str,
    ids: Sequence[str],
    remedy: str,
    others: bool = False,
) -> Iterator[tuple[int, dict[str, Any], Place]]:
    """The row of each document, `id` or `paper`, its record and its place. others: whether there are lines of others.

    ids: of the documents. Raises InputError for an unknown document, one with two lines, and, with the remedy, one
    without a line.
    """
    left = {document_id: row for row, document_id in enumerate(ids)}
    known = frozenset(left)
    for line, record in records:
        place = Place(path, line)
        document_id = id_field(record, place, "paper" if "paper" in record and "id" not in record else "id")
        if document_id in left:
            yield left.pop(document_id), record, place
        elif document_id in known:
            raise place.error(f"document {show(document_id)} has two lines; keep one of them")
        elif not others:
            raise trec.unknown_document(document_id, ids, place)
    if left:
        problem = f"no line for document {show(next(iter(left)))}, {len(left)} of {len(ids)} have none"
        raise InputError(f"{problem}; {remedy}", path)


def _suggestions(record: Mapping[str, Any], labels: Mapping[str, int], place: Place) -> Run:
    """The one row of a document."""
    suggestions = record.get("suggestions")
    if not isinstance(suggestions, list) or not all(isinstance(entry, dict) for entry in suggestions):
        raise place.error(f'suggestions is {show(suggestions)}, expected a list of {{"label": id, "score": number}}')
    scores: dict[int, float] = {}
    confidences: list[float] = []
    before = math.inf
    for entry in suggestions:
        label = trec.label_with(id_field(entry, place, "label"), labels, place)
        score = finite_score(entry.get("score"), place)
        if label in scores:
            raise place.error(f"label {show(entry['label'])} is suggested twice")
        if score > before:
            raise place.error(f"score {score} follows {before}, expected the best suggestion first; sort them")
        scores[label] = before = score
        if "confidence" in entry:
            confidences.append(_probability(entry["confidence"], "confidence", place))
    none = None if record.get("none") is None else _probability(record["none"], "none", place)
    return Run(
        np.array([0, len(scores)], np.int64),
        np.fromiter(scores, np.int32, len(scores)),
        np.fromiter(scores.values(), np.float32, len(scores)),
        np.array(confidences, np.float32) if len(confidences) == len(scores) else None,
        None if none is None else np.array([none], np.float32),
    )


def _probability(value: object, name: str, place: Place) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value <= 1:
        raise place.error(f"{name} is {show(value)}, expected a number from 0 to 1")
    return float(value)
