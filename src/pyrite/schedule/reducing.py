"""Where reducers should run: near what they read, and no node with much more than the others."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from pyrite.ids import NodeId, ShuffleId
from pyrite.place.reducers import Balance, Host, Reducer, place, weigh
from pyrite.place.sizes import add_up
from pyrite.plan.stages import StageSpec
from pyrite.schedule.kept import Kept
from pyrite.schedule.outputs import Outputs, ShuffleOutputs

# More parts than these take longer to add up than a good place saves.
MOST_PARTS = 4_000_000

Held = dict[NodeId, list[int]]


class Placed(NamedTuple):
    """Where the tasks of a stage should run, and how good that is."""

    nodes: dict[int, NodeId]
    balance: Balance


class Reducing:
    """Weighs what the tasks of a stage read of its shuffles, and places them by it."""

    def __init__(self, outputs: Outputs, kept: Kept, small_bytes: int) -> None:
        self.outputs = outputs
        self.kept = kept
        self.small_bytes = small_bytes

    def place(self, spec: StageSpec, partitions: Iterable[int], hosts: list[Host]) -> Placed | None:
        """The node for each partition that reads shuffles; None where it hardly matters."""
        if len(hosts) < 2:
            return None
        held = {shuffle: self._held(shuffle) for shuffle in spec.shape.shuffles}
        if not any(held.values()):
            return None
        indices, reducers = [], []
        for index in partitions:
            reducer = self._reducer(spec, index, held)
            if reducer.size_bytes:
                indices.append(index)
                reducers.append(reducer)
        if sum(each.size_bytes for each in reducers) < max(1, self.small_bytes):
            return None
        nodes = place(hosts, reducers)
        return Placed(dict(zip(indices, nodes, strict=True)), weigh(hosts, reducers, nodes))

    def _held(self, shuffle: ShuffleId) -> Held:
        """What lies on each node of every part of a shuffle; nothing where it is not known."""
        outputs = self.outputs.shuffles.get(shuffle)
        if outputs is None or not outputs.complete:
            return {}
        codes = codes_by_node(outputs)
        parts = max((len(code) for codes in codes.values() for code in codes), default=0)
        if not parts or parts * len(outputs.refs) > MOST_PARTS:
            return {}
        return {node: add_up(on_node, parts) for node, on_node in codes.items()}

    def _reducer(self, spec: StageSpec, index: int, held: dict[ShuffleId, Held]) -> Reducer:
        found: dict[NodeId, int] = {}
        kept = self.kept.blocks.keys() | self.kept.live.keys()
        for shuffle, part in spec.shape.shuffle_parts(index, kept, self.kept.is_there):
            for node, sizes in held[shuffle].items():
                found[node] = found.get(node, 0) + sizes[part]
        return Reducer(sum(found.values()), found)


def codes_by_node(outputs: ShuffleOutputs) -> dict[NodeId, list[bytes]]:
    """The sizes of the map outputs, by where they lie; none if some are not told."""
    codes: dict[NodeId, list[bytes]] = {}
    for ref, code in zip(outputs.refs, outputs.sizes, strict=True):
        if ref is None or code is None:
            return {}
        codes.setdefault(ref.node, []).append(code)
    return codes
