"""One table of words for headers: every word, by every way that documents and vocabularies come in."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from tests.readers.reading import read, written

from tagwright.data.corpus import Corpus
from tagwright.data.records import LISTS
from tagwright.data.vocabulary import Vocabulary
from tagwright.errors import InputError
from tagwright.readers.headers import DOCUMENT, LABEL, MORE_LABELS
from tagwright.types import Document, Label

FILES = ["csv", "jsonl"]
MEMORY = ["records", "pandas"]


def file_of(folder: Path, records: list[dict[str, Any]], kind: str) -> Path:
    """The records as a file of this kind, with a header where it has one."""
    if kind == "jsonl":
        return written(folder, "\n".join(map(json.dumps, records)), "x.jsonl")
    rows = [list(records[0]), *(list(each.values()) for each in records)]
    return written(folder, "\n".join(",".join(row) for row in rows) + "\n", "x.csv")


def frame_of(records: list[dict[str, Any]], kind: str) -> Any:
    return records if kind == "records" else pytest.importorskip(kind).DataFrame(records)


def document(folder: Path, record: dict[str, Any], kind: str) -> Document:
    found = read(file_of(folder, [record], kind)) if kind in FILES else list(Corpus.of(frame_of([record], kind)))
    return found[0]


def label(folder: Path, record: dict[str, Any], kind: str) -> Label:
    found = (
        Vocabulary.read(file_of(folder, [record], kind)) if kind in FILES else Vocabulary.of(frame_of([record], kind))
    )
    return found[0]


@pytest.mark.parametrize("kind", [*FILES, *MEMORY])
def test_every_word_tells_the_part_of_a_document(tmp_path: Path, kind: str) -> None:
    parts = {**DOCUMENT, "labels": (*DOCUMENT["labels"], *MORE_LABELS)}
    for part, word in ((part, word) for part, words in parts.items() for word in words):
        for header in (word, word.title().replace(" ", "_"))[: 1 + (kind == "csv")]:
            other = "title" if part in ("labels", "id") else "id"
            value = ["y"] if part == "labels" and kind == "jsonl" else "y"
            found = document(tmp_path, {other: "x", header: value}, kind)
            got = {"title": found.title, "text": found.abstract, "abstract": found.abstract, "id": found.id}
            got["labels"] = "".join(found.labels)
            assert got[part] == "y", (part, header)


@pytest.mark.parametrize("kind", [*FILES, *MEMORY])
def test_every_word_tells_the_part_of_a_label(tmp_path: Path, kind: str) -> None:
    own = {"id": "1"} if kind == "jsonl" else {}
    for part, word in ((part, word) for part, words in LABEL.items() for word in words):
        if part == "replaced_by":
            continue  # of concepts out of use, which are left out
        if kind == "jsonl" and (word in ("title", "text") or part in ("related", "exact", "close")):
            continue  # these are documents, or lists in JSON
        others: dict[str, Any] = {"description": "d"} if part in ("name", "names") else {"name": "n"}
        value: Any = ["y"] if kind == "jsonl" and part in ("names", *LISTS, "broader", "translated") else "y"
        if part == "notation" and word != "notation":
            others = {"uri": "u", **others}
        found = label(tmp_path, {**({} if part == "id" or "uri" in others else own), **others, word: value}, kind)
        got: Any = found.name if part in ("name", "names") else getattr(found, part)
        assert got in ("y", ("y",)), (part, word)


def test_a_title_list_is_a_table_and_no_short_texts(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    """KBART: the titles of journals, their numbers and addresses."""
    rows = (
        "publication_title\tprint_identifier\tonline_identifier\ttitle_url\ttitle_id\n"
        "Journal of Bees\t1234-5678\t\thttp://e.org/x\tjb\n"
    )
    [found] = read(written(tmp_path, rows, "x.tsv"))
    assert (found.id, found.title, found.labels) == ("jb", "Journal of Bees", ())
    assert "not used: print_identifier, online_identifier, title_url (kept as metadata)" in caplog.text


def test_an_export_of_the_web_of_science_is_read(tmp_path: Path) -> None:
    rows = "PT\tAU\tTI\tSO\tDE\tID\tAB\tUT\t\nJ\tLow, A\tBees\tNature\twings\tFLIGHT\tThey fly.\tWOS:1\t\n"
    [found] = read(written(tmp_path, rows, "x.tsv"))
    assert (found.id, found.text, found.labels) == ("WOS:1", "Bees\nThey fly.", ())
    assert found.metadata["keywords plus"] == ("FLIGHT",)


@pytest.mark.parametrize(
    "rows",
    [
        "Journal\tISSN\tAddress\nBees\t1234-5678\thttp://e.org/x\nLaw\t1234-5679\thttp://e.org/y\n",
        "DE-1\tStaatsbibliothek zu Berlin\nDE-7\tUniversität Göttingen\nDE-38\tUniversität zu Köln\n",
    ],
)
def test_a_tsv_of_another_kind_is_refused_with_its_first_line(tmp_path: Path, rows: str) -> None:
    with pytest.raises(InputError, match=r"x.tsv:1: the first line is .*, expected names of columns, or short texts"):
        read(written(tmp_path, rows, "x.tsv"))


def test_a_value_that_is_an_object_is_named(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    read(file_of(tmp_path, [{"id": "1", "title": "Bees", "extra": {"a": {"b": 1}}}], "jsonl"))
    assert any("extra" in message for message in caplog.messages)


@pytest.mark.parametrize("kind", [*FILES, *MEMORY])
def test_no_reader_of_labels_leaves_out_a_column_in_silence(
    tmp_path: Path, kind: str, caplog: pytest.LogCaptureFixture
) -> None:
    found = label(tmp_path, {"id": "1", "name": "Bees", "isbn": "7", "publisher": "Low & Co"}, kind)
    assert found == Label("1", ("Bees",))
    [message] = caplog.messages
    assert "left out: " in message
    assert "isbn" in message
    assert "publisher" in message
