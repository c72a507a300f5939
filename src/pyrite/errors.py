"""The three families of errors: the user's function, the cluster, the engine.

Each is also of the class by which a PySpark program catches it: what PySpark's Python raises has
a condition, and what its JVM raises is a Py4JJavaError.
"""

from __future__ import annotations

from typing import Any

from pyrite.py4j import Py4JJavaError
from pyrite.pysparkerrors import *  # noqa: F403
from pyrite.pysparkerrors import PySparkNotImplementedError, PySparkRuntimeError


class PyriteError(Exception):
    """The root of everything that Pyrite raises by itself."""

    def __reduce__(self) -> tuple[Any, ...]:
        # Constructors take other arguments than messages; errors travel between processes whole.
        return _rebuilt, (type(self), self.args, dict(self.__dict__))


def _rebuilt(kind: type[PyriteError], args: tuple[Any, ...], state: dict[str, Any]) -> PyriteError:
    error = kind.__new__(kind, *args)
    error.args = args
    error.__dict__.update(state)
    return error


class UserError(PyriteError):
    """The program asked for something that can't be done; the message says what to do instead."""


class Refused(UserError, Py4JJavaError):
    """A request that PySpark leaves to its JVM to refuse."""


class BadValue(Refused, ValueError):
    """A value that PySpark leaves to its JVM to refuse."""


class ClusterError(PyriteError, Py4JJavaError):
    """Processes, memory or disks failed more often than the engine may retry."""


class EngineError(PyriteError, Py4JJavaError):
    """Pyrite contradicts itself: a bug, please report it with the story in the message."""


class NotSupported(UserError, PySparkNotImplementedError):
    """Something that PySpark takes from the JVM and Pyrite does not have."""


class ContextStopped(UserError, RuntimeError, AttributeError):
    """The context was stopped, or belongs to another process.

    An AttributeError too, since PySpark finds that a stopped context has lost its attributes.
    """


class ReferencedInTask(UserError, PySparkRuntimeError):
    """A task refers to the context or to an RDD, which live in the driver only."""

    def __init__(self, what: str, cure: str, condition: str | None = None) -> None:
        super().__init__(f"{what} can't be used inside a task. {cure}", condition)
        self.cure = cure


class BroadcastDestroyed(Refused, RuntimeError):
    """A broadcast was used after destroy()."""

    def __init__(self, id: int) -> None:
        self.cure = "Broadcast the value again, and destroy it after the last job that reads it."
        super().__init__(f"broadcast {id} was destroyed. {self.cure}")


class JobCancelled(Refused):
    """The job was cancelled by its group, tag, id or by Ctrl-C."""


class TaskFailed(Refused):
    """A user's function failed in a task: its own traceback comes first."""

    def __init__(
        self, message: str, *, stage: int, partition: int, attempts: int, traceback: str = ""
    ) -> None:
        super().__init__(message)
        self.stage = stage
        self.partition = partition
        self.attempts = attempts
        self.traceback = traceback
        # The message without values of the user's: types and places.
        self.told = ""
        self.pickled: bytes | None = None
        self.original: BaseException | None = None


class ExecutorDied(ClusterError):
    """A partition killed its executor as often as the limit allows."""

    def __init__(self, message: str, *, stage: int, partition: int, attempts: int) -> None:
        super().__init__(message)
        self.stage = stage
        self.partition = partition
        self.attempts = attempts


class StageAborted(ClusterError):
    """A stage lost its input or its executors too often."""
