"""The timers that the scheduler sets, each with what it is about."""

from __future__ import annotations

from dataclasses import dataclass

from pyrite.ids import AttemptId, StageId


# Classes, not named tuples: timers of two kinds are never equal.
@dataclass(frozen=True, slots=True)
class CancelGrace:
    """By then a cancelled attempt has reacted, or its executor is killed."""

    attempt: AttemptId


@dataclass(frozen=True, slots=True)
class LocalityWait:
    """From then on tasks of the stage no longer wait for the executors that they prefer."""

    stage: StageId


@dataclass(frozen=True, slots=True)
class SpeculationCheck:
    """Slow tasks are looked for then."""


Timer = CancelGrace | LocalityWait | SpeculationCheck
