"""The settings that decisions depend on."""

from __future__ import annotations

from dataclasses import dataclass, field

from pyrite.schedule.health import ExclusionRule
from pyrite.schedule.queue import PoolShare


@dataclass(frozen=True, slots=True)
class SpeculationRule:
    """When a slow task gets a second copy."""

    multiplier: float
    quantile: float
    least_s: float


@dataclass(frozen=True, slots=True)
class Rules:
    """The scheduler's settings, fixed at its start."""

    executors: int = 0
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
