"""The time of a block: read on its node, read from another node, beside a plain socket and memcpy.

A part of scripts/bench --suite r3s; alone: python -m benchmarks.remote_blocks [--repeat N] [--unix]
The ways take turns, so that whatever else the machine does meets them all; medians are shown,
and the best of all beside them.
"""

from __future__ import annotations

import argparse
import json
import mmap
import os
import shutil
import socket
import statistics
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from functools import partial
from random import Random

from pyrite.blocks.segments import Folders, SegmentReader
from pyrite.ids import BlockRef, NodeId
from pyrite.remote.client import BlockClient
from pyrite.remote.errors import Address
from pyrite.remote.process import LOOPBACK, ServerProcess

PLAIN = "plain socket"
REMOTE = "remote"
SIZES = {"1 KB": 1 << 10, "64 KB": 1 << 16, "1 MB": 1 << 20, "16 MB": 16 << 20}
SEGMENT = "e0-1"
REQUEST = b"x" * 96


@dataclass(frozen=True)
class BlockTimes:
    """Seconds to read a block of one size, by way: medians, and the best of all."""

    label: str
    size_bytes: int
    median_s: dict[str, float]
    best_s: dict[str, float]

    def of_plain(self, way: str) -> float:
        """The throughput of a way over that of the plain socket."""
        return self.median_s[PLAIN] / self.median_s[way]

    def __str__(self) -> str:
        return "\n".join(
            f"{self.label:>6} {way:24} {taken_s * 1e6:10.1f} us "
            f"{self.size_bytes / taken_s / 1e9:8.2f} GB/s best {self.best_s[way] * 1e6:10.1f} us "
            f"{self.of_plain(way):7.0%} of the plain socket"
            for way, taken_s in self.median_s.items()
        )


@contextmanager
def plain_server(address: Address) -> Iterator[Address]:
    """A process that answers each request with so many bytes from its memory, by sendall."""
    if isinstance(address, str):
        listener = socket.socket(socket.AF_UNIX)
        listener.bind(address)
        listener.listen()
    else:
        listener = socket.create_server(address)
    child = os.fork()
    if child == 0:
        try:
            while True:
                answer_plainly(listener.accept()[0])
        finally:
            os._exit(0)
    try:
        yield listener.getsockname()
    finally:
        os.kill(child, 9)
        os.waitpid(child, 0)
        listener.close()


def answer_plainly(sock: socket.socket) -> None:
    if sock.family == socket.AF_INET:
        sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    data = memoryview(os.urandom(1 << 20) * (max(SIZES.values()) >> 20))
    while request := sock.recv(len(REQUEST)):
        sock.sendall(data[: int(request.strip(b"x"))])


def plain_reader(address: Address, size: int) -> Callable[[], object]:
    sock = socket.socket(socket.AF_UNIX if isinstance(address, str) else socket.AF_INET)
    sock.connect(address)
    if sock.family == socket.AF_INET:
        sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    view = memoryview(bytearray(size))
    request = str(size).encode().ljust(len(REQUEST), b"x")

    def read() -> None:
        sock.sendall(request)
        got = 0
        while got < size:
            got += sock.recv_into(view[got:], size - got, socket.MSG_WAITALL)

    return read


def local_reader(folders: Folders, size: int) -> Callable[[], object]:
    reader, ref = SegmentReader(folders), BlockRef(folders.node, SEGMENT, 0, size)

    def read() -> int:
        return sum(reader.view(ref)[:: mmap.PAGESIZE])

    return read


def first_local_reader(folders: Folders, size: int) -> Callable[[], object]:
    reader, ref = SegmentReader(folders), BlockRef(folders.node, SEGMENT, 0, size)

    def read() -> int:
        reader.close()
        return sum(reader.view(ref)[:: mmap.PAGESIZE])

    return read


def copier(size: int, is_warm: bool = True) -> Callable[[], object]:
    source, target = memoryview(os.urandom(size)), memoryview(bytearray(size))

    def copy() -> None:
        target[:] = source

    def copy_cold() -> None:
        fresh = mmap.mmap(-1, size, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
        memoryview(fresh)[:] = source

    return copy if is_warm else copy_cold


def measure(ways: dict[str, Callable[[], object]], repeat: int) -> dict[str, list[float]]:
    """Seconds of each call; the ways take turns in an order of chance.

    What one leaves in the processor's cache, or drives out of it, meets the next.
    """
    times: dict[str, list[float]] = {name: [] for name in ways}
    for read in ways.values():
        read()
    random, order = Random(0), list(ways.items())
    for _ in range(repeat):
        random.shuffle(order)
        for name, read in order:
            began_s = time.perf_counter()
            read()
            times[name].append(time.perf_counter() - began_s)
    return times


def measured_blocks(repeat: int, is_unix: bool) -> Iterator[BlockTimes]:
    """All ways for one size of blocks after another, each with a server that is new."""
    root = tempfile.mkdtemp(dir="/dev/shm")
    secret = os.urandom(32)
    try:
        folders = Folders(root, root, NodeId("node-0"))
        with open(folders.path(SEGMENT, "memory"), "wb") as file:
            file.write(os.urandom(1 << 20) * (max(SIZES.values()) >> 20))
        plain_at: Address = f"{root}/plain" if is_unix else LOOPBACK
        server_at: Address = f"{root}/blocks" if is_unix else LOOPBACK
        for label, size in SIZES.items():
            with plain_server(plain_at) as plain:
                server = ServerProcess.start(folders, secret, server_at)
                client = BlockClient(secret)
                ways: dict[str, Callable[[], object]] = {
                    "memcpy": copier(size),
                    "memcpy, first touch": copier(size, is_warm=False),
                    "local, mapped": local_reader(folders, size),
                    "local, mapped anew": first_local_reader(folders, size),
                    PLAIN: plain_reader(plain, size),
                    REMOTE: partial(client.read, server.address, SEGMENT, 0, size),
                }
                times = measure(ways, repeat if size > 1 << 18 else 10 * repeat)
                medians_s = {name: statistics.median(each) for name, each in times.items()}
                best_s = {name: min(each) for name, each in times.items()}
                yield BlockTimes(label, size, medians_s, best_s)
                client.close()
                server.stop()
            if is_unix:
                os.unlink(f"{root}/plain")
    finally:
        shutil.rmtree(root)


def main() -> None:
    """Measure, and print lines to read or, for the suite, one of JSON for each size."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--repeat", type=int, default=200)
    parser.add_argument("--unix", action="store_true", help="Unix sockets instead of TCP")
    parser.add_argument("--json", action="store_true", help="a line of JSON for each size")
    options = parser.parse_args()
    for found in measured_blocks(options.repeat, options.unix):
        print(json.dumps(asdict(found)) if options.json else found, flush=True)


if __name__ == "__main__":
    main()
