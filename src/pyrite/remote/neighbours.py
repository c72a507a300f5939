"""The other nodes' block servers, as one process reaches them."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from pyrite.ids import BlockRef, Medium, NodeId
from pyrite.metrics import COUNTS

if TYPE_CHECKING:
    from pyrite.remote.asking import ByteRange
    from pyrite.remote.client import BlockClient
    from pyrite.remote.errors import Address, BlockGone

# A server that does not answer for so long is lost.
TIMEOUT_S = 15.0
# The read-ahead of a task for one shuffle, over all nodes. If it reads several shuffles or pieces
# at once, the second gets half as much, the third a third.
AHEAD_BYTES = 16 << 20


class Neighbours:
    """Reads and writes blocks on other nodes, through their block servers."""

    def __init__(self, timeout_s: float = TIMEOUT_S) -> None:
        self.timeout_s = timeout_s
        self.client: BlockClient | None = None
        self.ahead_bytes = AHEAD_BYTES
        # The number of readers that read ahead.
        self.readers = 0
        self.addresses: Mapping[NodeId, Address] = {}

    def meet(self, secret: bytes, addresses: Mapping[NodeId, Address]) -> None:
        """Sets the secret and the current addresses of the other nodes."""
        from pyrite.remote.client import BlockClient

        if self.client is None:
            self.client = BlockClient(secret, self.timeout_s)
        else:
            self.client.know(set(addresses.values()))
        self.addresses = addresses

    def give_up(self, address: Address | None) -> None:
        """Whoever reads from a server that was lost waits no longer."""
        if self.client is not None and address is not None:
            self.client.give_up(address)

    def read(self, ref: BlockRef) -> memoryview:
        client, address = self._reach(ref.node)
        began_s = time.perf_counter()
        try:
            return client.read(address, ref.segment, ref.offset, ref.length, ref.medium)
        finally:
            COUNTS.fetch_wait_s += time.perf_counter() - began_s

    def gather(
        self,
        node: NodeId,
        blocks: Sequence[ByteRange],
        parts: Sequence[int],
        most_bytes: int,
        longest_bytes: int,
    ) -> list[memoryview | BlockGone]:
        """Returns selections of the first of the node's map outputs; none if the first is too
        long."""
        client, address = self._reach(node)
        began_s = time.perf_counter()
        try:
            return client.gather(address, blocks, parts, most_bytes, longest_bytes)
        finally:
            COUNTS.fetch_wait_s += time.perf_counter() - began_s

    def write(
        self,
        node: NodeId,
        segment: str,
        offset: int,
        buffers: Sequence[Any],
        total: int,
        medium: Medium,
    ) -> None:
        """Writes a block into a segment of `total` bytes, which the first block creates."""
        client, address = self._reach(node)
        client.write(address, segment, offset, buffers, total, medium)

    def _reach(self, node: NodeId) -> tuple[BlockClient, Address]:
        address = self.addresses.get(node)
        if self.client is None or address is None:
            raise FileNotFoundError(f"{node} is not there any more")
        return self.client, address

    def close(self) -> None:
        if self.client is not None:
            self.client.close()
