"""An idle engine holds nothing."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from pyrite.cluster.sim.checkers.blocks import strays
from pyrite.cluster.sim.cluster import SimCluster
from pyrite.ids import DRIVER

if TYPE_CHECKING:
    from pyrite.schedule.scheduler import Scheduler


def what_is_left(scheduler: Scheduler, cluster: SimCluster) -> dict[str, Any]:
    """What the scheduler and the nodes still hold, by kind; empty when idle."""
    ledger = scheduler.storage.ledger
    there = {DRIVER, *(each.id for each in scheduler.fleet)}
    open_segments = {
        segment.name
        for writer, granted in ledger.writers.items()
        if writer in there
        for segment in granted.open.values()
    }
    held = {
        "jobs": sorted(each.spec.id for each in scheduler.jobs),
        "stages": sorted(each.spec.id for each in scheduler.stages),
        "tasks": sorted(each.id for each in scheduler.attempts),
        "shuffles": sorted(each.shuffle for each in scheduler.outputs),
        "live rows": sorted(scheduler.storage.kept.live_rdds()),
        "kept blocks": sorted(scheduler.storage.kept.block_rdds()),
        "persisted": sorted(scheduler.storage.persisted),
        "blocks": {name: each.live for name, each in ledger.segments.items() if each.live},
        "dead segments": [
            name
            for name, each in ledger.segments.items()
            if not each.live and name not in open_segments
        ],
        "moves": sorted(ledger.moves),
        "prefetched": sorted(each.fetch for each in scheduler.segments),
        "plans": sorted(each.spec.id for each in scheduler.plans),
        "collections": [each.name for each in scheduler.collections],
        "replicas": scheduler.storage.kept.replicas(),
        "copies that are watched": scheduler.replicas.watched(),
        "recoveries": scheduler.bound.known(),
        "who waits for room": [each.wanted for each in scheduler.room.waiting],
        "rows in executors": [
            (executor.id, sorted(executor.worker.live.rdds))
            for executor in cluster.executors.values()
            if executor.worker is not None and executor.worker.live.rdds
        ],
        "what executors were told": [
            (executor.id, sorted(executor.worker.stages), sorted(executor.worker.snapshots))
            for executor in cluster.executors.values()
            if executor.worker is not None and (executor.worker.stages or executor.worker.snapshots)
        ],
        "files": [
            (node.id, found)
            for node in (cluster.driver, *cluster.nodes)
            if node.up and (found := strays(node, scheduler))
        ],
        "timers": list(cluster.timers.at_s),
        "words": sum(map(len, cluster.on_way.values())),
        "events": len(cluster.events) + len(cluster.posted.items),
    }
    return {name: each for name, each in held.items() if each}
