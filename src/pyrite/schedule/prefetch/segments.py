"""All prefetched segments, and the bytes in flight between nodes."""

from __future__ import annotations

from collections.abc import Iterator

from pyrite.ids import NodeId
from pyrite.schedule.prefetch.unit import PrefetchedSegment


class PrefetchedSegments:
    """Tracks prefetched segments, arrived and in flight."""

    def __init__(self) -> None:
        self._by_fetch: dict[int, PrefetchedSegment] = {}
        self._to_node: dict[NodeId, int] = {}
        self._from_node: dict[NodeId, int] = {}
        self._busy: dict[tuple[NodeId, NodeId], int] = {}
        self._fetched_bytes = 0
        self._fetching_s = 0.0

    def __iter__(self) -> Iterator[PrefetchedSegment]:
        return iter(list(self._by_fetch.values()))

    def __bool__(self) -> bool:
        return bool(self._by_fetch)

    def get(self, fetch: int) -> PrefetchedSegment | None:
        return self._by_fetch.get(fetch)

    # What is in flight

    def is_busy(self, source: NodeId, target: NodeId) -> bool:
        """Whether an order between the two nodes is in flight; there is at most one."""
        return (source, target) in self._busy

    def bytes_to(self, node: NodeId) -> int:
        return self._to_node.get(node, 0)

    def bytes_from(self, node: NodeId) -> int:
        return self._from_node.get(node, 0)

    def in_flight_from(self, node: NodeId) -> Iterator[PrefetchedSegment]:
        for target in self._to_node:
            fetch = self._busy.get((node, target))
            if fetch is not None:
                yield self._by_fetch[fetch]

    def begin(self, segment: PrefetchedSegment) -> None:
        self._by_fetch[segment.fetch] = segment
        segment.unit.add(segment)
        size = segment.segment.bytes
        self._busy[segment.source, segment.node] = segment.fetch
        self._to_node[segment.node] = self._to_node.get(segment.node, 0) + size
        self._from_node[segment.source] = self._from_node.get(segment.source, 0) + size

    def land(self, segment: PrefetchedSegment) -> None:
        """Ends a segment's flight, whatever its outcome."""
        if segment.is_here or segment.fetch not in self._by_fetch:
            return
        del self._busy[segment.source, segment.node]
        self._to_node[segment.node] -= segment.segment.bytes
        self._from_node[segment.source] -= segment.segment.bytes

    def forget(self, segment: PrefetchedSegment) -> None:
        self.land(segment)
        if self._by_fetch.pop(segment.fetch, None) is not None:
            segment.unit.remove(segment)

    # Throughput

    def learn_pace(self, segment: PrefetchedSegment, now_s: float) -> None:
        self._fetched_bytes += segment.segment.bytes
        self._fetching_s += now_s - segment.began_s

    def fetch_s(self, size: float) -> float:
        """Estimates how long it takes to fetch `size` bytes, from past fetches."""
        return size * self._fetching_s / self._fetched_bytes if self._fetched_bytes else 0.0
