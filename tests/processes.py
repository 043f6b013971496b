"""Commands in processes of their own, which take a second to start: several go into one."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Sequence

TAGWRIGHT = [sys.executable, "-c", "from tagwright.app.cli import main; main()"]
"What begins a command, in a process of its own."

PROGRAM = """
import contextlib, functools, json, sys, typer.main
from tagwright.app import cli
typer.main.get_command = functools.cache(typer.main.get_command)  # as tests do: see conftest.py
for arguments in json.loads(sys.argv[1]):
    sys.argv = ["tagwright", *arguments]
    with contextlib.suppress(SystemExit):
        cli.main()
modules = {name.partition(".")[0] for name in sys.modules}
print(json.dumps(sorted(modules)))
"""


def loaded_by(*commands: Sequence[str]) -> tuple[set[str], str]:
    """What a process has loaded after these commands, one after the other, and what it said on stderr."""
    command = [sys.executable, "-c", PROGRAM, json.dumps(commands)]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    return set(json.loads(done.stdout.splitlines()[-1])), done.stderr
