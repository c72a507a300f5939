"""Who is stopped or silent, told by conversation."""

from __future__ import annotations

from pyrite.cluster.node.watch import Probed, Watch

EXECUTOR, SERVER = 10, 20


class Players:
    """A watch with one block server, which may be silent."""

    def __init__(self, timeout_s: float = 120.0) -> None:
        self.said: list[str] = []
        self.pings = 0
        self.watch = Watch(timeout_s, self.said.append)

    def ping(self) -> None:
        self.pings += 1

    def tend(self, now_s: float) -> list[int]:
        return self.watch.tend(lambda: {SERVER: Probed("the server", self.ping)}, now_s)

    def tend_until(self, end_s: float, answers: bool = False) -> list[int]:
        """Tends whenever it is time to; gives who is given up first, with when."""
        now_s = 0.0
        while now_s <= end_s:
            if due := self.tend(now_s):
                return [*due, int(now_s)]
            if answers:
                self.watch.mark_alive(SERVER)
            now_s = self.watch.next_s()
        return []


def test_a_stopped_executor_is_given_up_after_the_timeout() -> None:
    players = Players()
    players.tend(0.0)
    players.watch.stops(EXECUTOR, "executor 3", 1.0)
    assert players.said == [
        "executor 3 is stopped; it is given up after 120 s (spark.network.timeout) "
        "unless it continues"
    ]
    players.watch.mark_alive(SERVER)
    assert players.tend(120.9) == [] and players.tend(121.0) == [EXECUTOR]
    assert players.watch.end_of(EXECUTOR, "killed by SIGKILL") == (
        "killed by SIGKILL, since it was stopped or silent for 120 s"
    )
    players.watch.forget(EXECUTOR)
    assert players.watch.end_of(EXECUTOR, "killed by SIGKILL") == "killed by SIGKILL"


def test_one_that_continues_is_not() -> None:
    players = Players()
    players.watch.stops(EXECUTOR, "executor 3", 1.0)
    players.watch.continues(EXECUTOR)
    assert players.tend(200.0) == []


def test_who_answers_is_asked_again_and_again() -> None:
    players = Players()
    assert players.tend_until(1000.0, answers=True) == []
    assert players.pings > 100 and players.said == []


def test_who_is_silent_is_told_of_once_and_given_up_after_the_timeout() -> None:
    players = Players()
    assert players.tend_until(1000.0) == [SERVER, 120]
    assert players.said == [
        "the server does not answer; it is given up after 120 s (spark.network.timeout)"
    ]


def test_nobody_is_silent_while_the_driver_stands_still() -> None:
    players = Players()
    assert players.tend(0.0) == []
    # The driver was stopped for an hour, and looks before the answer has come.
    assert players.tend(3600.0) == []
    players.watch.mark_alive(SERVER)
    assert players.tend(3605.0) == [] and players.said == []


def test_short_timeouts_have_short_pings() -> None:
    assert Players(timeout_s=2.0).tend_until(10.0) == [SERVER, 2]
