"""Write a copy of a table (CSV, TSV, Excel) with suggested subjects. Every other cell stays as it is written."""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import NamedTuple, TypeAlias

from tagwright.catalogues.cells import Rows, change_text, change_workbook
from tagwright.catalogues.subjects import NewSubject
from tagwright.core.checked import show
from tagwright.core.display import escape_formula, plural, unescape_formula
from tagwright.data.subjects import SOURCES, main_code
from tagwright.data.texts import Columns
from tagwright.data.vocabulary import Vocabulary
from tagwright.readers.documents.columns import SAMPLE, format_list, parse_list, split_labels, subject_columns
from tagwright.readers.documents.sections import one_line
from tagwright.readers.documents.tables import column_names, header_of, table_rows
from tagwright.readers.limits import PICTURES, Reading, read_whole
from tagwright.readers.lines import Place, open_bytes, replace_bytes
from tagwright.readers.workbooks import sheet_part

_log = logging.getLogger(__name__)

FORMATS = ("csv", "tsv", "xlsx")

New: TypeAlias = Callable[[int], Sequence[NewSubject]]
"Line or row of a document -> the subjects to add, without those that it has."


class _Style(NamedTuple):
    """How a column holds subjects. place: from 0; name: of a column that is to be added, "" for one that is there."""

    place: int
    name: str
    separator: str
    by_id: bool
    in_brackets: bool

    def with_subject(self, old: str, new: NewSubject, names: Vocabulary) -> str:
        """The cell with one more subject, by name or else by id; "" where it would not be read as this label again."""
        whole = unescape_formula(old)
        before = [part.strip() for part in split_labels(whole)] if old.strip() else []
        for text in map(one_line, (new.id,) if self.by_id else (new.name, new.id)):
            part = f"<{text}>" if self.in_brackets else text
            cell = f"{old}{self.separator}{part}" if old.strip() else escape_formula(part)  # others stay as written
            if parse_list(whole) is not None:
                cell = format_list([*before, text])
            *same, last = split_labels(unescape_formula(cell))
            if [part.strip() for part in same] == before and names.resolve(last) == names.index[new.id]:
                return cell
        return ""


def write_table(
    path: Path, output: Path, file_format: str, new: New, names: Vocabulary, source: str, reading: Reading
) -> tuple[int, int]:
    """Copy a table with the subjects in one step, gzip as the name says; byte for byte where nothing is added.

    They come behind those of the column of subjects, with its separator. That is the one that the user names, that of
    the source (`dc.subject.yso`), or the usual one; without any, a last column is added. Returns the numbers of
    rows with new subjects, and of these subjects. Raises InputError for a table without a header, and for one that
    cannot be copied exactly.
    """
    rows = list(table_rows(path, file_format, reading))
    style = _style(rows, names, source, reading.columns, Place(path, 1))
    changes, added, left_out = dict[int, str](), 0, list[str]()
    for line, cells in rows[1:]:
        old = cell = cells[style.place] if style.place < len(cells) else ""
        for subject in new(line):
            if longer := style.with_subject(cell, subject, names):
                cell, added = longer, added + 1
            else:
                left_out.append(f"{line}: {subject.name} ({subject.id})")
        if cell != old:
            changes[line] = cell
    if left_out:
        problem = "%s: %s left out, as the column could not be read with them again: %s"
        _log.warning(problem, path, plural(len(left_out), "subject"), "; ".join(map(show, left_out)))
    enriched = len(changes)
    if changes and style.name:
        changes = {**{line: "" for line, _ in rows}, rows[0][0]: style.name, **changes}
    with open_bytes(path) as file:
        content = read_whole(file, path, PICTURES)
    if changes and file_format == "xlsx":
        content = change_workbook(content, sheet_part(path, header_of(reading.columns)), style.place, changes, path)
    elif changes:
        content = change_text(
            content, rows, style.place, changes, path, quotes=file_format == "csv", encoding=reading.encoding
        )
    with replace_bytes(output) as target:
        target.write(content)
    return enriched, added


def _style(rows: Rows, names: Vocabulary, source: str, columns: Columns, place: Place) -> _Style:
    """Where and how to write, by the header and the cells of the column."""
    header = column_names(rows[0][1])
    sample = [dict(zip(header, cells, strict=False)) for _, cells in rows[1 : SAMPLE + 1]]
    codes = subject_columns(sample, columns, place) if sample else {}
    code = main_code(source or names.source)
    column = next((each for each, named in codes.items() if named == code and code), "") or next(
        (each for each, named in codes.items() if not named or "labels" in columns), ""
    )
    of_dspace = any(each.startswith("dc.") for each in header)
    name = "" if column else f"dc.subject.{code}" if of_dspace and code in SOURCES else "subjects"
    at = header.index(column) if column else len(header)
    cells = [cells[at] for _, cells in rows[1:] if at < len(cells) and cells[at].strip()]
    parts = [part for cell in cells for part in map(str.strip, split_labels(cell)) if part]
    ids = sum(part.strip("<>") in names.index and names.resolve(part) is not None for part in parts)
    in_brackets = bool(cells) and all(cell.lstrip().startswith("<") for cell in cells)
    usual = "||" if (column or name).startswith("dc.") else "|"
    marks = ("||", "; ", ";", "|", "\r\n", "\n")
    separator = next((mark for mark in marks if any(mark in cell for cell in cells)), usual)
    by_id = in_brackets or (2 * ids > len(parts) if parts else column in ("labels", "label ids", "subject_uris"))
    return _Style(at, name, " " if in_brackets else separator, by_id, in_brackets)
