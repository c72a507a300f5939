"""What reducers read: how much, and from which nodes."""

from __future__ import annotations

from collections.abc import Iterable

from pyrite.ids import NodeId, RddId, ShuffleId
from pyrite.place.reducers import Reducer
from pyrite.place.sizes import add_up
from pyrite.plan.stages import StageSpec
from pyrite.schedule.kept import Kept
from pyrite.schedule.outputs import Outputs, ShuffleOutputs

# More parts than these take longer to add up than a good place saves.
MOST_PARTS = 4_000_000

Held = dict[NodeId, list[int]]


class Reducing:
    """Weighs what the tasks of a stage read of its shuffles, for their places."""

    def __init__(self, outputs: Outputs, kept: Kept, small_bytes: int) -> None:
        self.outputs = outputs
        self.kept = kept
        self.small_bytes = small_bytes

    def reducers(self, spec: StageSpec, partitions: Iterable[int]) -> dict[int, Reducer]:
        """What each partition reads of shuffles; nothing where its place hardly matters."""
        held = {shuffle: self._held(shuffle) for shuffle in spec.shape.shuffles}
        if not any(held.values()):
            return {}
        kept = self.kept.ids()
        found = {index: self._reducer(spec, index, held, kept) for index in partitions}
        found = {index: each for index, each in found.items() if each.size_bytes}
        is_small = sum(each.size_bytes for each in found.values()) < self.small_bytes
        return {} if is_small else found

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

    def _reducer(
        self, spec: StageSpec, index: int, held: dict[ShuffleId, Held], kept: set[RddId]
    ) -> Reducer:
        found: dict[NodeId, int] = {}
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
