"""All checkers that read the story."""

from __future__ import annotations

from pyrite.cluster.sim.checkers import Checker
from pyrite.cluster.sim.checkers.blocks import Blocks
from pyrite.cluster.sim.checkers.counting import Counting
from pyrite.cluster.sim.checkers.delivery import Delivery
from pyrite.cluster.sim.checkers.economy import Economy
from pyrite.cluster.sim.checkers.executors import Executors
from pyrite.cluster.sim.checkers.invariants import Invariants
from pyrite.cluster.sim.checkers.memory import Memory
from pyrite.cluster.sim.checkers.orders import Orders
from pyrite.cluster.sim.checkers.parcels import ParcelsRead
from pyrite.cluster.sim.checkers.snapshots import Snapshots
from pyrite.cluster.sim.cluster import SimCluster
from pyrite.schedule.scheduler import Scheduler


def every_checker(scheduler: Scheduler, cluster: SimCluster) -> list[Checker]:
    """One of each, to be told the story from its beginning."""
    return [
        Invariants(scheduler),
        Delivery(),
        Counting(),
        Snapshots(),
        Executors(),
        Blocks(scheduler),
        Economy(),
        Memory(scheduler, cluster),
        Orders(scheduler),
        ParcelsRead(scheduler, cluster),
    ]
