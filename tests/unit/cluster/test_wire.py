"""Messages arrive whole and in order, however the bytes are cut."""

import select
import socket

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pyrite.cluster.node.link import Link
from pyrite.cluster.node.wire import SocketChannel, Unpacker, pack

messages = st.lists(st.tuples(st.text(), st.integers(), st.binary()), max_size=8)


@given(messages=messages, cut=st.integers(1, 50))
def test_any_cut_gives_the_same_messages(messages: list[tuple[str, int, bytes]], cut: int) -> None:
    stream = b"".join(map(pack, messages))
    unpacker = Unpacker()
    found = []
    for start in range(0, len(stream), cut):
        found += unpacker.feed(stream[start : start + cut])
    assert found == messages


def test_a_link_keeps_what_the_socket_does_not_take() -> None:
    ours, theirs = socket.socketpair()
    poll = select.epoll()
    link = Link(ours, poll)
    large = b"x" * (8 << 20)
    link.outbox.add(pack(("large", large)))
    link.outbox.send(pack(("small",)))
    assert link.outbox
    unpacker = Unpacker()
    found: list[tuple[object, ...]] = []
    while len(found) < 2:
        found += unpacker.feed(theirs.recv(1 << 20))
        link.outbox.flush()
    assert found == [("large", large), ("small",)]
    assert not link.outbox
    theirs.close()
    assert link.read() == [] and link.closed
    link.close()
    poll.close()


def test_an_executor_hears_that_the_driver_has_gone() -> None:
    ours, theirs = socket.socketpair()
    channel = SocketChannel(theirs)
    ours.sendall(pack(("one",)) + pack(("two",)))
    ours.close()
    assert channel.receive() == ("one",)
    assert channel.receive() == ("two",)
    with pytest.raises(EOFError):
        channel.receive()
    theirs.close()
