"""Shared links and disks: each user gets an even part, and none is idle while work waits."""

from random import Random

import pytest

from pyrite.cluster.sim.timeline import Timeline
from pyrite.forecast.network import Network, Share, Sources, Transfer, link
from pyrite.ids import NodeId

A, B, C = NodeId("a"), NodeId("b"), NodeId("c")


class Ends:
    """When what ended, by name."""

    def __init__(self, timeline: Timeline) -> None:
        self.timeline = timeline
        self.at_s: dict[str, float] = {}

    def __call__(self, name: str) -> object:
        return lambda: self.at_s.__setitem__(name, self.timeline.now_s)


def run(timeline: Timeline) -> None:
    while timeline.next_s() is not None:
        timeline.step()


def test_calls_come_in_order_and_those_of_one_moment_as_they_were_planned() -> None:
    timeline, heard = Timeline(), []
    for name, at_s in (("c", 2.0), ("a", 1.0), ("b", 1.0)):
        timeline.at(at_s, heard.append, name)
    run(timeline)
    assert heard == ["a", "b", "c"]
    assert timeline.now_s == 2.0


def test_users_share_evenly_and_the_rest_is_faster_when_one_is_through() -> None:
    timeline = Timeline()
    ends = Ends(timeline)
    share = link(timeline, 100.0)
    share.start(100.0, ends("short"))
    share.start(300.0, ends("long"))
    run(timeline)
    assert ends.at_s == pytest.approx({"short": 2.0, "long": 4.0})


def test_who_comes_later_slows_down_who_is_there() -> None:
    timeline = Timeline()
    ends = Ends(timeline)
    share = link(timeline, 100.0)
    share.start(200.0, ends("first"))
    timeline.at(1.0, lambda: share.start(50.0, ends("second")))
    run(timeline)
    assert ends.at_s == pytest.approx({"second": 2.0, "first": 2.5})


def test_what_is_stopped_never_ends_and_leaves_its_part_to_others() -> None:
    timeline = Timeline()
    ends = Ends(timeline)
    share = link(timeline, 100.0)
    stopped = share.start(100.0, ends("stopped"))
    share.start(150.0, ends("other"))
    timeline.at(1.0, stopped.stop)
    run(timeline)
    assert ends.at_s == pytest.approx({"other": 2.0})


@pytest.mark.parametrize("seed", range(20))
def test_a_share_is_what_small_steps_would_give(seed: int) -> None:
    random = Random(seed)
    works = {f"u{i}": (random.randrange(50) / 10, random.randrange(1, 60) / 10) for i in range(12)}
    timeline = Timeline()
    ends = Ends(timeline)
    share = Share(timeline, lambda users: 1.0 / users**0.5)
    for name, (at_s, work) in works.items():
        timeline.at(at_s, lambda work=work, name=name: share.start(work, ends(name)))
    run(timeline)
    assert ends.at_s == pytest.approx(in_small_steps(works), abs=0.05)


def in_small_steps(works: dict[str, tuple[float, float]]) -> dict[str, float]:
    left = {name: work for name, (_, work) in works.items()}
    ended: dict[str, float] = {}
    step_s, now_s = 0.002, 0.0
    while left:
        here = [name for name in left if works[name][0] <= now_s]
        now_s += step_s
        for name in here:
            left[name] -= step_s / len(here) ** 0.5
            if left[name] <= 0:
                ended[name] = now_s
                del left[name]
    return ended


def connected(timeline: Timeline, *nodes: NodeId) -> Network:
    network = Network(timeline)
    for node in nodes:
        network.join(node, 100.0)
    return network


def test_a_transfer_takes_as_long_as_the_slower_of_its_links() -> None:
    timeline = Timeline()
    network = Network(timeline)
    network.join(A, 100.0)
    network.join(B, 25.0)
    ends = Ends(timeline)
    network.send(A, B, 100.0, ends("sent"))
    run(timeline)
    assert ends.at_s == pytest.approx({"sent": 4.0})
    assert network.sent_bytes == 100.0


def test_a_receiver_of_two_takes_twice_as_long_and_so_does_a_sender_to_two() -> None:
    for pairs in ([(A, C), (B, C)], [(A, B), (A, C)]):
        timeline = Timeline()
        network = connected(timeline, A, B, C)
        ends = Ends(timeline)
        for source, target in pairs:
            network.send(source, target, 100.0, ends(f"{source}{target}"))
        run(timeline)
        assert list(ends.at_s.values()) == pytest.approx([2.0, 2.0])


def test_transfers_between_other_nodes_do_not_meet() -> None:
    timeline = Timeline()
    network = connected(timeline, A, B, C)
    ends = Ends(timeline)
    network.send(A, B, 100.0, ends("there"))
    network.send(B, A, 100.0, ends("back"))
    run(timeline)
    assert ends.at_s == pytest.approx({"there": 1.0, "back": 1.0})


def test_what_lies_on_the_target_is_not_sent() -> None:
    network = connected(Timeline(), A, B)
    assert network.parts(A, Sources({A: 70.0})) == []
    loads = network.parts(A, Sources({A: 70.0, B: 30.0}), 0.5)
    assert [work for _, work in loads] == [15.0, 15.0]
    assert network.sent_bytes == 15.0


@pytest.mark.parametrize("heavier", ["receiver", "sender"])
def test_one_with_more_than_its_part_shows_among_fifty(heavier: str) -> None:
    def all_to_all(parts: dict[NodeId, float], sizes: dict[NodeId, float]) -> float:
        timeline = Timeline()
        network = connected(timeline, *parts)
        sources = Sources(sizes)
        for node, part in parts.items():
            Transfer(network.parts(node, sources, part), lambda: None)
        run(timeline)
        return timeline.now_s

    nodes = [NodeId(f"n{i}") for i in range(50)]
    even = dict.fromkeys(nodes, 1 / 50)
    sizes = dict.fromkeys(nodes, 1000.0)
    balanced_s = all_to_all(even, sizes)
    assert balanced_s == pytest.approx(49 / 50 * 1000 / 100)
    if heavier == "receiver":
        skewed_s = all_to_all({**even, nodes[7]: 3 / 50}, sizes)
    else:
        skewed_s = all_to_all(even, {**sizes, nodes[7]: 3000.0})
    assert skewed_s == pytest.approx(3 * balanced_s, rel=0.05)


def test_a_fetch_from_very_many_loads_each_of_them_with_its_part_in_turn() -> None:
    nodes = {NodeId(f"n{i}"): 100.0 + i for i in range(400)}
    sources = Sources(nodes)
    loaded = dict.fromkeys(nodes, 0.0)
    for _ in range(250):
        chosen, factor = sources.chosen()
        assert len(chosen) < 20
        assert sum(size * factor for _, size in chosen) == pytest.approx(sources.total)
        for node, size in chosen:
            loaded[node] += size * factor
    for node, size in nodes.items():
        assert loaded[node] == pytest.approx(250 * size, rel=0.1)


def test_a_stopped_transfer_leaves_all_its_links() -> None:
    timeline = Timeline()
    network = connected(timeline, A, B, C)
    ends = Ends(timeline)
    sources = Sources({B: 300.0, C: 300.0})
    stopped = Transfer(network.parts(A, sources), ends("stopped"))
    network.send(C, A, 100.0, ends("other"))
    timeline.at(0.0, stopped.stop)
    run(timeline)
    assert ends.at_s == pytest.approx({"other": 1.0})
