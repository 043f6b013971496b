"""Shards hold so many documents of the input, those that cannot be read included."""

from __future__ import annotations

import gzip
import json
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import pytest
from tests.batch.conftest import BROKEN, NAMELESS
from tests.readers.reading import give_on_standard_input

from tagwright.batch.shards import Shard, Unread, cut_into_shards
from tagwright.data.document_file import DocumentFile
from tagwright.errors import InputError
from tagwright.readers.documents.files import open_sources


def shards(*sources: Path, size: int, wanted: Callable[[int], bool] = lambda _: True) -> list[Shard]:
    folder = sources[0].parent / "tagwright-scratch-0123456789abcdef.folder"
    folder.mkdir(exist_ok=True)
    unread = list[InputError]()
    return list(cut_into_shards(open_sources(*sources, collect=unread.append), size, wanted, folder, unread))


def ids(shard: Shard) -> list[str]:
    with closing(DocumentFile(shard.path)) as file:
        return list(file.ids())


def write(path: Path, *lines: str) -> Path:
    path.write_text("".join(line + "\n" for line in lines), encoding="utf-8")
    return path


def record(id_: str, title: str = "Bees") -> str:
    return json.dumps({"id": id_, "title": title})


def test_a_shard_is_so_many_lines_readable_or_not(documents: Path) -> None:
    found = shards(documents, size=22)
    assert [shard.size for shard in found] == [22, 22, 16]
    assert [shard.documents for shard in found] == [21, 21, 16]  # the repeated id is of the shard before
    assert ids(found[0]) == [f"d{i}" for i in range(1, 23) if i != BROKEN]
    assert [(each.line, each.file) for each in found[0].unread] == [(BROKEN, str(documents))]
    assert [each.line for each in found[1].unread] == [NAMELESS]


def test_shards_that_are_not_wanted_are_counted_and_not_written(documents: Path) -> None:
    found = shards(documents, size=20, wanted=lambda number: number == 1)
    assert [shard.path.exists() for shard in found] == [False, True, False]
    assert [shard.digest for shard in found] == [shard.digest for shard in shards(documents, size=20)]


def test_standard_input_that_is_the_same_gives_the_same_shards(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    found = list[Shard]()
    for _ in range(2):
        give_on_standard_input(monkeypatch, f"{record('a')}\nno JSON\n".encode())
        found += shards(Path("-"), size=10)
    assert found[0] == found[1]


def test_a_document_that_is_mended_or_in_another_language_changes_its_own_shard_only(documents: Path) -> None:
    before = [shard.digest for shard in shards(documents, size=20)]
    lines = documents.read_text(encoding="utf-8").splitlines()
    lines[BROKEN - 1] = record("mended")
    lines[-1] = lines[-1].replace("}", ', "language": "sv"}')
    after = [shard.digest for shard in shards(write(documents, *lines), size=20)]
    assert [a == b for a, b in zip(before, after, strict=True)] == [False, True, False]


def test_a_file_that_breaks_off_costs_its_rest_only(tmp_path: Path) -> None:
    whole = gzip.compress("".join(record(f"a{i}") + "\n" for i in range(2000)).encode())
    half = tmp_path / "half.jsonl.gz"
    half.write_bytes(whole[: len(whole) // 2])
    after = write(tmp_path / "whole.jsonl", record("last"))
    (only,) = shards(half, after, size=10_000)
    assert [each.file for each in only.unread] == [str(half)]
    assert ids(only)[0] == "a0"
    assert ids(only)[-1] == "last"


def test_a_paper_that_cannot_be_read_is_one_document_without_suggestions(tmp_path: Path) -> None:
    papers = tmp_path / "papers"
    papers.mkdir()
    write(papers / "a.txt", "Bees")
    (papers / "b.txt").write_bytes(b"caf\xe9")
    write(papers / "c.xml", "<article><front/>")
    (only,) = shards(papers, size=10)
    assert ids(only) == ["a.txt"]
    assert [each.file for each in only.unread] == [str(papers / "b.txt"), str(papers / "c.xml")]


@pytest.mark.parametrize(
    ("name", "content", "line"),
    [
        ("rows.csv", "id,title\na,Bees\nb,Rain,Rain\nc,Honey\n", 3),
        ("rows.tsv", "id\ttitle\na\tBees\nb\nc\tHoney\n", 3),
        ("rows.jsonl", '{"id": "a", "title": "Bees"}\n{"id": "b", "title": ["Bees"]}\n{"id": "c"}\n', 2),
    ],
)
def test_a_row_that_cannot_be_used_is_left_out(tmp_path: Path, name: str, content: str, line: int) -> None:
    (tmp_path / name).write_text(content, encoding="utf-8")
    (only,) = shards(tmp_path / name, size=10)
    assert ids(only) == ["a", "c"]
    assert [(each.file, each.line) for each in only.unread] == [(str(tmp_path / name), line)]


def test_bytes_that_are_not_utf8_and_lines_that_are_too_long_are_left_out(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TAGWRIGHT_MAX_DOCUMENT_SIZE", "200")
    lines = [record("a"), '{"id": "b", "title": "caf\xe9"}', record("c", "Bees " * 100), record("d")]
    (tmp_path / "mixed.jsonl").write_bytes("\n".join(lines).encode("latin-1"))
    (only,) = shards(tmp_path / "mixed.jsonl", size=10)
    assert ids(only) == ["a", "d"]
    assert [each.line for each in only.unread] == [2, 3]


def test_the_first_line_is_reported_once_though_formats_are_guessed_from_it(tmp_path: Path) -> None:
    (tmp_path / "first.json").write_bytes(b'{"id": "caf\xe9"}\n{"id": "a", "title": "Bees"}\n')
    (only,) = shards(tmp_path / "first.json", size=10)
    assert ids(only) == ["a"]
    problem = "byte 0xe9 is not UTF-8; save the file as UTF-8"
    assert only.unread == [Unread(problem, str(tmp_path / "first.json"), 1)]
