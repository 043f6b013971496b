"""The entry point of the command line. Little is imported before Ctrl-C is handled."""

from __future__ import annotations

import os
import sys

INTERRUPTED = 130
"The exit code after Ctrl-C, as in shells and typer."


def main() -> None:
    """Run the command line; an interruption is reported in one line, even while modules are being imported."""
    try:
        from tagwright.app import cli

        cli.main()
    except KeyboardInterrupt:
        interrupted()
        sys.stderr.flush()
        os._exit(INTERRUPTED)  # half-imported modules have nothing to finish, and complain


def interrupted() -> int:
    """Report the interruption and return the exit code."""
    sys.stderr.write("tagwright: interrupted\n")
    return INTERRUPTED


if __name__ == "__main__":
    main()
