"""Early places go by where maps will write, and are given up if that proves wrong."""

from __future__ import annotations

from dataclasses import replace

from conversation import map_stage, of_type, result_stage
from threenodes import MIB, NODES, Nodes

from pyrite.ids import NodeId, ShuffleId
from pyrite.place.predict import Sample
from pyrite.place.sizes import decode
from pyrite.schedule import commands as do

MAPS = 24


def home(number: int) -> int:
    """The node that a map runs on: there is one executor a node."""
    return number % 3


def local_parts(number: int) -> list[int]:
    """A map whose rows are nearly all for one reducer, as in a second shuffle by like ranges."""
    parts = [MIB // 10] * 3
    parts[(home(number) + 1) % 3] = 3 * MIB
    return parts


EVEN = [MIB] * 3


def parts_of(number: int) -> list[int]:
    """The first maps say nothing of the others."""
    return EVEN if number < 3 else local_parts(number)


def sample(number: int) -> Sample:
    parts = [10 * size // MIB for size in parts_of(number)]
    return Sample(sum(parts_of(number)) // 100, sum(parts), list(enumerate(parts)))


def make_next(talk: Nodes) -> None:
    launch = next(iter(talk.running.values()))
    talk.make(*parts_of(launch.partitions[0]))


def places(talk: Nodes) -> dict[int, NodeId]:
    plan = talk.scheduler.stages._runs[1].plan
    assert plan is not None
    return plan.places


BEST = {(node + 1) % 3: NODES[node] for node in range(3)}


def test_samples_and_the_places_of_maps_say_who_will_hold_what() -> None:
    talk = Nodes()
    samples = tuple(map(sample, range(MAPS)))
    maps = replace(map_stage(0, MAPS), samples=samples, routing="range")
    talk.submit(result_stage(1, 3, maps))
    for _ in range(3):
        make_next(talk)
    [placed] = of_type(talk.log, do.ReducersPlaced)
    assert placed.how == ("sampled",)
    assert places(talk) == BEST
    assert placed.network_bytes < 0.2 * sum(sum(parts_of(n)) for n in range(MAPS))


def test_places_far_from_the_input_are_given_up() -> None:
    talk = Nodes(fetch_bytes=MIB)
    talk.submit(result_stage(1, 3, map_stage(0, MAPS)))
    # Places as bad as they can be: the first maps tell nothing, and nothing arrives.
    for _ in range(3):
        make_next(talk)
    plan = talk.scheduler.stages._runs[1].plan
    assert plan is not None
    far = {index: NODES[(NODES.index(node) + 1) % 3] for index, node in BEST.items()}
    plan.settle(far, talk.scheduler.fleet.counts, 1.0)
    while talk.scheduler.stages._runs[1].tasks is None:
        make_next(talk)
    outputs = talk.scheduler.outputs.get(ShuffleId(0))
    assert outputs is not None and all(sum(decode(code or b"")) for code in outputs.sizes)
    assert places(talk) == BEST
    last = of_type(talk.log, do.ReducersPlaced)[-1]
    assert last.moved == 3 and last.how == ("known",)


def test_places_stay_where_most_input_was_fetched_already() -> None:
    talk = Nodes()
    talk.submit(result_stage(1, 3, map_stage(0, MAPS)))
    for _ in range(3):
        make_next(talk)
    plan = talk.scheduler.stages._runs[1].plan
    assert plan is not None
    far = {index: NODES[(NODES.index(node) + 1) % 3] for index, node in BEST.items()}
    plan.settle(far, talk.scheduler.fleet.counts, 1.0)
    talk.scheduler.admission.admit()
    while talk.scheduler.stages._runs[1].tasks is None:
        talk.arrive_all()
        make_next(talk)
    assert places(talk) == far
