"""See `tools.storm.rounds`."""

import sys

from tools.storm.rounds import main

if __name__ == "__main__":
    main(sys.argv[1:])
