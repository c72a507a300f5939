"""A real Ray on loopback: two nodes that run tasks, and one that only lends memory."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
from collections.abc import Callable
from operator import add
from pathlib import Path
from typing import Any

import psutil
import pytest
from adapters import RETRYING
from marks import Marks, wait_until
from nodeprocesses import node_pid
from programs import run_program
from raycluster import ENVIRONMENT, shared_ray

from pyrite import SparkContext, SparkFiles
from pyrite.errors import ClusterError, Refused, UserError

Start = Callable[..., SparkContext]

EXPECTED = [(key, len(range(key, 1000, 7))) for key in range(7)]
HOSTS = ["node-0", "node-1", "node-2"]

pytestmark = pytest.mark.timeout(300)


@pytest.fixture(scope="module")
def adapter() -> str:
    return "ray with retries"


def nodes_of(sc: SparkContext) -> dict[str, Any]:
    return sc._engine.cluster.nodes  # type: ignore[attr-defined, no-any-return]


def counts(sc: SparkContext) -> list[tuple[int, int]]:
    pairs = sc.range(1000, numSlices=6).map(lambda x: (x % 7, 1))
    return sorted(pairs.reduceByKey(add, 4).collect())


def wait_for_nodes(sc: SparkContext, count: int = 3) -> None:
    wait_until(lambda: len(nodes_of(sc)) == count + 1, f"{count} nodes beside the driver's")
    wait_until(lambda: len(sc._engine.scheduler.fleet) == count - 1, "their executors")


def busy_node(sc: SparkContext) -> str:
    """A node that runs tasks."""
    return next(node.id for node in nodes_of(sc).values() if node.executors)


def pids_on(sc: SparkContext, node: str) -> list[int]:
    """All processes of a node but its janitor."""
    links = list(sc._engine.cluster.by_id.values())  # type: ignore[attr-defined]
    executors = [each.pid for each in links if each.node == node and each.pid is not None]
    return [*(node_pid(sc, node, part) for part in ("agent", "server")), *executors]


def test_every_node_is_used(sc: SparkContext) -> None:
    wait_for_nodes(sc)
    assert counts(sc) == EXPECTED
    assert {each.node: each.storage_only for each in sc.memory().nodes[1:]} == {
        node.id: not node.executors for node in nodes_of(sc).values() if node.id != "driver"
    }
    assert [each.storage_only for each in sc.memory().nodes].count(True) == 1
    assert sc.defaultParallelism >= 1


def test_nothing_listens_beyond_loopback(sc: SparkContext) -> None:
    wait_for_nodes(sc)
    pids = [os.getpid(), *(pid for name in HOSTS for pid in pids_on(sc, name))]
    found = [
        # Ray's own sockets in the driver take both kinds of addresses.
        each.laddr.ip.removeprefix("::ffff:")
        for pid in pids
        for each in psutil.Process(pid).net_connections("tcp")
        if each.status == psutil.CONN_LISTEN
    ]
    assert len(found) >= 4 and set(found) == {"127.0.0.1"}


def test_the_secret_is_in_no_command_line_and_no_environment(sc: SparkContext) -> None:
    wait_for_nodes(sc)
    secret = sc._engine.cluster.secret.hex()  # type: ignore[attr-defined]
    for pid in (pid for name in HOSTS for pid in pids_on(sc, name)):
        process = psutil.Process(pid)
        for each in (process, process.parent()):
            assert each is not None and secret not in " ".join(each.cmdline())
            assert secret not in str(each.environ())
    assert secret not in str(sc._engine.story.text())


def test_broadcasts_files_and_large_results(sc: SparkContext, tmp_path: Path) -> None:
    (tmp_path / "words.txt").write_text("hello")
    (tmp_path / "shipped.py").write_text("def twice(x):\n    return 2 * x\n")
    table = sc.broadcast(list(range(5000)))
    assert sc.range(4, numSlices=4).map(lambda x: len(table.value)).collect() == [5000] * 4
    sc.addFile(str(tmp_path / "words.txt"))
    sc.addPyFile(str(tmp_path / "shipped.py"))
    # Each node has files of its own.
    root = SparkFiles.getRootDirectory()

    def look(x: int) -> tuple[str, int, bool]:
        from shipped import twice  # type: ignore[import-not-found]

        with open(SparkFiles.get("words.txt")) as file:
            return file.read(), twice(x), SparkFiles.getRootDirectory() != root

    found = sc.range(4, numSlices=4).map(look).collect()
    assert found == [("hello", 2 * x, True) for x in range(4)]
    large = sc.range(4, numSlices=4).map(lambda x: bytes([x]) * (1 << 20)).collect()
    assert large == [bytes([x]) * (1 << 20) for x in range(4)]


def test_what_tasks_print_says_where(sc: SparkContext, capfd: Any) -> None:
    sc.range(2, numSlices=2).foreach(lambda x: print("printed", x))
    shown: list[str] = []

    def is_shown() -> bool:
        shown.append(capfd.readouterr().err)
        return "".join(shown).count("printed") == 2

    wait_until(is_shown, "what both tasks print")
    assert "(node-" in "".join(shown) and ", executor " in "".join(shown)


def test_a_task_is_cancelled(sc: SparkContext, marks: Marks) -> None:
    import time
    from threading import Thread

    def run() -> None:
        sc.setJobGroup("sleepers", "to be cancelled", interruptOnCancel=True)
        with pytest.raises(Exception, match="cancelled"):
            sc.range(2, numSlices=2).foreach(lambda x: (marks.add("there"), time.sleep(600)))

    thread = Thread(target=run)
    thread.start()
    marks.wait("there", 1)
    sc.cancelJobGroup("sleepers")
    thread.join()
    assert counts(sc) == EXPECTED


@pytest.mark.parametrize("part", ["executor", "agent", "server", "janitor"])
def test_what_is_killed_is_replaced(sc: SparkContext, part: str) -> None:
    wait_for_nodes(sc)
    name = busy_node(sc)
    node = nodes_of(sc)[name]
    pids = pids_on(sc, name)
    if part == "executor":
        victim = pids[2]
    elif part == "janitor":
        victim = psutil.Process(pids[0]).ppid()
    else:
        victim = node_pid(sc, name, part)
    os.kill(victim, signal.SIGKILL)
    assert counts(sc) == EXPECTED
    if part != "executor":
        wait_until(lambda: nodes_of(sc).get(name) not in (None, node), "the node's return")
        wait_until(lambda: not os.path.exists(node.folders.memory), "the end of its folders")
    wait_for_nodes(sc)
    assert counts(sc) == EXPECTED


def test_a_death_report_ends_with_the_last_lines(start: Start) -> None:
    sc = start(spark__task__maxFailures=1)

    def die(x: int) -> None:
        print("about to die", flush=True)
        os.kill(os.getpid(), signal.SIGKILL)

    with pytest.raises(Exception, match=r"(?s)killed by SIGKILL.*about to die"):
        sc.range(1, numSlices=1).foreach(die)


def test_a_silent_node_is_given_up_and_fenced(start: Start) -> None:
    sc = start(pyrite__node__timeout="5s")
    wait_for_nodes(sc)
    name = busy_node(sc)
    node = nodes_of(sc)[name]
    pids = pids_on(sc, name)
    processes = [psutil.Process(pid) for pid in pids]
    for pid in pids:
        os.kill(pid, signal.SIGSTOP)
    try:
        assert counts(sc) == EXPECTED
        wait_until(lambda: nodes_of(sc).get(name) is not node, "the node's loss")
    finally:
        for process in processes:
            if process.is_running():
                process.send_signal(signal.SIGCONT)
    # It ends its executors and removes its files.
    wait_until(lambda: not any(each.is_running() for each in processes), "the end of the fenced")
    wait_until(lambda: not os.path.exists(node.folders.memory), "the end of its folders")
    wait_for_nodes(sc)
    assert counts(sc) == EXPECTED


def test_nodes_come_late_and_die(sc: SparkContext) -> None:
    wait_for_nodes(sc)
    ray = shared_ray()
    ray.order("add 1", "added")
    try:
        wait_for_nodes(sc, 4)
        assert counts(sc) == EXPECTED
    finally:
        ray.order("remove", "removed")
    assert counts(sc) == EXPECTED
    wait_for_nodes(sc, 3)
    assert counts(sc) == EXPECTED


def test_a_node_is_asked_to_leave(sc: SparkContext) -> None:
    wait_for_nodes(sc)
    shared_ray().order("add 1", "added")
    try:
        wait_for_nodes(sc, 4)
        pairs = sc.range(1000, numSlices=6).map(lambda x: (x % 7, 1)).reduceByKey(add, 4)
        assert sorted(pairs.collect()) == EXPECTED
        leaving = next(name for name in nodes_of(sc) if name not in (*HOSTS, "driver"))
        sc.removeNode(leaving)
        wait_for_nodes(sc, 3)
        assert leaving not in nodes_of(sc)
        assert sorted(pairs.collect()) == EXPECTED
    finally:
        shared_ray().order("remove", "removed")


KILLED = """
import os, signal
from pyrite import SparkConf, SparkContext
sc = SparkContext(conf=SparkConf(False).setAll({settings!r}.items()))
assert sc.range(10, numSlices=2).count() == 10
cluster = sc._engine.cluster
print(*[path for node in cluster.nodes.values() for path in node.folders[:2]])
print(*[pid for node in cluster.nodes.values() if node.hello
        for pid in (node.hello.pid, node.hello.server_pid)], flush=True)
os.kill(os.getpid(), signal.SIGKILL)
"""


def test_nothing_is_left_of_a_driver_that_was_killed(no_context: None) -> None:
    address = shared_ray().address
    settings = RETRYING["ray with retries"] | {"spark.master": f"ray[{address}]"}
    done = run_program(KILLED.format(settings=settings))
    assert done.returncode == -signal.SIGKILL, done.stderr
    # Ray may say something before.
    *_, folders, pids = (line.split() for line in done.stdout.splitlines())
    assert len(folders) >= 4 and len(pids) >= 2
    wait_until(lambda: not any(map(os.path.exists, folders)), "the removal of the folders")
    wait_until(lambda: not any(psutil.pid_exists(int(pid)) for pid in pids), "the processes' end")


IN_ENVIRONMENT = """
import ray
from pyrite import SparkConf, SparkContext
ray.init({address!r}, log_to_driver=False, runtime_env={{
    "working_dir": {folder!r}, "env_vars": {{"FROM_RAY": "yes"}}
}})
sc = SparkContext(conf=SparkConf(False).setAll({settings!r}.items()))
def look(x):
    import os
    from only_there import twice
    return twice(x), os.environ.get("FROM_RAY")
print("seen", sc.range(4, numSlices=4).map(look).collect())
sc.stop()
assert ray.is_initialized()
"""


def test_tasks_are_in_rays_runtime_environment(no_context: None, tmp_path: Path) -> None:
    (tmp_path / "only_there.py").write_text("def twice(x):\n    return 2 * x\n")
    settings = RETRYING["ray with retries"]
    address = shared_ray().address
    source = IN_ENVIRONMENT.format(address=address, folder=str(tmp_path), settings=settings)
    done = run_program(source)
    assert f"seen {[(2 * x, 'yes') for x in range(4)]}" in done.stdout, done.stderr


# What bad input gets: one line, with its cure.


@pytest.mark.parametrize("master", ["ray://10.0.0.1:10001", "ray[ray://10.0.0.1:10001]"])
def test_rays_client_is_refused(no_context: None, master: str) -> None:
    with pytest.raises((Refused, UserError), match="pyrite submit --ray") as raised:
        SparkContext(master)
    assert "\n" not in str(raised.value)


def test_an_address_at_which_nobody_answers(no_context: None) -> None:
    with pytest.raises(ClusterError, match=r"nobody answers at 127\.0\.0\.1:9") as raised:
        SparkContext("ray[127.0.0.1:9]")
    assert "\n" not in str(raised.value)


def test_an_address_at_which_a_stranger_listens(no_context: None) -> None:
    with socket.create_server(("127.0.0.1", 0)) as stranger:
        address = f"127.0.0.1:{stranger.getsockname()[1]}"
        done = run_program(f"from pyrite import SparkContext\nSparkContext('ray[{address}]')\n")
    last = done.stderr.splitlines()[-1]
    assert f"nobody answers at {address} (no word from a Ray head" in last
    # Ray's client says nothing of what it has tried.
    assert "gcs" not in done.stderr


def test_no_address(no_context: None) -> None:
    with pytest.raises(Refused, match=r"use ray\[10"):
        SparkContext("ray[head]")


def test_no_ray_installed() -> None:
    program = (
        "import sys\nsys.modules['ray'] = None\n"
        "from pyrite import SparkContext\nSparkContext('ray')\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=False
    )
    assert done.stderr.splitlines()[-1].endswith("pip install 'pyrite[ray]'"), done.stderr


def test_no_free_cpus(sc: SparkContext) -> None:
    wait_for_nodes(sc)
    # All CPUs are held by the other context.
    program = f"from pyrite import SparkContext\nSparkContext('ray[{shared_ray().address}]')\n"
    done = run_program(f"import os\nos.environ.update({ENVIRONMENT!r})\n{program}")
    last = done.stderr.splitlines()[-1]
    assert "has no free CPUs for executors (0 of 2 are free)" in last, done.stderr
    assert "ray list actors" in last
