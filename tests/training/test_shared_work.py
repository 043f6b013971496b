from __future__ import annotations

import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
import torch
from tests.papers.topics import DOCUMENTS, LABELS, encoders
from tests.training.shared_run import main
from tests.training.training_run import logged, run_comparably, state, step_comparably

from tagwright.core.steps import Steps
from tagwright.data.vocabulary import Vocabulary
from tagwright.stages.dense import DenseOptions
from tagwright.training.shared_work import all_gather, own_part, shared_dense, shared_labels, shared_run
from tagwright.types import Document, Label, Run

ROOT = Path(__file__).resolve().parents[2]


def test_shares_are_all_items_each_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("WORLD_SIZE", "3")
    for count in (0, 2, 7):
        shares = []
        labels = list[list[Label]]()
        for process in range(3):
            monkeypatch.setenv("RANK", str(process))
            shares += list(range(count))[own_part(count)]
            labels.append(shared_labels(LABELS[:2]))
        assert shares == list(range(count))
        assert labels == [[], [LABELS[0]], [LABELS[1]]]  # fewer than there are processes


def test_one_process_does_everything_itself() -> None:
    numbers = np.arange(6, dtype=np.int16).reshape(2, 3)
    assert all_gather(numbers) is numbers
    asked: list[int] = []

    def find(some: Sequence[Document]) -> Run:
        asked.append(len(some))
        return Run.from_rows([[1]] * len(some))

    assert len(shared_run(DOCUMENTS, find)) == 30
    assert len(shared_run([], find)) == 0
    assert asked == [30]


def test_many_labels_are_said_to_be_encoded_where_no_bar_shows_it(
    caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    one = SimpleNamespace(encode=lambda texts, **_: np.ones((len(texts), 2), np.float32))
    many = Vocabulary([Label(str(number), (f"n{number}",)) for number in range(1000)])
    with caplog.at_level("INFO"):
        shared_dense(many, one, DenseOptions())
        shared_dense(many[:999], one, DenseOptions())
        monkeypatch.setattr("sys.stderr.isatty", lambda: True)
        shared_dense(many, one, DenseOptions())
    assert caplog.messages == ["encoding 1,000 labels"]


@pytest.fixture(scope="module")
def encoder(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    return encoders(tmp_path_factory.mktemp("encoders"))


@pytest.fixture(scope="module")
def together(encoder: dict[str, str], tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder in which two processes have done all that `shared_run` does."""
    folder = tmp_path_factory.mktemp("together")
    program = [sys.executable, "-m", "tests.training.shared_run"]
    given = [str(folder), encoder["static"], encoder["transformer"]]
    done = subprocess.run([*program, *given], cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return folder


@pytest.mark.slow
@pytest.mark.usefixtures("one_thread")
def test_two_processes_share_the_work_and_both_have_what_one_has(
    encoder: dict[str, str], together: Path, tmp_path: Path
) -> None:
    main(tmp_path, encoder["static"])
    one, first, second = (np.load(file) for file in (tmp_path / "0.npz", together / "0.npz", together / "1.npz"))
    assert one["read"].tolist() == [document.id for document in DOCUMENTS]
    assert [*first["read"], *second["read"]] == one["read"].tolist()
    assert len(first["read"]) == 15
    assert one["texts"] == 2 * len(LABELS)  # a name and a text
    assert first["texts"] == second["texts"] == one["texts"] / 2
    for found in (first, second):
        assert found["none"].shape == (0, 3)
        assert found["uneven"].tolist() == [[1.5, 1.5]] * 2
        for name in ("indptr", "labels", "scores", "dense", "one_label"):
            np.testing.assert_array_equal(found[name], one[name], name)
        for name in ("trained", "described", "one_described"):
            np.testing.assert_allclose(found[name], one[name], atol=0.02, err_msg=name)


@pytest.mark.slow
def test_two_processes_leave_no_thread_that_outlives_python(together: Path) -> None:
    threads = [path.read_text() for path in together.glob("*.threads")]
    assert len(threads) == 2
    assert "gloo" not in "".join(threads)


@pytest.mark.slow
@pytest.mark.usefixtures("one_thread")
@pytest.mark.parametrize("kind", ["transformer", "static"])
def test_two_processes_learn_what_one_does(kind: str, encoder: dict[str, str], together: Path, tmp_path: Path) -> None:
    both = together / f"training-{Path(encoder[kind]).name}"
    run_comparably(encoder[kind], tmp_path)
    assert [Steps(output).configs()["."]["processes"] for output in (tmp_path, both)] == [1, 2]
    assert logged(both, "loss") == pytest.approx(logged(tmp_path, "loss"), abs=1e-3)
    one, two = state(tmp_path), state(both)
    # The same bias of all keys changes no attention: its gradient is a rounding error, of which Adam makes whole steps.
    for name in (name for name in one if "key.bias" not in name):
        assert torch.allclose(one[name], two[name], atol=0.01), name


@pytest.mark.slow
@pytest.mark.usefixtures("one_thread")
def test_loss_and_gradients_of_a_step_are_the_same_in_two_processes(encoder: dict[str, str], together: Path) -> None:
    one = step_comparably(encoder["transformer"])
    assert np.abs(one["padded"]).max() > 0.01
    np.testing.assert_allclose(one["packed"], one["padded"], rtol=1e-3, atol=1e-5)
    for rank in (0, 1):
        found = np.load(together / f"{rank}-step.npz")
        for name, expected in one.items():
            np.testing.assert_allclose(found[name], expected, rtol=1e-3, atol=1e-5, err_msg=name)
