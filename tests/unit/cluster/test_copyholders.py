"""Who is told of which copies of a broadcast."""

from __future__ import annotations

from pyrite.cluster.copyholders import MOST_HOLDERS, CopyHolders
from pyrite.ids import BlockRef, NodeId

DRIVER_NODE = NodeId("driver")
REF = BlockRef(DRIVER_NODE, "driver-3", 160, 1000)
NODES = [NodeId(f"node-{index}") for index in range(9)]


def told(holders: CopyHolders, node: NodeId) -> list[NodeId]:
    named = list(holders.others([REF], node))
    assert all(each[:2] == ("driver-3", 160) for each in named)
    return named[0][2] if named else []


def test_nodes_that_have_a_copy_are_named_to_others() -> None:
    holders = CopyHolders()
    assert told(holders, NODES[0]) == []
    holders.note("driver-3", 160, NODES[0])
    assert told(holders, NODES[0]) == [] and told(holders, NODES[1]) == [NODES[0]]
    # On the driver's own node it is read in place.
    assert told(holders, DRIVER_NODE) == []
    holders.forget_node(NODES[0])
    assert told(holders, NODES[1]) == []


def test_those_who_need_it_begin_with_different_holders() -> None:
    holders = CopyHolders()
    told(holders, NODES[0])
    for node in NODES[:7]:
        holders.note("driver-3", 160, node)
    named = [told(holders, NODES[8]) for _ in range(7)]
    assert all(len(each) == len(set(each)) == MOST_HOLDERS for each in named)
    assert len({each[0] for each in named}) == 7


def test_dropped_blocks_leave_nothing() -> None:
    holders = CopyHolders()
    told(holders, NODES[0])
    holders.note("driver-3", 160, NODES[0])
    holders.forget(["driver-3", "driver-4"])
    # It was copied while it was dropped.
    holders.note("driver-3", 160, NODES[1])
    assert holders.nodes == {}
    # Nor do those that an executor finds when it starts.
    told(holders, NODES[0])
    assert holders.unknown(["driver-3", "driver-4"]) == ["driver-4"]
