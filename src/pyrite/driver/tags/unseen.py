"""What finds values by a text or a file's name, so that code does not say what it reads."""

from __future__ import annotations

import importlib
import sys
from types import CodeType

from pyrite.driver.tags.codedigest import codes
from pyrite.sparkfiles import SparkFiles

# By identity: whatever name they are known by.
UNSEEN = {
    id(each): name
    for name, each in {
        "eval": eval,
        "exec": exec,
        "globals": globals,
        "__import__": __import__,
        "importlib.import_module": importlib.import_module,
        "importlib.reload": importlib.reload,
        "sys.modules": sys.modules,
        "sys._getframe": sys._getframe,
        "SparkFiles": SparkFiles,
    }.items()
}
# Attributes of objects that are only known when the code runs.
UNSEEN_ATTRIBUTES = {
    *("__globals__", "f_globals", "f_locals", "_getframe"),
    *("import_module", "getLocalProperty"),
}


def unseen_value(value: object) -> str | None:
    """The name of a value by which code reads what can't be seen in it."""
    return UNSEEN.get(id(value))


def unseen_name(code: CodeType) -> str | None:
    """The attribute by which the code, or code inside it, reads what can't be seen in it."""
    names = {name for each in codes(code) for name in each.co_names}
    if {"sys", "modules"} <= names:
        return "sys.modules"
    return min(names & UNSEEN_ATTRIBUTES, default=None)
