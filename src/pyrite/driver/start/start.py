"""Starts an engine from the master and the settings."""

from __future__ import annotations

import os
from functools import partial
from importlib.util import find_spec
from typing import TYPE_CHECKING, cast

from pyrite.blocks.writer import SEGMENT_BYTES
from pyrite.cluster.local.agentprocess import NodeShape
from pyrite.cluster.local.start import start_many_nodes, start_one_node
from pyrite.cluster.port import Cluster
from pyrite.cluster.real.cluster import RealCluster
from pyrite.cluster.real.setup import RealSetup
from pyrite.descriptors import hold_standard_descriptors
from pyrite.driver.engine.engine import Engine
from pyrite.driver.engine.knownstages import KnownStages
from pyrite.driver.log.chronicle import Chronicle
from pyrite.driver.log.journal import Journal, restore
from pyrite.driver.start.allocating import allocation_rule, first_nodes
from pyrite.driver.start.master import Master
from pyrite.driver.start.pools import read_pools
from pyrite.execute.limits import WorkerLimits
from pyrite.machine.chain import Mode
from pyrite.schedule.health import ExclusionRule
from pyrite.schedule.lafsettings import read_laf
from pyrite.schedule.rules import CollectionRule, Rules, SpeculationRule
from pyrite.schedule.scheduler import Scheduler
from pyrite.schedule.story import Story
from pyrite.settings import BadSetting, Settings

if TYPE_CHECKING:
    from pyrite.cluster.sim.cluster import SimCluster
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


def start_engine(master: Master, settings: Settings, chronicle: Chronicle) -> Engine:
    """Starts an engine on the master's cluster; its story begins before the first node joins."""
    hold_standard_descriptors()
    scheduler = Scheduler(read_rules(master, settings))
    limits = executor_limits(settings)._replace(size_report_bytes=size_report_bytes(master))
    story, stages = Story(), KnownStages()
    journal: Journal | None = None
    cluster: Cluster
    chronicle.open(story, scheduler, stages)
    try:
        if folder := settings.str("pyrite.journal.dir"):
            journal = start_journal(folder, settings, scheduler)
            story.listeners.append(journal.record)
        if master.world is not None:
            cluster = sim = start_sim(master.world, stages, limits)
            journal = journal or restarting_journal(sim, scheduler, story)
            watch_sim(sim, scheduler, story, journal)
        elif master.ray is not None:
            from pyrite.driver.start.onray import start_on_ray

            cluster = start_on_ray(master, stages, limits, settings)
        else:
            cluster = start_local(master, stages, limits, settings)
    except BaseException:
        if journal is not None:
            journal.close()
        chronicle.close()
        raise
    chronicle.cluster = cluster
    most_bytes = settings.bytes("spark.driver.maxResultSize")
    return Engine(scheduler, cluster, stages, story, journal, most_bytes, chronicle.replay_file)


def size_report_bytes(master: Master) -> int | None:
    """From which size on map outputs report the sizes of their parts: on one node all reducers are
    local, and only heavy ones matter, if there are other executors to share their work."""
    if master.world is not None or master.is_served:
        return 0
    return ONE_NODE_REPORT_BYTES if master.executors > 1 else None


def start_journal(folder: str, settings: Settings, scheduler: Scheduler) -> Journal:
    try:
        return Journal(folder, settings.str("spark.app.id"), scheduler)
    except OSError as error:
        problem = f"no journal can be written there: {error}"
        raise BadSetting("pyrite.journal.dir", folder, problem) from error


def start_sim(world: World, stages: KnownStages, limits: WorkerLimits) -> SimCluster:
    """Starts a simulated cluster in this process."""
    from pyrite.cluster.sim.cluster import SimCluster

    return SimCluster(world, stages, limits)


def restarting_journal(cluster: SimCluster, scheduler: Scheduler, story: Story) -> Journal | None:
    """The journal of a simulated driver that restarts; None if it does not."""
    if not any(fault.kind == "restart driver" for fault in cluster.world.faults):
        return None
    journal = Journal(cluster.folder, "sim", scheduler, SIM_JOURNAL_EVENTS)
    story.listeners.append(journal.record)
    return journal


def watch_sim(
    cluster: SimCluster, scheduler: Scheduler, story: Story, journal: Journal | None
) -> None:
    """Has all checkers listen, and the driver restart from its journal."""
    from pyrite.cluster.sim.checkers.every import every_checker

    if journal is not None:
        cluster.restart_driver = partial(forget_and_restore, journal)
    story.listeners.extend(each.see for each in every_checker(scheduler, cluster))


def forget_and_restore(journal: Journal) -> None:
    """Replaces the scheduler's state by that of its journal."""
    journal.scheduler.become(restore(journal.path)[0])


def start_local(
    master: Master, stages: KnownStages, limits: WorkerLimits, settings: Settings
) -> RealCluster:
    """Starts executors as processes of this machine."""
    check_limits(limits, settings)
    environment = executor_environment(settings)
    setup = real_setup(limits, settings)
    pool_bytes = setup.pool_bytes
    if master.memory_bytes is None:
        return start_one_node(stages, setup, master.executors, limits, environment)
    shape = NodeShape(master.executors // master.nodes, pool_bytes)
    nodes = first_nodes(master, allocation_rule(master, settings))
    return start_many_nodes(stages, setup, shape, nodes, master.storage, limits, environment)


def executor_environment(settings: Settings) -> dict[str, str]:
    """The variables that the program wants its executors to have."""
    environment = settings.executor_env()
    if "OMP_NUM_THREADS" not in os.environ:
        # Executors use all cores already; threads of numeric libraries would compete with them.
        environment.setdefault("OMP_NUM_THREADS", "1")
    return environment


def real_setup(limits: WorkerLimits, settings: Settings) -> RealSetup:
    return RealSetup(
        settings.bytes("pyrite.pool.memory"),
        settings.str("spark.local.dir").split(",")[0],
        limits.network_timeout_s,
        settings.bytes("pyrite.network.bytesPerSecond"),
    )


def check_limits(limits: WorkerLimits, settings: Settings) -> None:
    """Refuses limits under which no process could work."""
    if limits.memory_bytes < LEAST_EXECUTOR_BYTES:
        least = f"{LEAST_EXECUTOR_BYTES >> 20}m"
        settings.refuse("spark.executor.memory", f"expected {least} at least, for the interpreter")
    if not 0 <= limits.profile_hertz <= 1000:
        settings.refuse("pyrite.profile.hertz", "expected 0 to 1000 samples a second")
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
        machine=cast(Mode, settings.str("pyrite.machine")),
        profile_hertz=settings.float("pyrite.profile.hertz"),
    )


def segment_bytes(pool_bytes: int) -> int:
    """Smaller segments for smaller pools: the unfilled rest of a segment is wasted."""
    return max(LEAST_SEGMENT_BYTES, min(SEGMENT_BYTES, pool_bytes // SEGMENTS))


def collection_rule(settings: Settings) -> CollectionRule:
    """How collections are sized; refuses bounds between which groups would split and merge
    forever."""
    rule = CollectionRule(
        settings.bool("pyrite.collections.report"),
        settings.int("pyrite.collections.lastRdds"),
        settings.bytes("pyrite.collections.maxGroupBytes"),
        settings.bytes("pyrite.collections.minGroupBytes"),
        settings.seconds("pyrite.collections.replicaIdle"),
    )
    if rule.last_rdds < 0:
        settings.refuse("pyrite.collections.lastRdds", "expected 0, for all, or more")
    if rule.most_group_bytes < 2 * rule.least_group_bytes:
        problem = f"expected twice pyrite.collections.minGroupBytes, {rule.least_group_bytes} bytes"
        settings.refuse("pyrite.collections.maxGroupBytes", f"{problem}, at least")
    return rule


def recovery_bound_s(settings: Settings) -> float:
    bound_s = settings.seconds("pyrite.recovery.bound")
    if not bound_s:
        return 0.0
    if not settings.str("spark.checkpoint.dir"):
        settings.refuse("pyrite.recovery.bound", "set spark.checkpoint.dir, to write checkpoints")
    if settings.float("pyrite.recovery.relax") < 1:
        settings.refuse("pyrite.recovery.relax", "expected 1, for no more than needed, or more")
    if find_spec("networkx") is None:
        settings.refuse("pyrite.recovery.bound", "install networkx: pip install 'pyrite[recovery]'")
    return bound_s


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
        max_failures=master.max_failures or (max_failures if master.is_cluster else 1),
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
        laf=read_laf(settings),
        collections=collection_rule(settings),
        input_cache_bytes=settings.bytes("pyrite.ring.cache"),
        allocation=allocation_rule(master, settings),
        recovery_bound_s=recovery_bound_s(settings),
        recovery_relax=settings.float("pyrite.recovery.relax"),
        recovery_algorithm=settings.str("pyrite.recovery.algorithm").upper(),
    )
