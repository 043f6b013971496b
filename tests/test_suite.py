"""The suite itself: no test is lost in silence."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

COLLECTED = 6740
"Tests of `make test`, those in documentation and docstrings among them; write the new figure after a large change."

FEW = 25
"Tests that may come or go without a word."


def test_no_test_is_lost_in_silence(request: pytest.FixtureRequest) -> None:
    options, session = request.config.option, request.session
    if options.file_or_dir or options.keyword or options.markexpr != "not slow":
        pytest.skip("a part of the suite is run")
    if session.config.pluginmanager.get_plugin(str(Path(session.path) / "conftest.py")).ABSENT:  # type: ignore[union-attr]
        pytest.skip("some extras are not installed")
    assert abs(len(session.items) - COLLECTED) <= FEW, f"{len(session.items)} tests; were {COLLECTED}"


def test_a_test_file_that_cannot_be_imported_is_an_error(tmp_path: Path) -> None:
    (tmp_path / "test_lost.py").write_text("import tagwright.nothing\n\n\ndef test_nothing() -> None: ...\n")
    root = Path(__file__).resolve().parents[1]
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-c", str(root / "pyproject.toml")]
    done = subprocess.run([*command, str(tmp_path)], capture_output=True, text=True, check=False, cwd=root)
    assert done.returncode == 2, done.stdout
    assert "No module named 'tagwright.nothing'" in done.stdout
