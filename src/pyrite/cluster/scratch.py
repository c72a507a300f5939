"""Scratch folders: private, locked by the living, swept when their owners are dead."""

from __future__ import annotations

import fcntl
import os
import stat
import time

from pyrite.blocks.segments import Folders
from pyrite.cluster.saves import undo_saves
from pyrite.errors import UserError
from pyrite.ids import NodeId

SHARED_MEMORY = "/dev/shm"
# A folder without a lock that is younger than this may be about to get one.
YOUNG_S = 10.0
# Folders that are not locked yet; they get their names with their locks.
UNNAMED = "new-"
ANOTHER = "choose another scratch folder: spark.local.dir, or an Exchange's local_dir"


class Scratch:
    """One node's folders in shared memory and on disk, for one application."""

    def __init__(self, local_dir: str) -> None:
        self.memory, memory_lock = make_private(memory_root(local_dir))
        self.disk, disk_lock = make_private(local_dir)
        self.locks = [memory_lock, disk_lock]

    def folders(self, node: NodeId) -> Folders:
        return Folders(self.memory, self.disk, node)

    def remove(self) -> None:
        for folder in (self.memory, self.disk):
            discard(folder)
        for fd in self.locks:
            os.close(fd)
        self.locks = []


def memory_root(local_dir: str) -> str:
    """Shared memory, or the folder on disk where there is none."""
    return SHARED_MEMORY if os.access(SHARED_MEMORY, os.W_OK) else local_dir


def make_private(parent: str) -> tuple[str, int]:
    """A new folder for this application, in a folder that only this user can enter, and the
    descriptor that locks it."""
    home = os.path.join(parent, f"pyrite-{os.getuid()}")
    try:
        os.makedirs(home, mode=0o700, exist_ok=True)
        found = os.lstat(home)
    except OSError as error:
        raise UserError(
            f"the scratch folder {home} can't be made: {error.strerror}; {ANOTHER}"
        ) from error
    if not stat.S_ISDIR(found.st_mode) or found.st_uid != os.getuid() or found.st_mode & 0o077:
        raise UserError(
            f"{home} is not a private folder of yours (it should be yours, with mode 0700): "
            f"remove it, or {ANOTHER}"
        )
    sweep(home)
    name = os.urandom(8).hex()
    unnamed, folder = os.path.join(home, f"{UNNAMED}{name}"), os.path.join(home, f"app-{name}")
    os.mkdir(unnamed, mode=0o700)
    fd = lock(unnamed)
    os.rename(unnamed, folder)
    return folder, fd


def lock(folder: str) -> int:
    """Marks the folder as in use, as long as this process lives."""
    fd = os.open(os.path.join(folder, "lock"), os.O_CREAT | os.O_RDWR | os.O_CLOEXEC, 0o600)
    fcntl.flock(fd, fcntl.LOCK_SH)
    return fd


def sweep(home: str) -> None:
    """Removes what applications left behind that were killed."""
    for entry in os.scandir(home):
        if entry.name.startswith(("app-", UNNAMED)) and is_abandoned(entry.path):
            discard(entry.path)


def discard(folder: str) -> None:
    """Removes a folder that nobody uses any more, and what it says was begun elsewhere."""
    import shutil

    undo_saves(folder)
    shutil.rmtree(folder, ignore_errors=True)


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
