"""The scheduler by conversation."""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Iterator
from types import ModuleType
from typing import get_args

from conversation import NODE, Talk, launched, map_stage, of_type, result_stage, stored

import pyrite.schedule
from pyrite.errors import ExecutorDied, JobCancelled, StageAborted, TaskFailed
from pyrite.ids import AttemptId, BlockRef, ExecutorId, Partition, RddId, ShuffleId, StageId
from pyrite.schedule import commands as do
from pyrite.schedule import events as ev
from pyrite.schedule.health import ExclusionRule
from pyrite.schedule.queue import PoolShare
from pyrite.schedule.rules import SpeculationRule
from pyrite.schedule.taskinputs import Snapshot
from pyrite.schedule.timer import CancelGrace, LocalityWait, SpeculationCheck


def test_a_job_without_shuffles_runs_its_partitions_on_all_executors() -> None:
    talk = Talk(executors=2)
    assert launched(talk.submit(result_stage(0, 3))) == [(0, 0, 0), (0, 1, 1)]
    answer = talk.succeed(0)
    assert launched(answer) == [(0, 2, 0)]
    assert of_type(answer, do.DeliverResult) == [do.DeliverResult(0, 0, b"r")]
    talk.succeed_all()
    assert talk.ended() == {0: None}


def test_only_the_wanted_partitions_run() -> None:
    talk = Talk()
    assert launched(talk.submit(result_stage(0, 100), partitions=(7,))) == [(0, 7, 1)]
    talk.succeed_all()
    assert talk.ended() == {0: None}


def test_a_job_of_no_partitions_ends_at_once() -> None:
    talk = Talk()
    assert talk.submit(result_stage(0, 0)) == [do.FinishJob(0, None)]


def test_reducers_start_when_all_maps_are_done_and_get_a_snapshot() -> None:
    talk = Talk(executors=2)
    maps = map_stage(1, 2)
    talk.submit(result_stage(2, 2, maps))
    assert launched(talk.succeed(0)) == []
    answer = talk.succeed(1)
    assert launched(answer) == [(2, 0, 0), (2, 1, 1)]
    launch = of_type(answer, do.LaunchTask)[0]
    assert launch.inputs == (
        Snapshot(
            ShuffleId(1),
            0,
            (BlockRef(NODE, "made-0", 0, 10, "disk"), BlockRef(NODE, "made-1", 0, 10, "disk")),
        ),
    )


def test_a_stage_whose_output_exists_is_skipped() -> None:
    talk = Talk()
    maps = map_stage(1, 2)
    talk.submit(result_stage(2, 1, maps))
    talk.succeed_all()
    assert launched(talk.submit(result_stage(3, 1, maps), id=1)) == [(3, 0, 0)]


def test_two_jobs_share_a_map_stage() -> None:
    talk = Talk()
    maps = map_stage(1, 2)
    talk.submit(result_stage(2, 1, maps))
    talk.submit(result_stage(3, 1, maps), id=1)
    talk.succeed_all()
    assert talk.ended() == {0: None, 1: None}
    assert len([c for c in of_type(talk.log, do.LaunchTask) if c.stage == 1]) == 2


def test_cancelling_one_of_two_jobs_leaves_their_common_stage() -> None:
    talk = Talk()
    maps = map_stage(1, 2)
    talk.submit(result_stage(2, 1, maps), group="a")
    talk.submit(result_stage(3, 1, maps), id=1)
    answer = talk.tell(ev.CancelRequested("enough", group="a"))
    assert of_type(answer, do.CancelTask) == []
    talk.succeed_all()
    assert isinstance(talk.ended()[0], JobCancelled)
    assert talk.ended()[1] is None


def test_a_cancelled_job_cancels_its_tasks_and_kills_those_that_do_not_react() -> None:
    talk = Talk(executors=1, cancel_grace_s=2.0)
    talk.submit(result_stage(0, 1), tags=frozenset(["t"]))
    answer = talk.tell(ev.CancelRequested("enough", tag="t"), at_s=10.0)
    assert of_type(answer, do.CancelTask) == [do.CancelTask(AttemptId(0), ExecutorId(0))]
    assert do.SetTimer(CancelGrace(AttemptId(0)), 12.0) in answer
    assert launched(talk.submit(result_stage(1, 1), id=1)) == []
    assert of_type(talk.tell(ev.TimerFired(CancelGrace(AttemptId(0)))), do.KillExecutor)
    assert do.StartExecutor(ExecutorId(0), NODE) in talk.lose(0)
    assert launched(talk.tell(ev.ExecutorJoined(ExecutorId(1), "node-0"))) == [(1, 0, 1)]


def test_the_kill_timer_is_harmless_when_the_task_reacted() -> None:
    talk = Talk(executors=1)
    talk.submit(result_stage(0, 1))
    talk.tell(ev.CancelRequested("enough"))
    talk.tell(ev.TaskCancelled(AttemptId(0)))
    assert talk.tell(ev.TimerFired(CancelGrace(AttemptId(0)))) == []


def test_a_group_cancelled_for_the_future_refuses_new_jobs() -> None:
    talk = Talk()
    talk.tell(ev.CancelRequested("enough", group="g", future=True))
    talk.submit(result_stage(0, 1), group="g")
    assert isinstance(talk.ended()[0], JobCancelled)


def test_a_failed_task_ends_the_job_with_the_users_error() -> None:
    talk = Talk(max_failures=1)
    talk.submit(result_stage(0, 2))
    talk.fail(0, "KeyError: 'user'")
    error = talk.ended()[0]
    assert isinstance(error, TaskFailed)
    assert str(error).startswith("KeyError: 'user'")
    assert "partition 0 of 2 failed once" in str(error)
    assert (error.stage, error.partition, error.attempts) == (0, 0, 1)


def test_a_failed_task_is_tried_again_up_to_the_limit() -> None:
    talk = Talk(executors=1, max_failures=3)
    talk.submit(result_stage(0, 1))
    assert launched(talk.fail(0)) == [(0, 0, 0)]
    assert launched(talk.fail(1)) == [(0, 0, 0)]
    talk.fail(2)
    assert "failed 3 times" in str(talk.ended()[0])


def test_an_executors_death_is_retried_and_reported_at_the_limit() -> None:
    talk = Talk(executors=1, max_deaths=2)
    talk.submit(result_stage(0, 1))
    assert do.StartExecutor(ExecutorId(0), NODE) in talk.lose(0)
    assert launched(talk.tell(ev.ExecutorJoined(ExecutorId(1), "node-0"))) == [(0, 0, 1)]
    talk.lose(1)
    error = talk.ended()[0]
    assert isinstance(error, ExecutorDied)
    assert "ended its executor 2 times" in str(error) and "SIGKILL" in str(error)


def test_executors_that_never_start_end_the_jobs() -> None:
    talk = Talk(executors=0)
    talk.submit(result_stage(0, 1), partitions=(0,))
    # They die before a task reaches them: the only task is held by one that hangs in starting.
    for id in range(20):
        if 0 in talk.ended():
            break
        talk.scheduler.fleet._free.clear()
        talk.scheduler.fleet._executors.clear()
        talk.tell(ev.ExecutorJoined(ExecutorId(id), "node-0"))
        talk.lose(id)
    assert isinstance(talk.ended()[0], (StageAborted, ExecutorDied))


def test_late_words_of_a_lost_attempt_are_ignored() -> None:
    talk = Talk(executors=1)
    talk.submit(result_stage(0, 1))
    talk.lose(0)
    talk.tell(ev.ExecutorJoined(ExecutorId(1), "node-0"))
    assert talk.tell(ev.TaskSucceeded(AttemptId(0), (ev.TaskOutput(b"late"),))) == []
    talk.succeed_all()
    assert of_type(talk.log, do.DeliverResult) == [do.DeliverResult(0, 0, b"r")]


def test_a_lost_map_output_is_made_again_and_only_that() -> None:
    talk = Talk(executors=2)
    maps = map_stage(1, 3)
    talk.submit(result_stage(2, 2, maps))
    for attempt in (0, 1, 2):
        talk.succeed(attempt)
    reader = talk.running.pop(AttemptId(3))
    answer = talk.tell(ev.FetchFailed(reader.attempt, ShuffleId(1), lost(1, "made-1"), "corrupt"))
    assert launched(answer) == [(1, 1, reader.executor)]
    assert of_type(answer, do.DropSegments) == [do.DropSegments(NODE, ("made-1",))]
    again = talk.succeed(5)
    assert launched(again) == [(2, reader.partitions[0], reader.executor)]
    snapshot = of_type(again, do.LaunchTask)[0].inputs[0]
    assert snapshot.epoch == 1 and snapshot.refs[1] == BlockRef(NODE, "made-5", 0, 10, "disk")
    talk.succeed_all()
    assert talk.ended() == {0: None}


def lost(index: int, segment: str) -> tuple[tuple[int, BlockRef], ...]:
    return ((index, BlockRef(NODE, segment, 0, 10, "disk")),)


def test_late_fetch_failures_lose_nothing() -> None:
    talk = Talk(executors=3)
    maps = map_stage(1, 1)
    talk.submit(result_stage(2, 3, maps))
    talk.succeed(0)
    for attempt in (1, 2):
        del talk.running[AttemptId(attempt)]
        talk.tell(ev.FetchFailed(AttemptId(attempt), ShuffleId(1), lost(0, "made-0"), "gone"))
    assert len([c for c in of_type(talk.log, do.LaunchTask) if c.stage == 1]) == 2
    talk.succeed(4)
    del talk.running[AttemptId(3)]
    talk.tell(ev.FetchFailed(AttemptId(3), ShuffleId(1), lost(0, "made-0"), "late word"))
    talk.succeed_all()
    assert talk.ended() == {0: None}
    assert len([c for c in of_type(talk.log, do.LaunchTask) if c.stage == 1]) == 2


def test_a_stage_that_keeps_losing_its_input_is_aborted() -> None:
    talk = Talk(executors=1, max_fetch_failures=2)
    maps = map_stage(1, 1)
    talk.submit(result_stage(2, 1, maps))
    for epoch in range(2):
        talk.succeed(2 * epoch)
        del talk.running[AttemptId(2 * epoch + 1)]
        gone = lost(0, f"made-{2 * epoch}")
        talk.tell(ev.FetchFailed(AttemptId(2 * epoch + 1), ShuffleId(1), gone, "gone"))
    assert isinstance(talk.ended()[0], StageAborted)


def test_accumulators_of_a_map_output_made_again_do_not_count_twice() -> None:
    talk = Talk(executors=1)
    maps = map_stage(1, 1)
    talk.submit(result_stage(2, 1, maps))
    talk.succeed(0, accumulators=b"a")
    del talk.running[AttemptId(1)]
    talk.tell(ev.FetchFailed(AttemptId(1), ShuffleId(1), lost(0, "made-0"), "gone"))
    talk.succeed(2, accumulators=b"a")
    talk.succeed(3, accumulators=b"b")
    assert [c.updates for c in of_type(talk.log, do.CountAccumulators)] == [b"a", b"b"]


def test_kept_rows_pull_their_task_to_their_executor_for_a_while() -> None:
    talk = Talk(executors=2, locality_wait_s=3.0)
    talk.tell(ev.RddPersisted(RddId(0)))
    talk.submit(result_stage(0, 2))
    for attempt in (0, 1):
        talk.succeed(attempt, kept=stored(0, 1 - attempt))
    kin = result_stage(0, 2)
    assert launched(talk.submit(kin, id=1)) == [(0, 1, 0), (0, 0, 1)]
    talk.succeed_all()
    one = talk.submit(result_stage(0, 2), id=2, partitions=(0,))
    assert launched(one) == [(0, 0, 1)]
    waiting = talk.submit(result_stage(5, 2), id=3, partitions=())
    assert launched(waiting) == []


def test_a_task_runs_elsewhere_when_its_executor_stays_busy() -> None:
    talk = Talk(executors=2, locality_wait_s=3.0)
    talk.tell(ev.RddPersisted(RddId(0)))
    talk.submit(result_stage(0, 2), partitions=(0,))
    talk.succeed(0, kept=stored(0, 0))
    talk.submit(result_stage(7, 1), id=1)
    answer = talk.submit(result_stage(0, 2), id=2, partitions=(0,))
    assert launched(answer) == []
    timer = of_type(answer, do.SetTimer)[0]
    assert timer.timer == LocalityWait(StageId(0))
    assert launched(talk.tell(ev.TimerFired(timer.timer), at_s=timer.at_s)) == [(0, 0, 1)]


def test_a_timer_that_an_earlier_run_had_set_is_followed_by_another() -> None:
    talk = Talk(executors=2, locality_wait_s=3.0)
    talk.tell(ev.RddPersisted(RddId(0)))
    talk.submit(result_stage(0, 2), partitions=(0,))
    talk.succeed(0, kept=stored(0, 0))
    talk.submit(result_stage(7, 1), id=1)
    [timer] = of_type(talk.submit(result_stage(0, 2), id=2, partitions=(0,)), do.SetTimer)
    # Of two times under one name the first counts.
    early = talk.tell(ev.TimerFired(timer.timer), at_s=timer.at_s - 1.0)
    assert of_type(early, do.SetTimer) == [timer]


def test_lost_kept_rows_pull_nobody() -> None:
    talk = Talk(executors=2)
    talk.tell(ev.RddPersisted(RddId(0)))
    talk.submit(result_stage(0, 1))
    talk.succeed(0, kept=stored(0, 0))
    talk.lose(0)
    assert launched(talk.submit(result_stage(0, 1), id=1)) == [(0, 0, 1)]


def test_a_wholly_kept_rdd_hides_the_shuffle_behind_it() -> None:
    talk = Talk(executors=1)
    maps = map_stage(1, 1)
    reduce_stage = result_stage(2, 1, maps)
    talk.tell(ev.RddPersisted(RddId(20)))
    talk.submit(reduce_stage)
    talk.succeed(0)
    talk.succeed(1, kept=stored(20, 0))
    talk.tell(ev.ShuffleForgotten(ShuffleId(1)))
    answer = talk.submit(result_stage(2, 1, maps), id=1)
    assert launched(answer) == [(2, 0, 0)]
    # The executor had evicted it: then the shuffle has to be made after all.
    del talk.running[AttemptId(2)]
    evicted = ev.KeptNews(dropped=(Partition(RddId(20), 0),))
    fetch = ev.FetchFailed(AttemptId(2), ShuffleId(1), (), "not computed", evicted)
    assert launched(talk.tell(fetch)) == [(1, 0, 0)]
    talk.succeed_all()
    assert talk.ended() == {0: None, 1: None}


def test_rows_stored_after_the_rdd_was_forgotten_are_dropped() -> None:
    talk = Talk(executors=1)
    talk.tell(ev.RddPersisted(RddId(0)))
    talk.submit(result_stage(0, 1))
    talk.tell(ev.RddForgotten(RddId(0)))
    ref = BlockRef(NODE, "made-x", 0, 5, "disk")
    answer = talk.succeed(0, kept=stored(0, 0, ref))
    assert do.DropRdd(RddId(0)) in answer and do.DropSegments(NODE, ("made-x",)) in answer


def test_stragglers_get_a_copy_and_the_first_to_finish_counts() -> None:
    talk = Talk(executors=2, speculation=SpeculationRule(1.5, 0.5, 0.1))
    talk.submit(result_stage(0, 2))
    talk.succeed(0)
    answer = talk.tell(ev.TimerFired(SpeculationCheck()), at_s=100.0)
    assert launched(answer) == [(0, 1, 0)]
    end = talk.succeed(2)
    assert of_type(end, do.CancelTask) == [do.CancelTask(AttemptId(1), ExecutorId(1))]
    talk.tell(ev.TaskSucceeded(AttemptId(1), (ev.TaskOutput(b"slow"),)))
    assert len(of_type(talk.log, do.DeliverResult)) == 2
    assert talk.ended() == {0: None}


def test_an_executor_that_fails_a_task_does_not_get_it_again() -> None:
    rule = ExclusionRule(enabled=True, per_task=1, per_stage=5, per_application=5)
    talk = Talk(executors=2, max_failures=4, exclusion=rule)
    talk.submit(result_stage(0, 1))
    assert launched(talk.fail(0)) == [(0, 0, 1)]
    talk.fail(1)
    assert isinstance(talk.ended()[0], StageAborted)


def test_first_in_first_out() -> None:
    talk = Talk(executors=1)
    talk.submit(result_stage(0, 2))
    talk.submit(result_stage(1, 1), id=1)
    assert launched(talk.succeed(0)) == [(0, 1, 0)]
    assert launched(talk.succeed(1)) == [(1, 0, 0)]


def test_fair_shares_by_weight() -> None:
    talk = Talk(executors=4, fair=True, shares={"big": PoolShare(weight=3)})
    talk.submit(result_stage(0, 8), pool="big")
    talk.submit(result_stage(1, 8), id=1, pool="small")
    for _ in range(4):
        talk.succeed(next(iter(talk.running)))
    stages = [each.stage for each in talk.running.values()]
    assert sorted(stages) == [0, 0, 0, 1]


def test_a_barrier_stage_starts_all_or_nothing() -> None:
    talk = Talk(executors=2)
    talk.submit(result_stage(0, 1))
    assert launched(talk.submit(result_stage(1, 2, barrier=True), id=1)) == []
    assert launched(talk.succeed(0)) == [(1, 0, 1), (1, 1, 0)]
    assert talk.tell(ev.BarrierReached(AttemptId(1), "a")) == []
    answer = talk.tell(ev.BarrierReached(AttemptId(2), "b"))
    assert of_type(answer, do.ReleaseBarrier)[0].messages == ("a", "b")


def test_a_barrier_stage_wider_than_the_cluster_is_refused() -> None:
    talk = Talk(executors=2)
    talk.submit(result_stage(1, 3, barrier=True))
    assert "barrier stage of 3 tasks" in str(talk.ended()[0])


def test_a_failed_barrier_task_starts_all_again() -> None:
    talk = Talk(executors=2, max_failures=2)
    talk.submit(result_stage(1, 2, barrier=True))
    talk.fail(0)
    answer = talk.tell(ev.TaskCancelled(AttemptId(1)))
    assert sorted(launched(answer)) == [(1, 0, 1), (1, 1, 0)] or len(launched(answer)) == 2


def test_space_is_granted_up_to_the_pool_and_freed_with_the_blocks() -> None:
    talk = Talk(executors=2, pool_bytes=100)

    def is_granted(writer: ExecutorId, segment: str) -> bool:
        answer = talk.tell(ev.SpaceWanted(NODE, writer, segment, 80))
        [grant] = of_type(answer, do.GrantSpace)
        assert (grant.writer, grant.segment) == (writer, segment)
        assert grant.place in (NODE, None)
        return grant.place is not None

    assert is_granted(ExecutorId(0), "e0-1")
    ref = BlockRef(NODE, "e0-1", 0, 10)
    talk.tell(ev.BlockPut(ref))
    assert not is_granted(ExecutorId(1), "e1-1")
    talk.lose(0)
    assert not is_granted(ExecutorId(0), "e0-2"), "the late words of one that is lost"
    assert talk.tell(ev.BlocksReleased((ref,))) == [do.DropSegments(NODE, ("e0-1",))]
    assert is_granted(ExecutorId(1), "e1-2")


def test_every_reader_waits_for_an_output_that_one_of_them_found_lost() -> None:
    talk = Talk(executors=1)
    maps = map_stage(1, 1)
    talk.submit(result_stage(2, 2, maps))
    talk.submit(result_stage(3, 2, maps), id=1)
    talk.succeed(0)
    del talk.running[AttemptId(1)]
    answer = talk.tell(ev.FetchFailed(AttemptId(1), ShuffleId(1), lost(0, "made-0"), "gone"))
    assert launched(answer) == [(1, 0, 0)]
    # The other job's tasks would find nothing to read.
    talk.tell(ev.ExecutorJoined(ExecutorId(1), NODE))
    assert len(talk.running) == 1
    talk.succeed_all()
    assert talk.ended() == {0: None, 1: None}


def test_an_executor_that_does_not_start_is_nobody_s_fault() -> None:
    talk = Talk(executors=0, max_deaths=2)
    talk.submit(result_stage(1, 1))
    for id in range(3):
        answer = talk.tell(ev.StartFailed(ExecutorId(id), NODE, "exited with code 1"))
        assert answer == [do.StartExecutor(ExecutorId(id), NODE)]
    talk.tell(ev.ExecutorJoined(ExecutorId(3), NODE))
    talk.succeed_all()
    assert talk.ended() == {0: None}


def test_failed_starts_end_the_jobs_and_the_next_one_tries_again() -> None:
    talk = Talk(executors=0)
    talk.submit(result_stage(1, 1))
    for id in range(8):
        assert talk.ended() == {}
        talk.tell(ev.StartFailed(ExecutorId(id), NODE, "exited with code 1"))
    assert "as soon as they start: exited with code 1" in str(talk.ended()[0])
    # The next job tries again.
    assert do.StartExecutor(ExecutorId(7), NODE) in talk.submit(result_stage(2, 1), id=1)


def test_every_event_has_a_handler() -> None:
    assert set(Talk().scheduler.handlers) == set(get_args(ev.Event))


def test_nothing_inherits_behaviour() -> None:
    """Parts are given each other; a base class is not a namespace."""
    for module in modules_of(pyrite.schedule):
        for name, kind in vars(module).items():
            if isinstance(kind, type) and kind.__module__ == module.__name__:
                bases = [each for each in kind.__bases__ if each.__module__.startswith("pyrite.")]
                assert not bases, f"{module.__name__}.{name} inherits from {bases}"


def modules_of(package: ModuleType) -> Iterator[ModuleType]:
    for each in pkgutil.walk_packages(package.__path__, f"{package.__name__}."):
        yield importlib.import_module(each.name)
