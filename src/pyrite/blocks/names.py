"""The names of segments' files; no code parses a name."""

from __future__ import annotations

from pyrite.ids import DRIVER, ExecutorId

# With what the names of copies of broadcasts' blocks begin.
COPIES = "copy-"


def segment_name(writer: ExecutorId, number: int) -> str:
    """Returns the name of a writer's segment; numbers count over memory and disk together."""
    return f"{name_prefix(writer)}{number}"


def name_prefix(writer: ExecutorId) -> str:
    """Returns the prefix that all segments of this writer have, and no others."""
    return "driver-" if writer == DRIVER else f"e{writer}-"


def fetched_name(fetch: int) -> str:
    """Returns the name of the segment that a fetch makes."""
    return f"fetched-{fetch}"


def shared_file_name(fetch: int) -> str:
    """Returns the name of the file that this fetch's segment and following ones share."""
    return f"ahead-{fetch}"


def moved_name(move: int) -> str:
    """Returns the name of a moved segment at its target."""
    return f"moved-{move}"


def copy_name(segment: str, offset: int) -> str:
    """Returns the name of the segment that holds a node's copy of a broadcast's block."""
    return f"{COPIES}{segment}-{offset}"


def shared_name(number: int) -> str:
    """Returns the name of the segment that holds an archive of added files."""
    return f"shared-{number}"
