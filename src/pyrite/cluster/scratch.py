"""Scratch folders: private, locked by their owner, removed once it is dead."""

from __future__ import annotations

import fcntl
import os
import stat
import time

from pyrite.blocks.segments import Folders, remove_folders
from pyrite.errors import UserError
from pyrite.ids import NodeId

SHARED_MEMORY = "/dev/shm"
# A younger folder without a lock may be about to get one.
YOUNG_S = 10.0
NAMED = "app-"
# Folders that are not locked yet; they get their names with their locks.
UNNAMED = "new-"
ANOTHER = "choose another scratch folder: spark.local.dir, or an Exchange's local_dir"


class Scratch:
    """One node's folders in shared memory and on disk, for one application.

    Their names are known before they are made: the processes that remove them after the driver was
    killed can start before there is anything to remove.
    """

    def __init__(self, local_dir: str) -> None:
        # What can fail comes first: an error leaves nothing behind.
        homes = [make_home(memory_root(local_dir)), make_home(local_dir)]
        self.memory, self.disk = (new_path(home) for home in homes)
        self.locks: list[int] = []

    def make(self) -> Scratch:
        """Makes and locks the folders."""
        try:
            for folder in (self.memory, self.disk):
                self.locks.append(make_locked(folder))
        except BaseException:
            self.remove()
            raise
        return self

    def folders(self, node: NodeId) -> Folders:
        return Folders(self.memory, self.disk, node)

    def traces(self) -> list[str]:
        """All paths that may exist, however far `make` got."""
        return [path for each in (self.memory, self.disk) for path in (each, unnamed(each))]

    def remove(self) -> None:
        remove_folders(self.traces())
        for fd in self.locks:
            os.close(fd)
        self.locks = []


def memory_root(local_dir: str) -> str:
    """Shared memory, or the folder on disk where there is none."""
    return SHARED_MEMORY if os.access(SHARED_MEMORY, os.W_OK) else local_dir


def make_private(parent: str) -> tuple[str, int]:
    """Makes a folder for this application, inside one that only this user can enter; returns it
    with the descriptor that locks it."""
    folder = new_path(make_home(parent))
    return folder, make_locked(folder)


def make_home(parent: str) -> str:
    """Makes the folder of this user's applications, and sweeps what dead ones left in it."""
    home = os.path.join(parent, f"pyrite-{os.getuid()}")
    try:
        os.makedirs(home, mode=0o700, exist_ok=True)
        found = os.lstat(home)
    except OSError as error:
        raise UserError(
            f"the scratch folder {home} can't be made: {error.strerror}; {cure(parent)}"
        ) from error
    if not stat.S_ISDIR(found.st_mode) or found.st_uid != os.getuid() or found.st_mode & 0o077:
        raise UserError(
            f"{home} is not a private folder of yours: it should belong to user {os.getuid()} "
            f"with mode 0700, and belongs to user {found.st_uid} "
            f"with mode {stat.S_IMODE(found.st_mode):04o}; {cure(parent)}"
        )
    sweep(home)
    return home


def cure(parent: str) -> str:
    """The advice for a folder that can't be used."""
    if parent == SHARED_MEMORY:
        # No setting moves the folder in shared memory.
        return "remove it, or have its owner or root remove it"
    return f"remove it, or {ANOTHER}"


def new_path(home: str) -> str:
    return os.path.join(home, f"{NAMED}{os.urandom(8).hex()}")


def unnamed(folder: str) -> str:
    """The folder's path before it has its lock."""
    home, name = os.path.split(folder)
    return os.path.join(home, UNNAMED + name.removeprefix(NAMED))


def make_locked(folder: str) -> int:
    """Makes a folder that is locked before it gets its name; returns the lock's descriptor."""
    os.mkdir(unnamed(folder), mode=0o700)
    fd = lock(unnamed(folder))
    os.rename(unnamed(folder), folder)
    return fd


def lock(folder: str) -> int:
    """Marks the folder as in use for the life of this process."""
    fd = os.open(os.path.join(folder, "lock"), os.O_CREAT | os.O_RDWR | os.O_CLOEXEC, 0o600)
    fcntl.flock(fd, fcntl.LOCK_SH)
    return fd


def sweep(home: str) -> None:
    """Removes the folders of applications that were killed."""
    with os.scandir(home) as entries:
        remove_folders(
            entry.path
            for entry in entries
            if entry.name.startswith((NAMED, UNNAMED)) and is_abandoned(entry.path)
        )


def is_abandoned(folder: str) -> bool:
    is_young = True
    try:
        is_young = time.time() - os.stat(folder).st_mtime <= YOUNG_S
        if is_young and os.path.basename(folder).startswith(UNNAMED):
            return False
        fd = os.open(os.path.join(folder, "lock"), os.O_RDWR | os.O_CLOEXEC)
    except FileNotFoundError:
        return os.path.exists(folder) and not is_young
    try:
        fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    finally:
        os.close(fd)
    return True
