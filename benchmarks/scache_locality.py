"""Bytes over the network in a second shuffle by like ranges, planned early and late (figure 13b).

As in Terasort, 93 % of a reducer's rows come from one map. Early: after 5 % of the maps, and as
many as there are nodes, by a sort's sample. Late: after all maps, as Spark does.
"""

from collections import Counter
from dataclasses import dataclass
from random import Random

from benchmarks.report import aligned
from pyrite.ids import NodeId
from pyrite.place.predict import Sample, SeenOutput, observe, sampled
from pyrite.place.reducers import Reducer, ReducerNode, place, weigh
from pyrite.place.sizes import encode

LOCALITY_NODES = (3, 10, 50)
CORES = 4
ROUNDS = 5
FROM_ONE = 0.93
OUTPUT_BYTES = 4_000_000
ROW_BYTES = 100
# As thin as the sample that a sort cuts its ranges by.
DRAWN_PER_MAP = 20
SEED = 3


@dataclass(frozen=True)
class Locality:
    """The part of all bytes that crosses the network, by when and how reducers got their places."""

    nodes: int
    # By the finished maps alone; by samples and the places of the others too; after all maps.
    by_finished: float
    early: float
    late: float


def planned(nodes: int) -> Locality:
    """Places for one shuffle three ways, weighed by what it was in the end."""
    dice = Random(SEED)
    tasks = nodes * CORES * ROUNDS
    hosts = [ReducerNode(NodeId(f"node-{number}"), CORES) for number in range(nodes)]
    places = {number: hosts[number % nodes].node for number in range(tasks)}
    partner = dice.sample(range(tasks), tasks)
    outputs: dict[int, SeenOutput] = {}
    samples: list[Sample] = []
    for number in range(tasks):
        weights = [(1 - FROM_ONE) / (tasks - 1)] * tasks
        weights[partner[number]] = FROM_ONE
        sizes = [round(OUTPUT_BYTES * each) for each in weights]
        outputs[number] = SeenOutput(places[number], encode(sizes))
        drawn = Counter(dice.choices(range(tasks), weights, k=DRAWN_PER_MAP))
        samples.append(Sample(OUTPUT_BYTES // ROW_BYTES, DRAWN_PER_MAP, sorted(drawn.items())))
    true = observe(outputs, tasks, tasks)
    seen = {number: outputs[number] for number in range(max(nodes, tasks // 20))}

    def crossing(known: list[Reducer]) -> float:
        balance = weigh(hosts, true, place(hosts, known))
        return balance.network_bytes / sum(each.size_bytes for each in true)

    return Locality(
        nodes,
        crossing(sampled(samples, seen, tasks)),
        crossing(sampled(samples, seen, tasks, places)),
        crossing(true),
    )


def compared(localities: list[Locality]) -> list[str]:
    """The table."""
    lines = [
        f"**A second shuffle by like ranges** (figure 13b): {FROM_ONE:.0%} of a reducer's rows are "
        f"from one map; {ROUNDS} rounds of {CORES} tasks a node. The part of all bytes that "
        "crosses the network with places by the finished maps (5 %) alone, with samples and the "
        "places of the other maps too, and after all maps.",
        "",
    ]
    cells = [["nodes", "finished maps alone", "early", "late"]]
    for each in localities:
        cells.append(
            [str(each.nodes), *(f"{v:.0%}" for v in (each.by_finished, each.early, each.late))]
        )
    return lines + aligned(cells)
