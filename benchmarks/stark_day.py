"""Stark's figure 20 by cost: response times while a day's pickups are replayed on 40 nodes.

Each timestep of five minutes is a dataset, kept for three hours. Queries cogroup a random range of
the timesteps and a random region of the town, 20 a second. Partitions are ranges of the Z order.
Spark-H and Stark-H have 40 of them, Stark-E has 160 in groups that split and merge. Queries are
asked for a few seconds of each timestep, since the rest of it is alike; nothing is asked of the six
hours before: the first three begin with nothing, whose groups are all merged, and in the next three
rows that were kept by these go.
"""

from __future__ import annotations

from collections import defaultdict
from random import Random
from statistics import mean

from benchmarks.scache_plots import Plot
from benchmarks.stark_data import by_timestep
from benchmarks.stark_dice import by_dice
from benchmarks.targets import Target
from pyrite.forecast.costs import CostModel, NodeKind
from pyrite.forecast.play import simulate
from pyrite.forecast.workload import JobModel, KeptModel, StageModel, Workload
from pyrite.ids import NamespaceId, RddId
from pyrite.place.policy import Policy
from pyrite.plan.program import NarrowInput, PlanStep
from pyrite.rdd.dependency import SAME
from pyrite.rdd.partitioner import range_bounds
from pyrite.rdd.partitioners import StaticRangePartitioner
from pyrite.schedule import commands as do
from pyrite.schedule import events as ev
from pyrite.schedule.rules import CollectionRule, Rules
from pyrite.schedule.scheduler import Scheduler

NODES, GROUPS, FINE = 40, 40, 160
STEPS_AN_HOUR, WINDOW = 12, 36
# An executor is waited for as long as a few queries take: replicas are for those that stay busy.
RATE, STEP_S, WAIT_S = 20, 4.0, 0.5
QUIET = 2 * WINDOW
# A query's region: a twentieth of the partitions.
REGION = 20
# A timestep of mean size, read whole by one core, computed again from its source, and its bytes.
READING_S, MAKING_S, BYTES = 0.25, 1.0, 40_000_000
WAYS = ("Spark-H", "Stark-H", "Stark-E")
# How often an executor has room for its share of the fullest three hours.
ROOM = 1.5
SPACE = NamespaceId(0)


class Day:
    """The workload: timesteps come and go, and queries are asked at one rate."""

    def __init__(self, way: str, steps: list[list[int]], mean_pickups: float, load: float) -> None:
        self.way = way
        self.partitions = FINE if way == "Stark-E" else GROUPS
        width = FINE // self.partitions
        # The weight of each partition of each timestep; a whole one of mean size weighs 1.
        self.weights = [
            [load * sum(counts[at : at + width]) / mean_pickups for at in range(0, FINE, width)]
            for counts in steps
        ]
        self.namespace = None if way == "Spark-H" else 0
        self.stages: dict[int, StageModel] = {}
        self.jobs: list[JobModel] = []
        self.arrived_s: dict[int, float] = {}
        self.took_s: dict[int, list[float]] = defaultdict(list)

    def workload(self) -> Workload:
        dice = Random(20)
        for step in range(len(self.weights)):
            self._load(step)
            if step < QUIET:
                continue
            for number in range(int(RATE * STEP_S)):
                at_s = STEP_S * step + (number + 0.5) / RATE
                # Of the last three hours; the timestep that is just being loaded is left out.
                known = range(step - WINDOW, step)
                first, last = sorted((dice.choice(known), dice.choice(known)))
                self._query(range(first, last + 1), dice.randrange(REGION), at_s)
        kept = {
            step: KeptModel(
                step,
                {index: MAKING_S * each for index, each in enumerate(weights)},
                {index: BYTES * each for index, each in enumerate(weights)},
            )
            for step, weights in enumerate(self.weights)
        }
        return Workload(self.stages, tuple(self.jobs), kept)

    def _load(self, step: int) -> None:
        plan = PlanStep(RddId(step), (), self.partitions)
        id = self._add(
            StageModel(step, [0.0] * self.partitions, steps=(plan,), namespace=self.namespace)
        )
        space = None if self.namespace is None else SPACE
        before: list[ev.RddPersisted | ev.RddForgotten | ev.NamespaceMade]
        before = [ev.RddPersisted(RddId(step), space)]
        if step == 0 and space is not None:
            is_extendable = self.way == "Stark-E"
            before.insert(0, ev.NamespaceMade(space, "day", self.partitions, GROUPS, is_extendable))
        if step > WINDOW:
            before.append(ev.RddForgotten(RddId(step - WINDOW - 1)))
        self.jobs.append(JobModel(len(self.jobs), id, gap_s=STEP_S * step, before=tuple(before)))

    def _query(self, steps: range, region: int, at_s: float) -> None:
        width = self.partitions // REGION
        asked = tuple(range(region * width, (region + 1) * width))
        cpu_s = [0.0] * self.partitions
        for index in asked:
            cpu_s[index] = READING_S * sum(self.weights[step][index] for step in steps)
        plans = [PlanStep(RddId(step), (), self.partitions) for step in steps]
        inputs = tuple(NarrowInput(place, SAME) for place in range(len(plans)))
        plans.append(PlanStep(None, inputs, self.partitions))
        # Ids of stages are above those of datasets.
        id = self._add(
            StageModel(
                len(self.weights) + len(self.jobs),
                cpu_s,
                steps=tuple(plans),
                namespace=self.namespace,
            )
        )
        self.jobs.append(JobModel(len(self.jobs), id, asked, gap_s=at_s))

    def _add(self, stage: StageModel) -> int:
        self.stages[stage.id] = stage
        return stage.id

    def listen(self, now_s: float, event: ev.Event, commands: list[do.Command]) -> None:
        if isinstance(event, ev.JobSubmitted) and event.job.stage.id >= len(self.weights):
            self.arrived_s[event.job.id] = now_s
        for command in commands:
            if isinstance(command, do.FinishJob) and command.job in self.arrived_s:
                arrived_s = self.arrived_s.pop(command.job)
                self.took_s[int(arrived_s / STEP_S)].append(now_s - arrived_s)

    def responses_s(self) -> list[float]:
        """The mean response of each hour's queries."""
        sizes = [sum(weights) for weights in self.weights]
        fullest = max(sum(sizes[at : at + WINDOW]) for at in range(len(sizes)))
        room = ROOM * BYTES * fullest / NODES
        collections = CollectionRule(
            report=self.way == "Stark-E",
            most_group_bytes=int(1.2 * WINDOW * BYTES / GROUPS),
            least_group_bytes=int(0.5 * WINDOW * BYTES / GROUPS),
        )
        rules = Rules(locality_wait_s=WAIT_S, collections=collections)
        policies: tuple[Policy, ...] | None = by_dice(WAIT_S) if self.way == "Spark-H" else None
        kind = NodeKind(cores=1, memory_bytes=int(2 * room / 0.7))
        simulate(
            self.workload(),
            [kind] * NODES,
            CostModel(),
            scheduler=Scheduler(rules, policies),
            listeners=[self.listen],
        )
        hours: dict[int, list[float]] = defaultdict(list)
        for step, took in self.took_s.items():
            hours[(step - QUIET) // STEPS_AN_HOUR] += took
        return [mean(hours[hour]) for hour in sorted(hours)]


class DayTrace:
    """Response times by the hour, for each way."""

    def __init__(self, small: bool) -> None:
        # The evening's rise is enough to see the shape.
        self.hours = range(14, 18) if small else range(24)
        # With twice as much Spark-H cannot follow: the paper stays within what all of them can do.
        self.loads = (1.0,)
        self.found: dict[tuple[str, float], list[float]] = {}

    def run(self) -> None:
        steps, mean_pickups = self._counts()
        for load in self.loads:
            for way in WAYS:
                found = Day(way, steps, mean_pickups, load).responses_s()
                self.found[way, load] = found
                print(f"  {way}, load {load:g}: peak {max(found):.3f} s", flush=True)

    def _counts(self) -> tuple[list[list[int]], float]:
        """The pickups of each partition in each timestep, by ranges that are even over the day, and
        how many a timestep has on average; the time before midnight is that of the same day."""
        steps = by_timestep(60 // STEPS_AN_HOUR)
        ranges = StaticRangePartitioner(
            range_bounds(sorted(k for keys in steps for k in keys), FINE)
        )
        first, end = self.hours[0] * STEPS_AN_HOUR, (self.hours[-1] + 1) * STEPS_AN_HOUR
        counted = []
        for at in range(first - QUIET, end):
            counts = [0] * FINE
            for key in steps[at % len(steps)]:
                counts[ranges(key)] += 1
            counted.append(counts)
        return counted, sum(map(len, steps)) / len(steps)

    def peak_s(self, way: str, load: float) -> float:
        return max(self.found[way, load])

    @property
    def targets(self) -> list[Target]:
        return [
            Target(
                f"figure 20, load {load:g}: Stark-E's peak over Stark-H's",
                self.peak_s("Stark-E", load) / self.peak_s("Stark-H", load),
                1.0,
            )
            for load in self.loads
        ]

    @property
    def plots(self) -> dict[str, Plot]:
        places = [str(hour) for hour in self.hours]
        return {
            f"day-{load:g}": Plot(
                f"Figure 20: a day's pickups, load {load:g}",
                "mean response, 20 queries a second, by cost",
                "hour of the day",
                places,
                {way: self.found[way, load] for way in WAYS},
            )
            for load in self.loads
        }

    def markdown(self) -> str:
        head = " | ".join(f"{hour}" for hour in self.hours)
        lines = [
            "## Figure 20, by cost: mean response by the hour of the day, ms, 20 queries a second",
            "",
            "In the paper Spark-H passes 800 ms, Stark-H stays below 200 ms, Stark-E below that.",
            "",
            f"| | load | {head} | highest |",
            "|---" * (len(self.hours) + 3) + "|",
        ]
        for (way, load), found in self.found.items():
            told = " | ".join(f"{1000 * each:.0f}" for each in found)
            lines.append(f"| {way} | {load:g} | {told} | {1000 * max(found):.0f} |")
        return "\n".join([*lines, ""])
