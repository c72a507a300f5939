"""Map outputs: which of each shuffle exist, and where."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import NamedTuple

from pyrite.blocks.pool import Segment
from pyrite.ids import BlockRef, Medium, NodeId, ShuffleId
from pyrite.plan.stages import StageSpec
from pyrite.probe import probe
from pyrite.schedule import events as ev
from pyrite.schedule.commands import DropShuffle
from pyrite.schedule.storage import Storage
from pyrite.schedule.taskinputs import Snapshot
from pyrite.schedule.turn import Turn


class OutputPlace(NamedTuple):
    """A node's memory, or its disk."""

    node: NodeId
    medium: Medium


class ShuffleOutputs:
    """The map outputs of one shuffle; its epoch increases whenever an output is lost or moves."""

    def __init__(
        self, shuffle: ShuffleId, maps: int, replayable: bool = True, together: bool = False
    ) -> None:
        self.shuffle = shuffle
        self.replayable = replayable
        # Tasks of a barrier stage exchange messages: all outputs are recomputed, or none.
        self.together = together
        self.refs: list[BlockRef | None] = [None] * maps
        self.sizes: list[bytes | None] = [None] * maps
        self.absent = maps
        # Replicas, each of which can replace its output.
        self.replicas: dict[int, BlockRef] = {}
        # Number of failed attempts to replicate an output.
        self.failed_copies: dict[int, int] = {}
        # Outputs that a task failed to read since they were written.
        self.doubted: dict[int, None] = {}
        self.epoch = 0
        # Maps in the order in which their outputs appeared in each place; lost ones included.
        self.came: dict[OutputPlace, list[int]] = {}
        # Whether an output may be listed there more than once: it was recomputed, or has moved.
        self.listed_again = False
        # The bytes of outputs in each node's memory.
        self.memory_bytes: dict[NodeId, int] = {}
        # How many outputs their tasks have written to memory, and in all.
        self._written_to_memory = 0
        self._written = 0
        # Whether the stages that wait for the shuffle have been placed by its first outputs.
        self.foreseen = False
        self.counted: set[int] = set()
        # Set when an output is lost that some reducer may have read, and that recomputing would
        # distribute differently.
        self.torn = False
        self.was_read = False
        self._snapshot: Snapshot | None = None

    @property
    def complete(self) -> bool:
        return self.absent == 0

    @property
    def made_alike(self) -> bool:
        """Whether a recomputed output has the same rows for each reducer."""
        return self.replayable and not self.together

    @property
    def is_unique(self) -> bool:
        """Whether losing an output ends the jobs that read it: reducers may have read others, and
        it would be distributed differently."""
        return self.was_read and not self.replayable

    def to_come_share(self) -> float:
        """Estimates the fraction of the shuffle that is still to be written to memory, from the
        maps that are done."""
        if self.absent == len(self.refs):
            return 1.0
        return self.absent / len(self.refs) * self._written_to_memory / self._written

    def to_disk_share(self) -> float:
        """Estimates the fraction of the shuffle that its tasks will still write to disk."""
        if not self._written:
            return 0.0
        return self.absent / len(self.refs) - self.to_come_share()

    def in_memory(self) -> dict[NodeId, float]:
        """Returns, by node, the fraction of its outputs' bytes that is in memory."""
        total: dict[NodeId, int] = {}
        for ref in self.blocks():
            total[ref.node] = total.get(ref.node, 0) + ref.length
        in_memory = self.memory_bytes.items()
        return {node: size / total[node] for node, size in in_memory if size}

    def missing(self) -> list[int]:
        return [index for index, ref in enumerate(self.refs) if ref is None]

    def add(self, index: int, ref: BlockRef, sizes: bytes | None = None) -> None:
        """Records a new output."""
        assert self.refs[index] is None
        self._point(index, ref)
        self.sizes[index] = sizes
        self.doubted.pop(index, None)
        self.absent -= 1
        self._written += 1
        self._written_to_memory += ref.medium == "memory"

    def sized(self, index: int) -> tuple[BlockRef, bytes] | None:
        """Returns an output and its encoded sizes, if it exists and reported them."""
        ref, code = self.refs[index], self.sizes[index]
        return (ref, code) if ref is not None and code is not None else None

    def blocks(self) -> list[BlockRef]:
        """Returns the blocks of the outputs that exist."""
        return [ref for ref in self.refs if ref is not None]

    def _point(self, index: int, ref: BlockRef | None) -> None:
        """Points an output to its block, if it has one, and lists it where that is."""
        before = self.refs[index]
        if before is not None and before.medium == "memory":
            self.memory_bytes[before.node] -= before.length
        self.refs[index] = ref
        if ref is not None:
            if ref.medium == "memory":
                self.memory_bytes[ref.node] = self.memory_bytes.get(ref.node, 0) + ref.length
            self.came.setdefault(OutputPlace(ref.node, ref.medium), []).append(index)

    def list_again(self, index: int) -> None:
        """Lists an output anew where it is: whoever has passed it over may have skipped it."""
        ref = self.refs[index]
        if ref is not None:
            self.came[OutputPlace(ref.node, ref.medium)].append(index)
            self.listed_again = True

    def relocate(self, index: int, target: Segment) -> None:
        """Points an output to the copy of its segment, at the same offset."""
        ref = self.refs[index]
        assert ref is not None
        moved = ref._replace(segment=target.name, node=target.place, medium=target.medium)
        self._replace(index, moved)

    def distrust(self, index: int) -> list[BlockRef]:
        """Records a failed read; returns the replica where it must not be tried either.

        An output that was corrupt before it was copied is corrupt in all replicas. So after a
        failed read one replica is tried; if that fails too, the output is recomputed.
        """
        if index in self.doubted and index in self.replicas:
            return [self.replicas.pop(index)]
        self.doubted[index] = None
        return []

    def lose(self, index: int) -> list[BlockRef]:
        """Replaces a lost output by its replica, or forgets it with all that depend on it; returns
        the blocks to release."""
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
        # The next attempt may write other rows than the replica holds.
        blocks += [self.replicas.pop(each) for each in lost if each in self.replicas]
        for each in lost:
            self._point(each, None)
            self.sizes[each] = None
        self.epoch += 1
        self.listed_again = True
        self._snapshot = None
        if self.is_unique:
            probe("an output is lost that can't be made alike")
            self.torn = True
        return blocks

    def _replace(self, index: int, copy: BlockRef) -> None:
        """Points an output to a copy of it."""
        self._point(index, copy)
        self.epoch += 1
        self.listed_again = True
        self._snapshot = None

    def is_copyable(self, index: int, tries: int) -> bool:
        """Whether the output's sizes are known, and copying it has not failed so often."""
        return self.sized(index) is not None and self.failed_copies.get(index, 0) < tries

    def on(self, node: NodeId) -> list[int]:
        """The outputs on a node."""
        return [i for i, ref in enumerate(self.refs) if ref is not None and ref.node == node]

    def lose_node(self, node: NodeId) -> list[BlockRef]:
        """Loses the outputs on a node; returns the blocks to release."""
        return [block for index in self.on(node) for block in self.lose(index)]

    def snapshot(self) -> Snapshot:
        """Returns the locations of all outputs; a task looks nothing up while it runs."""
        self.was_read = True
        if self._snapshot is None:
            refs = tuple(ref for ref in self.refs if ref is not None)
            assert len(refs) == len(self.refs), f"shuffle {self.shuffle} is incomplete"
            self._snapshot = Snapshot(self.shuffle, self.epoch, refs)
        return self._snapshot


class Outputs:
    """All shuffles that the scheduler knows."""

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
        """Returns the snapshots of these shuffles that are complete."""
        found = (self._shuffles.get(each) for each in shuffles)
        return tuple(each.snapshot() for each in found if each is not None and each.complete)

    def on_forgotten(self, event: ev.ShuffleForgotten) -> None:
        self.storage.release(self.forget(event.shuffle))
        self.turn.add(DropShuffle(event.shuffle))

    def forget(self, shuffle: ShuffleId) -> list[BlockRef]:
        """Forgets a shuffle, and returns its blocks."""
        found = self._shuffles.pop(shuffle, None)
        return [] if found is None else [*found.blocks(), *found.replicas.values()]
