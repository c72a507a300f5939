"""An exchange whose machine has no descriptors, no memory, or files that stay."""

from __future__ import annotations

import errno
import os
import pickle
import resource
import socket
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import count
from typing import Any

import pytest
from exchange_players import files_of, folders_of, until

from pyrite.blocks.names import segment_name
from pyrite.blocks.segments import SegmentReader
from pyrite.errors import ClusterError
from pyrite.exchange import Exchange, NotInShuffle, TooManyFiles
from pyrite.exchange.serverconnection import ServerConnection
from pyrite.remote.handshake import NONCE_BYTES


@contextmanager
def no_descriptors(pid: int) -> Iterator[None]:
    """The process keeps the files that it has, and opens no more."""
    soft, hard = resource.prlimit(pid, resource.RLIMIT_NOFILE)
    resource.prlimit(pid, resource.RLIMIT_NOFILE, (3, hard))
    try:
        yield
    finally:
        resource.prlimit(pid, resource.RLIMIT_NOFILE, (soft, hard))


def test_who_can_not_open_files_loses_no_map(lasting: dict[str, Exchange]) -> None:
    shuffle = lasting["in place"].register(maps=1, reducers=1)
    shuffle.put(0, [b"whole"])
    needed = pytest.raises(TooManyFiles, match=r"segment e.*ulimit -n")
    with needed as caught, no_descriptors(os.getpid()):
        list(shuffle.get(0))
    assert isinstance(caught.value, ClusterError)
    assert pickle.loads(pickle.dumps(caught.value)).segment == caught.value.segment
    assert shuffle.missing() == []
    assert [bytes(each) for each in shuffle.get(0)] == [b"whole"]
    shuffle.forget()


def test_who_has_no_memory_for_a_map_loses_none(
    lasting: dict[str, Exchange], monkeypatch: pytest.MonkeyPatch
) -> None:
    shuffle = lasting["in place"].register(maps=1, reducers=1)
    shuffle.put(0, [b"whole"])

    def refuse(*_: object) -> memoryview:
        raise OSError(errno.ENOMEM, os.strerror(errno.ENOMEM))

    with monkeypatch.context() as patch, pytest.raises(OSError, match="memory"):
        patch.setattr(SegmentReader, "whole", refuse)
        list(shuffle.get(0))
    assert [bytes(each) for each in shuffle.get(0)] == [b"whole"]
    shuffle.forget()


def test_a_server_without_descriptors_lets_in_again() -> None:
    with Exchange(memory="1m") as exchange:
        shuffle = exchange.register(maps=1, reducers=1)
        with no_descriptors(exchange.server.process.pid):
            stranger = socket.create_connection(shuffle.address, timeout=60)
            # The server handles what it received before the first one before the second.
            assert shuffle.missing() == shuffle.missing() == [0]
        # Nobody has gone meanwhile.
        with stranger:
            assert len(stranger.recv(NONCE_BYTES, socket.MSG_WAITALL)) == NONCE_BYTES


def bar(path: str) -> None:
    """Puts something there that can't be removed as a file can."""
    os.unlink(path)
    os.mkdir(path)


def test_a_file_that_can_not_be_removed_keeps_nobody_from_an_answer() -> None:
    with Exchange(memory="8m") as exchange:
        shuffle = exchange.register(maps=3, reducers=1)
        for map in range(3):
            shuffle.put(map, [bytes(2 << 20)])
        folders = folders_of(exchange)
        barred, removed, packed = files_of(exchange)
        bar(folders.path(barred, "memory"))
        shuffle.forget()
        # The last is still packed into.
        assert removed not in files_of(exchange) and packed in files_of(exchange)
        assert exchange.register(maps=1, reducers=1).missing() == [0]
    assert not os.path.exists(folders.memory)


def test_a_file_that_can_not_be_removed_does_not_end_the_server() -> None:
    with Exchange(memory="1m") as exchange:
        folders = folders_of(exchange)
        place = exchange.address, exchange.secret
        other = ServerConnection(place)
        connection = ServerConnection(place)
        segment = segment_name(connection.writer.writer, 1)
        assert connection.ask("lease", 1, 1 << 20) == ["leased", 1 << 20]
        os.mkdir(folders.path(segment, "memory"))
        connection.close()
        numbers = count(1)
        # Its room is freed once the server knows that it has disconnected.
        until(lambda: other.ask("lease", next(numbers), 1 << 20)[1])
        other.close()
        assert exchange.register(maps=1, reducers=1).missing() == [0]


def refused(part: Any) -> memoryview:
    raise BufferError("it does not show its bytes")


def test_a_part_without_bytes_is_named(
    lasting: dict[str, Exchange], monkeypatch: pytest.MonkeyPatch
) -> None:
    shuffle = lasting["in place"].register(maps=2, reducers=2)
    released = memoryview(b"abc")
    released.release()
    message = "reducer 1 by map 1 that is no bytes.*pickle others"
    with pytest.raises(NotInShuffle, match=message):
        shuffle.put(1, [b"", released])
    with monkeypatch.context() as patch, pytest.raises(NotInShuffle, match=message):
        patch.setattr(
            "pyrite.exchange.shuffle.memoryview",
            lambda part: refused(part) if part == b"closed" else memoryview(part),
            raising=False,
        )
        shuffle.put(1, [b"", b"closed"])
    numpy = pytest.importorskip("numpy")
    with pytest.raises(NotInShuffle, match=message):
        shuffle.put(1, [b"", numpy.zeros(3, dtype="datetime64[s]")])
    assert shuffle.missing() == [0, 1]
    shuffle.forget()
