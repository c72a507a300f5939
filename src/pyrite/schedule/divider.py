"""Divides heavy reducers into pieces that run at the same time."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import pairwise
from math import ceil

from pyrite.ids import NodeId, PieceId, ShuffleId, TaskKey, partition_of
from pyrite.place.sizes import decode
from pyrite.probe import probe
from pyrite.schedule import events as ev
from pyrite.schedule.attempts import Attempt, Attempts
from pyrite.schedule.commands import CountAccumulators, ReducerDivided
from pyrite.schedule.division import DividedReducer, Piece
from pyrite.schedule.fleet import Fleet
from pyrite.schedule.outputs import Outputs, ShuffleOutputs
from pyrite.schedule.prefetch.forecasts import Forecasts
from pyrite.schedule.prefetch.plan import Forecast
from pyrite.schedule.queue import StageQueue
from pyrite.schedule.rules import Rules
from pyrite.schedule.stages import StageRun
from pyrite.schedule.storage import Storage
from pyrite.schedule.taskinputs import Divided
from pyrite.schedule.taskset import TaskSet
from pyrite.schedule.turn import Turn

# A reducer is heavy if it reads this many times an executor's even share of the input; dividing it
# must make its heaviest piece this many times lighter.
HEAVY = 1.25


class Divider:
    """Divides reducers that all others would wait for, where their operators allow it.

    Dividing is an optimization only: whenever a piece fails, the reducer runs as a whole.
    """

    def __init__(
        self,
        turn: Turn,
        rules: Rules,
        fleet: Fleet,
        outputs: Outputs,
        storage: Storage,
        forecasts: Forecasts,
        attempts: Attempts,
        queue: StageQueue[StageRun],
    ) -> None:
        self.turn = turn
        self.rules = rules
        self.fleet = fleet
        self.outputs = outputs
        self.storage = storage
        self.forecasts = forecasts
        self.attempts = attempts
        self.queue = queue

    def divide(self, run: StageRun, partitions: list[int]) -> Sequence[TaskKey]:
        """Returns the partitions' task keys, each heavy partition replaced by its pieces."""
        divisible = run.spec.divisible
        if divisible is None or not self._may_divide(run, partitions):
            return partitions
        known, light_bytes = self._known_sizes(run)
        outputs = self.outputs.get(divisible.shuffle)
        if divisible.shuffle not in known or outputs is None:
            return partitions
        executors = len(self.fleet)
        share = sum(each.total_bytes for each in known.values()) / executors
        least = max(self.rules.divide_bytes, HEAVY * share)
        found: list[TaskKey] = []
        for index in partitions:
            sizes = {shuffle: each.parts[index].size_bytes for shuffle, each in known.items()}
            size = sizes.pop(divisible.shuffle)
            ranges: list[tuple[int, int]] = []
            if size > least:
                by_map = sizes_of_part(outputs, index)
                most = min(executors, ceil(size / share))
                ranges = find_ranges(by_map, most, light_bytes + sum(sizes.values()))
            if not ranges:
                found.append(index)
                continue
            probe("a heavy reducer is divided")
            found += self._into_pieces(run, index, ranges)
            self.turn.add(ReducerDivided(run.spec.id, index, size, share, len(ranges)))
        return found

    def _may_divide(self, run: StageRun, partitions: list[int]) -> bool:
        # A job that reads some partitions only, such as `take`, may stop after a few of their rows.
        is_partial = run.spec.writes is None and len(partitions) < run.spec.partitions
        return (
            self.rules.divide_bytes > 0
            and len(self.fleet) > 1
            and not run.spec.barrier
            and not is_partial
            and run.spec.shape.rdds.isdisjoint(self.storage.persisted)
        )

    def _known_sizes(self, run: StageRun) -> tuple[dict[ShuffleId, Forecast], int]:
        """Returns the forecasts of the stage's inputs whose sizes are all known, and the total size
        of the others; nothing where a reducer could be heavy because of the others."""
        known: dict[ShuffleId, Forecast] = {}
        light_bytes = 0
        for shuffle, parent in run.spec.parents.items():
            forecast = self.forecasts.forecast(parent, shuffle)
            if forecast is not None and forecast.how == "known":
                known[shuffle] = forecast
            else:
                light_bytes += sum(ref.length for ref in self.outputs.of(parent).blocks())
        return (known, light_bytes) if light_bytes < self.rules.divide_bytes else ({}, 0)

    def _into_pieces(
        self, run: StageRun, index: int, ranges: list[tuple[int, int]]
    ) -> Iterable[PieceId]:
        """Registers one piece of a reducer per range of maps."""
        pieces = {
            PieceId(index, number): Piece(*each) for number, each in enumerate(ranges, run.pieces)
        }
        run.pieces += len(pieces)
        run.divisions[index] = DividedReducer(pieces)
        return pieces

    def divided(self, run: StageRun, task: TaskKey) -> Divided | None:
        """Returns what the executor needs to run a piece, or the merge after the pieces."""
        divisible = run.spec.divisible
        division = run.divisions.get(partition_of(task))
        if divisible is None or division is None:
            return None
        if isinstance(task, PieceId):
            piece = division.pieces[task]
            return Divided(*divisible, (piece.first, piece.last))
        return Divided(*divisible, None, tuple(division.blocks()))

    def piece_done(
        self, run: StageRun, tasks: TaskSet, piece: PieceId, made: ev.TaskOutput
    ) -> None:
        division = run.divisions.get(piece.partition)
        if division is None or division.pieces[piece].made is not None:
            probe("a piece is done that nobody needs")
            self.storage.release(made.blocks())
            return
        division.pieces[piece].made = made
        if division.done:
            self.queue.add(run)
            tasks.add(piece.partition)

    def whole_done(self, run: StageRun, index: int, counts: bool) -> None:
        """Ends a division whose merge is done, and counts the accumulators of its pieces."""
        division = run.divisions.pop(index, None)
        if division is None:
            return
        for piece in division.pieces.values():
            if counts and piece.made is not None and piece.made.accumulators is not None:
                self.turn.add(CountAccumulators(run.job, piece.made.accumulators))
        self.storage.release(division.blocks())

    def undivide(self, run: StageRun, tasks: TaskSet, task: TaskKey) -> int:
        """Cancels a reducer's division after a failure, and returns its partition: it runs as a
        whole."""
        index = partition_of(task)
        division = run.divisions.pop(index, None)
        if division is not None:
            probe("a division is given up")
            # Also a copy of the merge: it would not count the pieces' accumulators.
            keys: list[TaskKey] = [index, *division.pieces]
            for each in keys:
                tasks.withdraw(each)
                for attempt in tasks.attempts_of(each):
                    self.attempts.cancel(attempt)
            self.storage.release(division.blocks())
        return index

    def lose_node(self, run: StageRun, tasks: TaskSet, node: NodeId) -> None:
        """Has reducers run as a whole that lost a piece's block with the node."""
        for index, division in list(run.divisions.items()):
            if any(ref.node == node for ref in division.blocks()):
                self.undivide(run, tasks, index)
                tasks.add(index)

    def is_whole(self, run: StageRun, attempt: Attempt) -> bool:
        """Whether the attempt computes exactly one partition, undivided."""
        first = attempt.keys[0]
        is_divided = isinstance(first, PieceId) or first in run.divisions
        return len(attempt.keys) == 1 and not is_divided

    def forget(self, run: StageRun) -> None:
        """Releases the pieces' blocks of a stage that has ended."""
        for division in run.divisions.values():
            self.storage.release(division.blocks())
        run.divisions = {}


def sizes_of_part(outputs: ShuffleOutputs, part: int) -> list[int]:
    """The size of one part in each map output, for outputs that reported sizes."""
    return [decode(code[part : part + 1])[0] for code in outputs.sizes if code is not None]


def find_ranges(sizes: list[int], most: int, other_bytes: int) -> list[tuple[int, int]]:
    """Returns the range of maps that each piece reads; none where dividing is not worthwhile.

    Each piece also reads all of the other inputs (`other_bytes`): these may not exceed a piece's
    own input, so that dividing adds no more reading than it saves. The heaviest piece must read
    clearly less than the whole reducer: it can not where one map wrote nearly all of it.
    """
    total = sum(sizes)
    count = min(most, total // max(1, other_bytes))
    ranges = even_ranges(sizes, count) if count > 1 else []
    heaviest = max((sum(sizes[first:last]) for first, last in ranges), default=total)
    return ranges if HEAVY * (heaviest + other_bytes) < total + other_bytes else []


def even_ranges(sizes: list[int], count: int) -> list[tuple[int, int]]:
    """Splits all maps into at most `count` contiguous, nonempty ranges.

    A map belongs to the range that the middle of its bytes falls into: no range exceeds an even
    share by more than one map.
    """
    total = sum(sizes)
    firsts: dict[int, int] = {}
    before = 0
    for index, size in enumerate(sizes):
        if size:
            firsts.setdefault((2 * before + size) * count // (2 * total), index)
        before += size
    bounds = [*firsts.values(), len(sizes)]
    # Empty maps join the range before them; leading ones join the first range.
    bounds[0] = 0
    return list(pairwise(bounds))
