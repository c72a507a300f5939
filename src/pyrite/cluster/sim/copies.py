"""Segments that travel between simulated nodes, as block servers carry them between real ones."""

from __future__ import annotations

import contextlib
import os
import shutil

from pyrite.cluster.sim.errands import Errand, Errands
from pyrite.schedule.commands import MoveSegment
from pyrite.schedule.events import SegmentMoved, SegmentNotMoved


class Copies(Errands[MoveSegment]):
    """Copies segments between simulated nodes."""

    def try_it(self, errand: Errand[MoveSegment]) -> str | None:
        target, command = errand.other, errand.command
        if not self.answers(errand):
            return f"{target.id} does not answer"
        if command.new_segment in target.forgotten:
            return "it was dropped meanwhile"
        if target.full_until_s(command.medium) > self.cluster.now_s():
            return f"no room on {target.id}"
        path = target.folders.path(command.new_segment, command.medium)
        try:
            shutil.copyfile(errand.node.folders.path(command.segment, "memory"), path)
        except OSError as error:
            with contextlib.suppress(FileNotFoundError):
                os.unlink(path)
            return str(error)
        return None

    def report(self, errand: Errand[MoveSegment], problem: str | None) -> None:
        move = errand.command.move
        event = SegmentMoved(move) if problem is None else SegmentNotMoved(move, problem)
        self.send(errand, event, self.cluster.latency_s())
