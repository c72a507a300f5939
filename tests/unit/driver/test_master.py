"""Master URLs are read as Spark reads them; others are refused with the ones that work."""

import pytest
from random_worlds import world_json

from pyrite.capacity import usable_cores
from pyrite.cluster.sim.world import calm_world
from pyrite.driver.start.master import Master, machine_of, parse_master
from pyrite.errors import UserError


@pytest.mark.parametrize(
    ("url", "expected"),
    [
        ("local", Master(1, None)),
        ("local[4]", Master(4, None)),
        ("local[*]", Master(usable_cores(), None)),
        ("local[2,3]", Master(2, 3)),
        (" local[ 2 , 3 ] ", Master(2, 3)),
    ],
)
def test_local(url: str, expected: Master) -> None:
    assert parse_master(url) == expected


@pytest.mark.parametrize("url", ["", "local[0]", "local[-1]", "local[x]", "yarn", "spark://h:7077"])
def test_others(url: str) -> None:
    with pytest.raises(UserError, match=r"local\[4\]"):
        parse_master(url)


def test_local_cluster() -> None:
    parsed = parse_master(" local-cluster[3, 2, 512m] ")
    assert parsed == Master(6, None, nodes=3, memory_bytes=512 << 20)
    # A bare number is in megabytes, as in Spark.
    assert parse_master("local-cluster[3,2,512]") == parsed
    assert machine_of(parsed).memory_bytes == 512 << 20
    assert machine_of(parsed).executors == 2


@pytest.mark.parametrize("url", ["local-cluster[0,1,1g]", "local-cluster[2,0,1g]"])
def test_a_local_cluster_without_executors(url: str) -> None:
    with pytest.raises(UserError, match="no executors"):
        parse_master(url)


def test_a_local_cluster_of_a_strange_size() -> None:
    with pytest.raises(UserError, match="'much' is no size"):
        parse_master("local-cluster[2,1,much]")


# Simulated clusters


@pytest.mark.parametrize(
    ("url", "seed", "nodes", "executors", "faults"),
    [
        ("sim", 0, 3, 2, 10),
        ("sim[]", 0, 3, 2, 10),
        ("sim[seed=7]", 7, 3, 2, 10),
        (" sim[ seed = 7 , faults = 0 ] ", 7, 3, 2, 0),
        ("sim[executors=1,nodes=4,seed=9,faults=3]", 9, 4, 1, 3),
    ],
)
def test_sim(url: str, seed: int, nodes: int, executors: int, faults: int) -> None:
    master = parse_master(url)
    world = master.world
    assert world is not None
    assert (world.seed, len(world.nodes), len(world.faults)) == (seed, nodes, faults)
    assert [node.executors for node in world.nodes] == [executors] * nodes
    assert master == Master(nodes * executors, None, world)


def test_a_seed_makes_the_faults() -> None:
    assert parse_master("sim[seed=7]") == parse_master("sim[seed=7]")
    assert parse_master("sim[seed=7]") != parse_master("sim[seed=8]")


def test_a_world_in_full_overrules_what_the_url_says() -> None:
    world = calm_world(5, nodes=2, executors=1)
    assert parse_master("sim[seed=7,nodes=9]", world_json(world)) == Master(2, None, world)
    assert parse_master("local[2]", world_json(world)) == Master(2, None)


@pytest.mark.parametrize(
    "url",
    ["sim[7]", "sim[seed=]", "sim[seed=x]", "sim[seed=-1]", "sim[colour=3]", "sim[faults=1.5]"],
)
def test_wrong_arguments_are_named_with_the_right_ones(url: str) -> None:
    with pytest.raises(UserError) as error:
        parse_master(url)
    assert repr(url) in str(error.value)
    assert "use sim[seed=0,nodes=3,executors=2,faults=10]" in str(error.value)


@pytest.mark.parametrize("url", ["sim[nodes=0]", "sim[executors=0]"])
def test_a_simulated_cluster_has_executors(url: str) -> None:
    with pytest.raises(UserError, match="has no executors"):
        parse_master(url)


@pytest.mark.parametrize("url", ["sim[seed=7", "sim:7", "simulator", "sim[seed=7]x"])
def test_what_only_looks_like_sim(url: str) -> None:
    with pytest.raises(UserError, match=r"sim\[seed=7\]"):
        parse_master(url)
