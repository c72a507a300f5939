"""The ledger of a pool: which segments exist, how large they are, and what keeps them alive."""

from __future__ import annotations

from dataclasses import dataclass

from pyrite.ids import BlockRef
from pyrite.rare import rare

# A segment's name tells where it lies; disk has no limit that the ledger would keep.
MEMORY_PREFIX = "m-"
DISK_PREFIX = "d-"


@dataclass(slots=True)
class Segment:
    """A file that blocks are packed into; it goes when it is sealed and no block in it lives."""

    owner: str
    bytes: int
    live: int = 0
    sealed: bool = False


class Pool:
    """Grants segments up to a capacity, and knows when each can be dropped. Pure."""

    def __init__(self, capacity_bytes: int) -> None:
        self.capacity_bytes = capacity_bytes
        self.used_bytes = 0
        self.segments: dict[str, Segment] = {}
        self.open: dict[str, str] = {}
        # Segments that their owners have filled with blocks of which nobody may know yet.
        self.filled: dict[str, list[str]] = {}

    def want(self, owner: str, name: str, size_bytes: int) -> bool:
        """Whether the owner may make this segment; one that asks has filled its last one."""
        self._fill(owner)
        if self.used_bytes + size_bytes > self.capacity_bytes:
            rare("the pool is full")
            return False
        self.segments[name] = Segment(owner, size_bytes)
        self.used_bytes += size_bytes
        self.open[owner] = name
        return True

    def settle(self, owner: str) -> list[str]:
        """All blocks that the owner wrote are known; gives those it filled that can go."""
        gone = []
        for name in self.filled.pop(owner, ()):
            self.segments[name].sealed = True
            gone += self._drop_if_dead(name)
        return gone

    def seal(self, owner: str) -> list[str]:
        """The owner has died and will write nothing more; gives what can go."""
        self._fill(owner)
        return self.settle(owner)

    def _fill(self, owner: str) -> None:
        last = self.open.pop(owner, None)
        if last is not None:
            self.filled.setdefault(owner, []).append(last)

    def pin(self, ref: BlockRef) -> None:
        """A block in the segment lives from now on."""
        segment = self.segments.get(ref.segment)
        if segment is None:
            segment = Segment("", ref.length, sealed=True)
            self.segments[ref.segment] = segment
            if ref.segment.startswith(MEMORY_PREFIX):
                self.used_bytes += ref.length
        segment.live += 1

    def release(self, ref: BlockRef) -> list[str]:
        """The block is not needed any more; gives the segments that can go."""
        segment = self.segments.get(ref.segment)
        if segment is None:
            return []
        segment.live -= 1
        return self._drop_if_dead(ref.segment)

    def written_by(self, owner: str) -> tuple[str, ...]:
        """The segments whose names say that the owner wrote them."""
        prefixes = f"{MEMORY_PREFIX}{owner}-", f"{DISK_PREFIX}{owner}-"
        return tuple(name for name in self.segments if name.startswith(prefixes))

    def _drop_if_dead(self, name: str) -> list[str]:
        segment = self.segments[name]
        if not segment.sealed or segment.live > 0:
            return []
        del self.segments[name]
        if name.startswith(MEMORY_PREFIX):
            self.used_bytes -= segment.bytes
        return [name]

    def check(self) -> None:
        """What always holds."""
        used = sum(s.bytes for n, s in self.segments.items() if n.startswith(MEMORY_PREFIX))
        assert used == self.used_bytes, (used, self.used_bytes)
        for owner, name in self.open.items():
            assert self.segments[name].owner == owner and not self.segments[name].sealed
        for owner, names in self.filled.items():
            assert all(not self.segments[name].sealed for name in names), owner
        for name, segment in self.segments.items():
            assert segment.live >= 0, name
            assert segment.live > 0 or not segment.sealed, f"dead segment {name} is kept"
