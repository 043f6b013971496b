"""Saved corpora that are damaged, or that another program wrote: refused or cleaned, never taken as they are."""

from __future__ import annotations

import gc
import random
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from tests.readers.reading import outcome, read, refusal, written

from tagwright.data.corpus import Corpus
from tagwright.errors import InputError
from tagwright.readers.documents import arrow
from tagwright.types import Document, Section

BEES = {
    "id": "bees",
    "title": "Bees",
    "abstract": "They fly.",
    "sections": [{"heading": "Wings", "level": 1, "paragraphs": ["Four."]}],
    "metadata": [{"field": "author", "values": ["Ann"]}],
    "labels": ["D1"],
}


def by_pyarrow(folder: Path, *rows: dict[str, Any], compression: str | None = None) -> Path:
    """A file with the right columns, whatever they hold."""
    options = pa.ipc.IpcWriteOptions(compression=compression)
    path = folder / "x.arrow"
    with pa.OSFile(str(path), "wb") as sink, pa.ipc.new_file(sink, arrow.schema(), options=options) as writer:
        writer.write_table(pa.Table.from_pylist(list(rows), arrow.schema()))
    return path


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"id": None}, "x.arrow:2: id is null, expected a text"),
        ({"id": " "}, 'x.arrow:2: id is " ", expected a text'),
        ({"sections": [{"heading": "", "level": -1, "paragraphs": []}]}, "x.arrow:2: sections[0].level is -1"),
        ({"sections": [{"heading": "", "level": 1, "paragraphs": [None]}]}, "x.arrow:2: paragraphs holds null"),
        ({"sections": [None]}, "x.arrow: is a damaged saved corpus (null in place of a section)"),
        ({"labels": ["D1", None]}, "x.arrow:2: labels holds null, expected a list of label ids"),
        ({"metadata": [None]}, "x.arrow: is a damaged saved corpus (null in place of a field of metadata)"),
        ({"metadata": [{"field": None, "values": []}]}, "x.arrow: is a damaged saved corpus (null in place of a field"),
        ({"metadata": 2 * BEES["metadata"]}, "x.arrow: is a damaged saved corpus (a field of metadata twice)"),  # type: ignore[operator]
    ],
)
def test_what_no_other_reader_takes_is_refused_with_its_row(
    tmp_path: Path, change: dict[str, Any], message: str
) -> None:
    path = by_pyarrow(tmp_path, BEES, {**BEES, "id": "wasps", **change})
    assert refusal(path).startswith(message)
    with pytest.raises(InputError):
        Corpus.open(path)


def test_what_other_readers_clean_is_cleaned_and_not_opened(tmp_path: Path) -> None:
    strange = {
        **dict.fromkeys(("title", "abstract", "metadata", "labels")),
        "id": " ants\x1b[31m",
        "sections": [{"heading": None, "level": None, "paragraphs": ["cafe\u0301", ""]}],
    }
    path = by_pyarrow(tmp_path, BEES, strange)
    assert read(path)[1] == Document("ants [31m", sections=(Section("", 1, ("caf\xe9",)),))
    with pytest.raises(InputError, match=r"x\.arrow:2: is not as Corpus\.save writes it; Corpus\.read takes"):
        Corpus.open(path)


def test_a_null_that_owns_values_hides_them(tmp_path: Path) -> None:
    labels = pa.ListArray.from_arrays(
        [0, 1, 2], ["hidden", "D2"], arrow.schema().field("labels").type, mask=pa.array([True, False])
    )
    rows = pa.Table.from_pylist([BEES, {**BEES, "id": "wasps"}], arrow.schema())
    path = tmp_path / "x.arrow"
    with pa.OSFile(str(path), "wb") as sink, pa.ipc.new_file(sink, arrow.schema()) as writer:
        writer.write_table(rows.set_column(5, arrow.schema().field("labels"), labels))
    assert [document.labels for document in read(path)] == [(), ("D2",)]


def test_two_documents_of_one_id_are_not_opened(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"x\.arrow:3: row 1 has the same id"):
        Corpus.open(by_pyarrow(tmp_path, BEES, {**BEES, "id": "wasps"}, BEES))


@pytest.mark.parametrize("compression", ["lz4", "zstd"])
def test_a_compressed_file_is_refused_before_it_is_unpacked(tmp_path: Path, compression: str) -> None:
    path = by_pyarrow(tmp_path, {**BEES, "abstract": "a" * 10_000_000}, compression=compression)
    before = pa.total_allocated_bytes()
    assert refusal(path) == ("x.arrow: is no saved corpus, or a damaged one (it is compressed; write it uncompressed)")
    assert pa.total_allocated_bytes() - before < 1_000_000


@pytest.mark.filterwarnings("error")
def test_damage_anywhere_is_an_input_error_or_harmless(tmp_path: Path) -> None:
    path = tmp_path / "x.arrow"
    Corpus.of([Document(str(i), "Bees", "They fly.", labels=("D1",)) for i in range(20)]).save(path)
    whole, rng = path.read_bytes(), random.Random(1)
    refused = 0
    for _ in range(300):
        content = bytearray(whole)
        for _ in range(rng.choice((1, 4, 32))):
            content[rng.randrange(8, len(content))] = rng.randrange(256)
        found = outcome(written(tmp_path, bytes(content), "mutated.arrow"))
        refused += isinstance(found, str)
        assert not isinstance(found, str) or "mutated.arrow" in found
    gc.collect()
    assert refused > 0


def test_among_other_files_a_damaged_one_is_left_out(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    saved = by_pyarrow(tmp_path, BEES)
    damaged = written(tmp_path, saved.read_bytes().replace(b"They", b"\xff\xff\xff\xff"), "y.arrow")
    assert [document.id for document in read(saved, damaged)] == ["bees"]
    assert "y.arrow: is a damaged saved corpus (In column 2: Invalid: Invalid UTF8" in caplog.text
    with pytest.raises(InputError, match="is a damaged saved corpus"):
        Corpus.open(damaged)
