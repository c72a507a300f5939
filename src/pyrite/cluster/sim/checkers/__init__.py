"""Invariants of every run, under any faults; each checker reads the story independently."""

from __future__ import annotations

from typing import Protocol

from pyrite.schedule.commands import Command
from pyrite.schedule.events import Event


class CheckFailed(AssertionError):
    """The engine violated an invariant."""


class Checker(Protocol):
    """Checks each event with its commands; raises CheckFailed."""

    def see(self, now_s: float, event: Event, commands: list[Command]) -> None: ...
