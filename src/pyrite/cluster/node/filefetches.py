"""Brings the files of `addFile` and its kin to a node, once for all its executors."""

from __future__ import annotations

import os
import tarfile
from collections import deque
from collections.abc import Callable
from typing import NamedTuple

from pyrite.blocks.segments import Folders
from pyrite.remote.client import BlockClient
from pyrite.remote.errors import Address

PIECE_BYTES = 4 << 20
FILES = "files"


class SharedArchive(NamedTuple):
    """Files that were packed into one segment on disk, and the nodes that have it."""

    number: int
    segment: str
    size_bytes: int
    # The first that answers gives it.
    sources: tuple[Address, ...]


def files_folder(folders: Folders) -> str:
    """The node's folder of added files."""
    return os.path.join(folders.disk, FILES)


class FileFetches:
    """Fetches archives one after another, each in a process of its own: the agent never waits, and
    has no threads when it forks."""

    def __init__(
        self, folders: Folders, secret: bytes, timeout_s: float, done: Callable[[int, bool], None]
    ) -> None:
        self.folders = folders
        self.secret = secret
        self.timeout_s = timeout_s
        # Told the number of an archive, and whether its files are there now.
        self.done = done
        self.waiting: deque[SharedArchive] = deque()
        self.fetching: int | None = None
        self.close_in_child: Callable[[], None] = lambda: None
        # Told of each process that is started, and what to call when it has ended.
        self.started: Callable[[int, Callable[[], None]], None] = lambda pid, ended: None

    @property
    def pending(self) -> bool:
        """Whether files are still on their way."""
        return self.fetching is not None

    def take(self, archive: SharedArchive) -> None:
        self.waiting.append(archive)
        self._start_next()

    def _start_next(self) -> None:
        if self.fetching is not None or not self.waiting:
            return
        archive = self.waiting.popleft()
        pid = os.fork()
        if pid == 0:
            self._fetch_in_child(archive)
        self.fetching = pid
        self.started(pid, lambda: self._ended(archive, pid))

    def _fetch_in_child(self, archive: SharedArchive) -> None:
        status = 1
        try:
            self.close_in_child()
            fetch(archive, self.folders, self.secret, self.timeout_s)
            status = 0
        except BaseException:
            import traceback

            traceback.print_exc()
        finally:
            os._exit(status)

    def _ended(self, archive: SharedArchive, pid: int) -> None:
        _, status = os.waitpid(pid, 0)
        self.fetching = None
        self._start_next()
        self.done(archive.number, status == 0)


def fetch(archive: SharedArchive, folders: Folders, secret: bytes, timeout_s: float) -> None:
    """Copies the archive's segment from the first source that has it, and unpacks it."""
    client = BlockClient(secret, timeout_s)
    path = folders.path(archive.segment, "disk")
    for last, source in enumerate(archive.sources, 1 - len(archive.sources)):
        try:
            with open(path, "wb") as file:
                for offset in range(0, archive.size_bytes, PIECE_BYTES):
                    length = min(PIECE_BYTES, archive.size_bytes - offset)
                    file.write(client.read(source, archive.segment, offset, length, "disk"))
            break
        except OSError:
            if last == 0:
                raise
    unpack(path, files_folder(folders))


def pack(path: str, root: str, names: list[str]) -> int:
    """Packs files below a folder into an archive; returns its size."""
    with tarfile.open(path, "w") as archive:
        for name in names:
            archive.add(os.path.join(root, name), name)
    return os.path.getsize(path)


def unpack(path: str, root: str) -> None:
    os.makedirs(root, mode=0o700, exist_ok=True)
    with tarfile.open(path) as archive:
        # Made by the driver, which this node obeys anyway.
        archive.extractall(root, filter="fully_trusted")
