"""Files, archives and Python modules for all executors: addFile, addPyFile, addArchive."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from os import PathLike

from pyrite.errors import Refused


class DistributedFiles:
    """The folder that SparkFiles points to, and what was put there."""

    def __init__(self, root: str, share: Callable[[Sequence[str]], None]) -> None:
        self.root = root
        # Brings what has a name below the root to all nodes.
        self.share = share
        self.files: list[str] = []
        self.archives: list[str] = []
        # Entries for sys.path in tasks, below the root: each node has one of its own.
        self.python_paths: list[str] = []

    def add(self, path: str | PathLike[str], recursive: bool = False) -> str:
        """Copies a file, or a folder if recursive; returns the copy's path."""
        import shutil

        from pyrite.io.filesystem import locate
        from pyrite.io.paths import address_of

        path = address_of(path)
        os.makedirs(self.root, mode=0o700, exist_ok=True)
        storage, inner = locate(path)
        entry = storage.entry(inner)
        if entry is None:
            raise Refused(f"addFile: there is no file {path!r}")
        target = os.path.join(self.root, os.path.basename(inner.rstrip("/")))
        if entry.is_folder:
            if not recursive:
                raise Refused(f"addFile: {path!r} is a folder; pass recursive=True to add it")
            shutil.copytree(inner, target, dirs_exist_ok=True)
        else:
            with storage.open_read(inner) as source, open(target, "wb") as sink:
                shutil.copyfileobj(source, sink)
        self.share([os.path.basename(target)])
        if path not in self.files:
            self.files.append(path)
        return target

    def add_python(self, path: str | PathLike[str]) -> str:
        """Adds a module, a zip or an egg; returns its entry for sys.path."""
        target = self.add(path, recursive=True)
        name = os.path.basename(target) if target.endswith((".zip", ".egg", ".jar")) else ""
        if name not in self.python_paths:
            self.python_paths.append(name)
        return os.path.join(self.root, name) if name else self.root

    def add_archive(self, path: str | PathLike[str]) -> None:
        """Unpacks an archive; `path#name` unpacks it as `name`."""
        import shutil
        import zipfile

        from pyrite.io.paths import address_of

        path = address_of(path)
        source, _, name = path.partition("#")
        if not os.path.exists(source):
            raise Refused(f"addArchive: there is no archive {source!r}")
        target = os.path.join(self.root, name or os.path.basename(source))
        os.makedirs(target, mode=0o700, exist_ok=True)
        if zipfile.is_zipfile(source):
            with zipfile.ZipFile(source) as archive:
                archive.extractall(target)
        else:
            shutil.unpack_archive(source, target)
        self.share([os.path.basename(target)])
        self.archives.append(path)
