"""A fetcher in this process: prefetched segments arrive whole, or nothing of them does."""

import os
import resource
import socket
import threading
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from pathlib import Path
from random import Random

import pytest
from orderbench import OrderBench
from outputs import lay, random_parts, room_for, segments, unpack, unpack_stretch
from peers import PATIENCE_S, exactly

from pyrite.blocks.fetched import Stretch, directory_bytes
from pyrite.blocks.segments import Folders
from pyrite.ids import Medium
from pyrite.remote import client as client_module
from pyrite.remote import fetcher as module
from pyrite.remote.asking import ByteRange
from pyrite.remote.client import BlockClient
from pyrite.remote.errors import Address
from pyrite.remote.fetcher import Fetcher, FetchOrder
from pyrite.remote.gate import own_gate
from pyrite.remote.handshake import ANSWER_BYTES, counter_proof, fresh_nonce
from pyrite.remote.process import ServerProcess

Start = Callable[..., ServerProcess]


class Bench(OrderBench):
    """A fetcher with folders of its own."""

    def __init__(self, root: Path, secret: bytes | None) -> None:
        super().__init__(Fetcher, root, secret)
        self.targets = 0

    def order(
        self,
        blocks: Sequence[ByteRange],
        parts: Sequence[int],
        size: int = 1 << 20,
        address: Address | None = None,
        id: int = 7,
    ) -> FetchOrder:
        self.targets += 1
        maps = tuple(range(10, 10 + len(blocks)))
        target = f"fetched-{self.targets}"
        return FetchOrder(id, target, "memory", size, address, tuple(parts), maps, tuple(blocks))

    def fails(self, order: FetchOrder) -> str:
        """Why it could not be; nothing is left of it."""
        before = segments(self.folders)
        reason = self.carry_out(order)
        assert reason is not None
        assert segments(self.folders) == before
        return reason


@pytest.fixture
def bench(tmp_path: Path, secret: bytes) -> Iterator[Bench]:
    made = Bench(tmp_path, secret)
    yield made
    made.orders.close()


@pytest.fixture(params=["own memory", "own disk", "other's memory", "other's disk"])
def source(
    request: pytest.FixtureRequest, bench: Bench, folders: Folders, start: Start
) -> tuple[Folders, Medium, Address | None]:
    """Where map outputs lie: whose folders, on which medium, at which address."""
    whose, medium = request.param.split()
    if whose == "own":
        return bench.folders, medium, None
    return folders, medium, start().address


Source = tuple[Folders, Medium, Address | None]


def test_parts_of_several_outputs(bench: Bench, source: Source, segment: str) -> None:
    where, medium, address = source
    random = Random(3)
    outputs = [random_parts(random, 20) for _ in range(30)]
    blocks = lay(where, segment, outputs, medium)
    for _ in range(20):
        parts = sorted(random.sample(range(20), random.randint(1, 20)))
        chosen = random.sample(range(30), random.randint(1, 30))
        size = room_for([outputs[each] for each in chosen], parts)
        order = bench.order([blocks[each] for each in chosen], parts, size, address)
        assert bench.carry_out(order) is None
        found = unpack(bench.folders, order.target, parts)
        assert list(found) == list(order.maps)
        for output, got in zip(chosen, found.values(), strict=True):
            assert got == [outputs[output][part] for part in parts]


def test_several_segments_share_a_file(bench: Bench, source: Source, segment: str) -> None:
    where, medium, address = source
    outputs = [[b"one", b"two" * 1000], [b"three", b"four"]]
    blocks = lay(where, segment, outputs, medium)
    stretch = Stretch("ahead-1", 0, 1 << 20)
    orders = []
    for block in blocks:
        orders.append(bench.order([block], [0, 1], 1 << 20, address)._replace(stretch=stretch))
        stretch = Stretch(stretch.file, stretch.behind(), 1 << 20)
    before = segments(bench.folders)
    for order in orders:
        assert bench.carry_out(order) is None
    # One that fails leaves the others, and no memory of its own.
    lost = bench.order([ByteRange("e9-9", 0, 10)], [0], 1 << 20, address)
    assert bench.carry_out(lost._replace(stretch=stretch)) is not None
    assert segments(bench.folders) == sorted([*before, "ahead-1"])
    path = Path(bench.folders.path("ahead-1", "memory"))
    assert path.stat().st_mode & 0o777 == 0o600 and path.stat().st_blocks * 512 <= 1 << 15
    for order, output in zip(orders, outputs, strict=True):
        assert unpack_stretch(bench.folders, order, [0, 1]) == {10: output}


def test_a_large_prefetched_segment(bench: Bench, source: Source, segment: str) -> None:
    where, medium, address = source
    random = Random(4)
    outputs = [[random.randbytes(6 << 20), b"", random.randbytes(100), b"x"] for _ in range(2)]
    blocks = lay(where, segment, outputs, medium)
    order = bench.order(blocks, [0, 2], 16 << 20, address)
    assert bench.carry_out(order) is None
    found = unpack(bench.folders, order.target, [0, 2])
    assert found == {10 + each: [outputs[each][0], outputs[each][2]] for each in range(2)}
    blocks_bytes = os.stat(bench.folders.path(order.target, "memory")).st_blocks * 512
    assert blocks_bytes < 13 << 20


def test_outputs_that_are_gone(bench: Bench, source: Source, segment: str) -> None:
    where, medium, address = source
    good, other = lay(where, segment, [[b"one", b"two"], [b"three"]], medium)
    for lost, said in [
        (ByteRange(f"{segment}9", 0, 100, medium), "is gone"),
        (ByteRange(segment, other.offset, other.length + 1, medium), "is shorter than its block"),
    ]:
        reason = bench.fails(bench.order([good, lost], [0], address=address))
        assert lost.segment in reason
        assert (said if address is None else "any more") in reason
    assert bench.carry_out(bench.order([good], [0], address=address)) is None


def test_an_output_that_is_spoilt(bench: Bench, source: Source, segment: str) -> None:
    where, medium, address = source
    good, bad = lay(where, segment, [[b"one", b"two"]] * 2, medium)
    with open(where.path(segment, medium), "r+b") as file:
        file.seek(bad[1] + 16)
        file.write(b"\xff")
    assert segment in bench.fails(bench.order([good, bad], [0, 1], address=address))
    order = bench.order([good], [0, 1], address=address)
    assert bench.carry_out(order) is None
    assert unpack(bench.folders, order.target, [0, 1]) == {10: [b"one", b"two"]}


def test_parts_that_there_are_not(bench: Bench, source: Source, segment: str) -> None:
    where, medium, address = source
    blocks = lay(where, segment, [[b"one", b"two"]], medium)
    assert segment in bench.fails(bench.order(blocks, [1, 2], address=address))
    assert bench.carry_out(bench.order(blocks, [0, 1], address=address)) is None


def test_a_prefetched_segment_that_is_too_small(bench: Bench, source: Source, segment: str) -> None:
    where, medium, address = source
    outputs = [[bytes(500_000), b"x"], [bytes(300_000), b"y"]]
    blocks = lay(where, segment, outputs, medium)
    for size in 1, directory_bytes(2), 70_000, 600_000, 800_100:
        reason = bench.fails(bench.order(blocks, [0], size, address))
        assert "do not fit" in reason or "there is room for" in reason
    size = room_for(outputs, [0])
    assert bench.carry_out(bench.order(blocks, [0], size, address)) is None


def test_a_target_that_exists_stays_as_it_is(bench: Bench) -> None:
    order = bench.order(lay(bench.folders, "e0-1", [[b"one"]]), [0])
    path = Path(bench.folders.path(order.target, "memory"))
    path.write_bytes(b"other")
    assert bench.fails(order) == f"a segment {order.target} was made by somebody else"
    assert path.read_bytes() == b"other"


def test_memory_that_is_full(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    blocks = lay(bench.folders, "e0-1", [[b"one"]])
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (1 << 20, before[1]))
    try:
        reason = bench.fails(bench.order(blocks, [0], 2 << 20))
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
    assert reason == f"{bench.folders.memory} did not take it: File too large"
    assert bench.carry_out(bench.order(blocks, [0], 2 << 20)) is None


def test_what_is_no_file(bench: Bench) -> None:
    os.mkfifo(bench.folders.path("e0-3", "memory"))
    assert bench.fails(bench.order([ByteRange("e0-3", 0, 100)], [0])) == "e0-3 is no segment"
    os.symlink("e0-3", bench.folders.path("e0-4", "memory"))
    reason = bench.fails(bench.order([ByteRange("e0-4", 0, 100)], [0]))
    assert reason == "segment e0-4 can't be opened: Too many levels of symbolic links"


def test_other_nodes_want_a_secret(tmp_path: Path, server: ServerProcess) -> None:
    alone = Bench(tmp_path, secret=None)
    blocks = lay(alone.folders, "e0-1", [[b"one"]], "disk")
    assert "no secret" in alone.fails(alone.order(blocks, [0], address=server.address))
    assert alone.carry_out(alone.order(blocks, [0])) is None
    alone.orders.close()


def test_what_was_dropped_is_not_made(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    blocks = lay(bench.folders, "e0-1", [[bytes(1000)], [bytes(2000)]], "disk")
    order = bench.order(blocks, [0])
    bench.forgotten.add(order.target)
    assert bench.fails(order) == f"segment {order.target} was dropped before it was made"
    whole = os.preadv
    for drop in bench.forgotten.add, lambda name: os.unlink(bench.folders.path(name, "memory")):
        order, reads = bench.order(blocks, [0]), []

        def drop_meanwhile(fd, views, offset, drop=drop, target=order.target, reads=reads):  # type: ignore[no-untyped-def]
            if not reads:
                drop(target)
            reads.append(offset)
            return whole(fd, views, offset)

        monkeypatch.setattr(module.os, "preadv", drop_meanwhile)
        assert bench.fails(order) == f"segment {order.target} was dropped while it was made"
        # Who is told in time does not read the rest.
        assert len(reads) == (1 if order.target in bench.forgotten else 2)


def test_an_own_file_that_is_cut_meanwhile(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    blocks = lay(bench.folders, "e0-1", [[bytes(6 << 20)]])
    whole = os.preadv

    def cut(fd: int, views: list[memoryview], offset: int) -> int:
        os.truncate(bench.folders.path("e0-1", "memory"), 1 << 20)
        return whole(fd, views, offset)

    monkeypatch.setattr(module.os, "preadv", cut)
    reason = bench.fails(bench.order(blocks, [0], 7 << 20))
    assert reason == "segment e0-1 is shorter than its block"


def test_orders_for_one_source_are_done_in_their_order(
    bench: Bench, server: ServerProcess, folders: Folders, segment: str
) -> None:
    random = Random(8)
    outputs = [random_parts(random, 4, 300) for _ in range(10)]
    addresses: dict[Address | None, list[ByteRange]] = {
        None: lay(bench.folders, "e0-1", outputs, "disk"),
        server.address: lay(folders, segment, outputs),
    }
    orders = {}
    for id in range(300):
        address = random.choice(list(addresses))
        chosen = random.sample(range(10), 3)
        blocks = [addresses[address][each] for each in chosen]
        if random.random() < 0.1:
            blocks[1] = ByteRange("e7-1", 0, 100)
        parts = sorted(random.sample(range(4), 2))
        orders[id] = bench.order(blocks, parts, address=address, id=id), chosen
        bench.orders.take(orders[id][0])
    said = [bench.said.get(timeout=PATIENCE_S) for _ in range(300)]
    for address in addresses:
        ids = [id for id, _ in said if orders[id][0].address == address]
        assert ids == sorted(ids)
    for id, reason in said:
        order, chosen = orders[id]
        if order.blocks[1][0] == "e7-1":
            assert reason is not None and "e7-1" in reason
            assert not os.path.exists(bench.folders.path(order.target, "memory"))
        else:
            assert reason is None
            found = unpack(bench.folders, order.target, order.parts)
            assert list(found.values()) == [
                [outputs[each][part] for part in order.parts] for each in chosen
            ]
    bench.orders.close()
    assert bench.orders.waiting == {} and not bench.orders.ready
    assert len(bench.orders.threads) == 2


class Stalled:
    """A peer that proves itself, and answers nothing until it may go on."""

    def __init__(self, secret: bytes) -> None:
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.address: Address = self.listener.getsockname()
        self.secret = secret
        self.asked, self.ended = threading.Event(), threading.Event()
        self.thread = threading.Thread(target=self._run, daemon=True)
        self.thread.start()

    def _run(self) -> None:
        sock, _ = self.listener.accept()
        if (gate := own_gate()) is not None:
            sock = gate.welcome(sock)
            sock.settimeout(PATIENCE_S)
        nonce = fresh_nonce()
        sock.sendall(nonce)
        sock.sendall(counter_proof(self.secret, nonce, exactly(sock, ANSWER_BYTES)) or b"")
        assert exactly(sock, 1)
        self.asked.set()
        self.ended.wait(PATIENCE_S)
        sock.close()
        self.listener.close()

    def end(self) -> None:
        self.ended.set()
        self.thread.join()


def test_a_stretch_that_was_dropped_is_free(bench: Bench, source: Source, segment: str) -> None:
    where, medium, address = source
    blocks = lay(where, segment, [[b"one"]], medium)
    order = bench.order(blocks, [0], address=address)
    order = order._replace(stretch=Stretch("ahead-1", 0, order.size_bytes))
    bench.forgotten.add(order.target)
    assert "dropped" in bench.fails(order)


def test_several_sources_are_pulled_from_at_once(bench: Bench, secret: bytes) -> None:
    blocks = lay(bench.folders, "e0-1", [[b"one"]], "disk")
    peers = [Stalled(secret) for _ in range(Fetcher.most_threads)]
    for id, peer in enumerate(peers):
        bench.orders.take(bench.order(blocks, [0], address=peer.address, id=id))
        assert len(bench.orders.threads) == id + 1
    assert all(peer.asked.wait(PATIENCE_S) for peer in peers)
    # All are busy, so that this one waits for the first that is free.
    bench.orders.take(bench.order(blocks, [0], id=100))
    assert bench.said.empty()
    for peer in peers:
        peer.end()
    said = dict(bench.said.get(timeout=PATIENCE_S) for _ in range(len(peers) + 1))
    assert said.pop(100) is None
    assert all(reason is not None and "is lost" in reason for reason in said.values())
    assert len(bench.orders.threads) == Fetcher.most_threads
    assert segments(bench.folders) == ["e0-1", f"fetched-{len(peers) + 1}"]


def test_a_slow_source_does_not_hold_up_others(
    bench: Bench, server: ServerProcess, folders: Folders, segment: str, secret: bytes
) -> None:
    blocks = lay(folders, segment, [[b"one"]])
    slow = Stalled(secret)
    for id in range(10):
        bench.orders.take(bench.order(blocks, [0], address=slow.address, id=id))
    assert slow.asked.wait(PATIENCE_S)
    for id in range(10, 20):
        assert bench.carry_out(bench.order(blocks, [0], address=server.address, id=id)) is None
    slow.end()
    said = [bench.said.get(timeout=PATIENCE_S) for _ in range(10)]
    assert sorted(id for id, _ in said) == list(range(10))
    assert all(reason is not None and "is lost" in reason for _, reason in said)


def test_who_waits_for_a_lost_node_is_told_at_once(
    bench: Bench, monkeypatch: pytest.MonkeyPatch, server: ServerProcess, folders: Folders
) -> None:
    """A dead node costs its timeout once, not for each of its orders."""
    monkeypatch.setattr(client_module, "BlockClient", partial(BlockClient, timeout_s=0.05))
    blocks = lay(bench.folders, "e0-1", [[b"one"]], "disk")
    all_waiting, results = threading.Event(), {}

    def done(id: int, reason: str | None) -> None:
        all_waiting.wait(PATIENCE_S)
        results[id] = reason
        bench.said.put((id, reason))

    bench.orders.done = done
    with socket.create_server(("127.0.0.1", 0)) as listener:
        silent: Address = listener.getsockname()
        for id in range(9):
            address = None if id == 5 else silent
            bench.orders.take(bench.order(blocks, [0], address=address, id=id))
        all_waiting.set()
        for _ in range(9):
            bench.said.get(timeout=PATIENCE_S)
        listener.accept()[0].close()
        listener.setblocking(False)
        with pytest.raises(BlockingIOError):
            listener.accept()
    assert results.pop(5) is None
    assert set(results.values()) == {
        f"the block server at 127.0.0.1:{silent[1]} is lost: it did not answer within 0.05 s"
    }


def test_closed_while_a_node_does_not_answer(bench: Bench, secret: bytes) -> None:
    blocks = lay(bench.folders, "e0-1", [[b"one"]], "disk")
    peers = [Stalled(secret) for _ in range(3)]
    for id in range(6):
        peer = peers[id % 3]
        bench.orders.take(bench.order(blocks, [0], address=peer.address, id=id))
    assert all(peer.asked.wait(PATIENCE_S) for peer in peers)
    bench.orders.close()
    assert len(bench.orders.threads) == 3
    assert not any(thread.is_alive() for thread in bench.orders.threads)
    for peer in peers:
        peer.end()
    assert bench.said.empty()
    assert segments(bench.folders) == ["e0-1"]


def test_closed_while_it_copies(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    blocks = lay(bench.folders, "e0-1", [[bytes(9 << 20)]], "disk")
    whole, copies, goes_on = os.preadv, threading.Event(), threading.Event()

    def pause(fd: int, views: list[memoryview], offset: int) -> int:
        copies.set()
        goes_on.wait(PATIENCE_S)
        return whole(fd, views, offset)

    monkeypatch.setattr(module.os, "preadv", pause)
    for id in range(3):
        bench.orders.take(bench.order(blocks, [0], 10 << 20, id=id))
    assert copies.wait(PATIENCE_S)
    closer = threading.Thread(target=bench.orders.close)
    closer.start()
    while not bench.orders.closed:
        pass
    goes_on.set()
    closer.join()
    assert segments(bench.folders) == ["e0-1"]
    assert bench.said.empty()


def test_memory_and_descriptors_are_free_when_it_is_said(
    bench: Bench, source: Source, segment: str
) -> None:
    where, medium, address = source
    blocks = lay(where, segment, [[b"one", b"two"]] * 2, medium)
    assert bench.carry_out(bench.order(blocks, [0], address=address)) is None
    before = len(os.listdir("/proc/self/fd"))
    gone = [blocks[0], ByteRange(f"{segment}9", 0, 100, medium)]
    for size in (1 << 20, 1 << 10, directory_bytes(2)) * 10:
        for wanted in blocks, gone:
            reason = bench.carry_out(order := bench.order(wanted, [0], size, address))
            assert (reason is None) == (wanted is blocks and size >= 1 << 10)
            assert order.target not in Path("/proc/self/maps").read_text()
    assert bench.carry_out(bench.order(blocks, [0], address=address)) is None
    assert len(os.listdir("/proc/self/fd")) == before


def test_a_fetcher_that_never_fetched_has_no_thread(bench: Bench) -> None:
    assert bench.orders.threads == []
    bench.orders.close()
