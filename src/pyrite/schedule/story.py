"""The story: the ordered log of every event and command."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from typing import Any

from pyrite.ids import BlockRef, Partition
from pyrite.plan.stages import JobSpec
from pyrite.schedule.commands import Command
from pyrite.schedule.events import Event
from pyrite.schedule.taskinputs import Snapshot

Chapter = tuple[float, Event, list[Command]]
Listener = Callable[[float, Event, list[Command]], None]

# Longer values are truncated in text.
MOST_CHARACTERS = 160


class Story:
    """Passes each chapter to listeners, and remembers the last ones for reports."""

    def __init__(self, remembered: int = 64) -> None:
        self.last: deque[Chapter] = deque(maxlen=remembered)
        self.listeners: list[Listener] = []

    def add(self, now_s: float, event: Event, commands: list[Command]) -> None:
        self.last.append((now_s, event, commands))
        for listener in self.listeners:
            listener(now_s, event, commands)

    def text(self) -> str:
        """Returns the remembered chapters, a line per event and command."""
        return "\n".join(line for chapter in self.last for line in readable(*chapter))


def readable(now_s: float, event: Event, commands: list[Command]) -> list[str]:
    """Returns a chapter as lines of text."""
    lines = [f"{now_s:11.6f} {spelled(event)}"]
    lines.extend(f"{'':11}   {spelled(command)}" for command in commands)
    return lines


def spelled(happening: Any) -> str:
    """Returns an event or command as text, without fields that have their default value."""
    defaults = happening._field_defaults
    fields = (
        f"{name}={short(value)}"
        for name, value in happening._asdict().items()
        if name not in defaults or value != defaults[name]
    )
    return " ".join([type(happening).__name__, *fields])


def short(value: Any) -> str:
    match value:
        case BlockRef():
            where = f"{value.node}/{value.medium}/{value.segment}"
            return f"{where}[{value.offset}:{value.offset + value.length}]"
        case Partition():
            return f"{value.rdd}.{value.index}"
        case Snapshot():
            return f"shuffle {value.shuffle} at {value.epoch} {short(value.refs)}"
        case JobSpec():
            return f"{value.id} {value.stage.name!r} {value.stage.id} {list(value.partitions)}"
        case bytes():
            return f"{len(value)} bytes"
        case Exception():
            text = f"{type(value).__name__}: {value}".replace("\n", " ")
        case tuple() | list():
            text = f"({', '.join(map(short, value))})"
        case _:
            text = str(value)
    return text if len(text) <= MOST_CHARACTERS else f"{text[: MOST_CHARACTERS - 3]}..."
