"""The package under study: Pyrite, or PySpark while its behaviour is being recorded."""

import importlib
import os
from types import ModuleType

ENGINE_VARIABLE = "RECORDED_ENGINE"

api = importlib.import_module(os.environ.get(ENGINE_VARIABLE, "pyrite"))


def submodule(name: str) -> ModuleType:
    """A module of the package under study, by the name that both packages give it."""
    return importlib.import_module(f"{api.__name__}.{name}")
