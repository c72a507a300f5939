"""The journal of a member: named values that survive a crash, in one file that grows.

Each entry has its length and its checksum. An entry that ends the file and is not whole was being
written when the machine stopped: nobody was told of it. One that is bad elsewhere was lost by the
disk, and nothing of the journal counts any more.
"""

from __future__ import annotations

import os
import struct
import threading
import zlib
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from pyrite.dht.words import BadWords, pack, unpack

ENTRY = struct.Struct("<II")
# A file that is mostly of the past is written anew.
SLACK_BYTES = 16 << 20


class SpoiltJournal(Exception):
    """The disk has lost a part of the journal."""


class RingJournal:
    """Values by name, read once and then written only."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.values: dict[str, Any] = {}
        self._live_bytes: dict[str, int] = {}
        self._lock = threading.Lock()
        whole = self._read()
        self._fd = os.open(path, os.O_RDWR | os.O_CREAT, 0o600)
        os.ftruncate(self._fd, whole)
        os.lseek(self._fd, whole, os.SEEK_SET)
        self._size = whole
        self._sync_folder()

    def write(self, batches: Iterable[list[tuple[str, Any]]]) -> None:
        """Adds values, in order; returns when they are on disk. Raises OSError, and adds none."""
        entries = [(name, value, pack((name, value))) for batch in batches for name, value in batch]
        data = b"".join(
            ENTRY.pack(len(packed), zlib.crc32(packed)) + packed for _, _, packed in entries
        )
        if data:
            with self._lock:
                self._append(data, entries)

    def _append(self, data: bytes, entries: list[tuple[str, Any, bytes]]) -> None:
        try:
            view = memoryview(data)
            while view:
                view = view[os.write(self._fd, view) :]
            os.fdatasync(self._fd)
        except OSError:
            os.ftruncate(self._fd, self._size)
            os.lseek(self._fd, self._size, os.SEEK_SET)
            raise
        self._size += len(data)
        for name, value, packed in entries:
            self._keep(name, value, len(packed))
        if self._size > 2 * sum(self._live_bytes.values()) + SLACK_BYTES:
            self._write_anew()

    def close(self) -> None:
        os.close(self._fd)

    def _keep(self, name: str, value: Any, size: int) -> None:
        if value is None:
            self.values.pop(name, None)
            self._live_bytes.pop(name, None)
        else:
            self.values[name] = value
            self._live_bytes[name] = size

    def _read(self) -> int:
        """Reads all entries; returns where the last whole one ends."""
        data = self.path.read_bytes() if self.path.exists() else b""
        at = 0
        while at + ENTRY.size <= len(data):
            size, checksum = ENTRY.unpack_from(data, at)
            packed = data[at + ENTRY.size : at + ENTRY.size + size]
            end = at + ENTRY.size + size
            if len(packed) < size or zlib.crc32(packed) != checksum:
                if end < len(data):
                    raise SpoiltJournal(f"{self.path}: entry at {at} is not as it was written")
                break
            try:
                name, value = unpack(packed)
            except BadWords as error:
                raise SpoiltJournal(f"{self.path}: entry at {at}: {error}") from None
            self._keep(name, value, size)
            at = end
        return at

    def _write_anew(self) -> None:
        fresh = self.path.with_suffix(".new")
        fd = os.open(fresh, os.O_RDWR | os.O_CREAT | os.O_TRUNC, 0o600)
        try:
            for item in self.values.items():
                packed = pack(item)
                os.write(fd, ENTRY.pack(len(packed), zlib.crc32(packed)) + packed)
            os.fdatasync(fd)
        except OSError:
            # The old file is as good; there is only no room for the new one.
            os.close(fd)
            fresh.unlink(missing_ok=True)
            return
        os.replace(fresh, self.path)
        os.close(self._fd)
        self._fd = fd
        self._size = os.lseek(fd, 0, os.SEEK_END)
        self._sync_folder()

    def _sync_folder(self) -> None:
        fd = os.open(self.path.parent, os.O_RDONLY)
        try:
            os.fsync(fd)
        finally:
            os.close(fd)
