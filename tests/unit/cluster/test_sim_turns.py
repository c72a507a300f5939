"""Threads that take turns: one at a time, the same order every time, errors told."""

import threading
from random import Random

import pytest

from pyrite.cluster.sim.timeline import Timeline
from pyrite.cluster.sim.turns import Turns
from pyrite.cluster.waitqueue import WaitQueue
from pyrite.errors import EngineError, UserError


class Stage:
    """Turns with a loop that lets virtual time pass until it is told to end."""

    def __init__(self, seed: int = 0) -> None:
        self.timeline = Timeline()
        self.turns = Turns(self.timeline, Random(seed))
        self.ended = False
        self.loop = self.turns.start(self._loop, "loop")

    def _loop(self) -> None:
        self.turns.become_loop()
        while True:
            self.turns.give_way()
            if self.ended:
                return
            self.timeline.step()

    def wait(self, ready: object, timeout_s: float | None = None) -> bool:
        return self.turns.wait(WaitQueue(), lambda: ready, timeout_s)

    def end(self) -> None:
        self.ended = True
        self.loop.join()


def order_of(seed: int) -> list[int]:
    stage = Stage(seed)
    seen: list[int] = []

    def work(number: int) -> None:
        seen.append(number)
        stage.wait([], timeout_s=1.0)
        seen.append(number)

    started = [stage.turns.start(lambda n=n: work(n), f"user {n}") for n in range(4)]  # type: ignore[misc]
    for each in started:
        each.join()
    stage.end()
    return seen


def test_the_order_is_the_dice_s_and_nobody_else_s() -> None:
    orders = [order_of(seed) for seed in range(8)]
    assert orders == [order_of(seed) for seed in range(8)]
    assert len({tuple(each) for each in orders}) > 1
    assert all(sorted(each) == [0, 0, 1, 1, 2, 2, 3, 3] for each in orders)


def test_one_runs_at_a_time() -> None:
    stage = Stage()
    inside = most = 0

    def work() -> None:
        nonlocal inside, most
        for _ in range(3):
            inside += 1
            most = max(most, inside)
            inside -= 1
            stage.wait([], timeout_s=0.1)

    started = [stage.turns.start(work, f"user {n}") for n in range(3)]
    for each in started:
        each.join()
    stage.end()
    assert most == 1


def test_a_wait_ends_when_it_is_ready_or_its_time_is_over() -> None:
    stage = Stage()
    box: list[int] = []
    stage.timeline.after(2.0, box.append, 1)
    assert stage.wait(box, timeout_s=1.0) is False
    assert stage.timeline.now_s == 1.0
    assert stage.wait(box, timeout_s=5.0) is True
    assert stage.timeline.now_s == 2.0
    stage.end()


def test_those_who_wait_go_on_when_the_loop_has_ended() -> None:
    stage = Stage()
    seen: list[bool] = []
    waiter = stage.turns.start(lambda: seen.append(stage.wait([])), "user")
    stage.wait([], timeout_s=1.0)
    stage.end()
    waiter.join()
    assert seen == [False]


def test_a_visitor_gets_the_turn_back_when_the_visited_waits_or_ends() -> None:
    stage = Stage()
    seen: list[str] = []

    def live() -> None:
        seen.append("one")
        stage.turns.leave()
        seen.append("two")

    turn = stage.turns.start_executor(live, "executor 0")
    assert seen == []
    stage.turns.visit(turn)
    assert (seen, turn.done) == (["one"], False)
    stage.turns.visit(turn)
    assert (seen, turn.done) == (["one", "two"], True)
    stage.end()


def test_the_error_of_an_executor_names_it() -> None:
    stage = Stage()
    turn = stage.turns.start_executor(lambda: [][0], "executor 7")
    with pytest.raises(EngineError, match=r"executor 7 ended with IndexError"):
        stage.turns.visit(turn)
    stage.end()


def test_a_thread_that_nobody_gave_a_turn_is_told_how_to_start() -> None:
    stage = Stage()
    errors: list[Exception] = []

    def intrude() -> None:
        try:
            stage.wait([])
        except UserError as error:
            errors.append(error)

    stranger = threading.Thread(target=intrude)
    stranger.start()
    stranger.join()
    assert "InheritableThread" in str(errors[0])
    stage.end()


def test_without_a_loop_a_wait_for_nothing_is_an_error() -> None:
    turns = Turns(Timeline(), Random(0))
    with pytest.raises(EngineError, match="every thread waits"):
        turns.wait(WaitQueue(), lambda: False)
