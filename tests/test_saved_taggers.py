"""Taggers that earlier releases saved still load, and answer as they did."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest
from tests.saved_taggers import ASKED, FOLDER, PRECISION, answers, cuts

import tagwright
from tagwright.tagger import Tagger

RELEASES = sorted(FOLDER.glob("*.zip"))


@pytest.fixture(scope="module", params=RELEASES, ids=lambda archive: archive.stem)
def release(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """The folder of a release's taggers, and the file of their answers."""
    folder = tmp_path_factory.mktemp("release")
    shutil.unpack_archive(request.param, folder)
    return folder, request.param.with_suffix(".json")


def test_taggers_of_an_earlier_release_answer_as_they_did_and_when_they_are_saved_again(
    release: tuple[Path, Path], tmp_path: Path
) -> None:
    folder, file = release
    then = json.loads(file.read_text(encoding="utf-8"))
    assert {"auto", "bert", "names", "static", "svm"} <= then["answers"].keys()
    for name, old_answers in then["answers"].items():
        tagger, old_cuts = tagwright.load(folder / name, verify=True), then["cuts"][name]
        for now, before in zip(answers(tagger, then["asked"]), old_answers, strict=True):
            assert [label for label, _, _ in now] == [label for label, _, _ in before]
            for (_, score, confidence), (_, old_score, old_confidence) in zip(now, before, strict=True):
                assert score == pytest.approx(old_score, rel=PRECISION, abs=PRECISION)
                assert confidence == pytest.approx(old_confidence, abs=PRECISION)
        found = cuts(tagger, then["asked"])
        assert [kept for _, kept in found] == [kept for _, kept in old_cuts]
        assert [none for none, _ in found] == pytest.approx([none for none, _ in old_cuts], abs=PRECISION)
        tagger.save(tmp_path / name)
        assert answers(Tagger.load(tmp_path / name), ASKED) == answers(tagger, ASKED)
