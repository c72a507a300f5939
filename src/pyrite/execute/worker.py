"""An executor: runs one task at a time and reports its outcome."""

from __future__ import annotations

import contextlib
import gc
import pickle
import resource
import sys
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any, NamedTuple, Protocol

from pyrite import accumulators
from pyrite.blocks.codec import MOST_ROWS, CorruptBlock, decode, encode, frame_size
from pyrite.blocks.pickling import Unpicklable
from pyrite.blocks.segments import remove_segments
from pyrite.blocks.writer import SEGMENT_BYTES, Want
from pyrite.bounded.large import RowTooLarge
from pyrite.bounded.space import Space
from pyrite.broadcast import Broadcast
from pyrite.errors import ClusterError
from pyrite.execute.evaluate import Evaluator
from pyrite.execute.keeper import Keeper, KeepPlan, KeptBlockLost
from pyrite.execute.operators import Operators
from pyrite.execute.store import Store
from pyrite.execute.traces import hint, pickle_error, summary, user_traceback
from pyrite.ids import BlockRef, ExecutorId, Medium, NodeId, Partition, RddId, ShuffleId
from pyrite.place.sizes import encode as encode_sizes
from pyrite.plan.program import ProgramLayout
from pyrite.probe import probe
from pyrite.rdd.partitioner import Router, ToOne
from pyrite.rdd.stops import stop_behind, stop_error
from pyrite.remote.errors import PeerLost
from pyrite.shuffle.read import MissingMapOutput
from pyrite.shuffle.write import write_map_output
from pyrite.taskcontext import TaskContext, TaskInfo


class Stopped(BaseException):
    """The driver has ended, or has stopped this executor."""


class TaskInterrupted(BaseException):
    """The running attempt was cancelled."""


class Channel(Protocol):
    """An executor's connection to the driver."""

    def send(self, message: tuple[Any, ...]) -> None: ...

    def receive(self, interruptible: bool = False) -> tuple[Any, ...]: ...


class WorkerLimits(NamedTuple):
    """An executor's limits; above `spill_bytes` its tasks spill rows to disk."""

    memory_bytes: int
    spill_bytes: int
    storage_bytes: int
    protected_bytes: int
    inline_bytes: int
    # How many kept rows are encoded at a time.
    batch_rows: int = MOST_ROWS
    segment_bytes: int = SEGMENT_BYTES
    # Map outputs of at least so many bytes report the sizes of their parts; None: none do.
    size_report_bytes: int | None = None
    # A block server that does not answer for so long is lost.
    network_timeout_s: float = 120.0


class Header(NamedTuple):
    """What all tasks of a stage share, apart from functions."""

    plans: dict[RddId, KeepPlan]
    properties: dict[str, str]
    python_paths: tuple[str, ...]
    partitions: int
    barrier: bool
    # Pickled; calls what the task does, where tasks are profiled.
    profiler: bytes | None = None


class MapWork(NamedTuple):
    """What a task of a map stage does with its rows."""

    router: Router
    parts: int


class Frames(NamedTuple):
    """A result that stays encoded in the pool; the driver receives its ref."""

    buffers: list[Any]


Action = Callable[[int, Iterator[Any]], Any]
# A partition's result, its map output and the sizes of its parts, as sent to the driver.
Output = tuple[Any, tuple[Any, ...] | None, bytes | None]
# The same, with its accumulator updates.
Made = tuple[Any, tuple[Any, ...] | None, bytes | None, bytes | None]


class Stage:
    """A stage that was sent to this executor."""

    def __init__(self, layout: bytes, links: list[bytes], header: bytes) -> None:
        self.layout: ProgramLayout = pickle.loads(layout)
        self.links = links
        self.header: Header = pickle.loads(header)

    def load(self, slices: bytes | None) -> Operators:
        """Unpickles the stage's functions for each task: tasks do not share changes in them."""
        for path in self.header.python_paths:
            if path not in sys.path:
                sys.path.insert(1, path)
        return Operators(self.layout, self.links, {} if slices is None else pickle.loads(slices))


class Task(NamedTuple):
    """One attempt, as the driver sent it."""

    attempt: int
    stage: int
    partitions: tuple[int, ...]
    number: int
    inputs: list[ShuffleId]
    blocks: list[tuple[int, int, NodeId, str, int, int, Medium]]
    # The prefetched segments on this node, by shuffle.
    prefetched: list[tuple[ShuffleId, list[str]]]
    # Set for a piece of a heavy reducer, and for the reducer that merges its pieces.
    divided: tuple[int, ShuffleId, tuple[int, int] | None, list[Any]] | None
    # The pickled slices of each partition; None if no operator has slices.
    slices: list[bytes] | None


class Worker:
    """The executor's state between tasks, and its loop."""

    def __init__(
        self, executor: ExecutorId, channel: Channel, store: Store, limits: WorkerLimits
    ) -> None:
        self.channel = channel
        self.store = store
        self.limits = limits
        self.reader = store.reader()
        self.writer = store.writer(executor, self._lease, limits.segment_bytes)
        self.live = store.live(limits.storage_bytes, limits.protected_bytes)
        self.keeper = Keeper(self.live, self.reader, self.writer, limits.batch_rows)
        self.stages: dict[int, Stage] = {}
        self.snapshots: dict[ShuffleId, list[BlockRef]] = {}
        self.running: int | None = None
        self.interrupted: int | None = None
        # Returns the attempt that the driver cancelled last.
        self.cancelled: Callable[[], int] = lambda: -1
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
            case ("forget", segments):
                self.reader.forget(segments)
            case ("broadcast", id):
                Broadcast._loaded.pop(id, None)
            case ("space" | "barrier", *_):
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
        self.running = task.attempt
        try:
            # The signal may have arrived before the task.
            self.interrupt(self.cancelled())
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
            answer = self._failure(task, error)
        finally:
            # A task's prints should appear when it ends, not when its executor does.
            flush_output()
            TaskContext._set(None)
        if answer[0] == "ok":
            self.writer.take_disk_written()
        else:
            self._remove_unreported()
        self._answer(answer)

    def _answer(self, answer: tuple[Any, ...]) -> None:
        self.writer.end_task()
        self.channel.send((*answer, *self.keeper.take_report()))

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
            lambda message: self._meet(task.attempt, message),
        )
        TaskContext._set(info)
        accumulators.start_task()
        space = self.store.space(self.limits.spill_bytes, self.keeper.make_room)
        try:
            compute = partial(self._compute, task, stage, partition, stage.load(slices), space)
            profile = None if header.profiler is None else pickle.loads(header.profiler).profile
            output: Output = compute() if profile is None else profile(compute)
            return (*output, take_updates())
        finally:
            space.close()

    def _compute(
        self, task: Task, stage: Stage, partition: int, operators: Operators, space: Space
    ) -> Output:
        work: MapWork | Action = operators.work()
        shuffles = {shuffle: self.snapshots[shuffle] for shuffle in task.inputs}
        self.keeper.start_task(
            {
                Partition(RddId(rdd), index): BlockRef(node, segment, offset, length, medium)
                for rdd, index, node, segment, offset, length, medium in task.blocks
            }
        )
        plans, prefetched = stage.header.plans, dict(task.prefetched)
        evaluator = Evaluator(operators, plans, shuffles, self.keeper, space, prefetched)
        if task.divided is not None:
            place, shuffle, maps, blocks = task.divided
            if maps is not None:
                rows = evaluator.compute_piece(place, shuffle, range(*maps), partition)
                piece, _ = write_map_output(rows, partition, ToOne(), 1, space, self.writer)
                return (None, tuple(piece), None)
            evaluator.take_pieces(place, shuffle, [BlockRef(*each) for each in blocks])
        rows = evaluator.compute(partition)
        if isinstance(work, MapWork):
            return self._write_output(work, partition, rows, space)
        result = self._encode_result(work(partition, rows))
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

    def _encode_result(self, result: Any) -> bytes | tuple[Any, ...]:
        if isinstance(result, Frames):
            return tuple(self.writer.write(result.buffers, frame_size(result.buffers)))
        try:
            buffers = encode([result])
        except Unpicklable as error:
            raise UnsendableResult(
                f"the task's result, of type {type(result).__name__}, can't be sent to the "
                f"driver ({summary(error.reason)}): return plain data instead"
            ) from error.reason
        size = frame_size(buffers)
        if size <= self.limits.inline_bytes:
            return b"".join(buffers)
        return tuple(self.writer.write(buffers, size))

    def _failure(self, task: Task, error: BaseException) -> tuple[Any, ...]:
        stop = stop_behind(error)
        if stop is not None:
            error = stop_error(stop)
        if self._is_lost_memory_error(error):
            error = MemoryError().with_traceback(error.__traceback__)
        kind = type(error).__name__
        message = summary(error) + hint(error)
        if isinstance(error, RowTooLarge):
            message = f"MemoryError: {error} (the executor has {self._memory_text()})"
        elif isinstance(error, MemoryError):
            gc.collect()
            message = (
                f"MemoryError: the task needed more than its executor may have "
                f"({self._memory_text()}): use more partitions, or raise spark.executor.memory"
            )
        trace = user_traceback(stop or error)
        return ("failed", task.attempt, kind, message, trace, pickle_error(error))

    def _is_lost_memory_error(self, error: BaseException) -> bool:
        """Whether CPython lost a MemoryError: it may raise SystemError instead."""
        is_lost = isinstance(error, SystemError) and "without" in str(error)
        peak_bytes = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss << 10
        return is_lost and peak_bytes > self.limits.spill_bytes

    def _memory_text(self) -> str:
        return f"{self.limits.memory_bytes >> 20} MiB"

    def _remove_unreported(self) -> None:
        """Removes disk blocks of a failed attempt; those of kept partitions are reported."""
        reported = {ref.segment for _, ref, _ in self.keeper.stored if ref is not None}
        remove_segments(
            self.store.folders, [n for n in self.writer.take_disk_written() if n not in reported]
        )

    def _lease(self, want: Want) -> NodeId | None:
        self.channel.send(("space", *want))
        place: NodeId | None = self._wait_for("space", want.segment)
        return place

    def _meet(self, attempt: int, message: str) -> list[str]:
        self.channel.send(("barrier", attempt, message))
        return list(self._wait_for("barrier", attempt))

    def _wait_for(self, kind: str, about: object) -> Any:
        """Waits for the driver's answer to a request of the running task."""
        while True:
            message = self.channel.receive(interruptible=True)
            if message[:2] == (kind, about):
                return message[2]
            self.handle(message)

    def _load_broadcast(self, ref: BlockRef) -> list[Any]:
        try:
            try:
                return decode(self.reader.view(ref))
            except PeerLost:
                # The driver's block server may have been killed, and another started since.
                return decode(self.reader.view(ref))
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


def take_updates() -> bytes | None:
    """Returns the task's accumulator updates, pickled; None if there are none."""
    updates = accumulators.take_updates()
    if not updates:
        return None
    import cloudpickle

    pickled: bytes = cloudpickle.dumps(updates)
    return pickled
