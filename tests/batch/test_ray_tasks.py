"""On Ray a batch writes the same bytes, even if a process is killed in the middle."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import time
from pathlib import Path
from unittest.mock import Mock

import pytest
from tests.batch.test_batch import command, contents, run

from tagwright.batch.shards import Shard
from tagwright.errors import ConfigError, TagwrightError

ray, psutil = pytest.importorskip("ray"), pytest.importorskip("psutil")


@pytest.mark.slow
@pytest.mark.skipif(os.name != "posix", reason="a process is killed, and its priority looked at")
def test_on_ray_it_writes_the_same_bytes_though_a_process_is_killed(
    documents: Path, model: Path, tmp_path: Path
) -> None:
    run(documents, model, tmp_path / "one", "--processes", "1")
    out, errors = tmp_path / "ray", tmp_path / "errors.txt"
    with errors.open("w") as file:
        started = subprocess.Popen(command(documents, model, out, "--ray", "local"), stderr=file)
        killed = False
        while started.poll() is None:
            if not killed and (out / "shard-000000.json").exists() and (process := _process(started.pid)):
                with contextlib.suppress(ProcessLookupError):  # it has just ended
                    assert os.getpriority(os.PRIO_PROCESS, process) == os.getpriority(os.PRIO_PROCESS, started.pid)
                    os.kill(process, signal.SIGKILL)
                    killed = True
            time.sleep(0.01)
    assert started.returncode == 3, errors.read_text()  # three documents are broken
    assert contents(out) == contents(tmp_path / "one")


def test_a_shard_over_which_processes_die_again_and_again_is_an_error(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from tagwright.batch import ray_tasks

    monkeypatch.setattr(ray_tasks.ray, "get", Mock(side_effect=ray.exceptions.WorkerCrashedError()))
    with pytest.raises(TagwrightError, match=r"^shard 7: 3 processes died \(.*\); start again"):
        ray_tasks._receive_shard(Shard(7, tmp_path / "7.jsonl"), "an answer")


def test_a_node_that_does_not_answer_is_given_up_after_seconds_or_what_the_user_says(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    from tagwright.batch import ray_tasks

    names = ("RAY_grpc_client_keepalive_time_ms", "RAY_grpc_client_keepalive_timeout_ms")
    monkeypatch.setattr(ray_tasks.ray, "init", Mock())
    monkeypatch.setenv(names[0], "1000")
    monkeypatch.setenv(names[1], "")  # so that what the code sets is undone in the end
    monkeypatch.delenv(names[1])
    ray_tasks._connect("10.0.0.1:6379")
    assert [os.environ[name] for name in names] == ["1000", "20000"]


def test_a_cluster_that_is_not_there_is_an_error_in_one_line() -> None:
    from tagwright.batch import ray_tasks

    with pytest.raises(ConfigError, match=r"^--ray nowhere:x: no cluster can be reached there \(.*\)$"):
        ray_tasks._connect("nowhere:x")


def _process(driver: int) -> int | None:
    """A process of Ray that runs a task of ours, below this driver."""
    with contextlib.suppress(psutil.Error):  # one has just ended
        below = psutil.Process(driver).children(recursive=True)
        return next((each.pid for each in below if "".join(each.cmdline()).startswith("ray::_tag")), None)
    return None
