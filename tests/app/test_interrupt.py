"""Ctrl-C at any moment, also while modules are imported: one word, exit code 130, no traceback."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

PROGRAM = """
import importlib.abc, os, signal, sys
MODULE = sys.argv[1]

class Interrupt(importlib.abc.MetaPathFinder):
    def find_spec(self, name, *_):
        if name == MODULE:
            os.kill(os.getpid(), signal.SIGINT)

signal.signal(signal.SIGINT, signal.default_int_handler)  # whoever runs the tests may ignore it
sys.meta_path.insert(0, Interrupt())
from tagwright.__main__ import main
sys.argv[1:] = ["suggest", "docs.jsonl", "--labels", "labels.jsonl", "--set", "candidates=9"]
main()
"""


@pytest.mark.skipif(os.name != "posix", reason="only there can a process send itself Ctrl-C")
@pytest.mark.parametrize("module", ["tagwright.app.cli", "numpy.linalg"])
def test_an_interruption_is_said_in_one_word(module: str) -> None:
    done = subprocess.run([sys.executable, "-c", PROGRAM, module], check=False, capture_output=True, text=True)
    assert done.stderr.splitlines() == ["tagwright: interrupted"]
    assert done.returncode == 130
    assert done.stdout == ""
