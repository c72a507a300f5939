"""The three families of errors: the user's function, the cluster, the engine."""

from __future__ import annotations

from typing import Any


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


class ClusterError(PyriteError):
    """Processes, memory or disks failed more often than the engine may retry."""


class EngineError(PyriteError):
    """Pyrite contradicts itself: a bug, please report it with the story in the message."""


class NotSupported(UserError, NotImplementedError):
    """Something that PySpark takes from the JVM and Pyrite does not have."""


class ContextStopped(UserError, RuntimeError):
    """The context was stopped, or belongs to another process."""


class ReferencedInTask(UserError, RuntimeError):
    """A task refers to the context or to an RDD, which live in the driver only."""

    def __init__(self, what: str, cure: str) -> None:
        super().__init__(f"{what} can't be used inside a task. {cure}")
        self.cure = cure


class BroadcastDestroyed(UserError, RuntimeError):
    """A broadcast was used after destroy()."""

    def __init__(self, id: int) -> None:
        self.cure = "Broadcast the value again, and destroy it after the last job that reads it."
        super().__init__(f"broadcast {id} was destroyed. {self.cure}")


class JobCancelled(UserError):
    """The job was cancelled by its group, tag, id or by Ctrl-C."""


class TaskFailed(UserError):
    """A user's function failed in a task: its own traceback comes first."""

    def __init__(
        self, message: str, *, stage: int, partition: int, attempts: int, traceback: str = ""
    ) -> None:
        super().__init__(message)
        self.stage = stage
        self.partition = partition
        self.attempts = attempts
        self.traceback = traceback
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


class PySparkException(UserError):
    """An error of tables; `getCondition` gives the name that PySpark has for it."""

    def __init__(self, condition: str, message: str) -> None:
        super().__init__(f"[{condition}] {message}")
        self.condition = condition

    def getCondition(self) -> str:
        """The error's name, such as CANNOT_DETERMINE_TYPE."""
        return self.condition

    def getErrorClass(self) -> str:
        """The same, under the name that it had before."""
        return self.condition


class PySparkTypeError(PySparkException, TypeError):
    """A value or an argument of a wrong type."""


class PySparkValueError(PySparkException, ValueError):
    """A value or an argument that can't be."""


class PySparkAttributeError(PySparkException, AttributeError):
    """An attribute that a table or a column does not have."""


class AnalysisException(PySparkException):
    """A query that speaks of columns or tables that there are not."""


class ParseException(AnalysisException):
    """A query or a schema that can't be read."""
