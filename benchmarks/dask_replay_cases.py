"""The programs of the suite replay, each of which fails at one record, on Pyrite and on Dask."""

from __future__ import annotations

import os
import signal
from typing import Any, NamedTuple

PARTITIONS = 4


class Program(NamedTuple):
    """One program: how many rows it has, and the file that says that a process was killed."""

    rows: int
    killed: str | None

    @property
    def bad(self) -> int:
        return self.rows * 3 // 4 + 1

    def survive(self, x: int) -> int:
        """Kills its process once, at the first row of the partition with the bad one."""
        if x == self.bad - 1 and self.killed is not None and not os.path.exists(self.killed):
            open(self.killed, "x").close()
            os.kill(os.getpid(), signal.SIGKILL)
        return x

    def refuse(self, x: int) -> int:
        if x == self.bad:
            raise ValueError("this one")
        return x

    def least(self, left: int, right: int) -> int:
        return min(left, self.refuse(right))

    def refuse_values(self, values: Any) -> Any:
        self.refuse(values[0])
        return values

    def later_first(self, x: int) -> int:
        return -self.refuse(x)


class OnPyrite:
    """The programs as RDDs."""

    def __init__(self, context: Any, program: Program) -> None:
        self.context = context
        self.program = program

    def rows(self) -> Any:
        rows = self.context.parallelize(range(self.program.rows), PARTITIONS)
        return rows.map(self.program.survive)

    def pairs(self) -> Any:
        return self.rows().map(lambda x: (x, x))

    def map(self) -> None:
        self.rows().map(self.program.refuse).count()

    def reduce(self) -> None:
        least = self.program.least
        rows = self.rows().map(lambda x: (x % 100, x))
        rows.aggregateByKey(self.program.rows, min, least).count()

    def join(self) -> None:
        other = self.context.parallelize(range(self.program.bad % 7, self.program.rows, 7), 1)
        joined = self.pairs().join(other.map(lambda x: (x, x)), PARTITIONS)
        joined.mapValues(self.program.refuse_values).count()

    def join_list(self) -> None:
        self.join()

    def cogroup(self) -> None:
        groups = self.pairs().cogroup(self.pairs(), PARTITIONS)
        refuse = self.program.refuse_values
        groups.mapValues(lambda sides: refuse([*sides[0], *sides[1]])).count()

    def sort(self) -> None:
        self.rows().sortBy(lambda x: -x, numPartitions=PARTITIONS).map(self.program.refuse).count()

    def sort_key(self) -> None:
        self.rows().sortBy(self.program.later_first, numPartitions=PARTITIONS).count()


class OnDask:
    """The same as bags, or as DataFrames where rows are sorted; each returns a collection."""

    def __init__(self, program: Program) -> None:
        self.program = program

    def rows(self) -> Any:
        import dask.bag

        rows = dask.bag.from_sequence(range(self.program.rows), npartitions=PARTITIONS)
        return rows.map(self.program.survive)

    def map(self) -> Any:
        return self.rows().map(self.program.refuse).count()

    def reduce(self) -> Any:
        # A row is taken by the first function, what they made is combined by the second.
        rows = self.rows().map(lambda x: (x % 100, x))
        start, least = self.program.rows, self.program.least
        return rows.foldby(
            lambda pair: pair[0], lambda most, pair: min(most, pair[1]), start, least, start
        )

    def join(self) -> Any:
        import dask.bag

        others = range(self.program.bad % 7, self.program.rows, 7)
        return self._joined(dask.bag.from_sequence(others, npartitions=1).map(lambda x: x))

    def join_list(self) -> Any:
        return self._joined(list(range(self.program.bad % 7, self.program.rows, 7)))

    def _joined(self, other: Any) -> Any:
        refuse = self.program.refuse_values
        return self.rows().join(other, lambda x: x).map(refuse).count()

    def cogroup(self) -> Any:
        import dask.bag

        both = dask.bag.concat([self.rows(), self.rows()])
        refuse = self.program.refuse_values
        return both.groupby(lambda x: x).map(lambda group: refuse(group[1])).count()

    def sort(self) -> Any:
        frame = self.rows().map(lambda x: (-x, x)).to_dataframe(meta={"key": "i8", "x": "i8"})
        by_key = frame.sort_values("key", npartitions=PARTITIONS)
        return by_key["x"].map(self.program.refuse, meta=("x", "i8")).count()

    def sort_key(self) -> Any:
        key = self.program.later_first
        frame = self.rows().map(lambda x: (key(x), x)).to_dataframe(meta={"key": "i8", "x": "i8"})
        return frame.sort_values("key", npartitions=PARTITIONS).count()
