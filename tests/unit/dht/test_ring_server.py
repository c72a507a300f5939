"""Members inside the test's own process: full disks, late blocks, and chores."""

from __future__ import annotations

import errno
import os
import socket
import threading
import time
from collections.abc import Iterator
from functools import partial
from pathlib import Path

import pytest

from pyrite.dht import filesystem
from pyrite.dht import store as stores
from pyrite.dht.blocks import ELSEWHERE, STORED, put_block
from pyrite.dht.chores import TRASH_S, RingChores
from pyrite.dht.client import DhtClient
from pyrite.dht.door import RingDoor
from pyrite.dht.filesystem import RingFileSystem
from pyrite.dht.folder import MemberFolder
from pyrite.dht.ringfile import enter_ring
from pyrite.dht.server import RingServer
from pyrite.dht.store import checksums_of
from pyrite.ring.names import FileBlock
from pyrite.ring.operations import DEAD_WRITER_S, Operations

COUNT = 3


@pytest.fixture(scope="module")
def servers(tmp_path_factory: pytest.TempPathFactory) -> Iterator[list[RingServer]]:
    folder = tmp_path_factory.mktemp("inside")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PYRITE_RINGS", str(folder / "rings"))
        made, listeners = [], []
        for number in range(COUNT):
            listener = socket.create_server(("127.0.0.1", 0))
            address = f"127.0.0.1:{listener.getsockname()[1]}"
            ring, is_first = enter_ring("inside", address, 4096)
            server = RingServer(MemberFolder(folder / f"m{number}"), address, ring.secret)
            door = RingDoor(server, listener, ring.secret)
            threading.Thread(target=door.run, daemon=True).start()
            server.start(ring.addresses, is_first)
            made.append(server)
            listeners.append(listener)
        until_s = time.monotonic() + 60
        while not all(
            server.process.is_whole and len(server.process.standing.view.members) == COUNT  # type: ignore[union-attr]
            for server in made
        ):
            assert time.monotonic() < until_s, "the ring never began"
            time.sleep(0.05)
        yield made
        for server, listener in zip(made, listeners, strict=True):
            server.stop()
            listener.close()


@pytest.fixture
def fs(servers: list[RingServer]) -> Iterator[RingFileSystem]:
    made = RingFileSystem("inside", skip_instance_cache=True)
    yield made
    made.client.close()


def test_a_full_disk_gives_enospc_and_leaves_nothing(
    servers: list[RingServer], fs: RingFileSystem, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = [dict(server.store.sizes()) for server in servers]
    with monkeypatch.context() as patch:
        patch.setattr(stores, "RESERVE_BYTES", 1 << 60)
        with pytest.raises(OSError) as caught:
            fs.pipe_file("/full", os.urandom(20_000))
        assert caught.value.errno == errno.ENOSPC
    assert not fs.exists("/full")
    assert [server.store.sizes() for server in servers] == before
    fs.pipe_file("/full", b"now there is room")
    assert fs.cat_file("/full") == b"now there is room"


def test_a_block_of_another_view_is_refused(servers: list[RingServer], fs: RingFileSystem) -> None:
    view = fs.client.view()
    data = memoryview(os.urandom(100))
    block = FileBlock(f"{5:032x}.0", 100, checksums_of(data))
    put = partial(put_block, fs.client.links, view.members[0], block=block, data=data)
    assert put(view=view.number - 1) == ELSEWHERE
    wrong = block._replace(checksums=(1,))
    told = put_block(fs.client.links, view.members[0], view.number, wrong, data)
    assert told == "the block changed on its way"
    assert put(view=view.number) == STORED
    fs.client.drop([block])


def test_trash_goes_after_a_minute_and_orphans_after_an_hour(
    servers: list[RingServer], fs: RingFileSystem
) -> None:
    fs.pipe_file("/gone", os.urandom(10_000))
    fs.pipe_file("/stays", os.urandom(10_000))
    names = [block.name for block in fs.file_at("/gone").blocks]
    kept = [block.name for block in fs.file_at("/stays").blocks]
    orphan = fs.client.put(memoryview(b"of a dead writer"), f"{9:032x}", 0).name
    fs.rm("/gone")
    chores = [RingChores(server, DhtClient("inside")) for server in servers]

    def there(name: str) -> bool:
        return any(name in server.process.repair.blocks for server in servers)

    for each in chores:
        each.tidy(time.time() + TRASH_S / 2)
    assert all(there(name) for name in names)
    for each in chores:
        each.tidy(time.time() + TRASH_S + 1)
    assert not any(there(name) for name in names)
    for each in chores:
        assert each.remove_orphans(time.time() + DEAD_WRITER_S / 2) == 0
    assert sum(each.remove_orphans(time.time() + DEAD_WRITER_S + 1) for each in chores) == COUNT
    assert not there(orphan) and all(there(name) for name in kept)
    for each in chores:
        each.client.close()


def test_a_rename_that_was_left_half_done_is_ended(
    servers: list[RingServer], fs: RingFileSystem, monkeypatch: pytest.MonkeyPatch
) -> None:
    fs.pipe_file("/half", b"renamed")
    with monkeypatch.context() as patch:
        # The client dies when the rename has happened.
        patch.setattr(Operations, "finish", lambda self, path: iter(()))
        fs.mv("/half", "/whole")
    assert fs.cat_file("/whole") == b"renamed" and not fs.exists("/half")
    assert [each for each in fs.ls("/", detail=False) if each in ("/half", "/whole")] == ["/whole"]
    fs.pipe_file("/whole", b"written over")
    assert fs.cat_file("/whole") == b"written over"


def test_users_do_not_change_each_others_files_by_mistake(
    servers: list[RingServer], fs: RingFileSystem, monkeypatch: pytest.MonkeyPatch
) -> None:
    fs.pipe_file("/mine", b"mine")
    monkeypatch.setattr(filesystem, "user_name", lambda: "somebody else")
    assert fs.cat_file("/mine") == b"mine"
    for change in (
        lambda: fs.pipe_file("/mine", b"yours"),
        lambda: fs.rm("/mine"),
        lambda: fs.mv("/mine", "/yours"),
        lambda: fs.chmod("/mine", 0o666),
    ):
        with pytest.raises(PermissionError, match="belongs to"):
            change()
    monkeypatch.undo()
    fs.chmod("/mine", 0o600)
    monkeypatch.setattr(filesystem, "user_name", lambda: "somebody else")
    with pytest.raises(PermissionError, match="alone"):
        fs.cat_file("/mine")
    monkeypatch.undo()
    fs.chmod("/mine", 0o666)
    monkeypatch.setattr(filesystem, "user_name", lambda: "somebody else")
    fs.rm("/mine")


def test_a_folder_is_in_use_as_long_as_its_member_runs(
    servers: list[RingServer], tmp_path: Path
) -> None:
    with pytest.raises(Exception, match="in use"):
        MemberFolder(servers[0].folder.path)
