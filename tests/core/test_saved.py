"""Saving: atomic, recoverable, refusing what is not ours."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.boxes import names, number, save

from tagwright.core import saved
from tagwright.core.atomic import check_replaceable, lies_in
from tagwright.core.saved import (
    ARRAY,
    FOLDER,
    SavedState,
    check_files,
    digests,
    read_manifest,
    read_state,
    saved_folder,
    write_state,
)
from tagwright.errors import ConfigError, ModelError, TagwrightError


def test_reading_does_not_touch_a_folder_that_is_there(tmp_path: Path) -> None:
    save(tmp_path / "box", 7)
    save(tmp_path / ".box.previous", 6)
    assert read_manifest(tmp_path / "box", "box")["number"] == 7


@pytest.mark.parametrize(
    "manifest",
    [
        '{"name": "an app", "version": "1"}',
        '{"name": "an app", "kind": "box"}',
        '{"tagwright": 4, "kind": ["box"]}',
        '{"tagwright": "4", "kind": "box"}',
        '["box"]',
        "no JSON",
    ],
)
def test_a_folder_with_a_manifest_that_is_not_ours_is_not_replaced(tmp_path: Path, manifest: str) -> None:
    (tmp_path / "app").mkdir()
    (tmp_path / "app" / "manifest.json").write_text(manifest)
    (tmp_path / "app" / "app.js").write_text("code")
    with pytest.raises(TagwrightError, match="app: exists and is not a saved box"):
        save(tmp_path / "app", 7)
    with pytest.raises(TagwrightError, match="app: exists and is not a saved box"):
        check_replaceable(tmp_path / "app", "box")
    assert names(tmp_path / "app") == ["app.js", "manifest.json"]


def test_a_folder_of_ours_of_another_kind_is_not_replaced(tmp_path: Path) -> None:
    save(tmp_path / "box", 7)
    with pytest.raises(TagwrightError, match=r"box: exists and is not a saved tagger \(box\); choose"):
        check_replaceable(tmp_path / "box", "tagger")
    assert number(tmp_path / "box") == 7


def test_a_path_lies_in_a_folder_wherever_links_lead(tmp_path: Path) -> None:
    (tmp_path / "box").mkdir()
    (tmp_path / "link").symlink_to(tmp_path / "box")
    box = tmp_path / "box"
    inside = [box, box / "labels.txt", tmp_path / "link" / "*.jsonl", tmp_path / "other" / ".." / "box" / "labels.txt"]
    assert [lies_in(path, box) for path in inside] == [True] * 4
    assert [lies_in(path, box) for path in (tmp_path, tmp_path / "box2", box / "..", "-")] == [False] * 4


def test_an_old_folder_of_something_else_is_not_taken_for_that_of_an_interrupted_save(tmp_path: Path) -> None:
    (tmp_path / ".box.previous").mkdir()
    (tmp_path / ".box.previous" / "manifest.json").write_text('{"name": "an app"}')
    check_replaceable(tmp_path / "box", "box")
    assert names(tmp_path) == [".box.previous"]


def test_an_empty_folder_may_be_saved_to(tmp_path: Path) -> None:
    (tmp_path / "box").mkdir()
    save(tmp_path / "box", 7)
    assert read_manifest(tmp_path / "box", "box")["number"] == 7


@pytest.mark.parametrize(
    ("content", "problem"),
    [
        ("{", "damaged"),
        ("[]", "holds something else, expected a saved box"),
        ('{"kind": "jar"}', 'holds "jar", expected a saved box'),
        ('{"kind": "box", "tagwright": 99}', "format 99, this Tagwright reads 1"),
    ],
)
def test_a_manifest_that_is_not_the_one_expected_is_a_model_error(tmp_path: Path, content: str, problem: str) -> None:
    (tmp_path / "manifest.json").write_text(content)
    with pytest.raises(ModelError, match=problem):
        read_manifest(tmp_path, "box")


def test_a_missing_manifest_and_missing_or_damaged_arrays_are_model_errors(tmp_path: Path) -> None:
    with pytest.raises(ModelError, match="no saved box here"):
        read_manifest(tmp_path, "box")
    state = SavedState(tmp_path, {"values": ARRAY})
    with pytest.raises(ModelError, match="is damaged"):
        state["values"]
    (tmp_path / "values.npy").write_bytes(b"\x93NUMPY\x01\x00")
    with pytest.raises(ModelError, match="is damaged"):
        state["values"]


def test_an_array_of_objects_is_neither_written_nor_read(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="bject arrays"):
        write_state(tmp_path, "box", {"values": np.array([{}])})
    np.save(tmp_path / "values.npy", np.array([{}]), allow_pickle=True)
    with pytest.raises(ModelError, match="is damaged"):
        SavedState(tmp_path, {"values": ARRAY})["values"]


@dataclass(frozen=True)
class Options:
    size: int
    names: tuple[str, ...] = ()


class Part:
    def state(self) -> dict[str, Any]:
        return {"options": Options(3, ("a",)), "matrix": np.eye(2)}


class Place:
    def save(self, folder: Path) -> None:
        (folder / "own.txt").write_text("own")


def test_a_state_comes_back_as_it_was(tmp_path: Path) -> None:
    parts = {"part": Part(), "list": [Part(), {"place": Place()}, None], "plain": {"x": [1, {"file": "x"}]}}
    write_state(tmp_path, "box", parts)
    state = read_state(tmp_path, "box")
    assert state["part"]["options"] == {"size": 3, "names": ["a"]}
    assert state["part"]["matrix"].tolist() == state["list"][0]["matrix"].tolist() == [[1, 0], [0, 1]]
    assert (state["list"][1]["place"] / "own.txt").read_text() == "own"
    assert (state["list"][2], state["plain"]) == (None, {"x": [1, {"file": "x"}]})
    files = {path.relative_to(tmp_path).as_posix() for path in tmp_path.rglob("*") if path.is_file()}
    assert files == {"manifest.json", "part/matrix.npy", "list/0/matrix.npy", "list/1/place/own.txt"}


@pytest.mark.parametrize("name", ["../other", "..", "/etc", "a/b", "con"])
def test_a_state_leads_to_no_place_but_its_folder(name: str, tmp_path: Path) -> None:
    for value in (ARRAY, FOLDER, {"x": FOLDER}, [ARRAY]):
        with pytest.raises(ModelError, match="is no name of a file"):
            SavedState(tmp_path, {name: value})[name]
    with pytest.raises(ConfigError, match="expected a folder of its own"):
        saved_folder({"encoder": "/etc"}, "encoder")


def test_a_change_in_small_files_is_found_at_once_and_one_in_large_files_when_asked_for(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "small").write_bytes(b"12")
    (tmp_path / "large").write_bytes(b"12345678")
    monkeypatch.setattr(saved, "CHECKED", 4)
    known = digests(tmp_path)
    (tmp_path / "large").write_bytes(b"12345679")
    check_files(tmp_path, known)
    with pytest.raises(ModelError, match="the checksum of large differs"):
        check_files(tmp_path, known, whole=True)
    (tmp_path / "small").write_bytes(b"13")
    with pytest.raises(ModelError, match="the checksum of small differs"):
        check_files(tmp_path, known)


def test_a_file_that_is_missing_is_named_with_its_folder(tmp_path: Path) -> None:
    (tmp_path / "items").mkdir()
    (tmp_path / "items" / "data.npy").write_bytes(b"12")
    known = digests(tmp_path)
    (tmp_path / "items" / "data.npy").unlink()
    with pytest.raises(ModelError) as raised:
        check_files(tmp_path, known)
    assert str(raised.value) == f"{tmp_path}: is damaged (items/data.npy is missing); save the tagger again"


def test_a_large_file_that_is_cut_off_is_found_by_its_size(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "large").write_bytes(b"12345678")
    monkeypatch.setattr(saved, "CHECKED", 4)
    known = digests(tmp_path)
    (tmp_path / "large").write_bytes(b"1234567")
    with pytest.raises(ModelError, match="the size of large differs"):
        check_files(tmp_path, known)


@pytest.mark.parametrize("known", [["x"], {"x": 1}, {"x": [1]}, {"x": [1, "y"], "z": [None, 2]}])
def test_a_damaged_list_of_files_is_an_error(tmp_path: Path, known: object) -> None:
    with pytest.raises(ModelError, match="its manifest lists no files"):
        check_files(tmp_path, known)


def test_writing_to_an_array_changes_no_file(tmp_path: Path) -> None:
    write_state(tmp_path, "box", {"values": np.arange(3)})
    state = read_state(tmp_path, "box")
    state["values"][0] = 7
    assert state["values"].tolist() == [0, 1, 2]
