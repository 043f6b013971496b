"""See `tools.attack.parts`."""

import sys

from tools.attack.parts import main

if __name__ == "__main__":
    main(sys.argv[1:])
