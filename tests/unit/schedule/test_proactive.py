"""Reducers of maps with keys have places before the maps start (EclipseMR, II-D)."""

from __future__ import annotations

from dataclasses import replace

from conversation import map_stage, result_stage
from threenodes import MIB, NODES, Nodes

from pyrite.place.laf import KEYS
from pyrite.plan.program import Shape
from pyrite.plan.stages import StageSpec

MAPS = 60


def keyed_maps() -> StageSpec:
    spec = map_stage(0, MAPS)
    first, *others = spec.shape.steps
    keys = tuple(KEYS * index // MAPS for index in range(MAPS))
    return replace(spec, shape=Shape([first._replace(keys=keys), *others]))


def places(talk: Nodes) -> list[int]:
    plan = talk.scheduler.stages._runs[1].plan
    assert plan is not None
    return [NODES.index(plan.places[index]) for index in sorted(plan.places)]


def test_the_first_output_travels_at_once() -> None:
    talk = Nodes()
    talk.submit(result_stage(1, 6, keyed_maps()))
    talk.make(*[MIB] * 6)
    assert places(talk) == [0, 0, 1, 1, 2, 2]
    assert {order.node for order in talk.orders()} >= {NODES[1], NODES[2]}


def test_maps_without_keys_are_observed_first() -> None:
    talk = Nodes()
    talk.submit(result_stage(1, 6, map_stage(0, MAPS)))
    talk.make(*[MIB] * 6)
    assert not talk.orders()


def test_without_laf_maps_with_keys_are_observed_first() -> None:
    talk = Nodes(laf=None)
    talk.submit(result_stage(1, 6, keyed_maps()))
    talk.make(*[MIB] * 6)
    assert not talk.orders()


def test_reducers_move_when_their_sizes_are_known_to_differ() -> None:
    talk = Nodes()
    talk.submit(result_stage(1, 6, keyed_maps()))
    # The two heavy ones would be on one node.
    sizes = [4 * MIB, 4 * MIB, *[MIB // 8] * 4]
    talk.make(*sizes)
    assert places(talk)[:2] == [0, 0]
    for _ in range(MAPS // 10):
        talk.make(*sizes)
    first, second, *_ = places(talk)
    assert first != second


def test_a_small_first_output_does_not_decide() -> None:
    talk = Nodes()
    talk.submit(result_stage(1, 6, keyed_maps()))
    talk.make(*[1] * 6)
    assert not talk.orders()
    for _ in range(MAPS // 10):
        talk.make(*[MIB] * 6)
    assert talk.orders()


def test_all_jobs_end() -> None:
    talk = Nodes()
    talk.submit(result_stage(1, 6, keyed_maps()))
    while talk.scheduler.outputs._shuffles[0].absent:
        talk.make(*[MIB] * 6)
    talk.arrive_all()
    while talk.running:
        talk.finish()
    assert talk.ended() == {0: None}
