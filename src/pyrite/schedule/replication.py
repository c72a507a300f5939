"""Replicas of map outputs on other nodes, so that losing a node loses no output."""

from __future__ import annotations

from dataclasses import dataclass

from pyrite.blocks.fetched import fetched_bytes, lay_out
from pyrite.blocks.parts import selection_bytes
from pyrite.blocks.pool import Segment
from pyrite.ids import BlockRef, NodeId, ShuffleId
from pyrite.probe import probe
from pyrite.schedule.fetches import Fetches
from pyrite.schedule.outputs import Outputs, ShuffleOutputs
from pyrite.schedule.rules import Rules
from pyrite.schedule.storage import Storage

# After this many failed copies, an output waits until a node joins or is lost.
MOST_TRIES = 3


@dataclass(slots=True, eq=False)
class ReplicaOrder:
    """Map outputs in flight to the node that keeps a replica of them."""

    segment: Segment
    source: NodeId
    shuffle: ShuffleId
    maps: tuple[int, ...]
    refs: tuple[BlockRef, ...]
    # The lengths of the copies.
    lengths: tuple[int, ...]

    def copies(self) -> list[BlockRef]:
        """Returns the blocks of the copies in the segment."""
        place, name, medium = self.segment.place, self.segment.name, self.segment.medium
        entries = lay_out(self.maps, self.lengths)
        return [BlockRef(place, name, each.offset, each.length, medium) for each in entries]


class Replication:
    """Orders replicas, and records them with their outputs.

    A replica is read only after a loss, so it lies on disk: it takes no memory from writers or from
    prefetching, and is never evicted. Once it replaces an output, it is prefetched into memory as
    every output on disk is.
    """

    def __init__(self, rules: Rules, outputs: Outputs, storage: Storage, fetches: Fetches) -> None:
        self.rules = rules
        self.outputs = outputs
        self.storage = storage
        self.ledger = storage.ledger
        self.fetches = fetches
        # Orders in flight by number, and outputs that need a replica by shuffle and source.
        self._orders: dict[int, ReplicaOrder] = {}
        self._wanted: dict[tuple[ShuffleId, NodeId], list[int]] = {}

    def want(self, outputs: ShuffleOutputs, index: int, ref: BlockRef) -> None:
        # With one node there may be no sizes, and no target.
        if self.rules.output_copies > 1 and outputs.sized(index) is not None:
            self._wanted.setdefault((outputs.shuffle, ref.node), []).append(index)

    def evacuate(self, outputs: ShuffleOutputs, node: NodeId, indices: list[int]) -> None:
        """Requests replicas of outputs whose node leaves; without another node they wait for
        one."""
        if self._target(node) is None:
            return
        known = set(self._wanted.get((outputs.shuffle, node), ()))
        under_way = {ref for each in self._orders.values() for ref in each.refs}
        new = [i for i in indices if i not in known and outputs.refs[i] not in under_way]
        if new:
            self._wanted.setdefault((outputs.shuffle, node), []).extend(new)

    def order(self) -> None:
        """Orders replicas of new outputs, one order per shuffle and source at a time."""
        if not self._wanted:
            return
        under_way = {(each.shuffle, each.source) for each in self._orders.values()}
        for key in [each for each in self._wanted if each not in under_way]:
            maps = self._wanted.pop(key)
            outputs = self.outputs.get(key[0])
            target = self._target(key[1])
            if outputs is not None and target is not None:
                self._copy_outputs(outputs, key[1], target, maps)

    def _target(self, source: NodeId) -> NodeId | None:
        """Chooses another node, round-robin.

        Storage-only nodes are left out: they may be asked to leave, and outputs would keep them.
        """
        others = [
            node
            for node, pool in self.ledger.pools.items()
            if node != source and pool.lends and not pool.storage_only
        ]
        return others[self.fetches.last % len(others)] if others else None

    def _copy_outputs(
        self, outputs: ShuffleOutputs, source: NodeId, target: NodeId, maps: list[int]
    ) -> None:
        """Orders copies of as many outputs as may be in flight to a node; the others wait."""
        taken: dict[int, BlockRef] = {}
        parts = total_bytes = 0
        for place, index in enumerate(maps):
            block = outputs.sized(index)
            # It may have been lost since; if it was recomputed, it was requested again.
            if block is None or block[0].node != source or index in outputs.replicas:
                continue
            ref, sizes = block
            # An output that could not be copied may be corrupt: copy it alone.
            is_alone = index in outputs.failed_copies
            if taken and (is_alone or total_bytes + ref.length > self.rules.fetch_bytes):
                self._wanted[outputs.shuffle, source] = maps[place:]
                break
            total_bytes += self.rules.fetch_bytes if is_alone else ref.length
            parts = len(sizes)
            taken[index] = ref
        if taken:
            self._order_copies(outputs, source, target, parts, taken)

    def _order_copies(
        self,
        outputs: ShuffleOutputs,
        source: NodeId,
        target: NodeId,
        parts: int,
        blocks: dict[int, BlockRef],
    ) -> None:
        maps, refs = tuple(blocks), tuple(blocks.values())
        size = fetched_bytes(len(maps), parts, sum(ref.length for ref in refs))
        every = tuple(range(parts))
        fetch, segment = self.fetches.order(source, target, "disk", size, every, blocks)
        lengths = tuple(self._copy_bytes(ref, parts) for ref in refs)
        self._orders[fetch] = ReplicaOrder(segment, source, outputs.shuffle, maps, refs, lengths)

    def _copy_bytes(self, ref: BlockRef, parts: int) -> int:
        """Returns the length of an output's copy; a copy of a copy is as long as its source."""
        is_copy = self.ledger.segments[ref.segment].fetched
        return ref.length if is_copy else selection_bytes(ref.length, parts)

    def ordered(self, fetch: int) -> bool:
        """Whether the order with this number is for replicas."""
        return fetch in self._orders

    def shuffle_of(self, fetch: int) -> ShuffleId:
        return self._orders[fetch].shuffle

    def end(self, fetch: int, is_there: bool) -> None:
        """Ends an order: its replicas are complete, or failed."""
        order = self._orders.pop(fetch)
        outputs = self.outputs.get(order.shuffle)
        live = 0
        if outputs is not None and is_there:
            for index, ref, copy in zip(order.maps, order.refs, order.copies(), strict=True):
                # It may have been lost and recomputed while it was copied.
                if outputs.refs[index] == ref and index not in outputs.replicas:
                    outputs.replicas[index] = copy
                    live += 1
        elif outputs is not None:
            self._try_again(outputs, order)
        self.storage.drop(self.ledger.end_fetched(order.segment, live))

    def _try_again(self, outputs: ShuffleOutputs, order: ReplicaOrder) -> None:
        """Retries a failed order's outputs one by one, on another node if there is one."""
        for index, ref in zip(order.maps, order.refs, strict=True):
            tries = outputs.failed_copies.get(index, 0) + 1
            outputs.failed_copies[index] = tries
            if tries < MOST_TRIES and outputs.refs[index] == ref:
                probe("an output that could not be copied is tried again")
                self.want(outputs, index, ref)

    def renew(self, outputs: ShuffleOutputs) -> None:
        """Requests replicas for outputs that have none, after a loss or a new node."""
        # Those of a node that leaves are tried again too.
        outputs.failed_copies.clear()
        if self.rules.output_copies < 2:
            return
        under_way = [each for each in self._orders.values() if each.shuffle == outputs.shuffle]
        in_flight = {ref for each in under_way for ref in each.refs}
        waiting = {
            (node, index)
            for (shuffle, node), maps in self._wanted.items()
            if shuffle == outputs.shuffle
            for index in maps
        }
        for index, ref in enumerate(outputs.refs):
            if ref is None or index in outputs.replicas or ref in in_flight:
                continue
            if (ref.node, index) not in waiting:
                probe("an output is copied again")
                self.want(outputs, index, ref)

    def lose_node(self, node: NodeId) -> None:
        """Forgets the replicas on a lost node, and the orders to it and from it."""
        for fetch in [f for f, each in self._orders.items() if each.segment.place == node]:
            # The order may have reached the node after a restart.
            self.storage.drop([(node, self._orders.pop(fetch).segment.name)])
        for outputs in self.outputs:
            outputs.replicas = {i: ref for i, ref in outputs.replicas.items() if ref.node != node}
        if any(source == node for _, source in self._wanted):
            probe("outputs are lost before they are copied")
            self._wanted = {key: maps for key, maps in self._wanted.items() if key[1] != node}
