"""Derives the loads of stages from a workload, in the order in which they run."""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from statistics import fmean
from typing import NamedTuple

from pyrite.forecast.costed import shares_by_shuffle
from pyrite.forecast.costs import CostModel
from pyrite.forecast.workload import JobModel, StageModel, Workload, reads_of
from pyrite.ids import Partition, RddId, ShuffleId
from pyrite.plan.program import Shape
from pyrite.rent.completion import BlockCount, Rates, StageLoad, TaskLoad, mean_task
from pyrite.schedule.events import RddForgotten, RddPersisted, ShuffleForgotten

# A larger result becomes a block, as in the engine.
INLINE_BYTES = 32 << 10


def rates_of(model: CostModel) -> Rates:
    """The measured rates that the equations need."""
    return Rates(
        task_s=model.task_overhead_s,
        driver_s=model.driver_event_s + model.driver_launch_s,
        decode_bytes_per_s=model.decode_bytes_per_s,
        write_bytes_per_s=1 / model.write_s(1.0),
        local_block_s=model.local_block_s,
        remote_block_s=model.remote_block_s,
        disk_block_s=model.disk_block_s,
        remote_bytes_per_s=model.remote_bytes_per_s,
        disk_read_bytes_per_s=model.disk_read_bytes_per_s,
        disk_write_bytes_per_s=model.disk_write_bytes_per_s,
        efficiency=model.shared_efficiency,
        live_bytes_per_encoded_byte=model.live_bytes_per_encoded_byte,
    )


class Loads(NamedTuple):
    """The distinct stages of a job, and the order of their runs."""

    stages: list[StageLoad]
    order: list[int]


def loads_of(workload: Workload, coding: Mapping[int, float] | None = None) -> Loads:
    """The stages of a workload; a stage that a loop runs again is listed once.

    `coding` has the stages whose rows are encoded and decoded faster than by the model.
    """
    return folded([(key_of(each), each) for each in Replay(workload, coding or {}).run()])


def key_of(load: StageLoad) -> Hashable:
    """The key that the runs of one stage in a loop share.

    The run that computes kept rows has another key than those that read them.
    """
    reads = sum(task.kept.number + task.disk.number for task in load.tasks)
    remakes = any(task.remade_s for task in load.tasks)
    return load.name, len(load.tasks), reads, remakes


def folded(runs: Sequence[tuple[Hashable, StageLoad]]) -> Loads:
    """Combines runs with the same key into one stage with their mean."""
    by_key: dict[Hashable, list[StageLoad]] = {}
    for key, load in runs:
        by_key.setdefault(key, []).append(load)
    places = {key: place for place, key in enumerate(by_key)}
    stages = [replace(mean_load(each), repeats=len(each)) for each in by_key.values()]
    return Loads(stages, [places[key] for key, _ in runs])


def mean_load(loads: Sequence[StageLoad]) -> StageLoad:
    """The mean of several runs of a stage, with as many tasks as the last run.

    If the runs have different numbers of tasks, the last run's tasks are scaled to the mean.
    """
    last = loads[-1]
    if len(loads) == 1:
        return last
    if all(len(each.tasks) == len(last.tasks) for each in loads):
        rows = zip(*(each.tasks for each in loads), strict=True)
        tasks = tuple(mean_task(row) for row in rows)
    else:
        mean_s = fmean(work_s(each) / max(1, len(each.tasks)) for each in loads)
        own_s = work_s(last) / max(1, len(last.tasks))
        factor = mean_s / own_s if own_s else 1.0
        tasks = tuple(each._replace(own_s=each.own_s * factor) for each in last.tasks)
    return replace(
        last,
        tasks=tasks,
        pooled_bytes=fmean(each.pooled_bytes for each in loads),
        live_bytes=fmean(each.live_bytes for each in loads),
        idle_s=fmean(each.idle_s for each in loads),
    )


def work_s(load: StageLoad) -> float:
    """The total own work of one run of a stage."""
    return sum(task.own_s for task in load.tasks)


@dataclass(slots=True)
class Replay:
    """Replays the jobs of a workload and records what each stage reads, computes and writes."""

    workload: Workload
    coding: Mapping[int, float]
    persisted: dict[RddId, None] = field(default_factory=dict)
    kept: dict[Partition, None] = field(default_factory=dict)
    shapes: dict[int, Shape] = field(default_factory=dict)
    # The number and bytes of available map outputs.
    outputs: dict[ShuffleId, BlockCount] = field(default_factory=dict)
    writers: dict[ShuffleId, int] = field(default_factory=dict)
    shares: dict[ShuffleId, Sequence[float]] = field(default_factory=dict)

    def run(self) -> Iterator[StageLoad]:
        specs = self.workload.specs()
        self.shares = shares_by_shuffle(self.workload, specs)
        for id, spec in specs.items():
            self.shapes[id] = spec.shape
            if spec.writes is not None:
                self.writers[spec.writes] = id
        for job in self.workload.jobs:
            self._add(job)
            idle_s = max(0.0, job.gap_s)
            for id in self._missing_stages(job.stage):
                partitions = job.partitions if id == job.stage else ()
                yield replace(self._run_stage(self.workload.stages[id], partitions), idle_s=idle_s)
                idle_s = 0.0

    def _add(self, job: JobModel) -> None:
        for event in job.before:
            if isinstance(event, RddPersisted):
                self.persisted[event.rdd] = None
            elif isinstance(event, RddForgotten):
                self.persisted.pop(event.rdd, None)
                self.kept = {each: None for each in self.kept if each.rdd != event.rdd}
            elif isinstance(event, ShuffleForgotten):
                self.outputs.pop(event.shuffle, None)

    def _missing_stages(self, last: int) -> list[int]:
        """The stage, after its ancestors whose map outputs are needed and missing."""
        counts: dict[RddId, int] = {}
        for each in self.kept:
            counts[each.rdd] = counts.get(each.rdd, 0) + 1
        found: dict[int, None] = {}
        pending = [last]
        while pending:
            stage = pending.pop()
            found[stage] = None
            shuffles = self.shapes[stage].needed_shuffles(
                lambda rdd: counts.get(rdd, 0), self.persisted
            )
            wanted = [self.writers[each] for each in shuffles if each not in self.outputs]
            pending.extend(each for each in wanted if each not in found)
        # Stages are numbered parents first.
        return sorted(found)

    def _run_stage(self, stage: StageModel, partitions: Sequence[int]) -> StageLoad:
        notes = Notes(self)
        indices = partitions or range(stage.tasks)
        tasks = tuple(notes.task(stage, index) for index in indices)
        self.kept.update(notes.made)
        if stage.writes is not None:
            written = sum(task.written_bytes for task in tasks)
            self.outputs[ShuffleId(stage.writes)] = BlockCount(len(tasks), written)
        pooled = sum(notes.pooled.values()) + notes.written_bytes
        pooled += sum(self.outputs[each].bytes for each in notes.shuffles)
        return StageLoad(stage.name, tasks, pooled, sum(notes.live.values()))


class Notes:
    """Records what the tasks of one stage read and write."""

    def __init__(self, replay: Replay) -> None:
        self.replay = replay
        self.made: dict[Partition, None] = {}
        self.pooled: dict[Partition, float] = {}
        self.live: dict[Partition, float] = {}
        self.shuffles: dict[ShuffleId, None] = {}
        self.written_bytes = 0.0

    def task(self, stage: StageModel, index: int) -> TaskLoad:
        replay = self.replay
        shape = replay.shapes[stage.id]
        reads = reads_of(shape, index, replay.persisted, replay.kept.__contains__)
        own_s = stage.cpu_s[index]
        kept, disk, remade_s = BlockCount(), BlockCount(), 0.0
        for each in reads.found:
            model = replay.workload.kept[each.rdd]
            size = model.size_bytes.get(each.index, 0.0)
            match model.place:
                case "live":
                    self.live[each] = size
                    remade_s += model.making_s.get(each.index, 0.0)
                case "disk":
                    disk = BlockCount(disk.number + 1, disk.bytes + size)
                case _:
                    self.pooled[each] = size
                    kept = BlockCount(kept.number + 1, kept.bytes + size)
        written = stage.output_bytes[index] if stage.output_bytes else 0.0
        if stage.writes is not None or written > INLINE_BYTES:
            self.written_bytes += written
        stored = 0.0
        for each in reads.missing:
            self.made[each] = None
            model = replay.workload.kept[each.rdd]
            own_s += model.making_s.get(each.index, 0.0)
            size = model.size_bytes.get(each.index, 0.0)
            if model.place == "live":
                self.live[each] = size
            else:
                self.pooled[each] = size
                stored += size
        shuffled = self._shuffled(reads.parts)
        coding = replay.coding.get(stage.id, 1.0)
        return TaskLoad(own_s, kept, shuffled, disk, written, stored, remade_s, coding)

    def _shuffled(self, parts: Sequence[tuple[ShuffleId, int]]) -> BlockCount:
        found = BlockCount()
        for shuffle, index in parts:
            self.shuffles[shuffle] = None
            outputs = self.replay.outputs.get(shuffle, BlockCount())
            shares = self.replay.shares[shuffle]
            part_bytes = outputs.bytes * shares[index % len(shares)]
            found = BlockCount(found.number + outputs.number, found.bytes + part_bytes)
        return found
