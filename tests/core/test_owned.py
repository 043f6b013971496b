"""What may be replaced and deleted: temporaries and whole saved folders of ours, and never a file of somebody else."""

from __future__ import annotations

import ast
import json
import os
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path

import pytest
from tests.boxes import names, number, save
from tests.sources import modules

from tagwright.core.atomic import OccupiedError, check_replaceable, delete, replace_folder
from tagwright.core.saved import write_manifest
from tagwright.core.steps import open_steps
from tagwright.errors import TagwrightError

OF_OS = {"replace", "rename", "renames", "remove", "unlink", "rmdir", "removedirs"}
OF_SHUTIL = {"rmtree", "move"}
OF_PATH = {"unlink", "replace", "rename", "rmdir"}

OTHERS = {"encoders/graphs.py"}
"`replace` is a method of OpenVINO's nodes there."


def replacing_or_deleting(tree: ast.AST) -> Iterator[int]:
    """Lines that name a function which replaces or deletes: called, aliased, imported or passed on.

    A method is meant if it is not of a string: `text.replace(a, b)` and `_replace` have other arguments.
    """
    imports = [name for node in ast.walk(tree) if isinstance(node, ast.Import) for name in node.names]
    modules = {name.asname or name.name: name.name for name in imports}
    arguments = {id(call.func): (call.args, call.keywords) for call in ast.walk(tree) if isinstance(call, ast.Call)}
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and node.module in ("os", "shutil"):
            if {each.name for each in node.names} & (OF_OS | OF_SHUTIL):
                yield node.lineno
        elif isinstance(node, ast.Attribute):
            owner = node.value.id if isinstance(node.value, ast.Name) else ""
            owner = modules.get(owner, owner)
            args, keywords = arguments.get(id(node), (None, []))
            of_text = node.attr == "replace" and args is not None and (len(args) != 1 or keywords)
            if owner in ("os", "shutil"):
                if node.attr in OF_OS | OF_SHUTIL:
                    yield node.lineno
            elif node.attr in OF_PATH and not of_text and owner not in ("str", "dataclasses"):
                yield node.lineno


def test_nothing_but_one_module_replaces_or_deletes() -> None:
    found = {f"{path}:{line}" for path, tree in modules() for line in replacing_or_deleting(tree)}
    outside = sorted(each for each in found if not each.startswith("core/atomic.py:"))
    assert {each for each in outside if each.partition(":")[0] not in OTHERS} == set()
    assert len(outside) <= len(OTHERS)
    assert len(found) >= 4  # rename, unlink, rmtree and rmdir are found where they are


@pytest.mark.parametrize("name", ["notes.md", "mine/notes.md", "mine/manifest.json", "reviews.sqlite"])
def test_a_file_of_somebody_else_stops_every_deletion_and_replacement(tmp_path: Path, name: str) -> None:
    box = tmp_path / "box"
    save(box, 7)
    mine = box / name
    mine.parent.mkdir(exist_ok=True)
    mine.write_text('{"name": "mine"}')
    changes: list[Callable[[], object]] = [
        partial(delete, box), partial(save, box, 8), partial(check_replaceable, box, "box"),
    ]  # fmt: skip
    for change in changes:
        with pytest.raises(OccupiedError, match=f"{mine.name}: is no part of the saved box, with which it would be"):
            change()
    assert mine.read_text() == '{"name": "mine"}'
    assert number(box) == 7
    mine.unlink()
    delete(box)
    assert names(tmp_path) == []


def test_a_file_that_is_put_there_while_it_is_saved_stays(tmp_path: Path) -> None:
    save(tmp_path / "box", 7)
    with (
        pytest.raises(OccupiedError, match=r"notes\.md: is no part"),
        replace_folder(tmp_path / "box", "box") as target,
    ):
        write_manifest(target, "box", {"number": 8})
        (tmp_path / "box" / "notes.md").write_text("mine")
    assert number(tmp_path / "box") == 7
    assert (tmp_path / "box" / "notes.md").read_text() == "mine"


def test_a_manifest_without_a_list_of_files_lets_nothing_go(tmp_path: Path) -> None:
    box = tmp_path / "box"
    box.mkdir()
    write_manifest(box, "box", {"number": 7})
    check_replaceable(box, "box")  # there is nothing else in it
    (box / "values.npy").write_bytes(b"1")
    with pytest.raises(OccupiedError, match=r"values\.npy: is no part"):
        delete(box)
    with pytest.raises(OccupiedError, match=r"values\.npy: is no part"):
        save(box, 8)
    assert names(box) == ["manifest.json", "values.npy"]


@pytest.mark.parametrize("content", ["empty manifest", "extra file", "no list"])
def test_an_old_folder_is_deleted_only_if_it_is_one_of_ours(tmp_path: Path, content: str) -> None:
    save(tmp_path / "box", 7)
    old = tmp_path / ".box.previous"
    save(old, 6)
    if content == "empty manifest":
        (old / "manifest.json").write_text("{}")
    elif content == "extra file":
        (old / "notes.md").write_text("mine")
    else:
        write_manifest(old, "box", {"number": 6})
    before = {path.name: path.read_bytes() for path in old.iterdir()}
    with pytest.raises(OccupiedError, match=r"\.box\.previous: is in the way, and not from Tagwright; move it"):
        save(tmp_path / "box", 8)
    assert {path.name: path.read_bytes() for path in old.iterdir()} == before
    assert number(tmp_path / "box") == 7


def test_of_several_folders_none_is_deleted_where_one_holds_a_file_of_somebody_else(tmp_path: Path) -> None:
    for name in ("one", "two"):
        save(tmp_path / name, 7)
    (tmp_path / "two" / "notes.md").write_text("mine")
    with pytest.raises(OccupiedError):
        delete(tmp_path / "one", tmp_path / "two")
    assert names(tmp_path) == ["one", "two"]


@pytest.mark.parametrize("name", ["letter.txt", "box", "mine/letter.txt", ".letter.tmp", "tagwright-scratch-1.folder"])
def test_only_temporaries_of_ours_are_deleted_by_name(tmp_path: Path, name: str) -> None:
    path = tmp_path / name
    path.parent.mkdir(exist_ok=True)
    path.write_text("Dear")
    with pytest.raises(OccupiedError, match="is no part of"):
        delete(path)
    assert path.read_text() == "Dear"


def test_a_link_is_never_followed_when_a_folder_is_deleted(tmp_path: Path) -> None:
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "letter.txt").write_text("Dear")
    save(tmp_path / "box", 7)
    (tmp_path / "box" / "link").symlink_to(tmp_path / "mine")
    with pytest.raises(OccupiedError, match="link: is no part of"):
        delete(tmp_path / "box")
    assert (tmp_path / "mine" / "letter.txt").read_text() == "Dear"


def test_the_folder_of_a_training_with_a_file_of_somebody_else_is_kept(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    folder = tmp_path / "M.training"
    with pytest.raises(TagwrightError, match="too few"), open_steps(tmp_path / "M", {"method": "rts"}, resume=False):
        (folder / "notes.md").write_text("mine")
        raise TagwrightError("too few")
    assert (folder / "notes.md").read_text() == "mine"
    assert "M.training: is kept" in caplog.text
    with (
        pytest.raises(OccupiedError, match=r"notes\.md: is no part of the saved unfinished training"),
        open_steps(tmp_path / "M", {"method": "rts"}, resume=False),
    ):
        pass


BUSY = OSError(16, "Device or resource busy")


def test_a_place_that_cannot_be_renamed_is_refused_before_any_work(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    box = tmp_path / "box"
    box.mkdir()
    rename = os.replace

    def mounted(source: Path, target: Path) -> None:
        if source == box:
            raise BUSY
        rename(source, target)

    monkeypatch.setattr(os, "replace", mounted)
    with pytest.raises(
        TagwrightError, match=r"box: cannot be written \(Device or resource busy, perhaps a mount point"
    ):
        check_replaceable(box, "box")
    assert names(tmp_path) == ["box"]


def test_what_is_tried_before_leaves_the_folder_as_it_was(tmp_path: Path) -> None:
    save(tmp_path / "box", 7)
    before = (tmp_path / "box").stat().st_ino, (tmp_path / "box" / "manifest.json").stat().st_mtime_ns
    check_replaceable(tmp_path / "box", "box")
    assert before == ((tmp_path / "box").stat().st_ino, (tmp_path / "box" / "manifest.json").stat().st_mtime_ns)
    assert names(tmp_path) == ["box"]
    check_replaceable(tmp_path / "none" / "box", "box")
    assert names(tmp_path) == ["box"]
    assert json.loads((tmp_path / "box" / "manifest.json").read_text())["number"] == 7
