"""The package under study: Pyrite, or PySpark while its behaviour is being recorded."""

import importlib
import os
from types import ModuleType

ENGINE_VARIABLE = "RECORDED_ENGINE"

api = importlib.import_module(os.environ.get(ENGINE_VARIABLE, "pyrite"))


def submodule(name: str) -> ModuleType:
    """A module of the package under study, by the name that PySpark gives it."""
    if api.__name__ == "pyrite":
        from pyrite.alias import MIRRORED

        return importlib.import_module(MIRRORED.get(f"pyspark.{name}", f"pyrite.{name}"))
    return importlib.import_module(f"{api.__name__}.{name}")
