"""Several nodes on one machine: blocks cross between them, and the loss of one is made good."""

import os
import signal
import subprocess
import sys
from collections.abc import Callable
from operator import add
from pathlib import Path
from threading import Event, Thread
from typing import Any

import psutil
import pytest
from checked import check_scheduler
from marks import wait_until
from nodeprocesses import PARTS, node_pid

from pyrite import RDD, SparkContext, StorageLevel
from pyrite.cluster.node import meeting
from pyrite.cluster.real import nodes
from pyrite.errors import ClusterError, UserError
from pyrite.remote.protocol import is_segment

Start = Callable[..., SparkContext]

MASTER = "local-cluster[2,1,512m]"


# Tasks that wait for each other: one on each node.
def lengths_on_all(sc: SparkContext, count: int, value: Any) -> list[int]:
    rows = sc.range(count, numSlices=count).barrier()
    return rows.mapPartitions(lambda rows: [len(value.value)]).collect()


def nodes_of(sc: SparkContext) -> dict[str, Any]:
    return sc._engine.cluster.nodes  # type: ignore[attr-defined, no-any-return]


def counts(sc: SparkContext) -> list[tuple[int, int]]:
    pairs = sc.range(1000, numSlices=6).map(lambda x: (x % 7, 1))
    return sorted(pairs.reduceByKey(add, 4).collect())


EXPECTED = [(key, len(range(key, 1000, 7))) for key in range(7)]


def test_every_node_has_its_executors_and_its_own_pool(start: Start) -> None:
    sc = start(MASTER)
    scheduler = sc._engine.scheduler
    wait_until(lambda: len(scheduler.fleet) == 2, "two executors")
    assert {each.node for each in scheduler.fleet} == {"node-0", "node-1"}
    sizes = {name: pool.capacity_bytes for name, pool in scheduler.storage.ledger.pools.items()}
    assert sizes == dict.fromkeys(["driver", "node-0", "node-1"], 128 << 20)


def test_shuffles_broadcasts_and_large_results_cross_nodes(start: Start) -> None:
    sc = start(MASTER)
    assert counts(sc) == EXPECTED
    table = sc.broadcast(list(range(5000)))
    assert sc.range(4, numSlices=4).map(lambda x: len(table.value)).collect() == [5000] * 4
    large = sc.range(4, numSlices=4).map(lambda x: bytes([x]) * (1 << 20)).collect()
    assert large == [bytes([x]) * (1 << 20) for x in range(4)]
    kept = sc.range(20_000, numSlices=4).persist(StorageLevel.OFF_HEAP)
    assert kept.sum() == kept.coalesce(1).sum() == sum(range(20_000))


def test_a_broadcast_comes_from_nodes_that_have_it(start: Start) -> None:
    sc = start("local-cluster[3,1,512m]")
    wait_until(lambda: len(sc._engine.scheduler.fleet) == 3, "three executors")
    size = 8 << 20
    table = sc.broadcast(bytes(size))
    assert sc.range(1, numSlices=1).map(lambda x: len(table.value)).collect() == [size]
    # The driver sends it no more.
    server = sc._engine.cluster.own.storage.server.process.pid  # type: ignore[attr-defined]
    os.kill(server, signal.SIGSTOP)
    try:
        assert lengths_on_all(sc, 3, table) == [size] * 3
    finally:
        os.kill(server, signal.SIGCONT)


def test_a_broadcast_comes_from_the_driver_where_copies_are_gone(start: Start) -> None:
    sc = start("local-cluster[3,1,512m]")
    wait_until(lambda: len(sc._engine.scheduler.fleet) == 3, "three executors")
    size = 8 << 20
    table = sc.broadcast(bytes(size))
    assert sc.range(1, numSlices=1).map(lambda x: len(table.value)).collect() == [size]
    # Whose copy is gone is passed over.
    for node in nodes_of(sc).values():
        for copy in Path(node.folders.memory).glob("copy-*"):
            copy.unlink()
    assert lengths_on_all(sc, 3, table) == [size] * 3


def test_copies_that_a_killed_executor_left_go_with_their_broadcast(start: Start) -> None:
    sc = start("local-cluster[1,1,512m]")
    # Larger than a segment that others are packed into, and followed by another: so it is dropped.
    table, _ = [sc.broadcast(bytes(20 << 20)) for _ in range(2)]
    task = sc.range(1, numSlices=1).map(lambda x: len(table.value) and os.getpid())
    [executor] = task.collect()
    [name] = [name for name in nodes_of(sc) if name.startswith("node-")]
    folder = Path(nodes_of(sc)[name].folders.memory)
    assert list(folder.glob("copy-*"))
    agent = psutil.Process(node_pid(sc, name, "agent"))
    # The agent starts the next executor when nobody speaks of the broadcast any more.
    agent.suspend()
    try:
        os.kill(executor, signal.SIGKILL)
        table.destroy()
        holders = sc._engine.cluster.conversation.holders  # type: ignore[attr-defined]
        wait_until(lambda: not holders.nodes, "the broadcast's end")
    finally:
        agent.resume()
    wait_until(lambda: not list(folder.glob("copy-*")), "the end of its copies")
    assert sc.range(1, numSlices=1).count() == 1


@pytest.mark.parametrize("part", PARTS)
def test_a_node_that_dies_loses_its_blocks_only(start: Start, part: str) -> None:
    sc = start(MASTER)
    pairs = sc.range(1000, numSlices=6).map(lambda x: (x % 7, x)).persist(StorageLevel.OFF_HEAP)
    grouped = pairs.groupByKey(4).mapValues(sum)
    expected = sorted(grouped.collect())
    node = nodes_of(sc)["node-1"]
    os.kill(node_pid(sc, "node-1", part), signal.SIGKILL)
    assert sorted(grouped.collect()) == expected
    assert pairs.count() == 1000
    wait_until(lambda: nodes_of(sc).get("node-1") not in (None, node), "the node's return")
    assert counts(sc) == EXPECTED


def test_a_node_that_dies_leaves_the_others_folders_alone(start: Start) -> None:
    sc = start("local-cluster[2,1,512m,1x64m]")
    table = sc.broadcast(bytes(1 << 20))
    assert counts(sc) == EXPECTED
    lost, *others = nodes_of(sc)["node-1"], nodes_of(sc)["driver"], nodes_of(sc)["storage-0"]
    agent = psutil.Process(node_pid(sc, "node-1", "agent"))
    os.kill(node_pid(sc, "node-1", "server"), signal.SIGKILL)
    wait_until(lambda: not agent.is_running(), "the end of its agent")
    wait_until(lambda: not os.path.exists(lost.folders.memory), "the end of its folders")
    for node in others:
        assert os.path.isdir(node.folders.memory) and os.path.isdir(node.folders.disk)
    assert sc.range(8, numSlices=8).map(lambda x: len(table.value)).collect() == [1 << 20] * 8


def test_the_second_copy_of_live_rows_lies_on_another_node(start: Start) -> None:
    sc = start(MASTER)
    computed = sc.accumulator(0)
    rows = sc.range(1000, numSlices=8).map(lambda x: computed.add(1) or x)
    kept = rows.persist(StorageLevel.MEMORY_ONLY_2)
    assert kept.sum() == sum(range(1000))
    assert all(node.borrowed_bytes + node.lent_bytes for node in sc.memory().nodes[1:])
    os.kill(node_pid(sc, "node-1", "agent"), signal.SIGKILL)
    assert kept.sum() == sum(range(1000))
    assert computed.value == 1000


def test_folders_and_processes_go_with_the_context(start: Start) -> None:
    sc = start(MASTER)
    assert counts(sc) == EXPECTED
    nodes = list(nodes_of(sc).values())
    pids = [node_pid(sc, name, part) for name in ("node-0", "node-1") for part in PARTS]
    pids.append(node_pid(sc, "driver", "server"))
    sc.stop()
    for node in nodes:
        assert not os.path.exists(node.folders.memory) and not os.path.exists(node.folders.disk)
    assert not any(map(psutil.pid_exists, pids))


def test_nothing_is_left_of_a_driver_that_was_killed() -> None:
    program = (
        "import os, signal\n"
        "from pyrite import SparkContext\n"
        f"sc = SparkContext({MASTER!r})\n"
        "sc.addStorageNode('16m')\n"
        "assert sc.range(10, numSlices=2).count() == 10\n"
        "assert len(sc.memory().nodes) == 4\n"
        "nodes = sc._engine.cluster.nodes.values()\n"
        "print(*[path for node in nodes for path in node.folders[:2]], flush=True)\n"
        "os.kill(os.getpid(), signal.SIGKILL)\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, timeout=60, check=False
    )
    folders = done.stdout.split()
    assert len(folders) == 8, done.stderr
    wait_until(lambda: not any(map(os.path.exists, folders)), "the removal of the folders")


# Pools of 8 MB beside a storage-only node of 64 MB.
POOLED = "local-cluster[2,1,512m,1x64m]"
MIB = 1 << 20


def agree(sc: SparkContext) -> None:
    """What lies in the nodes' memory is what the ledger says, and no more than fits."""
    wait_until(lambda: in_memory(sc) == in_ledger(sc), "files as in the ledger")
    # Agents remove segments after the ledger has forgotten them.
    wait_until(lambda: sizes_agree(sc), "sizes as in the ledger")
    check_scheduler(sc._engine)


def sizes_agree(sc: SparkContext) -> bool:
    nodes = sc.memory().nodes
    for node in nodes:
        assert sum(node.rdds.values()) <= node.used_bytes <= node.size_bytes
    return all(bytes_on(sc, node.node) == node.used_bytes for node in nodes)


def bytes_on(sc: SparkContext, node: str) -> int:
    folder = nodes_of(sc)[node].folders.memory
    with os.scandir(folder) as entries:
        return sum(each.stat().st_size for each in entries if is_segment(each.name.encode()))


def in_memory(sc: SparkContext) -> set[tuple[str, str]]:
    return {
        (name, file)
        for name, node in list(nodes_of(sc).items())
        for file in os.listdir(node.folders.memory)
        if is_segment(file.encode())
    }


def in_ledger(sc: SparkContext) -> set[tuple[str, str]]:
    segments = list(sc._engine.scheduler.storage.ledger.segments.values())
    return {(each.place, each.name) for each in segments if each.in_memory}


def megabytes(sc: SparkContext, count: int) -> RDD[bytes]:
    """Partitions of a megabyte each, kept in the pools."""
    rows = sc.range(count, numSlices=count).map(lambda x: bytes([x]) * MIB)
    return rows.persist(StorageLevel.OFF_HEAP)


def total(rdd: RDD[bytes]) -> int:
    return rdd.map(lambda row: sum(row[:: MIB // 4])).sum()


def used(sc: SparkContext, node: str) -> int:
    [found] = [each.used_bytes for each in sc.memory().nodes if each.node == node]
    return found


class TestOnePool:
    """All memories are one: what does not fit here lies there, and is found again."""

    def test_what_does_not_fit_lies_on_a_storage_only_node(self, start: Start) -> None:
        sc = start(POOLED, pyrite__pool__memory="8m")
        rdd = megabytes(sc, 24)
        assert total(rdd) == total(rdd) == 4 * sum(range(24))
        agree(sc)
        report = sc.memory()
        assert [node.storage_only for node in report.nodes] == [False, False, False, True]
        assert report.nodes[0].lent_bytes == 0, "the driver's pool takes nothing of others"
        assert report.nodes[3].lent_bytes == report.nodes[3].used_bytes > 4 * MIB
        assert sum(node.borrowed_bytes for node in report.nodes) > 4 * MIB
        assert sum(node.rdds.get(rdd.id(), 0) for node in report.nodes) > 24 * MIB
        assert (report.hits.disk, report.hits.recomputed, report.spilled_bytes) == (0, 0, 0)
        assert report.hits.remote > 0 and report.hits.pool + report.hits.remote == 24
        rdd.unpersist()
        wait_until(lambda: not any(node.rdds for node in sc.memory().nodes), "empty pools")
        agree(sc)

    def test_a_storage_only_node_that_dies_loses_its_blocks_only(self, start: Start) -> None:
        sc = start(POOLED, pyrite__pool__memory="8m")
        rdd = megabytes(sc, 24)
        assert total(rdd) == 4 * sum(range(24))
        node = nodes_of(sc)["storage-0"]
        wait_until(lambda: len(sc._engine.scheduler.fleet) == 2, "two executors")
        executors = [each.id for each in sc._engine.scheduler.fleet]
        os.kill(node_pid(sc, "storage-0", "server"), signal.SIGKILL)
        assert total(rdd) == 4 * sum(range(24))
        wait_until(lambda: nodes_of(sc).get("storage-0") not in (None, node), "its return")
        assert total(rdd) == 4 * sum(range(24))
        assert [each.id for each in sc._engine.scheduler.fleet] == executors
        assert 0 < sc.memory().hits.recomputed < 24
        agree(sc)

    def test_storage_only_nodes_come_and_go_while_jobs_run(self, start: Start) -> None:
        sc = start("local-cluster[2,1,512m]", pyrite__pool__memory="8m")
        found: list[int] = []
        enough = Event()

        def run_jobs() -> None:
            while not enough.is_set():
                rdd = megabytes(sc, 24)
                found.extend((total(rdd), total(rdd)))

        jobs = Thread(target=run_jobs)
        jobs.start()
        try:
            name = sc.addStorageNode("64m")
            wait_until(lambda: used(sc, name) > 0, "blocks on the new node")
            sc.removeStorageNode(name)
            wait_until(lambda: name not in nodes_of(sc), "its leave")
        finally:
            enough.set()
            jobs.join()
        assert set(found) == {4 * sum(range(24))}
        assert [node.node for node in sc.memory().nodes] == ["driver", "node-0", "node-1"]
        agree(sc)

    def test_blocks_of_a_node_that_leaves_are_not_computed_again(self, start: Start) -> None:
        sc = start("local-cluster[1,1,512m,1x64m]", pyrite__pool__memory="4m")
        rdd = megabytes(sc, 12)
        assert total(rdd) == 4 * sum(range(12))
        name = sc.addStorageNode("64m")
        sc.removeStorageNode("storage-0")
        wait_until(lambda: "storage-0" not in nodes_of(sc), "its leave")
        assert total(rdd) == 4 * sum(range(12))
        report = sc.memory()
        assert report.hits.recomputed == 0 and report.moved_bytes > 4 * MIB
        assert used(sc, name) > 4 * MIB
        agree(sc)

    @pytest.mark.parametrize("node", ["storage-1", "node-0", "driver"])
    def test_only_storage_only_nodes_can_be_removed(self, start: Start, node: str) -> None:
        sc = start("local-cluster[1,1,512m,1x64m]")
        with pytest.raises(UserError, match="storage-0"):
            sc.removeStorageNode(node)

    def test_without_other_nodes_there_are_no_storage_only_ones(self, start: Start) -> None:
        with pytest.raises(UserError, match="local-cluster"):
            start("local[1]").addStorageNode("64m")

    def test_arrays_are_used_in_place(self, start: Start) -> None:
        numpy = pytest.importorskip("numpy")
        sc = start("local-cluster[1,1,512m]")
        rdd = sc.parallelize([0], 1).map(lambda x: numpy.arange(MIB)).persist(StorageLevel.OFF_HEAP)
        assert rdd.map(lambda row: int(row.sum())).collect() == [MIB * (MIB - 1) // 2]
        [(writable, file, same)] = rdd.map(look_at).collect()
        assert not writable and same
        [segment] = [name for place, name in in_ledger(sc) if place == "node-0"]
        assert os.path.basename(file) == segment

    def test_memory_only_partitions_that_do_not_fit_are_computed_again(self, start: Start) -> None:
        sc = start(MASTER, pyrite__pool__memory="4m", pyrite__cache__liveRows="false")
        rows = sc.range(16, numSlices=16).map(lambda x: bytes([x]) * MIB)
        rdd = rows.persist(StorageLevel.MEMORY_ONLY)
        assert total(rdd) == total(rdd) == 4 * sum(range(16))
        hits = sc.memory().hits
        assert hits.disk == hits.live == 0
        assert hits.pool + hits.remote > 0 and hits.recomputed > 0
        assert hits.pool + hits.remote + hits.recomputed == 16
        assert sc.memory().spilled_bytes == 0
        agree(sc)

    def test_blocks_larger_than_every_pool_go_to_disk(self, start: Start) -> None:
        sc = start("local-cluster[2,1,512m,1x3m]", pyrite__pool__memory="2m")
        rows = sc.range(4, numSlices=4).map(lambda x: bytes([x]) * (5 * MIB))
        rdd = rows.persist(StorageLevel.OFF_HEAP)
        for _ in range(2):
            assert rdd.map(lambda row: (row[0], len(row))).collect() == [
                (x, 5 * MIB) for x in range(4)
            ]
        report = sc.memory()
        assert (report.hits.disk, report.hits.recomputed) == (4, 0)
        assert report.spilled_bytes > 20 * MIB
        agree(sc)

    def test_pools_of_zero_keep_everything_on_disk(self, start: Start) -> None:
        sc = start(MASTER, pyrite__pool__memory="0")
        rdd = megabytes(sc, 4)
        assert total(rdd) == total(rdd) == 4 * sum(range(4))
        assert counts(sc) == EXPECTED
        assert sc.memory().hits.disk == 4
        assert in_memory(sc) == set()
        agree(sc)


def look_at(array: Any) -> tuple[bool, str, bool]:
    """Whether an array can be written, which file its bytes lie in, and whether they are right."""
    address = array.ctypes.data
    with open("/proc/self/maps") as maps:
        for line in maps:
            first, last = (int(each, 16) for each in line.split()[0].split("-"))
            if first <= address < last:
                return array.flags.writeable, line.split()[-1], int(array[-1]) == MIB - 1
    raise AssertionError("its bytes lie nowhere")


def test_a_node_that_is_asked_to_leave_loses_nothing(start: Start) -> None:
    sc = start("local-cluster[3,1,512m]")
    computed = sc.accumulator(0)
    pairs = sc.range(1000, numSlices=6).map(lambda x: computed.add(1) or (x % 7, 1))
    summed = pairs.reduceByKey(add, 4)
    kept = sc.range(1000, numSlices=6).persist(StorageLevel.OFF_HEAP)
    assert sorted(summed.collect()) == EXPECTED and kept.sum() == sum(range(1000))
    sc.removeNode("node-1")
    wait_until(lambda: "node-1" not in nodes_of(sc), "its end")
    assert sorted(summed.collect()) == EXPECTED and kept.sum() == sum(range(1000))
    assert computed.value == 1000 and sc.memory().hits.recomputed == 0
    sc.removeNode("node-0")
    wait_until(lambda: "node-0" not in nodes_of(sc), "its end")
    with pytest.raises(UserError, match="the last node that runs tasks"):
        sc.removeNode("node-2")
    assert sorted(summed.collect()) == EXPECTED


def test_a_node_of_other_versions_is_named_with_both(
    start: Start, monkeypatch: pytest.MonkeyPatch
) -> None:
    # The driver's, as if it had been installed elsewhere.
    other = b"Python 3.1, Pyrite 0.0.1, protocol 0".ljust(meeting.VERSIONS_BYTES)
    for module in (meeting, nodes):
        monkeypatch.setattr(module, "own_versions", lambda: other)
    said = r"node-0 has Python 3\.\d\d, Pyrite .*, and the driver has Python 3\.1, Pyrite 0\.0\.1"
    with pytest.raises(ClusterError, match=said) as raised:
        start("local-cluster[1,1,512m]")
    assert "install the same versions on all nodes" in str(raised.value)
    assert "\n" not in str(raised.value)
