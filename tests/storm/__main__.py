"""See `tests.storm.rounds`."""

import sys

from tests.storm.rounds import main

if __name__ == "__main__":
    main(sys.argv[1:])
