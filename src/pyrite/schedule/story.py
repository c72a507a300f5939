"""The story: the ordered log of every event and command."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable

from pyrite.schedule.commands import Command
from pyrite.schedule.events import Event

Chapter = tuple[float, Event, list[Command]]
Listener = Callable[[float, Event, list[Command]], None]


class Story:
    """Tells listeners all that happens, and remembers the last of it for reports."""

    def __init__(self, remembered: int = 64) -> None:
        self.last: deque[Chapter] = deque(maxlen=remembered)
        self.listeners: list[Listener] = []

    def add(self, now_s: float, event: Event, commands: list[Command]) -> None:
        self.last.append((now_s, event, commands))
        for listener in self.listeners:
            listener(now_s, event, commands)

    def text(self) -> str:
        """The remembered end of the story, a line per event and command."""
        lines = []
        for now_s, event, commands in self.last:
            lines.append(f"{now_s:.6f} {event!r:.400}")
            lines.extend(f"           -> {command!r:.400}" for command in commands)
        return "\n".join(lines)
