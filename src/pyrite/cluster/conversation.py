"""The messages between the driver and its executors, whatever transport carries them."""

from __future__ import annotations

import pickle
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from pyrite.cluster.copyholders import CopyHolders
from pyrite.cluster.port import StageSource
from pyrite.ids import (
    AttemptId,
    BlockRef,
    ExecutorId,
    NodeId,
    Partition,
    RddId,
    ShuffleId,
    StageId,
)
from pyrite.metrics import TaskMetrics
from pyrite.plan.program import Program
from pyrite.schedule import commands as do
from pyrite.schedule import events as ev
from pyrite.schedule.commands import Command
from pyrite.schedule.events import Event
from pyrite.schedule.taskinputs import Divided

Message = tuple[Any, ...]

NO_NEWS = ev.KeptNews()


class Peer:
    """One executor as the driver sees it: its node, and the stages and snapshots it was sent."""

    def __init__(self, id: ExecutorId, node: NodeId) -> None:
        self.id = id
        self.node = node
        self.stages: dict[int, int] = {}
        self.snapshots: dict[ShuffleId, int] = {}

    def put(self, message: Message) -> None:
        """Queues a message for the executor; messages arrive in this order, or not at all."""
        raise NotImplementedError

    def flush(self) -> None:
        """Sends the queued messages now, rather than when the driver is idle."""


class Conversation:
    """Encodes commands as messages to executors, and decodes their messages into events."""

    def __init__(self, source: StageSource) -> None:
        self.source = source
        self.peers: dict[ExecutorId, Peer] = {}
        # Running stages, with their pickled layouts.
        self.programs: dict[StageId, tuple[Program, bytes]] = {}
        self.holders = CopyHolders()

    def send(self, command: Command) -> bool:
        """Sends a command to the executors it concerns; False if it is not for executors."""
        match command:
            case do.LaunchTask():
                self._launch(command)
            case do.GrantSpace():
                self._answer(command.writer, ("space", command.segment, command.place))
            case do.DropSegments():
                self.holders.forget(command.segments)
                self._send_all(("forget", list(command.segments)))
            case do.DropRdd():
                self._send_all(("drop", command.rdd))
            case do.DropRows():
                self._answer(command.executor, ("drop_rows", *command.partition))
            case do.RateRows():
                message = ("rate_rows", *command.partition, command.is_replica)
                self._answer(command.executor, message)
            case do.DropBroadcast():
                self._send_all(("broadcast", command.broadcast))
            case do.DropShuffle():
                for peer in self.peers.values():
                    if peer.snapshots.pop(command.shuffle, None) is not None:
                        peer.put(("end_shuffle", command.shuffle))
            case do.ForgetStage():
                self.programs.pop(command.stage, None)
                for peer in self.peers.values():
                    if peer.stages.pop(command.stage, None) is not None:
                        peer.put(("end", command.stage))
            case do.ReleaseBarrier():
                for attempt, executor in command.attempts:
                    self._answer(executor, ("barrier", attempt, list(command.messages)))
            case _:
                return False
        return True

    def forget_gone(self, executor: ExecutorId, segments: Iterable[str]) -> None:
        """Tells an executor that took over copies of broadcasts which of them nobody needs."""
        gone = self.holders.unknown(segments)
        if gone:
            self._answer(executor, ("forget", gone))

    def _launch(self, command: do.LaunchTask) -> None:
        peer = self.peers.get(command.executor)
        if peer is None:
            return
        program, layout = self._program(command.stage)
        if peer.stages.get(command.stage) != command.job:
            header = self.source.header(command.stage, command.job)
            peer.put(("stage", command.stage, layout, program.links, header))
            peer.stages[command.stage] = command.job
        for snapshot in command.inputs:
            if peer.snapshots.get(snapshot.shuffle) != snapshot.epoch:
                refs = [tuple(ref) for ref in snapshot.refs]
                peer.put(("snapshot", snapshot.shuffle, refs))
                peer.snapshots[snapshot.shuffle] = snapshot.epoch
        if program.broadcasts:
            blocks = [each._ref for each in program.broadcasts]
            for told in self.holders.others(blocks, peer.node):
                peer.put(("holders", *told))
        peer.put(
            (
                "task",
                command.attempt,
                command.stage,
                command.partitions,
                command.number,
                [each.shuffle for each in command.inputs],
                encode_blocks(command.blocks),
                [(each.shuffle, each.places()) for each in command.prefetched],
                None if command.divided is None else encode_divided(command.divided),
                [(key, None if ref is None else tuple(ref)) for key, ref in command.cached],
                slices_for(program, *command.partitions),
            )
        )
        peer.flush()

    def _program(self, stage: StageId) -> tuple[Program, bytes]:
        found = self.programs.get(stage)
        if found is None:
            program = self.source.program(stage)
            found = self.programs[stage] = program, pickle.dumps(program.layout)
        return found

    def _answer(self, executor: ExecutorId, message: Message) -> None:
        peer = self.peers.get(executor)
        if peer is not None:
            peer.put(message)
            peer.flush()

    def _send_all(self, message: Message) -> None:
        for peer in self.peers.values():
            peer.put(message)


def slices_for(program: Program, *partitions: int) -> list[bytes] | None:
    """The pickled slices of a task's partitions; None if no operator has slices."""
    if not program.sliced:
        return None
    return [pickle.dumps(program.slices(index)) for index in partitions]


def encode_blocks(blocks: Sequence[tuple[Partition, BlockRef]]) -> list[Message]:
    """The blocks of kept partitions, by RDD and index."""
    by_partition: dict[Partition, list[Message]] = {}
    for partition, ref in blocks:
        by_partition.setdefault(partition, []).append(tuple(ref))
    return [(*partition, refs) for partition, refs in by_partition.items()]


def encode_divided(divided: Divided) -> Message:
    return (*divided[:-1], [tuple(ref) for ref in divided.blocks])


def decode(peer: Peer, message: Message) -> Iterator[Event]:
    """Decodes an executor's message: the blocks it found lost, then the outcome of its task."""
    match message:
        case ("ok", attempt, answers, *report, measured):
            yield from losses(report)
            everything = tuple(made(*each) for each in answers)
            metrics = TaskMetrics(*measured)
            yield ev.TaskSucceeded(AttemptId(attempt), everything, kept_news(report), metrics)
        case ("failed", attempt, kind, text, trace, error, told, places, *report, measured):
            yield from losses(report)
            failure = ev.Failure(kind, text, trace, error, told, places)
            metrics = TaskMetrics(*measured)
            yield ev.TaskRaised(AttemptId(attempt), failure, kept_news(report), metrics)
        case ("cancelled", attempt, *report, measured):
            yield from losses(report)
            metrics = TaskMetrics(*measured)
            yield ev.TaskCancelled(AttemptId(attempt), kept_news(report), metrics)
        case ("fetch", attempt, shuffle, unread, text, *report, measured):
            yield from losses(report)
            yield ev.FetchFailed(
                AttemptId(attempt),
                ShuffleId(shuffle),
                tuple((index, BlockRef(*ref)) for index, ref in unread),
                text,
                kept_news(report),
                TaskMetrics(*measured),
            )
        case ("space", *want):
            yield ev.SpaceWanted(peer.node, peer.id, *want)
        case ("barrier", attempt, text):
            yield ev.BarrierReached(AttemptId(attempt), text)
        case ("ready", pid, host):
            yield ev.ExecutorJoined(peer.id, peer.node, host, pid)
        case _:
            raise AssertionError(f"unknown message {message!r}")


def made(
    result: Any,
    output: Any,
    sizes: bytes | None,
    accumulators: bytes | None,
    traced: tuple[str, ...] = (),
) -> ev.TaskOutput:
    """Decodes what a task produced for one partition."""
    return ev.TaskOutput(
        tuple(BlockRef(*ref) for ref in result) if isinstance(result, list) else result,
        None if output is None else BlockRef(*output),
        accumulators,
        sizes,
        tuple(traced),
    )


def losses(report: list[Any]) -> Iterator[Event]:
    """The kept blocks that a task could not read."""
    _, _, lost, *_ = report
    for (rdd, index), ref in lost:
        yield ev.BlockLost(Partition(RddId(rdd), index), BlockRef(*ref))


def kept_news(report: list[Any]) -> ev.KeptNews:
    """Decodes what a task did with kept partitions."""
    stored, dropped, _, found, computed, spilled_bytes, inputs = report
    if not (stored or dropped or computed or inputs or any(found)):
        return NO_NEWS
    live, pool, remote, disk = found
    return ev.KeptNews(
        tuple(
            ev.Stored(Partition(*where), tuple(BlockRef(*ref) for ref in refs), size, delay_s)
            for where, refs, size, delay_s in stored
        ),
        tuple(Partition(*where) for where in dropped),
        (live, pool, remote, disk),
        tuple(Partition(*where) for where in computed),
        spilled_bytes,
        tuple(ev.InputNews(key, BlockRef(*ref), lost) for key, ref, lost in inputs),
    )
