"""An executor: runs one task at a time and reports its outcome."""

from __future__ import annotations

import contextlib
import os
import pickle
import sys
from collections.abc import Callable, Iterator, Sequence
from functools import cached_property, partial
from typing import Any, NamedTuple

from pyrite import accumulators
from pyrite.blocks.codec import CorruptBlock, Encoder, decode, encode
from pyrite.blocks.pickling import Unpicklable
from pyrite.blocks.segments import remove_segments
from pyrite.blocks.stream import ResultStream
from pyrite.blocks.together import PartsTogether
from pyrite.bounded.large import RowTooLarge
from pyrite.bounded.space import Space
from pyrite.bounded.traced import send_chain
from pyrite.broadcast import Broadcast
from pyrite.dht import blockcache
from pyrite.errors import ClusterError
from pyrite.execute.act import act
from pyrite.execute.evaluate import Evaluator
from pyrite.execute.inputcache import InputCache
from pyrite.execute.keeper import Keeper, KeepPlan, KeptBlockLost
from pyrite.execute.lacking import lacking
from pyrite.execute.limits import WorkerLimits
from pyrite.execute.meter import Meter, Moment
from pyrite.execute.operators import Operators
from pyrite.execute.requests import Channel, DriverRequests
from pyrite.execute.reserve import Reserve, is_lost_memory_error
from pyrite.execute.store import Store
from pyrite.execute.task import Task
from pyrite.execute.traces import (
    hint,
    pickle_error,
    summary,
    type_name,
    user_places,
    user_traceback,
)
from pyrite.ids import BlockRef, ExecutorId, Partition, RddId, ShuffleId
from pyrite.machine.chain import Tracing
from pyrite.metrics import COUNTS
from pyrite.place.sizes import encode as encode_sizes
from pyrite.plan.program import ProgramLayout, Shape
from pyrite.probe import probe
from pyrite.rdd.partitioner import Router, ToOne
from pyrite.rdd.stops import stop_behind, stop_error
from pyrite.rdd.streamed import Streamed
from pyrite.remote.errors import PeerLost
from pyrite.shuffle.read import MissingMapOutput
from pyrite.shuffle.write import write_map_output
from pyrite.sparkfiles import SparkFiles
from pyrite.taskcontext import TaskContext, TaskInfo


class Stopped(BaseException):
    """The driver has ended, or has stopped this executor."""


class TaskInterrupted(BaseException):
    """The running attempt was cancelled."""


class Header(NamedTuple):
    """What all tasks of a stage share, apart from functions."""

    plans: dict[RddId, KeepPlan]
    properties: dict[str, str]
    # Below the node's folder of added files.
    python_paths: tuple[str, ...]
    partitions: int
    barrier: bool
    # Pickled; calls what the task does, where tasks are profiled.
    profiler: bytes | None = None


class MapWork(NamedTuple):
    """What a task of a map stage does with its rows."""

    router: Router
    parts: int


Action = Callable[[int, Iterator[Any]], Any]
# A partition's result, its map output and the sizes of its parts, as sent to the driver.
Output = tuple[Any, tuple[Any, ...] | None, bytes | None]
# The same, with its accumulator updates and what was traced.
Made = tuple[Any, tuple[Any, ...] | None, bytes | None, bytes | None, tuple[str, ...]]


class Stage:
    """A stage that was sent to this executor."""

    def __init__(self, layout: bytes, links: list[bytes], header: bytes) -> None:
        self.layout: ProgramLayout = pickle.loads(layout)
        self.links = links
        self.header: Header = pickle.loads(header)

    @cached_property
    def shape(self) -> Shape:
        return Shape(self.layout.steps)

    def parts_together(self, partitions: Sequence[int]) -> dict[ShuffleId, PartsTogether]:
        """The parts of shuffles that several partitions read; none for a single partition."""
        if len(partitions) == 1:
            return {}
        found: dict[ShuffleId, list[int]] = {}
        for index in partitions:
            for shuffle, part in self.shape.shuffle_parts(index, (), lambda _: False):
                found.setdefault(shuffle, []).append(part)
        return {shuffle: PartsTogether(parts) for shuffle, parts in found.items()}

    def load(self, slices: bytes | None, moment: Callable[[], Moment]) -> Operators:
        """Unpickles the stage's functions for each task: tasks do not share changes in them."""
        for name in self.header.python_paths:
            path = os.path.join(SparkFiles.getRootDirectory(), name).rstrip(os.sep)
            if path not in sys.path:
                sys.path.insert(1, path)
        return Operators(self.layout, self.links, slices, moment)


class Worker:
    """The executor's state between tasks, and its loop."""

    def __init__(
        self, executor: ExecutorId, channel: Channel, store: Store, limits: WorkerLimits
    ) -> None:
        self.channel = channel
        self.store = store
        self.limits = limits
        self.meter = Meter(store.clock())
        self.reserve = Reserve()
        self.reader = store.reader()
        self.copies = store.copies(self.reader)
        self.requests = DriverRequests(channel, self.handle)
        self.writer = store.writer(executor, self.requests.lease, limits.segment_bytes)
        self.live = store.live(limits.storage_bytes, limits.protected_bytes)
        self.keeper = Keeper(self.live, self.reader, self.writer, self.requests, limits)
        self.inputs = InputCache(self.reader, self.writer)
        self.stages: dict[int, Stage] = {}
        self.snapshots: dict[ShuffleId, list[BlockRef]] = {}
        # What the partitions of the running task read of other nodes together.
        self.together: dict[ShuffleId, PartsTogether] = {}
        # What the row machine said about the functions of the running task.
        self.traced: list[str] = []
        self.running: int | None = None
        self.interrupted: int | None = None
        # Returns the attempt that the driver cancelled last.
        self.cancelled: Callable[[], int] = lambda: -1
        self.task_started: Callable[[], None] = lambda: None
        Broadcast._load = self._load_broadcast

    def serve(self) -> None:
        """Handles messages until the driver ends."""
        while True:
            try:
                self.handle(self.channel.receive())
            except TaskInterrupted:
                probe("a running task is cancelled")
                self._remove_unreported()
                self._answer(("cancelled", self.interrupted))

    def interrupt(self, attempt: int) -> None:
        """Cancels the attempt if it is running; called from a signal handler."""
        if self.running == attempt:
            self.running, self.interrupted = None, attempt
            raise TaskInterrupted

    def handle(self, message: tuple[Any, ...]) -> None:
        """Handles one message from the driver."""
        match message:
            case ("task", *order):
                self._run(Task(*order))
            case ("snapshot", shuffle, refs):
                self.snapshots[shuffle] = [BlockRef(*each) for each in refs]
            case ("end_shuffle", shuffle):
                self.snapshots.pop(shuffle, None)
            case ("stage", stage, layout, links, header):
                self.stages[stage] = Stage(layout, links, header)
            case ("end", stage):
                self.stages.pop(stage, None)
            case ("drop", rdd):
                self.live.forget(rdd)
            case ("drop_rows", rdd, index):
                self.live.drop(Partition(rdd, index))
            case ("rate_rows", rdd, index, is_replica):
                self.live.rate(Partition(rdd, index), is_replica)
            case ("forget", segments):
                self.reader.forget(segments)
                self.copies.forget(segments)
            case ("holders", segment, offset, nodes):
                self.copies.learn(segment, offset, nodes)
            case ("broadcast", id):
                Broadcast._loaded.pop(id, None)
            case ("space" | "barrier" as kind, about, answer):
                if not self.requests.accept(kind, about, answer):
                    # The task that waited for this answer was cancelled.
                    probe("an answer comes after its question was given up")
            case ("nodes", secret, addresses):
                self.store.meet(secret, addresses, self.limits.memory_bytes)
            case ("stop",):
                raise Stopped
            case _:
                raise AssertionError(f"unknown message {message!r}")

    def _run(self, task: Task) -> None:
        stage = self.stages[task.stage]
        self.meter.start()
        self.task_started()
        self.reserve.refill()
        self.running = task.attempt
        try:
            # The signal may have arrived before the task.
            self.interrupt(self.cancelled())
            self.together = stage.parts_together(task.partitions)
            self.inputs.start_task(
                [(key, None if ref is None else BlockRef(*ref)) for key, ref in task.cached]
            )
            blockcache.use(self.inputs)
            made = [self._make(task, stage, place) for place in range(len(task.partitions))]
            answer: tuple[Any, ...] = ("ok", task.attempt, made)
            self.running = None
        except MissingMapOutput as error:
            self.running = None
            lost = [(index, tuple(ref)) for index, ref in error.lost]
            answer = ("fetch", task.attempt, error.shuffle, lost, str(error))
        except KeptBlockLost:
            # The report names the lost block; the retry recomputes its rows.
            self.running = None
            answer = ("cancelled", task.attempt)
        except (Stopped, TaskInterrupted):
            raise
        except BaseException as error:
            self.running = None
            if isinstance(error, MemoryError | SystemError):
                self.reserve.release(error)
            answer = self._failure(task, error)
        finally:
            # A task's prints should appear when it ends, not when its executor does.
            flush_output()
            TaskContext._set(None)
            self.together = {}
            blockcache.use(None)
        if answer[0] == "ok":
            self.writer.take_disk_written()
        else:
            self._remove_unreported()
        self._answer(answer)

    def _answer(self, answer: tuple[Any, ...]) -> None:
        self.writer.end_task()
        self.requests.give_up()
        inputs = self.inputs.take_report(answer[0] == "ok")
        measured = tuple(self.meter.stop())
        for copied in self.copies.take_made():
            self.channel.send(("copied", *copied))
        self.channel.send((*answer, *self.keeper.take_report(), inputs, measured))

    def _make(self, task: Task, stage: Stage, place: int) -> Made:
        """Computes one of the task's partitions, independently of the others."""
        header = stage.header
        partition = task.partitions[place]
        slices = None if task.slices is None else task.slices[place]
        info = TaskInfo(
            task.stage,
            partition,
            task.number,
            task.attempt,
            header.partitions,
            header.properties,
            header.barrier,
            lambda message: self.requests.meet(task.attempt, message),
        )
        TaskContext._set(info)
        accumulators.start_task()
        self.traced.clear()
        space = self.store.space(self.limits.spill_bytes, self.keeper.make_room)
        try:
            operators = stage.load(slices, self.meter.clock.moment)
            compute = partial(self._compute, task, stage, partition, operators, space)
            profile = None if header.profiler is None else pickle.loads(header.profiler).profile
            output: Output = compute() if profile is None else profile(compute)
            return (*output, take_updates(), tuple(self.traced))
        finally:
            COUNTS.spilled_bytes += space.spilled_bytes
            space.close()

    def _compute(
        self, task: Task, stage: Stage, partition: int, operators: Operators, space: Space
    ) -> Output:
        work: MapWork | Action = operators.work()
        shuffles = {shuffle: self.snapshots[shuffle] for shuffle in task.inputs}
        self.keeper.start_task(
            {
                Partition(RddId(rdd), index): tuple(BlockRef(*ref) for ref in refs)
                for rdd, index, refs in task.blocks
            }
        )
        plans, prefetched = stage.header.plans, dict(task.prefetched)
        tracing = Tracing(self.limits.machine, self.traced)
        evaluator = Evaluator(
            operators, plans, shuffles, self.keeper, space, prefetched, tracing, self.together
        )
        if task.divided is not None:
            place, shuffle, maps, blocks = task.divided
            if maps is not None:
                rows = evaluator.compute_piece(place, shuffle, range(*maps), partition)
                piece, _ = write_map_output(rows, partition, ToOne(), 1, space, self.writer)
                return (None, tuple(piece), None)
            evaluator.take_pieces(place, shuffle, [BlockRef(*each) for each in blocks])
        chain = evaluator.compute(partition)
        if isinstance(work, MapWork):
            rows = send_chain(chain, space) if work.router.packs else chain.last_rows()
            return self._write_output(work, partition, rows, space)
        result = self._encode_result(act(work, partition, chain))
        self.keeper.finish_task()
        return (result, None, None)

    def _write_output(
        self, work: MapWork, partition: int, rows: Iterator[Any], space: Space
    ) -> Output:
        output, sizes = write_map_output(
            rows, partition, work.router, work.parts, space, self.writer
        )
        self.keeper.finish_task()
        least = self.limits.size_report_bytes
        reports = least is not None and output.length >= least
        return (None, tuple(output), encode_sizes(sizes) if reports else None)

    def _encode_result(self, result: Any) -> bytes | list[tuple[Any, ...]]:
        """Returns the result's frames, or the blocks that hold them."""
        stream = ResultStream(self.writer, self.limits.inline_bytes, self.limits.piece_bytes)
        encoder = Encoder()
        try:
            if isinstance(result, Streamed):
                most_rows, most_bytes = self.limits.batch_rows, self.limits.chunk_bytes
                rows = iter(result.rows)
                for batch, frame in encoder.batches(
                    rows, most_rows=most_rows, most_bytes=most_bytes
                ):
                    COUNTS.rows_written += len(batch)
                    stream.append(frame)
            else:
                encoder.batch = [result]
                stream.append(encode(encoder.batch))
        except Unpicklable as error:
            raise unsendable(result, encoder.batch, error.reason) from error.reason
        made = stream.finish()
        return made if isinstance(made, bytes) else [tuple(ref) for ref in made]

    def _failure(self, task: Task, error: BaseException) -> tuple[Any, ...]:
        stop = stop_behind(error)
        if stop is not None:
            error = stop_error(stop)
        if is_lost_memory_error(error, self.limits.spill_bytes):
            error = MemoryError().with_traceback(error.__traceback__)
        kind = type(error).__name__
        lacks = lacking(error, self.store.folders.node) if self.store.is_one_of_many else ""
        advice = hint(error) or lacks
        message = summary(error) + advice
        told = type_name(type(error)) + advice
        if isinstance(error, RowTooLarge):
            message = f"MemoryError: {error} (the executor has {self._memory_text()})"
        elif isinstance(error, MemoryError):
            message = (
                f"MemoryError: the task needed more than its executor may have "
                f"({self._memory_text()}): use more partitions, or raise spark.executor.memory"
            )
        if isinstance(error, MemoryError) and not isinstance(error, RowTooLarge):
            # The engine's own words; those of a large row name its key.
            told = message
        trace, places = user_traceback(stop or error), user_places(stop or error)
        return ("failed", task.attempt, kind, message, trace, pickle_error(error), told, places)

    def _memory_text(self) -> str:
        return f"{self.limits.memory_bytes >> 20} MiB"

    def _remove_unreported(self) -> None:
        """Removes disk blocks of a failed attempt; those of kept partitions are reported."""
        reported = {ref.segment for _, refs, _ in self.keeper.stored for ref in refs}
        remove_segments(
            self.store.folders, [n for n in self.writer.take_disk_written() if n not in reported]
        )

    def _load_broadcast(self, ref: BlockRef) -> list[Any]:
        try:
            try:
                return decode(self.copies.view(ref))
            except PeerLost:
                # The driver's block server may have been killed, and another started since.
                return decode(self.copies.view(ref))
        except (OSError, CorruptBlock) as error:
            raise ClusterError(
                f"the value of a broadcast is lost ({summary(error)}): broadcast it again"
            ) from None


def flush_output() -> None:
    for stream in (sys.stdout, sys.stderr):
        with contextlib.suppress(Exception):
            stream.flush()


class UnsendableResult(TypeError):
    """A task's result can't be pickled."""


def unsendable(result: Any, batch: list[Any], reason: Exception) -> UnsendableResult:
    of = "rows include values" if isinstance(result, Streamed) else "result is"
    kinds = ", ".join(sorted({type(each).__name__ for each in batch}))
    return UnsendableResult(
        f"the task's {of} of type {kinds} and can't be sent to the driver ({summary(reason)}): "
        "return plain data instead"
    )


def take_updates() -> bytes | None:
    """Returns the task's accumulator updates, pickled; None if there are none."""
    updates = accumulators.take_updates()
    if not updates:
        return None
    import cloudpickle

    pickled: bytes = cloudpickle.dumps(updates)
    return pickled
