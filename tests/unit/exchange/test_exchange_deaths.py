"""Exchanges whose clients, owners and block servers are killed."""

from __future__ import annotations

import gc
import multiprocessing
import os
import pickle
import signal
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from multiprocessing.context import BaseContext
from multiprocessing.process import BaseProcess
from typing import Any

import psutil
import pytest
from exchange_players import (
    LONGEST_S,
    count_right,
    files_of,
    folders_of,
    put_and_stop,
    put_some,
    until,
)

from pyrite.exchange import Exchange, ExchangeLost, Shuffle
from pyrite.exchange.clientconnection import pack
from pyrite.exchange.exchange import OPEN
from pyrite.exchange.serverconnection import CONNECTIONS, ServerConnection

OWNER = """
import os, pickle, sys
from pyrite.exchange import Exchange

exchange = Exchange(memory="8m")
shuffle = exchange.register(maps=2, reducers=1)
shuffle.put(0, [b"there"])
if "fork" in sys.argv and os.fork() == 0:
    sys.stdin.read()
    os._exit(0)
print(pickle.dumps((shuffle, exchange.server.process.pid)).hex(), flush=True)
sys.stdin.read()
"""


@pytest.fixture(params=["spawn", "fork"])
def processes(request: pytest.FixtureRequest) -> BaseContext:
    return multiprocessing.get_context(request.param)


@pytest.fixture
def run() -> Iterator[Callable[..., BaseProcess]]:
    """Starts processes that end with the test."""
    started: list[BaseProcess] = []

    def start(context: BaseContext, target: Callable[..., Any], *args: Any) -> BaseProcess:
        process = context.Process(target=target, args=args)  # type: ignore[attr-defined]
        process.start()
        started.append(process)
        found: BaseProcess = process
        return found

    yield start
    for process in started:
        process.kill()
        process.join()
        process.close()


def test_processes_put_and_get(
    exchange: Exchange, processes: BaseContext, run: Callable[..., BaseProcess]
) -> None:
    shuffle = exchange.register(maps=24, reducers=3)
    # This process has connections of its own before the others begin.
    put_some(shuffle, [0])
    players = [run(processes, put_some, shuffle, range(1 + k, 24, 3)) for k in range(3)]
    assert [count_right(shuffle, reducer) for reducer in range(3)] == [24] * 3
    for player in players:
        player.join(LONGEST_S)
        assert player.exitcode == 0
    shuffle.forget()


@pytest.mark.parametrize(
    ("moment", "size"),
    [
        ("half of it is written", 100_000),
        ("all is written", 100_000),
        ("all is written", 20 << 20),
    ],
)
def test_a_client_that_is_killed_while_it_puts(
    exchange: Exchange, run: Callable[..., BaseProcess], moment: str, size: int
) -> None:
    shuffle = exchange.register(maps=1, reducers=1)
    before = files_of(exchange)
    kill_in_the_middle(run, shuffle, size, moment)
    assert shuffle.missing() == [0]
    until(lambda: files_of(exchange) == before)
    assert shuffle.put(0, [b"by another"])
    assert [bytes(each) for each in shuffle.get(0)] == [b"by another"]
    shuffle.forget()


@pytest.mark.parametrize("direct", [True, False])
def test_a_client_that_is_killed_while_it_puts_to_disk(
    run: Callable[..., BaseProcess], direct: bool
) -> None:
    with Exchange(memory="1m", direct=direct) as exchange:
        shuffle = exchange.register(maps=1, reducers=1)
        # Its last message to the server may be read after it is known to have died.
        moment = "a file on disk is written" if direct else "all is written"
        kill_in_the_middle(run, shuffle, 2 << 20, moment)
        until(lambda: files_of(exchange) == [])
        assert shuffle.missing() == [0]


def kill_in_the_middle(
    run: Callable[..., BaseProcess], shuffle: Shuffle, size: int, moment: str
) -> None:
    context = multiprocessing.get_context("spawn")
    ours, theirs = context.Pipe()
    before = files_of(shuffle)
    player = run(context, put_and_stop, shuffle, 0, size, moment, theirs)
    assert ours.poll(LONGEST_S) and ours.recv() == "there"
    # A half that was sent to the server may be on its way yet.
    until(lambda: files_of(shuffle) != before)
    player.kill()
    player.join()
    ours.close()
    theirs.close()


@pytest.fixture(params=["", "fork"])
def owner(request: pytest.FixtureRequest) -> Iterator[subprocess.Popen[bytes]]:
    """A process that owns an exchange, alone or with a child that it has forked."""
    process = subprocess.Popen(
        [sys.executable, "-c", OWNER, request.param],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
    )
    yield process
    process.kill()
    process.communicate()


def met(owner: subprocess.Popen[bytes]) -> tuple[Shuffle, psutil.Process]:
    assert owner.stdout is not None
    shuffle, pid = pickle.loads(bytes.fromhex(owner.stdout.readline().decode()))
    return shuffle, psutil.Process(pid)


def test_an_owner_that_is_killed_takes_all_along(owner: subprocess.Popen[bytes]) -> None:
    shuffle, server = met(owner)
    folders = folders_of(shuffle)
    block_servers = server.children()
    assert len(block_servers) == 1
    parts = shuffle.get(0)
    assert bytes(next(parts)) == b"there"
    waiter = ThreadPoolExecutor(1)
    waited = waiter.submit(lambda: list(parts))
    owner.kill()
    with pytest.raises(ExchangeLost, match="open another Exchange and put all maps"):
        waited.result(LONGEST_S)
    waiter.shutdown()
    with pytest.raises(ExchangeLost):
        shuffle.missing()
    assert psutil.wait_procs([server, *block_servers], timeout=LONGEST_S)[1] == []
    assert not os.path.exists(folders.memory) and not os.path.exists(folders.disk)


def test_a_server_that_is_killed_is_swept_up_after(owner: subprocess.Popen[bytes]) -> None:
    shuffle, server = met(owner)
    folders = folders_of(shuffle)
    block_servers = server.children()
    server.kill()
    with pytest.raises(ExchangeLost):
        list(shuffle.get(0, timeout_s=LONGEST_S))
    # The owner has not waited for the dead, who is a zombie.
    until(lambda: server.status() == psutil.STATUS_ZOMBIE)
    assert psutil.wait_procs(block_servers, timeout=LONGEST_S)[1] == []
    Exchange(memory="1m").close()
    assert not os.path.exists(folders.memory) and not os.path.exists(folders.disk)


def test_signals_that_stop_everybody_are_left_to_the_owner() -> None:
    with Exchange(memory="1m") as exchange:
        shuffle = exchange.register(maps=1, reducers=1)
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            exchange.server.process.send_signal(number)
        shuffle.put(0, [b"still there"])
        assert [bytes(each) for each in shuffle.get(0)] == [b"still there"]


def replace_block_server(exchange: Exchange) -> None:
    server = psutil.Process(exchange.server.process.pid)
    [block_server] = server.children()
    block_server.kill()
    until(lambda: [each.pid for each in server.children()] not in ([block_server.pid], []))


def test_a_block_server_that_is_killed_is_replaced() -> None:
    with Exchange(memory="1m", direct=False) as exchange:
        shuffle = exchange.register(maps=3, reducers=1)
        shuffle.put(0, [b"before"])
        replace_block_server(exchange)
        shuffle.put(1, [b"after"])
        shuffle.put(2, [b"at last"])
        assert [bytes(each) for each in shuffle.get(0)] == [b"before", b"after", b"at last"]


def test_all_idle_connections_learn_of_a_new_block_server() -> None:
    with Exchange(memory="8m", direct=False) as exchange, ThreadPoolExecutor(4) as threads:
        shuffle = exchange.register(maps=12, reducers=4)
        place = exchange.address, exchange.secret
        together = threading.Barrier(4)

        def connect_at_once(map: int) -> None:
            put_some(shuffle, [map])
            with CONNECTIONS.borrow(place):
                together.wait(LONGEST_S)

        assert list(threads.map(connect_at_once, range(4))) == [None] * 4
        assert len(CONNECTIONS.idle[place]) >= 4
        # One that is in use meanwhile, and idle then.
        with CONNECTIONS.borrow(place):
            replace_block_server(exchange)
            list(threads.map(put_some, [shuffle] * 4, [[k] for k in range(4, 8)]))
        put_some(shuffle, [8])
        with CONNECTIONS.borrow(place):
            replace_block_server(exchange)
            put_some(shuffle, range(9, 12))
        assert list(threads.map(count_right, [shuffle] * 4, range(4))) == [12] * 4


def test_what_is_tried_again_is_tried_with_a_new_connection(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    with Exchange(memory="1m", direct=False) as exchange:
        shuffle = exchange.register(maps=1, reducers=1)
        place = exchange.address, exchange.secret
        with CONNECTIONS.borrow(place), CONNECTIONS.borrow(place):
            pass
        replace_block_server(exchange)
        with monkeypatch.context() as patch:
            # As if another thread gave back one that is as old.
            patch.setattr(CONNECTIONS, "end", lambda place: None)
            assert shuffle.put(0, [b"there"])


def test_who_comes_is_not_told_of_a_block_server_that_has_gone() -> None:
    with Exchange(memory="1m") as exchange:
        connection = ServerConnection((exchange.address, exchange.secret))
        server = psutil.Process(exchange.server.process.pid)
        [block_server] = server.children()
        server.suspend()
        # It is read first; the block server's end next, in the same round.
        connection.link.send([pack(["hello"])])
        block_server.kill()
        until(lambda: block_server.status() == psutil.STATUS_ZOMBIE)
        server.resume()
        message = connection._receive(LONGEST_S)
        assert message[0] == "welcome" and tuple(message[4]) != connection.block_server
        connection.close()


def test_an_exchange_lives_though_nobody_holds_it() -> None:
    shuffle = Exchange(memory="1m").register(maps=2, reducers=1)
    gc.collect()
    shuffle.put(0, [b"still there"])
    # A child of this process has a copy, which ends nothing.
    child = multiprocessing.get_context("fork").Process(target=close_all)
    child.start()
    child.join(LONGEST_S)
    assert child.exitcode == 0
    shuffle.put(1, [b"and now"])
    assert [bytes(each) for each in shuffle.get(0)] == [b"still there", b"and now"]
    [exchange] = [each for each in OPEN if each.address == shuffle.address]
    exchange.close()
    assert exchange not in OPEN
    with pytest.raises(ExchangeLost):
        shuffle.missing()


def close_all() -> None:
    for each in list(OPEN):
        each.close()
