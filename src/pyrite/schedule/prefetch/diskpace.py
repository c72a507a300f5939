"""The pace at which nodes move segments to their disks, as measured."""

from __future__ import annotations

from dataclasses import dataclass

from pyrite.ids import ExecutorId, NodeId


@dataclass(slots=True)
class DiskWrites:
    """What one node has written, and in which time."""

    moves: int = 0
    since_s: float = 0.0
    busy_s: float = 0.0
    written_bytes: int = 0


class DiskPace:
    """Learns how fast a node's disk is from what moves there, and from map outputs that found no
    room."""

    def __init__(self) -> None:
        self._nodes: dict[NodeId, DiskWrites] = {}
        # Executors whose map outputs found no room in the pool, and write them to disk.
        self._writers: dict[ExecutorId, NodeId] = {}

    def begin_output(self, writer: ExecutorId, node: NodeId, now_s: float) -> None:
        """Counts a map output that finds no room in memory; until `end_output` it is written."""
        if writer not in self._writers:
            self._writers[writer] = node
            self.begin(node, now_s)

    def end_output(self, writer: ExecutorId, written_bytes: int, now_s: float) -> None:
        """Counts the end of the writer's task."""
        node = self._writers.pop(writer, None)
        if node is not None and node in self._nodes:
            self.end(node, written_bytes, now_s)

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
