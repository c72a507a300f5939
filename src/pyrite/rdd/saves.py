"""Actions that write an RDD to files."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from os import PathLike
from typing import TYPE_CHECKING, Any, NoReturn, TypeVar

from pyrite.errors import NotSupported
from pyrite.interrupts import Interruptible, Uninterrupted
from pyrite.rdd.base import Lineage
from pyrite.taskcontext import TaskContext

if TYPE_CHECKING:
    from pyrite.io.commit import FolderCommit

T = TypeVar("T")

FILES = "write with saveAsTextFile or saveAsPickleFile"


class Saves(Lineage[T]):
    """Folders of text and of pickles, and the formats that only Spark's JVM has."""

    def saveAsTextFile(
        self, path: str | PathLike[str], compressionCodecClass: str | None = None
    ) -> None:
        """Writes a folder with a file of lines per partition.

        >>> from tempfile import TemporaryDirectory
        >>> with TemporaryDirectory() as folder:
        ...     sc.parallelize(["a", 1, None]).saveAsTextFile(f"{folder}/lines")
        ...     sorted(sc.textFile(f"{folder}/lines").collect())
        ['1', 'None', 'a']
        """
        from pyrite.io.codecs import codec_named
        from pyrite.io.textout import write_lines

        codec = codec_named(compressionCodecClass)
        write = partial(write_lines, codec=codec)
        self._save(path, write, "" if codec is None else codec.suffix)

    def saveAsPickleFile(self, path: str | PathLike[str], batchSize: int = 10) -> None:
        """Writes a folder with a file of pickled rows per partition.

        >>> from tempfile import TemporaryDirectory
        >>> with TemporaryDirectory() as folder:
        ...     sc.parallelize([1, "two", (3,)]).saveAsPickleFile(f"{folder}/rows")
        ...     sorted(sc.pickleFile(f"{folder}/rows").map(str).collect())
        ['(3,)', '1', 'two']
        """
        from pyrite.io.pickles import write_rows

        self._save(path, partial(write_rows, batch_rows=batchSize))

    def saveAsHadoopFile(self, *args: Any, **kwargs: Any) -> NoReturn:
        """Not available: Hadoop output formats need Spark's JVM."""
        raise needs_jvm("saveAsHadoopFile", FILES)

    def saveAsHadoopDataset(self, *args: Any, **kwargs: Any) -> NoReturn:
        """Not available: Hadoop output formats need Spark's JVM."""
        raise needs_jvm("saveAsHadoopDataset", FILES)

    def saveAsNewAPIHadoopFile(self, *args: Any, **kwargs: Any) -> NoReturn:
        """Not available: Hadoop output formats need Spark's JVM."""
        raise needs_jvm("saveAsNewAPIHadoopFile", FILES)

    def saveAsNewAPIHadoopDataset(self, *args: Any, **kwargs: Any) -> NoReturn:
        """Not available: Hadoop output formats need Spark's JVM."""
        raise needs_jvm("saveAsNewAPIHadoopDataset", FILES)

    def saveAsSequenceFile(self, *args: Any, **kwargs: Any) -> NoReturn:
        """Not available: sequence files need Spark's JVM."""
        raise needs_jvm("saveAsSequenceFile", FILES)

    def toDF(self, *args: Any, **kwargs: Any) -> NoReturn:
        """Tables belong to a session, which replaces this method."""
        raise NotSupported(
            "RDD.toDF needs a session: make one with SparkSession.builder.getOrCreate()"
        )

    def withResources(self, *args: Any, **kwargs: Any) -> NoReturn:
        """Not available: resource profiles need Spark's JVM."""
        raise needs_jvm("withResources", "set what executors get when the context is made")

    def getResourceProfile(self) -> None:
        """None: without `withResources` no RDD has a profile.

        >>> sc.parallelize([1]).getResourceProfile()
        """
        return None

    def _save(
        self,
        path: str | PathLike[str],
        write: Callable[..., None],
        suffix: str = "",
        unseen: int = 3,
    ) -> None:
        """Has each task write its part, and puts all parts in place at the end."""
        from pyrite.io.commit import FolderCommit
        from pyrite.io.paths import address_of

        commit = FolderCommit(address_of(path))
        with Uninterrupted(), self.ctx._saving(commit):
            self.ctx._run(self._me(), partial(write_part, commit, write, suffix), unseen=unseen)
            with Interruptible():
                commit.commit(self.getNumPartitions())


def write_part(
    commit: FolderCommit,
    write: Callable[..., None],
    suffix: str,
    index: int,
    rows: Iterator[Any],
) -> None:
    """Writes one partition in a task; of several attempts the first to finish counts."""
    task = TaskContext.get()
    attempt = 0 if task is None else task.taskAttemptId()
    write(commit.task_file(index, attempt, suffix), rows)
    commit.commit_task(index, attempt)


def needs_jvm(method: str, cure: str) -> NotSupported:
    return NotSupported(f"RDD.{method} needs Spark's JVM, which Pyrite does not have: {cure}.")
