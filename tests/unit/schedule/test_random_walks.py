"""The scheduler under random events: invariants hold, every job ends, nothing is left behind."""

from __future__ import annotations

from random import Random

import pytest
from conversation import NODE, map_stage, result_stage

from pyrite.ids import AttemptId, BlockRef, ExecutorId, JobId, Partition, RddId, ShuffleId
from pyrite.plan.stages import JobSpec, StageSpec
from pyrite.schedule import commands as do
from pyrite.schedule import events as ev
from pyrite.schedule.health import ExclusionRule
from pyrite.schedule.scheduler import Scheduler
from pyrite.schedule.state import Rules
from pyrite.schedule.taskset import Speculation


class Walk:
    """A world that does what the scheduler says, or fails at it, by the dice of one seed."""

    def __init__(self, seed: int) -> None:
        self.dice = Random(seed)
        dice = self.dice
        self.scheduler = Scheduler(
            Rules(
                max_failures=dice.choice([1, 4]),
                max_deaths=dice.choice([2, 4]),
                fair=dice.random() < 0.5,
                speculation=Speculation(1.5, 0.5, 0.1) if dice.random() < 0.5 else None,
                exclusion=ExclusionRule(dice.random() < 0.2),
            )
        )
        self.now_s = 0.0
        self.running: dict[AttemptId, do.LaunchTask] = {}
        self.starting: list[ExecutorId] = [ExecutorId(i) for i in range(dice.randint(1, 4))]
        self.next_executor = len(self.starting)
        self.timers: dict[str, float] = {}
        self.ended: dict[int, Exception | None] = {}
        self.results: dict[int, list[int]] = {}
        self.segments: set[str] = set()
        self.specs: dict[int, StageSpec] = {}
        self.blocks = 0
        self.delivered: list[BlockRef] = []
        self.doomed: ExecutorId | None = None
        self.tell(ev.NodeJoined(NODE, dice.choice([0, 50, 500])))

    def tell(self, event: ev.Event) -> None:
        self.now_s += self.dice.random()
        for command in self.scheduler.handle(event, self.now_s):
            self.perform(command)
        self.scheduler.check()

    def perform(self, command: do.Command) -> None:
        match command:
            case do.LaunchTask():
                for snapshot in command.inputs:
                    assert all(ref.segment in self.segments for ref in snapshot.refs), (
                        "a reducer was promised a map output that is gone"
                    )
                self.running[command.attempt] = command
            case do.KillExecutor():
                self.kill(command.executor)
            case do.StartExecutor():
                self.starting.append(ExecutorId(self.next_executor))
                self.next_executor += 1
            case do.FinishJob():
                assert command.job not in self.ended, "a job ended twice"
                self.ended[command.job] = command.error
            case do.DeliverResult():
                assert command.job not in self.ended
                assert command.partition not in self.results[command.job], "delivered twice"
                self.results[command.job].append(command.partition)
                if isinstance(command.result, BlockRef):
                    self.delivered.append(command.result)
            case do.SetTimer():
                self.timers[command.name] = command.at_s
            case do.DropSegments():
                for segment in command.segments:
                    self.segments.discard(segment)

    def kill(self, executor: ExecutorId) -> None:
        self.doomed = executor

    def new_block(self) -> BlockRef:
        self.blocks += 1
        self.segments.add(f"d-{self.blocks}")
        return BlockRef(NODE, f"d-{self.blocks}", 0, 10)

    def submit(self, job: int) -> None:
        dice = self.dice
        stages: list[StageSpec] = list(self.specs.values())
        for _ in range(dice.randint(0, 2)):
            id = len(self.specs) * 2 + 1
            parents = dice.sample(stages, min(len(stages), dice.randint(0, 2)))
            spec = map_stage(id, dice.randint(0, 4), *parents)
            self.specs[id] = spec
            stages.append(spec)
        parents = dice.sample(stages, min(len(stages), dice.randint(0, 2)))
        width = dice.randint(0, 4)
        barrier = dice.random() < 0.1
        spec = result_stage(100_000 + job, width, *parents, barrier=barrier)
        wanted = tuple(i for i in range(width) if dice.random() < 0.8)
        self.results[job] = []
        if dice.random() < 0.5:
            self.tell(ev.RddPersisted(dice.choice(spec.shape.nodes).rdd))
        group = dice.choice([None, "g"])
        pool = dice.choice(["default", "other"])
        self.tell(ev.JobSubmitted(JobSpec(JobId(job), spec, wanted, group, pool=pool)))

    def finish(self, attempt: AttemptId, faults: bool) -> None:
        """One running attempt ends, well or badly."""
        launch = self.running.pop(attempt)
        dice = self.dice
        chance = dice.random() if faults else 1.0
        stored = self.stored(launch)
        if chance < 0.05:
            failure = ev.Failure("ValueError", "bad")
            self.tell(ev.TaskFailed(attempt, failure, stored))
        elif chance < 0.15 and launch.inputs and launch.inputs[0].refs:
            snapshot = dice.choice([each for each in launch.inputs if each.refs] or launch.inputs)
            index = dice.randrange(len(snapshot.refs))
            lost = ((index, snapshot.refs[index]),)
            self.tell(ev.FetchFailed(attempt, snapshot.shuffle, lost, "gone", stored))
        else:
            run = self.scheduler.runs.get(launch.stage)
            writes = launch.stage < 100_000
            assert run is None or writes == (run.spec.writes is not None)
            output = self.new_block() if writes else None
            result = None if writes else dice.choice([b"r", None]) or self.new_block()
            self.tell(ev.TaskSucceeded(attempt, result, output, stored=stored))

    def stored(self, launch: do.LaunchTask) -> tuple[tuple[Partition, BlockRef | None], ...]:
        run = self.scheduler.runs.get(launch.stage)
        if run is None or self.dice.random() < 0.5:
            return ()
        rdd = self.dice.choice(run.spec.shape.nodes).rdd
        ref = self.new_block() if self.dice.random() < 0.5 else None
        return ((Partition(rdd, launch.partition), ref),)

    def lose(self, executor: ExecutorId) -> None:
        for attempt in [a for a, each in self.running.items() if each.executor == executor]:
            del self.running[attempt]
        self.tell(ev.ExecutorLost(executor, "killed by SIGKILL"))

    def step(self, faults: bool) -> bool:
        """One random thing happens; False when nothing is left to happen."""
        dice = self.dice
        alive = list(self.scheduler.executors)
        choices = ["finish"] * 10 * bool(self.running) + ["join"] * 3 * bool(self.starting)
        choices += ["timer"] * bool(self.timers)
        if faults:
            choices += ["lose"] * bool(alive) + ["cancel", "forget"]
        if not choices:
            return False
        match dice.choice(choices):
            case "finish":
                self.finish(dice.choice(list(self.running)), faults)
            case "join":
                self.tell(ev.ExecutorJoined(self.starting.pop(0), NODE))
            case "timer":
                name = dice.choice(list(self.timers))
                self.now_s = max(self.now_s, self.timers.pop(name))
                self.doomed = None
                self.tell(ev.TimerFired(name))
                if self.doomed is not None:
                    self.lose(self.doomed)
            case "lose":
                self.lose(dice.choice(alive))
            case "cancel":
                if dice.random() < 0.1:
                    self.tell(ev.CancelRequested("why not", group="g"))
            case "forget":
                self.forget()
        return True

    def forget(self) -> None:
        dice = self.dice
        if self.scheduler.persisted and dice.random() < 0.2:
            self.tell(ev.RddForgotten(dice.choice(sorted(self.scheduler.persisted))))
        busy = any(run.spec.parents or run.spec.writes for run in self.scheduler.runs.values())
        if self.specs and not busy and dice.random() < 0.2:
            shuffle = dice.choice(sorted(self.specs))
            self.tell(ev.ShuffleForgotten(ShuffleId(shuffle)))


@pytest.mark.parametrize("block", range(20))
def test_every_job_ends_and_nothing_is_left(block: int) -> None:
    for seed in range(block * 100, block * 100 + 100):
        run_walk(seed)


def run_walk(seed: int) -> None:
    walk = Walk(seed)
    jobs = walk.dice.randint(1, 6)
    submitted = 0
    for _ in range(150):
        if submitted < jobs and walk.dice.random() < 0.1:
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
    assert len(walk.ended) == jobs, f"seed {seed}: jobs {sorted(state.jobs)} never end"
    assert not state.jobs and not state.runs and not state.attempts, f"seed {seed}"
    for rdd in sorted(state.persisted):
        walk.tell(ev.RddForgotten(RddId(rdd)))
    for shuffle in list(state.outputs.shuffles):
        walk.tell(ev.ShuffleForgotten(shuffle))
    walk.tell(ev.BlocksReleased(tuple(walk.delivered)))
    assert not walk.segments, f"seed {seed}: {sorted(walk.segments)} are never dropped"
    assert not list(state.ledger.segments()), f"seed {seed}"
