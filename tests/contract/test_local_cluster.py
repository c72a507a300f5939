"""Several nodes on one machine: blocks cross between them, and the loss of one is made good."""

import os
import signal
import subprocess
import sys
from collections.abc import Callable
from operator import add
from typing import Any

import pytest
from marks import wait_until

from pyrite import SparkContext, StorageLevel

Start = Callable[..., SparkContext]

MASTER = "local-cluster[2,1,512m]"


def nodes_of(sc: SparkContext) -> dict[str, Any]:
    return sc._engine.cluster.nodes  # type: ignore[attr-defined, no-any-return]


def counts(sc: SparkContext) -> list[tuple[int, int]]:
    pairs = sc.range(1000, numSlices=6).map(lambda x: (x % 7, 1))
    return sorted(pairs.reduceByKey(add, 4).collect())


EXPECTED = [(key, len(range(key, 1000, 7))) for key in range(7)]


def test_every_node_has_its_executors_and_its_own_pool(start: Start) -> None:
    sc = start(MASTER)
    scheduler = sc._engine.scheduler
    wait_until(lambda: len(scheduler.executors) == 2, "two executors")
    assert {each.node for each in scheduler.executors.values()} == {"node-0", "node-1"}
    sizes = {name: pool.capacity_bytes for name, pool in scheduler.ledger.pools.items()}
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


@pytest.mark.parametrize("part", ["forge", "server"])
def test_a_node_that_dies_loses_its_blocks_only(start: Start, part: str) -> None:
    sc = start(MASTER)
    pairs = sc.range(1000, numSlices=6).map(lambda x: (x % 7, x)).persist(StorageLevel.OFF_HEAP)
    grouped = pairs.groupByKey(4).mapValues(sum)
    expected = sorted(grouped.collect())
    node = nodes_of(sc)["node-1"]
    process = node.launcher.process if part == "forge" else node.server.process
    os.kill(process.pid, signal.SIGKILL)
    assert sorted(grouped.collect()) == expected
    assert pairs.count() == 1000
    wait_until(lambda: nodes_of(sc).get("node-1") not in (None, node), "the node's return")
    assert counts(sc) == EXPECTED


def test_folders_and_processes_go_with_the_context(start: Start) -> None:
    sc = start(MASTER)
    assert counts(sc) == EXPECTED
    nodes = list(nodes_of(sc).values())
    sc.stop()
    for node in nodes:
        assert not os.path.exists(node.folders.memory) and not os.path.exists(node.folders.disk)
        assert node.server.process.poll() is not None


def test_nothing_is_left_of_a_driver_that_was_killed() -> None:
    program = (
        "import os, signal\n"
        "from pyrite import SparkContext\n"
        f"sc = SparkContext({MASTER!r})\n"
        "assert sc.range(10, numSlices=2).count() == 10\n"
        "nodes = sc._engine.cluster.nodes.values()\n"
        "print(*[path for node in nodes for path in node.folders[:2]], flush=True)\n"
        "os.kill(os.getpid(), signal.SIGKILL)\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, timeout=60, check=False
    )
    folders = done.stdout.split()
    assert len(folders) == 6, done.stderr
    wait_until(lambda: not any(map(os.path.exists, folders)), "the removal of the folders")
