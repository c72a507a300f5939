"""Reading blocks wherever they lie."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

from pyrite.blocks.codec import decode_frames
from pyrite.blocks.segments import Folders, SegmentReader
from pyrite.ids import BlockRef, NodeId

if TYPE_CHECKING:
    from pyrite.remote.client import BlockClient
    from pyrite.remote.errors import Address


class NodeReader(SegmentReader):
    """Reads the own node's segments in place, and those of others through their block servers."""

    def __init__(self, folders: Folders) -> None:
        super().__init__(folders)
        self.client: BlockClient | None = None
        self.addresses: Mapping[NodeId, Address] = {}

    def meet(self, secret: bytes, addresses: Mapping[NodeId, Address]) -> None:
        """Gets to know the other nodes, or those that are there now."""
        from pyrite.remote.client import BlockClient

        if self.client is None:
            self.client = BlockClient(secret)
        self.addresses = addresses

    def view(self, ref: BlockRef) -> memoryview:
        if ref.node == self.folders.node or ref.length == 0:
            return super().view(ref)
        address = self.addresses.get(ref.node)
        if self.client is None or address is None:
            raise FileNotFoundError(f"{ref.node} is not there any more")
        return self.client.read(address, ref.segment, ref.offset, ref.length)

    def rows(self, ref: BlockRef) -> Iterator[list[Any]]:
        if ref.node == self.folders.node:
            return super().rows(ref)
        return decode_frames(self.view(ref))

    def close(self) -> None:
        super().close()
        if self.client is not None:
            self.client.close()
