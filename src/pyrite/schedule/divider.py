"""Heavy reducers, divided: pieces of one reducer's work run at the same time."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import pairwise
from math import ceil

from pyrite.ids import NodeId, PieceId, ShuffleId, TaskKey, partition_of
from pyrite.place.sizes import decode
from pyrite.probe import probe
from pyrite.schedule import events as ev
from pyrite.schedule.attempts import Attempt, Attempts
from pyrite.schedule.commands import CountAccumulators, Divided, ReducerDivided
from pyrite.schedule.division import DividedReducer, Piece
from pyrite.schedule.fleet import Fleet
from pyrite.schedule.outputs import Outputs, ShuffleOutputs
from pyrite.schedule.prefetch.forecasts import Forecasts
from pyrite.schedule.prefetch.plan import Forecast
from pyrite.schedule.queue import StageQueue
from pyrite.schedule.rules import Rules
from pyrite.schedule.stages import StageRun
from pyrite.schedule.storage import Storage
from pyrite.schedule.taskset import TaskSet
from pyrite.schedule.turn import Turn

# A reducer is heavy that has so much more to read than each executor would, were all spread evenly;
# its pieces help if it has so much more to read than each of them.
HEAVY = 1.25


class Divider:
    """Divides the work of reducers that would keep all others waiting, where operators allow it.

    Pieces are no more than a help: whatever becomes of one, the reducer can run as a whole.
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
        """The partitions, with the pieces of those that are heavy in their place."""
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
        # Who asks for some partitions only, as `take` does, may stop after a few of their rows.
        is_partial = run.spec.writes is None and len(partitions) < run.spec.partitions
        return (
            self.rules.divide_bytes > 0
            and len(self.fleet) > 1
            and not run.spec.barrier
            and not is_partial
            and run.spec.shape.rdds.isdisjoint(self.storage.persisted)
        )

    def _known_sizes(self, run: StageRun) -> tuple[dict[ShuffleId, Forecast], int]:
        """The shuffles that the stage reads of which all is known, and how much the others are
        together; none where a reducer could be heavy by those."""
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
        """Gives the pieces of a reducer that read these maps their identities."""
        pieces = {
            PieceId(index, number): Piece(*each) for number, each in enumerate(ranges, run.pieces)
        }
        run.pieces += len(pieces)
        run.divisions[index] = DividedReducer(pieces)
        return pieces

    def divided(self, run: StageRun, task: TaskKey) -> Divided | None:
        """What a task is told that does a piece of a reducer's work, or the whole after them."""
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
        """The whole is done: what its pieces added to accumulators counts with it."""
        division = run.divisions.pop(index, None)
        if division is None:
            return
        for piece in division.pieces.values():
            if counts and piece.made is not None and piece.made.accumulators is not None:
                self.turn.add(CountAccumulators(run.job, piece.made.accumulators))
        self.storage.release(division.blocks())

    def undivide(self, run: StageRun, tasks: TaskSet, task: TaskKey) -> int:
        """A piece, or the whole, came to nothing: the reducer runs as a whole."""
        index = partition_of(task)
        division = run.divisions.pop(index, None)
        if division is not None:
            probe("a division is given up")
            # Also a copy of the whole: what the pieces added would not count with it.
            keys: list[TaskKey] = [index, *division.pieces]
            for each in keys:
                tasks.withdraw(each)
                for attempt in tasks.attempts_of(each):
                    self.attempts.cancel(attempt)
            self.storage.release(division.blocks())
        return index

    def lose_node(self, run: StageRun, tasks: TaskSet, node: NodeId) -> None:
        """A node has gone: reducers of which a piece lay there run as a whole."""
        for index, division in list(run.divisions.items()):
            if any(ref.node == node for ref in division.blocks()):
                self.undivide(run, tasks, index)
                tasks.add(index)

    def is_whole(self, run: StageRun, attempt: Attempt) -> bool:
        """Whether the attempt is at one partition, and at all of it from its inputs."""
        first = attempt.keys[0]
        is_divided = isinstance(first, PieceId) or first in run.divisions
        return len(attempt.keys) == 1 and not is_divided

    def forget(self, run: StageRun) -> None:
        """Nobody waits for the stage any more."""
        for division in run.divisions.values():
            self.storage.release(division.blocks())
        run.divisions = {}


def sizes_of_part(outputs: ShuffleOutputs, part: int) -> list[int]:
    """How much each map has for one reducer, where all have told it."""
    return [decode(code[part : part + 1])[0] for code in outputs.sizes if code is not None]


def find_ranges(sizes: list[int], most: int, other_bytes: int) -> list[tuple[int, int]]:
    """The maps that each piece of a reducer reads, if dividing it is worthwhile.

    Each piece reads all of the other side as well: not more than of its own, so that no more is
    read again than the reducer is spared. And the heaviest has clearly less to read than the
    whole, which it has not where one map has made nearly all.
    """
    total = sum(sizes)
    count = min(most, total // max(1, other_bytes))
    ranges = even_ranges(sizes, count) if count > 1 else []
    heaviest = max((sum(sizes[first:last]) for first, last in ranges), default=total)
    return ranges if HEAVY * (heaviest + other_bytes) < total + other_bytes else []


def even_ranges(sizes: list[int], count: int) -> list[tuple[int, int]]:
    """All maps as so many ranges of neighbours at most, each with something in it.

    A map is in the range that its middle falls to when all is dealt out evenly: none has more than
    an even share and one map.
    """
    total = sum(sizes)
    firsts: dict[int, int] = {}
    before = 0
    for index, size in enumerate(sizes):
        if size:
            firsts.setdefault((2 * before + size) * count // (2 * total), index)
        before += size
    bounds = [*firsts.values(), len(sizes)]
    # Maps that have nothing go with those before them, the first ones with the first range.
    bounds[0] = 0
    return list(pairwise(bounds))
