"""Names of a package that are loaded when they are first asked for."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from importlib import import_module
from typing import Any


def load_lazily(package: str, name: str, homes: Mapping[str, str]) -> Any:
    """The object that `homes` places in a module, as `module` or as `module:other_name`."""
    home = homes.get(name)
    if home is None:
        raise AttributeError(f"module {package!r} has no attribute {name!r}")
    module, _, other = home.partition(":")
    found = getattr(import_module(module), other or name)
    setattr(sys.modules[package], name, found)
    return found
