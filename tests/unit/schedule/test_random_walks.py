"""The scheduler under random events: invariants hold, every job ends, nothing is left behind."""

from __future__ import annotations

from dataclasses import replace
from math import inf
from random import Random

import pytest
from conversation import NODE, map_stage, result_stage
from walkworld import OTHERS, PARTS, POOLS, ROOMY, STORES, World

from pyrite.ids import (
    AttemptId,
    BlockRef,
    ExecutorId,
    JobId,
    NodeId,
    Partition,
    RddId,
    ShuffleId,
)
from pyrite.place.laf import KEYS
from pyrite.place.sizes import encode
from pyrite.plan.program import Shape
from pyrite.plan.stages import JobSpec, StageSpec
from pyrite.schedule import commands as do
from pyrite.schedule import events as ev
from pyrite.schedule.health import ExclusionRule
from pyrite.schedule.rules import LafRule, Rules, SpeculationRule
from pyrite.schedule.scheduler import Scheduler
from pyrite.schedule.timer import Timer

RANGES = [
    LafRule(alpha, wait_s, migrates=alpha > 0.01, window=window)
    for alpha, wait_s, window in [(0.1, 0.0, 3), (1.0, 0.0, 1), (0.001, inf, 3), (0.0, 5.0, 64)]
]


class Walk(World):
    """A world that does what the scheduler says, or fails at it, by the dice of one seed."""

    def __init__(self, seed: int) -> None:
        super().__init__(Random(seed))
        dice = self.dice
        excludes = dice.random() < 0.2
        # Who is excluded never takes the tasks of its range.
        ranges = [each for each in RANGES if each.wait_s < inf or not excludes]
        self.scheduler = Scheduler(
            Rules(
                max_failures=dice.choice([1, 4]),
                max_deaths=dice.choice([2, 4]),
                fair=dice.random() < 0.5,
                speculation=SpeculationRule(1.5, 0.5, 0.1) if dice.random() < 0.5 else None,
                exclusion=ExclusionRule(excludes),
                lookahead=dice.random() < 0.8,
                reserve=dice.random() < 0.5,
                small_shuffle_bytes=dice.choice([0, 0, 1 << 20]),
                prefetch=dice.random() < 0.8,
                observed_share=dice.choice([0.05, 0.5]),
                fetch_bytes=dice.choice([64, 400, 48 << 20]),
                laf=dice.choice([None, *ranges]),
                input_cache_bytes=dice.choice([0, 30, 100, 1000]),
            )
        )
        self.now_s = 0.0
        self.timers: dict[Timer, float] = {}
        self.ended: dict[int, Exception | None] = {}
        self.results: dict[int, list[int]] = {}
        self.specs: dict[int, StageSpec] = {}
        # The shuffles whose outputs are alike when they are made again.
        self.alike: set[ShuffleId] = set()
        self.asked: list[StageSpec] = []
        self.delivered: list[BlockRef] = []
        self.doomed: ExecutorId | None = None
        self.released: list[NodeId] = []
        self.pools = dice.choice([POOLS, ROOMY])
        for node in (NODE, *OTHERS)[: dice.randint(1, 3)]:
            self.join_node(node, dice.randint(1, 3))

    def tell(self, event: ev.Event) -> None:
        self.now_s += self.dice.random()
        for command in self.scheduler.handle(event, self.now_s):
            self.perform(command)
        self.scheduler.check()
        self.files.check()

    def perform(self, command: do.Command) -> None:
        match command:
            case do.LaunchTask():
                for snapshot in command.inputs:
                    assert all(ref in self.files for ref in snapshot.refs), (
                        "a reducer was promised a map output that is gone"
                    )
                for _, ref in command.blocks:
                    assert ref in self.files, "a task was promised a kept block that is gone"
                for _, ref in command.cached:
                    assert ref is None or ref in self.files, "cached input was promised and is gone"
                self.fetching.check_launch(
                    command, self.nodes[command.executor], self.files, self.alike
                )
                self.running[command.attempt] = command
            case do.KillExecutor():
                self.kill(command.executor)
            case do.StartExecutor():
                self.start_executor(command.node)
            case do.FinishJob():
                assert command.job not in self.ended, "a job ended twice"
                self.ended[command.job] = command.error
            case do.DeliverResult():
                assert command.job not in self.ended
                assert command.partition not in self.results[command.job], "delivered twice"
                self.results[command.job].append(command.partition)
                if isinstance(command.result, tuple):
                    self.delivered += command.result
            case do.SetTimer():
                self.timers[command.timer] = command.at_s
            case do.GrantSpace():
                self.grant(command)
            case do.MoveSegment():
                self.begin_move(command)
            case do.FetchParts():
                self.fetching.begin(command, self.files)
            case do.ReleaseNode():
                assert not self.files.on(command.node), "a node goes with what lies there"
                self.released.append(command.node)
            case do.DropSegments():
                self.drop(command.node, command.segments)

    def kill(self, executor: ExecutorId) -> None:
        self.doomed = executor

    def submit(self, job: int) -> None:
        dice = self.dice
        stages: list[StageSpec] = list(self.specs.values())
        for _ in range(dice.randint(0, 2)):
            id = len(self.specs) * 2 + 1
            parents = dice.sample(stages, min(len(stages), dice.randint(0, 2)))
            spec = map_stage(id, dice.choice([0, 1, 2, 3, 4, 6, 9]), *parents)
            spec = replace(spec, replayable=dice.random() < 0.7, barrier=dice.random() < 0.1)
            spec = self.with_keys(spec)
            self.specs[id] = spec
            if spec.replayable and not spec.barrier:
                self.alike.add(ShuffleId(id))
            stages.append(spec)
        parents = dice.sample(stages, min(len(stages), dice.randint(0, 2)))
        width = dice.choice([0, 1, 2, 3, 4, 4, 5])
        barrier = dice.random() < 0.1
        spec = result_stage(100_000 + job, width, *parents, barrier=barrier)
        if self.asked and dice.random() < 0.4:
            # Over the same RDDs again, some of which may be kept.
            again = dice.choice(self.asked)
            spec = replace(again, id=spec.id, barrier=False)
            width = spec.partitions
        spec = self.with_keys(spec)
        self.asked.append(spec)
        wanted = tuple(i for i in range(width) if dice.random() < 0.8)
        self.results[job] = []
        if dice.random() < 0.7:
            self.tell(ev.RddPersisted(dice.choice(spec.shape.steps).rdd))
        group = dice.choice([None, "g"])
        pool = dice.choice(["default", "other"])
        self.tell(ev.JobSubmitted(JobSpec(JobId(job), spec, wanted, group, pool=pool)))

    def with_keys(self, spec: StageSpec) -> StageSpec:
        """The stage, or the same where some partitions read what has a key, often the same one."""
        dice = self.dice
        if dice.random() < 0.6:
            return spec
        choices = [None, 1, KEYS // 2, KEYS - 1, dice.randrange(KEYS)]
        keys = tuple(dice.choice(choices) for _ in range(spec.partitions))
        first, *others = spec.shape.steps
        return replace(spec, shape=Shape([first._replace(keys=keys), *others]))

    def ask(self, attempt: AttemptId) -> None:
        """A running task wants room: for a partition to keep, or for what it makes."""
        launch = self.running[attempt]
        run = self.scheduler.stages._runs.get(launch.stage)
        rdds = [] if run is None else [node.rdd for node in run.spec.shape.steps]
        if self.dice.random() < (0.5 if launch.cached else 0.1):
            self.tell(self.want(launch.executor, None, cached=True))
            return
        kept = [rdd for rdd in rdds if rdd in self.scheduler.storage.persisted]
        rdd = self.dice.choice(kept) if kept and self.dice.random() < 0.8 else None
        self.tell(self.want(launch.executor, rdd))

    def finish(self, attempt: AttemptId, faults: bool) -> None:
        """One running attempt ends, well or badly."""
        launch = self.running.pop(attempt)
        dice = self.dice
        chance = dice.random() if faults else 1.0
        # Who waits for room does nothing else, but it can be cancelled.
        if self.asking.pop(launch.executor, None) is not None:
            self.tell(ev.TaskCancelled(attempt, self.news(launch)))
            return
        if chance < 0.05:
            failure = ev.Failure("ValueError", "bad")
            self.tell(ev.TaskRaised(attempt, failure, self.news(launch)))
        elif chance < 0.15 and launch.inputs and launch.inputs[0].refs:
            snapshot = dice.choice([each for each in launch.inputs if each.refs] or launch.inputs)
            lost = tuple(dice.sample(list(enumerate(snapshot.refs)), 1))
            news = self.news(launch)
            self.tell(ev.FetchFailed(attempt, snapshot.shuffle, lost, "gone", news))
        else:
            if chance < 0.2 and launch.blocks:
                self.tell(ev.BlockLost(*dice.choice(launch.blocks)))
            news = self.news(launch)
            run = self.scheduler.stages._runs.get(launch.stage)
            writes = launch.stage < 100_000
            assert run is None or writes == (run.spec.writes is not None)
            made = tuple(self.make(launch, each, writes) for each in launch.partitions)
            self.tell(ev.TaskSucceeded(attempt, made, news))

    def make(self, launch: do.LaunchTask, partition: int, writes: bool) -> ev.TaskOutput:
        """A map output, or a result."""
        if writes:
            output = self.output(launch.executor)
            self.fetching.made[output] = ShuffleId(launch.stage), partition
            return ev.TaskOutput(
                output=output, sizes=encode(self.dice.choices([0, 1, 2, 20], k=PARTS))
            )
        if self.dice.random() < 0.5:
            return ev.TaskOutput(b"r")
        count = self.dice.choice((1, 1, 3))
        return ev.TaskOutput(tuple(self.output(launch.executor) for _ in range(count)))

    def news(self, launch: do.LaunchTask) -> ev.KeptNews:
        """What the task has kept: in the room that it was given, on disk, and as live rows."""
        everything = self.written(launch.executor)
        written = [each for each in everything if each.rdd is not None and self.dice.random() < 0.8]
        inputs = [
            ev.InputNews(self.dice.choice([1, KEYS // 2]), each.ref(0))
            for each in everything
            if each.cached and self.dice.random() < 0.8
        ]
        inputs += [
            ev.InputNews(key, ref, True)
            for key, ref in launch.cached
            if ref is not None and self.dice.random() < 0.1
        ]
        blocks: dict[RddId, list[BlockRef]] = {}
        for each in written:
            blocks.setdefault(each.rdd, []).append(each.ref(0))
            if self.dice.random() < 0.2:
                blocks[each.rdd].append(self.on_disk(launch.executor))
        stored = [
            ev.Stored(
                Partition(rdd, launch.partitions[0]), tuple(refs), sum(ref.length for ref in refs)
            )
            for rdd, refs in blocks.items()
        ]
        run = self.scheduler.stages._runs.get(launch.stage)
        if run is not None and self.dice.random() < 0.5:
            rdd = self.dice.choice(run.spec.shape.steps).rdd
            refs = (self.on_disk(launch.executor),) if self.dice.random() < 0.5 else ()
            stored.append(ev.Stored(Partition(rdd, launch.partitions[0]), refs, 10))
        computed = tuple(each.partition for each in stored)
        return ev.KeptNews(
            tuple(stored), found=(1, 0, 0, 0), computed=computed, inputs=tuple(inputs)
        )

    def lose(self, executor: ExecutorId) -> None:
        self.end_executor(executor)
        self.tell(ev.ExecutorLost(executor, "killed by SIGKILL"))

    # Nodes

    def join_node(self, node: NodeId, executors: int = 0) -> None:
        capacity = self.dice.choice(self.pools)
        self.files.capacities[node] = capacity
        self.tell(ev.NodeJoined(node, capacity, storage_only=not executors))
        for _ in range(executors):
            self.start_executor(node)

    def lose_node(self, node: NodeId) -> None:
        """A node goes; one with executors comes back, sometimes before anybody has noticed."""
        executors = self.end_node(node)
        if node in STORES or self.dice.random() < 0.7:
            self.tell(ev.NodeLost(node, "crash"))
        if node not in STORES:
            self.join_node(node, max(1, executors))

    def step(self, faults: bool) -> bool:
        """One random thing happens; False when nothing is left to happen."""
        dice = self.dice
        alive = [each.id for each in self.scheduler.fleet]
        able = [a for a, each in self.running.items() if each.executor not in self.asking]
        ending = list(self.running) if faults else able
        choices = ["finish"] * 10 * bool(ending) + ["join"] * 3 * bool(self.starting)
        choices += ["timer"] * bool(self.timers) + ["move"] * 4 * bool(self.moves)
        choices += ["release"] * 2 * bool(self.released)
        choices += ["fetch"] * 8 * bool(self.fetching.busy)
        if faults:
            choices += ["lose"] * bool(alive) + ["cancel", "forget"] + ["node"] * 2
            choices += ["ask"] * 16 * bool(able)
        if not choices:
            return False
        match dice.choice(choices):
            case "finish":
                self.finish(dice.choice(ending), faults)
            case "ask":
                self.ask(dice.choice(able))
            case "move":
                self.tell(self.end_move(faults))
            case "fetch":
                told = self.fetching.end(self.files, faults)
                if told is not None:
                    self.tell(told)
            case "release":
                node = self.released.pop(0)
                if node in self.files.capacities:
                    self.lose_node(node)
            case "node":
                self.change_nodes()
            case "join":
                executor, node = self.starting.pop(0)
                self.nodes[executor] = node
                self.tell(ev.ExecutorJoined(executor, node))
            case "timer":
                timer = dice.choice(list(self.timers))
                self.now_s = max(self.now_s, self.timers.pop(timer))
                self.doomed = None
                self.tell(ev.TimerFired(timer))
                if self.doomed is not None:
                    self.lose(self.doomed)
            case "lose":
                if dice.random() < 0.5:
                    self.lose(dice.choice(alive))
            case "cancel":
                if dice.random() < 0.1:
                    self.tell(ev.CancelRequested("why not", group="g"))
            case "forget":
                self.forget()
        return True

    def change_nodes(self) -> None:
        """A storage-only node joins, leaves or is lost; or, seldom, one with executors."""
        dice = self.dice
        node = dice.choice(STORES)
        if node not in self.files.capacities:
            self.join_node(node)
        elif dice.random() < 0.5:
            self.tell(ev.NodeLeaves(node))
        elif dice.random() < 0.3:
            self.lose_node(node)
        elif dice.random() < 0.2:
            self.lose_node(dice.choice([each for each in self.files.capacities if each[0] == "n"]))

    def forget(self) -> None:
        dice = self.dice
        if self.scheduler.storage.persisted and dice.random() < 0.2:
            self.tell(ev.RddForgotten(dice.choice(sorted(self.scheduler.storage.persisted))))
        busy = any(
            run.spec.parents or run.spec.writes for run in self.scheduler.stages._runs.values()
        )
        if self.specs and not busy and dice.random() < 0.2:
            shuffle = dice.choice(sorted(self.specs))
            self.tell(ev.ShuffleForgotten(ShuffleId(shuffle)))

    def end_all(self) -> None:
        """Nobody needs anything any more, and all who could write are gone."""
        state = self.scheduler
        while self.moves:
            self.tell(self.end_move(faults=False))
        while self.fetching.busy:
            told = self.fetching.end(self.files, faults=False)
            if told is not None:
                self.tell(told)
        for rdd in sorted(state.storage.persisted):
            self.tell(ev.RddForgotten(RddId(rdd)))
        for shuffle in list(state.outputs._shuffles):
            self.tell(ev.ShuffleForgotten(shuffle))
        self.tell(ev.BlocksReleased(tuple(self.delivered)))
        while state.fleet:
            self.lose(next(iter(state.fleet)).id)


@pytest.mark.parametrize("block", range(20))
def test_every_job_ends_and_nothing_is_left(block: int) -> None:
    for seed in range(block * 100, block * 100 + 100):
        run_walk(seed, Walk(seed))


def run_walk(seed: int, walk: Walk) -> None:
    jobs = walk.dice.randint(1, 10)
    submitted = 0
    for _ in range(150):
        if submitted < jobs and walk.dice.random() < (0.1 if walk.running else 0.5):
            walk.submit(submitted)
            submitted += 1
        walk.step(faults=True)
    while submitted < jobs:
        walk.submit(submitted)
        submitted += 1
    for _ in range(20_000):
        if len(walk.ended) == jobs and not walk.running:
            break
        if not walk.step(faults=False):
            break
    state = walk.scheduler
    assert len(walk.ended) == jobs, (
        f"seed {seed}: jobs {[each.spec.id for each in state.jobs]} never end"
    )
    assert not state.jobs and not state.stages and not list(state.attempts), f"seed {seed}"
    assert not state.room.waiting and not walk.asking, f"seed {seed}: somebody waits for room"
    walk.end_all()
    # Cached input stays until something needs its room.
    cached = {(ref.node, ref.segment) for ref in state.storage.inputs}
    left = {*walk.files.sizes} - cached
    assert not left, f"seed {seed}: {sorted(left)} are never dropped"
    assert {*state.storage.ledger.segments} == {name for _, name in cached}, f"seed {seed}"
    assert not state.storage.ledger.moves, f"seed {seed}"
    assert not state.room._leaving, f"seed {seed}: {state.room._leaving} are never released"
    assert state.storage.book.fetched_bytes == walk.fetching.fetched_bytes, f"seed {seed}"
    assert not state.segments and not state.plans, f"seed {seed}"
    assert not state.storage.ledger.absent and not state.storage.ledger.writers, f"seed {seed}"
