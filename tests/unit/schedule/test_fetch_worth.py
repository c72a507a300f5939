"""Input is fetched ahead where that saves more waiting than it takes from tasks."""

from __future__ import annotations

import pytest
from conversation import map_stage, of_type, result_stage
from threenodes import MIB, NODES, Nodes

from pyrite.schedule import commands as do
from pyrite.schedule import events as ev
from pyrite.schedule.prefetch.worth import SAMPLE_BYTES, FetchWorth

MAPS, REDUCERS = 60, 3


def played(
    talk: Nodes, job: int, link_s: float, taken_s: float
) -> tuple[list[do.FetchParts], list[do.FetchingStopped]]:
    """The fetch orders of a job, each of which costs so much, and what the story tells."""
    before = len(talk.log)
    talk.submit(result_stage(2 * job + 1, REDUCERS, map_stage(2 * job, MAPS)), id=job)
    answered: set[int] = set()
    while any(each.partitions and not each.inputs for each in talk.running.values()):
        talk.make(*[MIB] * REDUCERS)
        for order in of_type(talk.log[before:], do.FetchParts):
            if order.fetch not in answered:
                answered.add(order.fetch)
                talk.tell(ev.PartsFetched(order.fetch, link_s, taken_s))
    told = talk.log[before:]
    while talk.running:
        talk.finish()
    return of_type(told, do.FetchParts), of_type(told, do.FetchingStopped)


def test_fetching_stops_where_it_takes_more_than_it_saves() -> None:
    talk = Nodes()
    orders, stopped = played(talk, 0, link_s=0.1, taken_s=0.1)
    fetched = sum(each.bytes for each in orders)
    assert SAMPLE_BYTES <= fetched < MAPS * REDUCERS * MIB / 3
    [told] = stopped
    assert told.stage == 1
    assert 1 / told.link_bytes_per_s == pytest.approx(told.taken_s_per_byte, rel=0.5)
    # The next shuffle is tried once by each node.
    orders, _ = played(talk, 1, link_s=0.1, taken_s=0.1)
    assert len(orders) <= len(NODES)
    assert talk.ended() == {0: None, 1: None}


@pytest.mark.parametrize(("link_s", "taken_s"), [(1.0, 0.1), (0.1, 0.0), (0.0, 0.0)])
def test_fetching_goes_on_where_it_helps_or_nothing_is_known(link_s: float, taken_s: float) -> None:
    talk = Nodes()
    orders, stopped = played(talk, 0, link_s, taken_s)
    assert sum(each.bytes for each in orders) > MAPS * REDUCERS * MIB / 3 and not stopped


def test_what_is_tried_anew_may_turn_out_to_help() -> None:
    worth = FetchWorth()
    worth.learn(SAMPLE_BYTES, 0.01, 0.01)
    assert not worth.is_worth
    # Cores have become idle.
    for _ in range(30):
        worth.learn(SAMPLE_BYTES, 0.01, 0.0)
    assert worth.is_worth


def test_a_busy_machine_does_not_make_a_link_slow() -> None:
    worth = FetchWorth()
    worth.learn(SAMPLE_BYTES, 0.01, 0.01)
    for _ in range(10):
        worth.learn(SAMPLE_BYTES, 0.03, 0.01)
    assert not worth.is_worth
    # Unless it stays so.
    for _ in range(60):
        worth.learn(SAMPLE_BYTES, 0.03, 0.01)
    assert worth.is_worth


def test_a_burst_does_not_make_a_link_fast() -> None:
    worth = FetchWorth()
    worth.learn(SAMPLE_BYTES // 8, 0.0001, 0.001)
    assert worth.is_worth
    worth.learn(SAMPLE_BYTES, 0.5, 0.01)
    assert worth.is_worth and worth.link_bytes_per_s < 1e7


def test_what_was_not_measured_says_nothing() -> None:
    worth = FetchWorth()
    worth.learn(SAMPLE_BYTES, 0.0, 0.0)
    assert worth.is_worth and not worth.link_bytes_per_s
