"""Invariants of the scheduler's state; tests check them after every event."""

from __future__ import annotations

from itertools import pairwise
from math import inf
from typing import TYPE_CHECKING

from pyrite.ids import NodeId, Partition, ShuffleId
from pyrite.place.laf import KEYS
from pyrite.schedule.collectioninvariants import (
    check_bound,
    check_collections,
    check_contention,
    check_replicas,
)
from pyrite.schedule.taskstate import TaskState

if TYPE_CHECKING:
    from pyrite.schedule.prefetch.unit import Unit
    from pyrite.schedule.scheduler import Scheduler
    from pyrite.schedule.taskset import TaskSet


def check(state: Scheduler) -> None:
    """Raises AssertionError where the state contradicts itself."""
    check_executors(state)
    check_attempts(state)
    check_stages(state)
    check_idle(state)
    check_jobs(state)
    check_blocks(state)
    check_copies(state)
    check_divisions(state)
    check_collections(state)
    check_contention(state)
    check_bound(state)
    check_replicas(state)
    check_prefetched(state)
    check_flush(state)
    check_ranges(state)
    check_allocation(state)


def check_executors(state: Scheduler) -> None:
    for id, executor in state.fleet._executors.items():
        assert executor.id == id
        assert state.fleet._slots[executor.slot] == id, (
            f"slot {executor.slot} is not executor {id}'s"
        )
        assert (executor.attempt is None) == (id in state.fleet._free), (
            f"executor {id} is half free"
        )
    assert state.fleet._free.keys() <= state.fleet._executors.keys()
    nodes = [executor.node for executor in state.fleet._executors.values()]
    assert state.fleet._counts == {node: nodes.count(node) for node in nodes}
    held = [each for each in state.fleet._slots if each is not None]
    assert sorted(held) == sorted(state.fleet._executors), "slots and executors differ"
    empty = [slot for slot, each in enumerate(state.fleet._slots) if each is None]
    assert sorted(state.fleet._empty_slots) == empty, "an empty slot is not listed"
    order = [each.freed for each in state.fleet._free.values()]
    assert order == sorted(order), "free executors are out of order"


def check_allocation(state: Scheduler) -> None:
    """Wanted executors are within their bounds, idle nodes are listed, and a timer is set for what
    is due next."""
    allocation, rule = state.allocation, state.rules.allocation
    planned = state.fleet._planned
    assert state.fleet._expected == sum(planned.values())
    for node, count in state.fleet._counts.items():
        assert count <= planned.get(node, count), f"{node} has more executors than it should"
    if rule is None:
        return
    assert min(rule.least, rule.most) <= allocation._target <= rule.most, (
        f"{allocation._target} executors are wanted"
    )
    idle = {node for node in planned if state.fleet.is_idle(node)}
    known = allocation._idle_s.keys() | allocation._holding_s.keys()
    assert known == idle, "idle nodes are listed wrongly"
    assert not allocation._idle_s.keys() & allocation._holding_s.keys()
    assert allocation.waiting == 0 or allocation._adds_at_s is not None, "tasks wait in vain"
    assert allocation._told.leaving == tuple(state.room.leaving)
    due_s = [at_s for _, at_s in allocation._ends(rule) if at_s > state.turn.now_s]
    if allocation._adds_at_s is not None and allocation._needed(rule) > allocation._target:
        due_s.append(allocation._adds_at_s)
    assert allocation._wakes_at_s <= min(due_s, default=inf), "nobody looks at what is due"


def check_attempts(state: Scheduler) -> None:
    for id, attempt in state.attempts._attempts.items():
        executor = state.fleet._executors[attempt.executor]
        assert executor.attempt is attempt, f"attempt {id} is not its executor's attempt"
        tasks = attempt.tasks
        if tasks is not None:
            assert attempt.wanted, f"attempt {id} has no task that is needed"
            assert all(attempt in tasks._running[each] for each in attempt.wanted)
            assert state.stages._runs[tasks.stage].tasks is tasks
    busy = [each for each in state.fleet._executors.values() if each.attempt is not None]
    assert len(busy) == len(state.attempts._attempts)


def check_stages(state: Scheduler) -> None:
    waiting = list(state.queue.everyone())
    for id, run in state.stages._runs.items():
        assert run.spec.id == id
        assert run.jobs, f"nobody waits for stage {id}"
        assert run.jobs.keys() <= state.jobs._jobs.keys()
        tasks = run.tasks
        if tasks is None:
            assert run.missing, f"stage {id} waits for nothing and has no tasks"
            continue
        check_states(tasks)
        assert tasks.queue._anywhere.keys() <= tasks.queue.pending.keys()
        for copies in tasks._running.values():
            assert all(each.id in state.attempts._attempts for each in copies)
            assert sum(each.counts for each in copies) == 1, "a task counts twice, or not at all"
        counting = {each.id for copies in tasks._running.values() for each in copies if each.counts}
        assert tasks.count == len(counting), f"stage {id} has miscounted its tasks"
        assert not tasks.finished or tasks.paused, f"stage {id} is done but not ended"
        assert not tasks.has_work or run in waiting, f"stage {id} has work and is not queued"
    assert all(state.stages._runs.get(run.spec.id) is run for run in waiting), (
        "a queued stage has ended"
    )
    running = sum(run.running_count for run in state.stages._runs.values())
    assert running == sum(pool.load.running for pool in state.queue.pools.values())
    for run in state.stages._runs.values():
        for shuffle in run.missing:
            parent = run.spec.parents[shuffle]
            assert parent.id in state.stages._runs, f"nobody makes shuffle {shuffle}"


def check_states(tasks: TaskSet) -> None:
    """Each task is in exactly the collections that its state requires."""
    for partition in {*tasks._states, *tasks.queue.pending, *tasks._running, *tasks._slow}:
        state = tasks.state(partition)
        copies = len(tasks._running.get(partition, ()))
        assert (state is TaskState.PENDING) == tasks.is_pending(partition), (partition, state)
        assert (state is TaskState.SLOW) == (partition in tasks._slow), (partition, state)
        match state:
            case TaskState.RUNNING | TaskState.SLOW:
                assert copies == 1, (partition, state, copies)
            case TaskState.SPECULATED:
                assert copies > 1, (partition, state, copies)
            case _:
                assert not copies, (partition, state, copies)


def check_idle(state: Scheduler) -> None:
    """No usable executor is idle while a task waits that it may run."""
    for run in state.queue.everyone() if state.fleet._free else ():
        tasks = run.tasks
        if tasks is None or not tasks.has_work or run.spec.barrier:
            continue
        for partition in tasks.queue.pending:
            able = (
                state.fleet._free
                if tasks.queue.is_for_any(partition)
                else tasks.queue.owners(partition, ())
            )
            for id in able:
                assert (
                    id not in state.fleet._free
                    or state.health.excluded(id)
                    or state.health.excluded_from(run.spec.id, id)
                    or partition in state.health.refused(run.spec.id, id)
                ), f"executor {id} is idle while partition {partition} of {run.spec} waits"


def check_ranges(state: Scheduler) -> None:
    """Every key has a node, and pending tasks with keys are listed by them."""
    ranges = state.ranges
    if ranges._laf is not None and state.fleet._executors:
        for key in (0, KEYS // 3, KEYS - 1, *(low for low, _ in ranges._laf.hot())):
            able = {
                id
                for id in state.fleet._executors
                if any(low <= key < high for low, high in ranges.spans(id))
                or key in ranges.cached(id)
            }
            assert able == {*ranges.executors(key)} != set(), f"the owners of {key} differ"
    for run in state.stages._runs.values():
        queue = None if run.tasks is None else run.tasks.queue
        if queue is not None and queue.ranged is not None:
            found = queue.ranged._sorted
            listed = queue.ranged._pending.keys()
            assert listed <= queue.pending.keys(), f"{run.spec} lists a task that does not wait"
            assert found is None or {task for _, task in found} == listed
            assert found is None or found == sorted(found)
            blocks = [task for tasks in queue.ranged._by_block.values() for task in tasks]
            assert sorted(map(str, blocks)) == sorted(map(str, listed))


def check_jobs(state: Scheduler) -> None:
    for id, job in state.jobs._jobs.items():
        assert job.spec.id == id
        assert job.unfinished, f"job {id} is done but not ended"
        assert job.spec.stage.id in state.stages._runs
        for stage in job.stages:
            run = state.stages.get(stage)
            assert run is not None and id in run.jobs


def check_blocks(state: Scheduler) -> None:
    state.storage.ledger.check()
    assert state.storage.kept.ids() <= state.storage._persisted
    for indices in state.storage.kept._live.values():
        for holders in indices.values():
            assert holders and set(holders) <= state.fleet._executors.keys()
    held = [
        (executor, each) for executor, kept in state.storage.kept._held.items() for each in kept
    ]
    listed = [
        (executor, Partition(rdd, index))
        for rdd, indices in state.storage.kept._live.items()
        for index, holders in indices.items()
        for executor in holders
    ]
    assert sorted(held) == sorted(listed), "holders of live rows differ between collections"
    for outputs in state.outputs:
        assert outputs.absent == sum(ref is None for ref in outputs.refs)
    live = len(list(state.storage.kept.all_blocks()))
    live += sum(len(each.blocks()) for each in state.outputs)
    live += sum(len(each.replicas) for each in state.outputs)
    live += len(state.replication._orders)
    divisions = [each for run in state.stages._runs.values() for each in run.divisions.values()]
    live += sum(len(each.blocks()) for each in divisions)
    live += len(list(state.storage.inputs))
    pinned = sum(segment.live for segment in state.storage.ledger.segments.values())
    assert pinned >= live, "the ledger has dropped a block that is in use"
    for ref in state.storage.inputs:
        assert ref.segment in state.storage.ledger.segments, f"{ref} is cached and not there"
    for pool in state.storage.ledger.pools.values():
        assert pool.input_bytes <= state.rules.input_cache_bytes, f"{pool.node} caches too much"
    check_room(state)


def check_copies(state: Scheduler) -> None:
    """An output and its replica are on different nodes; outputs wait only behind an order in
    flight."""
    blocks: dict[str, int] = {}
    for outputs in state.outputs:
        for index, copy in outputs.replicas.items():
            ref = outputs.refs[index]
            assert ref is not None, f"output {index} has a replica but no block"
            assert copy.node != ref.node, f"output {index} and its replica are on one node"
        for ref in (*outputs.blocks(), *outputs.replicas.values()):
            blocks[ref.segment] = blocks.get(ref.segment, 0) + 1
    for fetch, backup in state.replication._orders.items():
        segment = backup.segment
        assert state.storage.ledger.segments[segment.name] is segment
        assert fetch not in state.segments._by_fetch, (
            f"fetch {fetch} is a replica and a prefetched segment"
        )
        assert segment.live == 1 and not segment.sealed, f"copies of fetch {fetch} are half here"
        assert segment.place != backup.source and len(backup.maps) == len(backup.refs) > 0
    for name, segment in state.storage.ledger.segments.items():
        if segment.fetched and segment.sealed and not segment.in_memory:
            assert segment.live == blocks.get(name), f"{name} has replicas without outputs"
    under_way = [(each.shuffle, each.source) for each in state.replication._orders.values()]
    assert len(set(under_way)) == len(under_way), "a node sends two orders of one shuffle"
    assert state.replication._wanted.keys() <= set(under_way), (
        "an output waits to be copied without an order in flight"
    )


def check_divisions(state: Scheduler) -> None:
    """Each piece of a divided reducer is pending, is running, or has made blocks that still
    exist."""
    for run in state.stages._runs.values():
        tasks = run.tasks
        for index, division in run.divisions.items():
            assert tasks is not None, f"{run.spec} is divided before it has tasks"
            for key, piece in division.pieces.items():
                assert key.partition == index and key.number < run.pieces, (
                    f"{key} is listed with another reducer"
                )
                is_to_come = key in tasks.queue.pending or key in tasks._running
                assert is_to_come == (piece.made is None), f"{key} is half done"
            for ref in division.blocks():
                assert ref.segment in state.storage.ledger.segments, (
                    f"a block of a piece of reducer {index} is lost"
                )


def check_room(state: Scheduler) -> None:
    """Kept blocks, segments' readers and promised room agree in all collections."""
    listed = sorted(
        (segment, partition)
        for segment, kept in state.storage.kept._in_segment.items()
        for partition in kept
    )
    known = sorted({(ref.segment, partition) for partition, ref in state.storage.kept.all_blocks()})
    assert listed == known, "partitions in segments differ between collections"
    readers: dict[str, int] = {}
    for attempt in state.attempts._attempts.values():
        for name in attempt.segments():
            readers[name] = readers.get(name, 0) + 1
    for name, segment in state.storage.ledger.segments.items():
        assert segment.readers == readers.get(name, 0), f"{name} counts its readers wrongly"
    for pool in state.storage.ledger.pools.values():
        promised = [each.wanted.bytes for each in state.room._waiting if each.pool is pool]
        assert pool.promised_bytes == sum(promised), (
            f"{pool.node} has promised another number of bytes"
        )
    for waiting in state.room._waiting:
        assert any(move in state.storage.ledger.moves for move in waiting.moves), (
            "a writer waits without a move in progress"
        )


def check_prefetched(state: Scheduler) -> None:
    """Prefetched segments, in flight or arrived, agree in all collections."""
    plans = [run.plan for run in state.plans if run.plan]
    units = [unit for plan in plans for unit in plan.units]
    on_way: dict[NodeId, int] = {}
    sent: dict[NodeId, int] = {}
    for fetch, ahead in state.segments._by_fetch.items():
        assert ahead.fetch == fetch and ahead.unit.on_node[ahead.node][fetch] is ahead
        assert state.storage.ledger.segments[ahead.segment.name] is ahead.segment
        assert ahead.segment.live == 1 and ahead.segment.sealed == ahead.is_here
        assert ahead.unwanted or ahead.unit in units, (
            f"prefetched segment {fetch} belongs to no unit"
        )
        assert not (ahead.unwanted and ahead.is_here), (
            f"prefetched segment {fetch} was dropped but is still listed"
        )
        is_busy = state.segments._busy.get((ahead.source, ahead.node)) == fetch
        assert is_busy is not ahead.is_here, f"prefetched segment {fetch} is half here"
        if not ahead.is_here:
            on_way[ahead.node] = on_way.get(ahead.node, 0) + ahead.segment.bytes
            sent[ahead.source] = sent.get(ahead.source, 0) + ahead.segment.bytes
    for unit in units:
        fetched: dict[NodeId, int] = {}
        for ahead in unit.segments:
            fetched[ahead.node] = fetched.get(ahead.node, 0) + ahead.segment.bytes
        assert fetched == {node: size for node, size in unit.fetched_bytes.items() if size}
        check_unit(unit)
    listed = [each for each in state.segments._by_fetch.values() if each.unit in units]
    assert sum(len(each.maps) for each in listed) == sum(
        len(found) for unit in units for found in unit.of_map.values()
    ), "segments differ from the maps that units list"
    assert on_way == {node: size for node, size in state.segments._to_node.items() if size}
    assert sent == {node: size for node, size in state.segments._from_node.items() if size}
    for id, run in state.plans._runs.items():
        assert state.stages._runs[id] is run and run.plan is not None
        places = run.plan.places
        assert places.keys() == run.plan.unit_of.keys()
        lost = [node for node in places.values() if node not in state.storage.ledger.pools]
        assert not lost, f"reducers of {run.spec} have places on {lost}, which are lost"
        for index, unit in run.plan.unit_of.items():
            assert index in unit.reducers[places[index]], f"reducer {index} is in no round"


def check_unit(unit: Unit) -> None:
    """A unit fetches no part twice, and nothing for reducers that are done."""
    for route, count in unit.landed.items():
        assert count <= unit.seen.get(route, 0), f"round {unit.number}: more came than was ordered"
    wanted = [ahead for ahead in unit.segments if not ahead.unwanted]
    assert unit.unfinished or not wanted, f"round {unit.number} is over and has {wanted}"
    assert unit.admitted or not wanted, f"round {unit.number} was given up and has {wanted}"
    assert unit.last_stretch.keys() == unit.on_node.keys()
    stretches = sorted(each.stretch for each in unit.segments)
    for one, following in pairwise(stretches):
        assert one.file != following.file or one.behind() <= following.offset, f"{one} overlaps"
    there: dict[tuple[NodeId, ShuffleId, int], set[int]] = {}
    for each in wanted:
        for number in each.maps:
            parts = there.setdefault((each.node, each.shuffle, number), set())
            assert parts.isdisjoint(each.parts), f"round {unit.number} has a part twice"
            parts |= each.parts


def check_flush(state: Scheduler) -> None:
    """Outputs that leave memory are in flight to nobody, and bytes in memory are counted right."""
    moving = {
        state.storage.ledger.moves[id].source.name: outputs
        for id, outputs in state.flush._moves.items()
    }
    travelling = {
        (each.shuffle, index)
        for each in state.segments._by_fetch.values()
        if not (each.is_here or each.unwanted)
        for index in each.maps
    }
    for name, outputs in moving.items():
        segment = state.storage.ledger.segments[name]
        assert segment.moving and segment.sealed and not segment.kept, f"{name} is half moved"
        for output in outputs:
            ref = state.flush._ref(output)
            assert ref is None or ref.segment != name or output not in travelling, (
                f"output {output} leaves memory while it is fetched"
            )
    for shuffle in state.outputs:
        held: dict[NodeId, int] = {}
        for ref in shuffle.blocks():
            if ref.medium == "memory":
                held[ref.node] = held.get(ref.node, 0) + ref.length
        counted = {node: size for node, size in shuffle.memory_bytes.items() if size}
        assert held == counted, f"shuffle {shuffle.shuffle} miscounts its bytes in memory"
