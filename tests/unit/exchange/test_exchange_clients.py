"""Strangers and clients that speak nonsense, at the door of a real exchange."""

from __future__ import annotations

import os
import socket
from contextlib import ExitStack

import pytest

from pyrite.exchange import Exchange, ExchangeLost, Shuffle
from pyrite.exchange.clientconnection import LENGTH, MOST_BYTES
from pyrite.exchange.server import MOST_HANDSHAKES
from pyrite.exchange.serverconnection import ServerConnection
from pyrite.remote.handshake import ANSWER_BYTES, NONCE_BYTES


@pytest.fixture
def shuffle(lasting: dict[str, Exchange]) -> Shuffle:
    return lasting["in place"].register(maps=1, reducers=1)


def knock(shuffle: Shuffle) -> socket.socket:
    sock = socket.create_connection(shuffle.address, timeout=60)
    assert len(sock.recv(NONCE_BYTES, socket.MSG_WAITALL)) == NONCE_BYTES
    return sock


def is_closed(sock: socket.socket) -> bool:
    try:
        return sock.recv(1) == b""
    except ConnectionResetError:
        return True


@pytest.mark.parametrize("size", [ANSWER_BYTES, ANSWER_BYTES + 1, 10_000])
def test_who_does_not_know_the_secret_is_not_let_in(shuffle: Shuffle, size: int) -> None:
    with knock(shuffle) as stranger:
        stranger.sendall(os.urandom(size))
        assert is_closed(stranger)
    assert shuffle.missing() == [0]


def test_a_handle_with_another_secret_is_of_no_use(shuffle: Shuffle) -> None:
    other = Shuffle(shuffle.address, bytes(32), shuffle.id, 1, 1)
    with pytest.raises(ExchangeLost, match="did not accept this application's secret"):
        other.put(0, [b"forged"])
    assert shuffle.missing() == [0]


def test_too_many_strangers_are_sent_away_and_friends_let_in(shuffle: Shuffle) -> None:
    with ExitStack() as stack:
        strangers = [stack.enter_context(knock(shuffle)) for _ in range(MOST_HANDSHAKES + 1)]
        assert is_closed(strangers[0])
        connection = ServerConnection((shuffle.address, shuffle.secret))
        assert connection.ask("missing", shuffle.id) == ["missing", [0]]
        connection.close()


@pytest.mark.parametrize(
    "sent",
    [
        LENGTH.pack(MOST_BYTES + 1),
        LENGTH.pack(3) + b"{]}",
        LENGTH.pack(2) + b"[]",
        LENGTH.pack(2) + b"12",
        LENGTH.pack(2) + b"\xff\xff",
        LENGTH.pack(11) + b'["hello",1]',
        (LENGTH.pack(9) + b'["hello"]') * 2,
    ],
)
def test_who_speaks_nonsense_is_sent_away(shuffle: Shuffle, sent: bytes) -> None:
    connection = ServerConnection((shuffle.address, shuffle.secret))
    connection.link.sock.sendall(sent)
    connection.link.sock.settimeout(60)
    # Of two requests, the first may be answered before the second is there.
    assert is_closed(connection.link.sock)
    connection.close()
    assert shuffle.missing() == [0]


def test_requests_that_arrive_in_pieces_are_answered(shuffle: Shuffle) -> None:
    connection = ServerConnection((shuffle.address, shuffle.secret))
    sock = connection.link.sock
    body = b'["missing",%d]' % shuffle.id
    for piece in (LENGTH.pack(len(body))[:2], LENGTH.pack(len(body))[2:], body[:4], body[4:]):
        sock.sendall(piece)
    answer = b'["missing",[0]]'
    sock.settimeout(60)
    assert sock.recv(LENGTH.size + len(answer), socket.MSG_WAITALL)[LENGTH.size :] == answer
    connection.close()
