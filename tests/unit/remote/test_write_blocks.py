"""Placing blocks on another node: made once, never written over, nothing left of half a block."""

import contextlib
import os
import resource
import signal
import socket
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from peers import exactly, prove, until_closed

from pyrite.blocks.segments import Folders
from pyrite.ids import Medium
from pyrite.remote.client import BlockClient
from pyrite.remote.errors import BlockGone, BlockRefused
from pyrite.remote.process import ServerProcess
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


def segments(folders: Folders) -> list[str]:
    names = [*os.listdir(folders.memory), *os.listdir(folders.disk)]
    return sorted(name for name in names if not name.startswith("."))


@pytest.mark.parametrize("medium", ["memory", "disk"])
def test_blocks_are_packed_into_a_segment(
    server: ServerProcess, client: BlockClient, folders: Folders, segment: str, medium: Medium
) -> None:
    total, blocks = 8 << 20, [os.urandom(size) for size in (0, 1, 1000, 100_000, 3 << 20)]
    offset = 0
    for block in blocks:
        half = len(block) // 2
        buffers = [block[:half], b"", block[half:]]
        client.write(server.address, segment, offset, buffers, total, medium)
        assert client.read(server.address, segment, offset, len(block), medium) == block
        offset += len(block)
    path = Path(folders.path(segment, medium))
    assert path.stat().st_size == total
    assert path.stat().st_mode & 0o777 == 0o600
    assert path.read_bytes()[:offset] == b"".join(blocks)


def test_more_buffers_than_the_kernel_takes_at_once(
    server: ServerProcess, client: BlockClient, segment: str
) -> None:
    buffers = [bytes([number % 256]) * (number % 50) for number in range(3000)]
    whole = b"".join(buffers)
    client.write(server.address, segment, 0, buffers, len(whole))
    assert client.read(server.address, segment, 0, len(whole)) == whole


def test_another_s_segment_is_not_written_to(
    server: ServerProcess, client: BlockClient, folders: Folders, fill: Fill, segment: str
) -> None:
    data = fill(segment, 100)
    with pytest.raises(BlockRefused, match="made by somebody else"):
        client.write(server.address, segment, 0, [os.urandom(1 << 20)], 1 << 20)
    assert Path(folders.path(segment, "memory")).read_bytes() == data
    client.ping(server.address)


def test_a_link_is_not_followed(
    server: ServerProcess, client: BlockClient, folders: Folders, tmp_path: Path, segment: str
) -> None:
    os.symlink(tmp_path / "elsewhere", folders.path(segment, "memory"))
    with pytest.raises(BlockRefused):
        client.write(server.address, segment, 0, [b"data"], 4)
    assert not (tmp_path / "elsewhere").exists()


def test_blocks_are_not_written_over(
    server: ServerProcess, client: BlockClient, segment: str
) -> None:
    client.write(server.address, segment, 0, [b"a" * 100], 1000)
    client.write(server.address, segment, 128, [b"b" * 100], 1000)
    for offset, length in (0, 100), (50, 10), (127, 2), (227, 10), (128, 99):
        with pytest.raises(BlockRefused, match="lies there already"):
            client.write(server.address, segment, offset, [b"c" * length], 1000)
    with pytest.raises(BlockRefused):
        client.write(server.address, segment, 256, [b"c"], 2000)
    assert client.read(server.address, segment, 0, 228) == b"a" * 100 + bytes(28) + b"b" * 100


def test_a_segment_is_made_by_its_first_block_only(
    server: ServerProcess, client: BlockClient, segment: str
) -> None:
    with pytest.raises(BlockRefused, match="not begun here"):
        client.write(server.address, segment, 64, [b"second"], 1000)
    client.write(server.address, segment, 0, [b"first"], 1000)
    client.write(server.address, segment, 64, [b"second"], 1000)


def test_the_last_block_may_be_written_again(
    server: ServerProcess, client: BlockClient, segment: str
) -> None:
    for _ in range(2):
        client.write(server.address, segment, 0, [b"a" * 100], 1000)
    client.write(server.address, segment, 128, [b"b"], 1000)
    with pytest.raises(BlockRefused):
        client.write(server.address, segment, 0, [b"a" * 100], 1000)


def test_a_segment_has_a_size_limit(
    start: Callable[..., ServerProcess], client: BlockClient, folders: Folders, segment: str
) -> None:
    server = start(segment_bytes=1 << 20)
    with pytest.raises(BlockRefused, match="too large"):
        client.write(server.address, segment, 0, [b"data"], (1 << 20) + 1)
    assert segments(folders) == []
    client.write(server.address, segment, 0, [b"data"], 1 << 20)
    client.write(server.address, f"{segment}1", 0, [b"data"], 1 << 30, "disk")
    assert os.path.exists(folders.path(f"{segment}1", "disk"))


def test_a_segment_on_disk_has_a_limit_of_its_own(
    start: Callable[..., ServerProcess], client: BlockClient, segment: str
) -> None:
    server = start(segment_bytes=1 << 30, disk_segment_bytes=1 << 20)
    with pytest.raises(BlockRefused, match="too large"):
        client.write(server.address, f"{segment}1", 0, [b"data"], (1 << 20) + 1, "disk")
    client.write(server.address, segment, 0, [b"data"], (1 << 20) + 1)


def test_a_block_beyond_its_segment(
    server: ServerProcess, client: BlockClient, folders: Folders, secret: bytes, segment: str
) -> None:
    with pytest.raises(ValueError, match="do not fit"):
        client.write(server.address, segment, 90, [b"x" * 11], 100)
    sock = prove(server.address, secret)
    sock.sendall(REQUEST.pack(MAGIC, Kind.WRITE, 1, 90, 11, 100, segment.encode()))
    reply = unpack_reply(until_closed(sock))
    assert reply == Reply(Status.REFUSED, Reason.TOO_LARGE, 0)
    assert segments(folders) == []


@pytest.mark.parametrize("sent", [0, 10, 2 << 20])
def test_half_a_block_leaves_nothing(
    server: ServerProcess,
    client: BlockClient,
    folders: Folders,
    secret: bytes,
    sent: int,
    segment: str,
) -> None:
    sock = prove(server.address, secret)
    sock.sendall(pack_request(Kind.WRITE, segment, 0, 3 << 20, total=3 << 20) + b"x" * sent)
    while segment not in segments(folders):
        client.ping(server.address)
    sock.close()
    while segment in segments(folders):
        client.ping(server.address)
    client.write(server.address, segment, 0, [b"whole"], 5)
    assert client.read(server.address, segment, 0, 5) == b"whole"


def test_half_of_a_later_block_leaves_the_others(
    server: ServerProcess, client: BlockClient, secret: bytes, segment: str
) -> None:
    client.write(server.address, segment, 0, [b"first"], 1000)
    sock = prove(server.address, secret)
    sock.sendall(pack_request(Kind.WRITE, segment, 64, 100, total=1000) + b"x" * 10)
    sock.close()
    while True:
        with contextlib.suppress(BlockRefused):
            client.write(server.address, segment, 64, [b"second"], 1000)
            break
    assert client.read(server.address, segment, 0, 70) == b"first" + bytes(59) + b"second"


def half_written(
    server: ServerProcess, client: BlockClient, folders: Folders, secret: bytes, segment: str
) -> socket.socket:
    """A connection on which five of ten bytes of a segment have been written."""
    sock = prove(server.address, secret)
    sock.sendall(pack_request(Kind.WRITE, segment, 0, 10, total=100) + b"12345")
    while segment not in segments(folders):
        client.ping(server.address)
    return sock


def test_one_writer_at_a_time(
    server: ServerProcess, client: BlockClient, folders: Folders, secret: bytes, segment: str
) -> None:
    sock = half_written(server, client, folders, secret, segment)
    with pytest.raises(BlockRefused, match="somebody else is writing"):
        client.write(server.address, segment, 10, [b"x"], 100)
    sock.sendall(b"67890")
    assert unpack_reply(exactly(sock, REPLY.size)).status is Status.OK
    sock.close()
    assert client.read(server.address, segment, 0, 10) == b"1234567890"


def test_a_segment_removed_while_it_is_written(
    server: ServerProcess, client: BlockClient, folders: Folders, secret: bytes, segment: str
) -> None:
    sock = half_written(server, client, folders, secret, segment)
    os.unlink(folders.path(segment, "memory"))
    sock.sendall(b"67890")
    assert unpack_reply(exactly(sock, REPLY.size)).status is Status.GONE
    sock.close()
    with pytest.raises(BlockGone):
        client.read(server.address, segment, 0, 10)


@pytest.mark.skipif(sys.platform != "linux", reason="prlimit is Linux's")
def test_no_room_is_said_and_leaves_nothing(
    start: Callable[..., ServerProcess], client: BlockClient, folders: Folders, segment: str
) -> None:
    server = start()
    resource.prlimit(server.process.pid, resource.RLIMIT_FSIZE, (1 << 20, 1 << 20))
    with pytest.raises(BlockRefused, match="did not take it"):
        client.write(server.address, segment, 0, [bytes(3 << 20)], 3 << 20)
    assert segments(folders) == []
    client.write(server.address, segment, 0, [bytes(1 << 20)], 1 << 20)


def until_heard(server: ServerProcess, client: BlockClient) -> None:
    """What the server was told before the first ping is done before the second."""
    client.ping(server.address)
    client.ping(server.address)


@pytest.mark.parametrize("medium", ["memory", "disk"])
def test_what_was_forgotten_is_not_made_again(
    server: ServerProcess, client: BlockClient, folders: Folders, segment: str, medium: Medium
) -> None:
    server.forget([segment])
    until_heard(server, client)
    with pytest.raises(BlockRefused, match="was dropped"):
        client.write(server.address, segment, 0, [b"data"], 10, medium)
    assert segments(folders) == []
    client.write(server.address, segment + "0", 0, [b"data"], 10, medium)


def test_a_request_of_the_dead_makes_nothing(
    server: ServerProcess, client: BlockClient, folders: Folders, secret: bytes, segment: str
) -> None:
    """The server finds the request and the parent's word at the same time, in any order."""
    names = [f"{segment}{number}" for number in range(20)]
    client.ping(server.address)
    dying = [prove(server.address, secret) for _ in names]
    os.kill(server.process.pid, signal.SIGSTOP)
    for sock, name in zip(dying, names, strict=True):
        sock.sendall(pack_request(Kind.WRITE, name, 0, 4, total=4) + b"data")
        sock.close()
    server.forget(names)
    os.kill(server.process.pid, signal.SIGCONT)
    until_heard(server, client)
    assert segments(folders) == []


def test_a_segment_forgotten_while_it_is_written(
    server: ServerProcess, client: BlockClient, folders: Folders, secret: bytes, segment: str
) -> None:
    sock = half_written(server, client, folders, secret, segment)
    server.forget([segment])
    until_heard(server, client)
    assert segments(folders) == []
    sock.sendall(b"67890" + pack_request(Kind.WRITE, segment, 0, 1, total=100) + b"1")
    assert unpack_reply(exactly(sock, REPLY.size)).status is Status.GONE
    assert unpack_reply(exactly(sock, REPLY.size)).reason is Reason.FORGOTTEN
    sock.close()
    assert segments(folders) == []


def test_a_segment_goes_on_where_it_was_begun(
    server: ServerProcess, client: BlockClient, folders: Folders, segment: str
) -> None:
    client.write(server.address, segment, 0, [b"a" * 100], 1000, "disk")
    for offset in 0, 128:
        with pytest.raises(BlockRefused, match="made by somebody else"):
            client.write(server.address, segment, offset, [b"b" * 100], 1000, "memory")
    client.write(server.address, segment, 128, [b"c" * 100], 1000, "disk")
    assert Path(folders.path(segment, "disk")).read_bytes()[128:228] == b"c" * 100
    assert not os.path.exists(folders.path(segment, "memory"))
