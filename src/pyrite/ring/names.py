"""Names: files and folders of a ring, as values of records.

There is no list of a folder's entries that could disagree with the files: a folder's entries are
the records below its path, and every owner is asked for its own. So creating, removing and making
a folder change one record, and are seen by everybody as soon as they have returned.
"""

from __future__ import annotations

from typing import NamedTuple

from pyrite.ring.record import Record, Version


class FileBlock(NamedTuple):
    """One block of a file: its name, whose key says where it lies, and checksums of its chunks."""

    name: str
    length: int
    checksums: tuple[int, ...]


class FileMeta(NamedTuple):
    """What is known of a file; its bytes are its blocks', one after the other."""

    id: str
    size: int
    mtime_s: float
    owner: str
    mode: int
    blocks: tuple[FileBlock, ...]


class Incoming(NamedTuple):
    """A file that is being renamed to this path, if its source's record says that it was."""

    rename: str
    source: str
    source_version: Version
    file: FileMeta


class Decided(NamedTuple):
    """A rename that has happened, and where to."""

    rename: str
    target: str


class Trash(NamedTuple):
    """Blocks of a file that was replaced or removed; those who read it may go on for a while."""

    since_s: float
    blocks: tuple[FileBlock, ...]


class Appender(NamedTuple):
    """The one writer that may append to a file."""

    writer: str
    since_s: float


class Name(NamedTuple):
    """The value of a path's record."""

    file: FileMeta | None = None
    is_folder: bool = False
    incoming: Incoming | None = None
    # Renames from this path that happened, until their targets know.
    decided: tuple[Decided, ...] = ()
    trash: tuple[Trash, ...] = ()
    appender: Appender | None = None

    @property
    def exists(self) -> bool:
        return self.is_folder or self.file is not None

    def has_decided(self, rename: str) -> bool:
        """Whether a rename from this path has happened, and is not over."""
        return any(each.rename == rename for each in self.decided)

    def replaced(self, file: FileMeta | None, now_s: float) -> Name:
        """With another file, or none; the blocks that only the old one had become trash."""
        kept = () if file is None else file.blocks
        old = () if self.file is None else self.file.blocks
        gone = tuple(block for block in old if block not in kept)
        trash = (*self.trash, Trash(now_s, gone)) if gone else self.trash
        return self._replace(file=file, trash=trash)

    def rewritten(self, file: FileMeta, now_s: float) -> Name:
        """With other bytes: a file that was there keeps its owner and its mode."""
        if self.file is not None:
            file = file._replace(owner=self.file.owner, mode=self.file.mode)
        return self.replaced(file, now_s)

    def stored(self) -> Name | None:
        """As the record's value: None if there is nothing to remember."""
        return None if self == Name() else self


def name_of(record: Record) -> Name:
    """What a record says of its path."""
    return record.value if isinstance(record.value, Name) else Name()


def all_blocks(name: Name) -> list[FileBlock]:
    """The blocks that a path keeps."""
    blocks = list(name.file.blocks) if name.file is not None else []
    if name.incoming is not None:
        blocks += name.incoming.file.blocks
    return [*blocks, *(block for trash in name.trash for block in trash.blocks)]


def parent(path: str) -> str:
    """The folder that a path is in.

    >>> parent("/a/b"), parent("/a")
    ('/a', '/')
    """
    return path.rpartition("/")[0] or "/"
