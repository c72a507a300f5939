"""Files that `sc.addFile` and its kin have brought to every executor."""

from __future__ import annotations

import os
from typing import ClassVar

from pyrite.errors import UserError

ENVIRONMENT = "PYRITE_FILES"


class SparkFiles:
    """Where added files lie, in the driver and in tasks.

    >>> import pathlib, tempfile
    >>> path = pathlib.Path(tempfile.mkdtemp(), "word.txt")
    >>> _ = path.write_text("hello")
    >>> sc.addFile(path)
    >>> read = lambda name: pathlib.Path(SparkFiles.get(name)).read_text()
    >>> sc.parallelize(["word.txt"]).map(read).collect()
    ['hello']
    """

    _root_directory: ClassVar[str | None] = None

    @classmethod
    def get(cls, filename: str | os.PathLike[str]) -> str:
        """The absolute path of an added file."""
        return os.path.abspath(os.path.join(cls.getRootDirectory(), filename))

    @classmethod
    def getRootDirectory(cls) -> str:
        """The folder that added files lie in."""
        root = cls._root_directory or os.environ.get(ENVIRONMENT)
        if root is None:
            raise UserError("SparkFiles are known while a SparkContext runs: make one first")
        return root


__all__ = ["SparkFiles"]
