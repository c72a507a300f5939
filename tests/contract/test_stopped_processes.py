"""Processes that are stopped (SIGSTOP): it is said, and they are given up in the end."""

from __future__ import annotations

import logging
import os
import signal
from collections.abc import Callable, Iterator
from operator import add
from typing import Any

import psutil
import pytest
from marks import Marks, wait_until
from nodeprocesses import janitor_pid, node_pid

from pyrite import SparkContext

Start = Callable[..., SparkContext]

TIMEOUT = "6s"
EXPECTED = [(key, len(range(key, 1000, 7))) for key in range(7)]


def counts(sc: SparkContext) -> list[tuple[int, int]]:
    pairs = sc.range(1000, numSlices=6).map(lambda x: (x % 7, 1))
    return sorted(pairs.reduceByKey(add, 4).collect())


def executors(sc: SparkContext) -> dict[int, int]:
    links = list(sc._engine.cluster.by_id.values())  # type: ignore[attr-defined]
    return {each.id: each.pid for each in links if each.joined}


@pytest.fixture
def stop() -> Iterator[Callable[[int], None]]:
    """Stops processes; those that are left go on after the test."""
    stopped: list[psutil.Process] = []

    def stop_one(pid: int) -> None:
        stopped.append(psutil.Process(pid))
        os.kill(pid, signal.SIGSTOP)

    yield stop_one
    for process in stopped:
        if process.is_running():
            process.send_signal(signal.SIGCONT)


def said(caplog: pytest.LogCaptureFixture, text: str) -> int:
    return sum(text in record.getMessage() for record in caplog.records)


def test_an_executor_is_given_up(start: Start, stop: Any, marks: Marks, caplog: Any) -> None:
    sc = start("local[2]", spark__network__timeout="1s")

    def work(x: int) -> int:
        if marks.first("stop"):
            os.kill(os.getpid(), signal.SIGSTOP)
        return x

    with caplog.at_level(logging.WARNING, "pyrite"):
        assert sc.parallelize(range(4), 4).map(work).collect() == [0, 1, 2, 3]
    assert said(caplog, "is stopped; it is given up after 1 s (spark.network.timeout)") == 1


def test_the_report_says_that_it_was_stopped(start: Start) -> None:
    sc = start("local[1]", spark__network__timeout="200ms", spark__task__maxFailures=1)
    with pytest.raises(Exception, match=r"stopped or silent for 0\.2 s"):
        sc.parallelize([1], 1).foreach(lambda _: os.kill(os.getpid(), signal.SIGSTOP))


def test_an_executor_that_continues_goes_on(start: Start, stop: Any, caplog: Any) -> None:
    sc = start("local[2]")
    wait_until(lambda: len(executors(sc)) == 2, "executors")
    before = executors(sc)
    with caplog.at_level(logging.WARNING, "pyrite"):
        for pid in before.values():
            stop(pid)
        wait_until(lambda: said(caplog, "is stopped") == 2, "the word of it")
        for pid in before.values():
            os.kill(pid, signal.SIGCONT)
        assert counts(sc) == EXPECTED
    assert executors(sc) == before
    wait_until(lambda: not sc._engine.cluster.watch.stopped, "the word of their going on")  # type: ignore[attr-defined]


def test_the_fork_server_is_given_up(start: Start, stop: Any, caplog: Any) -> None:
    sc = start("local[2]", spark__network__timeout=TIMEOUT)
    assert counts(sc) == EXPECTED
    driver = sc._engine.cluster.driver  # type: ignore[attr-defined]
    fork_server = driver.fork_server.process
    with caplog.at_level(logging.WARNING, "pyrite"):
        stop(fork_server.pid)
        wait_until(lambda: driver.fork_server.process is not fork_server, "another fork server")
    assert said(caplog, f"(pid {fork_server.pid}) does not answer") == 1
    assert counts(sc) == EXPECTED


@pytest.mark.parametrize("name", ["driver", "node-1"])
def test_a_block_server_is_given_up(start: Start, stop: Any, caplog: Any, name: str) -> None:
    sc = start("local-cluster[2,1,512m]", spark__network__timeout=TIMEOUT)
    table = sc.broadcast(list(range(100)))
    server = psutil.Process(node_pid(sc, name, "server"))
    with caplog.at_level(logging.WARNING, "pyrite"):
        stop(server.pid)
        assert counts(sc) == EXPECTED
        assert sc.range(4, numSlices=4).map(lambda x: len(table.value)).collect() == [100] * 4
        wait_until(lambda: not server.is_running(), "its end")
    assert said(caplog, f"the block server of {name} (pid {server.pid}) does not answer") == 1
    assert counts(sc) == EXPECTED


@pytest.mark.parametrize("part", ["agent", "janitor"])
def test_a_node_is_given_up(start: Start, stop: Any, caplog: Any, part: str) -> None:
    sc = start("local-cluster[2,1,512m]", spark__network__timeout=TIMEOUT)
    assert counts(sc) == EXPECTED
    node = sc._engine.cluster.nodes["node-1"]  # type: ignore[attr-defined]
    pid = node_pid(sc, "node-1", "agent")
    with caplog.at_level(logging.WARNING, "pyrite"):
        if part == "janitor":
            # It has nothing to say while its agent lives.
            stop(janitor_pid(sc, "node-1"))
        stop(pid)
        assert counts(sc) == EXPECTED
        wait_until(lambda: not psutil.pid_exists(pid), "its end")
        wait_until(lambda: not os.path.exists(node.folders.memory), "the end of its folders")
    assert said(caplog, f"the agent of node-1 (pid {pid}) does not answer") == 1
    assert counts(sc) == EXPECTED


@pytest.mark.parametrize("master", ["local[2]", "local-cluster[1,1,512m]"])
def test_stop_does_not_wait_for_them(start: Start, stop: Any, master: str) -> None:
    others = psutil.Process().children()
    sc = start(master)
    assert counts(sc) == EXPECTED
    own = [each for each in psutil.Process().children() if each not in others]
    processes = [each for child in own for each in [child, *child.children(recursive=True)]]
    assert processes
    for process in processes:
        stop(process.pid)
    sc.stop()
    assert not any(process.is_running() for process in processes)
