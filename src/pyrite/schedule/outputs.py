"""Map outputs: which parts of each shuffle exist, and where."""

from __future__ import annotations

from collections.abc import Iterator

from pyrite.ids import BlockRef, ShuffleId
from pyrite.schedule.commands import Snapshot


class ShuffleOutputs:
    """The map outputs of one shuffle; the epoch grows whenever one of them is lost."""

    def __init__(self, shuffle: ShuffleId, maps: int) -> None:
        self.shuffle = shuffle
        self.refs: list[BlockRef | None] = [None] * maps
        self.absent = maps
        self.epoch = 0
        self.counted: set[int] = set()
        # An output was lost that would be dealt out differently if it were made again.
        self.torn = False
        self._snapshot: Snapshot | None = None

    @property
    def complete(self) -> bool:
        return self.absent == 0

    def missing(self) -> list[int]:
        return [index for index, ref in enumerate(self.refs) if ref is None]

    def add(self, index: int, ref: BlockRef) -> None:
        assert self.refs[index] is None
        self.refs[index] = ref
        self.absent -= 1

    def lose(self, index: int) -> BlockRef | None:
        """Forgets one output; gives the block that held it."""
        ref = self.refs[index]
        if ref is not None:
            self.refs[index] = None
            self.absent += 1
            self.epoch += 1
            self._snapshot = None
        return ref

    def snapshot(self) -> Snapshot:
        """All outputs as they are now; a task never looks them up while it runs."""
        if self._snapshot is None:
            refs = tuple(ref for ref in self.refs if ref is not None)
            assert len(refs) == len(self.refs), f"shuffle {self.shuffle} is incomplete"
            self._snapshot = Snapshot(self.shuffle, self.epoch, refs)
        return self._snapshot


class Outputs:
    """All shuffles that the scheduler has heard of."""

    def __init__(self) -> None:
        self.shuffles: dict[ShuffleId, ShuffleOutputs] = {}

    def of(self, shuffle: ShuffleId, maps: int) -> ShuffleOutputs:
        found = self.shuffles.get(shuffle)
        if found is None:
            found = self.shuffles[shuffle] = ShuffleOutputs(shuffle, maps)
        return found

    def is_complete(self, shuffle: ShuffleId) -> bool:
        found = self.shuffles.get(shuffle)
        return found is not None and found.complete

    def forget(self, shuffle: ShuffleId) -> Iterator[BlockRef]:
        found = self.shuffles.pop(shuffle, None)
        return iter(()) if found is None else (ref for ref in found.refs if ref is not None)
