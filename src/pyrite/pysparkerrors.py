"""PySpark's own exceptions, by which programs catch what Pyrite raises in their place."""

from __future__ import annotations

import warnings
from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping
from enum import Enum
from pickle import PicklingError
from typing import Any

__all__ = [
    "AnalysisException",
    "ArithmeticException",
    "ArrayIndexOutOfBoundsException",
    "DateTimeException",
    "IllegalArgumentException",
    "NumberFormatException",
    "ParseException",
    "PickleException",
    "PySparkAssertionError",
    "PySparkAttributeError",
    "PySparkException",
    "PySparkImportError",
    "PySparkIndexError",
    "PySparkKeyError",
    "PySparkNotImplementedError",
    "PySparkPicklingError",
    "PySparkRuntimeError",
    "PySparkTypeError",
    "PySparkValueError",
    "PythonException",
    "QueryContext",
    "QueryContextType",
    "QueryExecutionException",
    "SessionNotSameException",
    "SparkNoSuchElementException",
    "SparkRuntimeException",
    "SparkUpgradeException",
    "StreamingPythonRunnerInitializationException",
    "StreamingQueryException",
    "TempTableAlreadyExistsException",
    "UnknownException",
    "UnsupportedOperationException",
]


class QueryContextType(Enum):
    """Whether a part of a query was written as SQL or by calls of a table's methods."""

    SQL = 0
    DataFrame = 1


class QueryContext(ABC):
    """The part of a query that an error is about; Pyrite's own errors have none.

    >>> [context.fragment() for context in PySparkException("no").getQueryContext()]
    []
    """

    @abstractmethod
    def contextType(self) -> QueryContextType:
        """How the query was written."""

    @abstractmethod
    def objectType(self) -> str:
        """In which kind of object the part stands, such as VIEW; empty in the query itself."""

    @abstractmethod
    def objectName(self) -> str:
        """The name of that object; empty in the query itself."""

    @abstractmethod
    def startIndex(self) -> int:
        """Where the part begins in the text, from 0."""

    @abstractmethod
    def stopIndex(self) -> int:
        """Where the part ends in the text, from 0."""

    @abstractmethod
    def fragment(self) -> str:
        """The part itself."""

    @abstractmethod
    def callSite(self) -> str:
        """The line of the program that made the part."""

    @abstractmethod
    def summary(self) -> str:
        """All of it in words."""


class PySparkException(Exception):
    """An error with a condition: a name in capitals that programs can compare.

    >>> error = PySparkValueError("a is negative", errorClass="NEGATIVE_VALUE")
    >>> str(error), error.getCondition(), isinstance(error, ValueError)
    ('[NEGATIVE_VALUE] a is negative', 'NEGATIVE_VALUE', True)
    """

    def __init__(
        self,
        message: str | None = None,
        errorClass: str | None = None,
        messageParameters: Mapping[str, str] | None = None,
        contexts: list[QueryContext] | None = None,
    ) -> None:
        if message is None:
            pairs = (messageParameters or {}).items()
            message = ", ".join(f"{name}: {value}" for name, value in pairs)
        super().__init__(message)
        self._message = message
        self._condition = errorClass
        self._parameters = messageParameters
        self._contexts = contexts or []

    def getCondition(self) -> str | None:
        """The name of what went wrong, or None."""
        return self._condition

    def getErrorClass(self) -> str | None:
        """The condition, by the name that it had before PySpark 4."""
        warnings.warn("use getCondition instead", FutureWarning, stacklevel=2)
        return self._condition

    def getMessageParameters(self) -> Mapping[str, str] | None:
        """What the message speaks of, by name."""
        return self._parameters

    def getSqlState(self) -> str | None:
        """None: there is no SQL."""
        return None

    def getMessage(self) -> str:
        """The condition and the message."""
        return f"[{self._condition}] {self._message}"

    def getQueryContext(self) -> list[QueryContext]:
        """The parts of a query that are to blame: none but those given at the start."""
        return self._contexts

    def getBreakingChangeInfo(self) -> None:
        """None: no error is due to a change between versions."""
        return None

    def __str__(self) -> str:
        return self._message if self._condition is None else self.getMessage()


class PySparkValueError(PySparkException, ValueError):
    """A ValueError with a condition."""


class PySparkTypeError(PySparkException, TypeError):
    """A TypeError with a condition."""


class PySparkIndexError(PySparkException, IndexError):
    """An IndexError with a condition."""


class PySparkKeyError(PySparkException, KeyError):
    """A KeyError with a condition."""


class PySparkAttributeError(PySparkException, AttributeError):
    """An AttributeError with a condition."""


class PySparkRuntimeError(PySparkException, RuntimeError):
    """A RuntimeError with a condition."""


class PySparkNotImplementedError(PySparkException, NotImplementedError):
    """A NotImplementedError with a condition."""


class PySparkPicklingError(PySparkException, PicklingError):
    """A PicklingError with a condition."""


class PySparkImportError(PySparkException, ImportError):
    """An ImportError with a condition."""


class PySparkAssertionError(PySparkException, AssertionError):
    """An AssertionError with a condition, and the rows that it is about."""

    def __init__(
        self,
        message: str | None = None,
        errorClass: str | None = None,
        messageParameters: Mapping[str, str] | None = None,
        data: Iterable[Any] | None = None,
    ) -> None:
        super().__init__(message, errorClass, messageParameters)
        self.data = data


# What Spark SQL raises, and so nothing here: programs name them in `except`.


class AnalysisException(PySparkException):
    """A query that makes no sense."""


class ParseException(AnalysisException):
    """A query that can't be read."""


class TempTableAlreadyExistsException(AnalysisException):
    """A view whose name is taken."""


class SessionNotSameException(PySparkException):
    """Tables of different sessions in one query."""


class IllegalArgumentException(PySparkException):
    """An argument that the JVM refuses."""


class NumberFormatException(IllegalArgumentException):
    """A text that is no number."""


class ArithmeticException(PySparkException):
    """A sum that has no result."""


class UnsupportedOperationException(PySparkException):
    """An operation that a table does not have."""


class ArrayIndexOutOfBoundsException(PySparkException):
    """An index beyond an array's end."""


class DateTimeException(PySparkException):
    """A date that does not exist."""


class StreamingQueryException(PySparkException):
    """A streaming query that ended with an error."""


class StreamingPythonRunnerInitializationException(PySparkException):
    """A streaming query whose Python process did not start."""


class QueryExecutionException(PySparkException):
    """A query that failed while it ran."""


class PythonException(PySparkException):
    """A Python function that failed in a query."""


class SparkRuntimeException(PySparkException):
    """A failure of Spark's own while a query ran."""


class SparkUpgradeException(PySparkException):
    """A result that differs between Spark's versions."""


class SparkNoSuchElementException(PySparkException):
    """A key that a map does not have."""


class PickleException(PySparkException):
    """A pickle that the JVM can't read."""


class UnknownException(PySparkException):
    """Any other error of the JVM."""
