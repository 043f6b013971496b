"""Files that come with published data sets: the candidates of documents, and labels that do not count for them."""

from collections.abc import Mapping, Sequence
from pathlib import Path

from tagwright.core.checked import show
from tagwright.errors import InputError
from tagwright.readers.lines import ids_field, json_lines, open_lines
from tagwright.readers.run_files import rows_of
from tagwright.readers.trec import label_with
from tagwright.types import Run

CANDIDATES = ("candidates", "predicted_label", "matched_label")
"The keys of candidates: ours, MICoL's and FuTex's."


def read_candidates(path: Path | str, document_ids: Sequence[str], labels: Mapping[str, int]) -> Run:
    """Read the candidates of each document, a row for each, as `*_candidates.json` of MICoL and FuTex have them.

    A line is a JSON object with the document, `id` or `paper`, and the ids of its candidates under one of `CANDIDATES`;
    lines of other documents are passed over. labels: id -> index in the vocabulary. Candidates are scored by 1 / rank.
    Raises InputError with the line: an unknown label, a document twice, no candidates; and for a document
    without a line.
    """
    rows: dict[int, dict[int, float]] = {}
    remedy = "give the file that belongs to the documents"
    for row, record, place in rows_of(json_lines(path), path, document_ids, remedy, others=True):
        key = next((key for key in CANDIDATES if key in record), None)
        if key is None:
            raise place.error(f"names no candidates, expected {', '.join(CANDIDATES[:-1])} or {CANDIDATES[-1]}")
        found = dict.fromkeys(label_with(label, labels, place) for label in ids_field(record, key, place))
        rows[row] = {label: 1.0 / rank for rank, label in enumerate(found, 1)}
    return Run.from_rows(rows[row] for row in range(len(document_ids)))


def read_label_filter(path: Path | str, documents: int, labels: int) -> Run:
    """Read which labels do not count for which documents: `filter_labels_test.txt` of Extreme Classification.

    A line has the position of a document in its file, and that of a label in its own, both from 0: as a rule the
    document itself. Returns a row for each document. Raises InputError with the line for anything else.
    """
    rows: list[dict[int, float]] = [{} for _ in range(documents)]
    for line, text in open_lines(path):
        if not text.strip():
            continue
        positions = [int(field) if field.isdecimal() else documents + labels for field in text.split()]
        if len(positions) != 2 or positions[0] >= documents or positions[1] >= labels:
            expected = f"the positions of a document and a label, from 0 to {documents - 1} and to {labels - 1}"
            raise InputError(f"is {show(text.strip())}, expected {expected}; is it their file?", path, line)
        rows[positions[0]][positions[1]] = 1.0
    return Run.from_rows(rows)
