"""Members of a real ring are killed, leave and come back while files are read and written."""

from __future__ import annotations

import os
import threading
from typing import Any

import fsspec
import pytest
from realrings import RealRing, wait_until

from pyrite.dht.client import DhtClient
from pyrite.ring.errors import RingUnavailable

RING = "kills"
SIZE = 300_000
# Members that get no processor for two seconds are taken for dead.
pytestmark = pytest.mark.alone


class Traffic:
    """Threads that write files and read them again, until they are stopped."""

    def __init__(self, fs: Any, folder: str, threads: int = 3) -> None:
        self.fs = fs
        self.folder = folder
        self.written: dict[str, bytes] = {}
        self.wrong: list[str] = []
        self._ends = threading.Event()
        self._threads = [
            threading.Thread(target=self._run, args=(number,)) for number in range(threads)
        ]

    def __enter__(self) -> Traffic:
        self.fs.makedirs(self.folder, exist_ok=True)
        for thread in self._threads:
            thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._ends.set()
        for thread in self._threads:
            thread.join()

    def _run(self, number: int) -> None:
        turn = 0
        while not self._ends.is_set():
            path, data = f"{self.folder}/{number}-{turn}", os.urandom(SIZE)
            turn += 1
            try:
                self.fs.pipe_file(path, data)
                self.written[path] = data
                for known, expected in list(self.written.items())[-3:]:
                    if self.fs.cat_file(known) != expected:
                        self.wrong.append(f"{known} has other bytes")
            except Exception as error:
                self.wrong.append(f"{path}: {type(error).__name__}: {error}")
                return


@pytest.mark.timeout(400)
def test_any_member_may_be_killed_while_files_are_read_and_written(ring: RealRing) -> None:
    fs = fsspec.filesystem("dht", ring=ring.name)
    victims = [ring.coordinator(), *range(5)]
    written: dict[str, bytes] = {}
    for round_, victim in enumerate(victims):
        with Traffic(fs, f"/kills/{round_}") as traffic:
            wait_until(lambda traffic=traffic: len(traffic.written) > 3, "some files")
            ring.kill(victim)
            count = len(traffic.written)
            wait_until(
                lambda traffic=traffic, count=count: (
                    bool(traffic.wrong) or len(traffic.written) > count + 6
                ),
                "files after the death",
            )
            ring.wait_whole(4)
        assert traffic.wrong == []
        written |= traffic.written
        ring.start(victim)
        ring.wait_whole(5)
    for path, data in written.items():
        assert fs.cat_file(path) == data
    assert sorted(fs.find("/kills")) == sorted(written)


@pytest.mark.timeout(200)
def test_a_member_leaves_in_order_and_comes_back_with_its_folder(ring: RealRing) -> None:
    fs = fsspec.filesystem("dht", ring=ring.name)
    data = os.urandom(SIZE)
    fs.pipe_file("/leaves", data)
    assert ring.stop(2) == 0
    ring.wait_whole(4)
    assert fs.cat_file("/leaves") == data
    ring.start(2)
    ring.wait_whole(5)
    assert fs.cat_file("/leaves") == data


@pytest.mark.timeout(200)
def test_a_minority_reads_and_does_not_write(ring: RealRing) -> None:
    fs = fsspec.filesystem("dht", ring=ring.name)
    data = os.urandom(SIZE)
    fs.pipe_file("/kept", data)
    for number in (0, 1, 2):
        ring.kill(number)
    client = DhtClient(ring.name)
    names = client.run(lambda names: names.list_below("/"))[0]
    assert "/kept" in names
    with pytest.raises(RingUnavailable):
        client.run(lambda names: names.make_folder("/refused"))
    client.close()
    for number in (0, 1, 2):
        ring.start(number)
    ring.wait_whole(5)
    assert fs.cat_file("/kept") == data
    assert not fs.exists("/refused")
    fs.makedirs("/works")
