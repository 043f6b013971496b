"""Read Word files by pandoc, mended first: it would leave out text boxes, and read what nobody wrote."""

import logging
import re
import zipfile
from collections.abc import Iterator
from io import BytesIO
from pathlib import Path
from typing import Any
from xml.dom import minidom
from xml.etree.ElementTree import fromstring  # expat limits the growth of entities, and reads no others

from tagwright.errors import InputError
from tagwright.readers.documents.pandoc import make_document, parse
from tagwright.readers.documents.records import Located
from tagwright.readers.documents.sections import authors, keywords, one_line
from tagwright.readers.limits import PICTURES, PLAIN, Reading, check_unpacked, convert_errors, read_whole
from tagwright.readers.lines import open_bytes

_log = logging.getLogger(__name__)
_WRAPPERS = ("mc:AlternateContent", "mc:Choice", "w:customXml", "w:fldSimple", "w:ins")
"Elements whose content pandoc may leave out."
_LONGEST_PROPERTIES = 1 << 20
"Bytes; they hold a few names and words."


def read_docx(path: Path, _reading: Reading = PLAIN) -> Iterator[Located]:
    """One document, without id.

    The title is the text in the style Title, or else that of the file's properties, or else the first heading if it is
    on top. Each row of a table is a paragraph. Metadata: author, keyword. Raises InputError.
    """
    with open_bytes(path) as file:
        content = BytesIO(read_whole(file, path, PICTURES))
    with convert_errors("is no Word file (.docx), or a damaged one", "zipfile", path):
        names = check_unpacked(content, path, xml=4)  # Word marks up nearly every word
        main = next((name for name in names if re.fullmatch(r"word/document\d*\.xml", name)), "")
        if not main:
            workbook = any(name.startswith("xl/") for name in names)
            problem = "an Excel workbook; give it the suffix .xlsx" if workbook else "another kind of archive"
            raise InputError(f"is no Word file (.docx) but {problem}", path)
        mended = BytesIO()
        with zipfile.ZipFile(content) as parts, zipfile.ZipFile(mended, "w") as texts:
            title, author, words = _read_properties(parts)
            for name in names:
                if name.endswith((".xml", ".rels")):
                    texts.writestr(name, _mend(parts.read(name)) if name == main else parts.read(name))
            others = parts.read(main).count(b"<w:altChunk")
    if others:
        _log.warning("%s: holds parts of other formats (%d), which are not read; save it in Word", path, others)
    tree = parse(mended.getvalue(), "docx", path)
    yield 0, make_document(tree, title, author=authors(map(str.strip, author.split(";"))), keyword=keywords([words]))


def _read_properties(parts: zipfile.ZipFile) -> list[str]:
    """Title, author and keywords."""
    if "docProps/core.xml" not in parts.namelist():
        return ["", "", ""]
    with parts.open("docProps/core.xml") as file:
        properties = fromstring(file.read(_LONGEST_PROPERTIES))  # noqa: S314 - see the import
    return [one_line(properties.findtext(f"{{*}}{name}", "")) for name in ("title", "creator", "keywords")]


def _mend(xml: bytes) -> bytes:
    """The text of a Word file without hidden runs, prompts of forms and tables of contents.

    What stands in a field, a change without an author or one of two forms is text like any other. The paragraphs of a
    text box stand behind the one that it hangs on.
    """
    if not re.search(rb"txbxContent|showingPlcHdr|docPartGallery|w:vanish|" + "|".join(_WRAPPERS).encode(), xml):
        return xml
    page: Any = minidom.parseString(xml)  # noqa: S318 - as above
    for tag in ("mc:Fallback", "w:sdt", "w:r"):
        for node in page.getElementsByTagName(tag):
            if tag == "mc:Fallback" or _is_unwritten(node):
                node.parentNode.removeChild(node)
    for node in (node for tag in _WRAPPERS for node in page.getElementsByTagName(tag)):
        for child in [*node.childNodes]:
            node.parentNode.insertBefore(child, node)
        node.parentNode.removeChild(node)
    for box in page.getElementsByTagName("w:txbxContent"):
        paragraph = box.parentNode
        while paragraph.nodeName != "w:p":
            paragraph = paragraph.parentNode
        for child in reversed(box.childNodes):
            paragraph.parentNode.insertBefore(child, paragraph.nextSibling)
    mended: bytes = page.toxml("utf-8")
    return mended


def _is_unwritten(node: Any) -> bool:
    """Whether a run is hidden, or a field asks to be filled in or holds the table of contents."""
    properties = (part for part in node.childNodes if part.nodeName in {"w:rPr", "w:sdtPr"})
    looks = (look for part in properties for look in part.getElementsByTagName("*"))
    values = {look.nodeName: look.getAttribute("w:val") for look in looks}
    is_hidden = values.get("w:vanish", "0") not in {"0", "false", "off"}
    return is_hidden or "w:showingPlcHdr" in values or "ontents" in values.get("w:docPartGallery", "")
