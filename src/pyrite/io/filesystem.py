"""A place where files live: this machine's file system, or any other through fsspec."""

from __future__ import annotations

import contextlib
import errno
import os
import stat
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, BinaryIO, Protocol, cast

from pyrite.io.errors import BadPath, PackageMissing


@dataclass(frozen=True, slots=True)
class FileEntry:
    """A file or a folder; the size of a file is None where its storage does not tell."""

    path: str
    size: int | None
    is_folder: bool
    # Where the blocks of the file end, if its storage keeps it in blocks.
    block_ends: tuple[int, ...] = ()
    # Their keys, if its storage is a hash ring.
    block_keys: tuple[int, ...] = ()

    @property
    def name(self) -> str:
        return self.path.rstrip("/").rpartition("/")[2]


class FileSystem(Protocol):
    """What reading and saving need of a file system; paths are the storage's own."""

    def entry(self, path: str) -> FileEntry | None: ...
    def children(self, folder: str) -> list[FileEntry]: ...
    def may_read(self, path: str) -> bool: ...
    def version(self, path: str) -> str | None:
        """Changes whenever the file does; None where the storage does not tell."""
        ...

    def address(self, path: str) -> str: ...
    def open_read(self, path: str) -> BinaryIO: ...
    def open_write(self, path: str) -> BinaryIO: ...
    def make_folder(self, path: str, *, parents: bool) -> None: ...
    def move_folder(self, source: str, target: str) -> None: ...
    def move_file(self, source: str, target: str) -> None: ...
    def remove(self, path: str) -> None: ...
    def remove_if_empty(self, folder: str) -> None: ...

    @property
    def moves_at_once(self) -> bool:
        """Whether a folder is moved in one step, or file by file."""
        ...


MOST_REMOVALS = 100


class LocalStorage:
    """The file system of this machine."""

    moves_at_once = True

    def entry(self, path: str) -> FileEntry | None:
        return self._look(path, lambda: os.stat(path))

    def children(self, folder: str) -> list[FileEntry]:
        try:
            with os.scandir(folder) as found:
                entries = [self._look(item.path, item.stat) for item in found]
        except NotADirectoryError:
            return []
        # Sorted, unlike Hadoop's local listing, so that saved partitions come back in order.
        return sorted((entry for entry in entries if entry), key=lambda entry: entry.path)

    @staticmethod
    def _look(path: str, ask: Callable[[], os.stat_result]) -> FileEntry | None:
        try:
            facts = ask()
        except (FileNotFoundError, NotADirectoryError):
            return None
        return FileEntry(path, facts.st_size, stat.S_ISDIR(facts.st_mode))

    def may_read(self, path: str) -> bool:
        return os.access(path, os.R_OK)

    def version(self, path: str) -> str | None:
        facts = os.stat(path)
        # The time of a change of the inode too: programs that unpack or copy files set the other.
        return f"{facts.st_size} {facts.st_mtime_ns} {facts.st_ctime_ns} {facts.st_ino}"

    def address(self, path: str) -> str:
        return path

    def open_read(self, path: str) -> BinaryIO:
        # Unbuffered: readers here ask for large blocks, which a buffer would only copy.
        return cast(BinaryIO, open(path, "rb", buffering=0))

    def open_write(self, path: str) -> BinaryIO:
        return open(path, "wb")

    def make_folder(self, path: str, *, parents: bool) -> None:
        if parents:
            os.makedirs(path, exist_ok=True)
        else:
            with contextlib.suppress(FileExistsError):
                os.mkdir(path)

    def move_folder(self, source: str, target: str) -> None:
        try:
            os.rename(source, target)
        except OSError as error:
            if error.errno != errno.ENOTEMPTY:
                raise
            raise FileExistsError(errno.EEXIST, "the folder exists", target) from error

    def move_file(self, source: str, target: str) -> None:
        os.rename(source, target)

    def remove(self, path: str) -> None:
        import shutil

        # A task that is just being cancelled may still put files there, each a few times at most.
        for _ in range(MOST_REMOVALS):
            shutil.rmtree(path, ignore_errors=True)
            if not os.path.lexists(path):
                return

    def remove_if_empty(self, folder: str) -> None:
        with contextlib.suppress(OSError):
            os.rmdir(folder)


class RemoteStorage:
    """A file system that fsspec knows, and how its paths are written as addresses."""

    moves_at_once = False

    def __init__(self, filesystem: Any, prefix: str) -> None:
        self._filesystem = filesystem
        self._prefix = prefix

    def entry(self, path: str) -> FileEntry | None:
        try:
            return self._entry(self._filesystem.info(path))
        except FileNotFoundError:
            return None

    def children(self, folder: str) -> list[FileEntry]:
        try:
            listing = self._filesystem.ls(folder, detail=True)
        except (FileNotFoundError, NotADirectoryError):
            return []
        entries = [self._entry(facts) for facts in listing]
        own = folder.rstrip("/")
        inside = (entry for entry in entries if entry.path.rstrip("/") != own)
        return sorted(inside, key=lambda entry: entry.path)

    @staticmethod
    def _entry(facts: dict[str, Any]) -> FileEntry:
        is_folder = facts["type"] == "directory"
        ends = tuple(facts.get("block_ends", ()))
        keys = tuple(facts.get("block_keys", ()))
        return FileEntry(facts["name"], facts.get("size"), is_folder, ends, keys)

    def may_read(self, path: str) -> bool:
        return True

    def version(self, path: str) -> str | None:
        facts = self._filesystem.info(path)
        # A size alone says little.
        dated = {"id", "mtime", "created", "LastModified", "last_modified", "etag", "ETag", "md5"}
        return str(self._filesystem.ukey(path)) if dated & facts.keys() else None

    def address(self, path: str) -> str:
        return self._prefix + path

    def open_read(self, path: str) -> BinaryIO:
        return cast(BinaryIO, self._filesystem.open(path, "rb"))

    def open_write(self, path: str) -> BinaryIO:
        return cast(BinaryIO, self._filesystem.open(path, "wb"))

    def make_folder(self, path: str, *, parents: bool) -> None:
        self._filesystem.makedirs(path, exist_ok=True)

    def move_folder(self, source: str, target: str) -> None:
        if self._filesystem.exists(target):
            raise FileExistsError(self.address(target))
        for entry in self.children(source):
            self.move_file(entry.path, f"{target}/{entry.name}")
        self.remove(source)

    def move_file(self, source: str, target: str) -> None:
        self._filesystem.makedirs(target.rpartition("/")[0], exist_ok=True)
        self._filesystem.mv(source, target)

    def remove(self, path: str) -> None:
        self._filesystem.invalidate_cache()
        if self._filesystem.exists(path):
            self._filesystem.rm(path, recursive=True)

    def remove_if_empty(self, folder: str) -> None:
        with contextlib.suppress(OSError, NotImplementedError):
            self._filesystem.rmdir(folder)


def locate(address: str) -> tuple[FileSystem, str]:
    """The storage that an address belongs to, and the path there."""
    if not address:
        raise BadPath("a path is empty: name a file, a folder or a pattern", address)
    if "://" not in address or address.startswith("file:"):
        return LocalStorage(), _local_path(address)
    return _locate_remote(address)


def display(address: str) -> str:
    """An address as PySpark shows it: a local path gets the prefix `file:`."""
    return address if "://" in address else "file:" + address


def open_read(address: str) -> BinaryIO:
    """Open a file by its address, for reading."""
    storage, path = locate(address)
    return storage.open_read(path)


def open_write(address: str) -> BinaryIO:
    """Open a file by its address, for writing."""
    storage, path = locate(address)
    return storage.open_write(path)


def _local_path(address: str) -> str:
    path = address.removeprefix("file:")
    if path is not address and path.startswith("//"):
        host, slash, rest = path[2:].partition("/")
        if host not in ("", "localhost"):
            cure = f"write file:///{host}/... for an absolute path, or leave out file://"
            raise BadPath(f"{address} names the host {host!r}, not a local file: {cure}", address)
        path = slash + rest.lstrip("/")
    return os.path.abspath(path)


def _locate_remote(address: str) -> tuple[FileSystem, str]:
    filesystem, path = _connect(address)
    # Listings kept from an earlier look would hide files that others wrote since.
    filesystem.invalidate_cache()
    path = path.rstrip("/") or "/"
    trimmed = address.rstrip("/")
    if path != "/" and trimmed.endswith(path):
        prefix = trimmed[: len(trimmed) - len(path)]
    else:
        prefix = address.partition("://")[0] + "://"
    return RemoteStorage(filesystem, prefix), path


def _connect(address: str) -> tuple[Any, str]:
    """The file system and the path there; where a package is missing, say which one."""
    from fsspec.core import url_to_fs
    from fsspec.registry import known_implementations

    scheme = address.partition("://")[0].rpartition("::")[2]
    try:
        filesystem, path = url_to_fs(address)
    except ImportError as error:
        package = str(known_implementations.get(scheme, {}).get("class", "")).partition(".")[0]
        cure = f"pip install {package}" if package not in ("", "fsspec") else str(error)
        message = f"{address}: {scheme}:// needs a package that is not installed: {cure}"
        raise PackageMissing(message) from error
    except ValueError as error:
        if scheme in known_implementations:
            raise
        cure = "install the fsspec plugin for it, or use a local path"
        message = f"{address}: no file system is known for {scheme}://; {cure}"
        raise BadPath(message, address) from error
    return filesystem, path
