from __future__ import annotations

import io
import zipfile
from itertools import pairwise
from pathlib import Path

import docx
import pytest
from docx.enum.style import WD_STYLE_TYPE
from docx.opc.packuri import PackURI
from docx.opc.part import Part
from docx.oxml import parse_xml
from docx.oxml.ns import nsdecls
from tests.readers.reading import read, refusal, strict_open_xml, written

from tagwright.types import Section


def as_bytes(file: docx.document.Document) -> bytes:
    stream = io.BytesIO()
    file.save(stream)
    return stream.getvalue()


def bees() -> docx.document.Document:
    file = docx.Document()
    file.core_properties.author, file.core_properties.keywords = "Ann Müller; Bo Low", "wings, honey"
    file.add_paragraph("How bees fly", style="Title")
    file.add_paragraph("Bees fly.")
    file.add_heading("Methods", 1)
    file.add_paragraph("We ").add_run("looked").bold = True
    file.add_heading("Queens", 3)
    table = file.add_table(2, 2)
    for cell, text in zip((cell for row in table.rows for cell in row.cells), ("Bee", "7", "", ""), strict=True):
        cell.text = text
    file.add_paragraph("Old ones", style="List Bullet")
    file.add_heading("Results", 1)
    return file


def test_a_word_file_is_read_whole(tmp_path: Path) -> None:
    [document] = read(written(tmp_path, as_bytes(bees()), "a.docx"))
    assert (document.title, document.abstract) == ("How bees fly", "Bees fly.")
    assert document.sections == (
        Section("Methods", 1, ("We looked",)),
        Section("Queens", 2, ("Bee 7", "Old ones")),
        Section("Results", 1),
    )
    assert document.metadata == {"author": ("Ann Müller", "Bo Low"), "keyword": ("wings", "honey")}


def test_headings_in_styles_of_one_s_own_and_by_outline_level(tmp_path: Path) -> None:
    file = docx.Document()
    own = file.styles.add_style("Kapitel", WD_STYLE_TYPE.PARAGRAPH)
    own.base_style = file.styles["Heading 2"]
    file.add_paragraph("Wings", style="Kapitel")
    file.add_paragraph("Four.")
    level = parse_xml(f'<w:outlineLvl {nsdecls("w")} w:val="4"/>')
    file.add_paragraph("Veins")._p.get_or_add_pPr().append(level)
    file.add_paragraph("Thin.")
    [document] = read(written(tmp_path, as_bytes(file), "a.docx"))
    assert (document.title, document.abstract) == ("Wings", "Four.")
    assert document.sections == (Section("Veins", 1, ("Thin.",)),)


def test_tables_of_contents_and_deletions_are_left_out_and_fields_filled_in_kept(tmp_path: Path) -> None:
    file = docx.Document()
    for gallery, text in (("Table of Contents", "Wings 3"), ("Cover Pages", "Bees")):
        kind = f"<w:sdtPr><w:docPartObj><w:docPartGallery w:val='{gallery}'/></w:docPartObj></w:sdtPr>"
        inside = f"<w:sdtContent><w:p><w:r><w:t>{text}</w:t></w:r></w:p></w:sdtContent>"
        file.element.body.insert(0, parse_xml(f"<w:sdt {nsdecls('w')}>{kind}{inside}</w:sdt>"))
    deleted = "<w:del><w:r><w:delText>Wasps</w:delText></w:r></w:del>"
    added = "<w:ins><w:r><w:t>fly</w:t><w:tab/><w:t>high</w:t></w:r></w:ins>"
    file.element.body.insert(2, parse_xml(f"<w:p {nsdecls('w')}>{deleted}{added}</w:p>"))
    assert read(written(tmp_path, as_bytes(file), "a.docx"))[0].abstract == "Bees\n\nfly high"


def with_document(xml: str) -> bytes:
    """The file with other XML for its text."""
    stream = io.BytesIO()
    with (
        zipfile.ZipFile(io.BytesIO(as_bytes(bees()))) as old,
        zipfile.ZipFile(stream, "w", zipfile.ZIP_DEFLATED) as new,
    ):
        for part in old.infolist():
            new.writestr(part, xml if part.filename == "word/document.xml" else old.read(part))
    return stream.getvalue()


W = 'xmlns:w="http://schemas.openxmlformats.org/wordprocessingml/2006/main"'


@pytest.mark.parametrize(
    ("content", "problem"),
    [
        (b"", "is empty, expected documents"),
        (b"PK\x03\x04 noise", "is no Word file (.docx), or a damaged one (File is not a zip file)"),
        (as_bytes(bees())[:4000], "is no Word file (.docx), or a damaged one (File is not a zip file)"),
        (with_document("<w:document><w:body>"), "is no Word file (.docx), or a damaged one ("),
        (b"%PDF-1.4", "is no Word file"),
    ],
)
def test_damaged_files_are_refused(tmp_path: Path, content: bytes, problem: str) -> None:
    assert problem in refusal(written(tmp_path, content, "a.docx"))


def entities(declared: str) -> bytes:
    body = "<w:body><w:p><w:r><w:t>Bees &x;</w:t></w:r></w:p></w:body>"
    return with_document(f"<!DOCTYPE d [{declared}]><w:document {W}>{body}</w:document>")


def test_entities_are_never_resolved(tmp_path: Path) -> None:
    secret = written(tmp_path, "a secret", "secret.txt").as_uri()
    path = written(tmp_path, entities(f'<!ENTITY x SYSTEM "{secret}">'), "a.docx")
    assert read(path)[0].abstract == "Bees"
    names = "abcdefghx"
    bomb = "".join(f'<!ENTITY {name} "{f"&{before};" * 10}">' for before, name in pairwise(names))
    problem = refusal(written(tmp_path, entities(f'<!ENTITY a "aaaaaaaaaa">{bomb}'), "b.docx"))
    assert problem.startswith("b.docx: is no Word file (.docx), or a damaged one (Maximum entity amplification")


def test_a_bomb_is_refused_before_it_is_unpacked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = written(tmp_path, as_bytes(bees()), "a.docx")
    with zipfile.ZipFile(path) as parts:
        xml = sum(part.file_size for part in parts.infolist() if part.filename.endswith((".xml", ".rels")))
    monkeypatch.setenv("TAGWRIGHT_MAX_DOCUMENT_SIZE", str(path.stat().st_size // 10 - 1))
    assert "bytes, the limit for one document; to read it, raise TAGWRIGHT_MAX_DOCUMENT_SIZE" in refusal(path)
    monkeypatch.setenv("TAGWRIGHT_MAX_DOCUMENT_SIZE", str(xml // 4 - 1))
    assert "bytes, more than 4 times the limit; to read it, raise TAGWRIGHT_MAX_DOCUMENT_SIZE" in refusal(path)
    monkeypatch.setenv("TAGWRIGHT_MAX_DOCUMENT_SIZE", str(xml // 4 + 1))
    assert read(path)


def test_styles_that_are_based_on_each_other_are_text(tmp_path: Path) -> None:
    """A on B and B on A; C on A; D on a heading by way of E."""
    file = docx.Document()
    for name, base in (("A", "B"), ("B", "A"), ("C", "A"), ("E", "Heading2"), ("D", "E")):
        style = parse_xml(
            f'<w:style {nsdecls("w")} w:type="paragraph" w:styleId="{name}"><w:name w:val="{name}"/>'
            f'<w:basedOn w:val="{base}"/></w:style>'
        )
        file.styles.element.append(style)
        file.add_paragraph(f"in {name}", style=name)
    [document] = read(written(tmp_path, as_bytes(file), "a.docx"))
    assert (document.abstract, document.sections[0].paragraphs) == ("in A\n\nin B\n\nin C", ())
    assert [section.heading for section in document.sections] == ["in E", "in D"]


BOX = (
    "<w:r><mc:AlternateContent><mc:Choice Requires='wps'><w:drawing><w:txbxContent><w:p><w:r><w:t>Honey bees</w:t>"
    "</w:r></w:p></w:txbxContent></w:drawing></mc:Choice><mc:Fallback><w:pict><w:txbxContent><w:p><w:r>"
    "<w:t>Honey bees</w:t></w:r></w:p></w:txbxContent></w:pict></mc:Fallback></mc:AlternateContent></w:r>"
)


def test_a_text_box_is_read_once_behind_the_paragraph_that_it_hangs_on(tmp_path: Path) -> None:
    file = docx.Document()
    namespaces = f'{nsdecls("w")} xmlns:mc="http://schemas.openxmlformats.org/markup-compatibility/2006"'
    text = f"<w:r><w:t>The or</w:t></w:r>{BOX}<w:r><w:t>chard</w:t></w:r>"
    file.element.body.insert(0, parse_xml(f"<w:p {namespaces}>{text}</w:p>"))
    file.add_table(1, 1).cell(0, 0).paragraphs[0]._p.append(parse_xml(f"<w:ins {namespaces}>{BOX}</w:ins>"))
    assert read(written(tmp_path, as_bytes(file), "a.docx"))[0].abstract == "The orchard\n\nHoney bees\n\nHoney bees"


def test_a_table_in_a_table_is_read_once(tmp_path: Path) -> None:
    file = docx.Document()
    outer = file.add_table(2, 2)
    outer.cell(0, 0).text, outer.cell(1, 1).text = "honey", "wax"
    inner = outer.cell(0, 1).add_table(1, 2)
    inner.cell(0, 0).text, inner.cell(0, 1).text = "bees", "fly"
    assert read(written(tmp_path, as_bytes(file), "a.docx"))[0].abstract == "honey bees fly\n\nwax"


def test_notes_are_read_behind_the_text(tmp_path: Path) -> None:
    file = docx.Document()
    file.add_paragraph("Bees fly.")
    note = '<w:footnote w:id="1"><w:p><w:r><w:t>In spirals.</w:t></w:r></w:p></w:footnote>'
    notes = f"<w:footnotes {nsdecls('w')}>{note}</w:footnotes>"
    kind = "application/vnd.openxmlformats-officedocument.wordprocessingml.footnotes+xml"
    part = Part(PackURI("/word/footnotes.xml"), kind, notes.encode(), file.part.package)
    file.part.relate_to(part, "http://schemas.openxmlformats.org/officeDocument/2006/relationships/footnotes")
    assert read(written(tmp_path, as_bytes(file), "a.docx"))[0].abstract == "Bees fly.\n\nIn spirals."


def test_strict_open_xml_is_read(tmp_path: Path) -> None:
    content = as_bytes(bees())
    strict = read(written(tmp_path, strict_open_xml(content), "a.docx"))
    assert strict == read(written(tmp_path, content, "a.docx"))


@pytest.mark.parametrize(
    ("name", "kind"),
    [
        ("a.docm", "vnd.ms-word.document.macroEnabled"),
        ("a.dotx", "vnd.openxmlformats-officedocument.wordprocessingml.template"),
        ("a.docx", "vnd.ms-word.template.macroEnabledTemplate"),
    ],
)
def test_word_files_with_macros_and_templates_are_read(tmp_path: Path, name: str, kind: str) -> None:
    content, other = as_bytes(bees()), io.BytesIO()
    with zipfile.ZipFile(io.BytesIO(content)) as parts, zipfile.ZipFile(other, "w") as changed:
        for part in parts.infolist():
            usual = b"vnd.openxmlformats-officedocument.wordprocessingml.document.main+xml"
            changed.writestr(part, parts.read(part).replace(usual, f"{kind}.main+xml".encode()))
    [found] = read(written(tmp_path, other.getvalue(), name))
    assert found.sections == read(written(tmp_path, content, "b.docx"))[0].sections


def test_parts_of_other_formats_are_not_read_and_that_is_said(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    """Programs that make Word files of web pages put the page into one, which only Word reads."""
    file = bees()
    file.element.body.insert(0, parse_xml(f"<w:altChunk {nsdecls('w')}/>"))
    assert read(written(tmp_path, as_bytes(file), "a.docx"))[0].title == "How bees fly"
    assert caplog.messages[0].endswith("a.docx: holds parts of other formats (1), which are not read; save it in Word")


def test_what_a_form_asks_to_be_filled_in_is_no_text(tmp_path: Path) -> None:
    file, field = docx.Document(), "<w:sdt {}><w:sdtPr>{}</w:sdtPr><w:sdtContent>{}</w:sdtContent></w:sdt>"
    run = "<w:r><w:t>Bees</w:t></w:r>"
    for shown in ("", "<w:showingPlcHdr/>"):
        file.element.body.insert(0, parse_xml(field.format(nsdecls("w"), shown, f"<w:p>{run}</w:p>")))
        file.add_paragraph("In: ")._p.append(parse_xml(field.format(nsdecls("w"), shown, run)))
    assert read(written(tmp_path, as_bytes(file), "a.docx"))[0].abstract == "Bees\n\nIn: Bees\n\nIn:"
