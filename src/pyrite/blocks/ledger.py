"""The ledger of all nodes' pools. Pure."""

from __future__ import annotations

from collections.abc import Iterator

from pyrite.blocks.pool import Pool, Segment
from pyrite.ids import BlockRef, NodeId


class Ledger:
    """One pool per node; blocks of a node that has gone are nobody's any more."""

    def __init__(self) -> None:
        self.pools: dict[NodeId, Pool] = {}

    def join(self, node: NodeId, capacity_bytes: int) -> None:
        self.pools[node] = Pool(capacity_bytes)

    def lose(self, node: NodeId) -> None:
        self.pools.pop(node, None)

    def want(self, node: NodeId, owner: str, name: str, size: int) -> bool:
        """Whether the owner may make this segment on the node."""
        pool = self.pools.get(node)
        return pool is not None and pool.want(owner, name, size)

    def settle(self, node: NodeId, owner: str) -> list[str]:
        """All blocks that the owner wrote are known; gives the segments that can go."""
        pool = self.pools.get(node)
        return [] if pool is None else pool.settle(owner)

    def seal(self, node: NodeId, owner: str) -> list[str]:
        pool = self.pools.get(node)
        return [] if pool is None else pool.seal(owner)

    def pin(self, ref: BlockRef) -> None:
        pool = self.pools.get(ref.node)
        if pool is not None:
            pool.pin(ref)

    def release(self, ref: BlockRef) -> list[str]:
        """The block is not needed any more; gives the segments of its node that can go."""
        pool = self.pools.get(ref.node)
        return [] if pool is None else pool.release(ref)

    def written_by(self, node: NodeId, owner: str) -> tuple[str, ...]:
        pool = self.pools.get(node)
        return () if pool is None else pool.written_by(owner)

    def segments(self) -> Iterator[tuple[str, Segment]]:
        for pool in self.pools.values():
            yield from pool.segments.items()

    def check(self) -> None:
        for pool in self.pools.values():
            pool.check()
