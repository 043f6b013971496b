"""A document above the limit is left out or refused in one line, and no more of it than the limit is ever held."""

from __future__ import annotations

import gzip
import io
import json
import re
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from tests.readers.documents.catalogue_records import marc_record, utf8
from tests.readers.reading import read, refusal, written
from tests.readers.samples import arrow

from tagwright.data.vocabulary import Vocabulary
from tagwright.errors import ConfigError, InputError
from tagwright.readers.limits import convert_errors, largest_document

LIMIT = 10_000
LONG = "bees " * 10_000
REMEDY = "is larger than 10,000 bytes, the limit for one document; to read it, raise TAGWRIGHT_MAX_DOCUMENT_SIZE"


@pytest.fixture(autouse=True)
def limit(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TAGWRIGHT_MAX_DOCUMENT_SIZE", str(LIMIT))


class Counting(gzip.GzipFile):
    """What is unpacked, and the most that is asked for at once."""

    unpacked = 0

    def readinto(self, buffer: Any) -> int:
        found = super().readinto(buffer)
        Counting.unpacked += found
        return found


@pytest.fixture
def counting(monkeypatch: pytest.MonkeyPatch) -> type[Counting]:
    monkeypatch.setattr("tagwright.readers.lines.gzip.GzipFile", Counting)
    monkeypatch.setattr(Counting, "unpacked", 0)
    return Counting


def record(id_: str, text: str) -> str:
    return json.dumps({"id": id_, "text": text}) + "\n"


def test_a_line_is_never_held_whole(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    longest = 0

    class Held(io.BufferedReader):
        def readline(self, size: int | None = -1, /) -> bytes:
            nonlocal longest
            found = super().readline(size)
            longest = max(longest, len(found))
            return found

    monkeypatch.setattr("tagwright.readers.lines.io.BufferedReader", Held)
    path = written(tmp_path, gzip.compress(record("1", 100 * LONG).encode()), "x.jsonl.gz")
    assert refusal(path).startswith("x.jsonl.gz: holds no documents")
    assert longest == max(LIMIT + 1, 1 << 16)


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("x.html.gz", f"<p>{LONG}"),
        ("x.txt.gz", LONG),
        ("y.txt.gz", "bees\n" * 10_000),
        ("x.md.gz", LONG),
        ("x.tex.gz", LONG),
        ("y.tex.gz", "bees\n" * 10_000),
        ("x.json.gz", json.dumps([{"id": "1", "text": LONG}], indent=1)),
    ],
)
def test_of_a_file_that_is_one_document_no_more_than_the_limit_is_unpacked(
    tmp_path: Path, counting: type[Counting], name: str, content: str
) -> None:
    path = written(tmp_path, gzip.compress(content.encode()), name)
    assert REMEDY in refusal(path)
    assert counting.unpacked <= 2 * LIMIT + 4 * io.DEFAULT_BUFFER_SIZE  # once to look at it, once to read it


def test_a_document_of_just_the_limit_is_read(tmp_path: Path) -> None:
    assert len(read(written(tmp_path, "a" * LIMIT, "x.txt"))[0].text) == LIMIT
    line = record("1", "a" * (LIMIT - len(record("1", "")) + 1))
    assert len(line) == LIMIT + 1  # with its end
    assert len(read(written(tmp_path, line))) == 1
    assert REMEDY in refusal(written(tmp_path, "a" * (LIMIT + 1), "x.txt"))


def test_rows_that_are_too_long_are_left_out_of_tsv_and_refused_in_csv(tmp_path: Path) -> None:
    assert [document.id for document in read(written(tmp_path, f"id\ttext\n1\ta\n2\t{LONG}\n3\tb\n", "x.tsv"))] == [
        "1",
        "3",
    ]
    assert refusal(written(tmp_path, f'id,text\n1,a\n2,"{LONG}"\n', "x.csv")).startswith(f"x.csv:3: {REMEDY}")
    open_quote = written(tmp_path, 'id,text\n1,a\n2,"' + "bees\n" * 10_000, "y.csv")
    assert refusal(open_quote) == f"y.csv:3: begins a row that {REMEDY}, or close the quote of its cell"


def test_an_article_that_is_too_long_is_left_out(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    article = "<article><front/><body><sec><p>{}</p></sec></body></article>\n"
    text = "<set>\n" + article.format("a") + article.format(LONG) + article.format("<b/>" * LIMIT) + article.format("c")
    found = read(written(tmp_path, text + "</set>", "x.nxml"))
    assert [document.text for document in found] == ["a", "c"]
    assert [message.rpartition("/")[2] for message in caplog.messages] == [
        f"x.nxml:3: left out: {REMEDY}",
        f"x.nxml:4: left out: {REMEDY}",
    ]


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("x.ris", "TY  - BOOK\n" + "AB  - bees\n" * 1000 + "ER  -\nTY  - BOOK\nTI  - Wasps\nER  -\n"),
        ("x.pica", "003@ $01\n" + "021A $aBees\n" * 1000 + "\n003@ $02\n021A $aWasps\n"),
        ("x.mrc", utf8(*(marc_record([("245", ("00", f"a{each}"))]) for each in ("Bees " * 3000, "Wasps")))),
        ("x.arrow", arrow(pa.table({"title": [LONG, "Wasps"]}))),
    ],
)
def test_a_record_that_is_too_long_is_left_out(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, name: str, content: str | bytes
) -> None:
    assert [document.title for document in read(written(tmp_path, content, name))] == ["Wasps"]
    assert [message.rpartition("/")[2] for message in caplog.messages] == [f"{name}:1: left out: {REMEDY}"]


@pytest.mark.parametrize("inside", ['<p a="{}"/>', "<!-- {} -->", "<?p {}?>"])
def test_a_tag_that_does_not_end_is_refused(tmp_path: Path, inside: str) -> None:
    path = written(tmp_path, "<article><front/>" + inside.format(20 * LONG) + "</article>", "x.nxml")
    assert refusal(path) == f"x.nxml:1: holds a tag or comment that {REMEDY}"


def test_a_label_above_the_limit_is_an_error_not_left_out(tmp_path: Path) -> None:
    path = written(tmp_path, json.dumps({"id": "1", "name": LONG}))
    with pytest.raises(InputError, match=re.escape(f"x.jsonl:1: {REMEDY}")):
        Vocabulary.read(path)


def test_a_limit_that_is_no_number_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("TAGWRIGHT_MAX_DOCUMENT_SIZE")
    assert largest_document() == 20_000_000
    for said in ("20 MB", "0"):
        monkeypatch.setenv("TAGWRIGHT_MAX_DOCUMENT_SIZE", said)
        with pytest.raises(ConfigError, match=f"TAGWRIGHT_MAX_DOCUMENT_SIZE is '{said}', expected a number of bytes"):
            largest_document()


@pytest.mark.parametrize(
    ("error", "said"),
    [
        (IndexError("list index out of range"), "is damaged"),
        (ValueError("invalid literal for int() with base 10: b'x'"), "is damaged"),
        (ValueError("no end of file marker"), "is damaged (no end of file marker)"),
    ],
)
def test_what_python_says_of_an_error_in_a_library_is_not_shown(error: Exception, said: str) -> None:
    with pytest.raises(InputError) as caught, convert_errors("is damaged", "pypdfium2", "a.pdf"):
        raise error
    assert caught.value.problem == said
