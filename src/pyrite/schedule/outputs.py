"""Map outputs: which parts of each shuffle exist, and where."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import NamedTuple

from pyrite.blocks.pool import DISK_PREFIX
from pyrite.ids import BlockRef, NodeId, ShuffleId
from pyrite.place.sizes import add_up, encode
from pyrite.plan.stages import StageSpec
from pyrite.rare import rare
from pyrite.schedule import events as ev
from pyrite.schedule.commands import DropShuffle, Snapshot
from pyrite.schedule.storage import Storage
from pyrite.schedule.turn import Turn


class Place(NamedTuple):
    """A node's memory, or its disk."""

    node: NodeId
    on_disk: bool


class PartialOutput(NamedTuple):
    """A block of a map's output that has several, with the code of its parts' sizes."""

    map: int
    ref: BlockRef
    sizes: bytes


class ShuffleOutputs:
    """The map outputs of one shuffle; the epoch grows whenever one of them is lost.

    A block has a number: the map's, where it is the whole output. The blocks of an output that was
    written in parts have numbers above those, which are never given again: whoever has
    fetched one has these rows, and no others that the map made in another attempt.
    """

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
        # Installments by their numbers, also of attempts that still run; and the numbers of the
        # outputs that were written so, the last block's included.
        self.partials: dict[int, PartialOutput] = {}
        self.numbers: dict[int, tuple[int, ...]] = {}
        self.next_number = maps
        # Copies that take the place of an output that is lost.
        self.replicas: dict[int, BlockRef] = {}
        # How often an output could not be copied, as far as that happened.
        self.not_copied: dict[int, int] = {}
        # Outputs that could not be read once already since they were made.
        self.doubted: dict[int, None] = {}
        self.epoch = 0
        # The blocks in the order in which they appeared, by where; those lost since included.
        self.came: dict[Place, list[int]] = {}
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
        in_memory = sum(len(blocks) for place, blocks in self.came.items() if not place.on_disk)
        in_all = sum(map(len, self.came.values()))
        return self.absent / len(self.refs) * in_memory / in_all

    def in_memory(self) -> dict[NodeId, float]:
        """Which part of the blocks that have come on a node is in its memory."""
        found: dict[NodeId, float] = {}
        for place, blocks in self.came.items():
            if not place.on_disk:
                on_disk = len(self.came.get(place._replace(on_disk=True), ()))
                found[place.node] = len(blocks) / (len(blocks) + on_disk)
        return found

    def missing(self) -> list[int]:
        return [index for index, ref in enumerate(self.refs) if ref is None]

    def add(
        self,
        index: int,
        ref: BlockRef,
        sizes: bytes | None = None,
        partials: Iterable[int] = (),
    ) -> None:
        """An output is there, of which these were the partials before the last."""
        assert self.refs[index] is None
        self.refs[index] = ref
        self.sizes[index] = sizes
        self.doubted.pop(index, None)
        self.absent -= 1
        earlier = tuple(partials)
        if not earlier:
            self._note(index, ref)
            return
        assert sizes is not None, "the last partial has no sizes"
        self.numbers[index] = (*earlier, self.grow(PartialOutput(index, ref, sizes)))
        codes = [self.partials[number].sizes for number in self.numbers[index]]
        self.sizes[index] = encode(add_up(codes, len(sizes)))

    def grow(self, partial: PartialOutput) -> int:
        """A block of an output is there; gives its number."""
        number = self.next_number
        self.next_number += 1
        self.partials[number] = partial
        self._note(number, partial.ref)
        return number

    def shed(self, number: int, partial: PartialOutput) -> None:
        """The attempt that wrote it came to nothing."""
        # The shuffle may have been forgotten, and begun anew, since.
        if self.partials.get(number) == partial:
            del self.partials[number]

    def block(self, number: int) -> tuple[BlockRef, bytes] | None:
        """What a number stands for, if it is there and its sizes were told."""
        if number >= len(self.refs):
            found = self.partials.get(number)
            return None if found is None else (found.ref, found.sizes)
        ref, code = self.refs[number], self.sizes[number]
        is_whole = number not in self.numbers
        return (ref, code) if ref is not None and code is not None and is_whole else None

    def blocks_of(self, index: int) -> list[BlockRef]:
        """All that a map's output consists of; nothing where it is not there."""
        if index in self.numbers:
            return [self.partials[number].ref for number in self.numbers[index]]
        ref = self.refs[index]
        return [] if ref is None else [ref]

    def blocks(self) -> list[BlockRef]:
        """All that the outputs which are there consist of."""
        return [ref for index in range(len(self.refs)) for ref in self.blocks_of(index)]

    def _note(self, number: int, ref: BlockRef) -> None:
        place = Place(ref.node, ref.segment.startswith(DISK_PREFIX))
        self.came.setdefault(place, []).append(number)

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
        """Forgets one output, all of it, and those that stand or fall with it; gives their
        blocks."""
        ref = self.refs[index]
        if ref is None:
            return []
        if index in self.replicas:
            rare("a copy takes the place of a lost output")
            self._replace(index, self.replicas.pop(index))
            return [ref]
        if self.together:
            rare("outputs of a barrier are lost together")
        lost = list(range(len(self.refs))) if self.together else [index]
        blocks = [ref for each in lost for ref in self.blocks_of(each)]
        # A copy of what an earlier attempt made would not stand in for what the next one makes.
        blocks += [self.replicas.pop(each) for each in lost if each in self.replicas]
        self.absent += sum(self.refs[each] is not None for each in lost)
        for each in lost:
            self.refs[each] = self.sizes[each] = None
            for number in self.numbers.pop(each, ()):
                del self.partials[number]
        self.epoch += 1
        self._snapshot = None
        if self.was_read and not self.replayable:
            rare("an output is lost that can't be made alike")
            self.torn = True
        return blocks

    def _replace(self, index: int, copy: BlockRef) -> None:
        """The same rows lie elsewhere now."""
        self.refs[index] = copy
        self._note(index, copy)
        self.epoch += 1
        self._snapshot = None

    def lose_node(self, node: NodeId) -> list[BlockRef]:
        """Forgets the outputs that lay there, and those that stand or fall with them.

        All blocks of an output lie on one node, where its task ran, or a copy of the only one.
        """
        there = [i for i, ref in enumerate(self.refs) if ref is not None and ref.node == node]
        return [block for index in there for block in self.lose(index)]

    def snapshot(self) -> Snapshot:
        """All outputs as they are now; a task never looks them up while it runs."""
        self.was_read = True
        if self._snapshot is None:
            refs = tuple(ref for ref in self.refs if ref is not None)
            assert len(refs) == len(self.refs), f"shuffle {self.shuffle} is incomplete"
            blocks = [
                (number, index, self.partials[number].ref)
                for index, numbers in sorted(self.numbers.items())
                for number in numbers
            ]
            self._snapshot = Snapshot(self.shuffle, self.epoch, refs, tuple(blocks))
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
