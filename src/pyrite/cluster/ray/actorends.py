"""Why an agent's actor has ended, as Ray says it: in one line, with the node and a cure."""

from __future__ import annotations

import re

from pyrite.cluster.node.meeting import SAME_VERSIONS
from pyrite.cluster.ray.head import first_line

# A line at the end of a traceback.
RAISED = re.compile(r"^(?:\w+\.)*\w*Error: .+$", re.MULTILINE)
NOT_LOADED = "failed to import on the worker"
OUT_OF_MEMORY = "OutOfMemoryError"
MONITOR_CURE = (
    "ask for less memory (spark.executor.memory), or start Ray with a higher "
    "RAY_memory_usage_threshold, or with RAY_memory_monitor_refresh_ms=0"
)


def told_end(error: Exception, place: str) -> str:
    """What Ray's error says of the end of the actor at this place."""
    text = str(error)
    if NOT_LOADED in text:
        # The last error is what the others come from.
        *_, raised = ["", *RAISED.findall(text)]
        return f"{place} can't load Pyrite ({raised or 'no reason given'}): {SAME_VERSIONS}"
    if was_out_of_memory(error):
        said = first_line(text).rstrip(".")
        return f"Ray's memory monitor killed the agent of {place} ({said}): {MONITOR_CURE}"
    return f"{type(error).__name__}: {first_line(text)}"


def was_out_of_memory(error: Exception) -> bool:
    return type(error).__name__ == OUT_OF_MEMORY


def is_for_good(reason: str) -> bool:
    """Whether another start on the same node would fail too."""
    return reason.endswith(SAME_VERSIONS)
