"""python -m benchmarks [--folder FOLDER] NAME [options]: measure quality or speed on this machine."""

from __future__ import annotations

import importlib
import os
import sys
from pathlib import Path

NAMES = sorted(
    path.stem for path in Path(__file__).parent.glob("[a-z]*.py") if "\ndef main(a" in path.read_text("utf-8")
)
USAGE = """python -m benchmarks [--folder FOLDER] NAME [options], where FOLDER has corpora of your own (train.jsonl.gz,
dev.jsonl.gz and labels.jsonl.gz, or a folder with these for each corpus), and NAME is one of:"""


def main(arguments: list[str]) -> None:
    if arguments[:1] == ["--folder"] and len(arguments) > 1:
        if not Path(arguments[1]).is_dir():
            sys.exit(f"--folder {arguments[1]}: not a folder; expected one with corpora")
        os.environ["TAGWRIGHT_CORPORA"] = str(Path(arguments[1]).resolve())
        arguments = arguments[2:]
    if not arguments or arguments[0] not in NAMES:
        sys.exit(f"{USAGE} {', '.join(NAMES)}")
    importlib.import_module(f"benchmarks.{arguments[0]}").main(arguments[1:])


main(sys.argv[1:])
