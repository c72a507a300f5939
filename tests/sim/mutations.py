"""Deliberate bugs: with each switched on some seed must fail, or the checkers are blind."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from copy import copy
from typing import Any

import allocation_mutations
import collection_mutations
import copy_mutations
import fencing_mutations
import leaving_mutations
import prefetch_mutations
from mutating import KEPT_ONLY, MUTATIONS, Mutation, mutation, switched_on

from pyrite import accumulators
from pyrite.blocks import codec
from pyrite.blocks.ledger import GrantedSegments, Ledger
from pyrite.blocks.placement import Placement
from pyrite.cluster.conversation import Conversation
from pyrite.cluster.sim import cluster as sim_cluster
from pyrite.driver.engine import checkpoints, engine, jobwaiters
from pyrite.driver.engine.checkpoints import Checkpoints
from pyrite.execute.keeper import Keeper
from pyrite.execute.worker import Worker
from pyrite.ids import BlockRef, NodeId
from pyrite.schedule import commands as do
from pyrite.schedule.attempts import Attempts
from pyrite.schedule.jobs import Jobs
from pyrite.schedule.kept import Kept
from pyrite.schedule.outcomes import Outcomes
from pyrite.schedule.outputs import Outputs, ShuffleOutputs
from pyrite.schedule.recovery import Recovery
from pyrite.schedule.room import Room
from pyrite.schedule.speculation import Speculation
from pyrite.schedule.storage import Storage
from pyrite.schedule.taskset import TaskSet
from pyrite.schedule.timer import SpeculationCheck
from pyrite.shuffle.read import MissingMapOutput, ShuffleRows

__all__ = [
    "KEPT_ONLY",
    "MUTATIONS",
    "allocation_mutations",
    "collection_mutations",
    "copy_mutations",
    "fencing_mutations",
    "leaving_mutations",
    "prefetch_mutations",
    "switched_on",
]

# Map outputs

_lose = ShuffleOutputs.lose
_add = ShuffleOutputs.add
_keep = Storage._keep
_on_succeeded = Outcomes.on_succeeded
_on_fetch_failed = Outcomes.on_fetch_failed
NOWHERE = BlockRef(NodeId("nowhere"), "none", 0, 0)


@mutation(ShuffleOutputs, "lose")
def a_lost_map_output_is_not_forgotten(self: ShuffleOutputs, index: int) -> list[Any]:
    return []


@mutation(ShuffleOutputs, "lose")
def a_loss_does_not_raise_the_epoch(self: ShuffleOutputs, index: int) -> list[Any]:
    epoch = self.epoch
    lost = _lose(self, index)
    self.epoch = epoch
    return lost


@mutation(ShuffleOutputs, "lose_node")
def a_lost_node_keeps_its_map_outputs(self: ShuffleOutputs, node: Any) -> list[Any]:
    return []


@mutation(Outcomes, "on_succeeded")
def a_map_output_made_again_counts_again(self: Outcomes, event: Any) -> None:
    attempt = self.attempts.get(event.attempt)
    run = None if attempt is None else self.stages.of(attempt.tasks)
    if attempt is not None and run is not None and run.spec.writes is not None:
        self.outputs.of(run.spec).counted.difference_update(attempt.wanted)
    _on_succeeded(self, event)


@mutation(Outcomes, "on_fetch_failed")
def late_words_lose_what_was_made_since(self: Outcomes, event: Any) -> None:
    outputs = self.outputs.get(event.shuffle)
    if outputs is not None:
        now = [(index, ref) for index, _ in event.lost if (ref := outputs.refs[index]) is not None]
        event = event._replace(lost=tuple(now) or event.lost)
    _on_fetch_failed(self, event)


@mutation(Outcomes, "on_fetch_failed", within=1500)
def a_loss_is_not_believed_after_another(self: Outcomes, event: Any) -> None:
    # No snapshot: something was lost since the task was launched, and nobody launched after it.
    outputs = self.outputs.get(event.shuffle)
    if outputs is not None and outputs._snapshot is None:
        event = event._replace(lost=tuple((index, NOWHERE) for index, _ in event.lost))
    _on_fetch_failed(self, event)


@mutation(Outputs, "forget")
def a_forgotten_shuffle_keeps_its_blocks(self: Outputs, shuffle: Any) -> list[Any]:
    self._shuffles.pop(shuffle, None)
    return []


@mutation(ShuffleRows, "frames")
def a_reducer_skips_what_it_can_not_read(self: ShuffleRows) -> Iterator[Any]:
    for index, ref in enumerate(self.outputs):
        alone = ShuffleRows(self.shuffle, [ref], self.part, self.reader)
        try:
            yield from _frames(alone)
        except MissingMapOutput:
            assert index >= 0


_frames = ShuffleRows.frames


@mutation(codec, "crc32", within=1000)
def checksums_are_not_looked_at(data: Any, value: int = 0) -> int:
    return 0


@mutation(Conversation, "_launch")
def a_new_snapshot_is_not_sent(self: Conversation, command: do.LaunchTask) -> None:
    peer = self.peers.get(command.executor)
    if peer is not None:
        for snapshot in command.inputs:
            if snapshot.shuffle in peer.snapshots:
                peer.snapshots[snapshot.shuffle] = snapshot.epoch
    _launch(self, command)


_launch = Conversation._launch


# Accumulators and results

_succeed = TaskSet.succeed


@mutation(Outcomes, "on_succeeded")
def a_result_counts_twice(self: Outcomes, event: Any) -> None:
    _on_succeeded(self, event)
    for command in list(self.turn.commands):
        if isinstance(command, do.CountAccumulators):
            self.turn.add(command)


@mutation(TaskSet, "succeed")
def the_copy_of_a_done_task_runs_on(self: TaskSet, attempt: Any, now_s: float) -> list[Any]:
    _succeed(self, attempt, now_s)
    return []


@mutation(accumulators, "start_task", within=1500)
def a_failed_task_leaves_its_counts_to_the_next() -> None:
    pass


MUTATIONS["lost results are not made again"] = Mutation(engine, "LOST_RESULTS", 0)


# Blocks

_release = Ledger.release


@mutation(Ledger, "release")
def a_segment_goes_with_its_first_block(self: Ledger, ref: Any, rdd: Any = None) -> Any:
    segment = self.segments.get(ref.segment)
    if segment is not None and segment.sealed:
        segment.live = min(segment.live, 1)
    return _release(self, ref, rdd)


@mutation(Ledger, "seal")
def a_lost_writer_s_segment_stays_open(self: Ledger, writer: Any) -> Any:
    self.writers.pop(writer, None)
    return []


@mutation(Ledger, "pin")
def a_block_is_not_pinned(self: Ledger, ref: Any, writer: Any, rdd: Any = None) -> None:
    pass


@mutation(Kept, "forget_node")
def a_lost_node_keeps_its_kept_blocks(self: Kept, node: Any) -> list[Any]:
    return []


@mutation(Kept, "forget_executor")
def a_lost_executor_keeps_its_live_rows(self: Kept, executor: Any) -> None:
    pass


@mutation(Kept, "drop_blocks")
def a_lost_kept_block_is_not_forgotten(self: Kept, partition: Any) -> tuple[Any, ...]:
    return ()


@mutation(Worker, "_remove_unreported", within=1500)
def a_failed_task_leaves_its_files(self: Worker) -> None:
    self.writer.take_disk_written()


@mutation(Keeper, "_read", within=1500)
def a_kept_block_that_ends_early_is_taken_as_it_is(
    self: Keeper, partition: Any, refs: Any
) -> Iterator[Any]:
    try:
        for ref in refs:
            yield from self.reader.rows(ref)
    except Exception:
        return


@mutation(Storage, "_keep", within=800)
def a_partition_of_several_blocks_keeps_the_first(
    self: Storage, partition: Any, refs: Any, executor: Any
) -> None:
    _keep(self, partition, refs[:1], executor)


@mutation(sim_cluster, "remove_segments")
def segments_are_not_removed(folders: Any, segments: Any) -> None:
    pass


@mutation(Room, "is_alive", within=1500)
def a_lost_executor_gets_space(self: Any, writer: str) -> bool:
    return True


# Pools

_find_room = Room.find_room
_lose = GrantedSegments.lose


@mutation(Room, "find_room", within=1000)
def room_is_granted_before_it_is_free(self: Any, wanted: Any, tries: int) -> None:
    _find_room(self, wanted, tries)
    if self._waiting and self._waiting[-1].wanted is wanted:
        waiting = self._waiting.pop()
        waiting.pool.promised_bytes -= wanted.bytes
        self.grant(wanted, waiting.pool.node)


@mutation(Kept, "relocate")
def a_moved_block_is_looked_for_where_it_was(self: Kept, *_: Any) -> None:
    pass


@mutation(Room, "on_not_moved", within=1500)
def a_failed_move_is_taken_for_done(self: Any, event: Any) -> None:
    self.on_moved(event)


@mutation(Ledger, "end_use", within=1000)
def a_reader_is_not_forgotten(self: Ledger, ref: Any) -> Any:
    return []


@mutation(Ledger, "use", within=1000)
def a_reader_is_not_counted(self: Ledger, ref: Any) -> None:
    pass


@mutation(Room, "forget_writer", within=1500)
def a_dead_writer_waits_for_room(self: Any, executor: Any) -> None:
    pass


@mutation(Room, "give_up", within=1500)
def what_is_given_up_is_still_promised(self: Any, segment: Any) -> None:
    kept = self.storage.kept
    self.storage.release([kept.block(each) for each in kept.in_segment(segment.name)])


@mutation(Room, "segments_on", within=1000)
def a_node_leaves_with_its_blocks(self: Any, node: Any) -> list[Any]:
    return []


@mutation(Placement, "_movable", within=1000)
def segments_move_that_are_read(self: Placement, pool: Any, owner: Any) -> list[Any]:
    return list(pool.kept.get(owner, {}).values())


# A node must come back, after a writer was granted room there and before it writes.
@mutation(GrantedSegments, "lose", within=KEPT_ONLY)
def what_is_written_to_a_node_that_is_back_stays(self: GrantedSegments, node: Any) -> None:
    _lose(self, node)
    self.lost = []


# Tasks and stages

_on_lost = Recovery.on_lost
_look = Speculation.look
_forget = Jobs.forget
_start_stage = Jobs.start


def without(turn: Any, kind: type) -> None:
    """Nobody is told to do this."""
    turn.commands[:] = [each for each in turn.commands if not isinstance(each, kind)]


@mutation(Recovery, "lose_attempt")
def a_lost_task_is_not_tried_again(
    self: Any, attempt: Any, reason: str, blamed: bool = True
) -> None:
    self.attempts.remove(attempt.id)
    if attempt.tasks is not None:
        attempt.tasks.finish(attempt)


@mutation(Recovery, "on_lost")
def a_lost_executor_is_not_replaced(self: Any, event: Any) -> None:
    _on_lost(self, event)
    without(self.turn, do.StartExecutor)


@mutation(Speculation, "look")
def an_idle_engine_goes_on_looking_for_slow_tasks(self: Any) -> None:
    is_idle = not self.stages
    _look(self)
    if is_idle and self.rules.speculation is not None:
        self.turn.set_timer(SpeculationCheck(), self.rules.speculation_interval_s)


@mutation(Jobs, "forget")
def executors_are_not_told_of_a_stage_s_end(self: Any, run: Any) -> None:
    _forget(self, run)
    without(self.turn, do.ForgetStage)


# One task of a barrier must be done when another's executor dies.
@mutation(Jobs, "release_together", within=KEPT_ONLY)
def a_barrier_forgets_what_some_of_its_tasks_made(self: Any, run: Any) -> None:
    run.together = {}


@mutation(Outcomes, "restart_barrier")
def a_barrier_goes_on_with_some_of_its_tasks(self: Any, run: Any, tasks: Any) -> None:
    for partition in self.stages.unfinished(run):
        if not tasks.is_running(partition) and partition not in run.together:
            tasks.add(partition)


# Some tasks of a barrier must be done, others not, when a node goes that has no part in it.
@mutation(Jobs, "start", within=KEPT_ONLY)
def a_done_task_of_a_barrier_runs_again_alone(self: Any, run: Any) -> None:
    together, run.together = run.together, {}
    _start_stage(self, run)
    run.together = together


@mutation(jobwaiters, "copy")
def the_story_keeps_the_frames_of_an_error(error: Any) -> Any:
    return error


@mutation(Attempts, "cancel")
def a_cancelled_task_runs_on(self: Any, attempt: Any) -> None:
    if attempt.tasks is not None:
        attempt.tasks.finish(attempt)
        attempt.tasks = None


@mutation(Jobs, "wait_for_input")
def a_stage_does_not_wait_for_its_lost_input(self: Any, run: Any, shuffle: Any) -> None:
    run.tasks.paused = False


# Checkpoints

_start = Checkpoints._start


@mutation(checkpoints, "copy", within=1500)
def a_failed_checkpoint_keeps_the_frames_of_its_error(error: Any) -> Any:
    return error


# A group must be cancelled while its checkpoint is written, and another thread wait for that.
@mutation(Checkpoints, "_start", within=KEPT_ONLY)
def a_checkpoint_is_cancelled_with_a_group(self: Any, rdd: Any) -> None:
    found = self.marked[rdd]
    if found.local:
        _start(self, rdd)
        return
    flags = self.context._flags
    copied = flags.copy()

    def run() -> None:
        found.writer = threading.get_ident()
        flags.adopt(copied)
        flags.counted = False
        try:
            self._write(rdd, found, self._write_folder)
        except BaseException as error:
            found.error = copy(error)
        finally:
            self.writing.discard(rdd)

    self.writing.add(rdd)
    found.thread = self.context._engine.threads.start(run, f"checkpoint-{rdd.id()}")
