"""The name pyspark for Python processes that a program starts: PYTHONPATH leads them here.

They have no import hook yet, which is how the program itself finds Pyrite as pyspark.
"""

import importlib
import os
import sys

try:
    from pyrite import alias
except ModuleNotFoundError as error:
    if error.name != "pyrite":
        raise
    # Another Python, which has no Pyrite: leave it the pyspark that it may have.
    folder = os.path.dirname(os.path.dirname(__file__))
    sys.path[:] = [each for each in sys.path if each != folder]
else:
    alias.install()

# The import system takes whatever stands in sys.modules afterwards.
del sys.modules[__name__]
importlib.import_module(__name__)
