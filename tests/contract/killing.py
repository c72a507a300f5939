"""Random programs while processes of their nodes are killed: every answer must be right.

`scripts/kills --kills 1000 --master ray` goes on until so many are killed.
"""

from __future__ import annotations

import argparse
import contextlib
import os
import signal
import sys
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from random import Random
from typing import Any

import psutil
from adapters import RETRYING
from idle import assert_nothing_left, wait_until
from lineage import Ask, Program, build, check, evaluate
from random_programs import random_program
from raycluster import shared_ray

from pyrite import SparkConf, SparkContext
from pyrite.errors import StageAborted

# No program is to blame for so many deaths.
PATIENT = {
    "spark.locality.wait": "0s",
    "spark.task.maxFailures": "1000",
    "spark.stage.maxConsecutiveAttempts": "1000",
    "spark.excludeOnFailure.enabled": "false",
}
MASTERS = {
    "local-cluster": {"spark.master": "local-cluster[3,1,512m]"},
    "ray": RETRYING["ray with retries"],
}
# "node" is all that a node has, at once.
VICTIMS = ("executor", "executor", "agent", "server", "node", "node")
LONGEST_WAIT_S = 0.4


def random_case(seed: int) -> Program:
    """A program that the loss of nodes can't spoil: no local checkpoints, no barriers, which need
    as many executors as they have tasks."""
    for number in range(1000):
        program = random_program(Random(f"{seed}-{number}"))
        local = any(step.operator == "checkpoint" and step.arguments[0] for step in program.steps)
        if program.slots == 1 and not local:
            return program
    raise AssertionError("no such program among so many")


class Killer:
    """A thread that kills at random moments; it waits in between until all nodes are there."""

    def __init__(self, sc: SparkContext, dice: Random, most: int) -> None:
        self.cluster: Any = sc._engine.cluster
        self.dice = dice
        self.most = most
        self.ended = threading.Event()
        self.killed: Counter[str] = Counter()
        self.nodes = self._whole_nodes()
        self.thread = threading.Thread(target=self._run)

    def __enter__(self) -> Killer:
        self.thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.ended.set()
        self.thread.join()

    def _whole_nodes(self) -> dict[str, list[int]]:
        """The pids of nodes that have all their processes: agent, block server, executors."""
        links = [each for each in list(self.cluster.by_id.values()) if each.joined and each.pid]
        found = {}
        for node in list(self.cluster.nodes.values()):
            executors = [each.pid for each in links if each.node == node.id]
            if node.hello is not None and len(executors) == node.executors:
                found[node.id] = [node.hello.pid, node.hello.server_pid, *executors]
        return found

    def is_whole(self) -> bool:
        return len(self._whole_nodes()) >= len(self.nodes)

    def _run(self) -> None:
        while self.killed.total() < self.most and not self.ended.is_set():
            if not self.ended.wait(self.dice.uniform(0, LONGEST_WAIT_S)):
                self._kill()
            while not self.is_whole() and not self.ended.wait(0.01):
                pass

    def _kill(self) -> None:
        name = self.dice.choice(VICTIMS)
        nodes = self._whole_nodes()
        if name == "executor":
            nodes = {node: pids for node, pids in nodes.items() if len(pids) > 2}
        if not nodes:
            return
        agent, server, *executors = nodes[self.dice.choice(sorted(nodes))]
        match name:
            case "executor":
                pids = [self.dice.choice(executors)]
            case "agent":
                pids = [agent]
            case "server":
                pids = [server]
            case _:
                pids = [*parents(agent), agent, server, *executors]
        for pid in pids:
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        self.killed[name] += 1


def parents(pid: int) -> list[int]:
    """An agent's janitor."""
    with contextlib.suppress(psutil.NoSuchProcess):
        return [psutil.Process(pid).ppid()]
    return []


def ask_all(asks: tuple[Ask, ...], rdds: list[Any], plains: list[Any], wrong: list[Any]) -> None:
    for ask in asks:
        try:
            check(ask, rdds, plains)
        except StageAborted as error:
            # A lost map output of repartition that could not be made alike again is refused.
            if "repartition dealt" not in str(error):
                wrong.append((ask, error))
        except BaseException as error:
            wrong.append((ask, error))


def run_case(sc: SparkContext, seed: int, most: int, folder: Path) -> Counter[str]:
    """Runs the seed's program while processes are killed; returns how many of which kind."""
    program = random_case(seed)
    plains = evaluate(program)
    wrong: list[Any] = []
    with Killer(sc, Random(seed), most) as killer:
        rdds = build(program, sc, folder)
        threads = [
            threading.Thread(target=ask_all, args=(asks, rdds, plains, wrong))
            for asks in program.threads
        ]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    assert not wrong, f"seed {seed}: {program}: {wrong}"
    del rdds, threads
    wait_until(killer.is_whole, "the return of all nodes")
    assert_nothing_left(sc)
    return killer.killed


@contextlib.contextmanager
def started(master: str) -> Iterator[tuple[SparkContext, Path]]:
    """A context for such programs, and a folder for its files."""
    conf = SparkConf(False).setAppName("kills").setAll((MASTERS[master] | PATIENT).items())
    if master == "ray":
        conf.setMaster(f"ray[{shared_ray().address}]")
    sc = SparkContext(conf=conf)
    try:
        with tempfile.TemporaryDirectory() as folder:
            sc.setCheckpointDir(f"{folder}/checkpoints")
            yield sc, Path(folder)
    finally:
        sc.stop()


def kill_many(master: str, count: int, first_seed: int) -> tuple[int, Counter[str]]:
    """Runs programs until so many were killed; returns the number of programs, and the kills."""
    killed: Counter[str] = Counter()
    with started(master) as (sc, folder):
        cluster: Any = sc._engine.cluster
        planned = 3 if master == "ray" else 4
        wait_until(lambda: len(cluster.nodes) >= planned, "all nodes")
        seed = first_seed
        while killed.total() < count:
            killed += run_case(sc, seed, count - killed.total(), folder)
            seed += 1
            if sys.stdout.isatty() or seed % 50 == 0:
                print(f"{master}: {seed - first_seed} programs, {dict(killed)}", flush=True)
    return seed - first_seed, killed


def main() -> None:
    parser = argparse.ArgumentParser("scripts/kills", description=__doc__)
    parser.add_argument("--kills", type=int, default=1000, help="how many (default 1000)")
    parser.add_argument("--master", choices=MASTERS, default="local-cluster")
    parser.add_argument("--seed", type=int, default=time.time_ns() >> 20, help="the first one")
    options = parser.parse_args()
    print(f"seed {options.seed}", flush=True)
    programs, killed = kill_many(options.master, options.kills, options.seed)
    print(f"{options.master}: {programs} programs right, {killed.total()} kills: {dict(killed)}")


if __name__ == "__main__":
    main()
