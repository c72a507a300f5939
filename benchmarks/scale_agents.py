"""The driver's time per event with few and with many agents, over real sockets.

Each point runs in a process of its own: python -m benchmarks.scale_agents AGENTS TASKS prints it.
"""

import json
import os
import subprocess
import sys
import time
from collections.abc import Callable

from benchmarks.report import aligned
from pyrite import SparkConf, SparkContext
from pyrite.cluster.local import start as local_start
from pyrite.cluster.node.options import AgentOptions
from pyrite.cluster.real.nodes import AgentPlan
from pyrite.execute.limits import WorkerLimits
from pyrite.ids import NodeId

AGENTS = 8, 512
TASKS = 20_000
MOST_GROWTH = 1.5


class StubAgent:
    """An agent of the process that has all of them."""

    def __init__(self) -> None:
        self.status_fd, self.their_end = os.pipe()

    def let_go(self) -> None:
        os.close(self.their_end)

    def wait(self, timeout_s: float) -> None:
        os.close(self.status_fd)


class StubStarter:
    """Stands for what starts agents of this machine."""

    starts_again = True

    def __init__(self, environment: dict[str, str], limits: WorkerLimits) -> None:
        command = [sys.executable, "-m", "benchmarks.stub_agents"]
        self.process = subprocess.Popen(command, stdin=subprocess.PIPE, text=True)
        self.left = int(sys.argv[1])

    def open(self, begin: Callable[[AgentPlan], None]) -> None:
        """Nodes come only when they are asked for."""

    def start(self, options: AgentOptions) -> StubAgent:
        assert self.process.stdin is not None
        self.process.stdin.write(options.to_json() + "\n")
        self.left -= 1
        if not self.left:
            self.process.stdin.write("ready\n")
            self.process.stdin.flush()
        return StubAgent()

    def lost(self, node: NodeId, reason: str, proven: bool) -> None:
        raise AssertionError(f"{node} was lost: {reason}")

    def storage_plan(self, pool_bytes: int) -> AgentPlan:
        raise AssertionError("no node only lends memory")


class EventClock:
    """The processor time of the driver's thread, and how many events it has handled."""

    def __init__(self) -> None:
        self.events = 0
        self.first_s = self.last_s = 0.0

    def see(self, *_: object) -> None:
        self.last_s = time.thread_time()
        if not self.events:
            self.first_s = self.last_s
        self.events += 1

    @property
    def mean_us(self) -> float:
        return (self.last_s - self.first_s) / (self.events - 1) * 1e6


def measured(agents: int, tasks: int) -> float:
    """Microseconds of the driver's thread for one event: waiting for it, deciding, sending."""
    local_start.LocalStarter = StubStarter  # type: ignore[misc, assignment]
    conf = SparkConf(False).setMaster(f"local-cluster[{agents},1,64m]")
    sc = SparkContext(conf=conf.set("spark.executor.memory", "64m"))
    sc.setLogLevel("ERROR")
    while len(sc._engine.scheduler.fleet) < agents:
        assert sc.range(agents, numSlices=agents).count() == agents
    clock = EventClock()
    rows = sc.range(tasks, numSlices=tasks)
    # The first job of its kind prepares what later ones have.
    assert rows.count() == tasks
    sc._engine.story.listeners.append(clock.see)
    assert rows.count() == tasks
    sc._engine.story.listeners.remove(clock.see)
    sc.stop()
    return clock.mean_us


class Agents:
    """Runs both sizes, each in a fresh process."""

    def __init__(self, repeat: int, small: bool, timeout_s: float) -> None:
        self.repeat = repeat
        self.tasks = TASKS // 10 if small else TASKS
        self.timeout_s = timeout_s
        self.means_us: dict[int, float] = {}

    def run(self, env: dict[str, str]) -> None:
        """Of the repetitions the fastest, as least disturbed; sizes take turns."""
        for _ in range(self.repeat):
            for agents in AGENTS:
                mean_us = self._run_once(agents, env)
                self.means_us[agents] = min(mean_us, self.means_us.get(agents, mean_us))
        for agents, mean_us in self.means_us.items():
            print(f"  agents: {agents} agents, {mean_us:.1f} µs/event", flush=True)

    def _run_once(self, agents: int, env: dict[str, str]) -> float:
        command = [sys.executable, "-m", "benchmarks.scale_agents", str(agents), str(self.tasks)]
        done = subprocess.run(
            command, env=env, timeout=self.timeout_s, check=True, stdout=subprocess.PIPE, text=True
        )
        return float(json.loads(done.stdout))

    @property
    def growth(self) -> float:
        return self.means_us[AGENTS[-1]] / self.means_us[AGENTS[0]]

    @property
    def is_flat(self) -> bool:
        return not self.means_us or self.growth <= MOST_GROWTH

    def markdown(self) -> str:
        if not self.means_us:
            return ""
        cells = [["agents", "µs/event"]]
        cells += [[str(agents), f"{mean_us:.1f}"] for agents, mean_us in self.means_us.items()]
        lines = [
            "",
            f"**agents**: the driver's processor time per event of {self.tasks:,} empty tasks, "
            "with stub agents that speak the real protocol over loopback sockets.",
            "",
            *aligned(cells),
            "",
            f"{AGENTS[-1]} over {AGENTS[0]}: x {self.growth:.2f}, at most {MOST_GROWTH}.",
        ]
        return "\n".join(lines) + "\n"


def main() -> None:
    """One point, as JSON for the suite."""
    agents, tasks = map(int, sys.argv[1:])
    print(json.dumps(measured(agents, tasks)))


if __name__ == "__main__":
    main()
