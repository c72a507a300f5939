"""Files for tasks, and the folder of checkpoints."""

from __future__ import annotations

import sys
from os import PathLike

from pyrite.driver.api.distributed import DistributedFiles
from pyrite.driver.engine.checkpoints import Checkpoints
from pyrite.driver.engine.engine import Engine
from pyrite.io.uris import file_uri, with_scheme


class TaskFiles:
    """The part of a context that adds files, modules and archives for its tasks."""

    _engine: Engine
    _files_added: DistributedFiles
    _checkpoints: Checkpoints

    def addFile(self, path: str | PathLike[str], recursive: bool = False) -> None:
        """Copies a file to where SparkFiles.get(name) finds it in every task."""
        self._engine.check_usable()
        self._files_added.add(path, recursive)

    @property
    def listFiles(self) -> list[str]:
        """The files that were added, as URIs."""
        return [file_uri(path) for path in self._files_added.files]

    def addPyFile(self, path: str | PathLike[str]) -> None:
        """Makes a module, a zip or an egg importable in the driver and in every task."""
        self._engine.check_usable()
        found = self._files_added.add_python(path)
        if found not in sys.path:
            sys.path.insert(1, found)

    def addArchive(self, path: str | PathLike[str]) -> None:
        """Unpacks an archive to where SparkFiles.get(name) finds it; `path#name` names it."""
        self._engine.check_usable()
        self._files_added.add_archive(path)

    @property
    def listArchives(self) -> list[str]:
        """The archives that were added, as URIs."""
        return [file_uri(path) for path in self._files_added.archives]

    def setCheckpointDir(self, dirName: str | PathLike[str]) -> None:
        """Sets the folder that RDD.checkpoint writes under."""
        self._engine.check_usable()
        self._checkpoints.set_folder(dirName)

    def getCheckpointDir(self) -> str | None:
        """The folder that checkpoints are written to, or None."""
        folder = self._checkpoints.folder
        return None if folder is None else with_scheme(folder)
