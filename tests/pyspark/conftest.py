"""Makes the cases importable by one name, however pytest was started."""

import sys
from pathlib import Path

ROOT = str(Path(__file__).parents[2])
if ROOT not in sys.path:
    # Last, so that the folder of these tests can't hide an installed package.
    sys.path.append(ROOT)
