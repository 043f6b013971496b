"""Read Word files. Needs python-docx (extra `docx`)."""

import logging
import re
from collections.abc import Iterator
from io import BytesIO
from pathlib import Path
from typing import Any

from tagwright.core.extras import require
from tagwright.errors import InputError
from tagwright.readers.documents.markup import MARKS, of_word, to_text
from tagwright.readers.documents.records import Located
from tagwright.readers.documents.sections import Block, authors, keep_present, keywords, one_line, to_document
from tagwright.readers.limits import PICTURES, check_unpacked, convert_errors, read_whole
from tagwright.readers.lines import open_bytes
from tagwright.readers.workbooks import to_transitional
from tagwright.types import Document

_log = logging.getLogger(__name__)
_TITLE = -1
"The depth of a style for the title."
_WORD = "{http://schemas.openxmlformats.org/wordprocessingml/2006/main}"
_PARAGRAPH, _TABLE, _ROW, _VALUE, _GALLERY, _BOX = (
    _WORD + name for name in ("p", "tbl", "tr", "val", "docPartGallery", "txbxContent")
)


def read_docx(path: Path) -> Iterator[Located]:
    """One document, without id. Headings are paragraphs in a heading style, or of an outline level.

    The title is the paragraph in the style Title, or else that of the file's properties, or else the first heading if
    it is on top. Each row of a table is a paragraph. Metadata: author, keyword. Raises InputError.
    """
    require("reading Word files", "docx", path=path)
    import docx

    with open_bytes(path) as file:
        content = BytesIO(read_whole(file, path, PICTURES))
    with convert_errors("is no Word file (.docx), or a damaged one", "docx", path):
        names = check_unpacked(content, path, xml=4)  # Word marks up nearly every word
        if not any(name.startswith("word/") for name in names):
            workbook = any(name.startswith("xl/") for name in names)
            problem = "an Excel workbook; give it the suffix .xlsx" if workbook else "another kind of archive"
            raise InputError(f"is no Word file (.docx) but {problem}", path)
        read = docx.Document(to_transitional(content))
        document, others = _document(read), len([*read.element.body.iter(f"{_WORD}altChunk")])
    if others:
        _log.warning("%s: holds parts of other formats (%d), which are not read; save it in Word", path, others)
    yield 0, document


def _document(file: Any) -> Document:
    blocks = list(_blocks(file))
    properties = file.core_properties
    titled = [text for depth, text in blocks if depth == _TITLE]
    blocks = [(depth, text) for depth, text in blocks if depth != _TITLE]
    title = one_line(" ".join(titled) or properties.title or "")
    if blocks and blocks[0][0] and title in {"", blocks[0][1]}:
        title = blocks.pop(0)[1]
    metadata = keep_present(
        author=authors(one_line(name) for name in (properties.author or "").split(";")),
        keyword=keywords([properties.keywords or ""]),
    )
    return to_document(title, blocks, metadata)


def _blocks(file: Any) -> Iterator[Block]:
    """Headings and paragraphs, those of a text box behind the one that it hangs on; notes last."""
    from docx.oxml import parse_xml

    depths = _depths(file.styles.element)
    notes = (relation for relation in file.part.rels.values() if relation.reltype.endswith(("/footnotes", "/endnotes")))
    bodies = [file.element.body, *(note for relation in notes for note in parse_xml(relation.target_part.blob))]
    for part in (part for body in bodies for part in _parts(body)):
        if part.tag == _TABLE:
            yield from ((0, text) for row in _find_outermost(part, _ROW) if (text := to_text(_text(row))))
        elif text := to_text(_text(part)):
            style, level = (part.find(f"{_WORD}pPr/{_WORD}{name}") for name in ("pStyle", "outlineLvl"))
            depth = depths.get(style.get(_VALUE), 0) if style is not None else 0
            outline = int(level.get(_VALUE, "9")) if level is not None else 9
            yield (outline + 1 if not depth and 0 <= outline < 9 else depth), text


def _parts(body: Any) -> Iterator[Any]:
    """Paragraphs and tables; those inside content controls and text boxes too, but no table of contents."""
    for part in body:
        if part.tag in {_PARAGRAPH, _TABLE}:
            yield part
            for box in _find_outermost(part, _BOX):
                yield from _parts(box)
        elif of_word(part) != "dropped" and not any(
            "ontents" in gallery.get(_VALUE, "") for gallery in part.iterfind(f"{_WORD}sdtPr//{_GALLERY}")
        ):
            yield from _parts(part)


def _depths(styles: Any) -> dict[str, int]:
    """Style id -> depth of its heading: its own or that of the style it is based on; names are English everywhere."""
    named, based = dict[str, str](), dict[str, str]()
    for style in styles.iter(f"{_WORD}style"):
        id_ = style.get(f"{_WORD}styleId", "")
        for tag, values in (("name", named), ("basedOn", based)):
            if (element := style.find(_WORD + tag)) is not None:
                values[id_] = element.get(_VALUE, "")
    depths = {id_: _TITLE for id_, name in named.items() if name == "Title"}
    for id_, name in named.items():
        if heading := re.fullmatch(r"heading ([1-9])", name, re.IGNORECASE):
            depths[id_] = int(heading[1])
    for id_ in named:
        chain = list[str]()
        while id_ in named and id_ not in depths:
            depths[id_] = 0  # styles that are based on each other end here
            chain.append(id_)
            id_ = based.get(id_, "")
        depths |= dict.fromkeys(chain, depths.get(id_, 0))
    return depths


def _find_outermost(element: Any, tag: str) -> Iterator[Any]:
    """The elements of this name that are in no other of it, nor in what is dropped."""
    for child in element if next(element.iter(tag), None) is not None else ():
        if child.tag == tag:
            yield child
        elif of_word(child) != "dropped":
            yield from _find_outermost(child, tag)


def _text(element: Any) -> str:
    """The text of a paragraph, or of the paragraphs in a row, with marks; without text boxes."""
    if element.tag.endswith("}t"):
        return element.text or ""
    if element.tag.endswith("}noBreakHyphen"):
        return "-"
    text = ""
    for child in element:
        if child.tag != _BOX and (effect := of_word(child)) != "dropped":
            begin, end = MARKS.get(effect, ("", ""))
            text += f"{begin}{_text(child)}{end}"
    return text
