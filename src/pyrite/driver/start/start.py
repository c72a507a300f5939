"""Starts an engine from the master and the settings."""

from __future__ import annotations

import os
from functools import partial
from typing import TYPE_CHECKING

from pyrite.blocks.writer import SEGMENT_BYTES
from pyrite.cluster.local.cluster import LocalCluster
from pyrite.cluster.local.node import NodeShape
from pyrite.cluster.port import Cluster
from pyrite.descriptors import hold_standard_descriptors
from pyrite.driver.engine.engine import Engine
from pyrite.driver.log.journal import Journal, restore
from pyrite.driver.start.master import Master
from pyrite.driver.start.pools import read_pools
from pyrite.execute.worker import WorkerLimits
from pyrite.schedule.health import ExclusionRule
from pyrite.schedule.rules import Rules, SpeculationRule
from pyrite.schedule.scheduler import Scheduler
from pyrite.settings import BadSetting, Settings

if TYPE_CHECKING:
    from pyrite.cluster.sim.world import World

# The share of an executor's memory that kept rows may take while tasks do not need it.
STORAGE_PART = 0.7
EXCLUDE = "spark.excludeOnFailure"
# A pool has room for at least so many segments, unless they would be too small.
SEGMENTS = 32
ONE_NODE_REPORT_BYTES = 1 << 20
LEAST_SEGMENT_BYTES = 1 << 20
# With less memory an executor fails before its first task, or in a small one.
LEAST_EXECUTOR_BYTES = 8 << 20
# Simulated runs are short: their journals write snapshots more often.
SIM_JOURNAL_EVENTS = 25


def start_engine(master: Master, settings: Settings) -> Engine:
    """Starts an engine on the master's cluster."""
    hold_standard_descriptors()
    scheduler = Scheduler(read_rules(master, settings))
    limits = executor_limits(settings)._replace(size_report_bytes=size_report_bytes(master))

    def make_cluster(engine: Engine) -> Cluster:
        if folder := settings.str("pyrite.journal.dir"):
            engine.keep_journal(start_journal(folder, settings, scheduler))
        try:
            if master.world is not None:
                return start_sim(master.world, engine, limits)
            return start_local(master, engine, limits, settings)
        except BaseException:
            if engine.journal is not None:
                engine.journal.close()
            raise

    return Engine(scheduler, make_cluster, settings.bytes("spark.driver.maxResultSize"))


def size_report_bytes(master: Master) -> int | None:
    """From which size on map outputs report the sizes of their parts: on one node all reducers are
    local, and only heavy ones matter, if there are other executors to share their work."""
    if master.world is not None or master.memory_bytes is not None:
        return 0
    return ONE_NODE_REPORT_BYTES if master.executors > 1 else None


def start_journal(folder: str, settings: Settings, scheduler: Scheduler) -> Journal:
    try:
        # Two applications may start at once, and then have the same id.
        return Journal(folder, f"{settings.str('spark.app.id')}-{os.getpid()}", scheduler)
    except OSError as error:
        problem = f"no journal can be written there: {error}"
        raise BadSetting("pyrite.journal.dir", folder, problem) from error


def start_sim(world: World, engine: Engine, limits: WorkerLimits) -> Cluster:
    """Starts a simulated cluster in this process, with all checkers as listeners."""
    from pyrite.cluster.sim.checkers.every import every_checker
    from pyrite.cluster.sim.cluster import SimCluster

    cluster = SimCluster(world, engine, limits)
    scheduler = engine.scheduler
    if any(fault.kind == "restart driver" for fault in world.faults):
        journal = engine.journal or Journal(cluster.folder, "sim", scheduler, SIM_JOURNAL_EVENTS)
        if engine.journal is None:
            engine.keep_journal(journal)
        cluster.restart_driver = partial(forget_and_restore, journal)
    engine.story.listeners.extend(each.see for each in every_checker(scheduler, cluster))
    return cluster


def forget_and_restore(journal: Journal) -> None:
    """Replaces the scheduler's state by that of its journal."""
    journal.scheduler.become(restore(journal.path)[0])


def start_local(
    master: Master, engine: Engine, limits: WorkerLimits, settings: Settings
) -> LocalCluster:
    """Starts executors as processes of this machine."""
    check_limits(limits, settings)
    environment = settings.executor_env()
    if "OMP_NUM_THREADS" not in os.environ:
        # Executors use all cores already; threads of numeric libraries would compete with them.
        environment.setdefault("OMP_NUM_THREADS", "1")
    pool_bytes = settings.bytes("pyrite.pool.memory")
    shapes = [NodeShape(master.executors // master.nodes, pool_bytes)] * master.nodes
    shapes += [NodeShape(0, size) for size in master.storage]
    local_dir = settings.str("spark.local.dir").split(",")[0]
    served = master.memory_bytes is not None
    return LocalCluster(
        shapes,
        pool_bytes,
        local_dir,
        engine,
        limits,
        environment,
        served,
        settings.bytes("pyrite.network.bytesPerSecond"),
    )


def check_limits(limits: WorkerLimits, settings: Settings) -> None:
    """Refuses limits under which no process could work."""
    if limits.memory_bytes < LEAST_EXECUTOR_BYTES:
        least = f"{LEAST_EXECUTOR_BYTES >> 20}m"
        settings.refuse("spark.executor.memory", f"expected {least} at least, for the interpreter")
    if limits.network_timeout_s <= 0:
        settings.refuse("spark.network.timeout", "expected more than 0, such as 120s")


def executor_limits(settings: Settings) -> WorkerLimits:
    memory = settings.bytes("spark.executor.memory")
    storage = int(memory * STORAGE_PART)
    return WorkerLimits(
        memory_bytes=memory,
        spill_bytes=memory * 8 // 10,
        storage_bytes=storage,
        protected_bytes=int(storage * settings.float("spark.memory.storageFraction")),
        inline_bytes=settings.bytes("pyrite.inline.bytes"),
        segment_bytes=segment_bytes(settings.bytes("pyrite.pool.memory")),
        network_timeout_s=settings.seconds("spark.network.timeout"),
    )


def segment_bytes(pool_bytes: int) -> int:
    """Smaller segments for smaller pools: the unfilled rest of a segment is wasted."""
    return max(LEAST_SEGMENT_BYTES, min(SEGMENT_BYTES, pool_bytes // SEGMENTS))


def read_rules(master: Master, settings: Settings) -> Rules:
    """The scheduler's rules.

    As in Spark's local mode, a task whose function raised is not retried unless the master URL
    says how often (`local[2,4]`); a task whose executor died is.
    """
    speculation = None
    if settings.bool("spark.speculation"):
        speculation = SpeculationRule(
            settings.float("spark.speculation.multiplier"),
            settings.float("spark.speculation.quantile"),
            settings.seconds("spark.speculation.minTaskRuntime"),
        )
    max_failures = settings.int("spark.task.maxFailures")
    allocation = settings.str("spark.scheduler.allocation.file")
    return Rules(
        executors=master.executors,
        max_failures=master.max_failures or (1 if master.world is None else max_failures),
        max_deaths=max_failures,
        max_fetch_failures=settings.int("spark.stage.maxConsecutiveAttempts"),
        locality_wait_s=settings.seconds("spark.locality.wait.process"),
        cancel_grace_s=settings.seconds("pyrite.cancel.grace"),
        fair=settings.str("spark.scheduler.mode").upper() == "FAIR",
        shares=read_pools(allocation) if allocation else {},
        speculation=speculation,
        speculation_interval_s=settings.seconds("spark.speculation.interval"),
        exclusion=ExclusionRule(
            settings.bool(f"{EXCLUDE}.enabled"),
            settings.int(f"{EXCLUDE}.task.maxTaskAttemptsPerExecutor"),
            settings.int(f"{EXCLUDE}.stage.maxFailedTasksPerExecutor"),
            settings.int(f"{EXCLUDE}.application.maxFailedTasksPerExecutor"),
            settings.seconds(f"{EXCLUDE}.timeout"),
        ),
        lookahead=settings.bool("pyrite.pool.lookahead"),
        reserve=settings.bool("pyrite.pool.reserve"),
        small_shuffle_bytes=settings.bytes("pyrite.shuffle.small"),
        output_copies=settings.int("pyrite.shuffle.copies"),
        divide_bytes=settings.bytes("pyrite.shuffle.divide"),
        tiny_reducers_bytes=settings.bytes("pyrite.shuffle.tiny"),
        prefetch=settings.bool("pyrite.shuffle.prefetch"),
        observed_share=settings.float("pyrite.shuffle.observe"),
        fetch_bytes=settings.bytes("pyrite.shuffle.inFlight"),
    )
