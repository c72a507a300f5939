"""On which masters contract tests run that do not run on all of them, and why.

Whatever is not named here runs on every adapter. A key is a module, a class or a test; the longest
one that fits counts.
"""

from __future__ import annotations

from typing import NamedTuple

LOCAL, CLUSTER, SIM, RAY, RETRYING = "local", "local-cluster", "sim", "ray", "ray with retries"
REAL = (LOCAL, CLUSTER, RAY)


class Fewer(NamedTuple):
    """The masters of some tests, and why there are no others."""

    masters: tuple[str, ...]
    why: str
    # Whether the tests name their masters themselves, beside the fixture.
    own: bool = False


def on(*masters: str, why: str) -> Fewer:
    """The contexts of the fixtures are on these."""
    return Fewer(masters, why)


def own(*masters: str, why: str) -> Fewer:
    """The tests make contexts on these."""
    return Fewer(masters, why, own=True)


NO_PROCESSES = "simulated executors have no processes"
DRIVER = "about the driver alone, before or beside any cluster"
MEMORY = "an executor's memory is bounded by its own process, whoever started it"
NODES = "about nodes with agents; scripts/kills and test_ray_machines do the like on Ray"
FORK_SERVER = "nodes of other masters have agents: test_local_cluster, test_ray"
LENGTH = "seconds of the driver's own work, the same on any master"
ON_RAY = "about Ray itself"

FEWER = {
    "test_cancelled_late": own(LOCAL, why="one executor, met by a cancel in a certain line"),
    "test_collection_kills": own(CLUSTER, why=NODES),
    "test_collections::test_what_an_executor_loses_is_computed_again": own(CLUSTER, why=NODES),
    "test_context::TestOneAtATime": on(LOCAL, why=DRIVER),
    "test_context::TestRefusedStarts": on(LOCAL, why=DRIVER),
    "test_context::TestStop::test_during_a_job": on(*REAL, why="the job waits in real time"),
    "test_context::TestStop::test_while_many_threads_start_jobs_and_broadcasts": on(
        *REAL, why="the simulator decides when threads run"
    ),
    "test_context::TestForks": on(LOCAL, CLUSTER, why="a fork lacks the threads of Ray's driver"),
    "test_context::TestForks::test_a_living_child_does_not_keep_executors": on(
        LOCAL, why=FORK_SERVER
    ),
    "test_context::TestScratch": on(LOCAL, why="folders of one node; those of others have agents"),
    "test_context::test_many_contexts_leave_nothing": own(LOCAL, why=DRIVER),
    "test_context::test_an_engine_that_fails_can_be_stopped": on(LOCAL, why=DRIVER),
    "test_context::test_contexts_of_the_same_millisecond_have_ids_of_their_own": own(
        LOCAL, why=DRIVER
    ),
    "test_contexts_in_tasks": on(*REAL, why=NO_PROCESSES),
    "test_copied_outputs": own(CLUSTER, why=NODES),
    "test_ctrl_c": own(LOCAL, CLUSTER, SIM, why="on Ray the driver's side is local-cluster's"),
    "test_cyclic_rows": own(LOCAL, why=MEMORY),
    "test_deaths": on(LOCAL, CLUSTER, RETRYING, why=NO_PROCESSES),
    "test_deaths::TestAccumulators": own(LOCAL, why="attempts are counted by the master's name"),
    "test_deaths::TestDeathOutsideTasks::test_of_the_fork_server": on(LOCAL, why=FORK_SERVER),
    "test_deaths::TestDeathOutsideTasks::test_of_the_fork_server_while_tasks_run": on(
        LOCAL, why=FORK_SERVER
    ),
    "test_deaths::TestMemory": on(LOCAL, why=MEMORY),
    "test_dev_mode": own(LOCAL, CLUSTER, why="about Pyrite's own processes, not Ray's"),
    "test_divided_beyond_memory": own(CLUSTER, why=MEMORY),
    "test_divided_reducers": own(LOCAL, CLUSTER, why="seeds of tests/sim divide reducers, too"),
    "test_dynamic_allocation": own(CLUSTER, why="test_ray_allocation has it on Ray, tests/sim too"),
    "test_early_kills": own(LOCAL, CLUSTER, why="kills a driver in a start of its own processes"),
    "test_encrypted": own(CLUSTER, RAY, why="one node has no connections"),
    "test_few_files": own(CLUSTER, why="looks into the folders of nodes"),
    "test_frozen::TestBytes::test_of_a_long_line_of_frozen_rdds": on(
        *REAL, why="simulated executors share the depth of one process's stack"
    ),
    "test_frozen::TestOneVersion": on(LOCAL, why="erases files of the only node"),
    "test_jobs::TestOrder": own(LOCAL, why="the order of tasks on a known number of executors"),
    "test_jobs::TestSideBySide": on(*REAL, why="the simulator decides when threads run"),
    "test_jobs::TestCancel": on(*REAL, why="tasks that sleep or loop in real time"),
    "test_jobs::TestSpeculation": on(LOCAL, why="tasks that take real time; tests/sim has more"),
    "test_jobs::TestExclusion": own(LOCAL, why="failures are counted by the master's name"),
    "test_jobs::TestFlags::test_attempt_numbers_count_up": own(
        LOCAL, why="attempts are counted by the master's name"
    ),
    "test_jobs::TestBarrier::test_a_death_starts_all_tasks_again": on(
        LOCAL, CLUSTER, RETRYING, why=NO_PROCESSES
    ),
    "test_jobs::TestStatus::test_tracker_tells_of_running_jobs": on(
        *REAL, why="tasks that wait in real time"
    ),
    "test_jobs::TestStatus::test_tracker_counts_failures_and_deaths": on(
        LOCAL, CLUSTER, RETRYING, why=NO_PROCESSES
    ),
    "test_jobs::test_ctrl_c_cancels_the_job_and_keeps_the_context": own(
        LOCAL, why="about the driver's thread; test_ctrl_c has other masters"
    ),
    "test_jobs::test_ctrl_c_while_the_job_is_submitted": on(
        LOCAL, why="about the driver's thread; test_ctrl_c has other masters"
    ),
    "test_journal_left": own(LOCAL, CLUSTER, why="tests/sim restarts drivers at any event"),
    "test_kept_iterators::TestArrays": on(LOCAL, why=MEMORY),
    "test_killed_saves": own(LOCAL, CLUSTER, why="a save is its driver's, or the next one's"),
    "test_large_rows_in_one_partition": own(LOCAL, why=MEMORY),
    "test_larger_than_memory_shuffles": own(LOCAL, CLUSTER, why=MEMORY),
    "test_local_cluster": own(CLUSTER, why="about this master; test_ray is its counterpart"),
    "test_loss": on(LOCAL, why="spoils files of this machine; tests/sim does so on nodes"),
    "test_masters": own(why="no cluster takes part"),
    "test_many_executors": own(LOCAL, CLUSTER, why="hundreds of processes: limits of this machine"),
    "test_other_contexts::test_a_fork_refuses_what_its_parent_had": on(
        LOCAL, why="a fork of the driver"
    ),
    "test_page": own(LOCAL, CLUSTER, SIM, why="the page reads stories, which are alike"),
    "test_partitions_beyond_memory": own(LOCAL, CLUSTER, why=MEMORY),
    "test_prefetch_kills": own(CLUSTER, why=NODES),
    "test_printing": own(LOCAL, CLUSTER, SIM, why="test_ray has it on Ray"),
    "test_profiles::test_profiles_appear_when_the_program_ends": own(
        LOCAL, why="the end of a program"
    ),
    "test_random_kills": own(CLUSTER, RAY, why="tests/property has local[n]"),
    "test_ray": own(RAY, why=ON_RAY),
    "test_ray_allocation": own(RAY, why=ON_RAY),
    "test_ray_jobs": own(RAY, why=ON_RAY),
    "test_ray_machines": own(RAY, why=ON_RAY),
    "test_recovery_bound::test_the_delay_of_an_rdd_is_its_own": own(
        LOCAL, why="measures tasks in real time"
    ),
    "test_recovery_bound::test_no_job_waits_for_a_write": on(LOCAL, why="holds a thread up"),
    "test_replay": own(LOCAL, CLUSTER, SIM, why="stories of Ray's runs have the same records"),
    "test_row_machine": own(LOCAL, why="what runs in one executor"),
    "test_scale": on(*REAL, why="the simulator's checkers look at every event"),
    "test_scale::test_an_iteration_of_1000_steps": on(LOCAL, why=LENGTH),
    "test_scale::test_a_union_of_1000": on(LOCAL, why=LENGTH),
    "test_scale::TestManyJobs": on(LOCAL, why="weighs the processes of this machine"),
    "test_short_pools_on_nodes": own(CLUSTER, why=MEMORY),
    "test_start_kills": own(CLUSTER, why="kills agents in their starts; Ray starts them alike"),
    "test_stopped_processes": own(LOCAL, CLUSTER, why="test_ray stops a node on Ray"),
    "test_storage::TestLevels::test_unpersist_computes_again_and_frees": on(
        LOCAL, why="looks into the folders of the only node"
    ),
    "test_storage::TestLevels::test_replicas_survive_a_death": on(
        LOCAL, CLUSTER, RETRYING, why=NO_PROCESSES
    ),
    "test_storage::TestEviction": on(LOCAL, why=MEMORY),
    "test_storage::TestBounds": on(LOCAL, why=MEMORY),
    "test_storage::TestCheckpoints::test_cut_the_lineage_and_are_read": on(
        LOCAL, CLUSTER, RETRYING, why=NO_PROCESSES
    ),
    "test_storage::TestCheckpoints::test_are_written_in_the_background": on(
        *REAL, why="the checkpoint waits in real time"
    ),
    "test_storage::TestCheckpoints::test_local_ones_cut_the_lineage_and_survive_deaths": on(
        LOCAL, CLUSTER, RETRYING, why=NO_PROCESSES
    ),
    "test_storage::TestTraces": on(LOCAL, why="looks into the pool of the only node"),
    "test_story": own(LOCAL, CLUSTER, SIM, why="Ray's runs are told alike"),
    "test_tables": own(LOCAL, why="tables are made of RDDs, whose masters they do not know"),
    "test_task_processes": own(LOCAL, CLUSTER, why="agents on Ray end what tasks start alike"),
    "test_tiny_reducers::test_an_executor_that_dies_with_several_is_held_against_one": on(
        LOCAL, CLUSTER, RETRYING, why=NO_PROCESSES
    ),
    "test_user_errors::TestRaise::test_retries_are_counted": own(
        LOCAL, why="attempts are counted by the master's name"
    ),
}


def fewer(test: str) -> Fewer | None:
    """The entry for a test, by its name below the folder: module, class, function."""
    parts = test.removesuffix("]").partition("[")[0].split("::")
    for length in range(len(parts), 0, -1):
        if (found := FEWER.get("::".join(parts[:length]))) is not None:
            return found
    return None
