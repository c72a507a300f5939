"""The other nodes, as one process knows them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from pyrite.ids import BlockRef, NodeId

if TYPE_CHECKING:
    from pyrite.remote.client import BlockClient
    from pyrite.remote.errors import Address, BlockGone

# What a reducer has fetched and not yet read, of all nodes together.
AHEAD_BYTES = 16 << 20


class Neighbours:
    """Reads and writes blocks on other nodes, through their block servers."""

    def __init__(self) -> None:
        self.client: BlockClient | None = None
        self.ahead_bytes = AHEAD_BYTES
        self.addresses: Mapping[NodeId, Address] = {}

    def meet(self, secret: bytes, addresses: Mapping[NodeId, Address]) -> None:
        """Gets to know the other nodes, or those that are there now."""
        from pyrite.remote.client import BlockClient

        if self.client is None:
            self.client = BlockClient(secret)
        self.addresses = addresses

    def read(self, ref: BlockRef) -> memoryview:
        client, address = self._reach(ref.node)
        return client.read(address, ref.segment, ref.offset, ref.length)

    def gather(
        self, node: NodeId, refs: Sequence[BlockRef], parts: Sequence[int], most_bytes: int
    ) -> list[memoryview | BlockGone]:
        """Selections of the first of the node's map outputs, at least of one."""
        from pyrite.remote.asking import Stretch

        client, address = self._reach(node)
        blocks = [Stretch(ref.segment, ref.offset, ref.length) for ref in refs]
        return client.gather(address, blocks, parts, most_bytes)

    def write(
        self, node: NodeId, segment: str, offset: int, buffers: Sequence[Any], total: int
    ) -> None:
        """Writes a block into a segment of `total` bytes, which the first one makes."""
        client, address = self._reach(node)
        client.write(address, segment, offset, buffers, total)

    def _reach(self, node: NodeId) -> tuple[BlockClient, Address]:
        address = self.addresses.get(node)
        if self.client is None or address is None:
            raise FileNotFoundError(f"{node} is not there any more")
        return self.client, address

    def close(self) -> None:
        if self.client is not None:
            self.client.close()
