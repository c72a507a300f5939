"""What must hold of every run, whatever goes wrong; each checker reads the story on its own."""

from __future__ import annotations

from typing import Protocol

from pyrite.schedule.commands import Command
from pyrite.schedule.events import Event


class CheckFailed(AssertionError):
    """The engine did what it must never do."""


class Checker(Protocol):
    """Takes in a chapter of the story, and raises CheckFailed where it can't be."""

    def see(self, now_s: float, event: Event, commands: list[Command]) -> None: ...
