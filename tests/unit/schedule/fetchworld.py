"""Prefetched segments for random walks: fetched when they are ordered, late, twice or not at
all."""

from __future__ import annotations

from collections.abc import Container
from random import Random
from typing import TYPE_CHECKING

from pyrite.ids import BlockRef, NodeId, ShuffleId
from pyrite.schedule import commands as do
from pyrite.schedule import events as ev

if TYPE_CHECKING:
    from walkworld import Files


class Fetching:
    """What is on its way to which node, and the prefetched segments that lie there."""

    def __init__(self, dice: Random) -> None:
        self.dice = dice
        self.on_way: dict[int, do.FetchParts] = {}
        # Those of them that were dropped meanwhile.
        self.stopped: set[int] = set()
        # Words of nodes that have gone since, and words that come twice.
        self.late: list[ev.PartsFetched | ev.PartsNotFetched] = []
        # Orders that have reached the next life of their node.
        self.astray: dict[int, do.FetchParts] = {}
        self.prefetched: dict[tuple[NodeId, str], do.FetchParts] = {}
        self.fetched_bytes = 0
        self.made: dict[BlockRef, tuple[ShuffleId, int]] = {}

    @property
    def busy(self) -> bool:
        return bool(self.on_way or self.late or self.astray)

    def begin(self, order: do.FetchParts, files: Files) -> None:
        assert order.node in files.capacities, f"nobody is there to fetch: {order}"
        assert order.maps and len(order.maps) == len(order.refs), f"maps without places: {order}"
        assert list(order.parts) == sorted(set(order.parts)), f"out of order: {order}"
        for index, ref in zip(order.maps, order.refs, strict=True):
            assert ref in files and ref.node == order.source, f"{ref} is not there: {order}"
            assert self.made[ref][1] == index, f"{ref} is not the output of map {index}"
        shuffles = {self.made[ref][0] for ref in order.refs}
        assert len(shuffles) == 1, f"several shuffles in one prefetched segment: {order}"
        self.on_way[order.fetch] = order

    def end(self, files: Files, faults: bool) -> ev.PartsFetched | ev.PartsNotFetched | None:
        """A prefetched segment arrives, or does not; gives what is heard of it, if anything."""
        dice = self.dice
        if self.late and (not (self.on_way or self.astray) or dice.random() < 0.3):
            return self.late.pop(dice.randrange(len(self.late)))
        if self.astray and (not self.on_way or dice.random() < 0.3):
            return self._lay_astray(files)
        order = self.on_way.pop(dice.choice(list(self.on_way)))
        told: ev.PartsFetched | ev.PartsNotFetched = ev.PartsFetched(order.fetch)
        if order.fetch in self.stopped:
            self.stopped.remove(order.fetch)
            # It may have been there when word of it was on its way, and no longer.
            if dice.random() < 0.7:
                told = ev.PartsNotFetched(order.fetch, "it was dropped")
            else:
                self.fetched_bytes += order.bytes
        elif not all(ref in files for ref in order.refs) or (faults and dice.random() < 0.15):
            told = ev.PartsNotFetched(order.fetch, "it is not there")
        else:
            self.prefetched[order.node, order.segment] = order
            files.sizes[order.node, order.segment] = order.bytes
            self.fetched_bytes += order.bytes
        if faults and dice.random() < 0.1:
            self.late.append(told)
        return told

    def _lay_astray(self, files: Files) -> ev.PartsFetched | None:
        fetch = next(iter(self.astray))
        order = self.astray.pop(fetch)
        if order.node not in files.capacities:
            return None
        files.sizes[order.node, order.segment] = order.bytes
        return ev.PartsFetched(fetch)

    def move(self, move: do.MoveSegment) -> None:
        """Map outputs lie in the copy of their segment too."""
        for ref, output in list(self.made.items()):
            if (ref.node, ref.segment) == (move.node, move.segment):
                copy = ref._replace(node=move.target, segment=move.new_segment, medium=move.medium)
                self.made[copy] = output

    def end_node(self, node: NodeId) -> None:
        """Nothing of the node is left; what it said last may come late."""
        for fetch in [id for id, order in self.on_way.items() if order.node == node]:
            order = self.on_way.pop(fetch)
            chance = self.dice.random()
            if chance < 0.4:
                self.late.append(ev.PartsFetched(fetch))
            elif chance < 0.6:
                self.astray[fetch] = order
        self.prefetched = {key: order for key, order in self.prefetched.items() if key[0] != node}

    def drop(self, node: NodeId, segment: str) -> None:
        for fetch, order in self.on_way.items():
            if (order.node, order.segment) == (node, segment):
                assert fetch not in self.stopped, "dropped twice on its way"
                self.stopped.add(fetch)
        self.astray = {id: each for id, each in self.astray.items() if each.segment != segment}
        self.prefetched.pop((node, segment), None)

    def check_launch(
        self, launch: do.LaunchTask, node: NodeId, files: Files, alike: Container[ShuffleId]
    ) -> None:
        """What a task is told to read lies on its own node, and is what it would fetch."""
        now = {each.shuffle: dict(enumerate(each.refs)) for each in launch.inputs}
        for each in launch.prefetched:
            for segment in each.segments:
                order = self.prefetched.get((node, segment))
                assert order is not None, f"{segment} is told, and is not on {node}"
                assert (node, segment) in files.sizes
                for number, ref in zip(order.maps, order.refs, strict=True):
                    assert self.made[ref] == (each.shuffle, number), "of another output"
                    refs = now.get(each.shuffle, {})
                    assert each.shuffle in alike or refs.get(number, ref) == ref, (
                        f"{segment} holds map output {number} of {each.shuffle} as it was once"
                    )
