"""Segments that travel between simulated nodes, as block servers carry them between real ones."""

from __future__ import annotations

import contextlib
import os
import shutil
from dataclasses import dataclass
from typing import TYPE_CHECKING

from pyrite.blocks.pool import MEMORY_PREFIX
from pyrite.cluster.sim.store import BLOCK_S, REMOTE_BYTES_PER_S, SimNode
from pyrite.schedule.commands import MoveSegment
from pyrite.schedule.events import SegmentMoved, SegmentNotMoved

if TYPE_CHECKING:
    from pyrite.cluster.sim.cluster import SimCluster


@dataclass
class Copy:
    """A segment on its way, and which lives of both nodes it began in."""

    command: MoveSegment
    node: SimNode
    target: SimNode
    lives: tuple[int, int]

    def cost_s(self, latency_s: float) -> float:
        return latency_s + BLOCK_S + self.command.bytes / REMOTE_BYTES_PER_S


class Copies:
    """Copies segments when their time has come, and tells the driver, if anyone is left to."""

    def __init__(self, cluster: SimCluster) -> None:
        self.cluster = cluster

    def begin(self, command: MoveSegment) -> Copy:
        node, target = self.cluster.by_name[command.node], self.cluster.by_name[command.target]
        return Copy(command, node, target, (node.incarnation, target.incarnation))

    def finish(self, copy: Copy) -> None:
        node, now_s = copy.node, self.cluster.now_s()
        if node.incarnation != copy.lives[0] or not node.up:
            # Who would tell has gone.
            return
        if node.hung_until_s > now_s:
            self.cluster.timeline.at(node.hung_until_s, self.finish, copy)
            return
        problem = self._copy(copy)
        move = copy.command.move
        told = SegmentMoved(move) if problem is None else SegmentNotMoved(move, problem)
        self.cluster.timeline.after(self.cluster.latency_s(), self._tell, copy, told)

    def _tell(self, copy: Copy, told: SegmentMoved | SegmentNotMoved) -> None:
        # The last words of a node that has gone since may come all the same.
        if copy.node.incarnation != copy.lives[0]:
            self.cluster.reached["late word"] += 1
        self.cluster.events.append(told)

    def _copy(self, copy: Copy) -> str | None:
        """Lays the bytes there, whole or not at all; gives what is in the way."""
        target, now_s = copy.target, self.cluster.now_s()
        if target.incarnation != copy.lives[1] or not target.up or target.hung_until_s > now_s:
            return f"{target.id} does not answer"
        if copy.command.new_segment in target.forgotten:
            return "it was dropped meanwhile"
        in_memory = copy.command.new_segment.startswith(MEMORY_PREFIX)
        full_until_s = target.memory_full_until_s if in_memory else target.disk_full_until_s
        if full_until_s > now_s:
            return f"no room on {target.id}"
        path = target.folders.path(copy.command.new_segment)
        try:
            shutil.copyfile(copy.node.folders.path(copy.command.segment), path)
        except OSError as error:
            with contextlib.suppress(FileNotFoundError):
                os.unlink(path)
            return str(error)
        return None
