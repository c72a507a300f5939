"""Which node has which range of keys: locality-aware fair scheduling over the fleet."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Collection, Iterable, Sequence
from itertools import pairwise

from pyrite.ids import ExecutorId, NodeId
from pyrite.place.laf import Laf
from pyrite.schedule.cachedinputs import CachedInputs
from pyrite.schedule.events import InputNews
from pyrite.schedule.fleet import Fleet
from pyrite.schedule.rules import LafRule

Span = tuple[int, int]


class KeyRanges:
    """Cuts the keys into a range per executor; those of a node lie side by side.

    Each task that comes counts with its key (EclipseMR, algorithm 1). Executors that come and go
    change the ranges, not what is known of the keys.
    """

    def __init__(self, rule: LafRule | None, fleet: Fleet, inputs: CachedInputs) -> None:
        self.rule = rule
        self.fleet = fleet
        self.inputs = inputs
        self._laf: Laf[NodeId] | None = None
        self._fleet_changes = -1
        self._cuts = -1
        # How many blocks came to nodes with idle executors.
        self._arrivals = 0
        self._spans: dict[NodeId, tuple[Span, ...]] = {}

    @property
    def cuts(self) -> int:
        """Grows when tasks may have other executors than before."""
        if self._laf is None:
            # No task with a key has asked yet.
            return 0
        self._follow()
        return self._laf.cuts + self._arrivals

    def came(self, keys: Iterable[int]) -> None:
        """Counts the keys of tasks as they come: launches come in the order of the executors, and
        would move all ranges to the keys of the first ones."""
        self._follow()
        if self._laf is not None:
            for key in keys:
                self._laf.saw(key)

    def inputs_came(self, executor: ExecutorId, news: Iterable[InputNews]) -> None:
        """Has tasks offered again where idle executors have been asked before their node got a
        block; the one that reports it is asked anyway."""
        for each in news:
            others = (other.id for other in self.fleet.on(each.ref.node) if other.id != executor)
            self._arrivals += any(other in self.fleet.free for other in others)

    def spans(self, executor: ExecutorId) -> Sequence[Span]:
        self._follow()
        found = self.fleet.get(executor)
        return () if found is None else self._spans.get(found.node, ())

    def cached(self, executor: ExecutorId) -> Collection[int]:
        found = self.fleet.get(executor)
        return () if found is None else self.inputs.on(found.node)

    def is_cached(self, key: int) -> bool:
        return bool(self.inputs.nodes(key))

    def includes(self, executor: ExecutorId, key: int) -> bool:
        """Whether a key is in the stretches of an executor's node."""
        return any(low <= key < high for low, high in self.spans(executor))

    def executors(self, key: int) -> list[ExecutorId]:
        nodes = dict.fromkeys((*self.inputs.nodes(key), *self.owners(key)))
        return [each.id for node in nodes for each in self.fleet.on(node)]

    def owners(self, key: int) -> list[NodeId]:
        """The nodes whose stretches include the key, the one that has it in its range first."""
        self._follow()
        return [] if self._laf is None else list(dict.fromkeys(self._laf.owners(key)))

    def neighbours(self, node: NodeId) -> list[NodeId]:
        """The nodes whose ranges are next to a node's."""
        nodes = list(self.fleet.counts)
        if node not in nodes:
            return []
        place = nodes.index(node)
        around = (nodes[place - 1], nodes[(place + 1) % len(nodes)])
        return [each for each in dict.fromkeys(around) if each != node]

    def _follow(self) -> None:
        """Follows the fleet, and the ranges."""
        if self.fleet.changes != self._fleet_changes:
            self._fleet_changes = self.fleet.changes
            counts = self.fleet.counts
            self._serve([node for node in counts for _ in range(counts[node])])
        if self._laf is not None and self._laf.cuts != self._cuts:
            self._cuts = self._laf.cuts
            self._spans = _spans(self._laf)

    def _serve(self, servers: list[NodeId]) -> None:
        if self.rule is None or not servers:
            # What is known stays for the executors that come next.
            self._spans = {}
        elif self._laf is None:
            self._laf = Laf(servers, self.rule.alpha, self.rule.window)
        elif servers != self._laf.servers:
            self._laf.serve(servers)
        else:
            self._spans = _spans(self._laf)


def _spans(laf: Laf[NodeId]) -> dict[NodeId, tuple[Span, ...]]:
    """The stretches of each node: its own range, and hot keys of its neighbours'."""
    found: dict[NodeId, list[Span]] = {}
    for node, (low, high) in zip(laf.servers, laf.ranges(), strict=True):
        if node in found:
            found[node][0] = (found[node][0][0], high)
        else:
            found[node] = [(low, high)]
    starts = [low for low, _ in laf.ranges()]
    for low, high in laf.hot():
        # Within a range all keys of a hot stretch have the same owners.
        inside = starts[bisect_right(starts, low) : bisect_left(starts, high)]
        for begin, end in pairwise((low, *dict.fromkeys(inside), high)):
            for node in dict.fromkeys(laf.owners(begin)):
                own_low, own_high = found[node][0]
                if not own_low <= begin <= end <= own_high:
                    found[node].append((begin, end))
    return {node: tuple(spans) for node, spans in found.items()}
