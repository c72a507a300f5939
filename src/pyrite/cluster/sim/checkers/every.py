"""All checkers that read the story."""

from __future__ import annotations

from pyrite.cluster.sim.checkers import Checker
from pyrite.cluster.sim.checkers.allocation import Allocated
from pyrite.cluster.sim.checkers.blocks import NeededBlocks
from pyrite.cluster.sim.checkers.collections import CollectionChecks
from pyrite.cluster.sim.checkers.counting import Counting
from pyrite.cluster.sim.checkers.delivery import Delivery
from pyrite.cluster.sim.checkers.economy import Economy
from pyrite.cluster.sim.checkers.executors import Executors
from pyrite.cluster.sim.checkers.fencing import Fencing
from pyrite.cluster.sim.checkers.invariants import Invariants
from pyrite.cluster.sim.checkers.leaving import Leaving
from pyrite.cluster.sim.checkers.memory import Memory
from pyrite.cluster.sim.checkers.orders import FetchOrders
from pyrite.cluster.sim.checkers.prefetched import PrefetchedReads
from pyrite.cluster.sim.checkers.snapshots import Snapshots
from pyrite.cluster.sim.cluster import SimCluster
from pyrite.schedule.scheduler import Scheduler


def every_checker(scheduler: Scheduler, cluster: SimCluster) -> list[Checker]:
    """One of each; they must see the story from its beginning."""
    return [
        Invariants(scheduler),
        Delivery(),
        Counting(),
        Snapshots(),
        Executors(),
        Leaving(),
        Fencing(scheduler, cluster),
        Allocated(scheduler),
        NeededBlocks(scheduler),
        Economy(),
        Memory(scheduler, cluster),
        FetchOrders(scheduler),
        PrefetchedReads(scheduler, cluster),
        CollectionChecks(scheduler),
    ]
