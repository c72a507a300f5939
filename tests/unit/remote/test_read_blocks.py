"""Reading another node's blocks: right bytes, for many at once, and clear errors."""

import os
import threading
from collections.abc import Callable
from pathlib import Path
from random import Random

import pytest
from peers import fds_of

from pyrite.blocks.segments import Folders
from pyrite.ids import Medium
from pyrite.remote import buffers
from pyrite.remote.client import WINDOW, BlockClient
from pyrite.remote.errors import BlockGone, PeerLost
from pyrite.remote.process import ServerProcess

Fill = Callable[..., bytes]
SIZE = 5 << 20


@pytest.mark.parametrize("medium", ["memory", "disk"])
def test_bytes_are_right_at_many_sizes_and_offsets(
    server: ServerProcess, client: BlockClient, fill: Fill, medium: Medium
) -> None:
    data, random = fill("e0-1", SIZE, medium), Random(3)
    lengths = [0, 1, 15, 16, 17, 4095, 65535, 65536, 65537, 1 << 20, (1 << 20) + 1, SIZE - 3]
    for length in lengths:
        offset = random.randrange(SIZE - length + 1)
        view = client.read(server.address, "e0-1", offset, length, medium)
        assert view.readonly and view == data[offset : offset + length]
    assert client.read(server.address, "e0-1", 0, SIZE, medium) == data
    assert client.read(server.address, "e0-1", SIZE, 0, medium) == b""


def test_views_stay_as_they_are_while_others_are_read(
    server: ServerProcess, client: BlockClient, fill: Fill
) -> None:
    data = fill("e0-1", SIZE)
    kept = [client.read(server.address, "e0-1", n * 1000, 1 << 20) for n in range(10)]
    assert [bytes(view) for view in kept] == [
        data[n * 1000 : n * 1000 + (1 << 20)] for n in range(10)
    ]


def test_many_reads_on_one_connection(
    server: ServerProcess, client: BlockClient, fill: Fill
) -> None:
    data, random = fill("e0-1", SIZE), Random(5)
    wanted: list[tuple[str, int, int, Medium]] = []
    for number in range(3 * WINDOW):
        offset = random.randrange(SIZE)
        length = min(SIZE - offset, random.choice([10, 1000, 100_000, 1 << 20]))
        wanted.append(("e0-1" if number % 7 else "e0-9", offset, length, "memory"))
    found = client.read_many(server.address, wanted)
    for (segment, offset, length, _), block in zip(wanted, found, strict=True):
        if segment == "e0-9":
            assert isinstance(block, BlockGone) and block.segment == "e0-9"
        else:
            assert block == data[offset : offset + length]


def test_what_is_gone_together_with_small_ones(
    server: ServerProcess, client: BlockClient, fill: Fill
) -> None:
    """The replies behind one without bytes may arrive with it, several at once."""
    data = fill("e0-1", 5000)
    found = client.read_many(
        server.address,
        [("e0-2", 0, 60_000), *[("e0-1", n, 700) for n in range(20)], ("e0-1", 4999, 2)],
    )
    assert isinstance(found[0], BlockGone) and isinstance(found[-1], BlockGone)
    assert found[1:-1] == [data[n : n + 700] for n in range(20)]


def test_nothing_asked_is_nothing_found(server: ServerProcess, client: BlockClient) -> None:
    assert client.read_many(server.address, []) == []
    client.ping(server.address)


def test_clients_at_once(server: ServerProcess, secret: bytes, fill: Fill) -> None:
    data = fill("e0-1", SIZE)
    right: list[bool] = []

    def read_some(seed: int) -> None:
        client, random = BlockClient(secret), Random(seed)
        for _ in range(30):
            offset = random.randrange(SIZE)
            length = random.randrange(SIZE - offset)
            view = client.read(server.address, "e0-1", offset, length)
            right.append(view == data[offset : offset + length])
        client.close()

    threads = [threading.Thread(target=read_some, args=(seed,)) for seed in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert right == [True] * 240


def test_what_does_not_exist_is_gone(
    server: ServerProcess, client: BlockClient, fill: Fill
) -> None:
    fill("e0-1", 100)
    wrong: list[tuple[str, int, int, Medium]] = [
        ("e0-2", 0, 1, "memory"),
        ("e0-1", 0, 1, "disk"),
        ("e0-1", 50, 51, "memory"),
    ]
    for block in wrong:
        with pytest.raises(BlockGone, match=block[0]) as gone:
            client.read(server.address, *block)
        assert isinstance(gone.value, OSError)
    assert len(client.read(server.address, "e0-1", 50, 50)) == 50
    with pytest.raises(BlockGone):
        # Its file is open now, and not to be taken for one of the same name on disk.
        client.read(server.address, "e0-1", 0, 1, "disk")


def test_a_removed_segment_is_gone_and_its_memory_free(
    server: ServerProcess, client: BlockClient, folders: Folders, fill: Fill
) -> None:
    fill("e0-1", 1 << 20)
    client.read(server.address, "e0-1", 0, 10)
    assert any("e0-1" in target for target in fds_of(server))
    os.unlink(folders.path("e0-1", "memory"))
    server.forget(["e0-1", "e0-7"])
    with pytest.raises(BlockGone):
        while True:  # The word and the request come by different ways.
            client.read(server.address, "e0-1", 0, 10)
    assert not any("e0-1" in target for target in fds_of(server))


def test_a_segment_removed_without_a_word_is_gone_soon(
    server: ServerProcess, client: BlockClient, folders: Folders, fill: Fill
) -> None:
    fill("e0-1", 1 << 20)
    client.read(server.address, "e0-1", 0, 10)
    os.unlink(folders.path("e0-1", "memory"))
    with pytest.raises(BlockGone):
        while True:
            client.read(server.address, "e0-1", 0, 10)


@pytest.mark.parametrize("medium", ["memory", "disk"])
@pytest.mark.parametrize("length", [1000, 1 << 20])
def test_a_segment_that_was_cut_is_gone(
    server: ServerProcess, client: BlockClient, folders: Folders, fill: Fill,
    medium: Medium, length: int,
) -> None:  # fmt: skip
    fill("e0-1", 1 << 20, medium)
    client.read(server.address, "e0-1", 0, length, medium)
    os.truncate(folders.path("e0-1", medium), 0)
    with pytest.raises(BlockGone):
        client.read(server.address, "e0-1", 0, length, medium)
    client.ping(server.address)


def test_a_segment_that_has_grown_is_read_to_its_end(
    server: ServerProcess, client: BlockClient, folders: Folders, fill: Fill
) -> None:
    data = fill("e0-1", 100, "disk")
    client.read(server.address, "e0-1", 0, 100, "disk")
    with open(folders.path("e0-1", "disk"), "ab") as file:
        file.write(b"more")
    assert client.read(server.address, "e0-1", 0, 104, "disk") == data + b"more"


def test_links_and_pipes_are_no_segments(
    server: ServerProcess, client: BlockClient, folders: Folders, tmp_path: Path
) -> None:
    (tmp_path / "private").write_bytes(b"private")
    os.symlink(tmp_path / "private", folders.path("e0-1", "memory"))
    os.mkfifo(folders.path("e0-2", "memory"))
    for segment in "e0-1", "e0-2":
        with pytest.raises(BlockGone):
            client.read(server.address, segment, 0, 0)


def test_a_killed_server_is_lost(
    start: Callable[..., ServerProcess], client: BlockClient, fill: Fill
) -> None:
    fill("e0-1", 100)
    server = start()
    client.read(server.address, "e0-1", 0, 10)
    server.process.kill()
    server.process.wait()
    with pytest.raises(PeerLost) as lost:
        client.read(server.address, "e0-1", 0, 10)
    assert isinstance(lost.value, OSError)


def test_a_connection_that_the_server_closed_is_opened_again(
    start: Callable[..., ServerProcess], client: BlockClient, secret: bytes, fill: Fill
) -> None:
    data = fill("e0-1", 100)
    server = start(connections=1)
    other = BlockClient(secret)
    for _ in range(5):
        assert client.read(server.address, "e0-1", 0, 100) == data
        assert other.read(server.address, "e0-1", 0, 100) == data
        other.write(server.address, "e1-1", 0, [b"again"], 10)
        client.write(server.address, "e1-1", 0, [b"again"], 10)
    other.close()


def test_descriptors_do_not_leak(
    server: ServerProcess, client: BlockClient, secret: bytes, fill: Fill
) -> None:
    for number in range(20):
        fill(f"e0-{number}", 100)
        client.read(server.address, f"e0-{number}", 0, 100)
    before = len(fds_of(server)), len(os.listdir("/proc/self/fd"))
    for number in range(1000):
        client.read(server.address, f"e0-{number % 20}", 0, 100)
        with pytest.raises(BlockGone):
            client.read(server.address, "e0-99", 0, 100)
    for _ in range(50):
        other = BlockClient(secret)
        other.ping(server.address)
        other.close()
    client.ping(server.address)
    assert len(fds_of(server)) <= before[0] + 1
    assert len(os.listdir("/proc/self/fd")) == before[1]


def test_few_files_are_open_at_once(
    start: Callable[..., ServerProcess], client: BlockClient, fill: Fill
) -> None:
    server = start(files=4)
    data = [fill(f"e0-{number}", 1000) for number in range(20)]
    for _ in range(2):
        for number in range(20):
            assert client.read(server.address, f"e0-{number}", 0, 1000) == data[number]
    assert len({target for target in fds_of(server) if "e0-" in target}) == 4


def test_a_forked_child_does_not_write_into_its_parents_memory(
    server: ServerProcess, client: BlockClient, fill: Fill, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(buffers, "mapped", buffers.shared)
    data = fill("e0-1", 1 << 20)
    fill("e0-2", 1 << 20)
    client.read(server.address, "e0-1", 0, 1 << 20)
    child = os.fork()
    if child == 0:
        client.read(server.address, "e0-2", 0, 1 << 20)
        os._exit(0)
    assert os.waitpid(child, 0)[1] == 0
    assert client.buffers.take(1 << 20) == data


def test_a_forked_child_talks_for_itself(
    server: ServerProcess, client: BlockClient, fill: Fill
) -> None:
    data = fill("e0-1", SIZE)
    client.read(server.address, "e0-1", 0, SIZE)
    child = os.fork()
    if child == 0:
        right = all(client.read(server.address, "e0-1", n, 1 << 20) == data[n : n + (1 << 20)]
                    for n in range(50))  # fmt: skip
        os._exit(0 if right else 1)
    for n in range(50):
        start = SIZE - (1 << 20) - n
        view = client.read(server.address, "e0-1", start, 1 << 20)
        assert view == data[start : start + (1 << 20)]
    assert os.waitpid(child, 0)[1] == 0
