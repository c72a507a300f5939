"""Broadcasts are fetched once a node, however many processes want them at once."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from pyrite.blocks.segments import Folders
from pyrite.execute.nodecopies import NodeCopies
from pyrite.ids import BlockRef, NodeId

FAR = BlockRef(NodeId("driver"), "driver-3", 160, 1 << 20)


@pytest.fixture
def folders(tmp_path: Path) -> Folders:
    (tmp_path / "memory").mkdir()
    return Folders(str(tmp_path / "memory"), str(tmp_path), NodeId("node-0"))


def test_many_processes_fetch_once(folders: Folders, tmp_path: Path) -> None:
    log = tmp_path / "fetched"
    log.touch()

    def fetch(ref: BlockRef) -> memoryview:
        with open(log, "a") as file:
            file.write("fetched\n")
        return memoryview(bytes([ref.offset]) * ref.length)

    children = []
    for _ in range(6):
        pid = os.fork()
        if pid == 0:
            seen = bytes(NodeCopies(folders, fetch).view(FAR))
            os._exit(0 if seen == bytes([160]) * FAR.length else 1)
        children.append(pid)
    assert [os.waitpid(pid, 0)[1] for pid in children] == [0] * 6
    assert log.read_text() == "fetched\n"


def test_the_own_node_is_read_in_place(folders: Folders) -> None:
    near = FAR._replace(node=NodeId("node-0"))
    copies = NodeCopies(folders, lambda ref: memoryview(b"here"))
    assert copies.view(near) == b"here"
    assert os.listdir(folders.memory) == []


def test_copies_go_with_their_segment(folders: Folders) -> None:
    copies = NodeCopies(folders, lambda ref: memoryview(bytes(ref.length)))
    view = copies.view(FAR)
    copies.view(FAR._replace(offset=0, length=5))
    copies.view(FAR._replace(segment="driver-4"))
    copies.forget(["driver-3", "driver-5"])
    assert sorted(os.listdir(folders.memory)) == ["copy-driver-4-160", "copy-driver-4-160-lock"]
    assert len(view) == FAR.length


def test_what_can_not_be_fetched_leaves_no_copy(folders: Folders) -> None:
    def fail(ref: BlockRef) -> memoryview:
        raise FileNotFoundError(ref.segment)

    with pytest.raises(FileNotFoundError, match="driver-3"):
        NodeCopies(folders, fail).view(FAR)
    found = NodeCopies(folders, lambda ref: memoryview(bytes(ref.length))).view(FAR)
    assert len(found) == FAR.length


def test_copies_of_other_nodes_are_taken(folders: Folders) -> None:
    asked: list[tuple[str, str, int]] = []

    def fetch(ref: BlockRef) -> memoryview:
        asked.append((ref.node, ref.segment, ref.offset))
        if ref.node == "node-1":
            raise FileNotFoundError(ref.segment)
        return memoryview(bytes(ref.length))

    copies = NodeCopies(folders, fetch)
    copies.learn("driver-3", 160, [NodeId("node-1"), NodeId("node-2")])
    assert len(copies.view(FAR)) == FAR.length
    assert asked == [("node-1", "copy-driver-3-160", 0), ("node-2", "copy-driver-3-160", 0)]
    assert copies.take_made() == [("driver-3", 160)] and copies.take_made() == []
    # Once here, it is asked for no more.
    copies.view(FAR)
    assert len(asked) == 2 and copies.take_made() == []


def test_without_any_holder_left_it_comes_from_where_it_was_made(folders: Folders) -> None:
    def fetch(ref: BlockRef) -> memoryview:
        if ref.node != "driver":
            raise ConnectionError("lost")
        return memoryview(bytes(ref.length))

    copies = NodeCopies(folders, fetch)
    copies.learn("driver-3", 160, [NodeId("node-1")])
    assert len(copies.view(FAR)) == FAR.length
    copies.learn("driver-4", 0, [NodeId("node-1")])
    copies.forget(["driver-4"])
    assert copies.holders == {"driver-3": {}}
