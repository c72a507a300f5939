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
    """What the scheduler was told at its start."""

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
    # Whether what the jobs under way will read, and will store, decides on room in the pools.
    lookahead: bool = True
    reserve: bool = True
    # Reducers of smaller shuffles are neither placed by what they read nor prefetched for.
    small_shuffle_bytes: int = 1 << 20
    # Reducers that read less together are computed as one task.
    tiny_reducers_bytes: int = 256 << 10
    # Whether reducers are placed, and their input is prefetched, while maps still run; after which
    # share of the maps, and how many bytes may be in flight to one node.
    prefetch: bool = True
    observed_share: float = 0.05
    fetch_bytes: int = 48 << 20
    # A map task announces its output in parts of this size while it runs, where the reducers that
    # wait for it have places; 0: only at its end.
    # On how many nodes a map output lies.
    output_copies: int = 1
    # Reducers that read more, and much more than others, are divided; none where it is 0.
    divide_bytes: int = 0
