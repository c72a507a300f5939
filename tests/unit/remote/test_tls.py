"""TLS between nodes: nobody reads along, and nobody without a certificate is heard."""

from __future__ import annotations

import contextlib
import os
import select
import socket
import threading
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from certificates import has_openssl, made_certificates
from peers import PATIENCE_S, connect, prove, until_closed

from pyrite.cluster.node.meeting import meet_driver
from pyrite.cluster.real.reception import Arrival, Reception
from pyrite.errors import UserError
from pyrite.remote.client import BlockClient
from pyrite.remote.errors import Address, PeerLost
from pyrite.remote.gate import FILES, own_gate
from pyrite.remote.process import ServerProcess
from pyrite.remote.protocol import Kind, pack_request

pytestmark = pytest.mark.skipif(
    not has_openssl(), reason="the command openssl, which makes certificates, is not here"
)
TICKET = "0123456789abcdef0123456789abcdef"
SECRET_ROWS = b"what nobody should read"
Fill = Callable[..., bytes]


@pytest.fixture
def encrypted(tls: dict[str, str], monkeypatch: pytest.MonkeyPatch) -> None:
    """This process, and those that it starts, use TLS."""
    for name, value in tls.items():
        monkeypatch.setenv(name, value)


@pytest.fixture
def plain(monkeypatch: pytest.MonkeyPatch) -> Callable[[], None]:
    return lambda: monkeypatch.delenv("RAY_USE_TLS")


class Wire:
    """Passes on to a server what a client sends, and back, and keeps all of it."""

    def __init__(self, target: Address) -> None:
        self.target = target
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.address: Address = self.listener.getsockname()
        self.seen = bytearray()
        self.threads = [threading.Thread(target=self._accept)]
        self.threads[0].start()

    def _accept(self) -> None:
        client, _ = self.listener.accept()
        server = socket.socket()
        server.connect(self.target)
        back = threading.Thread(target=self._carry, args=(server, client))
        back.start()
        self._carry(client, server)
        back.join()
        client.close()
        server.close()

    def _carry(self, source: socket.socket, target: socket.socket) -> None:
        with contextlib.suppress(OSError):
            while data := source.recv(1 << 16):
                self.seen += data
                target.sendall(data)
            target.shutdown(socket.SHUT_WR)

    def end(self) -> None:
        for each in self.threads:
            each.join()
        self.listener.close()


def seen_of(server: ServerProcess, secret: bytes, segment: str) -> bytes:
    """What passes between a client and a server."""
    wire = Wire(server.address)
    client = BlockClient(secret, PATIENCE_S)
    found = client.read(wire.address, segment, 0, len(SECRET_ROWS))
    assert bytes(found) == SECRET_ROWS
    client.close()
    wire.end()
    return bytes(wire.seen)


@pytest.mark.parametrize("with_tls", [False, True])
def test_what_is_sent_can_not_be_read_on_the_way(
    start: Callable[..., ServerProcess],
    folders: object,
    secret: bytes,
    segment: str,
    tls: dict[str, str],
    monkeypatch: pytest.MonkeyPatch,
    with_tls: bool,
) -> None:
    for name, value in tls.items() if with_tls else ():
        monkeypatch.setenv(name, value)
    Path(folders.path(segment, "memory")).write_bytes(SECRET_ROWS)  # type: ignore[attr-defined]
    seen = seen_of(start(), secret, segment)
    assert (SECRET_ROWS in seen) is not with_tls
    assert (segment.encode() in seen) is not with_tls


def test_a_plain_client_is_refused(
    encrypted: None, plain: Callable[[], None], start: Callable[..., ServerProcess], secret: bytes
) -> None:
    server = start(handshake_s=0.2, tick_s=0.05)
    plain()
    # It knows the secret, and hears nothing.
    assert until_closed(connect(server.address)) == b""
    with pytest.raises(PeerLost):
        BlockClient(secret, PATIENCE_S).ping(server.address)


def test_a_plain_server_is_refused(
    start: Callable[..., ServerProcess],
    secret: bytes,
    tls: dict[str, str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    server = start()
    for name, value in tls.items():
        monkeypatch.setenv(name, value)
    with pytest.raises(PeerLost):
        BlockClient(secret, PATIENCE_S).ping(server.address)


def test_a_certificate_of_another_authority_is_refused(
    encrypted: None,
    start: Callable[..., ServerProcess],
    secret: bytes,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    server = start()
    own = BlockClient(secret, PATIENCE_S)
    own.ping(server.address)
    own.close()
    for name, value in made_certificates(tmp_path / "others").items():
        monkeypatch.setenv(name, value)
    with pytest.raises(PeerLost, match=r"(?i)certificate"):
        BlockClient(secret, PATIENCE_S).ping(server.address)


def test_requests_that_come_in_one_record_are_all_answered(
    encrypted: None,
    start: Callable[..., ServerProcess],
    fill: Fill,
    secret: bytes,
    segment: str,
) -> None:
    # More of them than the server reads at once: the rest is decrypted, and epoll tells of nothing.
    data, server, times = fill(segment, 8), start(), 150
    sock = prove(server.address, secret)
    sock.sendall(pack_request(Kind.READ, segment, 0, 8, "memory") * times)
    said = b""
    while said.count(data) < times:
        more = sock.recv(1 << 16)
        assert more
        said += more
    sock.close()


class Driver:
    """A driver's reception, served by this thread."""

    def __init__(self, secret: bytes) -> None:
        self.poll = select.epoll()
        self.reception = Reception(secret, ("127.0.0.1", 0), self.poll)

    def serve(self, thread: threading.Thread) -> list[Arrival]:
        """Those who were let in while the thread ran."""
        arrived: list[Arrival] = []
        thread.start()
        while thread.is_alive():
            for fd, _ in self.poll.poll(0.05):
                arrival = self.reception.receive(fd, 0.0)
                if arrival is not None:
                    arrived.append(arrival)
        return arrived


@pytest.fixture
def driver(secret: bytes, encrypted: None) -> Iterator[Driver]:
    made = Driver(secret)
    yield made
    made.reception.close()
    made.poll.close()


def test_an_agent_meets_its_driver(driver: Driver, secret: bytes) -> None:
    def join() -> None:
        sock = connect(driver.reception.address)
        meet_driver(sock, secret, TICKET)
        sock.close()

    [arrival] = driver.serve(threading.Thread(target=join))
    assert arrival.ticket == TICKET
    arrival.sock.close()


def test_a_plain_agent_is_refused(driver: Driver, plain: Callable[[], None], secret: bytes) -> None:
    plain()

    def join() -> None:
        sock = connect(driver.reception.address)
        sock.sendall(b"no TLS" * 100)
        assert until_closed(sock).count(b"Python") == 0

    assert driver.serve(threading.Thread(target=join)) == []
    assert not driver.reception.guests


@pytest.mark.parametrize("name", FILES)
def test_a_missing_certificate_is_named_with_its_cure(tls: dict[str, str], name: str) -> None:
    for value, told in (("", "is not"), ("/nowhere/file.pem", "can't be read")):
        with pytest.raises(UserError, match=rf"{name}.*{told}.*RAY_USE_TLS") as raised:
            own_gate({**tls, name: value})
        assert "\n" not in str(raised.value)


def test_a_file_that_is_no_certificate(tls: dict[str, str], tmp_path: Path) -> None:
    path = tmp_path / "cert.pem"
    path.write_text("nothing")
    with pytest.raises(UserError, match=f"{path}.*unset RAY_USE_TLS") as raised:
        own_gate({**tls, FILES[0]: str(path)})
    assert "\n" not in str(raised.value)
    assert own_gate({**tls, "RAY_USE_TLS": "0"}) is None
    assert os.path.exists(tls[FILES[0]]) and own_gate(tls) is own_gate(tls)
