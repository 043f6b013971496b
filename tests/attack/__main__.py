"""See `tests.attack.parts`."""

import sys

from tests.attack.parts import main

if __name__ == "__main__":
    main(sys.argv[1:])
