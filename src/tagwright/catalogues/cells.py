"""Change cells of one column in CSV, TSV or an Excel workbook. All other bytes of a text stay, and parts of a book."""

import codecs
import re
import zipfile
from collections.abc import Iterator, Mapping, Sequence
from io import BytesIO
from pathlib import Path
from typing import TypeAlias
from xml.sax.saxutils import escape

from tagwright.errors import InputError
from tagwright.readers.lines import marked_encoding

Rows: TypeAlias = Sequence[tuple[int, Sequence[str]]]
"The rows that were read: line or number, and cells."

_Span: TypeAlias = tuple[int, int]
"Where a cell begins and ends in the text."


def change_text(
    content: bytes, rows: Rows, place: int, changes: Mapping[int, str], path: Path, *, quotes: bool, encoding: str
) -> bytes:
    """The content of CSV (quotes) or TSV with other cells at a place of rows, which may lack it.

    Raises InputError unless the cells are found in the text as they were read, and for a subject that its encoding
    lacks.
    """
    # A byte order mark stays in the text: encodings that add one are replaced by those that do not.
    encoding = codecs.lookup(marked_encoding(content) or encoding or "utf-8").name.removesuffix("-sig")
    if encoding in ("utf-16", "utf-32"):
        encoding += "-be" if content.startswith((codecs.BOM_UTF16_BE, codecs.BOM_UTF32_BE)) else "-le"
    text = content.decode(encoding)
    delimiter, spans = _locate_cells(text, rows, quotes=quotes, path=path)
    pieces = list[str]()
    copied = 0  # up to here the text is in the pieces
    for (line, _), row in zip(rows, spans, strict=True):
        if line not in changes:
            continue
        if place < len(row):
            start, end = row[place]
        else:
            start = end = row[-1][1]
        cell = changes[line]
        written = [text[first:last] for first, last in row]
        if quotes and _needs_quotes(cell, text[start:end], written, delimiter):
            cell = '"{}"'.format(cell.replace('"', '""'))
        pieces += [text[copied:start], delimiter * max(0, place + 1 - len(row)), cell]
        copied = end
    try:
        return "".join([*pieces, text[copied:]]).encode(encoding)
    except UnicodeEncodeError as error:
        problem = f"{encoding} lacks {error.object[error.start]!r}, which a subject has; save the table as UTF-8"
        raise InputError(problem, path) from None


def _needs_quotes(cell: str, old: str, row: Sequence[str], delimiter: str) -> bool:
    """Whether a new cell of CSV is put in quotes: where it must be, and where the old one or the whole row is.

    So the quoting stays that of the table. row: its cells as they are written.
    """
    filled = [each for each in row if each]
    in_use = old.startswith('"') or (bool(filled) and all(each.startswith('"') for each in filled))
    return in_use or re.search(f'["\r\n{delimiter}]', cell) is not None


def _locate_cells(text: str, rows: Rows, *, quotes: bool, path: Path) -> tuple[str, list[list[_Span]]]:
    """The separator of a table, and where the cells of its rows are. Raises InputError."""
    for delimiter in ",;\t|:" if quotes else "\t":
        spans = [row for row in _spans(text, delimiter, quotes=quotes) if not _is_blank(text, row)]
        spans = spans[max(0, len(spans) - len(rows)) :]  # a line that tells the separator may be above
        found = [[_cell(text[start:end], quotes=quotes) for start, end in row] for row in spans]
        if found == [list(cells) for _, cells in rows]:
            return delimiter, spans
    raise InputError("cannot be copied exactly; save it as CSV or TSV in UTF-8", path)


def _spans(text: str, delimiter: str, *, quotes: bool) -> Iterator[list[_Span]]:
    """Where the cells of each line are. Whatever follows a cell and is no separator ends the line, as a break does."""
    plain = f"[^{delimiter}\r\n]*"
    cell = f'"[^"]*(?:""[^"]*)*"|{plain}' if quotes else plain
    cell_and_end = re.compile(rf"({cell})({re.escape(delimiter)}|\r\n|.|\Z)", re.DOTALL)
    row = list[_Span]()
    for match in cell_and_end.finditer(text, int(text.startswith("\ufeff"))):
        row.append(match.span(1))
        if match[2] != delimiter:
            yield row
            row = []


def _is_blank(text: str, row: Sequence[_Span]) -> bool:
    """Whether all cells of a line are empty: such a line is none of the rows that were read."""
    return not any(text[start:end].strip('" \t') for start, end in row)


def _cell(raw: str, *, quotes: bool) -> str:
    """The text of a cell as it was read, without its quotes."""
    if quotes and raw.startswith('"'):
        raw = raw[1:-1].replace('""', '"')
    return raw.replace("\0", " ")


def change_workbook(content: bytes, part: str, place: int, changes: Mapping[int, str], path: Path) -> bytes:
    """The content of an Excel workbook with other texts at a place of rows of the sheet in one part.

    Raises InputError for a sheet that is not written as Excel does, and for a formula in one of the cells.
    """
    made = BytesIO()
    left = dict(changes)

    def changed(row: re.Match[bytes]) -> bytes:
        found = re.search(rb'\sr="(\d+)"', row[1])
        number = int(found[1]) if found else 0
        text = left.pop(number, None)
        return row[0] if text is None else _with_cell(row[1], row[2] or b"", number, place, text, path)

    with zipfile.ZipFile(BytesIO(content)) as old, zipfile.ZipFile(made, "w") as new:
        for entry in old.infolist():
            xml = old.read(entry)
            if entry.filename == part:
                xml = re.sub(rb"<dimension\b[^>]*/>", b"", xml)  # it may leave out a new column
                xml = re.sub(rb"<row\b([^>]*?)(?:/>|>(.*?)</row>)", changed, xml, flags=re.DOTALL)
            new.writestr(entry, xml, entry.compress_type)
    if left:
        raise InputError("holds rows that cannot be changed; save the sheet as CSV", path, min(left))
    return made.getvalue()


def _with_cell(head: bytes, cells: bytes, number: int, place: int, text: str, path: Path) -> bytes:
    """A row of a sheet with another text in a cell, in the style of the old one. head: the attributes of the row."""
    from openpyxl.utils import column_index_from_string, get_column_letter

    start = end = len(cells)
    style = b""
    for cell in re.finditer(rb"<c\b([^>]*?)(?:/>|>.*?</c>)", cells, re.DOTALL):
        name = re.search(rb'\sr="([A-Z]{1,3})\d+"', cell[1])
        column = column_index_from_string(name[1].decode()) - 1 if name else -1
        if column < 0 or (column == place and re.search(rb"<f[\s/>]", cell[0])):
            raise InputError("has a cell that cannot be changed; save the sheet as CSV", path, number)
        if column > place:
            start = end = cell.start()
            break
        if column == place:
            start, end = cell.span()
            found = re.search(rb'\ss="\d+"', cell[1])
            style = found[0] if found else b""
            break
    content = escape(re.sub(r"[\x00-\x08\x0b\x0c\x0e-\x1f]", " ", text)).encode()
    reference = f"{get_column_letter(place + 1)}{number}".encode()
    new = b'<c r="%s"%s t="inlineStr"><is><t xml:space="preserve">%s</t></is></c>' % (reference, style, content)
    head = re.sub(rb'\sspans="[^"]*"', b"", head)
    return b"<row%s>%s</row>" % (head, cells[:start] + new + cells[end:])
