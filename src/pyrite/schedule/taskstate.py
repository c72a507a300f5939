"""The states of a task, and the moves between them."""

from __future__ import annotations

from enum import Enum


class TaskState(Enum):
    """The state of one task of a stage that has started."""

    # Not queued: waits for its input, its pieces, or a retry of its stage.
    WAITING = "waiting"
    PENDING = "pending"
    RUNNING = "running"
    # Running, and may get a copy.
    SLOW = "slow"
    # Running, with a copy.
    SPECULATED = "speculated"
    DONE = "done"

    # Hash by identity: Enum's own hash is Python code, and slower.
    __hash__ = object.__hash__


# All moves from one state to another, with their names.
MOVES: dict[TaskState, dict[TaskState, str]] = {
    TaskState.WAITING: {
        TaskState.PENDING: "queue",
        TaskState.DONE: "succeed",
    },
    TaskState.PENDING: {
        TaskState.RUNNING: "launch",
        TaskState.WAITING: "withdraw",
        # A cancelled copy, or another attempt at the same partition, was faster.
        TaskState.DONE: "succeed",
    },
    TaskState.RUNNING: {
        TaskState.SLOW: "mark slow",
        TaskState.WAITING: "end",
        TaskState.DONE: "succeed",
    },
    TaskState.SLOW: {
        TaskState.SPECULATED: "launch a copy",
        TaskState.WAITING: "end",
        TaskState.DONE: "succeed",
    },
    TaskState.SPECULATED: {
        TaskState.RUNNING: "end a copy",
        TaskState.DONE: "succeed",
    },
    TaskState.DONE: {
        # Its output was lost.
        TaskState.PENDING: "queue",
    },
}
