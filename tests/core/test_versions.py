"""Versions of a saved object: which one is in use, before and after every change, and after kills."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from tests.boxes import number

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


@pytest.mark.skipif(os.name != "posix", reason="fork and SIGKILL are for POSIX")
def test_a_kill_at_any_file_operation_leaves_the_version_in_use_whole(tmp_path: Path) -> None:
    """Every step of add, promote, rollback and prune is killed once; see `tests.kill_versions`."""
    done = subprocess.run(
        [sys.executable, "-m", "tests.kill_versions", str(tmp_path), "--steps"],
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout + done.stderr
    said = json.loads(done.stdout)
    assert said["damaged"] == []
    assert said["killed"] > 40
