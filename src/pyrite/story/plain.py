"""Events and commands as plain values with names, and without rows."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import fields, is_dataclass
from typing import Any

from pyrite.schedule import commands as do
from pyrite.schedule import events as ev


def plain(value: Any) -> Any:
    """A value for JSON: bytes as their number, tuples with names as objects, errors as their
    class."""
    match value:
        case None | bool() | int() | float() | str():
            return value
        case bytes():
            return {"bytes": len(value)}
        case BaseException():
            return type(value).__name__
        case Mapping():
            return {str(key): plain(each) for key, each in value.items()}
        case tuple() if hasattr(value, "_fields"):
            return {name: plain(getattr(value, name)) for name in value._fields}
        case tuple() | list() | range():
            return [plain(each) for each in value]
        case set() | frozenset():
            return sorted(plain(each) for each in value)
        case _ if is_dataclass(value) and not isinstance(value, type):
            named = {each.name: plain(getattr(value, each.name)) for each in fields(value)}
            return {"kind": type(value).__name__, **named}
        case _:
            return type(value).__name__


def named_fields(happening: Any) -> dict[str, Any]:
    """The fields of an event or command."""
    shorten = SHORTENED.get(type(happening))
    if shorten is not None:
        return shorten(happening)
    return {name: plain(value) for name, value in happening._asdict().items()}


def _parts(command: do.FetchParts) -> dict[str, Any]:
    short = command._replace(parts=(), maps=(), refs=())
    told = {name: plain(value) for name, value in short._asdict().items() if value != ()}
    return {**told, "parts": len(command.parts), "maps": len(command.maps)}


def _released(event: ev.BlocksReleased) -> dict[str, Any]:
    return {"blocks": len(event.refs), "bytes": sum(ref.length for ref in event.refs)}


# What would be long, or has something of the user's in it.
SHORTENED: dict[type[Any], Callable[[Any], dict[str, Any]]] = {
    do.FetchParts: _parts,
    do.CountAccumulators: lambda command: {"job": command.job, "bytes": len(command.updates)},
    do.TellMemory: lambda command: {"question": command.question},
    do.TellCollections: lambda command: {"question": command.question},
    do.ClearExecutor: lambda command: {
        "executor": command.executor, "node": command.node, "known": len(command.known)
    },
    do.ReleaseBarrier: lambda command: {"attempts": [each for each, _ in command.attempts]},
    ev.BlocksReleased: _released,
    # The text of an error may have values of rows in it: only its class is told.
    ev.CheckpointEnded: lambda event: {
        **event._asdict(), "reason": event.reason.partition(":")[0]
    },
    # A record has a time of its own under this name.
    do.SetTimer: lambda command: {"timer": plain(command.timer), "until_s": command.at_s},
    ev.BarrierReached: lambda event: {"attempt": event.attempt, "bytes": len(event.message)},
}  # fmt: skip
