"""The name py4j for Python processes that a program starts: PYTHONPATH leads them here."""

import importlib
import sys

# It installs the import hook, or leaves the folder for a Python that has no Pyrite.
importlib.import_module("pyspark")
del sys.modules[__name__]
importlib.import_module(__name__)
