"""What a task can be, and how it becomes something else."""

from __future__ import annotations

from enum import Enum


class TaskState(Enum):
    """The state of one task of a stage that has started."""

    # For its input, its pieces, or a retry of its stage.
    WAITING = "waiting"
    PENDING = "pending"
    RUNNING = "running"
    # It runs, and deserves a copy.
    SLOW = "slow"
    # It runs, and so does a copy.
    SPECULATED = "speculated"
    DONE = "done"

    # The identity's own hash, which is not a call of Python code.
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
        # A copy that was given up, or another attempt of the same partition, was faster.
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
        # What it made was lost.
        TaskState.PENDING: "queue",
    },
}
