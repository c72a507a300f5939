"""The files that the driver shares with all nodes: each gets them once, from whoever has them."""

from __future__ import annotations

import os
import threading
from collections.abc import Iterable, Sequence

from pyrite.blocks.names import shared_name
from pyrite.blocks.segments import Folders
from pyrite.cluster.node.filefetches import files_folder, pack
from pyrite.cluster.real.clusternode import ClusterNode
from pyrite.ids import NodeId
from pyrite.remote.errors import Address

# So many other nodes are named as sources beside the driver.
MOST_SOURCES = 3


class SharedFiles:
    """Archives of added files, in the order in which they were added."""

    def __init__(self, folders: Folders, own_address: Address) -> None:
        self.folders = folders
        self.own_address = own_address
        self.lock = threading.Lock()
        # Their segments and sizes.
        self.archives: list[tuple[str, int]] = []
        # Of each archive: the nodes that have it, in the order in which they got it.
        self.holders: list[dict[NodeId, Address]] = []

    def pack(self, names: Sequence[str]) -> int:
        """Packs files of the driver's folder; returns the archive's number. In any thread."""
        with self.lock:
            number = len(self.archives)
            segment = shared_name(number)
            path = os.path.join(self.folders.disk, segment)
            size = pack(path, files_folder(self.folders), list(names))
            self.holders.append({})
            self.archives.append((segment, size))
            return number

    def tell(self, nodes: Iterable[ClusterNode], numbers: Iterable[int]) -> None:
        """Has nodes fetch archives."""
        for number in numbers:
            segment, size = self.archives[number]
            for place, node in enumerate(nodes):
                if node.agent is not None:
                    sources = self._sources(number, place)
                    node.agent.send("files", number, segment, size, sources)

    def tell_all(self, node: ClusterNode) -> None:
        """Has a node that joins fetch all archives."""
        self.tell([node], range(len(self.archives)))

    def _sources(self, number: int, place: int) -> list[Address]:
        """Other nodes first, each asker beginning with another; the driver has it at any rate."""
        others = list(self.holders[number].values())
        start = (place * MOST_SOURCES) % max(1, len(others))
        chosen = (others[start:] + others[:start])[:MOST_SOURCES]
        return [*chosen, self.own_address]

    def note_holder(self, number: int, node: ClusterNode) -> None:
        """A node has the archive now, and can give it to others."""
        if node.address is not None:
            self.holders[number][node.id] = node.address

    def forget(self, node: NodeId) -> None:
        for holders in self.holders:
            holders.pop(node, None)
