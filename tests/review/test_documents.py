from __future__ import annotations

import io
import os
import re
import sqlite3
import time
import zipfile
from contextlib import closing
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tagwright.errors import InputError
from tagwright.readers.documents.files import open_sources
from tagwright.readers.documents.jsonl import write_jsonl
from tagwright.review.documents import Entry, ReviewedDocuments
from tagwright.review.file import ReviewFile
from tagwright.server.request_bodies import read_upload
from tagwright.text.words import clean
from tagwright.types import Document, Section

PAPER = Document("b", "Bees", "They fly.", (Section("Wings", 2, ("Four.", "Thin.")),), {"author": ("Ann",)}, ("x",))


def test_a_document_comes_back_as_it_went_in_also_after_a_restart(tmp_path: Path) -> None:
    file = ReviewFile(tmp_path / "reviews.sqlite")
    assert ReviewedDocuments(file).add([Document("a", "Ants"), PAPER]) == (["a", "b"], 2, [])
    file.close()
    again = ReviewedDocuments(ReviewFile(tmp_path / "reviews.sqlite"))
    assert again[2] == PAPER
    assert again.entries() == [Entry(1, "a", "Ants"), Entry(2, "b", "Bees")]
    with pytest.raises(KeyError):
        again[3]


def test_an_id_with_another_text_is_another_document(tmp_path: Path) -> None:
    documents = ReviewedDocuments(ReviewFile(tmp_path / "reviews.sqlite"))
    documents.add([PAPER])
    wasps, ants = Document("b", "Wasps"), Document("b", "Ants")
    for new in (3, 0):  # added again, nothing changes
        ids, added, changed = documents.add([wasps, replace(wasps, title=" Wasps\n"), ants, PAPER, Document("b-", "x")])
        assert (added, changed) == (new, ["b"] if new else [])
        assert ids[0] == ids[1] != ids[2]
        assert all(re.fullmatch("b-[0-9a-f]{16}", id_) for id_ in ids[:3])
        assert ids[3:] == ["b", "b-"]
    texts = {entry.id: documents[entry.number].text for entry in documents.entries()}
    assert texts == {"b": PAPER.text, ids[0]: "Wasps", ids[2]: "Ants", "b-": "x"}
    assert [documents.find(each) for each in (PAPER, wasps, Document("b", "Bees"))] == ["b", ids[0], None]


def test_a_document_that_is_damaged_in_the_file_is_named(tmp_path: Path) -> None:
    file = ReviewFile(tmp_path / "reviews.sqlite")
    documents = ReviewedDocuments(file)
    documents.add([PAPER])
    with closing(sqlite3.connect(file.path)) as connection, connection:
        connection.execute("UPDATE documents SET content = '{'")
    with pytest.raises(InputError, match=r"reviews\.sqlite: document 1 is damaged"):
        documents[1]


TEXTS = st.text(st.sampled_from("xy \n\0\x85\u0301é"), max_size=4)


@given(st.lists(st.tuples(st.sampled_from(["a", "a-", "b"]), TEXTS), max_size=8))
def test_documents_are_told_apart_by_id_and_text_alone(given_: list[tuple[str, str]]) -> None:
    file = ReviewFile(":memory:")
    documents = [Document(id_, text) for id_, text in given_]
    stored = ReviewedDocuments(file)
    ids, *_ = stored.add(documents)
    cleaned = [(id_, " ".join(clean(text).split())) for id_, text in given_]
    assert len(set(ids)) == len(set(cleaned)) == len(stored)
    assert dict(zip(cleaned, ids, strict=True)) == dict(reversed([*zip(cleaned, ids, strict=True)]))
    assert stored.add(documents) == (ids, 0, [])
    file.close()


@pytest.mark.parametrize(
    ("name", "content", "expected"),
    [
        ("C:\\papers\\bees.html", b"<html><title>Bees</title><p>They fly.</p></html>", "Bees\nThey fly."),
        ("../../etc/bees.txt", b"Bees\nThey fly.", "Bees\nThey fly."),
        ("x.jsonl", b'{"id": "7", "title": "Bees", "text": "They fly."}\n', "Bees\nThey fly."),
    ],
)  # fmt: skip
def test_files_are_read_by_the_readers_of_their_formats(name: str, content: bytes, expected: str) -> None:
    (document,), _ = read_upload(name, content)
    assert document.text == expected
    assert document.id == "7" if name == "x.jsonl" else document.id.startswith(name.replace("\\", "/").split("/")[-1])


def bomb() -> bytes:
    """A docx whose text is 50 MB, of 50 kB."""
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("[Content_Types].xml", "<Types/>")
        archive.writestr("word/document.xml", "<w>" + "a" * 50_000_000 + "</w>")
    return buffer.getvalue()


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("a.pdf", b"%PDF-1.7\nbroken"),
        ("a.docx", bomb()),
        ("a.txt", b"Bees " * 1_100_000),
        ("", b"\x00\x01\x02"),
        ("a.jsonl", b'{"text": "a"}\n' * 1001),
    ],
)
def test_what_cannot_be_read_says_why_in_one_line_with_the_users_name_for_it(name: str, content: bytes) -> None:
    with pytest.raises(InputError) as raised:
        read_upload(name, content)
    assert str(raised.value).startswith(name or "upload")
    assert "\n" not in str(raised.value)
    assert "/tmp" not in str(raised.value)


def test_a_reader_that_never_ends_is_given_up_with_all_that_it_started(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """In place of Python, a shell that starts another process, and waits for it."""
    (tmp_path / "python").write_text(f"#!/bin/sh\nsleep 3600 & echo $! > {tmp_path}/started; wait\n")
    (tmp_path / "python").chmod(0o755)
    monkeypatch.setattr("sys.executable", str(tmp_path / "python"))
    with pytest.raises(InputError, match=r"a\.txt: takes more than 1 s to be read"):
        read_upload("a.txt", b"Bees", seconds=1)
    started = int((tmp_path / "started").read_text())
    with pytest.raises(ProcessLookupError):
        for _ in range(10_000):
            os.kill(started, 0)
            time.sleep(0.01)


def test_a_small_file_that_holds_very_much_is_given_up() -> None:
    content = b'{"text": "Bees"}\n' * 50
    with pytest.raises(InputError, match=r"a\.jsonl: holds more than 1,000 bytes of text; split it"):
        read_upload("a.jsonl", content, most=1000)


def test_documents_come_as_they_were_read(tmp_path: Path) -> None:
    """What the command prints loses nothing: sections of any level, metadata, labels, odd characters."""
    odd = Document("b\u202e", "Bees\t\u2028", "They \x1b fly.\nFar. \u0000", PAPER.sections, PAPER.metadata, ("x", "y"))
    papers = [PAPER, odd, Document("c", sections=(Section("", 3, ("",)), Section("A"), Section("B", 1000, ("a", "b"))))]
    write_jsonl(papers, tmp_path / "a.jsonl")
    direct = [document for _, each in open_sources(tmp_path / "a.jsonl") for _, document in each]
    assert read_upload("a.jsonl", (tmp_path / "a.jsonl").read_bytes()) == (direct, [])


def test_a_file_that_needs_too_much_memory_ends_its_own_reader_only(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.executable", "false")  # ends at once, as a process that was killed does
    with pytest.raises(InputError, match=r"a\.txt: cannot be read: the file crashed the reader"):
        read_upload("a.txt", b"Bees")
