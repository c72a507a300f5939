"""Measure the constants of the simulator's cost model on this machine; write them to a file.

python -m benchmarks.model_calibrate FILE
"""

import argparse
import dataclasses
import os
import platform
import socket
import tempfile
import time
from collections.abc import Callable
from multiprocessing import get_context
from pathlib import Path
from threading import Thread
from typing import Any

from pyrite import SparkConf, SparkContext
from pyrite.blocks.codec import decode, encode, frame_size
from pyrite.blocks.parts import pack_header
from pyrite.blocks.segments import Folders, SegmentReader
from pyrite.blocks.weight import estimate_bytes
from pyrite.capacity import usable_cores
from pyrite.forecast.costs import CostModel
from pyrite.ids import BlockRef, NodeId
from pyrite.remote.asking import ByteRange
from pyrite.remote.client import BlockClient
from pyrite.remote.errors import Address
from pyrite.remote.fetcher import Fetcher, FetchOrder
from pyrite.remote.process import ServerProcess

TRIES = 5
TASKS = 4_000
ROWS = [(f"word-{number}", number) for number in range(50_000)]
MEMORY = "/dev/shm"
FILE_BYTES = 256 << 20
CHUNK = bytes(1 << 20)
BLOCKS = 64


def best_s(work: Callable[[], Any], tries: int = TRIES) -> float:
    """The least time of several tries: what disturbs a measurement only makes it longer."""
    times = []
    for _ in range(tries):
        began_s = time.perf_counter()
        work()
        times.append(time.perf_counter() - began_s)
    return min(times)


def task_costs() -> tuple[float, float]:
    """What an empty task takes of the driver's time, and of its executor's."""
    conf = SparkConf().setMaster("local[1]").set("spark.ui.showConsoleProgress", "false")
    sc = SparkContext(conf=conf)
    rdd = sc.range(TASKS, numSlices=TASKS)
    rdd.foreachPartition(ignored)
    driver, wall = [], []
    for _ in range(TRIES):
        cpu_s, began_s = time.process_time(), time.perf_counter()
        rdd.foreachPartition(ignored)
        driver.append((time.process_time() - cpu_s) / TASKS)
        wall.append((time.perf_counter() - began_s) / TASKS)
    sc.stop()
    return min(driver), min(wall) - min(driver)


def ignored(_rows: Any) -> None:
    """Reads nothing."""


def codec_speeds() -> tuple[float, float, float]:
    """Bytes a second encoded and decoded, and how much larger the rows are as objects."""
    buffers = encode(ROWS)
    size = frame_size(buffers)
    block = memoryview(b"".join(bytes(each) for each in buffers))
    encode_s = best_s(lambda: encode(ROWS))
    decode_s = best_s(lambda: decode(block))
    return size / encode_s, size / decode_s, estimate_bytes(ROWS) / size


def numpy_speeds() -> dict[str, float]:
    """The same of rows that are arrays, as a note: the model takes plain rows for granted."""
    import numpy

    rows = [numpy.arange(1000.0) + number for number in range(1000)]
    buffers = encode(rows)
    size = frame_size(buffers)
    block = memoryview(b"".join(bytes(each) for each in buffers))
    return {
        "numpy_encode_bytes_per_s": size / best_s(lambda: encode(rows)),
        "numpy_decode_bytes_per_s": size / best_s(lambda: decode(block)),
    }


def write_file(path: Path, sync: bool) -> None:
    with path.open("wb", buffering=0) as file:
        for _ in range(FILE_BYTES // len(CHUNK)):
            file.write(CHUNK)
        if sync:
            os.fsync(file.fileno())


def read_file(path: Path, cold: bool) -> float:
    """Seconds to read the file; cold means that the kernel was asked to forget it first."""
    with path.open("rb", buffering=0) as file:
        if cold:
            os.posix_fadvise(file.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)
        began_s = time.perf_counter()
        while file.read(len(CHUNK)):
            pass
        return time.perf_counter() - began_s


def disk_speeds(folder: str) -> dict[str, float]:
    """Bytes a second with the disk itself behind them, and with the page cache only."""
    path = Path(folder, f"pyrite-calibrate-{os.getpid()}")
    try:
        cached_write_s = best_s(lambda: write_file(path, sync=False), 2)
        write_s = best_s(lambda: write_file(path, sync=True), 2)
        read_s = min(read_file(path, cold=True) for _ in range(2))
        cached_read_s = min(read_file(path, cold=False) for _ in range(2))
    finally:
        path.unlink(missing_ok=True)
    return {
        "write": FILE_BYTES / write_s,
        "read": FILE_BYTES / read_s,
        "cached write": FILE_BYTES / cached_write_s,
        "cached read": FILE_BYTES / cached_read_s,
    }


@dataclasses.dataclass
class BlockTimes:
    """Seconds to reach a block: in the own pool, in another node's, on disk; and bytes a second."""

    local_s: float
    remote_s: float
    disk_s: float
    remote_bytes_per_s: float
    fetch_bytes_per_s: float


def block_times(folder: str) -> BlockTimes:
    """What reading blocks costs as tasks read them: in place, from a block server, from disk."""
    secret = os.urandom(32)
    small = b"".join(map(bytes, encode(ROWS[:10])))
    in_memory, on_disk, large = "e0-1", "e0-2", "e0-3"
    with (
        tempfile.TemporaryDirectory(dir=MEMORY) as memory,
        tempfile.TemporaryDirectory(dir=folder) as disk,
    ):
        folders = Folders(memory, disk, NodeId("node-0"))
        Path(folders.path(in_memory, "memory")).write_bytes(small)
        Path(folders.path(on_disk, "disk")).write_bytes(small)
        Path(folders.path(large, "memory")).write_bytes(os.urandom(len(CHUNK)) * BLOCKS)
        reader, client = SegmentReader(folders), BlockClient(secret)
        server = ServerProcess.start(folders, secret)

        def each_s(read: Callable[[int], Any]) -> float:
            return best_s(lambda: [read(number) for number in range(BLOCKS)]) / BLOCKS

        def read_remotely(segment: str, length: int) -> Callable[[int], Any]:
            at = server.address
            return lambda number: client.read(at, segment, number * length, length)

        near = BlockRef(folders.node, in_memory, 0, len(small))
        far = BlockRef(folders.node, on_disk, 0, len(small), "disk")
        try:
            large_s = each_s(read_remotely(large, len(CHUNK)))
            assert server.address is not None
            return BlockTimes(
                each_s(lambda _: reader.view(near)),
                each_s(read_remotely(large, 64)),
                each_s(lambda _: list(reader.rows(far))),
                len(CHUNK) / large_s,
                fetch_speed(folders, secret, server.address),
            )
        finally:
            client.close()
            server.stop()
            reader.close()


def fetch_speed(folders: Folders, secret: bytes, address: Address) -> float:
    """Bytes for a processor second of the thread that receives prefetched input."""
    parts = [len(CHUNK) * BLOCKS // 4]
    output = pack_header(parts) + bytes(parts[0])
    Path(folders.path("e0-4", "memory")).write_bytes(output)
    fetcher = Fetcher(folders, secret, lambda id, reason: None)
    hand = fetcher.new_hand()
    block = ByteRange("e0-4", 0, len(output))
    times = []
    for number in range(TRIES):
        target = f"fetched-{number}"
        size = len(output) + (64 << 10)
        order = FetchOrder(number, target, "memory", size, address, (0,), (0,), (block,))
        began_s = time.thread_time()
        hand.carry_out(order)
        times.append(time.thread_time() - began_s)
        os.unlink(folders.path(target, "memory"))
    hand.close()
    return parts[0] / min(times)


def loopback_speed() -> float:
    """Bytes a second through a socket to another thread of this machine."""
    listener = socket.create_server(("127.0.0.1", 0))

    def send() -> None:
        with socket.create_connection(listener.getsockname()) as sender:
            for _ in range(FILE_BYTES // len(CHUNK)):
                sender.sendall(CHUNK)

    def receive() -> None:
        thread = Thread(target=send)
        thread.start()
        receiver, _ = listener.accept()
        buffer = bytearray(len(CHUNK))
        with receiver:
            while receiver.recv_into(buffer):
                pass
        thread.join()

    with listener:
        return FILE_BYTES / best_s(receive, 3)


def counted() -> float:
    """Processor seconds for work such as tasks do: rows made, hashed and counted.

    Not seconds by the clock: those also grow when other programs want the cores.
    """
    began_s = time.process_time()
    for _ in range(4):
        counts: dict[str, int] = {}
        rows = [(f"word-{number * 7919 % 50_000}", number) for number in range(150_000)]
        for word, number in rows:
            counts[word] = counts.get(word, 0) + number
    return time.process_time() - began_s


def efficiency() -> float:
    """How fast a core is while all others do the same, by how fast it is alone."""
    cores = usable_cores()
    if cores == 1:
        return 1.0
    with get_context("spawn").Pool(cores) as pool:
        alone, together = [], []
        # By turns, so that what else goes on meets both alike.
        for _ in range(TRIES + 1):
            together.append(sum(pool.starmap(counted, [()] * cores, chunksize=1)) / cores)
            alone.append(pool.apply(counted))
    return min(1.0, min(alone) / min(together))


def measured() -> tuple[CostModel, dict[str, Any]]:
    """The model, and what else there is to know about the machine."""
    driver_s, executor_s = task_costs()
    encode_rate, decode_rate, live = codec_speeds()
    memory = Path(MEMORY, f"pyrite-calibrate-{os.getpid()}")
    try:
        copy_rate = FILE_BYTES / best_s(lambda: write_file(memory, sync=False), 3)
    finally:
        memory.unlink(missing_ok=True)
    disk = disk_speeds(tempfile.gettempdir())
    blocks = block_times(tempfile.gettempdir())
    model = CostModel(
        # Half for taking in the end of a task, half for launching the next: they come together.
        driver_event_s=round(driver_s / 2, 7),
        driver_launch_s=round(driver_s / 2, 7),
        task_overhead_s=round(executor_s, 7),
        encode_bytes_per_s=round(encode_rate),
        decode_bytes_per_s=round(decode_rate),
        copy_bytes_per_s=round(copy_rate),
        disk_write_bytes_per_s=round(disk["write"]),
        disk_read_bytes_per_s=round(disk["read"]),
        local_block_s=round(blocks.local_s, 8),
        remote_block_s=round(blocks.remote_s, 7),
        disk_block_s=round(blocks.disk_s, 7),
        remote_bytes_per_s=round(blocks.remote_bytes_per_s),
        fetch_bytes_per_s=round(blocks.fetch_bytes_per_s),
        shared_efficiency=round(efficiency(), 3),
        live_bytes_per_encoded_byte=round(live, 2),
    )
    notes = {
        "cores": usable_cores(),
        "python": platform.python_version(),
        "page_cache_write_bytes_per_s": disk["cached write"],
        "page_cache_read_bytes_per_s": disk["cached read"],
        "loopback_bytes_per_s": loopback_speed(),
        **numpy_speeds(),
    }
    return model, notes


def main() -> None:
    """Measure, print, write."""
    parser = argparse.ArgumentParser(
        prog="scripts/calibrate",
        description="Measures the constants of the simulator's cost model on this machine.",
    )
    parser.add_argument("file", metavar="FILE", help="the model, for `pyrite sim --model FILE`")
    options = parser.parse_args()
    load = os.getloadavg()[0]
    if load > 0.5:
        print(f"calibrate: the machine is busy (load {load:.1f}): the figures will be too slow")
    began_s = time.perf_counter()
    model, notes = measured()
    notes["load_average_before"] = load
    model.save(options.file, notes=notes)
    for name, value in {**dataclasses.asdict(model), **notes}.items():
        print(f"{name:30} {value}")
    print(f"written to {options.file}, after {time.perf_counter() - began_s:.0f} s")


if __name__ == "__main__":
    main()
