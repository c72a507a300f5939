"""The door of a loop: who comes in, who has to go, and when nobody can."""

from __future__ import annotations

import errno
import os
import resource
import select
import socket
from collections.abc import Callable, Iterator

import pytest
from peers import PATIENCE_S, connect, exactly

from pyrite.blocks.segments import Folders
from pyrite.remote.client import BlockClient
from pyrite.remote.door import REST_S, Door
from pyrite.remote.handshake import NONCE_BYTES
from pyrite.remote.process import ServerProcess

Start = Callable[..., ServerProcess]


class Listener(socket.socket):
    """One that has no descriptors for clients while it is full."""

    is_full = False

    def accept(self) -> tuple[socket.socket, object]:
        if self.is_full:
            raise OSError(errno.EMFILE, os.strerror(errno.EMFILE))
        return super().accept()


@pytest.fixture
def listener() -> Iterator[Listener]:
    with Listener() as found:
        found.bind(("127.0.0.1", 0))
        found.listen()
        yield found


@pytest.fixture
def poll() -> Iterator[select.epoll]:
    with select.epoll() as found:
        yield found


@pytest.fixture
def door(listener: Listener, poll: select.epoll) -> Door:
    found = Door(poll, most_proving=2, proving_s=5.0)
    found.open(listener)
    return found


def is_told(poll: select.epoll, door: Door) -> bool:
    return [fd for fd, _ in poll.poll(0)] == [door.fileno()]


def test_who_comes_has_to_prove_itself(door: Door, listener: Listener, poll: select.epoll) -> None:
    assert door.accept(0.0) is None and not door.rests
    assert door.next_s() is None
    with socket.create_connection(listener.getsockname()):
        assert is_told(poll, door)
        inside = door.accept(1.0)
        assert inside is not None
        with inside:
            assert not is_told(poll, door)
            assert door.next_s() == 6.0
            assert door.tend(5.9) == []
            assert door.tend(6.0) == [inside.fileno()]
            assert door.dismiss(inside.fileno())
            assert not door.dismiss(inside.fileno())
            assert door.tend(6.0) == []


def test_the_oldest_of_too_many_have_to_go(door: Door) -> None:
    door.proving = {7: 1.0, 5: 2.0, 9: 3.0, 4: 3.5}
    assert door.tend(4.0) == [7, 5]
    door.dismiss(7)
    door.dismiss(5)
    assert door.tend(4.0) == []
    assert door.next_s() == 8.0


def test_a_door_rests_where_nobody_can_be_let_in(
    door: Door, listener: Listener, poll: select.epoll
) -> None:
    with socket.create_connection(listener.getsockname()):
        listener.is_full = True
        assert door.accept(1.0) is None
        assert door.rests and not is_told(poll, door)
        assert door.next_s() == 1.0 + REST_S
        door.tend(1.0 + REST_S / 2)
        assert door.rests and not is_told(poll, door)
        door.tend(1.0 + REST_S)
        assert not door.rests and is_told(poll, door)
        # Somebody has gone: it need not wait for the end of its rest.
        assert door.accept(3.0) is None and door.rests
        listener.is_full = False
        door.listen()
        door.listen()
        assert is_told(poll, door)
        inside = door.accept(3.0)
        assert inside is not None
        inside.close()


def test_a_door_that_is_not_open_closes(poll: select.epoll, listener: Listener) -> None:
    door = Door(poll, most_proving=2, proving_s=5.0)
    assert door.fileno() == -1
    assert not door.close()
    door.open(listener)
    assert door.close()


def test_a_server_without_descriptors_lets_in_again(start: Start, client: BlockClient) -> None:
    # Nothing but the door wakes it up.
    server = start(tick_s=3600.0)
    client.ping(server.address)
    pid = server.process.pid
    soft, hard = resource.prlimit(pid, resource.RLIMIT_NOFILE)
    resource.prlimit(pid, resource.RLIMIT_NOFILE, (3, hard))
    stranger = connect(server.address)
    # What the server heard before the first is done before the second.
    client.ping(server.address)
    client.ping(server.address)
    client.close()
    resource.prlimit(pid, resource.RLIMIT_NOFILE, (soft, hard))
    stranger.settimeout(PATIENCE_S)
    assert len(exactly(stranger, NONCE_BYTES)) == NONCE_BYTES
    stranger.close()


def test_a_file_that_can_not_be_removed_does_not_end_a_server(
    start: Start, client: BlockClient, folders: Folders, segment: str
) -> None:
    server = start()
    barred, other = segment, segment + "1"
    os.mkdir(folders.path(barred, "memory"))
    with open(folders.path(other, "memory"), "xb"):
        pass
    server.forget([barred, other])
    client.ping(server.address)
    client.ping(server.address)
    assert not os.path.exists(folders.path(other, "memory"))
    os.rmdir(folders.path(barred, "memory"))
