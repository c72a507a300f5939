"""Makes RDDs from the driver's rows and from files."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from os import PathLike
from typing import TYPE_CHECKING, Any, NoReturn, TypeVar

from pyrite.blocks.codec import encode_all, frame_size
from pyrite.driver.engine.engine import Engine
from pyrite.errors import NotSupported
from pyrite.ids import RddId
from pyrite.interrupts import Uninterrupted
from pyrite.rdd.rdd import RDD
from pyrite.rdd.sets import unite
from pyrite.rdd.sources import EachSplit, Files, Ranges, Slices, dealt_bounds

if TYPE_CHECKING:
    from pyrite.context import SparkContext

T = TypeVar("T")

# Slices that together are smaller than this travel with the stage.
SMALL_BYTES = 64 << 10


class SourceMethods:
    """The part of a context that makes RDDs."""

    _engine: Engine

    def _new_rdd_id(self) -> RddId:
        return RddId(next(self._engine.rdd_ids))

    def _skip_rdd_ids(self, count: int) -> None:
        self._engine.skip_rdd_ids(count)

    @property
    def defaultParallelism(self) -> int:
        """The default number of partitions."""
        raise NotImplementedError

    @property
    def defaultMinPartitions(self) -> int:
        """The default minimum number of partitions of files."""
        return min(self.defaultParallelism, 2)

    def _me(self) -> SparkContext:
        return self  # type: ignore[return-value]

    def emptyRDD(self) -> RDD[Any]:
        """An RDD without partitions or rows.

        >>> sc.emptyRDD().isEmpty()
        True
        """
        return RDD(self._me(), Slices([]))

    def range(
        self, start: int, end: int | None = None, step: int = 1, numSlices: int | None = None
    ) -> RDD[int]:
        """The integers from start to end, as Python's range.

        >>> sc.range(2, 10, 3).collect()
        [2, 5, 8]
        """
        if end is None:
            start, end = 0, start
        return self.parallelize(range(start, end, step), numSlices)

    def parallelize(self, c: Iterable[T], numSlices: int | None = None) -> RDD[T]:
        """An RDD of the driver's own rows, in as many partitions as wanted.

        >>> sc.parallelize([0, 2, 3, 4, 6], 5).glom().collect()
        [[0], [2], [3], [4], [6]]
        """
        self._engine.check_usable()
        count = self.defaultParallelism if numSlices is None else int(numSlices)
        if count < 1:
            raise ValueError(f"parallelize needs at least 1 slice, not {count}")
        if isinstance(c, range):
            # PySpark numbers empty slices, and counts in a step of a pipeline.
            self._skip_rdd_ids(1)
            return RDD(self._me(), Ranges(c, count))
        rows = c if isinstance(c, (list, tuple)) else list(c)
        encoded = [
            encode_all(rows[slice(*dealt_bounds(len(rows), count, index))])
            for index in range(count)
        ]
        if sum(map(frame_size, encoded)) <= SMALL_BYTES:
            return RDD(self._me(), Slices([b"".join(buffers) for buffers in encoded]))
        with Uninterrupted():
            refs = [self._engine.put(buffers) for buffers in encoded]
            op = Slices([(ref,) for ref in refs])
            # The rows live as long as an RDD can read them.
            self._engine.release_when_gone(op, refs)
        return RDD(self._me(), op)

    def union(self, rdds: Sequence[RDD[T]]) -> RDD[T]:
        """The rows of all RDDs, one after another.

        >>> sc.union([sc.parallelize([1]), sc.parallelize([2, 3])]).collect()
        [1, 2, 3]
        """
        return unite(self._me(), list(rdds))

    def textFile(
        self,
        name: str | PathLike[str],
        minPartitions: int | None = None,
        use_unicode: bool = True,
    ) -> RDD[str]:
        """The lines of text files, wherever fsspec can read them.

        >>> import pathlib, tempfile
        >>> path = pathlib.Path(tempfile.mkdtemp(), "sample.txt")
        >>> _ = path.write_text("one\\ntwo\\n")
        >>> sc.textFile(path).collect()
        ['one', 'two']
        """
        from pyrite.io.splits import text_splits
        from pyrite.io.text import line_rows, read_lines

        count = minPartitions or self.defaultMinPartitions
        read = line_rows if use_unicode else EachSplit(partial(read_lines, use_unicode=False))
        return self._files("textFile", name, partial(text_splits, min_partitions=count), read)

    def wholeTextFiles(
        self,
        path: str | PathLike[str],
        minPartitions: int | None = None,
        use_unicode: bool = True,
    ) -> RDD[tuple[str, str]]:
        """Text files as (name, content)."""
        from pyrite.io.splits import whole_file_splits
        from pyrite.io.whole import read_text

        count = minPartitions or self.defaultMinPartitions
        read = partial(read_text, use_unicode=use_unicode)
        find = partial(whole_file_splits, min_partitions=count)
        return self._files("wholeTextFiles", path, find, EachSplit(read))

    def binaryFiles(
        self, path: str | PathLike[str], minPartitions: int | None = None
    ) -> RDD[tuple[str, bytes]]:
        """Files as (name, bytes)."""
        from pyrite.io.splits import binary_file_splits
        from pyrite.io.whole import read_binary

        count = minPartitions or self.defaultMinPartitions
        parallelism = self.defaultParallelism
        find = partial(binary_file_splits, min_partitions=count, parallelism=parallelism)
        return self._files("binaryFiles", path, find, EachSplit(read_binary), unseen=0)

    def binaryRecords(self, path: str | PathLike[str], recordLength: int) -> RDD[bytes]:
        """Records of a fixed length."""
        from pyrite.io.records import record_rows
        from pyrite.io.splits import record_splits

        find = partial(record_splits, record_length=recordLength)
        read = partial(record_rows, record_length=recordLength)
        return self._files("binaryRecords", path, find, read)

    def pickleFile(self, name: str | PathLike[str], minPartitions: int | None = None) -> RDD[Any]:
        """Rows that `saveAsPickleFile` wrote."""
        from pyrite.io.pickles import read_rows
        from pyrite.io.splits import pickle_splits

        count = minPartitions or self.defaultMinPartitions
        return self._files(
            "pickleFile", name, partial(pickle_splits, min_partitions=count), EachSplit(read_rows)
        )

    def _files(
        self,
        kind: str,
        path: str | PathLike[str],
        find: Callable[[str], list[Any]],
        read: Callable[[Sequence[Any]], Iterator[Any]],
        unseen: int = 1,
    ) -> RDD[Any]:
        from pyrite.io.paths import address_of

        self._engine.check_usable()
        address = address_of(path)
        self._skip_rdd_ids(unseen)
        return RDD(self._me(), Files(kind, partial(find, address), read)).setName(address)

    def sequenceFile(self, *args: Any, **kwargs: Any) -> NoReturn:
        """Not available: sequence files need Spark's JVM."""
        raise needs_jvm("sequenceFile")

    def newAPIHadoopFile(self, *args: Any, **kwargs: Any) -> NoReturn:
        """Not available: Hadoop input formats need Spark's JVM."""
        raise needs_jvm("newAPIHadoopFile")

    def newAPIHadoopRDD(self, *args: Any, **kwargs: Any) -> NoReturn:
        """Not available: Hadoop input formats need Spark's JVM."""
        raise needs_jvm("newAPIHadoopRDD")

    def hadoopFile(self, *args: Any, **kwargs: Any) -> NoReturn:
        """Not available: Hadoop input formats need Spark's JVM."""
        raise needs_jvm("hadoopFile")

    def hadoopRDD(self, *args: Any, **kwargs: Any) -> NoReturn:
        """Not available: Hadoop input formats need Spark's JVM."""
        raise needs_jvm("hadoopRDD")


def needs_jvm(method: str) -> NotSupported:
    return NotSupported(
        f"SparkContext.{method} needs Spark's JVM, which Pyrite does not have: "
        "read with textFile, binaryFiles, binaryRecords or pickleFile."
    )
