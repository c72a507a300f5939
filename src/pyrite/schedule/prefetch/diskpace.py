"""The pace at which nodes move segments to their disks, as measured."""

from __future__ import annotations

from dataclasses import dataclass

from pyrite.ids import NodeId


@dataclass(slots=True)
class DiskWrites:
    """What one node has written, and in which time."""

    moves: int = 0
    since_s: float = 0.0
    busy_s: float = 0.0
    written_bytes: int = 0


class DiskPace:
    """Learns from each move how fast a node's disk is while it writes."""

    def __init__(self) -> None:
        self._nodes: dict[NodeId, DiskWrites] = {}

    def begin(self, node: NodeId, now_s: float) -> None:
        writing = self._nodes.setdefault(node, DiskWrites())
        if not writing.moves:
            writing.since_s = now_s
        writing.moves += 1

    def end(self, node: NodeId, written_bytes: int, now_s: float) -> None:
        """Counts the end of a move; one that failed has written nothing."""
        writing = self._nodes[node]
        writing.moves -= 1
        writing.busy_s += now_s - writing.since_s
        writing.since_s = now_s
        writing.written_bytes += written_bytes

    def is_known(self, node: NodeId) -> bool:
        """Whether the node has moved anything to its disk, or tries to."""
        writing = self._nodes.get(node)
        return writing is not None and (writing.moves > 0 or writing.written_bytes > 0)

    def bytes_in(self, node: NodeId, seconds: float) -> int:
        """Estimates how much the node can write in a time; 0 where nothing was measured."""
        writing = self._nodes.get(node)
        if writing is None or not writing.busy_s:
            return 0
        return int(seconds * writing.written_bytes / writing.busy_s)

    def forget(self, node: NodeId) -> None:
        """Forgets a node that is lost: it may come back as another machine."""
        self._nodes.pop(node, None)
