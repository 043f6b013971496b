"""Whatever takes long in a training is stored as a step, and by nothing but the one store."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import pytest
from tests.papers.topics import DOCUMENTS, LABELS

from tagwright import auto
from tagwright.core.steps import NAME, State, Steps
from tagwright.papers import futex, svm
from tagwright.stages.names.exact_match import ExactMatch
from tagwright.tagger import Tagger

pytestmark = pytest.mark.usefixtures("quick_auto")


@dataclass(frozen=True)
class Counted(Steps):
    """Notes the steps that were asked for once, and those that were kept."""

    asked: list[str] = field(default_factory=list)
    kept: set[Path | None] = field(default_factory=set)

    def once(self, name: str, make: Callable[[], State], config: Mapping[str, Any] | None = None) -> State:
        self.asked.append(name)
        return super().once(name, make, config)

    def keep(self, state: State, config: Mapping[str, Any]) -> None:
        self.kept.add(self.folder)
        super().keep(state, config)


def rank(steps: Steps) -> None:
    exact_match = Tagger(LABELS, {"exact_match": ExactMatch(LABELS)})
    futex.pseudo_labels(exact_match, DOCUMENTS, futex.Config(), steps)


FOLDS = [f"fold-{number}/svm/0" for number in range(5)]


@pytest.mark.parametrize(
    ("train", "asked"),
    [
        (lambda steps: svm.fit(DOCUMENTS, LABELS, svm.Config(workers=1), steps), ["svm/0"]),
        (
            lambda steps: auto.fit(DOCUMENTS, LABELS, auto.Config(stages=("tfidf",), language="english"), steps),
            ["corpus", *FOLDS, "all/svm/0"],
        ),
        (rank, ["0"]),
    ],
    ids=["svm", "auto", "futex"],
)
def test_each_step_is_asked_for_once(train: Callable[[Steps], object], asked: list[str], tmp_path: Path) -> None:
    steps = Counted(tmp_path)
    train(steps)
    assert steps.asked == [name.rpartition("/")[2] for name in asked]
    assert steps.kept == {tmp_path / name for name in asked}
    before = {file: file.stat().st_mtime_ns for file in tmp_path.rglob("*") if file.is_file()}
    assert before.keys() == {tmp_path / name / NAME for name in asked}
    train(replace(steps, resume=True))
    assert {file: file.stat().st_mtime_ns for file in tmp_path.rglob(NAME)} == before
