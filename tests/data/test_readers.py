from __future__ import annotations

import gzip
import io
import json
import os
from pathlib import Path

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from tests.data.reading import outcome, read, refusal, same_folder, written

from tagwright.data.readers import READERS, Format, guess_format, read_filter
from tagwright.types import ConfigError, Document, InputError


def test_globs_are_sorted_and_sources_follow_each_other(tmp_path: Path) -> None:
    for name in ("b.jsonl", "a.jsonl", "c/d.jsonl"):
        written(tmp_path, json.dumps({"id": name, "title": "x"}), name)
    pattern = str(tmp_path / "**" / "*.jsonl")
    assert [document.id for document in read(tmp_path / "b.jsonl", pattern)] == [
        "b.jsonl",
        "a.jsonl",
        "b.jsonl",
        "c/d.jsonl",
    ]


def test_standard_input_is_json_lines_and_named_in_errors(monkeypatch: pytest.MonkeyPatch) -> None:
    class Stdin:
        buffer = io.BytesIO(b'{"id": "a", "title": "Bees"}\n{"id": "b", "title": 1, "labels": "x"}\n')

    monkeypatch.setattr("sys.stdin", Stdin)
    assert refusal("-").startswith('standard input:2: labels is "x", expected a list of label ids')


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
        (gzip.compress(b'{"id": 1}'), "jsonl"),
        (b"a\tb\n", "tsv"),
        (b"PAR1\x00", "parquet"),
        (b"ARROW1\x00", "arrow"),
    ],
)
def test_a_file_of_unknown_name_is_known_by_its_content(tmp_path: Path, content: bytes, expected: Format) -> None:
    assert guess_format(written(tmp_path, content, "documents.data")) == expected


def test_sources_that_are_not_there_are_refused(tmp_path: Path) -> None:
    written(tmp_path, "?", "some.data")
    (tmp_path / "folder").mkdir()
    assert refusal(tmp_path / "none.jsonl") == "none.jsonl: no such file or folder"
    assert refusal(tmp_path / "*.none") == "*.none: no file matches"
    assert refusal("a\0b") == "a\0b: no such file or folder"
    assert refusal(tmp_path / "some.data").startswith("some.data: is in no format that can be recognised; give")
    assert "holds no .txt or .md files" in str(refusal(tmp_path / "folder"))
    assert refusal().startswith("no documents given")


def test_a_format_there_is_not_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="there is no format 'xml' of documents; there are jsonl, annif"):
        read(written(tmp_path, "{}"), format="xml")  # type: ignore[arg-type]


@same_folder
@given(st.binary(max_size=200) | st.text(max_size=100).map(str.encode), st.sampled_from(sorted(READERS)), st.booleans())
@example(b'{"id": 1, "paragraphs": [{"section": []}]}', "futex", False)
@example(b'{"text": "x", "subjects": [1], "metadata": 3}', "annif", False)
@example(b'"a\x00', "csv", False)
@example(b"text\n\r", "csv", False)
def test_any_bytes_are_read_or_refused(tmp_path: Path, content: bytes, format: Format, packed: bool) -> None:  # noqa: A002
    path = written(tmp_path, gzip.compress(content) if packed else content, "x.gz" if packed else "x")
    result = outcome(path, format)
    assert result.startswith(str(path)) if isinstance(result, str) else result


def test_filter_pairs_are_numbers_from_the_file(tmp_path: Path) -> None:
    assert read_filter(written(tmp_path, "0 12\n3 4\n", "filter_labels_test.txt")) == [(0, 12), (3, 4)]
    with pytest.raises(InputError, match=r'filter_labels_test.txt:2: is "3 x", expected the positions'):
        read_filter(written(tmp_path, "0 12\n3 x\n", "filter_labels_test.txt"))
