"""The files of a path that Spark would read: of a folder those that are not hidden."""

from __future__ import annotations

import glob
import os
from collections.abc import Iterable
from os import PathLike

from pyrite.errors import AnalysisException

Path = str | PathLike[str]


def files_of(paths: Path | Iterable[Path]) -> list[str]:
    """The files of paths, folders and patterns; addresses of other file systems as they are."""
    each = [paths] if isinstance(paths, str | PathLike) else list(paths)
    return [file for path in each for file in _files(os.fspath(path))]


def _files(path: str) -> list[str]:
    local = path.removeprefix("file://")
    if "://" in local:
        return [local]
    found = sorted(glob.glob(local)) if glob.has_magic(local) else [local]
    files = [file for each in found for file in _inside(each)]
    if not files and not any(map(os.path.exists, found)):
        raise AnalysisException(f"there is no {path}", "PATH_NOT_FOUND")
    return files


def _inside(path: str) -> list[str]:
    if not os.path.isdir(path):
        return [path] if os.path.exists(path) else []
    found = []
    for folder, below, names in os.walk(path):
        below[:] = sorted(name for name in below if not name.startswith(("_", ".")))
        found += [
            os.path.join(folder, name)
            for name in sorted(names)
            if not name.startswith(("_", ".")) and os.path.getsize(os.path.join(folder, name))
        ]
    return found
