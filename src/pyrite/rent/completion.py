"""The time of a stage on rented machines, by the places of its blocks: R3S equations 1 to 3."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from heapq import heapify, heapreplace
from math import ceil, inf
from statistics import fmean
from typing import NamedTuple

# The shares of an executor node's memory for the pool and for live rows, as in the engine's
# defaults; the rest is for tasks and the system.
POOL_PART = 0.25
LIVE_PART = 0.35
EXECUTORS_PART = 0.5
# A storage-only node runs only its block server.
STORAGE_POOL_PART = 0.9
# Times that differ by less than this factor count as equal: whole waves then need no queue.
EQUAL_WITHIN = 1.01
# With more tasks, their mean and extremes stand for all of them.
MANY = 500


# Compared by identity: plans look machines up many times.
@dataclass(frozen=True, slots=True, eq=False)
class Instance:
    """A type of machine that can be rented.

    Prices are pairs of seconds after the start and dollars per hour from then on. Speed 1 is that
    of the measured machine.
    """

    name: str
    cores: int
    memory_bytes: int
    prices: tuple[tuple[float, float], ...]
    pool_part: float = POOL_PART
    storage_pool_part: float = STORAGE_POOL_PART
    # None means the measured rate.
    network_bytes_per_s: float | None = None
    disk_bytes_per_s: float | None = None
    speed: float = 1.0
    # The paid time before it works.
    startup_s: float = 0.0
    # Its provider may take it back.
    spot: bool = False
    executes: bool = True
    stores: bool = True

    @property
    def pool_bytes(self) -> float:
        return self.memory_bytes * self.pool_part

    @property
    def storage_bytes(self) -> float:
        """The pool of a storage-only node."""
        return self.memory_bytes * self.storage_pool_part

    @property
    def live_bytes(self) -> float:
        return self.memory_bytes * LIVE_PART

    @property
    def task_bytes(self) -> float:
        """The memory of one task for its rows."""
        return self.memory_bytes * EXECUTORS_PART / max(1, self.cores)


class Hire(NamedTuple):
    """The machines of a stage: executor nodes and storage-only nodes."""

    executor: Instance
    executors: int
    storage: Instance | None = None
    storages: int = 0

    @property
    def slots(self) -> int:
        return self.executor.cores * self.executors

    @property
    def machines(self) -> int:
        return self.executors + self.storages

    @property
    def pool_bytes(self) -> float:
        lent = self.storage.storage_bytes * self.storages if self.storage else 0.0
        return self.executor.pool_bytes * self.executors + lent


@dataclass(frozen=True, slots=True)
class Rates:
    """The measured costs of the engine, per task, block and byte."""

    task_s: float
    driver_s: float
    decode_bytes_per_s: float
    write_bytes_per_s: float
    local_block_s: float
    remote_block_s: float
    disk_block_s: float
    remote_bytes_per_s: float
    disk_read_bytes_per_s: float
    disk_write_bytes_per_s: float
    # The speed of a core while all cores of its machine are busy; 1 is that of a core alone.
    efficiency: float = 1.0
    live_bytes_per_encoded_byte: float = 9.5


class BlockCount(NamedTuple):
    """The number of blocks that a task reads, and their bytes."""

    number: float = 0.0
    bytes: float = 0.0


class TaskLoad(NamedTuple):
    """One task, independent of the machine: its own work, and what it reads and writes.

    `stored_bytes` are kept blocks, whose encoding is part of its own work; `remade_s` is the time
    to recompute the live rows that it reads, if they have no room; `coding` is the time to encode
    and decode its rows, relative to the measured plain rows (arrays take hardly any time).
    """

    own_s: float
    kept: BlockCount = BlockCount()
    shuffled: BlockCount = BlockCount()
    # Blocks of storage levels without memory.
    disk: BlockCount = BlockCount()
    written_bytes: float = 0.0
    stored_bytes: float = 0.0
    remade_s: float = 0.0
    coding: float = 1.0


@dataclass(frozen=True, slots=True)
class StageLoad:
    """A stage: its tasks, and the memory that it needs to avoid the disk.

    A stage that runs several times, as in a loop, is listed once; `idle_s` is how long its machines
    wait for the user's program before each run.
    """

    name: str
    tasks: tuple[TaskLoad, ...]
    pooled_bytes: float = 0.0
    live_bytes: float = 0.0
    repeats: int = 1
    idle_s: float = 0.0
    # The mean and the heaviest of very many tasks, which stand for all of them.
    outline: tuple[TaskLoad, ...] = field(init=False, compare=False, repr=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "outline", outline_of(self.tasks))


def outline_of(tasks: Sequence[TaskLoad]) -> tuple[TaskLoad, ...]:
    """The mean of the tasks, the one with the most work and the one that reads most."""
    if len(tasks) <= MANY:
        return ()
    longest = max(tasks, key=lambda task: task.own_s)
    largest = max(tasks, key=lambda task: task.kept.bytes + task.shuffled.bytes)
    return mean_task(tasks), longest, largest


def mean_task(tasks: Sequence[TaskLoad]) -> TaskLoad:
    """The mean of these tasks."""
    return TaskLoad(
        fmean(each.own_s for each in tasks),
        mean_blocks([each.kept for each in tasks]),
        mean_blocks([each.shuffled for each in tasks]),
        mean_blocks([each.disk for each in tasks]),
        fmean(each.written_bytes for each in tasks),
        fmean(each.stored_bytes for each in tasks),
        fmean(each.remade_s for each in tasks),
        fmean(each.coding for each in tasks),
    )


def mean_blocks(blocks: Sequence[BlockCount]) -> BlockCount:
    return BlockCount(fmean(each.number for each in blocks), fmean(each.bytes for each in blocks))


class Parts(NamedTuple):
    """The fractions of a stage's pooled bytes by place, and of its live rows without room."""

    local: float
    remote: float
    disk: float
    remade: float


class Spell(NamedTuple):
    """The time of one run of a stage, and the places of its blocks."""

    seconds: float
    parts: Parts


def parts_of(load: StageLoad, hire: Hire) -> Parts:
    """Local memory first, then that of other nodes, then disk (R3S 3.2)."""
    live_room = hire.executor.live_bytes * hire.executors
    remade = max(0.0, 1.0 - live_room / load.live_bytes) if load.live_bytes else 0.0
    if not load.pooled_bytes:
        return Parts(1.0, 0.0, 0.0, remade)
    local = min(1.0, hire.executor.pool_bytes * hire.executors / load.pooled_bytes)
    memory = min(1.0, hire.pool_bytes / load.pooled_bytes)
    return Parts(local, memory - local, 1.0 - memory, remade)


def run_stage(load: StageLoad, hire: Hire, rates: Rates) -> Spell:
    """R3S eq. 1: a stage takes as long as the slowest of its executors."""
    parts = parts_of(load, hire)
    fetch = Fetch(hire, parts, rates)
    if load.outline:
        mean_s, *heavy_s = map(fetch.task_s, load.outline)
        queue_s = ceil(len(load.tasks) / hire.slots) * mean_s + max(0.0, max(heavy_s) - mean_s)
    else:
        queue_s = longest_queue([fetch.task_s(task) for task in load.tasks], hire.slots)
    # The driver launches tasks one after another.
    driver_s = rates.driver_s * len(load.tasks)
    return Spell(load.idle_s + max(queue_s, driver_s), parts)


class FetchCost(NamedTuple):
    """The cost of fetching from one place; R3S has it as the time of a partition."""

    block_s: float = 0.0
    byte_s: float = 0.0

    def seconds(self, blocks: BlockCount) -> float:
        return blocks.number * self.block_s + blocks.bytes * self.byte_s


def mixed(*shares: tuple[float, FetchCost]) -> FetchCost:
    """R3S eq. 3, FT = LM FT_LM + RM FT_RM + LD FT_LD, with fractions in place of numbers."""
    return FetchCost(
        sum(part * way.block_s for part, way in shares),
        sum(part * way.byte_s for part, way in shares),
    )


class Fetch:
    """The times of reading, computing and writing on one executor of a stage (R3S eq. 2 and 3)."""

    def __init__(self, hire: Hire, parts: Parts, rates: Rates) -> None:
        executor = hire.executor
        self.rates = rates
        self.remade = parts.remade
        self.cpu_rate = executor.speed * (rates.efficiency if executor.cores > 1 else 1.0)
        # All executors of a machine read at the same time: they share its link and its disk.
        peer_bytes_per_s = peer_rate(hire, rates)
        lent_bytes_per_s = min(peer_bytes_per_s, storage_rate(hire))
        given = executor.disk_bytes_per_s
        disk_write_s = executor.cores / (given or rates.disk_write_bytes_per_s)
        disk_read_s = executor.cores / (given or rates.disk_read_bytes_per_s)
        # Blocks in the own pool are read in place: only finding one takes time.
        near = FetchCost(rates.local_block_s)
        peer = FetchCost(rates.remote_block_s, 1 / peer_bytes_per_s)
        lent = FetchCost(rates.remote_block_s, 1 / lent_bytes_per_s)
        self.disk = FetchCost(rates.disk_block_s, disk_read_s)
        self.kept = mixed((parts.local, near), (parts.remote, lent), (parts.disk, self.disk))
        # A reducer finds its own machine's share of the executors' memory locally.
        here = 1.0 / hire.executors
        self.shuffled = mixed(
            (parts.local * here, near),
            ((parts.local + parts.disk) * (1.0 - here), peer),
            (parts.remote, lent),
            (parts.disk, self.disk),
        )
        self.written_s = parts.remote / lent_bytes_per_s + parts.disk * disk_write_s
        self.spilled_s = disk_write_s + self.disk.byte_s
        self.task_bytes = executor.task_bytes

    def task_s(self, task: TaskLoad) -> float:
        """R3S eq. 2: an executor's time is that of its work and of its fetches."""
        rates = self.rates
        spilled = self.spilled_bytes(task.shuffled)
        decoded = task.kept.bytes + task.shuffled.bytes + task.disk.bytes + spilled
        work_s = rates.task_s + task.own_s + self.remade * task.remade_s
        coding_s = decoded / rates.decode_bytes_per_s
        coding_s += task.written_bytes / rates.write_bytes_per_s
        work_s += coding_s * task.coding
        fetch_s = self.kept.seconds(task.kept) + self.shuffled.seconds(task.shuffled)
        fetch_s += self.disk.seconds(task.disk)
        store_s = (task.written_bytes + task.stored_bytes) * self.written_s
        store_s += spilled * self.spilled_s
        return work_s / self.cpu_rate + fetch_s + store_s

    def spilled_bytes(self, shuffled: BlockCount) -> float:
        """The bytes of a reducer's rows that have no room in its executor."""
        needed = shuffled.bytes * self.rates.live_bytes_per_encoded_byte
        if needed <= self.task_bytes:
            return 0.0
        return shuffled.bytes * (1.0 - self.task_bytes / needed)


def peer_rate(hire: Hire, rates: Rates) -> float:
    """The bytes per second of one executor from other machines while all of them read."""
    link = hire.executor.network_bytes_per_s
    shared = inf if link is None else link / hire.executor.cores
    return min(rates.remote_bytes_per_s * hire.executor.speed, shared)


def storage_rate(hire: Hire) -> float:
    """The same from storage-only nodes, whose links all executors share."""
    if hire.storage is None or hire.storage.network_bytes_per_s is None:
        return inf
    return hire.storage.network_bytes_per_s * hire.storages / hire.slots


def longest_queue(times: Sequence[float], slots: int) -> float:
    """The time of the last slot, if each takes the next task as soon as it is free."""
    if not times:
        return 0.0
    longest = max(times)
    if len(times) <= slots:
        return longest
    if longest <= EQUAL_WITHIN * min(times):
        return ceil(len(times) / slots) * sum(times) / len(times)
    queues = list(times[:slots])
    heapify(queues)
    for task_s in times[slots:]:
        heapreplace(queues, queues[0] + task_s)
    return max(queues)
