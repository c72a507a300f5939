"""Makes every Python that finds it one whose Pyrite is of another version."""

import pyrite.version

pyrite.version.__version__ = "0.0.9"
