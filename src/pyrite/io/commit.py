"""A folder of part files that appears complete, or not at all."""

from __future__ import annotations

import os

from pyrite.io.errors import BadPath, OutputExists, OutputIncomplete
from pyrite.io.filesystem import FileSystem, display, locate

SUCCESS = "_SUCCESS"


def part_name(partition: int, suffix: str = "") -> str:
    """The name of a partition's file, as Hadoop has it."""
    return f"part-{partition:05d}{suffix}"


class FolderCommit:
    """One save: tasks write beside the output folder, and the winners are moved there at the end.

    The driver calls `begin`, then `commit` or `abort`; executors get a copy and call `task_file`
    and `commit_task`. On local disks each step is one rename. Object stores have no rename: there
    the files are copied, and `_SUCCESS` comes last to say that all of them are in place.

    How far it has come stands in the storage, so that a copy can abort what a dead driver began.
    """

    def __init__(self, path: str) -> None:
        """Finds out what is to be made; the output folder must not exist."""
        storage, own_path = locate(path)
        parent, slash, name = own_path.rpartition("/")
        if not slash or not name:
            raise BadPath(f"{path} can't be an output folder: name a folder inside it", path)
        self.path = storage.address(own_path)
        # A leading dot hides the folder from whoever reads the parent meanwhile.
        self._stage = storage.address(f"{parent}/.{name}.pyrite-{os.urandom(8).hex()}")
        self._refuse_existing(storage, own_path)
        self._missing_parents = _missing_parents(storage, own_path)

    def begin(self) -> None:
        """Make the folder that tasks write to."""
        storage, _ = locate(self.path)
        stage = self._staged()
        storage.make_folder(stage, parents=True)
        storage.make_folder(f"{stage}/attempts", parents=False)
        storage.make_folder(f"{stage}/committed", parents=False)

    def task_file(self, partition: int, attempt: int, suffix: str = "") -> str:
        """The file that one attempt of a partition shall write."""
        storage, _ = locate(self.path)
        folder = self._attempt_folder(partition, attempt)
        # Not with its parents: a late task must not bring back the folder of an aborted save.
        storage.make_folder(folder, parents=False)
        return storage.address(f"{folder}/{part_name(partition, suffix)}")

    def commit_task(self, partition: int, attempt: int) -> bool:
        """Make an attempt the one that counts; False if another one does already."""
        storage, _ = locate(self.path)
        source = self._attempt_folder(partition, attempt)
        try:
            storage.move_folder(source, f"{self._staged()}/committed/{partition:05d}")
        except FileExistsError:
            storage.remove(source)
            return False
        return True

    def commit(self, partition_count: int | None = None) -> None:
        """Put the committed files in place, checking that no partition is missing."""
        storage, path = locate(self.path)
        self._refuse_existing(storage, path)
        committed = storage.children(f"{self._staged()}/committed")
        if partition_count is not None:
            self._check_complete({int(folder.name) for folder in committed}, partition_count)
        gathered = path
        if storage.moves_at_once:
            gathered = f"{self._staged()}/gathered"
        else:
            touch(storage, self._placing_mark())
        storage.make_folder(gathered, parents=False)
        for folder in committed:
            for file in storage.children(folder.path):
                storage.move_file(file.path, f"{gathered}/{file.name}")
        touch(storage, f"{gathered}/{SUCCESS}")
        if gathered != path:
            storage.move_folder(gathered, path)
        storage.remove(self._staged())

    def abort(self) -> None:
        """Leave nothing behind; after `commit` there is nothing to undo."""
        storage, path = locate(self.path)
        if storage.entry(self._placing_mark()) and not storage.entry(f"{path}/{SUCCESS}"):
            storage.remove(path)
        storage.remove(self._staged())
        for parent in self._missing_parents:
            storage.remove_if_empty(parent)

    def _placing_mark(self) -> str:
        """The file that says that what lies in the output folder is this save's."""
        return f"{self._staged()}/placing"

    def _staged(self) -> str:
        return locate(self._stage)[1]

    def _attempt_folder(self, partition: int, attempt: int) -> str:
        return f"{self._staged()}/attempts/{partition:05d}-{attempt}"

    def _refuse_existing(self, storage: FileSystem, path: str) -> None:
        if storage.entry(path) is not None:
            cure = "choose another path, or remove it first"
            shown = display(self.path)
            raise OutputExists(f"Output directory {shown} already exists: {cure}", self.path)

    def _check_complete(self, committed: set[int], partition_count: int) -> None:
        missing = [index for index in range(partition_count) if index not in committed]
        if missing:
            message = f"{display(self.path)}: no task committed partitions {missing[:10]}"
            raise OutputIncomplete(f"{message} ({len(missing)} missing)", self.path)


def touch(storage: FileSystem, path: str) -> None:
    """Make an empty file."""
    with storage.open_write(path):
        pass


def _missing_parents(storage: FileSystem, path: str) -> list[str]:
    """The folders that must be made first, the deepest first."""
    missing = []
    parent = path.rpartition("/")[0]
    while parent and storage.entry(parent) is None:
        missing.append(parent)
        parent = parent.rpartition("/")[0]
    return missing
