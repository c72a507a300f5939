"""Computes one partition of a stage: from sources, shuffles and kept rows up to its last RDD."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import chain, islice
from typing import Any

from pyrite.blocks.fetched import FetchedPlace
from pyrite.blocks.together import PartsTogether
from pyrite.bounded.space import Space
from pyrite.execute.keeper import Keeper, KeepPlan
from pyrite.execute.operators import Operators
from pyrite.ids import BlockRef, Partition, RddId, ShuffleId
from pyrite.machine.chain import OFF, Chain, ChainRows, Tracing
from pyrite.machine.framerows import FrameRows
from pyrite.machine.grouprows import GroupRows
from pyrite.machine.packed import PackedRows
from pyrite.plan.program import NarrowInput, ShuffleInput
from pyrite.probe import probe
from pyrite.rdd.fuse import Step, run_steps
from pyrite.rdd.narrow import RecordOp, Union
from pyrite.rdd.op import Input
from pyrite.rdd.sources import Files, Ranges, Slices
from pyrite.rdd.wide import Shuffled
from pyrite.shuffle.read import MissingMapOutput, ShuffleRows

# Operators that run no code of the user's when they make rows.
PLAIN_SOURCES = (Files, Ranges, Slices, Shuffled)
# What operators return when all functions of the user's that make it have run.
MADE_ROWS = (FrameRows, GroupRows)
LIST_ITERATOR: type = type(iter([]))


class Evaluator:
    """Runs a program for one task; it is the Env that operators see.

    `run` runs record operators over rows; by default as few loops as possible.
    """

    def __init__(
        self,
        operators: Operators,
        plans: dict[RddId, KeepPlan],
        shuffles: dict[ShuffleId, list[BlockRef]],
        keeper: Keeper,
        space: Space,
        prefetched: Mapping[ShuffleId, Sequence[FetchedPlace]],
        tracing: Tracing = OFF,
        together: Mapping[ShuffleId, PartsTogether] | None = None,
        run: Callable[[Iterable[Any], list[Step]], Iterator[Any]] = run_steps,
    ) -> None:
        self.run = run
        self.steps = operators.layout.steps
        self.ops = operators.of
        self.plans = plans
        self.shuffles = shuffles
        self.keeper = keeper
        self.space = space
        self.prefetched = prefetched
        self.tracing = tracing
        self.together = together or {}
        # For a piece of a reducer: the maps that it reads of each shuffle.
        self.maps: dict[ShuffleId, range] = {}
        # The results of pieces for the RDD at a place.
        self.pieces: dict[int, list[ShuffleRows]] = {}

    def read_rows(self, ref: BlockRef) -> Iterator[list[Any]]:
        return self.keeper.reader.rows(ref, writable=True)

    def compute(self, index: int) -> Chain:
        """The rows of a partition of the stage's last RDD, and its last steps over them."""
        return self.chain(len(self.steps) - 1, index)

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
        """Returns the rows of one partition of one RDD."""
        return self.chain(place, index).run()

    def chain(self, place: int, index: int) -> Chain:
        """Returns the same as rows and the last steps over them.

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
                source = type(self.ops(place)[0])
                alone = source in PLAIN_SOURCES or isinstance(rows, MADE_ROWS)
                break
            place, index = parent
        else:
            # A merge of pieces runs the user's functions; kept rows are there.
            alone = place not in self.pieces
        return self._apply(rows, chained, done, alone)

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
        self, rows: Iterator[Any], chained: list[tuple[int, int]], done: int, alone: bool
    ) -> Chain:
        """Runs the operators of a chain of nodes over the rows, except the first `done`; adjacent
        record operators run as one loop. `alone`: making the rows runs no code of the user's."""
        steps: list[Step] = []
        if isinstance(rows, ChainRows):
            rows, steps, alone = opened(rows)
        for place, index in reversed(chained):
            for op in self.ops(place)[done:]:
                if type(op) is RecordOp:
                    steps.append((op.kind, op.function))
                elif type(op) is not Union:
                    given = Given(self._chained(rows, steps, alone), self.space)
                    rows, steps = op.compute(index, [given], self), []
                    alone = isinstance(rows, MADE_ROWS)
            done = 0
            rdd = self.steps[place].rdd
            plan = None if rdd is None else self.plans.get(rdd)
            if rdd is not None and plan is not None:
                rows, steps = self.run(rows, steps), []
                rows = self.keeper.keep(Partition(rdd, index), rows, plan, self.space)
                alone = type(rows) is LIST_ITERATOR
        return self._chained(rows, steps, alone)

    def _chained(self, rows: Iterator[Any], steps: list[Step], alone: bool) -> Chain:
        return Chain(rows, steps, self.run, self.tracing, alone)

    def _input(self, each: NarrowInput | ShuffleInput, index: int) -> Input:
        if isinstance(each, NarrowInput):
            return Parents(self, each.step, each.mapping.parents(index))
        snapshot = self.shuffles.get(each.shuffle)
        if snapshot is None:
            probe("kept rows are gone that hid a shuffle")
            raise MissingMapOutput(each.shuffle, [], "they have not been computed")
        prefetched = self.prefetched.get(each.shuffle, ())
        maps = self.maps.get(each.shuffle)
        together = self.together.get(each.shuffle)
        reader = self.keeper.reader
        return ShuffleRows(each.shuffle, snapshot, index, reader, prefetched, maps, together)


def opened(rows: ChainRows) -> tuple[Iterator[Any], list[Step], bool]:
    """The rows of a chain before its steps, these, and whether it is alone."""
    return rows.chain.rows, list(rows.chain.steps), rows.chain.alone


class Batches:
    """Batches cut from rows."""

    space: Space

    def rows(self) -> Iterator[Any]:
        raise NotImplementedError

    def batches(self) -> Iterator[list[Any]]:
        return self.space.weighed(self.rows()).chunks(self.space.chunk_rows)

    def frames(self) -> Iterator[list[Any] | PackedRows]:
        yield from self.batches()

    def chain(self) -> Chain:
        return Chain(self.rows(), [], run_steps)


class Given(Batches):
    """Rows that are already being computed; they can be read once."""

    def __init__(self, given: Chain, space: Space) -> None:
        self.given = given
        self.space = space

    def rows(self) -> Iterator[Any]:
        return self.given.run()

    def chain(self) -> Chain:
        return self.given


class Parents(Batches):
    """Parent partitions of the same stage, computed when they are read."""

    def __init__(self, evaluator: Evaluator, place: int, indices: Any) -> None:
        self.evaluator = evaluator
        self.space = evaluator.space
        self.place = place
        self.indices = indices

    def chain(self) -> Chain:
        if len(self.indices) == 1:
            return self.evaluator.chain(self.place, self.indices[0])
        return super().chain()

    def rows(self) -> Iterator[Any]:
        if len(self.indices) == 1:
            return self.evaluator.rows(self.place, self.indices[0])
        return chain.from_iterable(self.evaluator.rows(self.place, each) for each in self.indices)
