"""Taggers that earlier releases saved still load, and answer as they did."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest
from tests.saved_taggers import ASKED, FOLDER, PRECISION, answers, cuts

import tagwright
from tagwright.core.atomic import check_replaceable, delete
from tagwright.tagger import KIND, Tagger

RELEASES = sorted(FOLDER.glob("*.zip"))


@pytest.fixture(scope="module", params=RELEASES, ids=lambda archive: archive.stem)
def release(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """The folder of a release's taggers, and the file of their answers."""
    folder = tmp_path_factory.mktemp("release")
    shutil.unpack_archive(request.param, folder)
    return folder, request.param.with_suffix(".json")


def test_taggers_of_an_earlier_release_answer_as_they_did(release: tuple[Path, Path]) -> None:
    folder, file = release
    then = json.loads(file.read_text(encoding="utf-8"))
    assert {"auto", "bert", "names", "static", "svm"} <= then["answers"].keys()
    found = [
        (answers(tagwright.load(folder / name, verify=True), then["asked"]), then["answers"][name])
        for name in then["answers"]
    ]
    for now, before in (pair for each in found for pair in zip(*each, strict=True)):
        assert [label for label, _, _ in now] == [label for label, _, _ in before]
        for (_, score, confidence), (_, old_score, old_confidence) in zip(now, before, strict=True):
            assert score == pytest.approx(old_score, rel=PRECISION, abs=PRECISION)
            assert confidence == pytest.approx(old_confidence, abs=PRECISION)


def test_they_say_as_they_did_that_no_label_fits_and_cut_by_the_same_thresholds(release: tuple[Path, Path]) -> None:
    folder, file = release
    then = json.loads(file.read_text(encoding="utf-8"))
    for name in then["answers"]:
        found = cuts(tagwright.load(folder / name), then["asked"])
        before = then["cuts"][name]
        assert [kept for _, kept in found] == [kept for _, kept in before]
        assert [none for none, _ in found] == pytest.approx([none for none, _ in before], abs=PRECISION)


def test_they_answer_alike_when_they_are_saved_again(release: tuple[Path, Path], tmp_path: Path) -> None:
    for folder in sorted(release[0].iterdir()):
        tagger = tagwright.load(folder)
        tagger.save(tmp_path / folder.name)
        assert answers(Tagger.load(tmp_path / folder.name), ASKED) == answers(tagger, ASKED)


def test_they_are_replaced_and_deleted_when_they_are_whole(release: tuple[Path, Path], tmp_path: Path) -> None:
    for folder in sorted(release[0].iterdir()):
        place = tmp_path / folder.name
        shutil.copytree(folder, place)
        (place / "notes.md").write_text("mine")
        with pytest.raises(tagwright.TagwrightError, match=r"notes\.md: is no part of the saved tagger"):
            check_replaceable(place, KIND)
        (place / "notes.md").unlink()
        check_replaceable(place, KIND)
        delete(place)
    assert not list(tmp_path.iterdir())
