"""Copies of map outputs on other nodes, where somebody wants to be safe from losing one."""

from __future__ import annotations

from dataclasses import dataclass

from pyrite.blocks.parcel import aligned, directory_bytes, parcel_bytes
from pyrite.blocks.parts import selection_bytes
from pyrite.blocks.pool import DISK_PREFIX, MEMORY_PREFIX, Segment
from pyrite.ids import BlockRef, NodeId, ShuffleId
from pyrite.rare import rare
from pyrite.schedule.commands import FetchParts
from pyrite.schedule.outputs import ShuffleOutputs
from pyrite.schedule.prefetch import Prefetching


@dataclass(slots=True, eq=False)
class Backup:
    """Map outputs on their way to the node that keeps a copy of them."""

    segment: Segment
    source: NodeId
    shuffle: ShuffleId
    parts: int
    maps: tuple[int, ...]
    refs: tuple[BlockRef, ...]

    def copies(self) -> list[BlockRef]:
        """Where the copies lie, once they have arrived."""
        found: list[BlockRef] = []
        offset = directory_bytes(len(self.maps))
        for ref in self.refs:
            length = selection_bytes(ref.length, self.parts)
            found.append(BlockRef(self.segment.place, self.segment.name, offset, length))
            offset = aligned(offset + length)
        return found


class Backups(Prefetching):
    """Orders copies, and remembers them with the outputs that they stand in for."""

    def _want_backup(self, outputs: ShuffleOutputs, index: int, ref: BlockRef) -> None:
        # An output in installments has none: with one block all would be lost.
        if self.rules.output_copies > 1 and outputs.block(index) is not None:
            self.to_copy.setdefault((outputs.shuffle, ref.node), []).append(index)

    def _order_backups(self) -> None:
        """What has appeared on a node goes to another, one order of a shuffle at a time."""
        under_way = {(each.shuffle, each.source) for each in self.backups.values()}
        for key in [each for each in self.to_copy if each not in under_way]:
            maps = self.to_copy.pop(key)
            outputs = self.outputs.shuffles.get(key[0])
            if outputs is not None:
                self._copy_outputs(outputs, key[1], maps)

    def _copy_outputs(self, outputs: ShuffleOutputs, source: NodeId, maps: list[int]) -> None:
        there = [
            (index, *block)
            for index in maps
            if (block := outputs.block(index)) is not None and block[0].node == source
        ]
        target = self._backup_node(source)
        if not there or target is None:
            return
        parts = len(there[0][2])
        size = parcel_bytes(len(there), parts, sum(ref.length for _, ref, _ in there))
        self.parcels.last += 1
        fetch = self.parcels.last
        prefix = MEMORY_PREFIX if self._has_room(target, size) else DISK_PREFIX
        segment = self.ledger.begin_parcel(target, f"{prefix}fetched-{fetch}", size)
        indices = tuple(index for index, _, _ in there)
        refs = tuple(ref for _, ref, _ in there)
        self.backups[fetch] = Backup(segment, source, outputs.shuffle, parts, indices, refs)
        self.commands.append(
            FetchParts(
                fetch, target, segment.name, size, source, tuple(range(parts)), indices, refs
            )
        )

    def _backup_node(self, source: NodeId) -> NodeId | None:
        """The other node with the most room."""
        others = [
            pool
            for node, pool in self.ledger.pools.items()
            if node != source and pool.lends and not pool.leaves
        ]
        best = max(others, key=lambda pool: pool.unused_bytes, default=None)
        return None if best is None else best.node

    def _end_backup(self, fetch: int, is_there: bool) -> None:
        backup = self.backups.pop(fetch)
        outputs = self.outputs.shuffles.get(backup.shuffle)
        live = 0
        if is_there and outputs is not None:
            for index, ref, copy in zip(backup.maps, backup.refs, backup.copies(), strict=True):
                # It may have been lost, and made again, while it was copied.
                if outputs.refs[index] == ref and index not in outputs.backups:
                    outputs.backups[index] = copy
                    live += 1
        self._drop(self.ledger.end_parcel(backup.segment, live))

    def _lose_backups(self, node: NodeId) -> None:
        """A node has gone with the copies on it, and those on their way to it."""
        for fetch in [f for f, each in self.backups.items() if each.segment.place == node]:
            del self.backups[fetch]
        for outputs in self.outputs.shuffles.values():
            outputs.backups = {i: ref for i, ref in outputs.backups.items() if ref.node != node}
        if any(source == node for _, source in self.to_copy):
            rare("outputs are lost before they are copied")
            self.to_copy = {key: maps for key, maps in self.to_copy.items() if key[1] != node}
