"""Every reader says what it does not use: fields, columns, files; nothing is left out in silence."""

from __future__ import annotations

import logging
from pathlib import Path

import pytest
from tests.readers.reading import read, written
from tests.readers.samples import SAMPLES, Sample

from tagwright.readers.documents.formats import FORMATS


@pytest.mark.parametrize("sample", [each for each in SAMPLES if each.unused], ids=lambda sample: sample.name)
def test_a_reader_says_which_fields_it_does_not_use(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, sample: Sample
) -> None:
    """In one line, beside the name of the file; a document is read all the same, rows keep the value as metadata."""
    caplog.set_level(logging.INFO)
    [document] = read(written(tmp_path, sample.file("Bees"), sample.name))
    [line] = [message for message in caplog.messages if "not used: " in message]
    assert line.startswith(f"{tmp_path / sample.name}: ")
    assert sample.unused in line.partition("not used: ")[2]
    if FORMATS[sample.format].rows and sample.ids == "user":
        assert document.metadata["shelf"] == ("A 1",)


def test_every_format_has_a_sample() -> None:
    """Formats of papers have no fields that could be left out."""
    by_pandoc = {name for name, format_ in FORMATS.items() if format_.reader == "pandoc.read_by_pandoc"}
    elsewhere = {"lines", *by_pandoc}  # see documents/test_text_lines.py, test_pandoc.py
    assert {each.format for each in SAMPLES} | elsewhere == {*FORMATS}, "add a Sample to tests/readers/samples.py"
    assert all(FORMATS[each.format].paper or each.format == "pubmed" for each in SAMPLES if not each.unused)


NOTES = {
    "a.txt": b"Bees",
    "book.mobi": b"x",
    "old.doc": b"x",
    "report.odg": b"x",
    "b.csv": b"text\nx\n",
    "c.csv": b"",
    "d": b"",
}


def test_the_files_of_a_folder_that_are_left_out_are_counted(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    """A file of labels beside a text belongs to it, and hidden files are nobody's."""
    for name, content in (NOTES | {"a.key": b"bees", "e/.hidden.odg": b"x", "e/f.ODG": b"x"}).items():
        written(tmp_path, content, name)
    [document] = read(tmp_path)
    assert document.labels == ("bees",)
    left_out = "without suffix 1, .csv 2 (name them), .doc 1, .mobi 1, .odg 2"
    assert caplog.messages == [f"8 files: 1 read; 7 left out: {left_out}"]


def test_a_folder_of_which_everything_is_read_is_counted_as_information(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    for name in ("a.txt", "b/c.md"):
        written(tmp_path, b"Bees", name)
    read(tmp_path)
    assert caplog.messages == []
    caplog.set_level(logging.INFO)
    read(tmp_path)
    assert caplog.messages == ["2 files: 2 read"]
