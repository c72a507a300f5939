"""Heavy reducers, divided: pieces of one reducer's work run at the same time."""

from __future__ import annotations

from math import ceil

from pyrite.ids import JobId, NodeId, ShuffleId
from pyrite.place.sizes import decode
from pyrite.plan.dividing import Divisible
from pyrite.rare import rare
from pyrite.schedule import events as ev
from pyrite.schedule.ahead import Forecast
from pyrite.schedule.commands import CountAccumulators, Divided, ReducerDivided
from pyrite.schedule.division import Division, Piece
from pyrite.schedule.foreseeing import Foreseeing
from pyrite.schedule.outputs import ShuffleOutputs
from pyrite.schedule.reducing import Reducing
from pyrite.schedule.runs import StageRun
from pyrite.schedule.taskset import TaskSet

# A reducer is heavy that has so much more to read than each executor would, were all spread evenly.
HEAVY = 1.25


class Dividing(Foreseeing):
    """Divides the work of reducers that would keep all others waiting, where operators allow it.

    Pieces are no more than a help: whatever becomes of one, the reducer can run as a whole.
    """

    def _divide(self, run: StageRun, partitions: list[int]) -> list[int]:
        """The partitions, with the pieces of those that are heavy in their place."""
        divisible = run.spec.divisible
        executors = len(self.executors)
        if (
            divisible is None
            or run.spec.barrier
            or not self.rules.divide_bytes
            or executors < 2
            or not run.spec.shape.rdds.isdisjoint(self.persisted)
        ):
            return partitions
        known = self._known_sizes(run)
        if divisible.shuffle not in known:
            return partitions
        share = sum(each.total_bytes for each in known.values()) / executors
        least = max(self.rules.divide_bytes, HEAVY * share)
        found: list[int] = []
        for index in partitions:
            size = known[divisible.shuffle].parts[index].size_bytes
            pieces: list[int] = []
            if size > least:
                count = min(executors, ceil(size / share))
                pieces = self._into_pieces(run, divisible, index, count)
                if pieces:
                    self.commands.append(
                        ReducerDivided(run.spec.id, index, size, share, len(pieces))
                    )
            found += pieces or [index]
        return found

    def _known_sizes(self, run: StageRun) -> dict[ShuffleId, Forecast]:
        """The shuffles that the stage reads, where all that matters of them is known."""
        reducing = Reducing(self.outputs, self.kept)
        known: dict[ShuffleId, Forecast] = {}
        for shuffle, parent in run.spec.parents.items():
            forecast = reducing.forecast(parent, shuffle)
            if forecast is not None and forecast.how == "known":
                known[shuffle] = forecast
            elif not self._is_light(shuffle):
                return {}
        return known

    def _is_light(self, shuffle: ShuffleId) -> bool:
        """Whether no reducer can be heavy by what it reads of this shuffle."""
        outputs = self.outputs.shuffles.get(shuffle)
        blocks = [] if outputs is None else outputs.blocks()
        return sum(ref.length for ref in blocks) < self.rules.divide_bytes

    def _into_pieces(
        self, run: StageRun, divisible: Divisible, index: int, count: int
    ) -> list[int]:
        outputs = self.outputs.shuffles[divisible.shuffle]
        ranges = even_ranges(sizes_of_part(outputs, index), count)
        if len(ranges) < 2:
            # One map has made nearly all of it.
            return []
        rare("a heavy reducer is divided")
        pieces: dict[int, Piece] = {}
        for first, last in ranges:
            number = run.spec.partitions + len(run.pieces)
            pieces[number] = Piece(first, last)
            run.pieces[number] = index
        run.divisions[index] = Division(pieces)
        return list(pieces)

    def _divided(self, run: StageRun, partition: int) -> Divided | None:
        """What a task is told that does a piece of a reducer's work, or the whole after them."""
        divisible = run.spec.divisible
        index = run.pieces.get(partition, partition)
        division = run.divisions.get(index)
        if divisible is None or division is None:
            return None
        if partition in run.pieces:
            piece = division.pieces[partition]
            return Divided(*divisible, (piece.first, piece.last))
        return Divided(*divisible, None, tuple(division.blocks()))

    def _piece_done(self, run: StageRun, tasks: TaskSet, number: int, made: ev.Made) -> None:
        index = run.pieces[number]
        division = run.divisions.get(index)
        if division is None or division.pieces[number].made is not None:
            rare("a piece is done that nobody needs")
            self._release(made.blocks())
            return
        division.pieces[number].made = made
        if division.done:
            self.turns.add(run)
            tasks.add(index)

    def _division_done(self, run: StageRun, index: int, counts: bool) -> None:
        """The whole is done: what its pieces added to accumulators counts with it."""
        division = run.divisions.pop(index, None)
        if division is None:
            return
        for piece in division.pieces.values():
            if counts and piece.made is not None and piece.made.accumulators is not None:
                self.commands.append(CountAccumulators(JobId(run.job), piece.made.accumulators))
        self._release(division.blocks())

    def _undivide(self, run: StageRun, tasks: TaskSet, partition: int) -> int:
        """A piece, or the whole, came to nothing: the reducer runs as a whole; gives its number."""
        index = run.pieces.get(partition, partition)
        division = run.divisions.pop(index, None)
        if division is not None:
            rare("a division is given up")
            for number in division.pieces:
                if number in tasks.pending:
                    tasks.discard(number)
                for attempt in list(tasks.running.get(number, ())):
                    self._cancel(attempt)
            self._release(division.blocks())
        return index

    def _lose_pieces(self, run: StageRun, tasks: TaskSet, node: NodeId) -> None:
        """A node has gone: reducers of which a piece lay there run as a whole."""
        for index, division in list(run.divisions.items()):
            if any(ref.node == node for ref in division.blocks()):
                self._undivide(run, tasks, index)
                if index not in tasks.running:
                    tasks.add(index)

    def _end_divisions(self, run: StageRun) -> None:
        """Nobody waits for the stage any more."""
        for division in run.divisions.values():
            self._release(division.blocks())
        run.divisions = {}


def sizes_of_part(outputs: ShuffleOutputs, part: int) -> list[int]:
    """How much each map has for one reducer."""
    return [decode(code[part : part + 1])[0] for code in outputs.sizes if code is not None]


def even_ranges(sizes: list[int], count: int) -> list[tuple[int, int]]:
    """Neighbours in so many ranges of about the same size at most, none of them empty."""
    total = sum(sizes)
    ranges: list[tuple[int, int]] = []
    first, before = 0, 0
    for last, size in enumerate(sizes, 1):
        before += size
        if before * count >= total * (len(ranges) + 1) or last == len(sizes):
            ranges.append((first, last))
            first = last
    return [each for each in ranges if each[0] < each[1]]
