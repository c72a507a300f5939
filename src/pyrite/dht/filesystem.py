"""The file system `dht://RING/path` for fsspec."""

from __future__ import annotations

import contextlib
import os
from functools import partial
from itertools import accumulate
from typing import Any

from fsspec.spec import AbstractFileSystem

from pyrite.dht.client import DhtClient
from pyrite.dht.files import RingBufferedFile, user_name
from pyrite.errors import UserError
from pyrite.ring.keys import key_of
from pyrite.ring.names import FileMeta, Name, parent
from pyrite.ring.operations import Operations

# What a reader asks for at least.
READ_BYTES = 4 << 20
MODES = ("rb", "wb", "xb", "ab")


class RingFileSystem(AbstractFileSystem):
    """Files on a ring; `ring` is its name, by which its addresses are found."""

    protocol = "dht"
    root_marker = "/"

    def __init__(self, ring: str | None = None, **options: Any) -> None:
        super().__init__(**options)
        if not ring:
            raise UserError("name the ring: dht://RING/path, or fsspec.filesystem('dht', ring=...)")
        self.ring = ring
        self.client = DhtClient(ring)

    @classmethod
    def _strip_protocol(cls, path: Any) -> Any:
        if isinstance(path, list):
            return [cls._strip_protocol(each) for each in path]
        text = os.fspath(path)
        if text.startswith("dht://"):
            text = text.removeprefix("dht://").partition("/")[2]
        return "/" + "/".join(part for part in text.split("/") if part)

    @staticmethod
    def _get_kwargs_from_urls(path: str) -> dict[str, str]:
        return {"ring": path.removeprefix("dht://").partition("/")[0]}

    def unstrip_protocol(self, name: str) -> str:
        return f"dht://{self.ring}{self._strip_protocol(name)}"

    @property
    def fsid(self) -> str:
        return f"dht-{self.ring}"

    def file_at(self, path: str) -> FileMeta:
        """A file by its path; raises FileNotFoundError, IsADirectoryError."""
        seen = self.client.run(partial(Operations.look, path=path))
        if seen.name.is_folder or path == "/":
            raise IsADirectoryError(path)
        file = seen.name.file
        if file is None:
            raise FileNotFoundError(path)
        if not file.mode & 0o004 and file.owner != user_name():
            raise PermissionError(f"{path} is for {file.owner} alone")
        return file

    def chmod(self, path: str, mode: int) -> None:
        """Says who may read and change a file: 0o644, or 0o600, or 0o666."""
        path = self._strip_protocol(path)
        self._guard(path)
        self.client.run(partial(Operations.change_mode, path=path, mode=mode))

    def info(self, path: str, **_options: Any) -> dict[str, Any]:
        path = self._strip_protocol(path)
        if path == "/":
            return _folder(path)
        seen = self.client.run(partial(Operations.look, path=path))
        if seen.name.exists:
            return _told(path, seen.name)
        if self._below(path):
            return _folder(path)
        raise FileNotFoundError(path)

    def ls(self, path: str, detail: bool = True, **_options: Any) -> list[Any]:
        path = self._strip_protocol(path)
        names = self._below(path)
        if not names:
            info = self.info(path)
            entries = [info] if info["type"] == "file" else []
        else:
            entries = list(_children(path, names).values())
        return entries if detail else [entry["name"] for entry in entries]

    def find(
        self, path: str, maxdepth: int | None = None, withdirs: bool = False, **options: Any
    ) -> Any:
        """All files below a path, by one question to each member."""
        if maxdepth is not None or withdirs:
            return super().find(path, maxdepth=maxdepth, withdirs=withdirs, **options)
        path = self._strip_protocol(path)
        found = {
            each: _told(each, name)
            for each, name in sorted(self._below(path).items())
            if name.file is not None
        }
        if not found and self.exists(path) and self.isfile(path):
            found = {path: self.info(path)}
        return found if options.get("detail") else list(found)

    def mkdir(self, path: str, create_parents: bool = True, **_options: Any) -> None:
        path = self._strip_protocol(path)
        if create_parents:
            self._make_parents(path)
        elif not self.exists(parent(path)):
            raise FileNotFoundError(parent(path))
        if path == "/" or not self.client.run(partial(Operations.make_folder, path=path)):
            raise FileExistsError(path)

    def makedirs(self, path: str, exist_ok: bool = False) -> None:
        path = self._strip_protocol(path)
        self._make_parents(path)
        is_new = path != "/" and self.client.run(partial(Operations.make_folder, path=path))
        if not is_new and not exist_ok:
            raise FileExistsError(path)

    def rmdir(self, path: str) -> None:
        path = self._strip_protocol(path)
        if self.info(path)["type"] != "directory":
            raise NotADirectoryError(path)
        if self._below(path):
            raise OSError(f"{path} is not empty")
        self.client.run(partial(Operations.remove, path=path))

    def rm_file(self, path: str) -> None:
        path = self._strip_protocol(path)
        if self._guard(path).is_folder:
            raise IsADirectoryError(path)
        self.client.run(partial(Operations.remove, path=path))

    def rm(self, path: Any, recursive: bool = False, maxdepth: int | None = None) -> None:
        """Removes files, and with `recursive` folders, what is in them first."""
        for each in reversed(self.expand_path(path, recursive=recursive, maxdepth=maxdepth)):
            if not self.isdir(each):
                self.rm_file(each)
                continue
            if not recursive:
                raise IsADirectoryError(f"{each} is a folder: rm(..., recursive=True)")
            if each != "/":
                # A folder that has only what is in it has no record of its own.
                with contextlib.suppress(FileNotFoundError):
                    self.client.run(partial(Operations.remove, path=each))

    def cp_file(self, path1: str, path2: str, **_options: Any) -> None:
        source, target = self._strip_protocol(path1), self._strip_protocol(path2)
        if self.isdir(source):
            self.makedirs(target, exist_ok=True)
            return
        with self.open(source, "rb") as reader, self.open(target, "wb") as writer:
            while piece := reader.read(self.client.block_bytes):
                writer.write(piece)

    def mv_file(self, path1: str, path2: str, **_options: Any) -> None:
        """Renames a file: no data is moved."""
        source, target = self._strip_protocol(path1), self._strip_protocol(path2)
        self._make_parents(target)
        self._guard(source)
        self._guard(target)
        self.client.run(partial(Operations.rename, source=source, target=target))

    def mv(
        self, path1: Any, path2: Any, recursive: bool = False, maxdepth: Any = None, **options: Any
    ) -> None:
        """Renames files, one by one where a folder is moved."""
        source, target = self._strip_protocol(path1), self._strip_protocol(path2)
        if source == target:
            return
        if self.isfile(source):
            if self.isdir(target) or str(path2).endswith("/"):
                target = f"{target.rstrip('/')}/{source.rpartition('/')[2]}"
            self.mv_file(source, target)
            return
        if not recursive or maxdepth is not None:
            raise IsADirectoryError(f"{source} is a folder: mv(..., recursive=True)")
        if target.startswith(source + "/"):
            raise ValueError(f"{source} can't be moved into itself")
        if self.isdir(target):
            target = f"{target}/{source.rpartition('/')[2]}"
        self.makedirs(target, exist_ok=True)
        names = self._below(source)
        for path, name in names.items():
            moved = target + path.removeprefix(source)
            if name.is_folder:
                self.makedirs(moved, exist_ok=True)
            else:
                self.mv_file(path, moved)
        self.rm(source, recursive=True)

    def created(self, path: str) -> Any:
        return self.modified(path)

    def modified(self, path: str) -> Any:
        from datetime import UTC, datetime

        return datetime.fromtimestamp(self.info(path)["mtime"], UTC)

    def ukey(self, path: str) -> str:
        """Changes with every version of a file."""
        return str(self.info(path).get("id", ""))

    def cat_file(
        self, path: str, start: int | None = None, end: int | None = None, **_options: Any
    ) -> bytes:
        file = self.file_at(self._strip_protocol(path))
        first, last, _ = slice(start, end).indices(file.size)
        return bytes(self.client.read(file, first, last))

    def _open(
        self,
        path: str,
        mode: str = "rb",
        block_size: Any = None,
        create_parents: bool = True,
        **options: Any,
    ) -> RingBufferedFile:
        if mode not in MODES:
            raise ValueError(f"a file of a ring is opened as one of {', '.join(MODES)}, not {mode}")
        if mode != "rb":
            if create_parents:
                self._make_parents(path)
            elif not self.exists(parent(path)):
                raise FileNotFoundError(parent(path))
            name = self._guard(path)
            if path == "/" or name.is_folder:
                raise IsADirectoryError(path)
            if mode == "xb" and name.file is not None:
                raise FileExistsError(path)
        size = READ_BYTES if mode == "rb" else self.client.block_bytes
        return RingBufferedFile(self, path, mode, self.client, block_size=size, **options)

    def _guard(self, path: str) -> Name:
        """What is at a path; keeps users from changing each other's files by mistake."""
        name = self.client.run(partial(Operations.look, path=path)).name
        file = name.file
        if file is not None and not file.mode & 0o002 and file.owner != user_name():
            raise PermissionError(f"{path} belongs to {file.owner}, who may chmod it to 0o666")
        return name

    def _make_parents(self, path: str) -> None:
        missing = []
        above = parent(path)
        while above != "/":
            seen = self.client.run(partial(Operations.look, path=above))
            if seen.name.is_folder:
                break
            if seen.name.file is not None:
                raise NotADirectoryError(f"{above} is a file")
            missing.append(above)
            above = parent(above)
        for folder in reversed(missing):
            self.client.run(partial(Operations.make_folder, path=folder))

    def _below(self, path: str) -> dict[str, Name]:
        names, _ = self.client.run(partial(Operations.list_below, folder=path))
        return names


def _told(path: str, name: Name) -> dict[str, Any]:
    file = name.file
    if file is None:
        return _folder(path)
    return {
        "name": path,
        "type": "file",
        "size": file.size,
        "mtime": file.mtime_s,
        "owner": file.owner,
        "mode": file.mode,
        "id": file.id,
        "block_ends": list(accumulate(block.length for block in file.blocks)),
        "block_keys": [key_of(block.name) for block in file.blocks],
    }


def _folder(path: str) -> dict[str, Any]:
    return {"name": path, "type": "directory", "size": 0}


def _children(path: str, names: dict[str, Name]) -> dict[str, dict[str, Any]]:
    """The entries right below a folder: records, and folders that have only what is in them."""
    prefix = path.rstrip("/") + "/"
    entries = {}
    for each in sorted(names):
        child, _, deeper = each.removeprefix(prefix).partition("/")
        if not deeper:
            entries[each] = _told(each, names[each])
        else:
            entries.setdefault(prefix + child, _folder(prefix + child))
    return entries
