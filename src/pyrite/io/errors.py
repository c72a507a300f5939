"""What can be wrong with an input or an output, told with its path."""

from __future__ import annotations

from typing import Any

from pyrite.errors import NotSupported, Refused


class _AboutPath(Refused):
    """An error that keeps the path it is about, also through pickle."""

    def __init__(self, message: str, path: str) -> None:
        super().__init__(message)
        self.path = path

    def __str__(self) -> str:
        return str(self.args[0])

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (str(self), self.path)


class BadPath(_AboutPath, ValueError):
    """A path that can't be understood."""


class InputMissing(_AboutPath, FileNotFoundError):
    """An input path that names nothing."""


class InputUnreadable(_AboutPath, PermissionError):
    """An input file that this user may not read."""


class NestedFolder(_AboutPath, IsADirectoryError):
    """A folder inside an input folder, where only files can be read."""


class InputChanged(_AboutPath, OSError):
    """An input file that is not what it was when its partitions were planned."""


class CorruptInput(_AboutPath, OSError):
    """An input file whose bytes are not what its name or its source promised."""


class OutputExists(_AboutPath, FileExistsError):
    """An output folder that is there already."""


class OutputIncomplete(_AboutPath, OSError):
    """An output of which some partitions were never committed."""


class PackageMissing(Refused, ImportError):
    """An optional package that a path needs; the message says how to install it."""


class CodecUnknown(NotSupported, Refused, ValueError):
    """A compression that Pyrite can't read or write."""
