"""How long a reducer waits: whatever one says, the others are served."""

from __future__ import annotations

import math
import sys
from concurrent.futures import ThreadPoolExecutor
from itertools import count
from typing import Any

import pytest
from exchange_players import until

from pyrite.errors import UserError
from pyrite.exchange import Exchange, ExchangeLost, MapsMissing, Shuffle
from pyrite.exchange.serverconnection import ServerConnection


def waited(shuffle: Shuffle, timeout_s: Any) -> list[bytes]:
    return [bytes(each) for each in shuffle.get(0, timeout_s)]


@pytest.mark.parametrize("timeout_s", [3e6, sys.float_info.max, math.inf, None])
def test_who_waits_very_long_ends_nothing(lasting: dict[str, Exchange], timeout_s: Any) -> None:
    exchange = lasting["in place"]
    shuffle = exchange.register(maps=2, reducers=1)
    shuffle.put(0, [b"first"])
    parts = shuffle.get(0, timeout_s)
    next(parts)
    with ThreadPoolExecutor(1) as waiter:
        rest = waiter.submit(lambda: [bytes(each) for each in parts])
        # The server polls more than once during this wait.
        until(lambda: rest.running() or rest.done())
        for _ in range(3):
            exchange.register(maps=1, reducers=1).forget()
        shuffle.put(1, [b"second"])
        assert rest.result(60) == [b"second"]
    shuffle.forget()


def test_a_server_is_patient_with_who_waits_very_long(lasting: dict[str, Exchange]) -> None:
    exchange = lasting["in place"]
    shuffle = exchange.register(maps=1, reducers=1)
    connection = ServerConnection((exchange.address, exchange.secret))
    asked = ServerConnection((exchange.address, exchange.secret))
    with ThreadPoolExecutor(1) as waiter:
        found = waiter.submit(connection.ask, "find", shuffle.id, 0, 0, 3e6, wait_s=None)
        # When the third is answered, the server has waited with the first.
        for _ in range(3):
            assert asked.ask("missing", shuffle.id) == ["missing", [0]]
        shuffle.put(0, [b"there"])
        assert found.result(60)[0] == "found"
    connection.close()
    asked.close()
    shuffle.forget()


def test_numbers_of_numpy_are_times(lasting: dict[str, Exchange]) -> None:
    numpy = pytest.importorskip("numpy")
    shuffle = lasting["in place"].register(maps=1, reducers=1)
    with pytest.raises(MapsMissing):
        waited(shuffle, numpy.float32(0.25))
    shuffle.put(0, [b"there"])
    assert waited(shuffle, numpy.int64(1)) == [b"there"]
    shuffle.forget()


@pytest.mark.parametrize("timeout_s", [-1, -math.inf, math.nan, "soon", [1], 10**400])
def test_what_is_no_time_is_named(lasting: dict[str, Exchange], timeout_s: Any) -> None:
    shuffle = lasting["in place"].register(maps=1, reducers=1)
    with pytest.raises(UserError, match=r"reducer 0 of shuffle .*timeout_s=.*None to wait"):
        shuffle.get(0, timeout_s)
    shuffle.forget()


def test_a_client_asks_the_kernel_again_for_a_long_wait(
    lasting: dict[str, Exchange], monkeypatch: pytest.MonkeyPatch
) -> None:
    # No wait of the kernel's is long enough.
    monkeypatch.setattr("pyrite.exchange.serverconnection.LONGEST_S", 0.0)
    shuffle = lasting["in place"].register(maps=1, reducers=1)
    for timeout_s in (600, None):
        with ThreadPoolExecutor(1) as waiter:
            found = waiter.submit(waited, shuffle, timeout_s)
            shuffle.put(0, [b"there"], replace=True)
            assert found.result(60) == [b"there"]
    shuffle.forget()


def test_a_server_that_does_not_answer_is_lost(
    lasting: dict[str, Exchange], monkeypatch: pytest.MonkeyPatch
) -> None:
    exchange = lasting["in place"]
    shuffle = exchange.register(maps=1, reducers=1)
    connection = ServerConnection((exchange.address, exchange.secret))
    monkeypatch.setattr("pyrite.exchange.serverconnection.LONGEST_S", 0.0)
    # Each look at the clock finds that ten minutes have passed.
    monkeypatch.setattr("pyrite.exchange.serverconnection.monotonic", count(0.0, 600.0).__next__)
    with pytest.raises(ExchangeLost, match="it does not answer"):
        # The request allows the server to take for ever.
        connection.ask("find", shuffle.id, 0, 0, None, wait_s=0.0)
    connection.close()
    monkeypatch.undo()
    shuffle.forget()
