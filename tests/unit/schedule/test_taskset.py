"""Which task an executor gets."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from pyrite.ids import AttemptId, ExecutorId, StageId
from pyrite.place.policy import Preferences
from pyrite.schedule.attempts import Attempt
from pyrite.schedule.queue import Load
from pyrite.schedule.rules import SpeculationRule
from pyrite.schedule.taskset import TaskSet
from pyrite.schedule.taskstate import MOVES, TaskState

A, B, C = ExecutorId(0), ExecutorId(1), ExecutorId(2)


def tasks(
    count: int,
    preferences: dict[int, Sequence[ExecutorId]] | None = None,
    slots: int = 2,
    near: dict[int, int] | None = None,
) -> TaskSet:
    preferred = Preferences(preferences or {}, 3.0, near or {})
    return TaskSet(StageId(0), range(count), preferred, slots, 0.0, Load())


def launch(tasks: TaskSet, attempt: Attempt) -> None:
    """Launches tasks that wait, or copies of some that run."""
    for partition in attempt.wanted:
        if tasks.is_pending(partition):
            tasks.queue.take(partition)
        else:
            tasks.mark_slow(partition)
            del tasks._slow[partition]
    tasks.launch(attempt)


def test_the_home_of_a_kept_block_is_on_its_node() -> None:
    near = tasks(4, near={0: 1})
    assert [near.queue.take_own(B, 1, 0.0) for _ in range(3)] == [0, 1, 3]
    assert [near.queue.take_own(A, 0, 0.0) for _ in range(2)] == [2, None]
    assert list(tasks(4, near={0: 1}).queue.owners(0, [A, B])) == [B]


def test_homes_are_dealt_by_index() -> None:
    six = tasks(6)
    assert [six.queue.take_own(A, 0, 0.0) for _ in range(4)] == [0, 2, 4, None]
    assert six.queue.take_own(C, 3, 0.0) == 1, "slot 3 of 2 shares the home of slot 1"


def test_others_take_from_the_far_end_and_what_is_refused_stays_in_place() -> None:
    six = tasks(6)
    assert six.take_any(A, 0.0, refused=[5, 4]) == 3
    assert six.take_any(A, 0.0) == 5
    assert six.take_any(A, 0.0) == 4
    assert list(six.pending) == [0, 1, 2] == list(six.queue._anywhere)


def test_tasks_that_prefer_someone_else_are_given_away_after_the_wait() -> None:
    two = tasks(2, {0: [A], 1: [A]})
    assert not two.gives_any(2.9) and two.take_any(B, 2.9) is None
    assert two.gives_any(3.0) and two.take_any(B, 3.0, refused=[1]) == 0
    assert two.queue.take_own(A, 0, 3.0) == 1
    assert not two.gives_any(9.0)


def test_a_lost_executor_is_preferred_by_nobody() -> None:
    three = tasks(3, {0: [A], 1: [A, B], 2: [B]})
    assert three.queue.take_own(A, 0, 0.0) == 0
    first = Attempt(AttemptId(0), three, (0,), A, 0, 0.0)
    three.launch(first)
    three.finish(first)
    three.queue.forget_executor(A)
    assert three.queue._preferences == {1: [B], 2: [B]}
    assert not three.queue._anywhere
    three.add(0)
    three.queue.forget_executor(B)
    assert not three.queue._preferences and list(three.queue._anywhere) == [0, 1, 2]


def test_owners_are_those_who_keep_its_rows_or_hold_its_home() -> None:
    three = tasks(3, {0: [C]})
    assert list(three.queue.owners(0, [A, B, C])) == [C]
    assert list(three.queue.owners(2, [A, B, C, None])) == [A, C]
    assert list(three.queue.owners(1, [A, None, C])) == []


def test_the_load_counts_tasks_not_their_copies() -> None:
    one = tasks(1)
    first, copy = (Attempt(AttemptId(i), one, (0,), ExecutorId(i), i, 0.0) for i in range(2))
    launch(one, first)
    launch(one, copy)
    assert one.load.running == 1
    one.finish(first)
    assert one.load.running == 1
    one.finish(copy)
    one.finish(copy)
    assert one.load.running == 0


def test_a_group_counts_as_one_task_and_a_copy_takes_its_place() -> None:
    three = tasks(3)
    group = Attempt(AttemptId(0), three, (0, 1, 2), A, 0, 0.0)
    copies = [Attempt(AttemptId(i), three, (i,), B, 1, 0.0) for i in (1, 2)]
    for each in (group, *copies):
        launch(three, each)
    assert three.load.running == three.count == 1
    three.finish(group)
    assert three.load.running == three.count == 2 and sorted(three._running) == [1, 2]


def test_a_group_goes_on_without_what_a_copy_has_done() -> None:
    two = tasks(2)
    group = Attempt(AttemptId(0), two, (0, 1), A, 0, 0.0)
    copies = [Attempt(AttemptId(1 + i), two, (i,), B, 1, 0.0) for i in range(2)]
    for each in (group, *copies):
        launch(two, each)
    for copy, useless, wanted in zip(copies, ([], [group]), ([1], []), strict=True):
        two.finish(copy)
        assert two.succeed(copy, 1.0) == useless and group.wanted == wanted
    two.finish(group)
    assert not two._running and two.load.running == 0 and two.done == 2


def test_more_is_taken_from_the_slot_or_from_the_far_end() -> None:
    nine = tasks(9)
    assert nine.queue.take_own(A, 0, 0.0) == 0
    assert list(nine.queue.take_more(0, 2, lambda _: True)) == [2, 4]
    assert list(nine.queue.take_more(0, 9, lambda each: each < 8)) == [6]
    assert nine.take_any(B, 0.0) == 8
    assert list(nine.queue.take_more(None, 2, lambda _: True)) == [7, 5]
    assert list(nine.queue.take_more(None, 9, lambda each: each > 1)) == [3]
    assert list(nine.pending) == [1] and nine.queue.take_own(B, 1, 0.0) == 1
    assert list(nine.queue.take_more(1, 1, lambda _: True)) == []
    assert list(nine.queue.take_more(None, 1, lambda _: True)) == []


def test_a_group_is_slow_if_its_partitions_are() -> None:
    four = tasks(4)
    four.done, four.durations_s = 2, [1.0, 1.0]
    launch(four, Attempt(AttemptId(0), four, (0, 1, 2), A, 0, 0.0))
    rule = SpeculationRule(1.5, 0.25, 0.0)
    assert not four.find_slow(rule, 4.0)
    assert four.find_slow(rule, 5.0) and list(four._slow) == [0, 1, 2]


def test_who_took_nothing_is_offered_again_once_the_wait_is_over() -> None:
    two = tasks(2, {0: [A]})
    two.queue.all_offered(5, now_s=1.0)
    assert two.queue.offered_before(2.9) == 5
    assert two.queue.offered_before(3.0) == 0
    two.queue.all_offered(6, now_s=3.0)
    assert two.queue.offered_before(4.0) == 6


def test_who_took_nothing_is_offered_what_comes_later() -> None:
    two = tasks(2, {0: [A]})
    first = Attempt(AttemptId(0), two, (0,), A, 0, 0.0)
    launch(two, first)
    two.queue.all_offered(5, now_s=9.0)
    two.finish(first)
    two.add(0)
    assert two.queue.offered_before(9.0) == 0
    two.queue.all_offered(5, now_s=9.0)
    two.queue.forget_executor(A)
    assert two.queue.offered_before(9.0) == 0, "what preferred A may go anywhere"


def test_a_task_moves_as_the_table_says() -> None:
    one = tasks(1)
    states = [one.state(0)]
    first, copy, again = (Attempt(AttemptId(i), one, (0,), ExecutorId(i), i, 0.0) for i in range(3))

    def see() -> None:
        states.append(one.state(0))

    one.launch(first) if one.queue.take_own(A, 0, 0.0) == 0 else None
    see()
    one.mark_slow(0)
    see()
    assert one.take_any(B, 0.0) == 0
    one.launch(copy)
    see()
    one.finish(copy)
    see()
    one.finish(first)
    see()
    one.add(0)
    one.launch(again) if one.queue.take_own(A, 0, 0.0) == 0 else None
    one.finish(again)
    one.succeed(again, 1.0)
    see()
    named = "pending running slow speculated running waiting done"
    assert [each.value for each in states] == named.split()


def test_every_state_can_be_reached_and_left() -> None:
    reached = {to for moves in MOVES.values() for to in moves}
    assert reached == set(TaskState) == set(MOVES)
    assert all(MOVES.values())


def test_a_task_that_is_done_can_not_be_launched() -> None:
    one = tasks(1)
    first = Attempt(AttemptId(0), one, (0,), A, 0, 0.0)
    launch(one, first)
    one.finish(first)
    one.succeed(first, 1.0)
    with pytest.raises(AssertionError, match="task 0 is done and can't be running"):
        one.launch(Attempt(AttemptId(1), one, (0,), B, 1, 0.0))
