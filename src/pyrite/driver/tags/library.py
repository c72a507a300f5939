"""Which modules are libraries: known by name and version, not by their code."""

from __future__ import annotations

import importlib.metadata
import os
import platform
import site
import sys
import sysconfig
from contextlib import suppress
from functools import cache
from importlib.util import find_spec

from pyrite.version import __version__


@cache
def library_version(module: str) -> str | None:
    """The version of the library that a module belongs to; None for a module of the user's own.

    >>> library_version("__main__"), library_version("json") == platform.python_version()
    (None, True)
    """
    top = module.partition(".")[0]
    if top == "__main__":
        return None
    file = _file(top)
    is_library = file.startswith(_folders())
    # A file of the user's own may have the name of a module of Python's.
    if top in sys.stdlib_module_names and not is_library and file.startswith(_stdlib()):
        return platform.python_version()
    if top in ("pyrite", "pyspark"):
        return __version__
    if not is_library:
        return None
    with suppress(importlib.metadata.PackageNotFoundError):
        return importlib.metadata.version(top)
    version = getattr(sys.modules.get(top), "__version__", None)
    # Without a version its code decides, as with the user's own.
    return version if isinstance(version, str) else None


def _file(top: str) -> str:
    """Where a module is, whether or not it was imported; Python's folder for one without a file."""
    spec = None
    with suppress(ImportError, ValueError):
        spec = find_spec(top)
    if spec is not None and spec.origin in ("built-in", "frozen"):
        return _stdlib()[0]
    file = getattr(sys.modules.get(top), "__file__", None)
    return file or (spec.origin if spec is not None and spec.has_location else None) or ""


@cache
def _stdlib() -> tuple[str, ...]:
    paths = sysconfig.get_paths()
    return tuple({os.path.join(paths[name], "") for name in ("stdlib", "platstdlib")})


@cache
def _folders() -> tuple[str, ...]:
    paths = sysconfig.get_paths()
    named = [paths[name] for name in ("purelib", "platlib")]
    all_ = {*named, *site.getsitepackages(), site.getusersitepackages()}
    return tuple(os.path.join(each, "") for each in all_)
