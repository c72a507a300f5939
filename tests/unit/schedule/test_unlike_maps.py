"""Where maps read unlike much, finished ones foretell the others by the size of their input."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import pytest
from conversation import map_stage, of_type, result_stage
from threenodes import MIB, NODES, Nodes

from pyrite.ids import BlockRef, Partition, RddId
from pyrite.plan.stages import StageSpec
from pyrite.schedule import commands as do
from pyrite.schedule import events as ev

# The first maps are small, the others are not.
INPUTS = [MIB] * 3 + [9 * MIB] * 3
SOURCE = RddId(0)


def maps(sources: Sequence[int] = ()) -> StageSpec:
    return replace(map_stage(0, len(INPUTS)), sources={0: tuple(sources)} if sources else {})


def make_next(talk: Nodes) -> None:
    launch = next(iter(talk.running.values()))
    size = INPUTS[launch.partitions[0]] // 3
    talk.make(size, size, size)


def foreseen(talk: Nodes) -> do.SizesForeseen:
    for _ in INPUTS:
        make_next(talk)
    [told] = of_type(talk.log, do.SizesForeseen)
    assert told.how == "observed" and told.seen == 3
    return told


def keep(talk: Nodes, indices: Sequence[int]) -> None:
    """Keeps partitions of the source, as a task of a job of its own would."""
    talk.tell(ev.RddPersisted(SOURCE))
    talk.submit(result_stage(9, 1), id=9)
    [attempt] = talk.running
    writer = talk.running.pop(attempt).executor
    stored = []
    for index in indices:
        segment = f"e{writer}-{100 + index}"
        talk.tell(ev.SpaceWanted(NODES[0], writer, segment, INPUTS[index], rdd=SOURCE))
        block = BlockRef(NODES[0], segment, 0, INPUTS[index])
        stored.append(ev.Stored(Partition(SOURCE, index), (block,), INPUTS[index]))
    talk.tell(ev.TaskSucceeded(attempt, (ev.TaskOutput(b"r"),), ev.KeptNews(tuple(stored), ())))


def test_files_say_how_much_is_still_to_come() -> None:
    talk = Nodes()
    talk.submit(result_stage(1, 3, maps(INPUTS)))
    assert foreseen(talk).mean_error == pytest.approx(0, abs=0.1)


def test_without_sizes_all_maps_count_alike() -> None:
    talk = Nodes()
    talk.submit(result_stage(1, 3, maps()))
    assert foreseen(talk).mean_error > 0.7


def test_kept_input_says_it_where_it_is_all_there() -> None:
    talk = Nodes()
    keep(talk, range(len(INPUTS)))
    talk.submit(result_stage(1, 3, maps()))
    # They run where their input is: on one node.
    while not of_type(talk.log, do.SizesForeseen):
        make_next(talk)
    [told] = of_type(talk.log, do.SizesForeseen)
    assert told.mean_error == pytest.approx(0, abs=0.1)


def test_partly_kept_input_does_not() -> None:
    talk = Nodes()
    keep(talk, [0, 1])
    talk.submit(result_stage(1, 3, maps(INPUTS)))
    while not of_type(talk.log, do.SizesForeseen):
        make_next(talk)
    [told] = of_type(talk.log, do.SizesForeseen)
    assert told.mean_error == pytest.approx(0, abs=0.1)
