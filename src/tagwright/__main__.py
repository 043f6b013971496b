"""The entry point of the command line. Little is imported before Ctrl-C is handled."""

import os
import sys

from tagwright.core.display import INTERRUPTED, report_interruption


def main() -> None:
    """Run the command line; an interruption is reported in one line, even while modules are being imported."""
    try:
        from tagwright.app import cli

        cli.main()
    except KeyboardInterrupt:
        report_interruption()
        sys.stderr.flush()
        os._exit(INTERRUPTED)  # half-imported modules have nothing to finish, and complain


if __name__ == "__main__":
    main()
