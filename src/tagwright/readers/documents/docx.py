"""Read Word files. Needs python-docx (extra `docx`)."""

import re
import zipfile
from collections.abc import Iterator
from io import BytesIO
from pathlib import Path
from typing import Any

from tagwright.core.extras import require
from tagwright.errors import InputError, one_line_of
from tagwright.readers.documents.records import Located
from tagwright.readers.documents.sections import Block, authors, keywords, one_line, present, to_document
from tagwright.readers.limits import PICTURES, largest_document, read_whole, too_large
from tagwright.readers.lines import open_bytes
from tagwright.types import Document

MARKUP = 4
"How many times larger than a document its XML may be: Word marks up nearly every word."

_TITLE = -1
"The depth of a style for the title."
_HEADING = re.compile(r"heading ([1-9])", re.IGNORECASE)
_WORD = "{http://schemas.openxmlformats.org/wordprocessingml/2006/main}"
_PARAGRAPH, _TABLE, _ROW, _TEXT, _VALUE, _GALLERY = (
    _WORD + name for name in ("p", "tbl", "tr", "t", "val", "docPartGallery")
)
_GAPS = [_WORD + name for name in ("tab", "br", "cr", "tc", "p")]
"Elements that separate words; an element comes before what it holds."


def read_docx(path: Path) -> Iterator[Located]:
    """One document, without id. Headings are paragraphs in a heading style, or of an outline level.

    The title is the paragraph in the style Title, or else that of the file's properties, or else the first heading if
    it is on top. Each row of a table is a paragraph. Metadata: author, keyword. Raises InputError.
    """
    require("reading Word files", "docx", path=path)
    import docx

    with open_bytes(path) as file:
        content = BytesIO(read_whole(file, path, PICTURES))
    try:
        _check_parts(content, path)
        yield 0, _document(docx.Document(content))
    except InputError:
        raise
    except Exception as error:  # for damaged files the libraries raise KeyError, BadZipFile, XMLSyntaxError and more
        raise InputError(f"is no Word file (.docx), or a damaged one ({one_line_of(error)})", path) from None


def _check_parts(content: BytesIO, path: Path) -> None:
    with zipfile.ZipFile(content) as parts:
        sizes = {part: part.file_size for part in parts.infolist()}
        names = parts.namelist()
    if not any(name.startswith("word/") for name in names):
        workbook = any(name.startswith("xl/") for name in names)
        problem = (
            "a spreadsheet workbook, which cannot be read; save the sheet as CSV"
            if workbook
            else "another kind of archive"
        )
        raise InputError(f"is no Word file (.docx) but {problem}", path)
    xml = sum(size for part, size in sizes.items() if part.filename.lower().endswith((".xml", ".rels")))
    for size, times in ((sum(sizes.values()), PICTURES), (xml, MARKUP)):
        if size > times * largest_document():
            raise InputError(too_large(f"unpacks to {size:,} bytes, more than {times} times the limit"), path)


def _document(file: Any) -> Document:
    blocks = list(_blocks(file))
    properties = file.core_properties
    titled = [text for depth, text in blocks if depth == _TITLE]
    blocks = [(depth, text) for depth, text in blocks if depth != _TITLE]
    title = one_line(" ".join(titled) or properties.title or "")
    if blocks and blocks[0][0] and title in {"", blocks[0][1]}:
        title = blocks.pop(0)[1]
    metadata = present(
        author=authors(one_line(name) for name in (properties.author or "").split(";")),
        keyword=keywords([properties.keywords or ""]),
    )
    return to_document(title, blocks, metadata)


def _blocks(file: Any) -> Iterator[Block]:
    depths = {style.style_id: _depth(style) for style in file.styles}
    for part in _parts(file.element.body):
        if part.tag == _TABLE:
            yield from ((0, text) for row in part.iter(_ROW) if (text := _text(row)))
        elif text := _text(part):
            style, level = (part.find(f"{_WORD}pPr/{_WORD}{name}") for name in ("pStyle", "outlineLvl"))
            depth = depths.get(style.get(_VALUE), 0) if style is not None else 0
            outline = int(level.get(_VALUE, "9")) if level is not None else 9
            yield (outline + 1 if not depth and 0 <= outline < 9 else depth), text


def _parts(body: Any) -> Iterator[Any]:
    """Paragraphs and tables; those inside content controls too, but no table of contents."""
    for part in body:
        if part.tag in {_PARAGRAPH, _TABLE}:
            yield part
        elif part.tag == f"{_WORD}sdt" and not any("ontents" in each.get(_VALUE, "") for each in part.iter(_GALLERY)):
            yield from _parts(part.find(f"{_WORD}sdtContent"))


def _depth(style: Any) -> int:
    """The depth of a heading style or of a style based on one; the style names are English in every language."""
    while style is not None and style.name:
        if heading := _HEADING.fullmatch(style.name):
            return int(heading[1])
        if style.name == "Title":
            return _TITLE
        style = getattr(style, "base_style", None)
    return 0


def _text(element: Any) -> str:
    """The text of a paragraph, or of the paragraphs in a row, without tracked deletions."""
    nodes = element.iter(_TEXT, *_GAPS)
    return one_line("".join((node.text or "") if node.tag == _TEXT else " " for node in nodes))
