"""What the files of segments are called; nobody reads anything out of a name."""

from __future__ import annotations

from pyrite.ids import DRIVER, ExecutorId


def segment_name(writer: ExecutorId, number: int) -> str:
    """The name of a writer's segment; its numbers count over memory and disk together."""
    return f"{name_prefix(writer)}{number}"


def name_prefix(writer: ExecutorId) -> str:
    """What the names of all segments of a writer begin with, and no other's."""
    return "driver-" if writer == DRIVER else f"e{writer}-"


def fetched_name(fetch: int) -> str:
    """The name of the segment that a fetch makes."""
    return f"fetched-{fetch}"


def moved_name(move: int) -> str:
    """The name of a segment where a move has brought it."""
    return f"moved-{move}"
