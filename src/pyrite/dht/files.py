"""Open files of a ring: readers of one version, and writers that are seen at their close."""

from __future__ import annotations

import getpass
import os
import time
from concurrent.futures import Future
from functools import partial
from typing import Any

from fsspec.spec import AbstractBufferedFile

from pyrite.dht import blockcache
from pyrite.dht.client import DhtClient, fresh_id
from pyrite.ring.errors import RingUnavailable
from pyrite.ring.keys import block_name, key_of
from pyrite.ring.names import FileBlock, FileMeta
from pyrite.ring.operations import DEAD_WRITER_S, Operations

DEFAULT_MODE = 0o644
# Blocks that a writer sends while it is given the next ones.
BLOCKS_UNDER_WAY = 2


def user_name() -> str:
    """Who owns a new file; the number of a user without a name."""
    try:
        return getpass.getuser()
    except (KeyError, OSError):
        return str(os.getuid())


class RingBufferedFile(AbstractBufferedFile):
    """A file of a ring, as fsspec wants it."""

    buffer: Any
    offset: Any

    def __init__(self, fs: Any, path: str, mode: str, client: DhtClient, **options: Any) -> None:
        self.client = client
        self.file: FileMeta | None = None
        self._is_new = "x" in mode
        copies = options.pop("copies", None)
        if copies not in (None, 1, 2, 3):
            raise ValueError(f"a file has 1, 2 or 3 copies, not {copies}")
        # The ring's own number needs no word.
        self._copies: int | None = copies if copies != 3 else None
        self._is_kept = options.pop("keep", False)
        self._id = fresh_id()
        self._began_s = time.monotonic()
        self._blocks: list[FileBlock] = []
        self._under_way: list[Future[FileBlock]] = []
        self._count = 0
        options["block_size"] = options.get("block_size") or client.block_bytes
        if mode == "rb":
            self.file = fs.file_at(path)
            options["size"] = self.file.size
        elif mode == "ab":
            begin = partial(Operations.begin_append, path=path, writer=self._id)
            self.file = client.run(begin)
        # fsspec knows no other way to write a new file.
        super().__init__(fs, path, "wb" if mode in ("xb", "ab") else mode, **options)
        self._appends = mode == "ab"
        if self._appends and self.file is not None:
            self.loc = self.file.size
        self.mode = mode

    def writable(self) -> bool:
        return self.mode in ("wb", "ab", "xb") and not self.closed

    def __exit__(self, *error: Any) -> None:
        if error[0] is not None and self.writable():
            # Half a file is none.
            self.discard()
            self.closed = True
        self.close()

    def __del__(self) -> None:
        """A file that nobody closed was not meant to be seen: as if its writer had died."""

    def read(self, length: int | None = -1) -> bytes:
        """As of any file; from this node's memory without the buffers in between."""
        if (
            length is not None
            and length > 0
            and self.file is not None
            and self.mode == "rb"
            and not self.closed
        ):
            end = min(self.file.size, self.loc + length)
            found = self.client.held(self.file, self.loc, end)
            if found is not None:
                self.loc = end
                return bytes(found)
        data: bytes = super().read(length)
        return data

    def _fetch_range(self, start: int, end: int) -> bytes:
        assert self.file is not None
        return bytes(self.client.read(self.file, start, end))

    def _initiate_upload(self) -> None:
        """Blocks need no beginning."""

    def _upload_chunk(self, final: bool = False) -> bool:
        data = self.buffer.getvalue()
        view, at, size = memoryview(data), 0, self.client.block_bytes
        while len(view) - at >= size or (final and at < len(view)):
            self._send(view[at : at + size])
            at += size
        if final:
            self._settle(0)
            if self.autocommit:
                self._commit_or_drop()
            return True
        # The buffer keeps what does not fill a block.
        rest = bytes(view[at:])
        self.offset = (self.offset or 0) + len(data) - len(rest)
        self.buffer = type(self.buffer)()
        self.buffer.write(rest)
        return False

    def commit(self) -> None:
        """The file is there from now on, under its path."""
        if time.monotonic() - self._began_s > DEAD_WRITER_S / 2:
            self._keep_young()
        before = self.file.blocks if self._appends and self.file is not None else ()
        blocks = (*before, *self._blocks)
        size = sum(block.length for block in blocks)
        file = FileMeta(self._id, size, time.time(), user_name(), DEFAULT_MODE, blocks)
        if self._appends:
            self.client.run(
                partial(Operations.end_append, path=self.path, writer=self._id, file=file)
            )
        else:
            self.client.run(
                partial(Operations.commit, path=self.path, file=file, is_new=self._is_new)
            )

    def _commit_or_drop(self) -> None:
        try:
            self.commit()
        except (FileExistsError, FileNotFoundError, IsADirectoryError):
            # Another writer was first. After any other error the file may be there.
            self.client.drop(self._blocks)
            raise

    def discard(self) -> None:
        """Nothing was written."""
        for each in self._under_way:
            each.exception()
        self._under_way.clear()
        self.client.drop(self._blocks)
        self._blocks.clear()
        if self._appends:
            end = partial(Operations.end_append, path=self.path, writer=self._id, file=None)
            self.client.run(end)

    def _send(self, data: memoryview) -> None:
        self._settle(BLOCKS_UNDER_WAY - 1)
        index, self._count = self._count, self._count + 1
        self._under_way.append(
            self.client.submit(self.client.put, data, self._id, index, self._copies)
        )
        # Tasks find a partition by the key of its first block.
        if self._is_kept and index == 0 and blockcache.current is not None:
            blockcache.current.keep(key_of(block_name(self._id, 0, self._copies)), data)

    def _settle(self, left: int) -> None:
        """Waits until so many blocks are under way; without room for one, none is kept."""
        while len(self._under_way) > left:
            try:
                self._blocks.append(self._under_way.pop(0).result())
            except BaseException:
                self.closed = True
                self.discard()
                raise

    def _keep_young(self) -> None:
        """Blocks of a writer that takes long may have been taken for a dead one's."""
        for block in self._blocks:
            if not all(is_good for _, is_good in self.client.check(block)):
                raise RingUnavailable(
                    f"{self.path} was open for too long, and its blocks are gone: write it again"
                )
