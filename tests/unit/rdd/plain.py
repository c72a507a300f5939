"""An engine of a few lines that computes any lineage in this process."""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager
from itertools import chain, islice
from pathlib import Path
from typing import Any

from pyrite.blocks.undo import saving
from pyrite.bounded.space import Space
from pyrite.conf import SparkConf
from pyrite.driver.engine.namespaces import Namespaces
from pyrite.ids import RddId, ShuffleId
from pyrite.io.commit import FolderCommit
from pyrite.io.pickles import read_rows
from pyrite.io.splits import Split
from pyrite.machine.chain import Chain, Tracing
from pyrite.rdd import RDD
from pyrite.rdd.callsite import call_site
from pyrite.rdd.dependency import NarrowDependency, ShuffleDependency
from pyrite.rdd.frozen import Frozen, Pipeline
from pyrite.rdd.fuse import run_steps
from pyrite.rdd.namespace import Namespace
from pyrite.rdd.op import Op
from pyrite.rdd.partitioner import Partitioner, Router
from pyrite.rdd.sources import Ranges, dealt_bounds
from pyrite.rdd.streamed import Streamed
from pyrite.settings import Settings
from pyrite.storagelevel import StorageLevel

PLENTY_BYTES = 1 << 40
BATCH_ROWS = 3


class Held(Op):
    """Rows that lie in lists."""

    name = "parallelize"

    def __init__(self, slices: list[list[Any]]) -> None:
        self.slices = slices

    def compute(self, index: int, inputs: list[Any], env: Any) -> Iterator[Any]:
        return iter(self.slices[index])

    def partitions(self) -> int:
        return len(self.slices)


class PlainInput:
    """Rows as a task would see them; batches are short, so that several occur in tests."""

    def __init__(self, make: Callable[[], Iterable[Any]]) -> None:
        self.make = make

    def rows(self) -> Iterator[Any]:
        return iter(self.make())

    def batches(self) -> Iterator[list[Any]]:
        rows = self.rows()
        while batch := list(islice(rows, BATCH_ROWS)):
            yield batch

    def frames(self) -> Iterator[list[Any]]:
        return self.batches()

    def chain(self) -> Chain:
        return Chain(self.rows(), [], run_steps)


class PlainEnv:
    """A task's surroundings without limits."""

    def __init__(self, folder: str) -> None:
        self.space = Space(PLENTY_BYTES, folder)
        self.tracing = Tracing("TRUE")


class PlainAccumulator:
    """A sum that tasks in this process add to."""

    def __init__(self, value: Any) -> None:
        self.value = value

    def add(self, term: Any) -> None:
        self.value += term


class Marks:
    """Remembers what was marked for a checkpoint."""

    def __init__(self) -> None:
        self.local: set[int] = set()

    def mark(self, rdd: RDD[Any]) -> None:
        raise NotImplementedError

    def mark_local(self, rdd: RDD[Any]) -> None:
        self.local.add(rdd.id())

    def before_job(self, rdd: RDD[Any]) -> None:
        return None

    def is_done(self, rdd: RDD[Any]) -> bool:
        return False

    def is_local(self, rdd: RDD[Any]) -> bool:
        return rdd.id() in self.local

    def folder_of(self, rdd: RDD[Any]) -> str | None:
        return None


class PlainContext:
    """What RDDs ask of a context; counts the jobs, the partitions and the shuffles it runs."""

    defaultParallelism = 2

    def __init__(self, folder: str) -> None:
        self._conf = SparkConf(loadDefaults=False)
        self._settings = Settings(self._conf)
        self._checkpoints = Marks()
        self._env = PlainEnv(folder)
        self._next_id = 0
        self._dealt: dict[ShuffleId, list[list[Any]]] = {}
        self.jobs: list[list[int]] = []
        self.groups: list[str] = []
        self.namespaces = Namespaces(lambda event: None)
        self.dropNamespace = self.namespaces.drop
        self.said: list[str] = []

    def _said_by_machine(self) -> list[str]:
        return self.said

    def parallelize(self, rows: Iterable[Any], numSlices: int | None = None) -> RDD[Any]:
        held = list(rows)
        count = numSlices or self.defaultParallelism
        bounds = [dealt_bounds(len(held), count, index) for index in range(count)]
        return RDD(self, Held([held[start:end] for start, end in bounds]))  # type: ignore[arg-type]

    def range(self, end: int, numSlices: int | None = None) -> RDD[int]:
        op = Ranges(range(end), numSlices or self.defaultParallelism)
        return RDD(self, op)  # type: ignore[arg-type]

    def emptyRDD(self) -> RDD[Any]:
        return RDD(self, Held([]))  # type: ignore[arg-type]

    def textFile(self, folder: str) -> RDD[str]:
        parts = sorted(Path(folder).glob("part-*"))
        held = Held([part.read_text().splitlines() for part in parts])
        return RDD(self, held)  # type: ignore[arg-type]

    def pickleFile(self, folder: str) -> RDD[Any]:
        parts = sorted(Path(folder).glob("part-*"))
        splits = [Split(str(part), 0, part.stat().st_size) for part in parts]
        return RDD(self, Held([list(read_rows(split)) for split in splits]))  # type: ignore[arg-type]

    def _saving(self, commit: FolderCommit) -> AbstractContextManager[None]:
        return saving(self._env.space.folder, commit)

    def accumulator(self, value: Any) -> PlainAccumulator:
        return PlainAccumulator(value)

    def _use_namespace(self, name: str, partitioner: Partitioner) -> Namespace:
        return self.namespaces.use(name, partitioner, call_site().whole)

    def getConf(self) -> SparkConf:
        return self._conf

    def _new_rdd_id(self) -> RddId:
        self._next_id += 1
        return RddId(self._next_id)

    def _skip_rdd_ids(self, count: int) -> None:
        self._next_id += count

    def _new_shuffle(self, rdd: RDD[Any], router: Router, count: int) -> ShuffleDependency:
        number = ShuffleId(self._new_rdd_id())
        return ShuffleDependency(rdd, router, count, number, self._freeze(rdd))

    def _freeze(self, rdd: RDD[Any]) -> Frozen:
        """Nothing is pickled: all is computed here, from the RDDs themselves."""
        return Frozen(Pipeline((), ()), b"")

    _freeze_copy = _freeze

    def _clean_shuffle(self, dependency: ShuffleDependency) -> None:
        self._dealt.pop(dependency.shuffle, None)

    def _persist(self, rdd: RDD[Any], level: StorageLevel, priority: int) -> None:
        pass

    def _unpersist(self, rdd: RDD[Any]) -> None:
        pass

    def setJobGroup(self, group: str, description: str, interrupt: bool = False) -> None:
        self.groups.append(group)

    def _run(
        self,
        rdd: RDD[Any],
        function: Callable[[int, Iterator[Any]], Any],
        partitions: Sequence[int] | None = None,
        frozen: bool = False,
        unseen: int = 1,
    ) -> list[Any]:
        chosen = range(rdd.getNumPartitions()) if partitions is None else partitions
        self.jobs.append(list(chosen))
        # A task answers with copies, never with the objects that the RDD holds.
        return [copy.deepcopy(function(index, self._rows(rdd, index))) for index in chosen]

    def _run_rows(
        self,
        rdd: RDD[Any],
        function: Callable[[int, Iterator[Any]], Streamed],
        partitions: Sequence[int] | None = None,
        frozen: bool = False,
    ) -> list[list[Any]]:
        return self._run(rdd, lambda index, rows: list(function(index, rows).rows), partitions)

    def _run_each(
        self,
        rdd: RDD[Any],
        function: Callable[[int, Iterator[Any]], Streamed],
        partitions: Sequence[int],
        prefetch: bool,
    ) -> Iterator[list[Any]]:
        for index in partitions:
            yield from self._run_rows(rdd, function, [index])

    def _run_approximately(
        self, rdd: RDD[Any], function: Callable[[int, Iterator[Any]], Any], timeout_s: float
    ) -> dict[int, Any]:
        return dict(enumerate(self._run(rdd, function)))

    def _rows(self, rdd: RDD[Any], index: int) -> Iterator[Any]:
        inputs: list[Any] = []
        for dependency in rdd.dependencies:
            if isinstance(dependency, NarrowDependency):
                inputs.append(self._narrow_input(dependency, index))
            else:
                inputs.append(self._shuffle_input(dependency, index))
        return rdd.op.compute(index, inputs, self._env)  # type: ignore[arg-type]

    def _narrow_input(self, dependency: NarrowDependency, index: int) -> PlainInput:
        parent: Any = dependency.rdd
        return PlainInput(
            lambda: chain.from_iterable(
                self._rows(parent, each) for each in dependency.mapping.parents(index)
            )
        )

    def _shuffle_input(self, dependency: ShuffleDependency, index: int) -> PlainInput:
        if dependency.shuffle not in self._dealt:
            self._dealt[dependency.shuffle] = self._deal(dependency)
        # Other tasks read the same map output: none may change its rows.
        return PlainInput(lambda: copy.deepcopy(self._dealt[dependency.shuffle][index]))

    def _deal(self, dependency: ShuffleDependency) -> list[list[Any]]:
        buckets: list[list[Any]] = [[] for _ in range(dependency.partitions)]
        parent: Any = dependency.rdd
        for index in range(parent.getNumPartitions()):
            router = copy.deepcopy(dependency.router)
            router.start(index)
            rows = self._rows(parent, index)
            while batch := list(islice(rows, BATCH_ROWS)):
                router.deal(batch, buckets)
        return buckets


def count_shuffles(rdd: RDD[Any]) -> int:
    """How many shuffles lie in an RDD's lineage."""
    found: set[int] = set()
    pending: list[Any] = [rdd]
    while pending:
        for dependency in pending.pop().dependencies:
            if isinstance(dependency, ShuffleDependency):
                found.add(dependency.shuffle)
            pending.append(dependency.rdd)
    return len(found)
