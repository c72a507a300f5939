"""Runs tasks of a story in this process; their inputs are computed again from the sources."""

from __future__ import annotations

import os
from collections.abc import Callable, Collection, Iterable, Iterator
from functools import partial
from typing import Any

from pyrite import accumulators
from pyrite.blocks.codec import encode
from pyrite.blocks.live import LiveStore
from pyrite.blocks.pickling import Unpicklable
from pyrite.blocks.segments import Folders, SegmentReader
from pyrite.blocks.writer import SegmentWriter
from pyrite.bounded.space import Space
from pyrite.execute.evaluate import Evaluator
from pyrite.execute.keeper import Keeper
from pyrite.execute.limits import WorkerLimits
from pyrite.execute.requests import DriverRequests
from pyrite.execute.worker import MapWork, unsendable
from pyrite.ids import BlockRef, ExecutorId, NodeId, ShuffleId
from pyrite.machine.chain import OFF, Chain
from pyrite.plan.program import Shape
from pyrite.rdd.partitioner import ToOne
from pyrite.rdd.saves import write_part
from pyrite.rdd.streamed import Streamed
from pyrite.replay.operators import StageProgram, WatchedOperators, missing_slices
from pyrite.replay.recording import CantReplay, Operator, Recording
from pyrite.replay.surroundings import TaskSurroundings
from pyrite.replay.watched import RecordWatch, WatchedRouter, noted, run_watched, watched_action
from pyrite.shuffle.write import write_map_output
from pyrite.story.parts import StageState, TaskAttempt
from pyrite.story.records import SUCCEEDED
from pyrite.taskcontext import TaskContext, TaskInfo

# Above this a task spills rows to disk.
SPILL_BYTES = 1 << 30
DEALING = "while its rows were dealt to the reducers"
HERE = NodeId("replay")
LIMITS = WorkerLimits(2 * SPILL_BYTES, SPILL_BYTES, 0, 0, 0)


class Replayer:
    """Runs tasks, and keeps the map outputs that it has made, for others that read them."""

    def __init__(
        self, recording: Recording, around: TaskSurroundings, say: Callable[[str], None]
    ) -> None:
        self.recording = recording
        self.around = around
        self.say = say
        folders = Folders(around.scratch, around.scratch, HERE)
        self.reader = SegmentReader(folders)
        self.writer = SegmentWriter(folders, ExecutorId(0), lambda _: None)
        self.keeper = Keeper(LiveStore(0, 0), self.reader, self.writer, NO_REQUESTS, LIMITS)
        self.programs: dict[int, StageProgram] = {}
        # By shuffle: which parts of its map outputs were kept, and the outputs.
        self.made: dict[ShuffleId, tuple[set[int], list[BlockRef]]] = {}

    def program(self, stage: int) -> StageProgram:
        if stage not in self.programs:
            self.programs[stage] = StageProgram(self.recording, stage)
        return self.programs[stage]

    # Whole tasks

    def run_task(self, stage: int, partition: int, attempt: TaskAttempt | None) -> None:
        """Does all that the attempt did; raises what it raised."""
        self.prepare(stage, [partition])
        self._in_task(stage, partition, attempt, partial(self._do_task, attempt))

    def _do_task(self, attempt: TaskAttempt | None, task: RunningTask) -> None:
        if attempt is not None and attempt.divided is not None:
            divided = attempt.divided
            place, shuffle = divided["place"], ShuffleId(divided["shuffle"])
            if divided["maps"] is not None:
                self._run_piece(task, place, shuffle, range(*divided["maps"]))
                return
            task.evaluator.take_pieces(place, shuffle, self._make_pieces(task, attempt))
        work = task.operators.work()
        chain = task.evaluator.compute(task.partition)
        last = task.operators.last
        if isinstance(work, MapWork):
            watch = RecordWatch(last, task.partition, DEALING)
            router = WatchedRouter(work.router, (), watch)
            self._write(task, chain.last_rows(), router, work.parts)
        else:
            watch = RecordWatch(last._replace(told=self._action(attempt)), task.partition)
            perform(watch, self._harmless(work), task.partition, chain)

    def _action(self, attempt: TaskAttempt | None) -> dict[str, Any]:
        """The action that the attempt ran for, told as an operator is."""
        job = None if attempt is None else self.recording.run.jobs.get(attempt.job)
        return {"operator": "action"} if job is None else {"operator": job.action, "site": job.site}

    def _run_piece(
        self, task: RunningTask, place: int, shuffle: ShuffleId, maps: range
    ) -> BlockRef:
        """The part of a divided reducer's work that reads these maps."""
        rows = task.evaluator.compute_piece(place, shuffle, maps, task.partition)
        return self._write(task, rows, ToOne(), 1)

    def _make_pieces(self, task: RunningTask, attempt: TaskAttempt) -> list[BlockRef]:
        """The pieces that a divided reducer merged, in the order of their maps."""
        tried = self.recording.attempts(task.stage.id, task.partition)
        ranges = {
            tuple(each.divided["maps"])
            for each in tried
            if each.divided is not None
            and each.divided["maps"] is not None
            and each.outcome == SUCCEEDED
            and each.id < attempt.id
        }
        refs: list[BlockRef] = []
        for maps in sorted(ranges):

            def run(piece: RunningTask, maps: tuple[int, ...] = maps) -> None:
                assert attempt.divided is not None
                place, shuffle = attempt.divided["place"], ShuffleId(attempt.divided["shuffle"])
                refs.append(self._run_piece(piece, place, shuffle, range(*maps)))

            self._in_task(task.stage.id, task.partition, attempt, run)
        return refs

    def _harmless(self, work: Any) -> Any:
        """An action that writes files writes them into the scratch folder."""
        if type(work) is partial and work.func is write_part:
            _, write, suffix = work.args
            path = os.path.join(self.around.scratch, f"saved{suffix}")
            return lambda _, rows: write(path, rows)
        return work

    # Rows of any RDD

    def rows(self, last: Operator, partition: int) -> Iterator[Any]:
        """The rows of a partition behind an operator; `prepare` has made what it reads."""
        attempt = self.recording.good_attempt(last.stage, partition)
        task, close = self._task(last.stage, partition, attempt, last)
        try:
            yield from task.evaluator.compute(partition).run()
        finally:
            close()

    # Map outputs

    def prepare(self, stage: int, partitions: Iterable[int], last: Operator | None = None) -> None:
        """Makes the map outputs that these partitions read, and those behind them."""
        wanted: dict[ShuffleId, set[int]] = {}
        pending: list[tuple[int, Iterable[int], Operator | None]] = [(stage, partitions, last)]
        while pending:
            number, indices, end = pending.pop()
            read = self._parts_read(number, indices, end)
            for shuffle, parts in read.items():
                made = self.made.get(shuffle, (set(), []))[0]
                if parts <= made | wanted.get(shuffle, set()):
                    continue
                wanted.setdefault(shuffle, set()).update(parts | made)
                writer = self.writing(shuffle)
                pending.append((writer.id, range(writer.partitions), None))
        # A shuffle's number is larger than those of the shuffles that it was made of.
        for shuffle in sorted(wanted):
            self._make_outputs(shuffle, wanted[shuffle])

    def writing(self, shuffle: int) -> StageState:
        """The stage that writes a shuffle."""
        writer = self.recording.writers.get(shuffle)
        if writer is None:
            raise CantReplay(
                f"the story has no stage that writes shuffle {shuffle}: it was cut off, or the "
                "driver was started again; run the program again"
            )
        return self.recording.stage(writer.id)

    def _parts_read(
        self, stage: int, partitions: Iterable[int], last: Operator | None
    ) -> dict[ShuffleId, set[int]]:
        program = self.program(stage)
        steps = program.layout.steps if last is None else program.layout.steps[: last.place + 1]
        shape = Shape(steps)
        found: dict[ShuffleId, set[int]] = {}
        for index in partitions:
            for shuffle, part in shape.shuffle_parts(index, (), lambda _: False):
                found.setdefault(shuffle, set()).add(part)
        return found

    def _make_outputs(self, shuffle: ShuffleId, parts: set[int]) -> None:
        stage = self.writing(shuffle)
        which = "1 part" if len(parts) == 1 else f"{len(parts)} parts"
        self.say(f"running stage {stage.id} ({stage.name}) again for {which} of its output")
        refs: list[BlockRef] = []
        for index in range(stage.partitions):
            # Its number is told to the task, which may do other things when it is tried first.
            attempt = self.recording.good_attempt(stage.id, index)
            self._in_task(stage.id, index, attempt, partial(self._map, refs, parts))
        self.made[shuffle] = parts, refs

    def _map(self, refs: list[BlockRef], parts: Collection[int], task: RunningTask) -> None:
        work: MapWork = task.operators.work()
        rows = task.evaluator.compute(task.partition).last_rows()
        watch = RecordWatch(task.operators.last, task.partition, DEALING)
        refs.append(self._write(task, rows, WatchedRouter(work.router, parts, watch), work.parts))

    def _write(self, task: RunningTask, rows: Iterator[Any], router: Any, parts: int) -> BlockRef:
        ref, _ = write_map_output(rows, task.partition, router, parts, task.space, self.writer)
        return ref

    # What all of them share

    def _in_task(
        self,
        stage: int,
        partition: int,
        attempt: TaskAttempt | None,
        run: Callable[[RunningTask], None],
    ) -> None:
        task, close = self._task(stage, partition, attempt)
        try:
            run(task)
        finally:
            close()

    def _task(
        self,
        stage: int,
        partition: int,
        attempt: TaskAttempt | None,
        last: Operator | None = None,
    ) -> tuple[RunningTask, Callable[[], None]]:
        state = self.recording.stage(stage)
        program = self.program(stage)
        if error := missing_slices(program):
            raise error
        self.around.load_broadcasts(stage)
        before = TaskContext.get()
        TaskContext._set(task_info(state, program, partition, attempt))
        accumulators.start_task()
        space = Space(SPILL_BYTES, self.around.scratch)
        operators = WatchedOperators(program, partition, last)
        shuffles = {shuffle: refs for shuffle, (_, refs) in self.made.items()}
        evaluator = Evaluator(
            operators,  # type: ignore[arg-type]
            {},
            shuffles,
            self.keeper,
            space,
            {},
            OFF,
            run=run_watched,
        )

        def close() -> None:
            space.close()
            TaskContext._current = before

        return RunningTask(state, partition, operators, evaluator, space), close


class RunningTask:
    """One task, ready to run."""

    def __init__(
        self,
        stage: StageState,
        partition: int,
        operators: WatchedOperators,
        evaluator: Evaluator,
        space: Space,
    ) -> None:
        self.stage = stage
        self.partition = partition
        self.operators = operators
        self.evaluator = evaluator
        self.space = space


def perform(watch: RecordWatch, work: Any, partition: int, chain: Chain) -> None:
    """Runs an action over a task's rows, and encodes its result as an executor does."""
    rows = noted(chain.run(), watch)
    result = watched_action(work, watch)(partition, rows)
    for each in result.rows if isinstance(result, Streamed) else (result,):
        try:
            encode([each])
        except Unpicklable as error:
            watch.record = each
            raise unsendable(result, [each], error.reason) from error.reason


def task_info(
    stage: StageState, program: StageProgram, partition: int, attempt: TaskAttempt | None
) -> TaskInfo:
    """What the task learns about itself: as the attempt did."""
    number, id = (0, 0) if attempt is None else (attempt.number, attempt.id)

    def meet(message: str) -> list[str]:
        if message:
            raise CantReplay(
                f"stage {stage.id} is a barrier stage whose tasks send each other messages, and "
                "replay runs one task alone"
            )
        return [""] * stage.partitions

    properties = dict(program.code.properties)
    return TaskInfo(
        *(stage.id, partition, number, id), stage.partitions, properties, stage.barrier, meet
    )


class NoDriver:
    """In place of a connection to a driver."""

    def send(self, message: tuple[Any, ...]) -> None:
        raise AssertionError(f"a replayed task asks a driver: {message!r}")

    def receive(self, interruptible: bool = False) -> tuple[Any, ...]:
        raise AssertionError("a replayed task waits for a driver")

    def poll(self) -> tuple[Any, ...] | None:
        return None


NO_REQUESTS = DriverRequests(NoDriver(), lambda _: None)
