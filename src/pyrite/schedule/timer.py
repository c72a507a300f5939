"""The timers that the scheduler sets."""

from __future__ import annotations

from dataclasses import dataclass

from pyrite.ids import AttemptId, StageId


# Classes, not named tuples: timers of different kinds must not be equal.
@dataclass(frozen=True, slots=True)
class CancelGrace:
    """When it fires, a cancelled attempt has ended or its executor is killed."""

    attempt: AttemptId


@dataclass(frozen=True, slots=True)
class LocalityWait:
    """When it fires, tasks of the stage no longer wait for the executors that they prefer."""

    stage: StageId


@dataclass(frozen=True, slots=True)
class SpeculationCheck:
    """When it fires, the scheduler looks for slow tasks."""


Timer = CancelGrace | LocalityWait | SpeculationCheck
