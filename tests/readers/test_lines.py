from __future__ import annotations

import gzip
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.readers.reading import same_folder

from tagwright.errors import InputError
from tagwright.readers.lines import (
    EncodingError,
    Place,
    csv_rows,
    json_lines,
    open_lines,
    open_text,
    texts_field,
    tsv_rows,
    write_json_lines,
)

place = Place("labels.jsonl", 7)


def written(folder: Path, content: bytes, name: str = "x.jsonl") -> Path:
    path = folder / name
    path.write_bytes(content)
    return path


def refusal(path: Path) -> str:
    with pytest.raises(InputError) as caught:
        list(json_lines(path))
    return str(caught.value)


def test_byte_order_mark_and_line_ends_of_any_system_are_removed(tmp_path: Path) -> None:
    path = written(tmp_path, b"\xef\xbb\xbfone\r\n\r\ntwo\n\xc3\xa9")
    assert list(open_lines(path)) == [(1, "one"), (2, ""), (3, "two"), (4, "é")]


def test_gzip_is_unpacked_whatever_the_file_is_called(tmp_path: Path) -> None:
    assert list(open_lines(written(tmp_path, gzip.compress(b"one\ntwo\n")))) == [(1, "one"), (2, "two")]


def test_a_missing_file_and_a_folder_are_named(tmp_path: Path) -> None:
    assert refusal(tmp_path / "none.jsonl") == f"{tmp_path}/none.jsonl: no such file"
    assert refusal(tmp_path) == f"{tmp_path}: is a folder, expected a file"


@pytest.mark.parametrize(
    "content", [gzip.compress(b"{}\n" * 9999, mtime=0)[:-12], b"\x1f\x8b\x08\x00garbage", b"not gzip"]
)
def test_broken_gzip_is_named(tmp_path: Path, content: bytes) -> None:
    assert "x.gz: is a broken gzip file" in refusal(written(tmp_path, content, "x.gz"))


@pytest.mark.parametrize("encoding", ["utf-8-sig", "utf-16", "utf-16-le", "utf-16-be", "utf-32"])
def test_the_first_bytes_tell_the_encoding(tmp_path: Path, encoding: str) -> None:
    text = '{"a": "漢é😀"}\r\n\n{"b": 2}\n'
    path = written(tmp_path, text.encode(encoding))
    assert list(json_lines(path)) == [(1, {"a": "漢é😀"}), (3, {"b": 2})]
    assert open_text(path) == '{"a": "漢é😀"}\n\n{"b": 2}'


def test_utf16_that_breaks_off_is_named(tmp_path: Path) -> None:
    assert refusal(written(tmp_path, '{"a": 1}'.encode("utf-16")[:-1])).endswith(
        "x.jsonl:1: byte 0x7d is not utf-16 (truncated data)"
    )


def test_one_bad_byte_of_a_text_is_repaired_and_said(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    path = written(tmp_path, b"Honey b\xe4es fly over the old town", "x.txt")
    assert open_text(path) == "Honey b\ufffdes fly over the old town"
    assert caplog.messages == [f"{path}: bytes that are not UTF-8, read as U+FFFD: 1"]


def test_another_encoding_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(EncodingError, match=r"byte 0xe4 is not UTF-8; save the file as UTF-8$"):
        open_text(written(tmp_path, b"B\xe4ren und K\xe4fer", "x.txt"))


def test_single_bad_bytes_among_many_letters_beyond_ascii_are_repaired(tmp_path: Path) -> None:
    text = ("Пчела летает " * 10).encode()
    assert open_text(written(tmp_path, text + b"\xff and \xff", "x.txt")).count("\ufffd") == 2


texts = st.text('aé漢😀\u2028 "\\\n\r\t', max_size=5)
records = st.dictionaries(texts, st.none() | st.integers() | texts | st.lists(texts, max_size=3), max_size=3)


@settings(same_folder, max_examples=30)
@given(st.lists(records, max_size=3))
def test_written_records_are_read_again(tmp_path: Path, records: list[dict[str, Any]]) -> None:
    write_json_lines(records, tmp_path / "x.jsonl")
    assert [record for _, record in json_lines(tmp_path / "x.jsonl")] == records


def test_tsv_rows_are_what_stands_between_tabs(tmp_path: Path) -> None:
    path = written(tmp_path, b'a\t"b\r\n \t\r\n\tc\t')
    assert list(tsv_rows(path)) == [(1, ["a", '"b']), (3, ["", "c", ""])]


@pytest.mark.parametrize("delimiter", [",", ";", "\t"])
def test_csv_rows_know_the_line_they_begin_on(tmp_path: Path, delimiter: str) -> None:
    content = f'id|text\r\n1|"a\r\n""b"" , ; c"\r\n|\r\n2|d\0|{"x" * 200_000}\r\n'.replace("|", delimiter)
    assert list(csv_rows(written(tmp_path, content.encode()))) == [
        (1, ["id", "text"]),
        (2, ["1", 'a\r\n"b" , ; c']),
        (5, ["2", "d ", "x" * 200_000]),
    ]


@pytest.mark.parametrize("content", [b'a,b\n"x', b'a,b\n"x"y,z'])
def test_quotes_out_of_place_are_named_with_their_line(tmp_path: Path, content: bytes) -> None:
    with pytest.raises(InputError, match=r"x.jsonl:2: is not CSV \("):
        list(csv_rows(written(tmp_path, content)))


def test_a_text_in_place_of_a_list_is_refused_with_the_list_to_write() -> None:
    with pytest.raises(InputError) as caught:
        texts_field({"names": "x, y"}, "names", place)
    assert str(caught.value) == 'labels.jsonl:7: names is "x, y", expected a list of names; write ["x, y"]'


def test_half_a_surrogate_pair_becomes_a_replacement_character(tmp_path: Path) -> None:
    path = written(tmp_path, rb'{"half": "a\ud83d", "whole": "\ud83d\ude00", "written out": "\\ud83d"}')
    assert list(json_lines(path)) == [(1, {"half": "a�", "whole": "😀", "written out": r"\ud83d"})]


def test_rows_that_an_unclosed_quote_swallows_are_not_lost_in_silence(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    (path := tmp_path / "q.csv").write_text('id,title,labels\n1,"Bees,a\n2,Wasps,b\n3,Ants 5",a\n4,"Two\nlines",b\n')
    assert [cells[0] for _, cells in csv_rows(path)] == ["id", "1", "4"]
    assert caplog.messages == [f"{path}:2: a quoted cell holds 2 further rows; is its quote not closed?"]
