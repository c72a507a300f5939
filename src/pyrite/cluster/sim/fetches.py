"""Parcels that simulated nodes fetch, as block servers fetch them between real ones."""

from __future__ import annotations

import contextlib
import os
from dataclasses import dataclass
from typing import TYPE_CHECKING

from pyrite.blocks.codec import CorruptBlock
from pyrite.blocks.parcel import Entry, aligned, directory_bytes, pack_directory
from pyrite.blocks.parts import select
from pyrite.blocks.segments import SegmentReader, write_all
from pyrite.cluster.sim.store import BLOCK_S, REMOTE_BYTES_PER_S, SimNode
from pyrite.schedule.commands import FetchParts
from pyrite.schedule.events import PartsFetched, PartsNotFetched

if TYPE_CHECKING:
    from pyrite.cluster.sim.cluster import SimCluster


@dataclass
class Fetch:
    """A parcel on its way, and which lives of both nodes it began in."""

    command: FetchParts
    node: SimNode
    source: SimNode
    lives: tuple[int, int]

    def cost_s(self, latency_s: float) -> float:
        return latency_s + BLOCK_S + self.command.bytes / REMOTE_BYTES_PER_S


class Fetches:
    """Lays parcels where they are wanted when their time has come, and tells the driver."""

    def __init__(self, cluster: SimCluster) -> None:
        self.cluster = cluster

    def begin(self, command: FetchParts) -> Fetch:
        node, source = self.cluster.by_name[command.node], self.cluster.by_name[command.source]
        return Fetch(command, node, source, (node.incarnation, source.incarnation))

    def finish(self, fetch: Fetch) -> None:
        node, now_s = fetch.node, self.cluster.now_s()
        if node.incarnation != fetch.lives[0] or not node.up:
            # Who would tell has gone.
            return
        if node.hung_until_s > now_s:
            self.cluster.timeline.at(node.hung_until_s, self.finish, fetch)
            return
        problem = self._fetch(fetch)
        if problem is None:
            self._spoil(fetch)
        order = fetch.command.fetch
        told = PartsFetched(order) if problem is None else PartsNotFetched(order, problem)
        self.cluster.timeline.after(self.cluster.latency_s(), self._tell, fetch, told)
        if self.cluster.dice.random() < self.cluster.world.doubled_words:
            self.cluster.reached["doubled word"] += 1
            later_s = self.cluster.latency_s() * 20
            self.cluster.timeline.after(later_s, self._tell, fetch, told)

    def _spoil(self, fetch: Fetch) -> None:
        """Lets something happen to the parcel, if the world says so."""
        cluster, world = self.cluster, self.cluster.world
        if world.spoilt_parcels and cluster.dice.random() < world.spoilt_parcels:
            after_s = cluster.dice.expovariate(1 / world.task_s)
            node, life = fetch.node, fetch.lives[0]
            cluster.timeline.after(after_s, cluster.faults.spoil, node, life, fetch.command.segment)

    def _tell(self, fetch: Fetch, told: PartsFetched | PartsNotFetched) -> None:
        # The last words of a node that has gone since may come all the same.
        if fetch.node.incarnation != fetch.lives[0]:
            self.cluster.reached["late word"] += 1
        self.cluster.events.append(told)

    def _fetch(self, fetch: Fetch) -> str | None:
        """Lays the parcel there, whole or not at all; gives what is in the way."""
        node, source, now_s = fetch.node, fetch.source, self.cluster.now_s()
        if source.incarnation != fetch.lives[1] or not source.up or source.hung_until_s > now_s:
            return f"{source.id} does not answer"
        if fetch.command.segment in node.forgotten:
            return "it was dropped meanwhile"
        if node.memory_full_until_s > now_s:
            return f"no room on {node.id}"
        path = node.folders.path(fetch.command.segment)
        try:
            write_parcel(fetch.command, SegmentReader(source.folders), path)
        except (OSError, CorruptBlock) as error:
            with contextlib.suppress(FileNotFoundError):
                os.unlink(path)
            return str(error)
        return None


def write_parcel(command: FetchParts, reader: SegmentReader, path: str) -> None:
    """Makes a parcel out of another node's map outputs."""
    entries: list[Entry] = []
    pieces: list[tuple[int, list[bytes | memoryview]]] = []
    offset = directory_bytes(len(command.maps))
    for number, ref in zip(command.maps, command.refs, strict=True):
        whole = reader.view(ref)
        view = lambda start, size, whole=whole: whole[start : start + size]  # noqa: E731
        header, stretches = select(view, len(whole), command.parts)
        length = len(header) + sum(size for _, size in stretches)
        entries.append(Entry(number, offset, length))
        pieces.append((offset, [header, *(whole[at : at + size] for at, size in stretches)]))
        offset = aligned(offset + length)
    if offset > command.bytes:
        raise OSError(f"a parcel of {offset} bytes where {command.bytes} were granted")
    fd = os.open(path, os.O_CREAT | os.O_EXCL | os.O_WRONLY | os.O_CLOEXEC, 0o600)
    try:
        os.ftruncate(fd, offset)
        for at, buffers in pieces:
            write_all(fd, buffers, at)
        write_all(fd, [pack_directory(entries)], 0)
    finally:
        os.close(fd)
