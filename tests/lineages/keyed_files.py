"""Files in blocks with keys, as those of a ring, for simulated clusters."""

from __future__ import annotations

import io
import os
from typing import Any, NamedTuple

import fsspec
from fsspec.spec import AbstractFileSystem

from pyrite.dht import blockcache
from pyrite.ring.keys import key_of

BLOCK_BYTES = 40


class KeyedBlock(NamedTuple):
    """One block of a file: where it is, and its key."""

    start: int
    end: int
    key: int


class KeyedFileSystem(AbstractFileSystem):
    """Reads local files as a ring's client reads its own: by blocks, which stay in memory."""

    protocol = "keyed"
    cachable = False

    def info(self, path: str, **_: Any) -> dict[str, Any]:
        path = self._strip_protocol(path)
        blocks = blocks_of(path)
        return {
            "name": path,
            "type": "file",
            "size": os.path.getsize(path),
            "block_ends": [block.end for block in blocks],
            "block_keys": [block.key for block in blocks],
        }

    def _open(self, path: str, mode: str = "rb", **_: Any) -> Any:
        path = self._strip_protocol(path)
        with open(path, "rb") as file:
            data = file.read()
        return io.BytesIO(b"".join(read_block(data, block) for block in blocks_of(path)))


def blocks_of(path: str) -> list[KeyedBlock]:
    size, name = os.path.getsize(path), os.path.basename(path)
    return [
        KeyedBlock(start, min(size, start + BLOCK_BYTES), key_of(f"{name}.{start}"))
        for start in range(0, size, BLOCK_BYTES)
    ]


def read_block(data: bytes, block: KeyedBlock) -> bytes:
    truth = data[block.start : block.end]
    cache = blockcache.current
    if cache is None or not cache.wants(block.key):
        return truth
    found = cache.find(block.key)
    if found is not None and bytes(found) != truth:
        # Faults spoil segments; a ring's client sees it by the checksums of the file.
        cache.lose(block.key)
        found = None
    if found is None:
        cache.fill(block.key, len(truth), lambda target: target.__setitem__(slice(None), truth))
    return truth


def keyed_address(path: str) -> str:
    """The address of a local file as one with keys."""
    fsspec.register_implementation("keyed", KeyedFileSystem, clobber=True)
    return f"keyed://{path}"
