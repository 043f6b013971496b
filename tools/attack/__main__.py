"""See `tools.attack.fuzz`."""

import sys

from tools.attack.fuzz import main

if __name__ == "__main__":
    main(sys.argv[1:])
