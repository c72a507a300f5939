"""`python -m pyrite` is the command `pyrite`."""

import sys

from pyrite.cli import main

if __name__ == "__main__":
    sys.exit(main())
