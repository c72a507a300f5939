"""Prefetching between simulated nodes, as block servers do it between real ones."""

from __future__ import annotations

import contextlib
import os

from pyrite.blocks.codec import CorruptBlock
from pyrite.blocks.fetched import aligned, lay_out, pack_directory
from pyrite.blocks.parts import select
from pyrite.blocks.segments import SegmentReader, write_all
from pyrite.cluster.sim.errands import Errand, Errands
from pyrite.schedule.commands import FetchParts
from pyrite.schedule.events import PartsFetched, PartsNotFetched


class SimFetches(Errands[FetchParts]):
    """Writes prefetched segments to the nodes that ordered them."""

    def try_it(self, errand: Errand[FetchParts]) -> str | None:
        node, source, command = errand.node, errand.other, errand.command
        if not self.answers(errand):
            return f"{source.id} does not answer"
        if command.segment in node.forgotten:
            return "it was dropped meanwhile"
        if node.full_until_s(command.medium) > self.cluster.now_s():
            return f"no room on {node.id}"
        path = node.folders.path(command.segment, command.medium)
        try:
            write_fetched(command, SegmentReader(source.folders), path)
        except (OSError, CorruptBlock) as error:
            with contextlib.suppress(FileNotFoundError):
                os.unlink(path)
            return str(error)
        self._spoil(errand)
        return None

    def _spoil(self, errand: Errand[FetchParts]) -> None:
        """Plans damage to the prefetched segment, with the world's probability."""
        cluster, world = self.cluster, self.cluster.world
        if world.spoilt_prefetched and cluster.dice.random() < world.spoilt_prefetched:
            after_s = cluster.dice.expovariate(1 / world.task_s)
            node, life = errand.node, errand.lives[0]
            segment, medium = errand.command.segment, errand.command.medium
            cluster.timeline.after(after_s, cluster.faults.spoil, node, life, segment, medium)

    def report(self, errand: Errand[FetchParts], problem: str | None) -> None:
        fetch, cluster = errand.command.fetch, self.cluster
        event = PartsFetched(fetch) if problem is None else PartsNotFetched(fetch, problem)
        self.send(errand, event, cluster.latency_s())
        if cluster.dice.random() < cluster.world.doubled_words:
            cluster.reached["doubled word"] += 1
            self.send(errand, event, cluster.latency_s() * 20)


def write_fetched(command: FetchParts, reader: SegmentReader, path: str) -> None:
    """Writes a prefetched segment from another node's map outputs."""
    selections: list[list[bytes | memoryview]] = []
    for ref in command.refs:
        whole = reader.view(ref)
        view = lambda start, size, whole=whole: whole[start : start + size]  # noqa: E731
        header, spans = select(view, len(whole), command.parts)
        selections.append([header, *(whole[at : at + size] for at, size in spans)])
    entries = lay_out(command.maps, [sum(map(len, each)) for each in selections])
    end = aligned(entries[-1].offset + entries[-1].length)
    if end > command.bytes:
        raise OSError(f"a prefetched segment of {end} bytes where {command.bytes} were granted")
    fd = os.open(path, os.O_CREAT | os.O_EXCL | os.O_WRONLY | os.O_CLOEXEC, 0o600)
    try:
        os.ftruncate(fd, end)
        for entry, buffers in zip(entries, selections, strict=True):
            write_all(fd, buffers, entry.offset)
        write_all(fd, [pack_directory(entries)], 0)
    finally:
        os.close(fd)
