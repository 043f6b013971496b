"""Taking the place of a file or folder: after kills, through links, on full disks, beside others."""

from __future__ import annotations

import errno
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from tests.boxes import names, number, save

from tagwright.core import atomic
from tagwright.core.atomic import check_replaceable, read_whole, replace_file, replace_folder
from tagwright.core.saved import read_manifest, read_state, write_manifest
from tagwright.errors import ModelError, TagwrightError


def test_the_temporary_of_a_living_writer_stays(tmp_path: Path) -> None:
    with replace_folder(tmp_path / "box", "box") as target:
        write_manifest(target, "box", {"number": 7})
        atomic.remove_leftovers(tmp_path)  # does not wait
        assert target.is_dir()
    assert number(tmp_path / "box") == 7


def test_what_only_looks_like_a_temporary_stays(tmp_path: Path) -> None:
    mine = [".box.original", ".box.tmp", ".box.tmp1234567g", ".box2.tmp01234567", "box.tmp01234567"]
    for name in mine:
        (tmp_path / name).mkdir()
    save(tmp_path / "box", 7)
    assert names(tmp_path) == sorted([*mine, "box"])


@pytest.mark.parametrize("link", ["box", "nowhere"])
def test_a_symbolic_link_stays_and_what_it_points_to_is_replaced(tmp_path: Path, link: str) -> None:
    (tmp_path / "disk").mkdir()
    target, path = tmp_path / "disk" / link, tmp_path / "link"
    if link == "box":
        save(target, 6)
    path.symlink_to(target, target_is_directory=True)
    for value in (7, 8):
        check_replaceable(path, "box")
        save(path, value)
        assert path.is_symlink()
        assert number(target) == number(path) == value
    assert names(tmp_path / "disk") == [link]
    target.rename(target.with_name(f".{link}.previous"))
    assert number(path) == 8


def test_a_symbolic_link_to_a_file_stays(tmp_path: Path) -> None:
    (tmp_path / "run").symlink_to("run.jsonl")
    for text in ("old", "new"):
        with replace_file(tmp_path / "run") as path:
            path.write_text(text)
        assert (tmp_path / "run").is_symlink()
        assert (tmp_path / "run.jsonl").read_text() == text


@pytest.mark.parametrize("mode", [0o600, 0o644, 0o666, 0o400])
def test_a_file_keeps_its_permissions_and_is_nobody_elses_meanwhile(tmp_path: Path, mode: int) -> None:
    path = tmp_path / "run.jsonl"
    path.write_text("old")
    path.chmod(mode)
    with replace_file(path) as target:
        target.write_text("new")
        assert target.stat().st_mode & 0o077 == 0
    assert path.read_text() == "new"
    assert path.stat().st_mode & 0o777 == mode


@pytest.mark.parametrize("mode", [0o700, 0o755, 0o777])
def test_a_folder_keeps_its_permissions(tmp_path: Path, mode: int) -> None:
    save(tmp_path / "box", 7)
    (tmp_path / "box").chmod(mode)
    save(tmp_path / "box", 8)
    assert number(tmp_path / "box") == 8
    assert (tmp_path / "box").stat().st_mode & 0o777 == mode


def test_a_new_file_and_a_new_folder_have_the_permissions_of_any_other(tmp_path: Path) -> None:
    (tmp_path / "other").touch()
    (tmp_path / "others").mkdir()
    with replace_file(tmp_path / "run.jsonl") as target:
        target.write_text("new")
    save(tmp_path / "box", 7)
    assert (tmp_path / "run.jsonl").stat().st_mode == (tmp_path / "other").stat().st_mode
    assert (tmp_path / "box").stat().st_mode == (tmp_path / "others").stat().st_mode


def safetensors_error() -> Exception:
    from safetensors import SafetensorError

    return SafetensorError("Error while serializing: I/O error: No space left on device (os error 28)")


@pytest.mark.parametrize(
    "make",
    [
        safetensors_error,
        lambda: RuntimeError("Failed to save model: No space left on device (os error 28)"),  # omikuji
        lambda: RuntimeError("Error in write_index: fwrite failed: No space left on device"),  # faiss
        lambda: OSError(errno.ENOSPC, "No space left on device"),
        lambda: shutil.Error([(name, f"out/{name}", f"[Errno 28] No space left on device: '{name}'") for name in "ab"]),
    ],
)
@pytest.mark.parametrize("replace", [partial(replace_folder, kind="box"), replace_file])
def test_a_full_disk_is_one_line_whichever_library_finds_out(
    tmp_path: Path, make: Callable[[], Exception], replace: Any
) -> None:
    (tmp_path / "box").touch() if replace is replace_file else save(tmp_path / "box", 7)
    with (
        pytest.raises(TagwrightError, match=r"box: cannot be written \(No space left on device\)$"),
        replace(tmp_path / "box"),
    ):
        raise make()
    assert names(tmp_path) == ["box"]


def test_the_folder_that_a_process_is_in_is_not_replaced(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(TagwrightError, match="cannot be replaced; name a folder in it"), replace_folder(Path(), "box"):
        raise AssertionError("nothing is begun")


def test_a_mistake_of_our_own_is_no_full_disk(tmp_path: Path) -> None:
    with pytest.raises(RuntimeError, match="a mistake"), replace_folder(tmp_path / "box", "box"):
        raise RuntimeError("a mistake")


WRITERS = """
import sys
import tempfile
from pathlib import Path
from tagwright.core.atomic import *
from tagwright.core.saved import *
for number in range(12):
    with replace_folder(Path(sys.argv[1]), "box") as target:
        for name in ("one", "two"):
            (target / name).mkdir()
            write_manifest(target / name, "box", {"number": f"{sys.argv[2]}{number}"})
        write_manifest(target, "box", {})
"""


def test_several_writers_at_once_all_succeed_and_a_reader_sees_one_whole_folder(tmp_path: Path) -> None:
    box = tmp_path / "box"
    with replace_folder(box, "box") as target:
        for name in ("one", "two"):
            (target / name).mkdir()
            write_manifest(target / name, "box", {"number": "first"})
        write_manifest(target, "box", {})

    def read() -> list[str]:
        return [read_manifest(part, "box").get("number", "") for part in (box, box / "one", box / "two")]

    children = [subprocess.Popen([sys.executable, "-c", WRITERS, str(box), name]) for name in "abc"]
    seen = list[list[str]]()
    while any(child.poll() is None for child in children):
        seen.append(read_whole(box, read))
    assert [child.wait() for child in children] == [0, 0, 0]
    assert all(one == two for _, one, two in seen)
    assert names(tmp_path) == ["box"]


def test_a_writer_does_not_wait_long(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(atomic, "PATIENCE", 0.0)
    said = "box: another process is writing there; try again when it is done"
    with replace_folder(tmp_path / "box", "box") as target:
        write_manifest(target, "box", {})
        with pytest.raises(TagwrightError, match=said):
            save(tmp_path / "box", 7)
    assert names(tmp_path) == ["box"]


def test_the_old_folder_is_put_back_after_a_second_rename_that_failed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    save(tmp_path / "box", 7)
    rename = atomic.rename

    def fails(source: Path, target: Path) -> None:
        if ".tmp" in source.name:
            raise OSError(errno.EIO, "Input/output error")
        rename(source, target)

    with monkeypatch.context() as patch:
        patch.setattr(atomic, "rename", fails)
        with pytest.raises(TagwrightError, match="Input/output error"):
            save(tmp_path / "box", 8)
    assert number(tmp_path / "box") == 7
    assert names(tmp_path) == ["box"]


def test_nothing_is_put_back_or_locked_where_nothing_can_be_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from filelock import FileLock

    def refused(lock: FileLock) -> None:
        raise PermissionError(errno.EACCES, "Permission denied")

    save(tmp_path / "box", 7)
    monkeypatch.setattr(FileLock, "acquire", refused)
    assert number(tmp_path / "box") == 7
    (tmp_path / "box").rename(tmp_path / ".box.previous")
    with pytest.raises(ModelError, match="no saved box here"):
        number(tmp_path / "box")
    with pytest.raises(TagwrightError, match=r"cannot be written \(Permission denied\)"):
        check_replaceable(tmp_path / "box", "box")
    assert read_state(tmp_path / ".box.previous", "box")["values"].tolist() == [7, 7, 7]


SCRATCH = """
import sys, tempfile, time
from tagwright.core.atomic import scratch_folder
tempfile.tempdir = sys.argv[1]
with scratch_folder() as folder:
    (folder / "documents.txt").touch()
    print(folder.name, flush=True)
    time.sleep(1000)
"""


def test_a_scratch_folder_is_removed_by_the_next_process_when_its_own_is_killed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    with subprocess.Popen([sys.executable, "-c", SCRATCH, str(tmp_path)], stdout=subprocess.PIPE, text=True) as killed:
        assert killed.stdout
        folder = tmp_path / killed.stdout.readline().strip()
        atomic.remove_abandoned()
        assert (folder / "documents.txt").exists()  # its process lives
        killed.kill()
    with atomic.scratch_folder() as own:
        assert [path for path in tmp_path.iterdir() if path.suffix == ".folder"] == [own]
    assert list(tmp_path.iterdir()) == []
