"""Stark's figures 16 to 18 by cost: the application of figure 16 with the engine's bound on
recovery, and how long it takes to go on after a node is killed.

Each RDD is kept, and computed by a job of its own; all partitions are one-to-one, as after the
application's first partitionBy. Time is played; the scheduler, with its bound, is the real one.
What the simulated cluster by cost does not know is here: delays that executors measure, and
checkpoints that the program writes in the background and later jobs start from.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from random import Random

from pyrite.cluster.port import drive
from pyrite.forecast.costed import CostedCluster, Failures
from pyrite.forecast.costs import CostModel, NodeKind
from pyrite.forecast.play import UserProgram
from pyrite.forecast.workload import JobModel, KeptModel, StageModel, Workload
from pyrite.ids import NamespaceId, RddId
from pyrite.plan.program import NarrowInput, PlanStep
from pyrite.rdd.dependency import SAME
from pyrite.schedule import commands as do
from pyrite.schedule import events as ev
from pyrite.schedule.rules import CollectionRule, Rules
from pyrite.schedule.scheduler import Scheduler
from pyrite.schedule.story import Story

STEPS, NODES, PARTITIONS = 10, 8, 8
# Relative sizes as in figure 17: jall is much larger than acnt. Delays in seconds, bytes in MB.
APPLICATION: dict[str, tuple[tuple[str, ...], float, int]] = {
    "kv": ((), 1.0, 60),
    "cnt": (("kv",), 1.0, 12),
    "ctt": (("kv",), 1.5, 50),
    "ccnt": (("cnt", "dec-"), 1.5, 24),
    "dec": (("ccnt",), 0.5, 24),
    "acnt": (("ccnt",), 0.5, 4),
    "cctt": (("ctt", "res-"), 2.0, 70),
    "jall": (("cctt", "acnt"), 2.0, 64),
    "res": (("jall",), 1.0, 40),
}
BOUND_S = 12.0
MB = 1_000_000
# Checkpoints are written and read by each task at the rate of a disk.
DISK_BYTES_PER_S = 120e6
# Stages are numbered above RDDs.
FIRST_STAGE = 1000
SPACE = NamespaceId(0)


@dataclass(frozen=True)
class Rdd:
    """An RDD of one step: its parents, how long a partition takes, and the bytes of all."""

    id: int
    name: str
    step: int
    parents: tuple[int, ...]
    delay_s: float
    bytes: int


def lineage() -> list[Rdd]:
    """All RDDs of ten steps, parents first."""
    found: dict[str, Rdd] = {}
    for step in range(STEPS):
        for name, (parents, delay_s, megabytes) in APPLICATION.items():
            known = [
                f"{each[:-1]} {step - 1}" if each.endswith("-") else f"{each} {step}"
                for each in parents
            ]
            ids = tuple(found[each].id for each in known if each in found)
            rdd = Rdd(len(found), name, step, ids, delay_s, megabytes * MB)
            found[f"{name} {step}"] = rdd
    return list(found.values())


class WatchedCluster(CostedCluster):
    """Its executors measure how long they compute what they keep, as real ones do."""

    def emit(self, event: ev.Event) -> None:
        if isinstance(event, ev.TaskSucceeded):
            stored = tuple(
                each._replace(delay_s=self.workload.kept[each.partition.rdd].making_s[0])
                for each in event.kept.stored
            )
            event = event._replace(kept=event.kept._replace(stored=stored))
        super().emit(event)


class CheckpointingProgram(UserProgram):
    """Writes what the scheduler asks for in the background; later jobs start from it."""

    def __init__(self, cluster: CostedCluster, rdds: list[Rdd]) -> None:
        super().__init__(cluster, 1e6)
        self.rdds = rdds
        self.written: dict[int, None] = {}
        # The bytes written up to each step.
        self.by_step = [0] * STEPS
        self.now_step = 0

    def _submit(self, job: JobModel) -> None:
        rdd = self.rdds[job.id]
        self.now_step = rdd.step
        stage = replace(self.cluster.workload.stages[job.stage], steps=self._steps(rdd))
        workload = Workload({stage.id: stage}, (job,))
        self.cluster.specs.update(workload.specs())
        self.specs.update(workload.job_specs())
        super()._submit(job)

    def _steps(self, last: Rdd) -> tuple[PlanStep, ...]:
        """The lineage back to sources and checkpoints, parents first."""
        needed: dict[int, tuple[int, ...]] = {}
        pending = [last.id]
        while pending:
            id = pending.pop()
            if id not in needed:
                needed[id] = () if id in self.written else self.rdds[id].parents
                pending += needed[id]
        places = {id: place for place, id in enumerate(sorted(needed))}
        return tuple(
            PlanStep(
                RddId(id),
                tuple(NarrowInput(places[each], SAME) for each in needed[id]),
                PARTITIONS,
            )
            for id in places
        )

    def perform(self, command: do.ForDesk) -> None:
        if isinstance(command, do.WriteCheckpoints):
            for id in command.rdds:
                size = self.rdds[id].bytes
                self.by_step[self.now_step] += size
                # Nodes write side by side.
                taken_s = size / NODES / DISK_BYTES_PER_S
                self.cluster.timeline.after(taken_s, self._written, id)
            return
        super().perform(command)

    def _written(self, id: int) -> None:
        self.written[id] = None
        kept = self.cluster.workload.kept
        read_s = self.rdds[id].bytes / PARTITIONS / DISK_BYTES_PER_S
        kept[id] = replace(kept[id], making_s=dict.fromkeys(range(PARTITIONS), read_s))
        self.cluster.post(ev.CheckpointEnded(RddId(id), True))


@dataclass
class Played:
    """What became of a run: when each job began and ended, and the bytes written by step."""

    began_s: dict[int, float] = field(default_factory=dict)
    ended_s: dict[int, float] = field(default_factory=dict)
    by_step: list[int] = field(default_factory=list)
    # The longest way that any check found, before what it orders.
    longest_s: float = 0.0

    def took_s(self, job: int) -> float:
        return self.ended_s[job] - self.began_s[job]

    def listen(self, now_s: float, event: ev.Event, commands: list[do.Command]) -> None:
        if isinstance(event, ev.JobSubmitted):
            self.began_s[event.job.id] = now_s
        for command in commands:
            if isinstance(command, do.FinishJob):
                self.ended_s[command.job] = now_s
            elif isinstance(command, do.WriteCheckpoints):
                self.longest_s = max(self.longest_s, command.longest_s)


def play(algorithm: str, relax: float, kill: tuple[float, int] | None = None) -> Played:
    """Plays the ten steps; `kill` says when which node goes down. An empty one comes in its place
    as soon as this is known."""
    rdds = lineage()
    stages = {
        FIRST_STAGE + rdd.id: StageModel(
            FIRST_STAGE + rdd.id, [0.0] * PARTITIONS, rdd.name, namespace=int(SPACE)
        )
        for rdd in rdds
    }
    jobs = []
    for rdd in rdds:
        before: tuple[ev.RddPersisted | ev.NamespaceMade, ...]
        before = (ev.RddPersisted(RddId(rdd.id), SPACE),)
        if rdd.id == 0:
            before = (ev.NamespaceMade(SPACE, "trends", PARTITIONS, PARTITIONS), *before)
        after = (rdd.id - 1,) if rdd.id else ()
        jobs.append(JobModel(rdd.id, FIRST_STAGE + rdd.id, after=after, before=before))
    kept = {rdd.id: KeptModel(rdd.id, *costs(rdd)) for rdd in rdds}
    cluster = WatchedCluster(
        Workload(stages, tuple(jobs), kept),
        [NodeKind(cores=1, memory_bytes=16 << 30)] * NODES,
        CostModel(),
        Failures(repair_s=0.0),
    )
    program = CheckpointingProgram(cluster, rdds)
    played = Played()
    story = Story()
    story.listeners.append(played.listen)
    if kill is not None:
        at_s, number = kill
        nodes = list(cluster.nodes.values())
        cluster.timeline.at(at_s, cluster.lose_node, nodes[number])
    cluster.timeline.after(0.0, program.begin)
    rules = Rules(
        collections=CollectionRule(report=False),
        recovery_bound_s=BOUND_S,
        recovery_relax=relax,
        recovery_algorithm=algorithm,
    )
    drive(Scheduler(rules), cluster, program, story)
    assert not program.errors, program.errors
    total = 0
    for size in program.by_step:
        total += size
        played.by_step.append(total // MB)
    return played


def costs(rdd: Rdd) -> tuple[Mapping[int, float], Mapping[int, float]]:
    """How long each partition takes, and its bytes."""
    indices = range(PARTITIONS)
    return dict.fromkeys(indices, rdd.delay_s), dict.fromkeys(indices, rdd.bytes / PARTITIONS)


def recoveries_s(relax: float, kills: int) -> list[float]:
    """By how much the job that a kill at a random moment delayed the most took longer than without
    it, apart from the time until the loss was known."""
    whole = play("CUT", relax)
    dice = Random(17)
    found = []
    for _ in range(kills):
        at_s = dice.uniform(0.0, max(whole.ended_s.values()))
        killed = play("CUT", relax, (at_s, dice.randrange(NODES)))
        notice_s = CostModel().node_notice_s
        late = {job: killed.took_s(job) - whole.took_s(job) for job in whole.ended_s}
        # Whichever job runs then waits until the loss is known.
        running = next(job for job in killed.ended_s if killed.ended_s[job] >= at_s)
        late[running] -= notice_s
        found.append(max(0.0, *late.values()))
    return found
