"""A world survives its JSON; what is wrong with one is said."""

import json
from random import Random

import pytest
from random_worlds import crowded, draining, parting, random_world, restarting, world_json

from pyrite.cluster.sim.world import (
    KINDS,
    Fault,
    NodePlan,
    World,
    calm_world,
    with_faults,
)
from pyrite.errors import UserError


@pytest.mark.parametrize("seed", range(20))
def test_json_and_back(seed: int) -> None:
    for world in (random_world(Random(seed), seed), crowded(Random(seed), calm_world(seed, 2, 1))):
        assert World.from_json(world_json(world)) == world


def test_what_json_leaves_out_is_as_usual() -> None:
    world = World.from_json('{"seed": 3, "nodes": [{"executors": 1, "pool_bytes": 10}]}')
    assert world == World(3, (NodePlan(1, 10),))


@pytest.mark.parametrize(
    "text",
    [
        "",
        "{",
        "[]",
        "7",
        '{"seed": 1, "nodes": [{"executors": "two", "pool_bytes": 1}]}',
        '{"seed": 1}',
        '{"nodes": [{"executors": 1, "pool_bytes": 1}]}',
        '{"seed": 1, "nodes": [{"executors": 1}]}',
        '{"seed": 1, "nodes": [{"executors": 1, "pool_bytes": 1, "colour": 2}]}',
        '{"seed": 1, "nodes": [{"executors": 1, "pool_bytes": 1}], "weather": 1}',
        '{"seed": 1, "nodes": 5}',
    ],
)
def test_what_is_no_world_is_refused(text: str) -> None:
    with pytest.raises(UserError, match=r"pyrite\.sim\.world is not the JSON of a world"):
        World.from_json(text)


def test_an_unknown_fault_is_named_with_those_that_there_are() -> None:
    world = calm_world(1)._replace(faults=(Fault("earthquake", 3),))
    with pytest.raises(UserError, match=r"'earthquake'.*kill executor.*fail starts"):
        World.from_json(world_json(world))


@pytest.mark.parametrize("nodes", [(), (NodePlan(0, 1 << 20),)])
def test_a_world_without_executors_is_refused(nodes: tuple[NodePlan, ...]) -> None:
    with pytest.raises(UserError, match="needs an executor"):
        World.from_json(world_json(World(1, nodes)))


def test_faults_come_from_the_seed() -> None:
    world = with_faults(calm_world(4), 10)
    assert world == with_faults(calm_world(4), 10)
    assert world.faults != with_faults(calm_world(5), 10).faults
    assert len(world.faults) == 10 and with_faults(world, 0).faults == ()
    assert [fault.event for fault in world.faults] != []
    assert {fault.kind for fault in world.faults} <= KINDS.keys()


def test_every_kind_of_fault_is_drawn() -> None:
    worlds = [random_world(Random(seed), seed) for seed in range(100)]
    worlds += [crowded(Random(seed), world) for seed, world in enumerate(worlds)]
    worlds = [parting(draining(restarting(world))) for world in worlds]
    assert {fault.kind for world in worlds for fault in world.faults} == KINDS.keys()
    assert any(node.executors == 0 for world in worlds for node in world.nodes)
    assert all(world.executors for world in worlds)


def test_json_is_plain() -> None:
    fields = json.loads(world_json(with_faults(calm_world(4, 1, 1), 1)))
    assert fields["nodes"] == [{"executors": 1, "pool_bytes": 1 << 30, "speed": 1.0}]
    assert fields["faults"][0].keys() == set(Fault._fields)
