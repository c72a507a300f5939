"""Map outputs: which parts of each shuffle exist, and where."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import NamedTuple

from pyrite.ids import BlockRef, Medium, NodeId, ShuffleId
from pyrite.plan.stages import StageSpec
from pyrite.probe import probe
from pyrite.schedule import events as ev
from pyrite.schedule.commands import DropShuffle, Snapshot
from pyrite.schedule.storage import Storage
from pyrite.schedule.turn import Turn


class OutputPlace(NamedTuple):
    """A node's memory, or its disk."""

    node: NodeId
    medium: Medium


class ShuffleOutputs:
    """The map outputs of one shuffle; the epoch grows whenever one of them is lost."""

    def __init__(
        self, shuffle: ShuffleId, maps: int, replayable: bool = True, together: bool = False
    ) -> None:
        self.shuffle = shuffle
        self.replayable = replayable
        # Tasks of a barrier stage have heard of each other: they are made again all or none.
        self.together = together
        self.refs: list[BlockRef | None] = [None] * maps
        self.sizes: list[bytes | None] = [None] * maps
        self.absent = maps
        # Copies that take the place of an output that is lost.
        self.replicas: dict[int, BlockRef] = {}
        # How often an output could not be copied, as far as that happened.
        self.not_copied: dict[int, int] = {}
        # Outputs that could not be read once already since they were made.
        self.doubted: dict[int, None] = {}
        self.epoch = 0
        # Maps in the order in which their outputs appeared, by where; lost ones included.
        self.came: dict[OutputPlace, list[int]] = {}
        # Whether those that wait for the shuffle have been placed by the outputs so far.
        self.foreseen = False
        self.counted: set[int] = set()
        # An output was lost that would be dealt out differently if it were made again, and some
        # reducer may have read it.
        self.torn = False
        self.was_read = False
        self._snapshot: Snapshot | None = None

    @property
    def complete(self) -> bool:
        return self.absent == 0

    @property
    def made_alike(self) -> bool:
        """Whether an output that is made again has the same rows for each reducer."""
        return self.replayable and not self.together

    def to_come_share(self) -> float:
        """Which part of the shuffle will still want room in memory, if those maps that are done
        are like the others."""
        seen = len(self.refs) - self.absent
        if not seen:
            return 1.0
        there = self.came.items()
        in_memory = sum(len(blocks) for place, blocks in there if place.medium == "memory")
        in_all = sum(map(len, self.came.values()))
        return self.absent / len(self.refs) * in_memory / in_all

    def in_memory(self) -> dict[NodeId, float]:
        """Which part of the blocks that have come on a node is in its memory."""
        found: dict[NodeId, float] = {}
        for place, blocks in self.came.items():
            if place.medium == "memory":
                on_disk = len(self.came.get(OutputPlace(place.node, "disk"), ()))
                found[place.node] = len(blocks) / (len(blocks) + on_disk)
        return found

    def missing(self) -> list[int]:
        return [index for index, ref in enumerate(self.refs) if ref is None]

    def add(self, index: int, ref: BlockRef, sizes: bytes | None = None) -> None:
        """An output is there."""
        assert self.refs[index] is None
        self.refs[index] = ref
        self.sizes[index] = sizes
        self.doubted.pop(index, None)
        self.absent -= 1
        self._note(index, ref)

    def sized(self, index: int) -> tuple[BlockRef, bytes] | None:
        """An output, if it is there and its sizes were told."""
        ref, code = self.refs[index], self.sizes[index]
        return (ref, code) if ref is not None and code is not None else None

    def blocks(self) -> list[BlockRef]:
        """The outputs that are there."""
        return [ref for ref in self.refs if ref is not None]

    def _note(self, index: int, ref: BlockRef) -> None:
        self.came.setdefault(OutputPlace(ref.node, ref.medium), []).append(index)

    def distrust(self, index: int) -> list[BlockRef]:
        """An output could not be read; gives its copy, where that is not to be read instead.

        What was spoilt before it was copied is spoilt in all copies, and in copies of these: one
        of them is tried, and then the output is made again.
        """
        if index in self.doubted and index in self.replicas:
            return [self.replicas.pop(index)]
        self.doubted[index] = None
        return []

    def lose(self, index: int) -> list[BlockRef]:
        """Forgets one output, and those that stand or fall with it; gives their blocks."""
        ref = self.refs[index]
        if ref is None:
            return []
        if index in self.replicas:
            probe("a copy takes the place of a lost output")
            self._replace(index, self.replicas.pop(index))
            return [ref]
        if self.together:
            probe("outputs of a barrier are lost together")
        lost = list(range(len(self.refs))) if self.together else [index]
        blocks = [ref for each in lost if (ref := self.refs[each]) is not None]
        self.absent += len(blocks)
        # A copy of what an earlier attempt made would not stand in for what the next one makes.
        blocks += [self.replicas.pop(each) for each in lost if each in self.replicas]
        for each in lost:
            self.refs[each] = self.sizes[each] = None
        self.epoch += 1
        self._snapshot = None
        if self.was_read and not self.replayable:
            probe("an output is lost that can't be made alike")
            self.torn = True
        return blocks

    def _replace(self, index: int, copy: BlockRef) -> None:
        """The same rows lie elsewhere now."""
        self.refs[index] = copy
        self._note(index, copy)
        self.epoch += 1
        self._snapshot = None

    def lose_node(self, node: NodeId) -> list[BlockRef]:
        """Forgets the outputs that lay there, and those that stand or fall with them."""
        there = [i for i, ref in enumerate(self.refs) if ref is not None and ref.node == node]
        return [block for index in there for block in self.lose(index)]

    def snapshot(self) -> Snapshot:
        """All outputs as they are now; a task never looks them up while it runs."""
        self.was_read = True
        if self._snapshot is None:
            refs = tuple(ref for ref in self.refs if ref is not None)
            assert len(refs) == len(self.refs), f"shuffle {self.shuffle} is incomplete"
            self._snapshot = Snapshot(self.shuffle, self.epoch, refs)
        return self._snapshot


class Outputs:
    """All shuffles that the scheduler has heard of."""

    def __init__(self, turn: Turn, storage: Storage) -> None:
        self.turn = turn
        self.storage = storage
        self._shuffles: dict[ShuffleId, ShuffleOutputs] = {}

    def __iter__(self) -> Iterator[ShuffleOutputs]:
        return iter(self._shuffles.values())

    def get(self, shuffle: ShuffleId) -> ShuffleOutputs | None:
        return self._shuffles.get(shuffle)

    def of(self, stage: StageSpec) -> ShuffleOutputs:
        """The outputs of a stage that writes a shuffle."""
        assert stage.writes is not None
        found = self._shuffles.get(stage.writes)
        if found is None:
            found = ShuffleOutputs(stage.writes, stage.partitions, stage.replayable, stage.barrier)
            self._shuffles[stage.writes] = found
        return found

    def is_complete(self, shuffle: ShuffleId) -> bool:
        found = self._shuffles.get(shuffle)
        return found is not None and found.complete

    def snapshots(self, shuffles: Iterable[ShuffleId]) -> tuple[Snapshot, ...]:
        """What a task that reads these shuffles is launched with, as far as they are complete."""
        found = (self._shuffles.get(each) for each in shuffles)
        return tuple(each.snapshot() for each in found if each is not None and each.complete)

    def on_forgotten(self, event: ev.ShuffleForgotten) -> None:
        self.storage.release(self.forget(event.shuffle))
        self.turn.add(DropShuffle(event.shuffle))

    def forget(self, shuffle: ShuffleId) -> list[BlockRef]:
        """Forgets a shuffle; gives its blocks."""
        found = self._shuffles.pop(shuffle, None)
        return [] if found is None else [*found.blocks(), *found.replicas.values()]
