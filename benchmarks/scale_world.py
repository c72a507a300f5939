"""A cluster in one process and in virtual time that tells a real scheduler what it did.

It computes nothing: every task takes a second of virtual time and then succeeds, unless the case
wants it to fail. Only the scheduler's answers are timed, by the processor's time.
"""

import time
from array import array
from collections import deque
from collections.abc import Iterator

from pyrite.blocks.names import segment_name
from pyrite.cluster.timers import Timers
from pyrite.ids import BlockRef, ExecutorId, JobId, NodeId, Partition, RddId, ShuffleId, StageId
from pyrite.plan.program import NarrowInput, PlanStep, Shape, ShuffleInput
from pyrite.plan.stages import JobSpec, StageSpec
from pyrite.rdd.dependency import SAME
from pyrite.schedule import commands as do
from pyrite.schedule import events as ev
from pyrite.schedule.rules import Rules
from pyrite.schedule.scheduler import Scheduler

EXECUTORS_PER_NODE = 4
TASK_S = 1.0
BLOCK_BYTES = 320_000
BLOCKS_PER_SEGMENT = 50
POOL_BYTES = 1 << 40


class World:
    """Does what the scheduler says, in the order in which it said so."""

    def __init__(self, rules: Rules, fails_every: int = 0) -> None:
        self.scheduler = Scheduler(rules)
        self.now_s = 0.0
        self.handled_s = array("d")
        self.joined_s = array("d")
        self.jobs: set[JobId] = set()
        self.fails_every = fails_every
        self._running: deque[tuple[float, do.LaunchTask]] = deque()
        self._timers = Timers()
        self._writes: dict[StageId, bool] = {}
        self._keeps: dict[StageId, RddId] = {}
        self._nodes: dict[ExecutorId, NodeId] = {}
        self._written: dict[ExecutorId, int] = {}
        self._executors = 0

    def join(self, nodes: range) -> None:
        """These nodes come, with all of their executors."""
        for number in nodes:
            node = NodeId(f"node-{number}")
            self._tell(ev.NodeJoined(node, POOL_BYTES), self.joined_s)
            for _ in range(EXECUTORS_PER_NODE):
                self._join(node)

    def submit(self, job: int, stage: StageSpec, pool: str = "default") -> None:
        spec = JobSpec(JobId(job), stage, tuple(range(stage.partitions)), pool=pool)
        for each in (stage, *stage.parents.values()):
            self._writes[each.id] = each.writes is not None
        self.jobs.add(spec.id)
        self._tell(ev.JobSubmitted(spec))

    def keep(self, stage: StageSpec) -> None:
        """The tasks of this stage keep the rows of its first RDD."""
        rdd = stage.shape.steps[0].rdd
        self._keeps[stage.id] = rdd
        self._tell(ev.RddPersisted(rdd))

    def run(self) -> Iterator[int]:
        """Everything happens, until all jobs have ended; gives the count of tasks that ended."""
        ended = 0
        while self.jobs:
            due_s = self._timers.next_s()
            timer_s = float("inf") if due_s is None else due_s
            if self._running and self._running[0][0] <= timer_s:
                due_s, launch = self._running.popleft()
                if launch.executor in self._nodes:
                    self.now_s = max(self.now_s, due_s)
                    self._end(launch)
                    ended += 1
                    yield ended
            else:
                self._fire()

    def lose_busiest(self) -> None:
        """The executor that has been busy for longest dies, and another takes its place."""
        alive = (each.executor for _, each in self._running if each.executor in self._nodes)
        executor = next(alive, next(iter(self._nodes)))
        node = self._nodes.pop(executor)
        self._tell(ev.ExecutorLost(executor, "killed by SIGKILL"))
        self._join(node)

    def lose_node(self, number: int) -> None:
        """A node dies with its executors and all that it held, and starts anew."""
        node = NodeId(f"node-{number}")
        for executor in [each for each, home in self._nodes.items() if home == node]:
            del self._nodes[executor]
        self._tell(ev.NodeLost(node, "the host is gone"))
        self.join(range(number, number + 1))

    def _join(self, node: NodeId) -> None:
        executor = ExecutorId(self._executors)
        self._executors += 1
        self._nodes[executor] = node
        self._tell(ev.ExecutorJoined(executor, node), self.joined_s)

    def _end(self, launch: do.LaunchTask) -> None:
        if self.fails_every and launch.attempt % self.fails_every == self.fails_every - 1:
            self._tell(ev.TaskRaised(launch.attempt, ev.Failure("ValueError", "bad")))
            return
        rdd = self._keeps.get(launch.stage)
        stored = () if rdd is None else (ev.Stored(Partition(rdd, launch.partitions[0]), (), 0),)
        writes = self._writes[launch.stage]
        made = [
            ev.TaskOutput(None, self._block(launch.executor))
            if writes
            else ev.TaskOutput(b"result")
            for _ in launch.partitions
        ]
        self._tell(ev.TaskSucceeded(launch.attempt, tuple(made), ev.KeptNews(stored)))

    def _block(self, executor: ExecutorId) -> BlockRef:
        """A map output, packed into the executor's segment with others."""
        written = self._written.get(executor, 0)
        self._written[executor] = written + 1
        node = self._nodes[executor]
        number, place = divmod(written, BLOCKS_PER_SEGMENT)
        segment = segment_name(executor, number)
        if place == 0:
            size_bytes = BLOCKS_PER_SEGMENT * BLOCK_BYTES
            self._tell(ev.SpaceWanted(node, executor, segment, size_bytes))
        return BlockRef(node, segment, place * BLOCK_BYTES, BLOCK_BYTES)

    def _fire(self) -> None:
        self.now_s = max(self.now_s, self._timers.next_s() or 0.0)
        for fired in self._timers.take_due(self.now_s):
            self._tell(fired)

    def _tell(self, event: ev.Event, times_s: "array[float] | None" = None) -> None:
        began_s = time.thread_time()
        commands = self.scheduler.handle(event, self.now_s)
        (self.handled_s if times_s is None else times_s).append(time.thread_time() - began_s)
        for command in commands:
            match command:
                case do.LaunchTask():
                    self._running.append((self.now_s + TASK_S, command))
                case do.SetTimer():
                    self._timers.set(command)
                case do.FinishJob():
                    assert command.error is None, command.error
                    self.jobs.remove(command.job)


def shuffle_job(id: int, maps: int, reads: StageSpec | None = None) -> StageSpec:
    """A stage of `maps` tasks that write a shuffle, and one of a tenth of them that reads it."""
    source = PlanStep(RddId(10 * id), (), maps) if reads is None else reads.shape.steps[0]
    mapped = PlanStep(RddId(10 * id + 1), (NarrowInput(0, SAME),), maps)
    shuffle = ShuffleId(id)
    writer = StageSpec(StageId(2 * id), "map", maps, Shape([source, mapped]), {}, shuffle)
    reduces = max(1, maps // 10)
    shape = Shape([PlanStep(RddId(10 * id + 2), (ShuffleInput(shuffle),), reduces)])
    return StageSpec(StageId(2 * id + 1), "reduce", reduces, shape, {shuffle: writer})


def writer_of(job: StageSpec) -> StageSpec:
    """The job's first stage."""
    (stage,) = job.parents.values()
    return stage
