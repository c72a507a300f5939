"""A turn: the handling of one event, with its time and its commands."""

from __future__ import annotations

from pyrite.schedule.commands import Command, SetTimer
from pyrite.schedule.timer import Timer


class Turn:
    """Carries the time to every part of the scheduler, and collects their commands."""

    __slots__ = ("commands", "now_s")

    def __init__(self) -> None:
        self.now_s = 0.0
        self.commands: list[Command] = []

    def __getstate__(self) -> float:
        # Commands belong to the current turn only.
        return self.now_s

    def __setstate__(self, now_s: float) -> None:
        self.begin(now_s)

    def begin(self, now_s: float) -> None:
        self.now_s = now_s
        self.commands = []

    def add(self, command: Command) -> None:
        self.commands.append(command)

    def set_timer(self, timer: Timer, delay_s: float) -> None:
        self.commands.append(SetTimer(timer, self.now_s + delay_s))
