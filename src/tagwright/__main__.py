"""Where the command line begins. Little is imported before Ctrl-C is heard."""

from __future__ import annotations

import os
import sys

INTERRUPTED = 130
"What shells, and typer, make of Ctrl-C."


def main() -> None:
    """Run the command line; an interruption is said in one word, also while modules are being imported."""
    try:
        from tagwright.app import cli

        cli.main()
    except KeyboardInterrupt:
        interrupted()
        sys.stderr.flush()
        os._exit(INTERRUPTED)  # half-imported modules have nothing to finish, and complain


def interrupted() -> int:
    """Say so, and return the exit code."""
    sys.stderr.write("tagwright: interrupted\n")
    return INTERRUPTED


if __name__ == "__main__":
    main()
