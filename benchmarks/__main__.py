"""python -m benchmarks NAME [options] [--folder FOLDER]: measure quality or speed on this machine."""

from __future__ import annotations

import argparse
import importlib
import os
import sys
from pathlib import Path

NAMES = sorted(
    path.stem for path in Path(__file__).parent.glob("[a-z]*.py") if "\ndef main(a" in path.read_text("utf-8")
)
USAGE = """python -m benchmarks NAME [options] [--folder FOLDER], where FOLDER has corpora of your own (train.jsonl.gz,
dev.jsonl.gz and labels.jsonl.gz, or a folder with these for each corpus), and NAME is one of:"""


def main(arguments: list[str]) -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks", add_help=False, allow_abbrev=False)
    parser.add_argument("--folder", type=Path)
    own, arguments = parser.parse_known_args(arguments)
    if own.folder:
        if not own.folder.is_dir():
            sys.exit(f"--folder {own.folder}: not a folder; expected one with corpora")
        os.environ["TAGWRIGHT_CORPORA"] = str(own.folder.resolve())
    if not arguments or arguments[0] not in NAMES:
        sys.exit(f"{USAGE} {', '.join(NAMES)}")
    try:
        importlib.import_module(f"benchmarks.{arguments[0]}").main(arguments[1:])
    except Exception as error:
        from tagwright.errors import TagwrightError  # where parsers are attacked, nothing may be imported before

        if isinstance(error, TagwrightError):
            sys.exit(str(error))
        raise


main(sys.argv[1:])
