"""Putting and getting parts through a real exchange, in place and through its block server."""

from __future__ import annotations

import os
import pickle
import shutil
import subprocess
import sys
import threading
from array import array
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from itertools import count
from typing import Any

import psutil
import pytest
from exchange_players import count_right, files_of, folders_of, part, put_some, until

from pyrite.blocks.names import segment_name
from pyrite.errors import ClusterError, UserError
from pyrite.exchange import (
    AlreadyPut,
    Exchange,
    ExchangeFull,
    ExchangeLost,
    MapsMissing,
    NotInShuffle,
    PartLost,
    Shuffle,
    UnknownShuffle,
)
from pyrite.exchange.book import MOST_PARTS
from pyrite.exchange.serverconnection import CONNECTIONS, ServerConnection
from pyrite.ids import Medium
from pyrite.remote.client import BlockClient
from pyrite.remote.errors import BlockRefused
from pyrite.remote.protocol import MEANING, Reason, is_segment


def test_each_reducer_gets_its_part_of_each_map(exchange: Exchange) -> None:
    shuffle = exchange.register(maps=5, reducers=3)
    put_some(shuffle, [3, 1, 4, 0, 2])
    for reducer in range(3):
        got = [bytes(each) for each in shuffle.get(reducer)]
        assert got == [part(map, reducer) for map in range(5)]
    assert shuffle.sizes() == [sum(len(part(m, r)) for m in range(5)) for r in range(3)]
    shuffle.forget()


def test_a_part_may_be_many_buffers_and_empty(exchange: Exchange) -> None:
    shuffle = exchange.register(maps=2, reducers=4)
    numbers = array("d", [1.5, 2.5])
    shuffle.put(0, [[b"a", bytearray(b"bc"), memoryview(b"d")], b"", numbers, []])
    shuffle.put(1, [b"", b"", b"", ()])
    got = [[bytes(each) for each in shuffle.get(reducer)] for reducer in range(4)]
    assert got == [[b"abcd", b""], [b"", b""], [numbers.tobytes(), b""], [b"", b""]]
    shuffle.forget()


def test_parts_are_read_only_and_aligned_in_place(lasting: dict[str, Exchange]) -> None:
    shuffle = lasting["in place"].register(maps=1, reducers=2)
    shuffle.put(0, [b"odd", array("d", [0.5, 8.0])])
    [view] = shuffle.get(1)
    assert view.readonly and list(view.cast("d")) == [0.5, 8.0]
    numpy = pytest.importorskip("numpy")
    assert numpy.frombuffer(view).flags.aligned
    shuffle.forget()
    # Whoever looks into a part has it, even after its shuffle was forgotten.
    assert view.tobytes() == array("d", [0.5, 8.0]).tobytes()


def test_a_handle_travels_and_does_not_show_the_secret(exchange: Exchange) -> None:
    shuffle = exchange.register(maps=1, reducers=1)
    pickled = pickle.dumps(shuffle)
    assert len(pickled) < 300
    copy = pickle.loads(pickled)
    copy.put(0, [b"travelled"])
    assert [bytes(each) for each in shuffle.get(0)] == [b"travelled"]
    assert repr(exchange.secret) not in repr(shuffle) and copy == shuffle
    with pytest.raises(UserError, match="send other processes the Shuffle"):
        pickle.dumps(exchange)
    shuffle.forget()


def test_a_retry_is_ignored_and_a_replacement_replaces(exchange: Exchange) -> None:
    shuffle = exchange.register(maps=1, reducers=2)
    assert shuffle.put(0, [b"a", b"b"])
    assert not shuffle.put(0, [[b"a"], bytearray(b"b")])
    with pytest.raises(AlreadyPut, match=r"map 0 of shuffle .*replace=True"):
        shuffle.put(0, [b"a", b"c"])
    assert [bytes(each) for each in shuffle.get(1)] == [b"b"]
    assert shuffle.put(0, [b"a", b"c"], replace=True)
    assert [bytes(each) for each in shuffle.get(1)] == [b"c"]
    shuffle.forget()


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda s: s.put(0, [b"a"]), "has 2 reducers, and map 0 was given 1 parts. Give one"),
        (lambda s: s.put(3, [b"a", b"b"]), "has no map 3. It has 3, from 0 on"),
        (lambda s: s.put(-1, [b"a", b"b"]), "has no map -1"),
        (lambda s: s.put(1, [b"a", "text"]), "reducer 1 by map 1 that is no bytes.*pickle others"),
        (lambda s: s.put(1, [memoryview(b"abcd")[::2], b""]), "contiguous"),
        (lambda s: s.get(2), "has no reducer 2. It has 2, from 0 on"),
    ],
)
def test_what_the_shuffle_was_not_registered_for(
    exchange: Exchange, call: Callable[[Shuffle], Any], message: str
) -> None:
    shuffle = exchange.register(maps=3, reducers=2)
    with pytest.raises(NotInShuffle, match=message) as caught:
        call(shuffle)
    assert caught.value.shuffle == shuffle.id and isinstance(caught.value, ValueError)
    assert shuffle.missing() == [0, 1, 2]
    shuffle.forget()


def test_shuffles_have_reducers(exchange: Exchange) -> None:
    for maps, reducers in (1, 0), (-1, 1), (1, 10**6):
        with pytest.raises(UserError, match="at least one reducer"):
            exchange.register(maps, reducers)
    assert list(exchange.register(maps=0, reducers=1).get(0)) == []


def test_who_waits_gets_parts_as_they_come(exchange: Exchange) -> None:
    shuffle = exchange.register(maps=3, reducers=1)
    shuffle.put(0, [b"first"])
    parts = shuffle.get(0, timeout_s=60)
    assert bytes(next(parts)) == b"first"
    waiter = ThreadPoolExecutor(1)
    rest = waiter.submit(lambda: [bytes(each) for each in parts])
    shuffle.put(2, [b"third"])
    shuffle.put(1, [b"second"])
    assert rest.result(60) == [b"second", b"third"]
    waiter.shutdown()
    shuffle.forget()


def test_who_waits_in_vain_hears_which_maps_are_missing(exchange: Exchange) -> None:
    shuffle = exchange.register(maps=20, reducers=1)
    shuffle.put(1, [b""])
    with pytest.raises(MapsMissing, match=r"\(19\): 0, 2, 3, .*timeout_s") as caught:
        list(shuffle.get(0, timeout_s=0.01))
    assert caught.value.maps == shuffle.missing() == [0, *range(2, 20)]
    assert isinstance(pickle.loads(pickle.dumps(caught.value)), TimeoutError)
    shuffle.forget()


def on_disk(known: Exchange | Shuffle) -> list[str]:
    return [name for name in os.listdir(folders_of(known).disk) if is_segment(name.encode())]


def test_a_forgotten_shuffle_is_unknown_and_its_files_are_gone(exchange: Exchange) -> None:
    shuffle = exchange.register(maps=2, reducers=1)
    shuffle.put(0, [bytes(30 << 20)])
    # Too large for the pool beside the first.
    shuffle.put(1, [bytes(40 << 20)])
    assert on_disk(exchange)
    shuffle.forget()
    shuffle.forget()
    assert not on_disk(exchange)
    for call in (shuffle.missing, shuffle.sizes, lambda: list(shuffle.get(0))):
        with pytest.raises(UnknownShuffle, match=f"no shuffle {shuffle.id}, or not any more"):
            call()
    with pytest.raises(UnknownShuffle):
        shuffle.put(0, [b"late"])


def test_who_waits_for_a_forgotten_shuffle_hears_of_it(exchange: Exchange) -> None:
    shuffle = exchange.register(maps=2, reducers=1)
    shuffle.put(0, [b"first"])
    parts = shuffle.get(0)
    next(parts)
    waiter = ThreadPoolExecutor(1)
    rest = waiter.submit(lambda: list(parts))
    shuffle.forget()
    with pytest.raises(UnknownShuffle):
        rest.result(60)
    waiter.shutdown()


def spoil(shuffle: Shuffle, what: bytes, by: bytes) -> None:
    """Changes bytes in the files, where no other test's are like them."""
    folders = folders_of(shuffle)
    for name in files_of(shuffle):
        medium: Medium = "disk" if name in on_disk(shuffle) else "memory"
        with open(folders.path(name, medium), "r+b") as file:
            place = file.read().find(what)
            if place >= 0:
                file.seek(place)
                file.write(by)
                return
    raise AssertionError("nothing to corrupt")


def test_a_corrupt_byte_is_a_lost_map(exchange: Exchange) -> None:
    shuffle = exchange.register(maps=3, reducers=2)
    mark = os.urandom(32)
    for map in range(3):
        shuffle.put(map, [b"%d" % map, mark if map == 1 else b"fine"])
    spoil(shuffle, mark, mark[:10] + bytes([mark[10] ^ 1]) + mark[11:])
    parts = shuffle.get(1)
    assert bytes(next(parts)) == b"fine"
    with pytest.raises(PartLost, match=r"map 1 for reducer 1 in shuffle .* is corrupt") as caught:
        next(parts)
    assert (caught.value.shuffle, caught.value.map) == (shuffle.id, 1)
    assert isinstance(caught.value, ClusterError)
    assert shuffle.missing() == [1]
    assert shuffle.put(1, [b"1", mark])
    assert [bytes(each) for each in shuffle.get(1)] == [b"fine", mark, b"fine"]
    shuffle.forget()


def test_a_file_that_is_gone_is_a_lost_map(exchange: Exchange) -> None:
    shuffle = exchange.register(maps=1, reducers=1)
    before = files_of(exchange)
    shuffle.put(0, [bytes(70 << 20)])
    [name] = [each for each in files_of(exchange) if each not in before]
    os.unlink(folders_of(exchange).path(name, "disk"))
    with pytest.raises(PartLost, match="has gone with its file"):
        list(shuffle.get(0))
    assert shuffle.missing() == [0]
    shuffle.forget()


def test_a_reader_follows_a_map_that_was_replaced(exchange: Exchange) -> None:
    shuffle = exchange.register(maps=2, reducers=1)
    shuffle.put(0, [b"first"])
    shuffle.put(1, [bytes(70 << 20)])
    parts = shuffle.get(0)
    # It has been told of both by now; the second one's file goes at once when it is replaced.
    assert bytes(next(parts)) == b"first"
    shuffle.put(1, [b"second"], replace=True)
    assert [bytes(each[:6]) for each in parts] == [b"second"]
    shuffle.forget()


def test_no_room_anywhere_is_said() -> None:
    with Exchange(memory="1m") as exchange:
        shuffle = exchange.register(maps=1, reducers=1)
        shutil.rmtree(folders_of(exchange).disk)
        with pytest.raises(ExchangeFull, match=r"2097152 bytes of map 0 of shuffle 1.*local_dir"):
            shuffle.put(0, [bytes(2 << 20)])
        assert shuffle.put(0, [b"less"])


@pytest.mark.parametrize("direct", [True, False])
def test_a_pool_that_is_full_goes_on_on_disk(direct: bool) -> None:
    with Exchange(memory="1m", direct=direct) as exchange:
        shuffle = exchange.register(maps=40, reducers=2)
        for map in range(40):
            shuffle.put(map, [bytes([map]) * 50_000, bytes([map])])
        spilled, folders = on_disk(exchange), folders_of(exchange)
        held = [name for name in files_of(exchange) if name not in spilled]
        assert spilled and held
        assert sum(os.path.getsize(folders.path(name, "memory")) for name in held) <= 1 << 20
        for reducer, size in (0, 50_000), (1, 1):
            got = [bytes(each) for each in shuffle.get(reducer)]
            assert got == [bytes([map]) * size for map in range(40)]
        shuffle.forget()
        # The segment that this process still packs into stays.
        assert len(files_of(exchange)) <= 1


@pytest.mark.parametrize("direct", [True, False])
def test_many_who_put_a_little_share_the_memory(direct: bool) -> None:
    with Exchange(memory="4m", direct=direct) as exchange, ExitStack() as stack:
        place = exchange.address, exchange.secret
        connections = [stack.enter_context(CONNECTIONS.borrow(place)) for _ in range(80)]
        written = [connection.write([b"a little"], 8).medium for connection in connections]
        assert set(written) == {"memory"}


def test_many_threads_at_once(exchange: Exchange) -> None:
    shuffle = exchange.register(maps=48, reducers=6)
    with ThreadPoolExecutor(12) as threads:
        right = [threads.submit(count_right, shuffle, reducer) for reducer in range(6)]
        puts = [threads.submit(put_some, shuffle, range(k, 48, 6)) for k in range(6)]
        assert [each.result(60) for each in puts] == [None] * 6
        assert [each.result(60) for each in right] == [48] * 6
    shuffle.forget()


def test_more_maps_than_one_answer_tells(exchange: Exchange) -> None:
    shuffle = exchange.register(maps=1100, reducers=1)
    for map in range(1100):
        shuffle.put(map, [b"%d" % map])
    assert [int(bytes(each)) for each in shuffle.get(0)] == list(range(1100))
    shuffle.forget()


def test_as_many_maps_and_reducers_as_can_be(exchange: Exchange) -> None:
    long = exchange.register(maps=MOST_PARTS, reducers=1)
    assert long.missing() == list(range(MOST_PARTS))
    long.forget()
    wide = exchange.register(maps=1, reducers=MOST_PARTS)
    wide.put(0, [b"x" * (reducer % 3) for reducer in range(MOST_PARTS)])
    assert wide.sizes() == [reducer % 3 for reducer in range(MOST_PARTS)]
    assert [bytes(each) for each in wide.get(MOST_PARTS - 2)] == [b"xx"]
    wide.forget()


def test_a_closed_exchange_is_lost_to_all() -> None:
    exchange = Exchange(memory="8m")
    shuffle = exchange.register(maps=1, reducers=1)
    waiter = ThreadPoolExecutor(1)
    waiting = threading.Event()

    def wait() -> None:
        waiting.set()
        list(shuffle.get(0))

    waited = waiter.submit(wait)
    waiting.wait()
    exchange.close()
    exchange.close()
    with pytest.raises(ExchangeLost, match="open another Exchange"):
        waited.result(60)
    waiter.shutdown()
    with pytest.raises(ExchangeLost, match=f"at 127.0.0.1:{shuffle.address[1]} is lost"):
        shuffle.put(0, [b""])
    assert not CONNECTIONS.idle.get((shuffle.address, shuffle.secret))


def test_numbers_of_numpy_are_numbers(exchange: Exchange) -> None:
    numpy = pytest.importorskip("numpy")
    shuffle = exchange.register(numpy.int64(1), numpy.int32(2))
    numbers = numpy.arange(6.0)
    shuffle.put(numpy.int64(0), (each for each in (numbers[:2], numbers[2:])))
    [part] = shuffle.get(numpy.int8(1))
    assert numpy.frombuffer(part).tolist() == [2.0, 3.0, 4.0, 5.0]
    shuffle.forget()


def test_who_can_not_enter_the_folders_goes_through_the_server(
    lasting: dict[str, Exchange], monkeypatch: pytest.MonkeyPatch
) -> None:
    exchange = lasting["in place"]
    shuffle = exchange.register(maps=2, reducers=1)
    shuffle.put(0, [b"in place"])
    with monkeypatch.context() as patch:
        patch.setattr("pyrite.exchange.serverconnection.can_enter", lambda folder: False)
        CONNECTIONS.end((exchange.address, exchange.secret))
        shuffle.put(1, [b"through the server"])
        assert [bytes(each) for each in shuffle.get(0)] == [b"in place", b"through the server"]
        CONNECTIONS.end((exchange.address, exchange.secret))
    assert [bytes(each) for each in shuffle.get(0)] == [b"in place", b"through the server"]
    shuffle.forget()


def test_a_program_that_uses_a_handle_ends_without_a_word(exchange: Exchange) -> None:
    shuffle = exchange.register(maps=1, reducers=1)
    program = (
        "import pickle, sys; shuffle = pickle.loads(bytes.fromhex(sys.argv[1])); "
        "shuffle.put(0, [b'from another']); [part] = shuffle.get(0); print(bytes(part))"
    )
    done = subprocess.run(
        [sys.executable, "-X", "dev", "-W", "error", "-c", program, pickle.dumps(shuffle).hex()],
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.stdout, done.stderr) == ("b'from another'\n", "")
    shuffle.forget()


def test_who_is_interrupted_hears_no_answer_to_an_older_question(
    exchange: Exchange, monkeypatch: pytest.MonkeyPatch
) -> None:
    shuffle = exchange.register(maps=1, reducers=1)

    def interrupt(connection: ServerConnection, timeout_s: float | None) -> list[Any]:
        raise KeyboardInterrupt

    with monkeypatch.context() as patch, pytest.raises(KeyboardInterrupt):
        patch.setattr(ServerConnection, "_receive", interrupt)
        shuffle.missing()
    assert shuffle.sizes() == [0]
    shuffle.forget()


def test_the_time_to_wait_is_for_all_maps_together(
    exchange: Exchange, monkeypatch: pytest.MonkeyPatch
) -> None:
    shuffle = exchange.register(maps=2, reducers=1)
    shuffle.put(0, [b"there"])
    # Each look at the clock finds that ten minutes have passed.
    monkeypatch.setattr("pyrite.exchange.shuffle.monotonic", count(0.0, 600.0).__next__)
    parts = shuffle.get(0, timeout_s=600)
    assert bytes(next(parts)) == b"there"
    with pytest.raises(MapsMissing):
        next(parts)
    shuffle.forget()


def test_a_client_holds_nothing_open_between_puts(lasting: dict[str, Exchange]) -> None:
    shuffle = lasting["in place"].register(maps=1, reducers=1)
    shuffle.put(0, [b"written"])
    assert [bytes(each) for each in shuffle.get(0)] == [b"written"]
    # An open file, or a map of one, would hold its memory after the exchange was closed.
    me, memory = psutil.Process(), folders_of(shuffle).memory
    assert [each.path for each in me.open_files() if each.path.startswith(memory)] == []
    assert [each.path for each in me.memory_maps() if each.path.startswith(memory)] == []
    shuffle.forget()


def test_what_is_removed_is_not_written_again(lasting: dict[str, Exchange]) -> None:
    exchange = lasting["through the server"]
    connection = ServerConnection((exchange.address, exchange.secret))
    segment = segment_name(connection.writer.writer, 1)
    assert connection.ask("lease", 1, 100)[1] >= 100
    connection.close()
    client = BlockClient(exchange.secret)

    def is_refused() -> bool:
        """A block that was under way when its writer died."""
        try:
            client.write(connection.block_server, segment, 0, [b"late"], 100)
        except BlockRefused as refused:
            return refused.reason == MEANING[Reason.FORGOTTEN]
        return False

    until(is_refused)
    client.close()
    assert segment not in files_of(exchange)


def test_idle_connections_to_exchanges_that_ended_are_closed(
    lasting: dict[str, Exchange],
) -> None:
    with Exchange(memory="1m") as exchange:
        shuffle = exchange.register(maps=1, reducers=1)
        with CONNECTIONS.borrow((shuffle.address, shuffle.secret)) as connection:
            pass
        # As in a process that does not own it.
        exchange.server.stop()
        until(lambda: connection.is_over)
        lasting["in place"].register(maps=1, reducers=1).forget()
        assert (shuffle.address, shuffle.secret) not in CONNECTIONS.idle
