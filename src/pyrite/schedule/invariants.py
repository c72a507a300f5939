"""What always holds of the scheduler's state; checked after every event in tests."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pyrite.blocks.parcel import is_fetched
from pyrite.ids import NodeId, Partition, ShuffleId, StageId

if TYPE_CHECKING:
    from pyrite.schedule.parcels import Unit
    from pyrite.schedule.state import State


def check(state: State) -> None:
    """Raises AssertionError where the state contradicts itself."""
    check_executors(state)
    check_attempts(state)
    check_stages(state)
    check_idle(state)
    check_jobs(state)
    check_blocks(state)
    check_copies(state)
    check_divisions(state)
    check_parcels(state)


def check_executors(state: State) -> None:
    for id, executor in state.executors.items():
        assert executor.id == id
        assert state.slots[executor.slot] == id, f"slot {executor.slot} is not executor {id}'s"
        assert (executor.attempt is None) == (id in state.free), f"executor {id} is half free"
    assert state.free.keys() <= state.executors.keys()
    nodes = [executor.node for executor in state.executors.values()]
    assert state.executors_on == {node: nodes.count(node) for node in nodes}
    held = [each for each in state.slots if each is not None]
    assert sorted(held) == sorted(state.executors), "slots and executors differ"
    empty = [slot for slot, each in enumerate(state.slots) if each is None]
    assert sorted(state.empty_slots) == empty, "a slot is neither held nor to be had"
    order = [each.freed for each in state.free.values()]
    assert order == sorted(order), "free executors are out of order"


def check_attempts(state: State) -> None:
    for id, attempt in state.attempts.items():
        executor = state.executors[attempt.executor]
        assert executor.attempt is attempt, f"attempt {id} runs on nobody"
        tasks = attempt.tasks
        if tasks is not None:
            assert attempt.wanted, f"attempt {id} runs for nothing"
            assert all(attempt in tasks.running[each] for each in attempt.wanted)
            assert state.runs[StageId(tasks.stage)].tasks is tasks
    busy = [each for each in state.executors.values() if each.attempt is not None]
    assert len(busy) == len(state.attempts)


def check_stages(state: State) -> None:
    waiting = list(state.turns.everyone())
    for id, run in state.runs.items():
        assert run.spec.id == id
        assert run.jobs, f"nobody waits for stage {id}"
        assert run.jobs.keys() <= state.jobs.keys()
        tasks = run.tasks
        if tasks is None:
            assert run.missing, f"stage {id} waits for nothing and has no tasks"
            continue
        assert not (tasks.pending.keys() & tasks.running.keys()), "a task waits and runs"
        assert tasks.anywhere.keys() <= tasks.pending.keys()
        for copies in tasks.running.values():
            assert all(each.id in state.attempts for each in copies)
            assert sum(each.counts for each in copies) == 1, "a task counts twice, or not at all"
        counting = {each.id for copies in tasks.running.values() for each in copies if each.counts}
        assert tasks.count == len(counting), f"stage {id} has miscounted its tasks"
        assert tasks.pending or tasks.running or tasks.paused, f"stage {id} is done but not ended"
        assert not tasks.has_work or run in waiting, f"stage {id} has no turn"
    assert all(state.runs.get(run.spec.id) is run for run in waiting), "a turn for nobody"
    running = sum(run.running_count for run in state.runs.values())
    assert running == sum(pool.load.running for pool in state.turns.pools.values())
    for run in state.runs.values():
        for shuffle in run.missing:
            parent = run.spec.parents[shuffle]
            assert parent.id in state.runs, f"nobody makes shuffle {shuffle}"


def check_idle(state: State) -> None:
    """No executor is idle that could run what waits."""
    for run in state.turns.everyone() if state.free else ():
        tasks = run.tasks
        if tasks is None or not tasks.has_work or run.spec.barrier:
            continue
        for partition in tasks.pending:
            able = state.free if partition in tasks.anywhere else tasks.owners(partition, ())
            for id in able:
                assert (
                    id not in state.free
                    or state.health.excluded(id)
                    or state.health.excluded_from(run.spec.id, id)
                    or partition in state.health.refused(run.spec.id, id)
                ), f"executor {id} is idle while partition {partition} of {run.spec} waits"


def check_jobs(state: State) -> None:
    for id, job in state.jobs.items():
        assert job.spec.id == id
        assert job.unfinished, f"job {id} is done but not ended"
        assert job.spec.stage.id in state.runs
        for stage in job.stages:
            run = state.runs.get(StageId(stage))
            assert run is not None and id in run.jobs


def check_blocks(state: State) -> None:
    state.ledger.check()
    assert state.kept.ids() <= state.persisted
    for indices in state.kept.live.values():
        for holders in indices.values():
            assert holders and set(holders) <= state.executors.keys()
    held = [(executor, each) for executor, kept in state.kept.held.items() for each in kept]
    listed = [
        (executor, Partition(rdd, index))
        for rdd, indices in state.kept.live.items()
        for index, holders in indices.items()
        for executor in holders
    ]
    assert sorted(held) == sorted(listed), "who keeps which rows is told in two ways"
    for outputs in state.outputs.shuffles.values():
        assert outputs.absent == sum(ref is None for ref in outputs.refs)
    check_installments(state)
    live = sum(len(refs) for refs in state.kept.blocks.values()) + sum(
        len(each.blocks()) for each in state.outputs.shuffles.values()
    )
    live += sum(len(each.installments or ()) for each in state.attempts.values())
    live += sum(len(each.backups) for each in state.outputs.shuffles.values())
    live += len(state.backups)
    divisions = [each for run in state.runs.values() for each in run.divisions.values()]
    live += sum(len(each.blocks()) for each in divisions)
    pinned = sum(segment.live for segment in state.ledger.segments.values())
    assert pinned >= live, "a block is known that the ledger has dropped"
    check_room(state)


def check_installments(state: State) -> None:
    """Installments are of an output that is there, or of an attempt that runs and is wanted."""
    of_attempts = {
        (attempt.writes, number): each
        for attempt in state.attempts.values()
        for number, each in (attempt.installments or {}).items()
    }
    assert all(each.tasks for each in state.attempts.values() if each.installments)
    for shuffle, outputs in state.outputs.shuffles.items():
        adopted = [number for numbers in outputs.numbers.values() for number in numbers]
        for index, numbers in outputs.numbers.items():
            assert outputs.installments[numbers[-1]].ref == outputs.refs[index]
            assert all(outputs.installments[number].map == index for number in numbers)
        growing = [
            number
            for number, each in outputs.installments.items()
            if of_attempts.get((shuffle, number)) == each
        ]
        assert sorted(adopted + growing) == sorted(outputs.installments), "nobody's installment"


def check_copies(state: State) -> None:
    """A copy of an output lies, or will lie, on another node; those to be made wait in turn."""
    blocks: dict[str, int] = {}
    for outputs in state.outputs.shuffles.values():
        for index, copy in outputs.backups.items():
            ref = outputs.refs[index]
            assert ref is not None, f"there is a copy of output {index}, and no output"
            assert copy.node != ref.node, f"output {index} and its copy go with one node"
        for ref in (*outputs.blocks(), *outputs.backups.values()):
            blocks[ref.segment] = blocks.get(ref.segment, 0) + 1
    for fetch, backup in state.backups.items():
        segment = backup.segment
        assert state.ledger.segments[segment.name] is segment
        assert fetch not in state.parcels.by_fetch, f"fetch {fetch} is a copy and a parcel"
        assert segment.live == 1 and not segment.sealed, f"copies of fetch {fetch} are half here"
        assert segment.place != backup.source and len(backup.maps) == len(backup.refs) > 0
    for name, segment in state.ledger.segments.items():
        if is_fetched(name) and segment.sealed and not segment.in_memory:
            assert segment.live == blocks.get(name), f"{name} has copies of nothing"
    under_way = [(each.shuffle, each.source) for each in state.backups.values()]
    assert len(set(under_way)) == len(under_way), "a node sends two orders of one shuffle"
    assert state.to_copy.keys() <= set(under_way), "an output waits to be copied, and for nothing"


def check_divisions(state: State) -> None:
    """The pieces of a reducer that is divided wait, run, or have made what is still there."""
    for run in state.runs.values():
        tasks = run.tasks
        for index, division in run.divisions.items():
            assert tasks is not None, f"{run.spec} is divided before it has tasks"
            numbers = [number for number, whole in run.pieces.items() if whole == index]
            assert list(division.pieces) == numbers, f"reducer {index} has other pieces"
            for number, piece in division.pieces.items():
                is_to_come = number in tasks.pending or number in tasks.running
                assert is_to_come == (piece.made is None), f"piece {number} is half done"
            for ref in division.blocks():
                assert ref.segment in state.ledger.segments, f"a piece of reducer {index} is gone"


def check_room(state: State) -> None:
    """Kept blocks, their readers, and who waits for room are told alike everywhere."""
    listed = sorted(
        (segment, partition)
        for segment, kept in state.kept.in_segment.items()
        for partition in kept
    )
    known = sorted(
        (ref.segment, Partition(rdd, index))
        for rdd, refs in state.kept.blocks.items()
        for index, ref in refs.items()
    )
    assert listed == known, "what lies in a segment is told in two ways"
    readers: dict[str, int] = {}
    for attempt in state.attempts.values():
        for name in attempt.segments():
            readers[name] = readers.get(name, 0) + 1
    for name, segment in state.ledger.segments.items():
        assert segment.readers == readers.get(name, 0), f"{name} has other readers"
    for pool in state.ledger.pools.values():
        promised = [each.wanted.bytes for each in state.waiting if each.pool is pool]
        assert pool.promised_bytes == sum(promised), f"{pool.node} has promised more or less"
    for waiting in state.waiting:
        assert any(move in state.ledger.moves for move in waiting.moves), "waits for nothing"


def check_parcels(state: State) -> None:
    """What was fetched ahead, and what is on its way, is told alike everywhere."""
    aheads = [run.ahead for run in state.parcels.planned.values() if run.ahead]
    units = [unit for ahead in aheads for unit in ahead.units]
    on_way: dict[NodeId, int] = {}
    sent: dict[NodeId, int] = {}
    for fetch, parcel in state.parcels.by_fetch.items():
        assert parcel.fetch == fetch and parcel.unit.on_node[parcel.node][fetch] is parcel
        assert state.ledger.segments[parcel.segment.name] is parcel.segment
        assert parcel.segment.live == 1 and parcel.segment.sealed == parcel.is_here
        assert parcel.unwanted or parcel.unit in units, f"parcel {fetch} is nobody's"
        assert not (parcel.unwanted and parcel.is_here), f"parcel {fetch} should have gone"
        is_busy = state.parcels.busy.get((parcel.source, parcel.node)) == fetch
        assert is_busy is not parcel.is_here, f"parcel {fetch} is half here"
        if not parcel.is_here:
            on_way[parcel.node] = on_way.get(parcel.node, 0) + parcel.segment.bytes
            sent[parcel.source] = sent.get(parcel.source, 0) + parcel.segment.bytes
    for unit in units:
        fetched: dict[NodeId, int] = {}
        for parcel in unit.parcels:
            fetched[parcel.node] = fetched.get(parcel.node, 0) + parcel.segment.bytes
        assert fetched == {node: size for node, size in unit.fetched_bytes.items() if size}
        check_unit(unit)
    assert on_way == {node: size for node, size in state.parcels.to_node.items() if size}
    assert sent == {node: size for node, size in state.parcels.from_node.items() if size}
    for id, run in state.parcels.planned.items():
        assert state.runs[id] is run and run.ahead is not None
        places = run.ahead.places
        assert places.keys() == run.ahead.unit_of.keys()
        gone = [node for node in places.values() if node not in state.ledger.pools]
        assert not gone, f"reducers of {run.spec} have places on {gone}, which are lost"
        for index, unit in run.ahead.unit_of.items():
            assert index in unit.reducers[places[index]], f"reducer {index} is in no round"


def check_unit(unit: Unit) -> None:
    """Nothing is there twice for reducers that run in one round, nor for nobody."""
    wanted = [parcel for parcel in unit.parcels if not parcel.unwanted]
    assert unit.unfinished or not wanted, f"round {unit.number} is over and has {wanted}"
    assert unit.admitted or not wanted, f"round {unit.number} was given up and has {wanted}"
    there: dict[tuple[NodeId, ShuffleId, int], set[int]] = {}
    for each in wanted:
        for number in each.maps:
            parts = there.setdefault((each.node, each.shuffle, number), set())
            assert parts.isdisjoint(each.parts), f"round {unit.number} has a part twice"
            parts |= each.parts
