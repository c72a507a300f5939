"""Driver and agent meet over a real socket: who they are is known before anything is decoded."""

from __future__ import annotations

import select
import socket
import threading
from collections.abc import Iterator
from typing import Any

import pytest

from pyrite.cluster.node import meeting
from pyrite.cluster.node.meeting import ANSWER_BYTES, Refusal, meet_driver
from pyrite.cluster.real.reception import MOST_PROVING, Arrival, Reception

SECRET, OTHER = bytes(32), bytes(range(32))
TICKET = "0123456789abcdef0123456789abcdef"


class Host:
    """A driver's reception, and the loop that serves it."""

    def __init__(self, secret: bytes = SECRET, host: str = "127.0.0.1") -> None:
        self.poll = select.epoll()
        self.reception = Reception(secret, (host, 0), self.poll)
        self.now_s = 0.0

    def serve(self, until: Any) -> list[Arrival]:
        """Serves until the condition is true; returns who was let in."""
        arrived = []
        while not until(arrived):
            for fd, _ in self.poll.poll(0.05):
                arrival = self.reception.receive(fd, self.now_s)
                if arrival is not None:
                    arrived.append(arrival)
            self.reception.tend(self.now_s)
        return arrived

    def close(self) -> None:
        self.reception.close()
        self.poll.close()


@pytest.fixture
def host() -> Iterator[Host]:
    made = Host()
    yield made
    made.close()


class Guest:
    """An agent in a thread of its own."""

    def __init__(self, host: Host, secret: bytes = SECRET) -> None:
        self.error: Exception | None = None
        self.sock = socket.create_connection(host.reception.address, 10)
        self.thread = threading.Thread(target=self._meet, args=(secret,))
        self.thread.start()

    def _meet(self, secret: bytes) -> None:
        try:
            meet_driver(self.sock, secret, TICKET)
        except Exception as error:
            self.error = error

    def done(self, _: object = None) -> bool:
        return not self.thread.is_alive()

    def close(self) -> None:
        self.thread.join()
        self.sock.close()


def test_they_meet(host: Host) -> None:
    guest = Guest(host)
    [arrival] = host.serve(lambda arrived: arrived and guest.done())
    assert (arrival.ticket, arrival.versions) == (TICKET, meeting.own_versions())
    assert guest.error is None
    guest.close()
    arrival.sock.close()


def test_over_ipv6() -> None:
    host = Host(host="::1")
    guest = Guest(host)
    [arrival] = host.serve(lambda arrived: arrived and guest.done())
    assert guest.error is None
    guest.close()
    arrival.sock.close()
    host.close()


def test_who_does_not_know_the_secret_is_not_let_in(host: Host) -> None:
    guest = Guest(host, OTHER)
    assert host.serve(guest.done) == []
    assert isinstance(guest.error, Refusal | ConnectionError)
    guest.close()
    assert not host.reception.guests


def test_an_agent_does_not_believe_a_driver_without_the_secret() -> None:
    # It echoes what it can't know: the proof is missing.
    ours, theirs = socket.socketpair()
    ours.sendall(meeting.greeting() + bytes(meeting.PROOF_BYTES))
    with pytest.raises(Refusal, match="did not prove"):
        meet_driver(theirs, SECRET, TICKET)
    ours.close()
    theirs.close()


def test_other_versions_are_named_by_both(host: Host, monkeypatch: pytest.MonkeyPatch) -> None:
    own = meeting.own_versions()
    old = b"Python 3.9, Pyrite 0.1, protocol 0".ljust(meeting.VERSIONS_BYTES)
    said = iter([old, own])
    # The driver greets first.
    monkeypatch.setattr(meeting, "own_versions", lambda: next(said, own))
    guest = Guest(host)
    [arrival] = host.serve(lambda arrived: arrived and guest.done())
    assert arrival.versions == own
    assert isinstance(guest.error, Refusal)
    assert "has Python 3." in str(guest.error) and "Pyrite 0.1" in str(guest.error)
    guest.close()
    arrival.sock.close()


def test_changed_versions_are_not_believed() -> None:
    greeting = meeting.greeting()
    answer = meeting.answer(SECRET, greeting, TICKET)
    assert meeting.check_answer(SECRET, greeting, answer) is not None
    for place in range(0, ANSWER_BYTES, 7):
        changed = bytearray(answer)
        changed[place] ^= 1
        assert meeting.check_answer(SECRET, greeting, bytes(changed)) is None


def test_silent_strangers_are_dismissed(host: Host) -> None:
    strangers = [socket.create_connection(host.reception.address, 10) for _ in range(3)]
    host.serve(lambda _: len(host.reception.guests) == 3)
    host.now_s = 100.0
    assert host.serve(lambda _: not host.reception.guests) == []
    for each in strangers:
        each.close()


def test_many_strangers_do_not_keep_an_agent_out(host: Host) -> None:
    strangers = [
        socket.create_connection(host.reception.address, 10) for _ in range(MOST_PROVING + 20)
    ]
    guest = Guest(host)
    [arrival] = host.serve(lambda arrived: arrived and guest.done())
    assert guest.error is None
    guest.close()
    arrival.sock.close()
    for each in strangers:
        each.close()
