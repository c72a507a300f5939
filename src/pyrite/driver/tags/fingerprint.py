"""The fingerprint of an RDD: equal ones have equal rows, in whichever program they are made."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from pyrite.blocks.codec import decode_frames
from pyrite.broadcast import Broadcast
from pyrite.driver.tags.untracked import load_untracked
from pyrite.driver.tags.valuedigest import Unreadable, ValueDigest
from pyrite.ids import BlockRef, ShuffleId
from pyrite.io.filesystem import locate
from pyrite.io.splits import Split
from pyrite.plan.program import NarrowInput, Program, flatten
from pyrite.rdd.dependency import ShuffleDependency
from pyrite.rdd.frozen import Frozen
from pyrite.rdd.op import Sliced

ReadBlock = Callable[[BlockRef], memoryview]


class Fingerprint:
    """Digests the program that computes an RDD, as executors would run it.

    It goes by what was pickled, since functions may have changed what they captured since.
    """

    def __init__(self, read: ReadBlock) -> None:
        self.read = read
        self.values = ValueDigest(self._broadcast)
        self._versions: dict[str, str] = {}
        self._shuffles: dict[ShuffleId, bytes] = {}

    def of(self, frozen: Frozen) -> str:
        """The fingerprint, as text; raises Unreadable."""
        pending: list[tuple[Frozen, ShuffleId | None]] = [(frozen, None)]
        # Parents first, without recursion: lineages grow to thousands of shuffles.
        while True:
            last, shuffle = pending[-1]
            program, shuffles = flatten(last)
            missing = [each for each in shuffles.values() if each.shuffle not in self._shuffles]
            if missing:
                pending += [(each.frozen, each.shuffle) for each in missing]
                continue
            made = self._program(program, shuffles)
            pending.pop()
            if shuffle is None:
                return made.hex()
            self._shuffles[shuffle] = made

    def _program(self, program: Program, shuffles: dict[ShuffleId, ShuffleDependency]) -> bytes:
        loaded = [load_untracked(link) for link in program.links]
        parts: list[Any] = [loaded[-1][1]]
        for place, step in enumerate(program.steps):
            link, first, end = program.runs[place]
            inputs = [
                (each.step, each.mapping)
                if isinstance(each, NarrowInput)
                else (self._shuffles[each.shuffle], shuffles[each.shuffle].partitions)
                for each in step.inputs
            ]
            slices = [self._slices(op) for _, _, op in program.sliced.get(place, ())]
            parts.append((step.partitions, inputs, loaded[link][0][first:end], slices))
        return self.values.of(parts)

    def _broadcast(self, known: Broadcast[Any]) -> Any:
        """What tasks read: the driver's own value may have been changed since."""
        [(value, _)] = decode_frames(self.read(known._ref))
        return value

    def _slices(self, op: Sliced) -> list[Any]:
        op.partitions()
        return [self._slice(op.slices[index]) for index in range(len(op.slices))]

    def _slice(self, part: Any) -> Any:
        match part:
            case bytes():
                # Equal rows may be pickled in other ways.
                return [row for batch in decode_frames(part) for row in batch]
            case Split():
                version = self._version(part.path)
                return part.path, part.start, part.length, part.whole, version
            case BlockRef():
                return bytes(self.read(part))
            case list() | tuple():
                return [self._slice(each) for each in part]
            case _:
                return part

    def _version(self, path: str) -> str:
        if path not in self._versions:
            storage, own = locate(path)
            version = storage.version(own)
            if version is None:
                raise Unreadable(f"the version of {path}")
            self._versions[path] = version
        return self._versions[path]


def fingerprint(frozen: Frozen, read: ReadBlock) -> str:
    """The fingerprint of a frozen RDD; raises Unreadable."""
    return Fingerprint(read).of(frozen)
