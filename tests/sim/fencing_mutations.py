"""Deliberate bugs in how nodes that were given up are fenced."""

from __future__ import annotations

import os
from typing import Any

from mutating import mutation

from pyrite.cluster.node.fence import Fence
from pyrite.cluster.sim.cluster import SimCluster
from pyrite.cluster.sim.faults import Faults
from pyrite.cluster.sim.store import SimNode

_make_folders = SimNode.make_folders


@mutation(Fence, "is_over")
def a_node_that_was_given_up_works_on(self: Fence, now_s: float) -> bool:
    return False


@mutation(SimCluster, "_forget_peers")
def a_node_that_was_given_up_is_still_heard(self: SimCluster, node: Any) -> None:
    pass


@mutation(SimNode, "make_folders")
def a_node_comes_back_with_what_it_had(self: SimNode) -> None:
    if not os.path.exists(self.folders.memory):
        _make_folders(self)


@mutation(Faults, "_start_anew")
def a_node_goes_on_where_it_was_given_up(self: Faults, node: Any, incarnation: int) -> None:
    if node.incarnation == incarnation and node.up:
        self._join_again(node)
