"""Read and write sheets of Excel workbooks (.xlsx). Needs openpyxl and defusedxml (extra `xlsx`)."""

from __future__ import annotations

import logging
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from datetime import datetime, time
from io import BytesIO
from itertools import islice
from pathlib import Path
from typing import IO, Any
from zipfile import ZipFile

from tagwright.core.checked import show
from tagwright.core.display import list_first, plural
from tagwright.core.extras import require
from tagwright.errors import InputError
from tagwright.readers import limits
from tagwright.readers.lines import open_bytes

_log = logging.getLogger(__name__)


def workbook_rows(
    path: Path,
    is_header: Callable[[Sequence[str]], bool],
    says_others: bool = True,
    reading: limits.Reading = limits.PLAIN,
) -> Iterator[tuple[int, list[str]]]:
    """The cells of each row of a sheet with the number of the row: texts, dates and numbers as a reader sees them.

    The sheet is the first visible one whose first row is a header, or else the first that holds anything; the log names
    it where there are several, if `says_others`. Blank rows are left out, and short ones filled up to the width of the
    header. A formula has the value that was last computed; an error is blank. Raises InputError with path and row, also
    for a file that unpacks to more than ten times the limit for a document.
    """
    sheet, header, others = _sheet(path, is_header)
    if sheet is None:
        return
    if others and says_others:
        _log.warning("%s: the sheet %s is read; left out: %s", path, show(sheet.title), list_first(others))
    rows, width = _rows(sheet, path), len(_without_blank_end(header))
    while True:
        with limits.convert_errors("has rows that cannot be read", "openpyxl", path):
            some = list(islice(rows, 100))
        for number, cells in some:
            if sum(map(len, cells)) > limits.largest_document():
                reading.leave_out(InputError(limits.too_large(), path, number))
            else:
                cells = _without_blank_end(cells)
                yield number, cells + [""] * (width - len(cells))
        if not some:
            return


def sheet_part(path: Path, is_header: Callable[[Sequence[str]], bool]) -> str:
    """The part of a workbook that holds the sheet which `workbook_rows` reads."""
    return str(_sheet(path, is_header)[0]._worksheet_path)


def _sheet(path: Path, is_header: Callable[[Sequence[str]], bool]) -> tuple[Any, list[str], list[str]]:
    """The sheet to read, its header, and the names of others; None where all are empty."""
    require("reading Excel workbooks", "openpyxl", "defusedxml", path=path)
    import openpyxl

    with open_bytes(path) as file:
        content = BytesIO(limits.read_whole(file, path, limits.PICTURES))
    with limits.convert_errors("is no Excel workbook (.xlsx), or a damaged one", "openpyxl", path):
        if "xl/workbook.xml" not in limits.check_unpacked(content, path, xml=limits.PICTURES):
            raise InputError("is no Excel workbook (.xlsx) but another kind of archive", path)
        book = openpyxl.load_workbook(_to_transitional(content), read_only=True, data_only=True, keep_links=False)
        visible = [sheet for sheet in book.worksheets if sheet.sheet_state == "visible"]
        tops = [(sheet, top) for sheet in visible if (top := next(_rows(sheet, path, last=100), None))]
    if not tops:
        return None, [], []
    sheet, (_, header) = next((each for each in tops if is_header(each[1][1])), tops[0])
    return sheet, header, [other.title for other, _ in tops if other is not sheet]


_STRICT = rb"http://purl\.oclc\.org/ooxml/(\w+)/(\w+)"
"A name of Strict Open XML, which openpyxl does not know."


def _to_transitional(content: BytesIO) -> BytesIO:
    """The file under the names of the usual Open XML, if its own are those of Strict Open XML."""
    with ZipFile(content) as parts:
        if not any(re.search(_STRICT, parts.read(each)) for each in parts.namelist() if each == "_rels/.rels"):
            return content
        usual = BytesIO()
        with ZipFile(usual, "w") as written:
            for part in parts.infolist():
                text = parts.read(part)
                if part.filename.endswith((".xml", ".rels")):
                    text = re.sub(_STRICT, rb"http://schemas.openxmlformats.org/\1/2006/\2", text)
                written.writestr(part, text)
    return usual


def write_workbook(rows: Iterable[Sequence[str | float]], stream: IO[bytes], sheet: str) -> None:
    """Write rows as the only sheet of a workbook: texts as text cells, which are never computed, and numbers.

    The first row is the header and stays in view. A sheet holds 32,767 characters a cell and no control characters:
    longer texts are cut, which the log counts. Raises ConfigError without openpyxl.
    """
    require("writing Excel workbooks", "openpyxl")
    import openpyxl
    from openpyxl.cell import WriteOnlyCell
    from openpyxl.cell.cell import ILLEGAL_CHARACTERS_RE

    book = openpyxl.Workbook(write_only=True)
    page, cut = book.create_sheet(sheet), 0
    page.freeze_panes = "A2"

    def cell(value: str | float) -> Any:
        if not isinstance(value, str):
            return value
        made = WriteOnlyCell(page, ILLEGAL_CHARACTERS_RE.sub(" ", value.replace("\r\n", "\n"))[:_LONGEST])
        made.data_type = "s"  # "=1+1" would be a formula
        made.number_format = "@"  # and stays text where somebody edits it
        return made

    for row in rows:
        page.append(list(map(cell, row)))
        cut += sum(isinstance(value, str) and len(value) > _LONGEST for value in row)
    if cut:
        _log.warning("%s cut after %s characters, the most that a cell holds", plural(cut, "text"), f"{_LONGEST:,}")
    book.save(stream)


_LONGEST = 32_767


def _rows(sheet: Any, path: Path, last: int | None = None) -> Iterator[tuple[int, list[str]]]:
    """The rows that are not blank, with their numbers."""
    sheet.reset_dimensions()  # a damaged file may say that all 17 billion cells are in use
    for number, cells in enumerate(sheet.iter_rows(max_row=last), 1):
        if number > 1_048_576:
            raise InputError("is beyond the last row that a sheet can have", path, number)
        texts = list(map(_text, cells))
        if any(map(str.strip, texts)):
            yield number, texts


def _text(cell: Any) -> str:
    """Return the text that people see in a cell; dates as in ISO 8601."""
    value = cell.value
    if value is None or cell.data_type == "e":
        return ""
    if isinstance(value, bool):
        return str(value).upper()
    if isinstance(value, int | float):
        return _number(value, cell.number_format)
    if isinstance(value, datetime):
        return value.isoformat(" ", "seconds" if value.second else "minutes").removesuffix(" 00:00")
    if isinstance(value, time):
        return value.isoformat("seconds" if value.second else "minutes")
    return str(value)


def _number(value: float, number_format: str) -> str:
    """The number with the digits of formats such as 0.00, 00000 and 0%, or else the 15 digits that Excel keeps.

    >>> _number(42, "00000"), _number(59.1, "0.00"), _number(0.25, "0%"), _number(0.1 + 0.2, "General")
    ('00042', '59.10', '25%', '0.3')
    """
    if digits := re.fullmatch(r"(0+)(?:\.(0+))?(%?)", number_format):
        return f"{value:0{len(number_format)}.{len(digits[2] or '')}{digits[3] or 'f'}}"
    return str(value) if isinstance(value, int) else f"{value:.15g}"


def _without_blank_end(cells: list[str]) -> list[str]:
    end = next((place for place in range(len(cells), 0, -1) if cells[place - 1].strip()), 0)
    return cells[:end]
