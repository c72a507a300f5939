"""The addresses of all block servers, and what each agent has yet to be told of them."""

from __future__ import annotations

from pyrite.ids import NodeId
from pyrite.remote.errors import Address


class AddressBook:
    """A list of changes: an agent is told those since the last time, when it is sent something.

    So a node that joins costs the driver nothing for each of the others.
    """

    def __init__(self) -> None:
        self.addresses: dict[NodeId, Address] = {}
        self.changes: list[tuple[NodeId, Address | None]] = []

    def add(self, node: NodeId, address: Address) -> None:
        self.addresses[node] = address
        self.changes.append((node, address))

    def remove(self, node: NodeId) -> None:
        if self.addresses.pop(node, None) is not None:
            self.changes.append((node, None))

    def since(self, count: int) -> tuple[dict[NodeId, Address], list[NodeId]]:
        """The addresses that are new after so many changes, and the nodes that have gone."""
        if not count:
            return self.addresses, []
        latest = dict(self.changes[count:])
        added = {node: address for node, address in latest.items() if address is not None}
        return added, [node for node, address in latest.items() if address is None]
