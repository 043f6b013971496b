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
    text, pieces, at = content.decode(encoding), list[str](), 0
    delimiter, spans = _locate_cells(text, rows, quotes=quotes, path=path)
    for (line, _), row in zip(rows, spans, strict=True):
        if line not in changes:
            continue
        lacking = place + 1 - len(row)
        start, end = row[place] if lacking <= 0 else (row[-1][1], row[-1][1])
        filled = [text[first] for first, last in row if last > first]
        all_quoted = quotes and bool(filled) and set(filled) == {'"'}
        cell = changes[line]
        if quotes and (text[start:end].startswith('"') or all_quoted or re.search(f'["\r\n{delimiter}]', cell)):
            cell = '"{}"'.format(cell.replace('"', '""'))
        pieces += [text[at:start], delimiter * max(0, lacking), cell]
        at = end
    try:
        return "".join([*pieces, text[at:]]).encode(encoding)
    except UnicodeEncodeError as error:
        problem = f"{encoding} lacks {error.object[error.start]!r}, which a subject has; save the table as UTF-8"
        raise InputError(problem, path) from None


def _locate_cells(text: str, rows: Rows, *, quotes: bool, path: Path) -> tuple[str, list[list[_Span]]]:
    """The separator of a table, and where the cells of its rows are. Raises InputError."""
    for delimiter in ",;\t|:" if quotes else "\t":
        spans = [row for row in _spans(text, delimiter, quotes=quotes) if any(text[a:b].strip('" \t') for a, b in row)]
        spans = spans[max(0, len(spans) - len(rows)) :]  # a line that tells the separator may be above
        found = [[_cell(text[start:end], quotes=quotes) for start, end in row] for row in spans]
        if found == [list(cells) for _, cells in rows]:
            return delimiter, spans
    raise InputError("cannot be copied exactly; save it as CSV or TSV in UTF-8", path)


def _spans(text: str, delimiter: str, *, quotes: bool) -> Iterator[list[_Span]]:
    """Where the cells of each line are."""
    plain = f"[^{delimiter}\r\n]*"
    cell = re.compile(f'"[^"]*(?:""[^"]*)*"|{plain}' if quotes else plain)
    row, at = list[_Span](), int(text.startswith("\ufeff"))
    while match := cell.match(text, at):
        row.append(match.span())
        at = match.end()
        if text.startswith(delimiter, at):
            at += 1
            continue
        yield row
        if at >= len(text):
            return
        row, at = [], at + (2 if text.startswith("\r\n", at) else 1)


def _cell(raw: str, *, quotes: bool) -> str:
    if quotes and raw.startswith('"'):
        raw = raw[1:-1].replace('""', '"')
    return raw.replace("\0", " ")


def change_workbook(content: bytes, part: str, place: int, changes: Mapping[int, str], path: Path) -> bytes:
    """The content of an Excel workbook with other texts at a place of rows of the sheet in one part.

    Raises InputError for a sheet that is not written as Excel does, and for a formula in one of the cells.
    """
    made, left = BytesIO(), dict(changes)

    def changed(row: re.Match[bytes]) -> bytes:
        number = re.search(rb'\sr="(\d+)"', row[1])
        text = left.pop(int(number[1]), None) if number else None
        return row[0] if text is None else _with_cell(row[1], row[2] or b"", place, text, path)

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


def _with_cell(head: bytes, cells: bytes, place: int, text: str, path: Path) -> bytes:
    """A row of a sheet with another text in a cell. head: its attributes."""
    from openpyxl.utils import column_index_from_string, get_column_letter

    number = int(re.findall(rb'\sr="(\d+)"', head)[0])
    end, attributes = len(cells), b""
    start = end
    for cell in re.finditer(rb"<c\b([^>]*?)(?:/>|>.*?</c>)", cells, re.DOTALL):
        name = re.search(rb'\sr="([A-Z]{1,3})\d+"', cell[1])
        at = column_index_from_string(name[1].decode()) - 1 if name else -1
        if at < 0 or (at == place and re.search(rb"<f[\s/>]", cell[0])):
            raise InputError("has a cell that cannot be changed; save the sheet as CSV", path, number)
        if at >= place:
            start, end = cell.start(), cell.end() if at == place else cell.start()
            style = re.search(rb'\ss="\d+"', cell[1])
            attributes = style[0] if at == place and style else b""
            break
    content = escape(re.sub(r"[\x00-\x08\x0b\x0c\x0e-\x1f]", " ", text)).encode()
    reference = f"{get_column_letter(place + 1)}{number}".encode()
    new = b'<c r="%s"%s t="inlineStr"><is><t xml:space="preserve">%s</t></is></c>' % (reference, attributes, content)
    head = re.sub(rb'\sspans="[^"]*"', b"", head)
    return b"<row%s>%s</row>" % (head, cells[:start] + new + cells[end:])
