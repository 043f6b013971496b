from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
import urllib.request
from pathlib import Path

import pytest
from tests.server.conftest import word_tagger

from tagwright.errors import ConfigError
from tagwright.server.serving import ServerOptions, saved_models


def test_other_machines_need_a_token() -> None:
    with pytest.raises(ConfigError, match="can be reached by other machines: give a --token"):
        ServerOptions(host="0.0.0.0")
    assert ServerOptions(host="0.0.0.0", token="a long enough token").host == "0.0.0.0"
    for host in ("127.0.0.1", "localhost", "::1"):
        assert ServerOptions(host=host).token is None
    with pytest.raises(ConfigError, match="fewer than 16 characters"):
        ServerOptions(token="short")
    with pytest.raises(ConfigError, match="give --reviews"):
        ServerOptions(learn=True)


def test_models_are_called_by_their_folder_or_as_told(tmp_path: Path) -> None:
    word_tagger().save(tmp_path / "my tagger")
    folder = str(tmp_path / "my tagger")
    first, second = saved_models([folder, f"bees={folder}"])
    assert (first.id, second.id, first.language) == ("my-tagger", "bees", "en")
    assert first.modified is not None
    with pytest.raises(ConfigError, match='two models are called "bees"'):
        saved_models([f"bees={folder}", f"bees={folder}"])
    with pytest.raises(ConfigError, match="is called 'a b'"):
        saved_models([f"a b={folder}"])


def test_the_command_serves_until_it_is_told_to_end(tmp_path: Path) -> None:
    (tmp_path / "labels.txt").write_text("Bees\nTax law\n")
    words = ["--set", "stages=['exact_match']", "--set", "weights=[1.0]", "--language", "en"]
    command = [sys.executable, "-m", "tagwright", "serve", "--labels", "labels.txt", "--port", "0", "--quiet", *words]
    process = subprocess.Popen(
        command, cwd=tmp_path, env={**os.environ, "PYTHONUNBUFFERED": "1"}, stdout=subprocess.PIPE, text=True
    )
    assert process.stdout is not None
    address = re.search(r"http://\S+", process.stdout.readline())
    assert address
    request = urllib.request.Request(f"{address[0]}projects/zero-shot/suggest", b"text=Honey+bees")
    with urllib.request.urlopen(request, timeout=60) as answer:
        assert [each["label"] for each in json.load(answer)["results"]] == ["Bees"]
    process.send_signal(signal.SIGTERM)
    assert process.wait(60) in (0, -signal.SIGTERM)
    process.stdout.close()
