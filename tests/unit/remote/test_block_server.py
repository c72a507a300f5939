"""A block server among strangers, liars and sleepers: it does them no favour, and serves others."""

import os
import select
import signal
import socket
import struct
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from peers import PATIENCE_S, connect, exactly, fds_of, prove, until_closed

from pyrite.blocks.segments import Folders
from pyrite.ids import NodeId
from pyrite.remote.client import BlockClient
from pyrite.remote.errors import BlockRefused, PeerLost
from pyrite.remote.handshake import (
    ANSWER_BYTES,
    NONCE_BYTES,
    PROOF_BYTES,
    answer,
    counter_proof,
    fresh_nonce,
)
from pyrite.remote.process import LOOPBACK, ServerNotStarted, ServerProcess
from pyrite.remote.protocol import (
    MAGIC,
    REPLY,
    REQUEST,
    Kind,
    Reason,
    Reply,
    Status,
    pack_request,
    unpack_reply,
)

Fill = Callable[[str, int], bytes]
Start = Callable[..., ServerProcess]


def test_a_client_with_another_secret(server: ServerProcess, client: BlockClient) -> None:
    stranger = BlockClient(os.urandom(32), timeout_s=PATIENCE_S)
    for act in (
        lambda: stranger.ping(server.address),
        lambda: stranger.read(server.address, "e0-1", 0, 1),
        lambda: stranger.write(server.address, "e0-1", 0, [b"x"], 1),
    ):
        with pytest.raises(PeerLost, match="secret"):
            act()
    client.ping(server.address)


def test_a_stranger_hears_a_nonce_and_nothing_else(server: ServerProcess, fill: Fill) -> None:
    fill("e0-1", 100)
    for said in (
        bytes(ANSWER_BYTES) + pack_request(Kind.READ, "e0-1", 0, 100),
        bytes(ANSWER_BYTES) + pack_request(Kind.READ, "e0-2", 0, 100),
    ):
        sock = connect(server.address)
        sock.sendall(said)
        assert len(until_closed(sock)) == NONCE_BYTES


def test_a_replayed_handshake_is_no_proof(server: ServerProcess, secret: bytes) -> None:
    first = connect(server.address)
    said = answer(secret, exactly(first, NONCE_BYTES), fresh_nonce())
    first.sendall(said)
    assert len(exactly(first, PROOF_BYTES)) == PROOF_BYTES
    first.close()
    second = connect(server.address)
    exactly(second, NONCE_BYTES)
    second.sendall(said)
    assert until_closed(second) == b""


def test_a_server_without_the_secret_is_not_believed(client: BlockClient) -> None:
    with socket.create_server(("127.0.0.1", 0)) as listener:

        def pretend() -> None:
            sock, _ = listener.accept()
            sock.sendall(fresh_nonce())
            exactly(sock, ANSWER_BYTES)
            sock.sendall(bytes(PROOF_BYTES))
            assert until_closed(sock) == b""

        thread = threading.Thread(target=pretend)
        thread.start()
        with pytest.raises(PeerLost, match="does not know"):
            client.read(listener.getsockname(), "e0-1", 0, 1)
        thread.join()


def test_a_server_that_says_nothing_is_lost(secret: bytes) -> None:
    hasty = BlockClient(secret, timeout_s=0.05)
    with (
        socket.create_server(("127.0.0.1", 0)) as listener,
        pytest.raises(PeerLost, match="did not answer within"),
    ):
        hasty.ping(listener.getsockname())


def test_nobody_listens(client: BlockClient, tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        address = listener.getsockname()
    for nowhere in address, str(tmp_path / "nothing"):
        with pytest.raises(PeerLost):
            client.ping(nowhere)


@pytest.fixture(scope="module")
def attacked(tmp_path_factory: pytest.TempPathFactory, secret: bytes) -> Iterator[ServerProcess]:
    """A server for all examples, which must not end it."""
    folder = str(tmp_path_factory.mktemp("segments"))
    Path(folder, "e0-1").write_bytes(b"honest")
    server = ServerProcess.start(Folders(folder, folder, NodeId("node-0")), secret)
    yield server
    server.stop()


HEADERS = st.builds(
    REQUEST.pack,
    st.sampled_from([MAGIC, b"\0\0\0\0"]),
    st.integers(0, 5),
    st.integers(0, 3),
    st.integers(0, 2**64 - 1) | st.integers(0, 10),
    st.integers(0, 2**64 - 1) | st.integers(0, 10),
    st.integers(0, 2**64 - 1) | st.integers(0, 10),
    st.sampled_from([b"e0-1", b"e0-2", b"../x", b"x\0-1", b""]) | st.binary(max_size=64),
)


@settings(max_examples=150)
@given(st.lists(HEADERS | st.binary(max_size=300), max_size=5), st.booleans())
def test_whatever_is_said_an_honest_client_is_served(
    attacked: ServerProcess, secret: bytes, said: list[bytes], proved: bool
) -> None:
    sock = (prove if proved else lambda address, _: connect(address))(attacked.address, secret)
    try:
        for each in said:
            sock.sendall(each)
    except ConnectionError:
        pass
    honest = BlockClient(secret, timeout_s=PATIENCE_S)
    assert honest.read(attacked.address, "e0-1", 0, 6) == b"honest"
    honest.close()
    sock.close()
    assert attacked.process.poll() is None


@pytest.mark.parametrize(
    "header",
    [
        b"\xff" * REQUEST.size,
        REQUEST.pack(MAGIC, 9, 1, 0, 1, 0, b"e0-1"),
        REQUEST.pack(MAGIC, Kind.READ, 1, 0, 1, 0, b"../../etc/passwd"),
        REQUEST.pack(MAGIC, Kind.WRITE, 1, 0, 1, 1, b"../../x-1"),
        REQUEST.pack(MAGIC, Kind.READ, 1, 0, 2**64 - 1, 0, b"e0-1"),
        REQUEST.pack(MAGIC, Kind.READ, 0, 0, 1, 0, b"e0-1"),
        REQUEST.pack(MAGIC, Kind.WRITE, 3, 0, 1, 1, b"e0-1"),
    ],
)
def test_malformed_requests_are_refused(
    server: ServerProcess, client: BlockClient, secret: bytes, header: bytes
) -> None:
    sock = prove(server.address, secret)
    sock.sendall(header)
    assert unpack_reply(until_closed(sock)) == Reply(Status.REFUSED, Reason.MALFORMED, 0)
    client.ping(server.address)


def test_a_reader_that_does_not_read_holds_nobody_up(
    server: ServerProcess, client: BlockClient, secret: bytes, fill: Fill
) -> None:
    data = fill("e0-1", 16 << 20)
    request = pack_request(Kind.READ, "e0-1", 0, 16 << 20)
    slow = [prove(server.address, secret) for _ in range(5)]
    for sock in slow:
        sock.sendall(request * 3)
    for offset in range(20):
        assert (
            client.read(server.address, "e0-1", offset, 1 << 20)
            == data[offset : offset + (1 << 20)]
        )
    for sock in slow:
        for _ in range(3):
            assert unpack_reply(exactly(sock, REPLY.size)).length == 16 << 20
            assert exactly(sock, 16 << 20) == data
        sock.close()


def test_a_reader_that_reads_by_drops_gets_it_all(
    server: ServerProcess, secret: bytes, fill: Fill
) -> None:
    data = fill("e0-1", 4 << 20)
    sock = prove(server.address, secret)
    sock.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 1 << 16)
    sock.sendall(b"".join(pack_request(Kind.READ, "e0-1", n, n * 50_000) for n in range(20)))
    said = bytearray()
    while len(said) < sum(REPLY.size + n * 50_000 for n in range(20)):
        said += sock.recv(4000)
    for n in range(20):
        assert unpack_reply(said[: REPLY.size]).length == n * 50_000
        said = said[REPLY.size :]
        assert said[: n * 50_000] == data[n : n + n * 50_000]
        said = said[n * 50_000 :]
    sock.close()


def test_a_request_in_drops(server: ServerProcess, secret: bytes, fill: Fill) -> None:
    data = fill("e0-1", 100)
    sock = prove(server.address, secret)
    for byte in pack_request(Kind.READ, "e0-1", 10, 20):
        sock.sendall(bytes([byte]))
    assert exactly(sock, REPLY.size + 20)[REPLY.size :] == data[10:30]
    sock.close()


def sockets_of(server: ServerProcess) -> int:
    return sum(target.startswith("socket:") for target in fds_of(server))


def test_who_stops_in_the_middle_is_closed(
    start: Start, client: BlockClient, secret: bytes, fill: Fill
) -> None:
    fill("e0-1", 16 << 20)
    # Long enough for an honest handshake on a busy machine.
    server = start(handshake_s=1.0, stall_s=1.0, tick_s=0.01)
    silent, half = connect(server.address), prove(server.address, secret)
    half.sendall(b"half a request")
    assert len(until_closed(silent)) == NONCE_BYTES
    assert until_closed(half) == b""
    client.ping(server.address)
    before = sockets_of(server)
    unread = prove(server.address, secret)
    unread.sendall(pack_request(Kind.READ, "e0-1", 0, 16 << 20))
    exactly(unread, REPLY.size)
    while sockets_of(server) > before:
        client.ping(server.address)
    assert len(until_closed(unread)) < 16 << 20
    client.ping(server.address)


def test_who_trickles_through_the_handshake_is_closed(start: Start) -> None:
    server = start(handshake_s=0.05, tick_s=0.01)
    sock = connect(server.address)
    exactly(sock, NONCE_BYTES)
    sock.setblocking(False)
    sent = 0
    with pytest.raises(ConnectionError):
        while True:
            try:
                closed = not sock.recv(1)
            except BlockingIOError:
                closed = False
            if closed:
                raise ConnectionResetError
            if sent < ANSWER_BYTES - 1:
                sent += sock.send(b"x")
    sock.close()


def test_idle_connections_are_closed_and_opened_again(
    start: Start, client: BlockClient, secret: bytes
) -> None:
    server = start(idle_s=1.0, tick_s=0.01)
    client.ping(server.address)
    assert until_closed(prove(server.address, secret)) == b""
    client.ping(server.address)


def test_strangers_in_numbers_keep_nobody_out(start: Start, client: BlockClient) -> None:
    server = start(handshakes=5, handshake_s=3600.0)
    strangers = [connect(server.address) for _ in range(40)]
    client.ping(server.address)
    # All but the last few have been closed.
    for sock in strangers[:30]:
        assert len(until_closed(sock)) == NONCE_BYTES
    client.ping(server.address)
    for sock in strangers:
        sock.close()


def test_no_more_connections_than_allowed(start: Start, secret: bytes, fill: Fill) -> None:
    fill("e0-1", 16 << 20)
    server = start(connections=3)
    busy = [prove(server.address, secret) for _ in range(3)]
    for sock in busy:
        sock.sendall(pack_request(Kind.READ, "e0-1", 0, 16 << 20))
        exactly(sock, REPLY.size)
    late = BlockClient(secret, timeout_s=PATIENCE_S)
    with pytest.raises(PeerLost):
        late.ping(server.address)
    for sock in busy:
        assert len(exactly(sock, 16 << 20)) == 16 << 20
    late.ping(server.address)
    late.close()
    for sock in busy:
        sock.close()


def test_a_server_that_stops_in_the_middle_of_a_block(
    server: ServerProcess, client: BlockClient, fill: Fill
) -> None:
    fill("e0-1", 16 << 20)
    client.ping(server.address)
    # It is hasty only while the server stands still.
    (link,) = client.links.values()
    link.sock.setsockopt(socket.SOL_SOCKET, socket.SO_RCVTIMEO, struct.pack("ll", 0, 200_000))
    os.kill(server.process.pid, signal.SIGSTOP)
    try:
        with pytest.raises(PeerLost, match="did not answer"):
            client.read(server.address, "e0-1", 0, 16 << 20)
    finally:
        os.kill(server.process.pid, signal.SIGCONT)


def test_a_server_killed_in_the_middle_of_a_block(secret: bytes, client: BlockClient) -> None:
    with socket.create_server(("127.0.0.1", 0)) as listener:

        def die() -> None:
            sock, _ = listener.accept()
            nonce = fresh_nonce()
            sock.sendall(nonce)
            said = exactly(sock, ANSWER_BYTES)
            sock.sendall(counter_proof(secret, nonce, said) or b"")
            exactly(sock, REQUEST.size)
            sock.sendall(REPLY.pack(MAGIC, Status.OK, 0, 1 << 20) + b"x" * 1000)
            # As a dead process's kernel does.
            sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
            sock.close()

        thread = threading.Thread(target=die)
        thread.start()
        with pytest.raises(PeerLost):
            client.read(listener.getsockname(), "e0-1", 0, 1 << 20)
        thread.join()


def test_a_refused_client_says_so(
    server: ServerProcess, client: BlockClient, fill: Fill, segment: str
) -> None:
    fill(segment, 10)
    with pytest.raises(BlockRefused, match="made by somebody else") as refused:
        client.write(server.address, segment, 0, [b"x"], 10)
    assert refused.value.segment == segment


def test_a_server_ends_with_its_control_socket(folders: Folders, secret: bytes) -> None:
    path = os.path.join(folders.memory, ".other")
    server = ServerProcess.start(folders, secret, path)
    assert os.stat(path).st_mode & 0o777 == 0o600
    server.stop()
    assert server.process.returncode == 0
    assert not os.path.exists(path)


PARENT = """
import os, sys, time
from pyrite.blocks.segments import Folders
from pyrite.remote.process import ServerProcess
server = ServerProcess.start(Folders(sys.argv[1], sys.argv[1], "node-0"), os.urandom(32))
if sys.argv[2] == "held":
    os.set_inheritable(server.control.sock.fileno(), True)
    if os.fork() == 0:
        sys.stdin.read()
        os._exit(0)
sys.stdout.write(str(server.process.pid) + "\\n")
sys.stdout.flush()
time.sleep(3600)
"""


@pytest.mark.parametrize("how", ["alone", "held"])
def test_a_server_ends_with_its_parent(folders: Folders, how: str) -> None:
    """Even by SIGKILL, and even where another process holds a copy of the control socket."""
    command = [sys.executable, "-c", PARENT, folders.memory, how]
    parent = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    assert parent.stdin is not None and parent.stdout is not None
    server = int(parent.stdout.readline())
    watch = os.pidfd_open(server)
    parent.kill()
    parent.wait()
    assert select.select([watch], [], [], PATIENCE_S)[0] == [watch]
    os.close(watch)
    parent.stdin.close()
    parent.stdout.close()


def test_a_server_outlives_the_thread_that_started_it(
    folders: Folders, secret: bytes, client: BlockClient
) -> None:
    started: list[ServerProcess] = []
    thread = threading.Thread(
        target=lambda: started.append(ServerProcess.start(folders, secret, LOOPBACK))
    )
    thread.start()
    thread.join()
    client.ping(started[0].address)
    started[0].stop()
    assert started[0].process.returncode == 0


def test_a_server_that_can_t_listen_says_why(folders: Folders, secret: bytes) -> None:
    with pytest.raises(ServerNotStarted, match="can't be listened at"):
        ServerProcess.start(folders, secret, "/" + "x" * 200)
