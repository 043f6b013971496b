from __future__ import annotations

import gzip
import io
import json
import os
import zipfile
from pathlib import Path

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from tests.readers.reading import give_on_standard_input, outcome, read, refusal, same_folder, written

from tagwright.data.corpus import Corpus
from tagwright.errors import ConfigError, InputError
from tagwright.readers.documents.files import guess_format
from tagwright.readers.documents.formats import FORMATS
from tagwright.types import Document


def test_globs_are_sorted_and_sources_follow_each_other(tmp_path: Path) -> None:
    for name in ("b.jsonl", "a.jsonl", "c/d.jsonl"):
        written(tmp_path, json.dumps({"id": name, "title": "x"}), name)
    pattern = str(tmp_path / "**" / "*.jsonl")
    found = [document.id for document in read(tmp_path / "b.jsonl", pattern)]
    assert found == ["b.jsonl", "a.jsonl", "b.jsonl", "c/d.jsonl"]


def test_standard_input_is_json_lines_and_named_in_errors(monkeypatch: pytest.MonkeyPatch) -> None:
    give_on_standard_input(monkeypatch, b'{"id": "a", "title": "Bees"}\n{"id": "b", "title": 1, "labels": "x"}\n')
    assert refusal("-").startswith('standard input:2: labels is "x", expected a list of label ids')


@pytest.mark.parametrize(
    ("content", "expected"),
    [
        (b"The History of Salt Prices in Europe\n", Document("stdin", "The History of Salt Prices in Europe")),
        (b"\xef\xbb\xbfBees\nThey\tfly.\n", Document("stdin", "Bees", "They\tfly.")),
        (b"a\tb, <html> and {\n", Document("stdin", "a\tb, <html> and {")),
        (b"[1] is no JSON", Document("stdin", "[1] is no JSON")),
        (b"< 3 bees", Document("stdin", "< 3 bees")),
        (b"word " * 60, Document("stdin", abstract=("word " * 60).strip())),
        (b'{"text": "They fly."}\n', Document("1", abstract="They fly.")),
        (b'{"title":\n "Bees"}\n', Document("1", "Bees")),
        (b'[\n{"title": "Bees"}]\n', Document("1", "Bees")),
        (gzip.compress(b"Bees", mtime=0), Document("stdin", "Bees")),
        (b"<!DOCTYPE html><title>Bees</title><p>They fly.", Document("stdin", "Bees", "They fly.")),
    ],
)
def test_standard_input_is_json_or_a_paper_or_a_text(
    content: bytes, expected: Document, monkeypatch: pytest.MonkeyPatch
) -> None:
    give_on_standard_input(monkeypatch, content)
    assert read("-") == [expected]


def test_files_of_one_name_in_two_folders_are_told_apart_by_their_paths(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("a/x.txt", "b/x.txt", "b/y.txt"):
        written(tmp_path, "Bees", name)
    monkeypatch.chdir(tmp_path)
    assert [document.id for document in read("a", "b")] == ["a/x.txt", "b/x.txt", "y.txt"]


def test_a_text_in_latin_1_with_its_labels_beside_it_and_other_formats_that_say_their_encoding(tmp_path: Path) -> None:
    written(tmp_path, "Étude\nDu miel é".encode("latin-1"), "x.txt")
    written(tmp_path, "abeilles é\n".encode("latin-1"), "x.key")
    written(tmp_path, '<html><head><meta charset="utf-8"><title>Été</title></head><body>é</body></html>', "y.html")
    written(tmp_path, "abeilles é\n", "y.key")  # beside a page it is UTF-8
    text, page = Corpus.read(tmp_path, encoding="latin-1")
    assert text == Document("x.txt", "Étude", "Du miel é", labels=("abeilles é",))
    assert (page.title, page.labels) == ("Été", ("abeilles é",))


@pytest.mark.parametrize(("name", "advised"), [("x.txt", True), ("x.html", False)])
def test_labels_in_another_encoding_are_refused_with_the_option_where_it_helps(
    tmp_path: Path, name: str, advised: bool
) -> None:
    path = written(tmp_path, "Bear", name)
    written(tmp_path, "Bär\n".encode("latin-1"), "x.key")
    with pytest.raises(InputError, match=r"x\.key:1: byte 0xe4 is not UTF-8") as refused:
        Corpus.read(path)
    assert ("name the encoding of documents" in str(refused.value)) == advised  # beside a page they are in UTF-8


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("a.docx", "is no Word file (.docx) but an Excel workbook; give it the suffix .xlsx"),
        ("a.ods", "is a spreadsheet workbook, which cannot be read; save the sheet as CSV"),
    ],
)
def test_a_workbook_is_refused_in_words(tmp_path: Path, name: str, message: str) -> None:
    content = io.BytesIO()
    with zipfile.ZipFile(content, "w") as parts:
        parts.writestr("[Content_Types].xml", "<Types/>")
        parts.writestr("xl/workbook.xml", "<workbook/>")
    assert refusal(written(tmp_path, content.getvalue(), name)) == f"{name}: {message}"


def test_a_format_for_a_folder_takes_the_files_that_are_not_of_another(tmp_path: Path) -> None:
    for name in ("a.txt", "b.log", "c.html", "d"):
        written(tmp_path, "Bees", name)
    assert [document.id for document in read(tmp_path, format="text")] == ["a.txt", "b.log", "d"]


@pytest.mark.skipif(not Path("/dev/fd").is_dir(), reason="pipes have no names on this system")
def test_a_pipe_is_read_once_and_whole() -> None:
    reader, writer = os.pipe()
    os.write(writer, b'{"id": "a", "title": "Bees"}\n')
    os.close(writer)
    assert read(f"/dev/fd/{reader}") == [Document("a", "Bees")]
    os.close(reader)


@pytest.mark.parametrize(
    ("content", "expected"),
    [
        (b'\xef\xbb\xbf{"id": 1}', "jsonl"),
        (gzip.compress(b'{"id": 1}', mtime=0), "jsonl"),
        (b"a\tb\n", "tsv"),
        (b"PAR1\x00", "parquet"),
        (b"%PDF-1.7", "pdf"),
        (b"PK\x03\x04", "docx"),
        (b"<!DOCTYPE html>", "html"),
        (b'<?xml version="1.0"?>\n<!-- x --><article article-type="x">', "jats"),
        ('<?xml version="1.0"?><TEI xmlns="x">'.encode("utf-16"), "tei"),
        (b"ARROW1\x00", "arrow"),
    ],
)
def test_a_file_of_unknown_name_is_known_by_its_content(tmp_path: Path, content: bytes, expected: str) -> None:
    assert guess_format(written(tmp_path, content, "documents.data")) == expected


def test_sources_that_are_not_there_are_refused(tmp_path: Path) -> None:
    written(tmp_path, "?", "some.data")
    (tmp_path / "folder").mkdir()
    assert refusal(tmp_path / "none.jsonl") == "none.jsonl: no such file or folder"
    assert refusal(tmp_path / "*.none") == "*.none: no file matches"
    assert refusal("a\0b") == "a\0b: no such file or folder"
    assert refusal(tmp_path / "some.data").startswith("some.data: has no recognisable format; name it")
    assert "holds no files of text (.docx, " in str(refusal(tmp_path / "folder"))
    assert refusal().startswith("no documents given")


def test_of_many_papers_the_damaged_are_reported_and_the_others_read(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """In a folder, a glob, or named one by one; a line counts them, and the other files of a folder."""
    for name, content in {
        "a.txt": b"Bees", "b.txt": b"\xff", "c.pdf": b"%PDF", "d.docx": b"", "e.xml": b"<score/>", "f.json": b"{",
        "g.html": b"<p>Bees", "h/i.json": b'{\n"id": "7",\n"title": "Bees"}', "j.png": b"", ".k.txt": b"\xff",
    }.items():  # fmt: skip
        written(tmp_path, content, name)
    ids = [document.id for document in read(tmp_path)]
    assert ids == ["a.txt", "g.html", "7"]
    assert [message.rpartition("/")[2].partition(": ")[0] for message in caplog.messages] == [
        "b.txt:1", "c.pdf", "d.docx", "e.xml", "f.json:1", "9 files",
    ]  # fmt: skip
    assert caplog.messages[-1] == "9 files: 3 read; 5 could not be read; 1 left out: .png 1"
    caplog.clear()
    assert len(read(tmp_path / "[a-c].*")) == len(read(tmp_path / "a.txt", tmp_path / "b.txt")) == 1
    assert caplog.messages[2:] == [
        "3 files: 1 read; 2 could not be read",
        caplog.messages[0],
        "2 files: 1 read; 1 could not be read",
    ]


def test_json_over_several_lines(tmp_path: Path) -> None:
    assert read(written(tmp_path, '[\n{"id": "1",\n"title": "Bees"}, {"id": 2}]', "a.json")) == [
        Document("1", "Bees"),
        Document("2"),
    ]
    assert read(written(tmp_path, '\n{"id": "1"}\n{"id": "2"}', "b.json")) == [Document("1"), Document("2")]
    assert refusal(written(tmp_path, '{\n"id": }', "c.json")) == "c.json:2: is not JSON (Expecting value at column 7)"
    assert refusal(written(tmp_path, '[\n{"id": 1}, 3]', "d.json")).startswith("d.json:2: holds 3, expected a JSON obj")
    assert refusal(written(tmp_path, "\n", "e.json")) == "e.json: holds no documents"


def test_a_format_there_is_not_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="unknown format 'xml' of documents; the formats are jsonl, annif"):
        read(written(tmp_path, "{}"), format="xml")


@settings(same_folder, max_examples=40)
@given(st.binary(max_size=200) | st.text(max_size=100).map(str.encode), st.sampled_from(sorted(FORMATS)), st.booleans())
@example(b'{"id": 1, "paragraphs": [{"section": []}]}', "futex", False)
@example(b'{"text": "x", "subjects": [1], "metadata": 3}', "annif", False)
@example(b'"a\x00', "csv", False)
@example(b"text\n\r", "csv", False)
def test_any_bytes_are_read_or_refused(tmp_path: Path, content: bytes, format: str, packed: bool) -> None:  # noqa: A002
    path = written(tmp_path, gzip.compress(content) if packed else content, "x.gz" if packed else "x")
    result = outcome(path, format)
    assert result.startswith(str(path)) if isinstance(result, str) else result
