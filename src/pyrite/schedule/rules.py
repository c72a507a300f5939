"""The settings that decisions depend on."""

from __future__ import annotations

import sys
from dataclasses import dataclass, field
from math import inf

from pyrite.schedule.health import ExclusionRule
from pyrite.schedule.queue import PoolShare


@dataclass(frozen=True, slots=True)
class SpeculationRule:
    """When a slow task gets a second copy."""

    multiplier: float
    quantile: float
    least_s: float


@dataclass(frozen=True, slots=True)
class LafRule:
    """How tasks whose input has keys are placed (EclipseMR)."""

    # The weight of the last keys against all before them; 0 leaves the ranges as they are.
    alpha: float = 0.001
    # How long other executors wait before they take a task out of its range.
    wait_s: float = 0.0
    # Whether input that a neighbour has in memory is taken from there.
    migrates: bool = False
    # The ranges move after so many tasks.
    window: int = 64


@dataclass(frozen=True, slots=True)
class CollectionRule:
    """How the groups of collections are sized, and how long replicas stay."""

    # Whether groups are sized at each materialisation, or only when the user asks.
    report: bool = True
    # How many of the latest kept RDDs count; 0: all.
    last_rdds: int = 0
    most_group_bytes: int = 64 << 20
    least_group_bytes: int = 8 << 20
    replica_idle_s: float = 60.0


@dataclass(frozen=True, slots=True)
class AllocationRule:
    """How many executors there should be (Spark's dynamic allocation)."""

    least: int = 0
    most: int = sys.maxsize
    # How many there are at the start, if that is more than the least.
    initial: int = 0
    # How long tasks wait before the first executors are added, and before further ones are.
    backlog_s: float = 1.0
    sustained_s: float = 1.0
    # How long a node may be without a task, and how long one that holds kept partitions.
    idle_s: float = 60.0
    cached_idle_s: float = inf
    # How many executors a task is worth.
    ratio: float = 1.0
    # How many executors come with a node; nodes of Ray differ, and count as 1 here.
    node_executors: int = 1


@dataclass(frozen=True, slots=True)
class Rules:
    """The scheduler's settings, fixed at its start."""

    max_failures: int = 1
    max_deaths: int = 4
    max_fetch_failures: int = 4
    locality_wait_s: float = 3.0
    cancel_grace_s: float = 2.0
    fair: bool = False
    shares: dict[str, PoolShare] = field(default_factory=dict)
    speculation: SpeculationRule | None = None
    speculation_interval_s: float = 0.1
    exclusion: ExclusionRule = field(default_factory=ExclusionRule)
    # Whether forecasts of what jobs will read, and of what they will store, guide placement in
    # pools.
    lookahead: bool = True
    reserve: bool = True
    # In smaller shuffles, reducers are neither placed by their input nor prefetched for.
    small_shuffle_bytes: int = 1 << 20
    # Reducers that together read less than this run as one task.
    tiny_reducers_bytes: int = 256 << 10
    # Whether reducers are placed, and their input prefetched, while maps still run; after which
    # share of the maps; and how many bytes may be in flight to one node.
    prefetch: bool = True
    observed_share: float = 0.05
    fetch_bytes: int = 48 << 20
    # The number of nodes that hold each map output.
    output_copies: int = 1
    # Reducers that read more than this, and much more than others, are divided; 0: none.
    divide_bytes: int = 0
    # How long recovering from the loss of a node may take, 0 for any time; how many times as much
    # as needed may be written, to checkpoint later RDDs; and how they are chosen, CUT or EDGE.
    recovery_bound_s: float = 0.0
    recovery_relax: float = 3.0
    recovery_algorithm: str = "CUT"
    laf: LafRule | None = field(default_factory=LafRule)
    collections: CollectionRule = field(default_factory=CollectionRule)
    # The most bytes of input files that a node's pool keeps; 0: none.
    input_cache_bytes: int = 0
    # None: the nodes are those that come by themselves.
    allocation: AllocationRule | None = None
