"""An outbox sends in order what there is room for, and passes sockets on."""

from __future__ import annotations

import os
import select
import socket
from collections.abc import Iterator

import pytest

from pyrite.remote.outbox import Outbox

LONG = os.urandom(1 << 20)


@pytest.fixture
def pair() -> Iterator[tuple[socket.socket, socket.socket]]:
    ours, theirs = socket.socketpair()
    ours.setblocking(False)
    with ours, theirs:
        yield ours, theirs


def received(sock: socket.socket, count: int, outbox: Outbox) -> bytes:
    data = b""
    while len(data) < count:
        outbox.flush()
        data += sock.recv(1 << 16)
    return data


def test_all_comes_in_order_however_little_room_there_is(
    pair: tuple[socket.socket, socket.socket],
) -> None:
    ours, theirs = pair
    outbox = Outbox(ours)
    outbox.send(LONG)
    outbox.add(b"then")
    assert outbox and len(outbox) > len(b"then")
    assert received(theirs, len(LONG) + 4, outbox) == LONG + b"then"
    assert not outbox and len(outbox) == 0


def test_sockets_arrive_with_their_bytes_and_are_closed_here(
    pair: tuple[socket.socket, socket.socket],
) -> None:
    ours, theirs = pair
    outbox = Outbox(ours)
    first, second = socket.socketpair()
    outbox.send(LONG)
    outbox.send(b"first", first)
    outbox.send(b"second", second)
    assert first.fileno() >= 0
    assert received(theirs, len(LONG), outbox) == LONG
    found: list[int] = []
    data = b""
    while data != b"firstsecond":
        outbox.flush()
        more, fds, _, _ = socket.recv_fds(theirs, 100, 4)
        data += more
        found += fds
    assert first.fileno() == second.fileno() == -1
    with socket.socket(fileno=found[0]) as one, socket.socket(fileno=found[1]) as other:
        one.send(b"x")
        assert other.recv(1) == b"x"


def test_a_poll_wakes_for_room_as_long_as_something_is_left(
    pair: tuple[socket.socket, socket.socket],
) -> None:
    ours, theirs = pair
    with select.epoll() as poll:
        poll.register(ours, select.EPOLLIN)
        outbox = Outbox(ours, poll)
        outbox.send(b"short")
        assert poll.poll(0) == []
        outbox.send(LONG)
        assert poll.poll(0) == []
        theirs.recv(len(LONG))
        assert poll.poll(1) == [(ours.fileno(), select.EPOLLOUT)]
        outbox.clear()
        assert poll.poll(0) == []


def test_what_nobody_reads_any_more_is_dropped_with_its_sockets(
    pair: tuple[socket.socket, socket.socket],
) -> None:
    ours, theirs = pair
    outbox = Outbox(ours)
    passed, kept = socket.socketpair()
    with kept:
        outbox.send(LONG)
        outbox.send(b"with", passed)
        theirs.close()
        outbox.flush()
        assert not outbox and passed.fileno() == -1
