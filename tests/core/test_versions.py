"""Versions of a saved object: which one is in use, before and after every change, and after kills."""

from __future__ import annotations

import json
from contextlib import AbstractContextManager
from pathlib import Path

import pytest
from tests.boxes import number

from tagwright.core.atomic import OccupiedError
from tagwright.core.saved import write_manifest
from tagwright.core.versions import Versions, in_use
from tagwright.errors import ConfigError, ModelError, TagwrightError


def add(versions: Versions, value: int) -> str:
    return versions.add(lambda folder, _: write_manifest(folder, "box", {"number": value}), "box").name


def filled(folder: Path, count: int) -> Versions:
    versions = Versions(folder)
    assert [add(versions, value) for value in range(1, count + 1)] == [f"{n:04}" for n in range(1, count + 1)]
    return versions


def test_the_first_version_is_in_use_and_later_ones_wait_to_be_promoted(tmp_path: Path) -> None:
    versions = filled(tmp_path / "m", 2)
    assert in_use(tmp_path / "m") == tmp_path / "m" / "versions" / "0001"
    assert versions.promote(2) == in_use(tmp_path / "m")
    assert number(in_use(tmp_path / "m")) == 2
    assert not any(path.is_symlink() for path in (tmp_path / "m").rglob("*"))


def test_any_other_folder_is_its_own_version(tmp_path: Path) -> None:
    assert in_use(tmp_path) == tmp_path
    assert in_use(tmp_path / "none") == tmp_path / "none"


def test_rollback_goes_back_through_the_versions_that_were_in_use(tmp_path: Path) -> None:
    versions = filled(tmp_path / "m", 3)
    for given in ("3", "0003", 2):  # promoting what is in use changes nothing
        versions.promote(given)
    assert versions.used == ["0001", "0003", "0002"]
    assert [versions.rollback().name, versions.rollback().name] == ["0003", "0001"]
    with pytest.raises(ConfigError, match="no version was in use before 0001"):
        versions.rollback()
    assert versions.current.name == "0001"


def test_prune_keeps_the_newest_the_one_in_use_and_the_one_before(tmp_path: Path) -> None:
    versions = filled(tmp_path / "m", 6)
    for given in (4, 2, 3):
        versions.promote(given)
    assert versions.prune(1) == ["0001", "0004", "0005"]
    assert versions.names == ["0002", "0003", "0006"]
    assert versions.used == ["0002", "0003"]
    assert versions.rollback().name == "0002"
    with pytest.raises(ConfigError, match="keep is 0, expected 1 or more"):
        versions.prune(0)


@pytest.mark.parametrize("name", ["notes.md", "reviews.sqlite"])
def test_prune_removes_nothing_where_a_version_holds_a_file_of_somebody_else(tmp_path: Path, name: str) -> None:
    versions = filled(tmp_path / "m", 5)
    versions.promote(5)
    mine = tmp_path / "m" / "versions" / "0002" / name  # 0001 and 0005 are or were in use
    mine.write_text("mine")
    with pytest.raises(TagwrightError, match=rf"{name}: is no part of the saved box, with which it would be deleted"):
        versions.prune(1)
    assert versions.names == ["0001", "0002", "0003", "0004", "0005"]
    assert mine.read_text() == "mine"


def test_a_version_takes_the_place_only_of_the_one_that_it_was_made_from(tmp_path: Path) -> None:
    versions = filled(tmp_path / "m", 2)
    versions.promote(2)
    with pytest.raises(OccupiedError, match="m: another version than 0001 was promoted meanwhile"):
        versions.add(write_box, "box", after="0001")
    assert versions.names == ["0001", "0002"]
    assert versions.add(write_box, "box", after="0002").name == "0003" == versions.current.name


def test_a_version_that_is_removed_before_it_is_promoted_is_not_promoted(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    versions = filled(tmp_path / "m", 4)
    versions.promote(2)
    changing = Versions.changing

    def late(self: Versions) -> AbstractContextManager[list[str]]:
        with monkeypatch.context() as patch:
            patch.setattr(Versions, "changing", changing)
            self.prune(1)
        return changing(self)

    monkeypatch.setattr(Versions, "changing", late)
    with pytest.raises(ConfigError, match='no version "0003"; there are 0001, 0002, 0004'):
        versions.promote(3)
    assert versions.current.name == "0002"


def write_box(folder: Path, _: str) -> None:
    write_manifest(folder, "box", {"number": 9})


def test_numbers_are_not_given_twice(tmp_path: Path) -> None:
    versions = filled(tmp_path / "m", 3)
    versions.promote(3)
    versions.promote(1)
    for file in (tmp_path / "m" / "versions" / "0003").iterdir():
        file.unlink()
    (tmp_path / "m" / "versions" / "0003").rmdir()
    assert add(versions, 4) in ("0003", "0004")
    assert versions.used[-1] == "0001"


def test_what_is_wrong_is_said(tmp_path: Path) -> None:
    versions = filled(tmp_path / "m", 1)
    with pytest.raises(ConfigError, match=r'no version "7"; there are 0001'):
        versions.promote(7)
    (tmp_path / "other").mkdir()
    (tmp_path / "other" / "notes.txt").touch()
    with pytest.raises(TagwrightError, match=r"holds notes\.txt, expected versions of a model"):
        add(Versions(tmp_path / "other"), 1)
    for change in (Versions(tmp_path / "none").rollback, lambda: Versions(tmp_path / "none").prune(1)):
        with pytest.raises(ModelError, match="no versions of a model here"):
            change()
    assert not (tmp_path / "none").exists()


@pytest.mark.parametrize("content", ["", "[]", '{"kind": "versions", "used": []}', '{"kind": "x", "used": ["0001"]}'])
def test_a_damaged_file_is_mended_by_promoting_a_version(tmp_path: Path, content: str) -> None:
    versions = filled(tmp_path / "m", 2)
    (tmp_path / "m" / "current.json").write_text(content)
    with pytest.raises(ModelError, match=r"current\.json: damaged .*; remove it, and promote a version"):
        in_use(tmp_path / "m")
    (tmp_path / "m" / "current.json").unlink()
    assert versions.promote(2).name == in_use(tmp_path / "m").name == "0002"


def test_a_missing_version_in_use_is_not_replaced_silently(tmp_path: Path) -> None:
    versions = filled(tmp_path / "m", 2)
    versions.promote(2)
    (tmp_path / "m" / "versions" / "0002").rename(tmp_path / "elsewhere")
    with pytest.raises(ModelError, match="is in use and missing; promote another version"):
        in_use(tmp_path / "m")


def test_the_file_is_plain_json_for_other_programs(tmp_path: Path) -> None:
    filled(tmp_path / "m", 2).promote(2)
    content = json.loads((tmp_path / "m" / "current.json").read_text())
    assert content == {"tagwright": 1, "kind": "versions", "used": ["0001", "0002"]}
