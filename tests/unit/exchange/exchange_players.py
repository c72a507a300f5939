"""What the tests' processes do with an exchange, and how its files are looked at."""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Callable, Sequence
from multiprocessing.connection import Connection
from typing import Any

from pyrite.blocks.segments import Folders, write_all
from pyrite.blocks.writer import DiskBlock, OpenSegment
from pyrite.exchange import Exchange, Shuffle
from pyrite.exchange.serverconnection import CONNECTIONS, ServerConnection
from pyrite.exchange.writer import OutputWriter
from pyrite.ids import BlockRef
from pyrite.remote.link import PeerLink
from pyrite.remote.protocol import Kind, is_segment, pack_request

LONGEST_S = 60.0


def folders_of(known: Exchange | Shuffle) -> Folders:
    with CONNECTIONS.borrow((known.address, known.secret)) as connection:
        return connection.folders


def files_of(known: Exchange | Shuffle) -> list[str]:
    """The names of all segments, in memory and on disk."""
    memory, disk, _ = folders_of(known)
    return sorted(n for n in os.listdir(memory) + os.listdir(disk) if is_segment(n.encode()))


def until(condition: Callable[[], Any]) -> None:
    """Returns when the condition holds, which it must do in the end."""
    end_s = time.monotonic() + LONGEST_S
    while not condition():
        assert time.monotonic() < end_s, "it never holds"
        os.sched_yield()


def part(map: int, reducer: int) -> bytes:
    """A part that says whose it is."""
    return b"%d to %d;" % (map, reducer) * (1 + (map * reducer) % 50)


def put_some(shuffle: Shuffle, maps: Sequence[int]) -> None:
    for map in maps:
        shuffle.put(map, [part(map, reducer) for reducer in range(shuffle.reducers)])


def count_right(shuffle: Shuffle, reducer: int) -> int:
    """How many parts are what they should be; waits for all of them."""
    parts = shuffle.get(reducer, timeout_s=LONGEST_S)
    return sum(bytes(each) == part(map, reducer) for map, each in enumerate(parts))


def put_and_stop(shuffle: Shuffle, map: int, size: int, moment: str, told: Connection) -> None:
    """Puts a map and stops in the middle of it, to be killed there."""

    def stop() -> None:
        told.send("there")
        signal.pause()

    def stop_half_way(writer: OutputWriter, segment: OpenSegment, buffers: Sequence[Any]) -> None:
        half = memoryview(buffers[0])[: size // 2]
        if writer.folders.node == segment.place:
            fd = os.open(writer.folders.path(segment.name, "memory"), os.O_WRONLY)
            write_all(fd, [half], segment.offset)
        else:
            link = PeerLink(next(iter(writer.neighbours.addresses.values())), LONGEST_S)
            link.connect(shuffle.secret)
            where = segment.name, segment.offset, size, "memory", segment.length
            link.send([pack_request(Kind.WRITE, *where), half])
        stop()

    def stop_on_disk(file: DiskBlock) -> BlockRef:
        stop()
        raise AssertionError

    def stop_before_word(connection: ServerConnection, *message: Any, **options: Any) -> Any:
        if message[0] == "put":
            stop()
        return ask(connection, *message, **options)

    ask = ServerConnection.ask
    match moment:
        case "half of it is written":
            OutputWriter._fill = stop_half_way  # type: ignore[method-assign]
            OutputWriter._send = stop_half_way  # type: ignore[method-assign]
        case "a file on disk is written":
            DiskBlock.finish = stop_on_disk  # type: ignore[method-assign]
        case "all is written":
            ServerConnection.ask = stop_before_word  # type: ignore[method-assign, assignment]
    shuffle.put(map, [bytes(size)])
