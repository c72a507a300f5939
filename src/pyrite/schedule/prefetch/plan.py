"""The plan of a stage before it starts: its reducers' places, and the units of prefetching."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from math import ceil
from typing import NamedTuple

from pyrite.ids import NodeId, ShuffleId
from pyrite.place.accumulate import together
from pyrite.place.heavyfirst import heavy_first
from pyrite.place.reducers import Reducer
from pyrite.schedule.prefetch.unit import Unit

Part = tuple[ShuffleId, int]


class Forecast(NamedTuple):
    """The expected size of each part of a shuffle, from `seen` of its maps."""

    # "observed", "sampled", or "known" where all maps are done.
    how: str
    seen: int
    parts: Sequence[Reducer]
    total_bytes: int
    maps: int
    # The fraction of a node's outputs that is in its memory.
    in_memory: Mapping[NodeId, float]

    @property
    def sizes(self) -> list[int]:
        return [part.size_bytes for part in self.parts]

    def size_of(self, parts: Iterable[int]) -> int:
        return sum(self.parts[part].size_bytes for part in parts)

    def to_bring(self, parts: Iterable[int], node: NodeId) -> int:
        """Estimates how many bytes of these parts are not in the node's own memory."""
        in_memory = self.in_memory.get(node, 0.0)
        read = [self.parts[part] for part in parts]
        held = sum(each.held_bytes.get(node, 0) for each in read)
        return sum(each.size_bytes for each in read) - round(held * in_memory)


class ReducePlan:
    """The plan of one stage: where its reducers go, and in which rounds they run there."""

    def __init__(self, reads: Mapping[int, Sequence[Part]]) -> None:
        self.reads = reads
        self.forecasts: dict[ShuffleId, Forecast] = {}
        self.places: dict[int, NodeId] = {}
        self.units: list[Unit] = []
        self.unit_of: dict[int, Unit] = {}
        # Whether outputs leave memory once their parts have arrived; then parts of a node's own
        # outputs are fetched too.
        self.flushes = False
        # Pairs of source and target between which a fetch has failed: none is ordered again.
        self.refused: dict[tuple[NodeId, NodeId], None] = {}
        # The nodes that were ordered to fetch for it, and whether no more is ordered since that is
        # not worth it.
        self.ordered: dict[NodeId, None] = {}
        self.is_stopped = False

    def reducers(self) -> dict[int, Reducer]:
        """Returns what each reducer will read of the shuffles that have forecasts."""
        return {index: self._reducer(parts) for index, parts in self.reads.items()}

    def _reducer(self, parts: Sequence[Part]) -> Reducer:
        known = self.forecasts
        return together([known[each].parts[part] for each, part in parts if each in known])

    def settle(
        self, places: Mapping[int, NodeId], executors: Mapping[NodeId, int], least_bytes: float
    ) -> None:
        """Adopts new places; reducers that moved run in rounds after the others.

        A unit is one round of reducers, or as many rounds as make one map's data for a node worth a
        fetch order.
        """
        moved: dict[NodeId, list[int]] = {}
        for index in self.in_order(sorted(places)):
            node = places[index]
            if self.places.get(index) != node:
                self._leave(index)
                self.places[index] = node
                moved.setdefault(node, []).append(index)
        units = len(self.units)
        rounds = self._rounds_together(moved, executors, least_bytes)
        for node, indices in moved.items():
            for position, index in enumerate(indices):
                self._join(units + position // (executors[node] * rounds), node, index)
        self.weigh()

    def in_order(self, indices: Iterable[int]) -> list[int]:
        """Returns reducers in the order in which they should run."""
        sizes = {index: each.size_bytes for index, each in self.reducers().items()}
        return heavy_first(indices, sizes)

    def _rounds_together(
        self,
        moved: Mapping[NodeId, Sequence[int]],
        executors: Mapping[NodeId, int],
        least_bytes: float,
    ) -> int:
        rounds = max((ceil(len(each) / executors[node]) for node, each in moved.items()), default=1)
        maps = max((forecast.maps for forecast in self.forecasts.values()), default=1)
        total = sum(forecast.total_bytes for forecast in self.forecasts.values())
        a_map_for_a_node = total / maps / len(executors)
        return ceil(rounds / max(1, int(a_map_for_a_node // max(1.0, least_bytes))))

    def _join(self, number: int, node: NodeId, index: int) -> None:
        while number >= len(self.units):
            self.units.append(Unit(len(self.units)))
        unit = self.units[number]
        unit.reducers.setdefault(node, {})[index] = None
        unit.unfinished[index] = None
        self.unit_of[index] = unit

    def _leave(self, index: int) -> None:
        unit = self.unit_of.pop(index, None)
        if unit is not None:
            node = self.places[index]
            del unit.reducers[node][index]
            unit.launched.get(node, {}).pop(index, None)
            unit.unfinished.pop(index, None)

    def weigh(self) -> None:
        """Sums up the bytes that each unit's nodes have to fetch, by shuffle."""
        for unit in self.units:
            unit.expected_bytes.clear()
            for node, indices in unit.reducers.items():
                for shuffle, parts in self.parts_of(indices).items():
                    forecast = self.forecasts[shuffle]
                    unit.expected_bytes[shuffle, node] = (
                        forecast.size_of(parts) if self.flushes else forecast.to_bring(parts, node)
                    )

    def flush(self) -> None:
        """Has outputs leave memory once their parts have arrived."""
        if not self.flushes:
            self.flushes = True
            self.weigh()

    def split(self, unit: Unit, most: Mapping[NodeId, int]) -> None:
        """Leaves a unit at most so many reducers on each node; the others become the next unit."""
        rest = Unit(unit.number)
        for node, indices in unit.reducers.items():
            for index in list(indices)[most.get(node, len(indices)) :]:
                del indices[index]
                del unit.unfinished[index]
                rest.reducers.setdefault(node, {})[index] = None
                rest.unfinished[index] = None
                self.unit_of[index] = rest
        self.units.insert(self.units.index(unit) + 1, rest)
        for number, each in enumerate(self.units):
            each.number = number
        self.weigh()

    def parts_of(self, indices: Iterable[int]) -> dict[ShuffleId, tuple[int, ...]]:
        """Returns the parts that these reducers read of the shuffles that have forecasts."""
        found: dict[ShuffleId, dict[int, None]] = {}
        for index in indices:
            for shuffle, part in self.reads[index]:
                if shuffle in self.forecasts:
                    found.setdefault(shuffle, {})[part] = None
        return {shuffle: tuple(sorted(parts)) for shuffle, parts in found.items()}

    def lose_node(self, node: NodeId) -> None:
        """Removes a lost node from the plan: its reducers run anywhere."""
        for index in [index for index, place in self.places.items() if place == node]:
            self._leave(index)
            del self.places[index]
        # It may rejoin.
        self.refused = {pair: None for pair in self.refused if node not in pair}
        for unit in self.units:
            unit.reducers.pop(node, None)
            unit.launched.pop(node, None)
            unit.expected_bytes = {
                key: size for key, size in unit.expected_bytes.items() if key[1] != node
            }

    def finish(self, index: int) -> Unit | None:
        """Marks a reducer as done; returns its unit if it was the last of it."""
        unit = self.unit_of.get(index)
        if unit is None or unit.unfinished.pop(index, self) is self or unit.unfinished:
            return None
        return unit

    def prefetched(self) -> dict[int, NodeId]:
        """Returns the nodes of reducers whose unit has prefetched segments."""
        return {index: self.places[index] for index, unit in self.unit_of.items() if unit.on_node}

    def fetched_bytes(self) -> dict[int, float]:
        """Estimates how much was fetched for each reducer, as its share of its unit on its node."""
        found: dict[int, float] = {}
        for unit in self.units:
            for node, size in unit.fetched_bytes.items():
                reducers = unit.reducers.get(node, {})
                found.update(dict.fromkeys(reducers, size / max(1, len(reducers))))
        return found

    def read_bytes(self) -> int:
        """Returns how much all reducers read of the shuffles that have forecasts."""
        return sum(each.total_bytes for each in self.forecasts.values())

    @property
    def remaining_units(self) -> int:
        return sum(bool(unit.unfinished) for unit in self.units)
