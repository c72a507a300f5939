"""A record: what a ring knows of a path, in versions."""

from __future__ import annotations

from typing import Any, NamedTuple

# View and count: the owner of a key counts its writes, and each view has one owner for it.
Version = tuple[int, int]
NEVER: Version = (0, 0)
# A client that repeats an operation finds it here, if no more than this many came after it.
REMEMBERED_OPS = 16


class Record(NamedTuple):
    """A path's value; None says that there is nothing, and since which version."""

    path: str
    version: Version
    value: Any
    ops: tuple[str, ...] = ()
