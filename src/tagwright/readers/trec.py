"""Read and write TREC's formats: runs, `document Q0 label rank score name`, and qrels, `document 0 label relevance`.

Fields are separated by white space. In ids that have some it is percent-encoded (`%20`), and so is a percent sign that
would otherwise be taken for the beginning of such a code. An id that is unknown once it is decoded is taken as it
stands, so that files of other programs keep their ids.
"""

import re
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from operator import itemgetter
from pathlib import Path
from urllib.parse import quote, unquote

import numpy as np

from tagwright.core.checked import show
from tagwright.errors import InputError
from tagwright.readers.lines import Place, finite_score, open_lines, write_lines
from tagwright.text.words import clean
from tagwright.types import Run

_FIELD = re.compile(r"[^ \t-\r]+")


def run_lines(document_id: str, ranking: Iterable[tuple[str, float]]) -> Iterator[str]:
    """The lines of a document's suggestions, best first: id of the label and score.

    >>> list(run_lines("my notes.txt", [("bees", 0.5)]))
    ['my%20notes.txt Q0 bees 1 0.5 tagwright']
    """
    for rank, (label, score) in enumerate(ranking, 1):
        yield f"{_encode_id(document_id)} Q0 {_encode_id(label)} {rank} {score} tagwright"


def is_run_line(line: str) -> bool:
    """Whether this is a line of a run, and not of JSON.

    >>> is_run_line("{1} Q0 bees 1 0.5 x"), is_run_line('{"id": "1"}'), is_run_line("1 0 bees 1 0.5 x")
    (True, False, True)
    """
    return not line.lstrip().startswith(("{", "[", '"')) or _FIELD.findall(line)[1:2] == ["Q0"]


def qrels_lines(gold: Run, document_ids: Sequence[str], label_ids: Sequence[str]) -> Iterator[str]:
    """The gold labels of documents as lines of qrels, each with relevance 1."""
    for (labels, _), document_id in zip(gold, document_ids, strict=True):
        yield from (f"{_encode_id(document_id)} 0 {_encode_id(label_ids[label])} 1" for label in labels.tolist())


def write_qrels(gold: Run, document_ids: Sequence[str], label_ids: Sequence[str], path: Path | str) -> None:
    """Write gold labels as qrels, in one step. Raises TagwrightError when they cannot be written."""
    write_lines(qrels_lines(gold, document_ids, label_ids), path)


def read_run_lines(
    lines: Iterable[tuple[int, str]], path: Path | str, document_ids: Sequence[str], labels: Mapping[str, int]
) -> Run:
    """A row for each of the documents, by falling score, whatever the ranks say; empty for one without lines.

    As in `trec_eval`, scores are compared in 32 bits, and equal ones by the ids of the labels, the last id first.
    Raises InputError, with the line: an unknown document or label, a label twice, a score that is not finite.
    """
    rows: dict[str, dict[int, tuple[np.float32, str]]] = {document_id: {} for document_id in document_ids}
    for place, fields in _fields(lines, path, "a TREC run: document Q0 label rank score name"):
        document_id, label_id = _document(fields[0], rows, place), _find_known(fields[2], labels)
        label = label_with(label_id, labels, place)
        if label in rows[document_id]:
            raise place.error(f"label {show(label_id)} is suggested twice for document {show(document_id)}")
        rows[document_id][label] = np.float32(finite_score(_number(fields[4]), place)), fields[2]
    ranked = [sorted(row.items(), key=itemgetter(1), reverse=True) for row in rows.values()]
    entries = [entry for row in ranked for entry in row]
    return Run(
        np.cumsum([0, *map(len, ranked)]),
        np.array([label for label, _ in entries], np.int32),
        np.array([score for _, (score, _) in entries], np.float32),
    )


def read_qrels(path: Path | str, document_ids: Sequence[str], labels: Collection[str]) -> list[list[str]]:
    """The ids of the gold labels of each document: those with a relevance of 1 or more. labels: the known ids.

    An unknown label is returned as well: `y` of `evaluate` and `Vocabulary.gold` count such labels. Raises InputError
    with the line: an unknown document, a label judged twice, a relevance that is not a whole number.
    """
    judged: dict[str, dict[str, bool]] = {document_id: {} for document_id in document_ids}
    for place, fields in _fields(open_lines(path), path, "TREC's qrels: document 0 label relevance"):
        document_id, label = _document(fields[0], judged, place), _find_known(fields[2], labels)
        if label in judged[document_id]:
            raise place.error(f"label {show(label)} is judged twice for document {show(document_id)}")
        if not re.fullmatch(r"[+-]?\d{1,18}", fields[3]):
            raise place.error(f"relevance is {show(fields[3])}, expected a whole number")
        judged[document_id][label] = int(fields[3]) > 0
    return [[label for label, right in row.items() if right] for row in judged.values()]


def _fields(lines: Iterable[tuple[int, str]], path: Path | str, expected: str) -> Iterator[tuple[Place, list[str]]]:
    """The fields of each line that is not blank. expected: of what, and the fields after a colon."""
    count = len(expected.partition(": ")[2].split())
    for number, line in lines:
        place, fields = Place(path, number), _FIELD.findall(line)
        if fields and len(fields) != count:
            raise place.error(f"has {len(fields)} fields, expected the {count} of {expected}")
        if fields:
            yield place, fields


def _document(field: str, known: Collection[str], place: Place) -> str:
    document_id = _find_known(field, known)
    if document_id not in known:
        raise unknown_document(document_id, known, place)
    return document_id


def label_with(label_id: str, labels: Mapping[str, int], place: Place) -> int:
    """The position of the label of a suggestion. Raises InputError for an unknown id."""
    if label_id not in labels:
        raise place.error(f"no label has the id {show(label_id)}; give the vocabulary that the run was made with")
    return labels[label_id]


def unknown_document(document_id: str, known: Iterable[str], place: Place) -> InputError:
    """The error to raise for a document that is not known; that of a file is named after the path that was given."""
    near = (other for other in known if other.endswith(f"/{document_id}") or document_id.endswith(f"/{other}"))
    remedy = "give the documents of the run"
    if similar := next(near, None):
        remedy = f"there is {show(similar)}: give its folder, or the file, in the same way as for the run"
    return place.error(f"no document has the id {show(document_id)}; {remedy}")


def _find_known(field: str, known: Collection[str]) -> str:
    """The id that a field stands for."""
    decoded = clean(re.sub("%(?:20|25|0[9A-Da-d])", lambda code: unquote(code[0]), field))
    return decoded if decoded in known else clean(field)


def _encode_id(id_: str) -> str:
    return re.sub(r"[ \t-\r]|%(?=20|25|0[9A-Da-d])", lambda match: quote(match[0], safe=""), id_)


def _number(field: str) -> object:
    try:
        return float(field)
    except ValueError:
        return field
