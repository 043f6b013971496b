"""python -m benchmarks NAME [options]: measure quality or speed on this machine."""

from __future__ import annotations

import importlib
import sys
from pathlib import Path

NAMES = sorted(path.stem for path in Path(__file__).parent.glob("[a-z]*.py"))


def main() -> None:
    if len(sys.argv) < 2 or sys.argv[1] not in NAMES:
        sys.exit(f"python -m benchmarks NAME [options], with NAME one of: {', '.join(NAMES)}")
    importlib.import_module(f"benchmarks.{sys.argv[1]}").main(sys.argv[2:])


main()
