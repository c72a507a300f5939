"""Ray on machines that share nothing but a network: other processes, memory, folders, addresses."""

from __future__ import annotations

import json
import re
import signal
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from marks import wait_until
from raymachines import HEAD, PORT, Machine, command_line, kill, why_not

pytestmark = [
    pytest.mark.alone,
    pytest.mark.timeout(600),
    pytest.mark.skipif(bool(why_not()), reason=f"no namespaces can be made here: {why_not()}"),
]

# Does what it is told, line by line, and says what came of it.
DRIVER = f"""
import json, sys, threading
from operator import add
from pathlib import Path
from pyrite import SparkConf, SparkContext, SparkFiles

conf = SparkConf(False).setMaster("ray[{HEAD}:{PORT}]").set("spark.executor.memory", "256m")
conf.set("pyrite.node.timeout", "10s")
# More than a machine has.
conf.set("pyrite.pool.memory", "1g")
sc = SparkContext(conf=conf)
cluster = sc._engine.cluster

def counts(work=0):
    def key(x):
        sum(range(work))
        return x % 7, 1
    return sorted(sc.range(1000, numSlices=40).map(key).reduceByKey(add, 4).collect())

def nodes():
    found = {{}}
    for node in list(cluster.nodes.values()):
        if node.hello is not None:
            executors = [each.pid for each in list(cluster.by_id.values())
                         if each.node == node.id and each.pid is not None and each.joined]
            found[node.address[0]] = [node.hello.pid, node.hello.server_pid, *executors]
    return found

def shared():
    table = sc.broadcast(list(range(5000)))
    Path("/tmp/words.txt").write_text("hello")
    Path("/tmp/shipped.py").write_text("def twice(x): return 2 * x")
    sc.addFile("/tmp/words.txt")
    sc.addPyFile("/tmp/shipped.py")
    def look(x):
        from shipped import twice
        with open(SparkFiles.get("words.txt")) as file:
            return file.read(), twice(x), len(table.value)
    return sc.range(12, numSlices=12).map(look).collect()

def large():
    rows = sc.range(8, numSlices=8).map(lambda x: bytes([x]) * (1 << 20))
    kept = rows.persist()
    assert kept.map(len).sum() == 8 << 20
    return kept.collect() == [bytes([x]) * (1 << 20) for x in range(8)]

def cancelled():
    said = []
    def run():
        sc.setJobGroup("endless", "to be cancelled", interruptOnCancel=True)
        def spin(x):
            while True: pass
        try:
            sc.range(2, numSlices=2).foreach(spin)
        except Exception as error:
            said.append(str(error))
    thread = threading.Thread(target=run)
    thread.start()
    while not active(): pass
    sc.cancelJobGroup("endless")
    thread.join()
    return said

def active():
    tracker = sc.statusTracker()
    stages = [tracker.getStageInfo(each) for each in tracker.getActiveStageIds()]
    return sum(each.numActiveTasks for each in stages if each is not None)

def problem(work):
    try:
        work()
    except Exception as error:
        return str(error).splitlines()[0]

def reading():
    Path("/tmp/lines.txt").write_text("line\\n" * 1000)
    return [problem(sc.textFile("/tmp/lines.txt", 12).count)]

def saving():
    return [problem(lambda: sc.range(12, numSlices=12).saveAsTextFile("/tmp/saved"))]

def checkpointing():
    sc.setCheckpointDir("/tmp/checkpoints")
    rows = sc.range(12, numSlices=12).map(lambda x: x + 1)
    rows.checkpoint()
    # It is written after the first job, and the next one waits for it.
    return [problem(lambda: (rows.count(), rows.count()))]

def importing():
    Path("/tmp/only_here.py").write_text("def same(x): return x")
    sys.path.append("/tmp")
    from only_here import same
    return [problem(sc.range(12, numSlices=12).map(same).collect)]

answers = []
def begin():
    answers.append(threading.Thread(target=lambda: answers.append(counts(200_000))))
    answers[0].start()
    while not active(): pass

def answer():
    answers.pop(0).join()
    return answers.pop(0)

print("ready", flush=True)
for line in sys.stdin:
    print(json.dumps(globals()[line.strip()]()), flush=True)
sc.stop()
print("stopped", flush=True)
"""

EXPECTED = [[key, len(range(key, 1000, 7))] for key in range(7)]
# How long Ray may take on a busy machine.
RAY_S = 180.0
OTHERS = ["127.0.0.3", "127.0.0.4"]


class Rack:
    """The machines, by address, and a driver on the head's."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.machines = {HEAD: Machine(HEAD, folder / HEAD)}
        wait_until(self.machines[HEAD].is_up, "Ray's head", RAY_S)
        for address in OTHERS:
            self.add(address)
        up = [each.is_up for each in self.machines.values()]
        wait_until(lambda: all(is_up() for is_up in up), "Ray's nodes", RAY_S)

    def add(self, address: str, **environment: str) -> None:
        log = self.folder / address
        self.machines[address] = Machine(address, log, self.machines[HEAD], environment)

    def end(self) -> None:
        for machine in self.machines.values():
            machine.end()


class Driver:
    """A program on the head's machine."""

    def __init__(self, rack: Rack) -> None:
        self.rack = rack
        self.errors = (rack.folder / "driver").open("w+")
        self.process: subprocess.Popen[str] = rack.machines[HEAD].run(DRIVER, stderr=self.errors)
        self.expect("ready")

    def ask(self, name: str) -> Any:
        assert self.process.stdin is not None
        self.process.stdin.write(name + "\n")
        self.process.stdin.flush()
        assert self.process.stdout is not None
        for line in self.process.stdout:
            if line.startswith(("[", "{", "t", "f", "n")) or line.strip().isdigit():
                return json.loads(line)
        raise AssertionError(self.said())

    def expect(self, word: str) -> None:
        assert self.process.stdout is not None
        assert any(line.strip() == word for line in self.process.stdout), self.said()

    def said(self) -> str:
        return Path(self.errors.name).read_text()[-5000:]

    def wait_for(self, *addresses: str) -> dict[str, list[int]]:
        """Waits until these nodes, and no others, have executors; returns their pids here."""
        found: dict[str, list[int]] = {}

        def are_there() -> bool:
            found.clear()
            found.update(self.ask("nodes"))
            return set(found) == set(addresses) and all(len(each) > 2 for each in found.values())

        wait_until(are_there, f"executors on {addresses}", RAY_S)
        machines = self.rack.machines
        return {
            address: [machines[address].pids()[pid] for pid in pids]
            for address, pids in found.items()
        }

    def end(self) -> None:
        assert self.process.stdin is not None and self.process.stdout is not None
        self.process.stdin.close()
        self.process.wait()
        self.process.stdout.close()
        self.errors.close()


@pytest.fixture(scope="module")
def rack(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Rack]:
    made = Rack(tmp_path_factory.mktemp("rack"))
    yield made
    made.end()


@pytest.fixture(scope="module")
def driver(rack: Rack) -> Iterator[Driver]:
    made = Driver(rack)
    yield made
    made.end()


def test_everything_works_on_machines(driver: Driver) -> None:
    driver.wait_for(HEAD, *OTHERS)
    assert driver.ask("counts") == EXPECTED
    assert driver.ask("shared") == [["hello", 2 * x, 5000] for x in range(12)]
    assert driver.ask("large") is True
    [said] = driver.ask("cancelled")
    assert "cancelled" in said
    assert driver.ask("counts") == EXPECTED


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("reading", "'/tmp/lines.txt'; {node} lacks this path: a local path must be shared"),
        ("saving", "/tmp/.saved.*; {node} lacks this path: a local path must be shared"),
        ("checkpointing", "/tmp/checkpoints/.*; {node} lacks this path: a local path must be"),
        ("importing", "only_here'; {node} lacks this module: send it with sc.addPyFile"),
    ],
    ids=["reading", "saving", "checkpointing", "importing"],
)
def test_what_a_machine_lacks_is_said(driver: Driver, name: str, said: str) -> None:
    driver.wait_for(HEAD, *OTHERS)
    [problem] = driver.ask(name)
    assert re.search(said.format(node=r"node-\d \(host .*\)"), problem), problem
    assert driver.ask("counts") == EXPECTED


def test_pools_are_cut_to_the_shared_memory_that_there_is(driver: Driver) -> None:
    assert len(re.findall(r"node-\d has .* MiB of free shared memory.*is cut", driver.said())) >= 3


TOKEN_PROGRAM = f"""
from pyrite import SparkContext
SparkContext("ray[{HEAD}:{PORT}]")
"""


@pytest.mark.parametrize("token", ["another" * 8, None], ids=["wrong", "missing"])
def test_a_wrong_or_missing_token_is_said(rack: Rack, token: str | None) -> None:
    # Whose home has no token.
    environment = {"RAY_AUTH_TOKEN": token or "", "HOME": "/tmp"}
    process = rack.machines[HEAD].run(TOKEN_PROGRAM, environment, stderr=subprocess.PIPE)
    _, said = process.communicate()
    last = said.splitlines()[-1]
    assert f"ClusterError: the Ray cluster at {HEAD}:{PORT} wants another token" in last, said
    assert last.endswith("or put the cluster's token into ~/.ray/auth_token")


@pytest.mark.parametrize("part", ["agent", "server", "executor"])
def test_a_process_of_a_machine_is_killed(driver: Driver, part: str) -> None:
    agent, server, executor = driver.wait_for(HEAD, *OTHERS)[OTHERS[0]][:3]
    driver.ask("begin")
    kill({"agent": agent, "server": server, "executor": executor}[part], signal.SIGKILL)
    assert driver.ask("answer") == EXPECTED
    pids = driver.wait_for(HEAD, *OTHERS)[OTHERS[0]]
    assert executor not in pids
    assert driver.ask("counts") == EXPECTED


def test_a_machine_stands_still(driver: Driver, rack: Rack) -> None:
    before = driver.wait_for(HEAD, *OTHERS)[OTHERS[0]]
    machine = rack.machines[OTHERS[0]]
    driver.ask("begin")
    machine.signal(signal.SIGSTOP)
    try:
        assert driver.ask("answer") == EXPECTED
        driver.wait_for(HEAD, OTHERS[1])
    finally:
        machine.signal(signal.SIGCONT)
    # It was given up: all that it had ends, and it comes back with nothing.
    wait_until(lambda: not set(before) & set(machine.pids().values()), "the end of the fenced")
    after = driver.wait_for(HEAD, *OTHERS)
    assert not set(before) & set(after[OTHERS[0]])
    assert driver.ask("counts") == EXPECTED


def test_a_machine_goes_and_another_comes(driver: Driver, rack: Rack) -> None:
    driver.wait_for(HEAD, *OTHERS)
    driver.ask("begin")
    rack.machines.pop(OTHERS[1]).end()
    assert driver.ask("answer") == EXPECTED
    driver.wait_for(HEAD, OTHERS[0])
    assert driver.ask("counts") == EXPECTED
    rack.add("127.0.0.5")
    driver.wait_for(HEAD, OTHERS[0], "127.0.0.5")
    assert driver.ask("counts") == EXPECTED


def test_a_machine_of_another_version_is_named(driver: Driver, rack: Rack) -> None:
    there = driver.wait_for(*(set(rack.machines)))
    rack.add("127.0.0.6", PYTHONPATH=str(Path(__file__).with_name("otherversion")))
    said = r"node-\d \(host 127\.0\.0\.6\) has Python 3\.\d+, Pyrite 0\.0\.9, .*and the driver has"
    wait_until(lambda: re.search(said, driver.said()), "what is said of its version", RAY_S)
    assert driver.ask("counts") == EXPECTED
    rack.machines.pop("127.0.0.6").end()
    driver.wait_for(*there)


def test_nothing_is_left_of_a_driver_that_was_killed(driver: Driver, rack: Rack) -> None:
    assert driver.ask("counts") == EXPECTED
    assert all(machine.left() for machine in rack.machines.values())
    [pid] = [pid for pid in rack.machines[HEAD].pids().values() if DRIVER in command_line(pid)]
    kill(pid, signal.SIGKILL)
    driver.process.wait()
    for machine in rack.machines.values():
        wait_until(lambda each=machine: not each.left(), f"the end of all on {machine.address}")
