"""Deliberate bugs in copies of map outputs, and in how they take the places of lost ones."""

from __future__ import annotations

from typing import Any

from mutating import mutation

from pyrite.ids import BlockRef
from pyrite.schedule.replication import ReplicaOrder, Replication

_copies = ReplicaOrder.copies


@mutation(ReplicaOrder, "copies", within=1000)
def a_copy_takes_the_place_of_another_maps_output(self: ReplicaOrder) -> list[BlockRef]:
    return _copies(self)[::-1]


@mutation(Replication, "lose_node")
def a_lost_node_keeps_the_copies_on_it(self: Any, node: Any) -> None:
    for fetch in [f for f, each in self._orders.items() if each.segment.place == node]:
        del self._orders[fetch]


@mutation(Replication, "end", within=1000)
def what_was_lost_while_it_was_copied_has_a_copy(self: Any, fetch: int, is_there: bool) -> None:
    order = self._orders.pop(fetch)
    outputs = self.outputs.get(order.shuffle)
    live = 0
    if is_there and outputs is not None:
        outputs.replicas.update(zip(order.maps, order.copies(), strict=True))
        live = len(order.maps)
    self.storage.drop(self.ledger.end_fetched(order.segment, live))
