"""Launching asks only those for whom something has changed."""

from __future__ import annotations

from random import Random
from typing import Any

import pytest
from conversation import NODE, Talk, launched, map_stage, of_type, result_stage, stored

from pyrite.ids import ExecutorId, JobId, RddId
from pyrite.schedule import commands as do
from pyrite.schedule import events as ev
from pyrite.schedule.health import ExclusionRule
from pyrite.schedule.taskqueue import TaskQueue


def keeping(talk: Talk, tasks: int) -> None:
    """A first job whose tasks keep the rows of RDD 10 wherever they run."""
    talk.tell(ev.RddPersisted(RddId(10)))
    talk.submit(result_stage(1, tasks), id=100)
    while talk.running:
        attempt, launch = next(iter(talk.running.items()))
        talk.succeed(attempt, kept=stored(10, launch.partitions[0]))


def join(talk: Talk, executors: range) -> None:
    for id in executors:
        talk.tell(ev.ExecutorJoined(ExecutorId(id), NODE))


def questions(idle: int, monkeypatch: pytest.MonkeyPatch) -> int:
    """How often executors and owners are looked at while 40 tasks wait for 2 of many executors."""
    talk = Talk(executors=2)
    keeping(talk, tasks=40)
    join(talk, range(2, 2 + idle))
    asked = 0

    def counted(method: Any) -> Any:
        def count(*arguments: Any) -> Any:
            nonlocal asked
            asked += 1
            return method(*arguments)

        return count

    with monkeypatch.context() as patch:
        for name in ("take_own", "take_any", "owners"):
            patch.setattr(TaskQueue, name, counted(getattr(TaskQueue, name)))
        talk.submit(result_stage(1, 40), id=101)
        # Within the wait for locality.
        while talk.running:
            launch = talk.running.pop(next(iter(talk.running)))
            talk.tell(ev.TaskSucceeded(launch.attempt, (ev.TaskOutput(b"r"),)), at_s=talk.now_s)
    assert talk.ended()[101] is None
    return asked


def test_idle_executors_are_not_asked_again_and_again(monkeypatch: pytest.MonkeyPatch) -> None:
    # Once for each at first, and not once for each at every event.
    assert questions(100, monkeypatch) <= questions(1, monkeypatch) + 100


def test_a_small_stage_on_a_large_cluster_asks_its_owners_only(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    talk = Talk(executors=100)
    asked = []
    take_own = TaskQueue.take_own

    def noted(own: TaskQueue, executor: ExecutorId, *others: object) -> int | None:
        asked.append(executor)
        return take_own(own, executor, *others)  # type: ignore[arg-type]

    monkeypatch.setattr(TaskQueue, "take_own", noted)
    assert launched(talk.submit(result_stage(0, 100), partitions=(7, 42))) == [
        (0, 7, 7),
        (0, 42, 42),
    ]
    assert asked == [7, 42]


def test_one_timer_at_a_time_while_tasks_wait_for_their_executor() -> None:
    talk = Talk(executors=1)
    keeping(talk, tasks=4)
    join(talk, range(1, 2))
    (timer,) = of_type(talk.submit(result_stage(1, 4), id=101), do.SetTimer)
    local = talk.succeed(next(iter(talk.running)))
    assert launched(local) and not of_type(local, do.SetTimer)
    fired = talk.tell(ev.TimerFired(timer.timer), at_s=timer.at_s)
    (again,) = of_type(fired, do.SetTimer)
    assert again.at_s > timer.at_s and not launched(fired)
    assert launched(talk.tell(ev.TimerFired(again.timer), at_s=again.at_s))


def test_an_executor_that_is_forgiven_gets_its_own_task() -> None:
    rule = ExclusionRule(enabled=True, per_stage=9, per_application=1, timeout_s=50.0)
    talk = Talk(executors=2, exclusion=rule, max_failures=4, locality_wait_s=1000.0)
    keeping(talk, tasks=4)
    talk.submit(result_stage(1, 4), id=101)
    on_first = next(a for a, each in talk.running.items() if each.executor == 0)
    assert not launched(talk.fail(on_first)), "executor 0 is left out"
    on_second = next(iter(talk.running))
    later = talk.now_s + 60.0
    launch = talk.running.pop(on_second)
    answer = talk.tell(ev.TaskSucceeded(launch.attempt, (ev.TaskOutput(b"r"),)), at_s=later)
    assert sorted(executor for _, _, executor in launched(answer)) == [0, 1]


def test_an_executor_that_is_forgiven_gets_what_any_may_take() -> None:
    rule = ExclusionRule(enabled=True, per_stage=9, per_application=1, timeout_s=50.0)
    talk = Talk(executors=2, exclusion=rule, max_failures=4, locality_wait_s=1000.0)
    # All of these are at home with executor 1.
    talk.submit(result_stage(0, 10), partitions=(1, 3, 5, 7, 9))
    on_first = next(a for a, each in talk.running.items() if each.executor == 0)
    assert not launched(talk.fail(on_first)), "executor 0 is left out"
    launch = talk.running.pop(next(iter(talk.running)))
    answer = talk.tell(
        ev.TaskSucceeded(launch.attempt, (ev.TaskOutput(b"r"),)), at_s=talk.now_s + 60.0
    )
    assert sorted(executor for _, _, executor in launched(answer)) == [0, 1]


def test_a_shared_stage_moves_back_when_its_first_job_is_cancelled() -> None:
    talk = Talk(executors=1)
    shared = map_stage(4, 3)
    talk.submit(result_stage(7, 1, shared), id=0)
    talk.submit(result_stage(5, 1), id=1)
    talk.submit(result_stage(6, 1, shared), id=2)
    talk.tell(ev.CancelRequested("changed my mind", job=JobId(0)))
    assert launched(talk.succeed(0)) == [(5, 0, 0)]


def test_a_newcomer_takes_the_lowest_empty_slot() -> None:
    talk = Talk(executors=4)
    for id in (2, 0, 3):
        talk.lose(id)
    join(talk, range(10, 14))
    assert talk.scheduler.fleet.slots == [10, 1, 11, 12, 13]


@pytest.mark.parametrize("seed", range(20))
def test_nobody_is_idle_who_could_work(seed: int) -> None:
    """Many executors, few tasks each, kept rows, losses, failures: invariants after each event."""
    dice = Random(seed)
    talk = Talk(
        executors=12,
        fair=seed % 2 == 0,
        max_failures=20,
        max_deaths=20,
        exclusion=ExclusionRule(seed % 3 == 0, per_stage=5, per_application=3, timeout_s=5.0),
    )
    keeping(talk, tasks=30)
    newcomers = 12
    for job in range(4):
        talk.submit(result_stage(2 * job + 1, 30, map_stage(2 * job, dice.randint(1, 30))), id=job)
    for _ in range(400):
        if not talk.running:
            break
        attempt = dice.choice(list(talk.running))
        chance = dice.random()
        if chance < 0.05:
            talk.lose(talk.running[attempt].executor)
            join(talk, range(newcomers, newcomers + 1))
            newcomers += 1
        elif chance < 0.1:
            talk.fail(attempt)
        else:
            rdd = talk.scheduler.stages._runs[talk.running[attempt].stage].spec.shape.steps[0].rdd
            index = talk.running[attempt].partitions[0]
            talk.succeed(attempt, kept=stored(rdd, index) if rdd == 10 else ev.KeptNews())
    talk.succeed_all()
    assert talk.ended().keys() == {100, 0, 1, 2, 3}


def test_executors_that_are_left_out_are_not_offered_every_task(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    rule = ExclusionRule(enabled=True, per_stage=9, per_application=1)
    talk = Talk(executors=20, exclusion=rule, max_failures=50)
    talk.submit(result_stage(0, 200))
    for attempt in list(talk.running)[:10]:
        talk.fail(attempt)
    looked = []
    excluded = talk.scheduler.health.excluded
    monkeypatch.setattr(talk.scheduler, "check", lambda: None)
    monkeypatch.setattr(
        talk.scheduler.health, "excluded", lambda id: looked.append(id) or excluded(id)
    )
    talk.succeed_all()
    assert talk.ended() == {0: None}
    assert len(looked) <= 3 * 200
