"""Word files written by hand."""

from __future__ import annotations

import io
import zipfile

_OFFICE = "http://schemas.openxmlformats.org/officeDocument/2006"
_PACKAGE = "http://schemas.openxmlformats.org/package/2006"
NAMESPACES = (
    f'xmlns:w="http://schemas.openxmlformats.org/wordprocessingml/2006/main" xmlns:m="{_OFFICE}/math" '
    'xmlns:mc="http://schemas.openxmlformats.org/markup-compatibility/2006"'
)
STYLES = "".join(
    f'<w:style w:type="paragraph" w:styleId="{name.title().replace(" ", "")}"><w:name w:val="{name}"/></w:style>'
    for name in ("Title", "heading 1", "heading 2", "heading 3")
)


def run(text: str, look: str = "") -> str:
    """A run; look: elements of its properties."""
    return f"<w:r><w:rPr>{look}</w:rPr><w:t xml:space='preserve'>{text}</w:t></w:r>"


def paragraph(text: str, style: str = "") -> str:
    return f"<w:p><w:pPr><w:pStyle w:val='{style}'/></w:pPr>{run(text)}</w:p>"


def word(body: str, *, before: str = "", notes: str = "", properties: str = "", kind: str = "") -> bytes:
    """A file of this text. before: the text, as a document type. kind: of the file, a usual one by default."""
    kind = kind or "vnd.openxmlformats-officedocument.wordprocessingml.document"
    parts = {
        "[Content_Types].xml": f'<Types xmlns="{_PACKAGE}/content-types"><Default Extension="xml" '
        'ContentType="application/xml"/><Override PartName="/word/document.xml" '
        f'ContentType="application/{kind}.main+xml"/></Types>',
        "_rels/.rels": _relations(officeDocument="word/document.xml"),
        "word/_rels/document.xml.rels": _relations(styles="styles.xml", footnotes="footnotes.xml"),
        "word/document.xml": f"{before}<w:document {NAMESPACES}><w:body>{body}</w:body></w:document>",
        "word/styles.xml": f"<w:styles {NAMESPACES}>{STYLES}</w:styles>",
        "word/footnotes.xml": f"<w:footnotes {NAMESPACES}>{notes}</w:footnotes>",
    }
    if properties:
        parts["docProps/core.xml"] = f'<c:coreProperties xmlns:c="c" xmlns:d="d">{properties}</c:coreProperties>'
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w", zipfile.ZIP_DEFLATED) as file:
        for name, content in parts.items():
            file.writestr(name, content)
    return stream.getvalue()


def _relations(**targets: str) -> str:
    each = "".join(
        f'<Relationship Id="{kind}" Type="{_OFFICE}/relationships/{kind}" Target="{target}"/>'
        for kind, target in targets.items()
    )
    return f'<Relationships xmlns="{_PACKAGE}/relationships">{each}</Relationships>'
