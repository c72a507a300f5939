"""Files that `sc.addFile` and its kin have brought to every executor."""

from __future__ import annotations

import os
from typing import ClassVar

from pyrite.errors import UserError

ENVIRONMENT = "PYRITE_FILES"


class SparkFiles:
    """Where added files lie, in the driver and in tasks.

    >>> import os, tempfile
    >>> path = os.path.join(tempfile.mkdtemp(), "word.txt")
    >>> _ = open(path, "w").write("hello")
    >>> sc.addFile(path)
    >>> sc.parallelize([0]).map(lambda _: open(SparkFiles.get("word.txt")).read()).collect()
    ['hello']
    """

    _root_directory: ClassVar[str | None] = None

    @classmethod
    def get(cls, filename: str) -> str:
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
