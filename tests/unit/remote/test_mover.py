"""A mover in this process: whole segments arrive whole, or nothing of them does."""

import os
import resource
import socket
import sys
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from random import Random
from typing import get_args

import pytest
from certificates import has_openssl
from orderbench import OrderBench
from peers import PATIENCE_S, exactly, until_closed

from pyrite.blocks.segments import Folders
from pyrite.ids import Medium
from pyrite.remote import client as client_module
from pyrite.remote import mover as module
from pyrite.remote.client import BlockClient
from pyrite.remote.errors import Address, PeerLost
from pyrite.remote.handshake import ANSWER_BYTES, counter_proof, fresh_nonce
from pyrite.remote.link import PeerLink
from pyrite.remote.mover import MoveOrder, Mover, filled_bytes
from pyrite.remote.process import ServerProcess
from pyrite.remote.protocol import REQUEST, unpack_request
from pyrite.remote.tls import Gate

Start = Callable[..., ServerProcess]

needs_openssl = pytest.mark.skipif(
    not has_openssl(), reason="the command openssl, which makes certificates, is not here"
)


class Bench(OrderBench):
    """A mover with folders of its own."""

    def __init__(self, root: Path, secret: bytes | None) -> None:
        super().__init__(Mover, root, secret)

    def fill(self, segment: str, size: int, filled: int | None = None) -> bytes:
        data = os.urandom(size if filled is None else filled)
        path = Path(self.folders.path(segment, "memory"))
        path.write_bytes(data)
        os.truncate(path, size)
        return data + bytes(size - len(data))

    def move(
        self,
        segment: str,
        target: str,
        address: Address | None = None,
        medium: Medium = "memory",
    ) -> str | None:
        return self.carry_out(MoveOrder(7, segment, target, medium, address))

    def on_disk(self) -> list[str]:
        return sorted(os.listdir(self.folders.disk))


@pytest.fixture
def bench(tmp_path: Path, secret: bytes) -> Iterator[Bench]:
    made = Bench(tmp_path, secret)
    yield made
    made.orders.close()


@pytest.mark.parametrize("medium", ["memory", "disk"])
def test_to_another_node(
    bench: Bench, server: ServerProcess, folders: Folders, segment: str, medium: Medium
) -> None:
    data = bench.fill("e0-1", 5 << 20)
    assert bench.move("e0-1", segment, server.address, medium) is None
    path = Path(folders.memory if medium == "memory" else folders.disk, segment)
    assert path.read_bytes() == data
    assert path.stat().st_mode & 0o777 == 0o600
    assert Path(bench.folders.path("e0-1", "memory")).read_bytes() == data


def test_to_the_own_disk(tmp_path: Path) -> None:
    alone = Bench(tmp_path, secret=None)
    data = alone.fill("e0-1", 9 << 20)
    assert alone.move("e0-1", "moved-1", medium="disk") is None
    path = tmp_path / "disk" / "moved-1"
    assert path.read_bytes() == data
    assert path.stat().st_mode & 0o777 == 0o600
    alone.orders.close()


def test_segments_of_any_size_arrive_as_they_were(
    bench: Bench, server: ServerProcess, folders: Folders, segment: str
) -> None:
    random = Random(11)
    sizes = [0, 1, 4095, 4096, 4097]
    sizes += [random.randrange(1 << random.randrange(24)) for _ in range(25)]
    for number, size in enumerate(sizes):
        source = f"e0-{number}"
        data = bench.fill(source, size, random.choice([size, random.randrange(size + 1)]))
        target, medium = f"{segment}{number}", random.choice(get_args(Medium))
        address, where = random.choice([(None, bench.folders), (server.address, folders)])
        assert bench.move(source, target, address, medium) is None
        assert Path(where.path(target, medium)).read_bytes() == data


@pytest.mark.parametrize("is_own", [True, False])
def test_the_part_that_was_never_written_stays_a_hole(
    bench: Bench, server: ServerProcess, folders: Folders, segment: str, is_own: bool
) -> None:
    data = bench.fill("e0-1", 16 << 20, filled=10_000)
    assert bench.move("e0-1", segment, None if is_own else server.address) is None
    path = Path((bench.folders if is_own else folders).path(segment, "memory"))
    assert path.read_bytes() == data
    assert path.stat().st_blocks * 512 < 1 << 20


def test_the_end_of_what_was_written(tmp_path: Path) -> None:
    with open(tmp_path / "file", "w+b") as file:
        assert filled_bytes(file.fileno(), 0) == 0
        file.truncate(1 << 20)
        assert filled_bytes(file.fileno(), 1 << 20) == 0
        os.pwrite(file.fileno(), b"x", 300_000)
        assert 300_000 < filled_bytes(file.fileno(), 1 << 20) < 1 << 20
        os.pwrite(file.fileno(), b"x", (1 << 20) - 1)
        assert filled_bytes(file.fileno(), 1 << 20) == 1 << 20


def test_what_is_gone_is_said_and_the_next_goes(
    bench: Bench, server: ServerProcess, folders: Folders, segment: str
) -> None:
    data = bench.fill("e0-1", 1000)
    for address in None, server.address:
        assert bench.move("e0-2", segment, address) == "segment e0-2 is gone"
    os.mkfifo(bench.folders.path("e0-3", "memory"))
    assert bench.move("e0-3", segment) == "e0-3 is no segment"
    os.symlink("e0-1", bench.folders.path("e0-4", "memory"))
    reason = "segment e0-4 can't be opened: Too many levels of symbolic links"
    assert bench.move("e0-4", segment) == reason
    assert not os.path.exists(bench.folders.path(segment, "memory"))
    assert bench.move("e0-1", segment, server.address) is None
    assert Path(folders.path(segment, "memory")).read_bytes() == data


def test_a_target_that_exists_stays_as_it_is(
    bench: Bench, server: ServerProcess, folders: Folders, segment: str
) -> None:
    bench.fill("e0-1", 1000)
    for address, where in (None, bench.folders), (server.address, folders):
        Path(where.path(segment, "memory")).write_bytes(b"other")
        assert "made by somebody else" in (bench.move("e0-1", segment, address) or "")
        assert Path(where.path(segment, "memory")).read_bytes() == b"other"


def test_a_move_may_be_repeated_whose_reply_was_lost(
    bench: Bench, server: ServerProcess, folders: Folders, segment: str
) -> None:
    data = bench.fill("e0-1", 1 << 20, filled=300_000)
    for _ in range(2):
        assert bench.move("e0-1", segment, server.address) is None
        assert Path(folders.path(segment, "memory")).read_bytes() == data


def test_a_pool_that_is_too_small(
    bench: Bench, start: Start, folders: Folders, segment: str
) -> None:
    server = start(segment_bytes=1 << 20)
    data = bench.fill("e0-1", 3 << 20)
    assert "too large" in (bench.move("e0-1", segment, server.address) or "")
    assert not os.path.exists(folders.path(segment, "memory"))
    assert bench.move("e0-1", segment, server.address, "disk") is None
    assert Path(folders.path(segment, "disk")).read_bytes() == data


@pytest.mark.skipif(sys.platform != "linux", reason="prlimit is Linux's")
@pytest.mark.parametrize("medium", ["memory", "disk"])
def test_a_node_that_has_no_room(
    bench: Bench, start: Start, folders: Folders, segment: str, medium: Medium
) -> None:
    server = start()
    resource.prlimit(server.process.pid, resource.RLIMIT_FSIZE, (1 << 20, 1 << 20))
    bench.fill("e0-1", 3 << 20)
    assert "did not take it" in (bench.move("e0-1", segment, server.address, medium) or "")
    assert not os.path.exists(folders.path(segment, medium))
    data = bench.fill("e0-2", 1 << 20)
    assert bench.move("e0-2", segment, server.address, medium) is None
    assert Path(folders.path(segment, medium)).read_bytes() == data


def test_an_own_disk_that_is_full(bench: Bench) -> None:
    bench.fill("e0-1", 6 << 20)
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (5 << 20, before[1]))
    try:
        reason = bench.move("e0-1", "moved-1", medium="disk")
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
    assert reason == f"{bench.folders.disk} did not take it: File too large"
    assert bench.on_disk() == []


def test_other_nodes_want_a_secret(tmp_path: Path, server: ServerProcess) -> None:
    alone = Bench(tmp_path, secret=None)
    alone.fill("e0-1", 10)
    assert "no secret" in (alone.move("e0-1", "moved-1", server.address) or "")
    assert alone.move("e0-1", "moved-1", medium="disk") is None
    alone.orders.close()


def test_a_name_that_is_none(bench: Bench, server: ServerProcess) -> None:
    bench.fill("e0-1", 10)
    assert "is no name" in (bench.move("e0-1", "../x-1", server.address) or "")
    assert bench.move("e0-1", "moved-1", medium="disk") is None


def test_who_waits_for_a_lost_node_is_told_at_once(
    bench: Bench, monkeypatch: pytest.MonkeyPatch, server: ServerProcess, segment: str
) -> None:
    """A dead node costs its timeout once, not for each of its orders."""
    bench.fill("e0-1", 10)
    all_waiting, results = threading.Event(), {}

    def done(id: int, reason: str | None) -> None:
        all_waiting.wait(PATIENCE_S)
        results[id] = reason
        bench.said.put((id, reason))

    bench.orders.done = done
    with socket.create_server(("127.0.0.1", 0)) as listener:
        silent: Address = listener.getsockname()

        def link(address: Address, timeout_s: float, gate: Gate | None) -> PeerLink:
            return PeerLink(address, 0.05 if address == silent else timeout_s, gate)

        monkeypatch.setattr(client_module, "PeerLink", link)
        bench.orders.take(MoveOrder(0, "e0-1", "moved-1", "disk", None))
        for id in range(1, 9):
            address = server.address if id == 5 else silent
            bench.orders.take(MoveOrder(id, "e0-1", f"{segment}{id}", "memory", address))
        all_waiting.set()
        for _ in range(9):
            bench.said.get(timeout=PATIENCE_S)
        listener.accept()[0].close()
        listener.setblocking(False)
        with pytest.raises(BlockingIOError):
            listener.accept()
    assert [id for id in range(9) if results[id] is None] == [0, 5]
    assert {reason for reason in results.values() if reason is not None} == {
        f"the block server at 127.0.0.1:{silent[1]} is lost: it did not answer within 0.05 s"
    }


def test_many_in_a_row(bench: Bench, server: ServerProcess, folders: Folders, segment: str) -> None:
    data = [bench.fill(f"e0-{number}", 5000) for number in range(10)]
    for id in range(300):
        address = server.address if id % 3 else None
        bench.orders.take(MoveOrder(id, f"e0-{id % 11}", f"{segment}{id}", "memory", address))
    said = [bench.said.get(timeout=PATIENCE_S) for _ in range(300)]
    for is_own in True, False:
        ids = [id for id, _ in said if (id % 3 == 0) is is_own]
        assert ids == sorted(ids)
    for id, reason in said:
        path = Path((folders if id % 3 else bench.folders).path(f"{segment}{id}", "memory"))
        if id % 11 == 10:
            assert reason == "segment e0-10 is gone" and not path.exists()
        else:
            assert reason is None and path.read_bytes() == data[id % 11]


def test_what_was_dropped_is_not_made(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    bench.fill("e0-1", 9 << 20)
    bench.forgotten.add("moved-1")
    assert (
        bench.move("e0-1", "moved-1", medium="disk")
        == "segment moved-1 was dropped before it was made"
    )
    whole = os.sendfile

    def drop_meanwhile(*arguments: int) -> int:
        bench.forgotten.add("moved-2")
        Path(bench.folders.path("moved-3", "disk")).unlink(missing_ok=True)
        return whole(*arguments)

    monkeypatch.setattr(module.os, "sendfile", drop_meanwhile)
    for target in "moved-2", "moved-3":
        reason = bench.move("e0-1", target, medium="disk")
        assert reason == f"segment {target} was dropped while it was made"
        bench.forgotten.clear()
    assert bench.on_disk() == []


def test_a_source_that_is_cut_while_it_is_copied(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    bench.fill("e0-1", 9 << 20)
    whole = os.sendfile

    def cut(*arguments: int) -> int:
        os.truncate(bench.folders.path("e0-1", "memory"), 1 << 20)
        return whole(*arguments)

    monkeypatch.setattr(module.os, "sendfile", cut)
    assert "became shorter" in (bench.move("e0-1", "moved-1", medium="disk") or "")
    assert bench.on_disk() == []


@needs_openssl
@pytest.mark.parametrize("size", [0, 1, 5 << 20])
def test_to_another_node_through_tls(
    bench: Bench,
    start: Start,
    folders: Folders,
    segment: str,
    tls: dict[str, str],
    monkeypatch: pytest.MonkeyPatch,
    size: int,
) -> None:
    for name, value in tls.items():
        monkeypatch.setenv(name, value)
    data = bench.fill("e0-1", 6 << 20, filled=size)
    assert bench.move("e0-1", segment, start().address) is None
    assert Path(folders.path(segment, "memory")).read_bytes() == data


@needs_openssl
def test_a_source_that_is_cut_while_tls_sends_it(
    bench: Bench,
    start: Start,
    folders: Folders,
    segment: str,
    tls: dict[str, str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Read from a map it would end this process."""
    for name, value in tls.items():
        monkeypatch.setenv(name, value)
    server = start()
    bench.fill("e0-1", 9 << 20)
    whole = PeerLink.send

    def cut(link: PeerLink, buffers: list[bytes]) -> None:
        os.truncate(bench.folders.path("e0-1", "memory"), 1 << 20)
        whole(link, buffers)

    monkeypatch.setattr(PeerLink, "send", cut)
    assert "became shorter" in (bench.move("e0-1", segment, server.address) or "")
    # The next one goes.
    data = bench.fill("e0-1", 1 << 20)
    assert bench.move("e0-1", f"{segment}1", server.address) is None
    assert Path(folders.path(f"{segment}1", "memory")).read_bytes() == data


def test_closed_while_it_copies(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    bench.fill("e0-1", 9 << 20)
    whole, copies, goes_on = os.sendfile, threading.Event(), threading.Event()

    def pause(*arguments: int) -> int:
        copies.set()
        goes_on.wait(PATIENCE_S)
        return whole(*arguments)

    monkeypatch.setattr(module.os, "sendfile", pause)
    for id in range(3):
        bench.orders.take(MoveOrder(id, "e0-1", f"moved-{id}", "disk", None))
    assert copies.wait(PATIENCE_S)
    closer = threading.Thread(target=bench.orders.close)
    closer.start()
    while not bench.orders.closed:
        pass
    goes_on.set()
    closer.join()
    assert bench.on_disk() == []
    assert bench.said.empty()


def test_closed_while_a_node_does_not_take_it(bench: Bench, secret: bytes) -> None:
    size = 64 << 20
    bench.fill("e0-1", size)
    asked, received = threading.Event(), []
    with socket.create_server(("127.0.0.1", 0)) as listener:

        def stall() -> None:
            sock, _ = listener.accept()
            nonce = fresh_nonce()
            sock.sendall(nonce)
            sock.sendall(counter_proof(secret, nonce, exactly(sock, ANSWER_BYTES)) or b"")
            received.append(unpack_request(exactly(sock, REQUEST.size)).length)
            asked.set()
            closed.wait(PATIENCE_S)
            received.append(len(until_closed(sock)))

        closed = threading.Event()
        peer = threading.Thread(target=stall)
        peer.start()
        bench.orders.take(MoveOrder(1, "e0-1", "moved-1", "memory", listener.getsockname()))
        assert asked.wait(PATIENCE_S)
        bench.orders.close()
        assert not any(thread.is_alive() for thread in bench.orders.threads)
        closed.set()
        peer.join()
    assert received[0] == size and received[1] < size
    assert bench.said.empty()


def test_who_has_hung_up_says_nothing_more(
    client: BlockClient, server: ServerProcess, folders: Folders, segment: str
) -> None:
    client.ping(server.address)
    client.hang_up()
    with pytest.raises(PeerLost, match="has hung up"):
        client.write(server.address, segment, 0, [b"data"], 4)
    assert not os.path.exists(folders.path(segment, "memory"))


def test_descriptors_are_closed(
    bench: Bench, server: ServerProcess, folders: Folders, segment: str
) -> None:
    bench.fill("e0-1", 1000)
    assert bench.move("e0-1", segment, server.address) is None
    before = len(os.listdir("/proc/self/fd"))
    for number in range(20):
        for source in "e0-1", "e0-2":
            bench.move(source, f"{segment}{number}")
            bench.move(source, f"{segment}{number}", server.address)
    assert len(os.listdir("/proc/self/fd")) == before


def test_a_mover_that_never_moved_has_no_thread(bench: Bench) -> None:
    assert bench.orders.threads == []
    bench.orders.close()
