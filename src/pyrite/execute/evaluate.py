"""Computes one partition of a stage: from sources, shuffles and kept rows up to its last RDD."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import chain, islice
from typing import Any

from pyrite.bounded.chunks import Chunks
from pyrite.bounded.space import Space
from pyrite.execute.keeper import Keeper, KeepPlan
from pyrite.execute.operators import Operators
from pyrite.ids import BlockRef, Partition, RddId, ShuffleId
from pyrite.plan.program import NarrowInput, ShuffleInput
from pyrite.probe import probe
from pyrite.rdd.fuse import Step, run_steps
from pyrite.rdd.narrow import RecordOp, Union
from pyrite.rdd.op import Input
from pyrite.shuffle.read import MissingMapOutput, ShuffleRows


class Evaluator:
    """Runs a program for one task; it is the Env that operators see."""

    def __init__(
        self,
        operators: Operators,
        plans: dict[RddId, KeepPlan],
        shuffles: dict[ShuffleId, list[BlockRef]],
        keeper: Keeper,
        space: Space,
        prefetched: dict[ShuffleId, list[str]],
    ) -> None:
        self.steps = operators.layout.steps
        self.ops = operators.of
        self.plans = plans
        self.shuffles = shuffles
        self.keeper = keeper
        self.space = space
        self.prefetched = prefetched
        # For a piece of a reducer: the maps that it reads of each shuffle.
        self.maps: dict[ShuffleId, range] = {}
        # The results of pieces for the RDD at a place.
        self.pieces: dict[int, list[ShuffleRows]] = {}

    def read_block(self, ref: BlockRef) -> memoryview:
        return self.keeper.reader.view(ref)

    def compute(self, index: int) -> Iterator[Any]:
        """The rows of a partition of the stage's last RDD."""
        return self.rows(len(self.steps) - 1, index)

    def compute_piece(
        self, place: int, shuffle: ShuffleId, maps: range, index: int
    ) -> Iterator[Any]:
        """Returns the rows of the RDD at the place from the outputs of some maps only."""
        self.maps[shuffle] = maps
        # The merge of the pieces holds a frame of each at once.
        self.space.waiting_rows = min(self.space.waiting_rows, self.space.chunk_rows)
        return self.rows(place, index)

    def take_pieces(self, place: int, shuffle: ShuffleId, blocks: list[BlockRef]) -> None:
        """Has `compute` merge the RDD at the place from the results of pieces, one block each."""
        reader = self.keeper.reader
        self.pieces[place] = [ShuffleRows(shuffle, [ref], 0, reader) for ref in blocks]

    def rows(self, place: int, index: int) -> Iterator[Any]:
        """Returns the rows of one partition of one RDD.

        Walks chains of single parents down to where rows exist and then up again, without
        recursion: a lineage may be thousands of RDDs long.
        """
        chained: list[tuple[int, int]] = []
        done = 0
        while (rows := self._find_kept(place, index)) is None:
            chained.append((place, index))
            parent = self._only_parent(place, index)
            if parent is None:
                rows, done = self._start(place, index)
                break
            place, index = parent
        return self._apply(rows, chained, done)

    def _find_kept(self, place: int, index: int) -> Iterator[Any] | None:
        if place in self.pieces:
            return self.ops(place)[-1].merge([each.rows() for each in self.pieces[place]], self)
        rdd = self.steps[place].rdd
        if rdd is None or rdd not in self.plans:
            return None
        return self.keeper.find(Partition(rdd, index))

    def _only_parent(self, place: int, index: int) -> tuple[int, int] | None:
        """The only parent partition within this stage; None if there is not exactly one."""
        node = self.steps[place]
        if node.union is None and len(node.inputs) != 1:
            return None
        parents = list(islice(node.parents(index), 2))
        return parents[0] if len(parents) == 1 else None

    def _start(self, place: int, index: int) -> tuple[Iterator[Any], int]:
        """Runs the first operator of a partition without a single parent; returns its rows and 1,
        the number of operators done."""
        inputs = [self._input(each, index) for each in self.steps[place].inputs]
        return self.ops(place)[0].compute(index, inputs, self), 1

    def _apply(
        self, rows: Iterator[Any], chained: list[tuple[int, int]], done: int
    ) -> Iterator[Any]:
        """Runs the operators of a chain of nodes over the rows, except the first `done`; adjacent
        record operators run as one loop."""
        steps: list[Step] = []
        for place, index in reversed(chained):
            for op in self.ops(place)[done:]:
                if type(op) is RecordOp:
                    steps.append((op.kind, op.function))
                elif type(op) is not Union:
                    rows, steps = run_steps(rows, steps), []
                    rows = op.compute(index, [Given(rows, self.space)], self)
            done = 0
            rdd = self.steps[place].rdd
            plan = None if rdd is None else self.plans.get(rdd)
            if rdd is not None and plan is not None:
                rows, steps = run_steps(rows, steps), []
                rows = self.keeper.keep(Partition(rdd, index), rows, plan, self.space)
        return run_steps(rows, steps)

    def _input(self, each: NarrowInput | ShuffleInput, index: int) -> Input:
        if isinstance(each, NarrowInput):
            return Parents(self, each.step, each.mapping.parents(index))
        snapshot = self.shuffles.get(each.shuffle)
        if snapshot is None:
            probe("kept rows are gone that hid a shuffle")
            raise MissingMapOutput(each.shuffle, [], "they have not been computed")
        prefetched = self.prefetched.get(each.shuffle, ())
        maps = self.maps.get(each.shuffle)
        return ShuffleRows(each.shuffle, snapshot, index, self.keeper.reader, prefetched, maps)


class Batches:
    """Batches cut from rows."""

    space: Space

    def rows(self) -> Iterator[Any]:
        raise NotImplementedError

    def batches(self) -> Iterator[list[Any]]:
        return iter(Chunks(self.rows(), self.space))


class Given(Batches):
    """Rows that are already being computed; they can be read once."""

    def __init__(self, rows: Iterator[Any], space: Space) -> None:
        self.given = rows
        self.space = space

    def rows(self) -> Iterator[Any]:
        return self.given


class Parents(Batches):
    """Parent partitions of the same stage, computed when they are read."""

    def __init__(self, evaluator: Evaluator, place: int, indices: Any) -> None:
        self.evaluator = evaluator
        self.space = evaluator.space
        self.place = place
        self.indices = indices

    def rows(self) -> Iterator[Any]:
        if len(self.indices) == 1:
            return self.evaluator.rows(self.place, self.indices[0])
        return chain.from_iterable(self.evaluator.rows(self.place, each) for each in self.indices)
